// A forest over all rows of a table.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings/tables.hpp"
#include "surprise/leaf_finder.hpp"
#include "surprise/packed_forest.hpp"
#include "surprise/table_forest.hpp"

namespace bindings {

/// A packed forest; and its unpacked form, until that is released.
class Forest {
public:
    /// @param keeps_leaves whether it keeps what `FoundLeaves` needs, if that can store them, until it is released
    Forest(const FeatureTable &table, const Samples &samples, const Target &target,
           const Input<std::uint16_t, 1> &features, std::size_t max_features, std::size_t min_samples_leaf,
           std::uint64_t seed, std::size_t n_threads, const nb::object &progress, bool keeps_leaves);

    Forest(const FeatureKinds &kinds, const Samples &samples, const Target &target, const Input<double, 2> &rows,
           const Input<std::uint8_t, 1> &packed);

    Input<std::uint8_t, 1> packed() const { return packed_; }
    const paribus::PackedForest &packed_forest() const { return *forest_; }
    void release();
    void hold(std::size_t n_threads);
    /// From now on keeps what it has to unpack, until it is told otherwise as many times.
    void keep(bool keeps);

    /// From now on the packed form is used, which has the second target.
    void set_second_target(const Input<std::uint8_t, 1> &values);

    /// The forest in the form that suits the rows.
    std::shared_ptr<const paribus::LeafFinder> get(const paribus::AskedRows &asked, std::size_t n_threads) const;
    /// The form in which it grew, if it is held and has kept its leaves; with what it refers to, whatever becomes of
    /// this object.
    std::shared_ptr<const paribus::TableForest> get_grown() const;
    /// The unpacked form, if it is held and can be asked about the rows; else null.
    std::shared_ptr<const paribus::TableForest> get_held(const paribus::AskedRows &asked) const;

    Output<double, 1> deviations(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                 std::size_t n_threads, const nb::object &progress) const;

    Output<double, 1> surprises(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                const Input<double, 1> &values, double width, double least_deviation,
                                std::size_t n_threads, const nb::object &progress) const;

    Output<double, 2> quantiles(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, std::size_t n,
                                std::size_t n_threads, const nb::object &progress) const;

    Output<double, 2> class_shares(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, double strength,
                                   std::size_t n_threads, const nb::object &progress) const;

    Output<double, 2> atoms(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, std::size_t n_threads,
                            const nb::object &progress) const;

    Output<double, 1> weights(const Input<double, 1> &row, std::int64_t fitted) const;

    paribus::AskedRows check(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted) const;

private:
    void open();
    std::shared_ptr<const paribus::TableForest> held() const;
    void hold(std::shared_ptr<const paribus::TableForest> forest) const;

    std::shared_ptr<const paribus::FeatureKinds> kinds_;
    std::shared_ptr<const paribus::TreeSamples> samples_;
    Target target_;
    Input<double, 2> rows_;
    Input<std::uint8_t, 1> packed_;
    std::optional<Input<std::uint8_t, 1>> second_target_;
    std::shared_ptr<const paribus::PackedForest> forest_;
    /// Threads may ask while another one holds or releases it.
    mutable std::mutex lock_;
    mutable std::shared_ptr<const paribus::TableForest> held_;
    /// How many times it was told to keep what it unpacks.
    std::atomic<int> n_keeping_ = 0;
    bool holds_for_good_ = false;
};

}  // namespace bindings
