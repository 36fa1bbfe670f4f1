#include <cstdint>

#include "bindings/areas.hpp"
#include "bindings/arrays.hpp"
#include "stream/change_tests.hpp"

namespace bindings {

namespace {

Output<std::int64_t, 1> update_change_tests(
    const Input<std::int64_t, 1> &strides, const Input<double, 1> &shares, const Input<double, 2> &payoffs,
    double patience, double limit, const InPlace<std::int64_t, 3> &counts, const InPlace<double, 3> &wealth,
    const InPlace<double, 3> &best, const InPlace<std::int64_t, 3> &begun, const InPlace<double, 2> &n_in_group,
    const InPlace<double, 2> &recent, const InPlace<std::uint8_t, 1> &is_over, std::int64_t n_before,
    const Input<double, 2> &levels, const Input<std::int64_t, 1> &cells, const Input<std::int64_t, 2> &groups,
    const Input<double, 2> &random, std::int64_t number) {
    const std::size_t n = strides.shape(0), n_rows = levels.shape(0), n_groups = shares.shape(0);
    const std::size_t n_bets = payoffs.shape(1);
    const auto is_of_bets = [&](const auto &array) {
        return array.shape(0) == n && array.shape(1) == n_groups && array.shape(2) == n_bets;
    };
    require(is_of_bets(wealth) && is_of_bets(best) && is_of_bets(begun), "wealth, best, begun: [column][group][bet]");
    require(counts.shape(0) == n && counts.shape(2) >= 1 && n_in_group.shape(0) == n &&
                n_in_group.shape(1) == n_groups && recent.shape(0) == n && recent.shape(1) >= 1 &&
                is_over.shape(0) == n,
            "counts, n_in_group, recent, is_over: one per column");
    require(payoffs.shape(0) >= 1 && n_bets >= 1, "payoffs: [place][bet]");
    require(levels.shape(1) == n && random.shape(0) == n_rows && random.shape(1) == n && cells.shape(0) == n_rows &&
                groups.shape(0) == n_rows && n_before >= 0,
            "levels, random, cells, groups: one per row");
    for (std::size_t i = 0; i < n; ++i) require(strides.data()[i] >= 0, "strides: at least 0");
    for (std::size_t i = 0; i < n_rows; ++i) {
        require(cells.data()[i] >= 0 && static_cast<std::size_t>(cells.data()[i]) < counts.shape(1), "cells: unknown");
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        require(groups.data()[i] < static_cast<std::int64_t>(n_groups), "groups: unknown");
    }
    auto found = new_array<std::int64_t, 1>({n});
    paribus::ChangeTests tests = {n,
                                  counts.shape(1),
                                  n_groups,
                                  n_bets,
                                  counts.shape(2),
                                  payoffs.shape(0),
                                  recent.shape(1),
                                  strides.data(),
                                  shares.data(),
                                  payoffs.data(),
                                  patience,
                                  limit,
                                  counts.data(),
                                  wealth.data(),
                                  best.data(),
                                  begun.data(),
                                  n_in_group.data(),
                                  recent.data(),
                                  is_over.data()};
    tests.update(n_rows, n_before, levels.data(), cells.data(), groups.data(), groups.shape(1), random.data(), number,
                 found.data());
    return found;
}

}  // namespace

void add_stream(nb::module_ &m) {
    m.def("update_change_tests", &update_change_tests, "strides"_a, "shares"_a, "payoffs"_a, "patience"_a, "limit"_a,
          "counts"_a, "wealth"_a, "best"_a, "begun"_a, "n_in_group"_a, "recent"_a, "is_over"_a, "n_before"_a,
          "levels"_a, "cells"_a, "groups"_a, "random"_a, "number"_a,
          "Tests rows of a stream for changes, one after the other, and updates the tests in place. By column: the row "
          "that settled a change, or -1.");
}

}  // namespace bindings
