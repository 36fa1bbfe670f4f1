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
#include "common/group_ranges.hpp"
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

std::tuple<Output<double, 3>, Output<std::int64_t, 1>, Output<double, 1>> describe_groups(
    const Input<double, 3> &groups, const Input<std::int64_t, 1> &sizes, const Input<double, 2> &weights,
    const Input<std::int64_t, 1> &features, std::size_t n_threads) {
    const std::size_t n_rows = groups.shape(0), n_members = groups.shape(1);
    require(sizes.shape(0) == n_rows, "sizes: one per row");
    require(weights.shape(0) == n_rows && weights.shape(1) == n_members, "weights: one for each member");
    for (std::size_t row = 0; row < n_rows; ++row) {
        require(sizes.data()[row] >= 0 && static_cast<std::size_t>(sizes.data()[row]) <= n_members,
                "sizes: at most all members");
    }
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < features.shape(0); ++i) {
        require(features.data()[i] >= 0 && static_cast<std::size_t>(features.data()[i]) < groups.shape(2),
                "features: an unknown feature");
        wanted.push_back(static_cast<std::size_t>(features.data()[i]));
    }
    static_assert(sizeof(paribus::GroupRange) == 5 * sizeof(double));
    auto ranges = new_array<double, 3>({wanted.size(), n_rows, 5});
    auto n_counting = new_array<std::int64_t, 1>({n_rows});
    auto squares = new_array<double, 1>({n_rows});
    {
        const nb::gil_scoped_release released;
        paribus::describe_groups({n_rows, n_members, groups.shape(2), groups.data(), weights.data(), sizes.data()},
                                 wanted, reinterpret_cast<paribus::GroupRange *>(ranges.data()), n_counting.data(),
                                 squares.data(), n_threads);
    }
    return {ranges, n_counting, squares};
}

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

    m.def("describe_groups", &describe_groups, "groups"_a, "sizes"_a, "weights"_a, "features"_a, "n_threads"_a = 1,
          "What the members of weighted groups, [row][member][feature], have in common. Of each feature that is asked "
          "for, [feature][row][5]: the weighted quantiles at 5 % and 95 %, the share of the weight between them, and "
          "the smallest and the largest value; NaN if one is missing. By row: the fewest members that hold 95 % of the "
          "weight; and the sum of the squared weights.");

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
