#include <cstdint>

#include "bindings/areas.hpp"
#include "bindings/arrays.hpp"
#include "stream/change_tests.hpp"

namespace bindings {

namespace {

Output<std::int64_t, 1> update_change_tests(
    const Input<std::int64_t, 1> &lengths, const Input<double, 1> &variances, const Input<double, 1> &shares,
    const Input<double, 3> &payoffs, const Input<std::int64_t, 1> &statistics, const Input<double, 1> &sizes,
    double patience, double limit, const InPlace<std::int32_t, 4> &counts, const InPlace<std::int32_t, 4> &block_counts,
    const InPlace<double, 3> &sums, const InPlace<std::int64_t, 1> &in_block, const InPlace<double, 3> &wealth,
    const InPlace<double, 3> &best, const InPlace<std::int64_t, 3> &begun, const InPlace<double, 2> &n_in_group,
    const InPlace<std::uint8_t, 1> &is_over, const Input<double, 2> &levels, const Input<std::int64_t, 1> &cells,
    const Input<std::int64_t, 2> &groups, const Input<double, 2> &random, std::int64_t number, bool is_known) {
    const std::size_t n = lengths.shape(0), n_rows = levels.shape(0), n_groups = shares.shape(0);
    const std::size_t n_bets = payoffs.shape(2), n_bins = counts.shape(3);
    const auto is_of_groups = [&](const auto &array) { return array.shape(0) == n && array.shape(1) == n_groups; };
    const auto is_of_bets = [&](const auto &array) { return is_of_groups(array) && array.shape(2) == n_bets; };
    require(is_of_bets(wealth) && is_of_bets(best) && is_of_bets(begun), "wealth, best, begun: [column][group][bet]");
    require(counts.shape(0) == n && counts.shape(2) == n_groups && n_bins >= 1, "counts: [column][cell][group][bin]");
    require(is_of_groups(block_counts) && block_counts.shape(2) == 2 && block_counts.shape(3) == n_bins,
            "block_counts: [column][group][2][bin]");
    require(is_of_groups(sums) && sums.shape(2) == 3, "sums: [column][group][3]");
    require(is_of_groups(n_in_group) && in_block.shape(0) == n && is_over.shape(0) == n,
            "n_in_group, in_block, is_over: one per column");
    require(payoffs.shape(0) == 3 && payoffs.shape(1) >= 1 && n_bets >= 1 && statistics.shape(0) == n_bets &&
                sizes.shape(0) == n_bets,
            "payoffs: [3][place][bet], statistics, sizes: [bet]");
    require(variances.shape(0) == n, "variances: one per column");
    for (std::size_t i = 0; i < n_bets; ++i) require(statistics.data()[i] < 2, "statistics: below 2");
    require(levels.shape(1) == n && random.shape(0) == n_rows && random.shape(1) == n && cells.shape(0) == n_rows &&
                groups.shape(0) == n_rows,
            "levels, random, cells, groups: one per row");
    for (std::size_t i = 0; i < n; ++i) require(lengths.data()[i] >= 0, "lengths: at least 0");
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
                                  n_bins,
                                  payoffs.shape(1),
                                  lengths.data(),
                                  variances.data(),
                                  shares.data(),
                                  payoffs.data(),
                                  statistics.data(),
                                  sizes.data(),
                                  patience,
                                  limit,
                                  counts.data(),
                                  block_counts.data(),
                                  sums.data(),
                                  in_block.data(),
                                  wealth.data(),
                                  best.data(),
                                  begun.data(),
                                  n_in_group.data(),
                                  is_over.data()};
    tests.update(n_rows, levels.data(), cells.data(), groups.data(), groups.shape(1), random.data(), number, is_known,
                 found.data());
    return found;
}

}  // namespace

void add_stream(nb::module_ &m) {
    m.def("update_change_tests", &update_change_tests, "lengths"_a, "variances"_a, "shares"_a, "payoffs"_a,
          "statistics"_a, "sizes"_a, "patience"_a, "limit"_a, "counts"_a, "block_counts"_a, "sums"_a, "in_block"_a,
          "wealth"_a, "best"_a, "begun"_a, "n_in_group"_a, "is_over"_a, "levels"_a, "cells"_a, "groups"_a, "random"_a,
          "number"_a, "is_known"_a,
          "Tests rows of a stream for changes, one after the other, and updates the tests in place. By column: the row "
          "that settled a change, or -1.");
}

}  // namespace bindings
