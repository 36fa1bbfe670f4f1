#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/areas.hpp"
#include "bindings/arrays.hpp"
#include "common/checksum.hpp"
#include "common/quantiles.hpp"
#include "common/row_index.hpp"

namespace bindings {

namespace {

/// Rows of a table that are held by Python: [row][feature].
class RowFinder {
public:
    RowFinder(const Input<double, 2> &rows, const std::optional<Input<std::uint32_t, 1>> &order)
        : rows_(rows), order_(order) {
        require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
        std::vector<paribus::Strided> columns;
        for (std::size_t f = 0; f < rows.shape(1); ++f) columns.push_back({rows.data() + f, rows.shape(1)});
        if (!order) {
            index_ = std::make_unique<paribus::RowIndex>(rows.shape(0), columns);
            return;
        }
        require(order->shape(0) == rows.shape(0), "order: one per row");
        for (std::size_t i = 0; i < order->shape(0); ++i) {
            require(order->data()[i] < rows.shape(0), "order: an unknown row");
        }
        index_ = std::make_unique<paribus::RowIndex>(rows.shape(0), columns, order->data());
    }

    Output<std::uint32_t, 1> order() const {
        auto found = new_array<std::uint32_t, 1>({rows_.shape(0)});
        std::copy_n(index_->order(), rows_.shape(0), found.data());
        return found;
    }

    Output<std::int64_t, 1> find(const Input<double, 2> &rows) const {
        require(rows.shape(1) == rows_.shape(1), "rows: [row][feature] as fitted");
        auto found = new_array<std::int64_t, 1>({rows.shape(0)});
        const nb::gil_scoped_release released;
        for (std::size_t i = 0; i < rows.shape(0); ++i) {
            found.data()[i] = index_->find(rows.data() + i * rows.shape(1), rows.shape(1), nullptr, 0);
        }
        return found;
    }

    Output<std::int64_t, 1> find_all() const {
        auto found = new_array<std::int64_t, 1>({rows_.shape(0)});
        const nb::gil_scoped_release released;
        index_->find_all(found.data());
        return found;
    }

private:
    Input<double, 2> rows_;
    std::optional<Input<std::uint32_t, 1>> order_;
    std::unique_ptr<paribus::RowIndex> index_;
};

}  // namespace

void add_rows(nb::module_ &m) {
    nb::class_<RowFinder>(m, "RowIndex", "Finds rows of a table by their values: [row][feature].")
        .def(nb::init<const Input<double, 2> &, const std::optional<Input<std::uint32_t, 1>> &>(), "rows"_a,
             "order"_a = nb::none())
        .def("order", &RowFinder::order,
             "The rows in the order of their hashes, from which the index can be made again.")
        .def("find", &RowFinder::find, "rows"_a, "For each row, the first one of the table that equals it, or -1.")
        .def("find_all", &RowFinder::find_all, "For each row of the table, the first one that equals it.");

    m.def(
        "checksum",
        [](const Input<std::uint8_t, 1> &bytes) {
            const nb::gil_scoped_release released;
            return paribus::checksum(bytes.data(), bytes.shape(0));
        },
        "bytes"_a, "A checksum that finds damage, at several gigabytes per second.");

    m.def(
        "weighted_quantiles_by_row",
        [](const Input<double, 2> &values, const Input<double, 2> &weights, const Input<double, 1> &shares,
           std::size_t n_threads) {
            require(values.shape(1) > 0, "values: one or more for each row");
            require(weights.shape(0) == values.shape(0) && weights.shape(1) == values.shape(1),
                    "weights: one for each value");
            auto found = new_array<double, 2>({values.shape(0), shares.shape(0)});
            const std::vector<double> wanted(shares.data(), shares.data() + shares.shape(0));
            const nb::gil_scoped_release released;
            paribus::weighted_quantiles(values.data(), weights.data(), values.shape(0), values.shape(1), wanted,
                                        found.data(), n_threads);
            return found;
        },
        "values"_a, "weights"_a, "shares"_a, "n_threads"_a = 1,
        "The weighted quantiles of each row, [row][value] -> [row][share]: the smallest value such that it and all "
        "smaller ones have at least this share of the weight.");

    m.def(
        "check_rows",
        [](const Input<double, 2> &rows, const Input<std::uint8_t, 1> &is_number, const Input<double, 1> &n_codes,
           double largest) {
            const std::size_t n = rows.shape(1);
            require(is_number.shape(0) == n && n_codes.shape(0) == n, "one per column");
            const nb::gil_scoped_release released;
            bool is_sound = true, is_quiet = true;
            for (std::size_t i = 0; i < rows.shape(0); ++i) {
                for (std::size_t f = 0; f < n; ++f) {
                    const double value = rows.data()[i * n + f];
                    if (std::isnan(value)) {
                        is_quiet &= std::bit_cast<std::uint64_t>(value) >> 51 == 0xfff;
                    } else if (is_number.data()[f] != 0) {
                        is_sound &= std::fabs(value) <= largest;
                    } else {
                        is_sound &= value >= 0.0 && value < n_codes.data()[f] && value == std::floor(value);
                    }
                }
            }
            return std::make_tuple(is_sound, is_quiet);
        },
        "rows"_a, "is_number"_a, "n_codes"_a, "largest"_a,
        "Whether all numbers are within range and all categories codes; and whether all NaN are quiet and positive.");
}

}  // namespace bindings
