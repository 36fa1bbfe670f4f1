// What forests grow over: features, samples and targets, held together with the arrays of Python that they refer to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/lists.hpp"
#include "surprise/feature_table.hpp"
#include "surprise/target_column.hpp"
#include "surprise/tree_samples.hpp"

namespace bindings {

/// Which features are categorical, and the bins of their categories.
class FeatureKinds {
public:
    FeatureKinds(const Input<std::uint8_t, 1> &categorical, const List<Input<std::uint8_t, 1>> &bins);
    explicit FeatureKinds(std::shared_ptr<const paribus::FeatureKinds> kinds) : kinds_(std::move(kinds)) {}

    std::vector<Output<std::uint8_t, 1>> bins() const;
    const std::shared_ptr<const paribus::FeatureKinds> &get() const { return kinds_; }

private:
    std::shared_ptr<const paribus::FeatureKinds> kinds_;
};

/// A table of Python's, with the ranks and bins that trees use.
class FeatureTable {
public:
    FeatureTable(const Input<double, 2> &rows, const Input<std::uint8_t, 1> &categorical);

    const paribus::FeatureTable &get() const { return *table_; }
    const Input<double, 2> &rows() const { return rows_; }
    FeatureKinds feature_kinds() const { return FeatureKinds(table_->kinds()); }

private:
    Input<double, 2> rows_;
    std::shared_ptr<const paribus::FeatureTable> table_;
};

/// Samples of pairs of trees.
class Samples {
public:
    Samples(const Input<std::uint8_t, 1> &usable, const std::optional<Input<std::int64_t, 1>> &originals,
            std::size_t n_pairs, std::size_t n_sample, std::uint64_t seed, std::size_t n_threads,
            const std::optional<Input<std::uint64_t, 1>> &keys);

    static Samples stored(std::size_t n_rows, const Input<std::uint32_t, 1> &rows, const Input<std::uint32_t, 1> &ends);

    std::tuple<Output<std::uint32_t, 1>, Output<std::uint32_t, 1>> arrays() const;

    /// The first of what `arrays` gave in fewer bytes; and back.
    static Output<std::uint8_t, 1> pack(const Input<std::uint32_t, 1> &rows, const Input<std::uint32_t, 1> &ends);
    static Output<std::uint32_t, 1> unpack(const Input<std::uint8_t, 1> &packed, const Input<std::uint32_t, 1> &ends);

    const std::shared_ptr<const paribus::TreeSamples> &get() const { return samples_; }

private:
    Samples() = default;
    std::shared_ptr<const paribus::TreeSamples> samples_;
};

/// Of one feature of a trend: whether it is categorical, limits, center and slope; and the amounts of categories.
using TrendPart = std::tuple<std::uint16_t, double, double, double, double, std::optional<Input<double, 1>>>;

/// A lower and an upper one.
using Bounds = std::tuple<double, double>;

/// The target of a forest: a column, its distances from a trend, or classes.
class Target {
public:
    /// @param placeholders values up to the first one, and from the second one on, are missing
    Target(const Input<double, 2> &rows, std::size_t column, double low, double high,
           const std::optional<Bounds> &placeholders);

    Target(const Input<double, 2> &rows, std::size_t column, const Input<std::uint8_t, 1> &class_of_code);

    Target(const Input<double, 2> &rows, std::size_t column, double low, double high, double constant,
           const List<TrendPart> &parts, const Input<std::uint32_t, 1> &seen, const Input<double, 1> &divisors,
           double lowest, double highest, const std::optional<Bounds> &placeholders);

    Output<double, 1> values() const;

    Output<double, 1> centers(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted) const;

    const std::shared_ptr<const paribus::TargetColumn> &get() const { return target_; }
    const Input<double, 2> &rows() const { return rows_; }

private:
    Input<double, 2> rows_;
    std::shared_ptr<const paribus::TargetColumn> target_;
};

}  // namespace bindings
