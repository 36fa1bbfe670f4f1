#pragma once

#include <vector>

#include "kernels/path_forest.hpp"
#include "qcad/fitted_table.hpp"
#include "qcad/neighbors.hpp"

namespace paribus {

/// Sorts small sets of rows by a column of the whole table, in time proportional to the set: ranks are bits in a map.
/// Each thread needs its own object.
class RankSorter {
public:
    explicit RankSorter(std::size_t n_rows);

    /// Calls `visit(position, value)` for the positions 0 ... n - 1 of `rows`, in ascending order of ranks.
    template <typename Visit>
    void for_each_sorted(const std::uint32_t *rows, std::size_t n, const ColumnRanks &ranks, Visit visit);

private:
    // A bit of `summary_` represents a word of `map_`, and a bit of `map_` a rank. All are zero between calls.
    std::vector<std::uint64_t> map_, summary_;
    std::vector<std::uint16_t> place_of_rank_;
};

/// The rows that one point is compared with, prepared for growing trees over them. Each thread has one object, which it
/// reuses for all points.
class ReferenceGroup {
public:
    ReferenceGroup(const FittedTable &table, std::size_t k);

    /// Makes this the group of the point with these contextual values.
    void assign(const double *point, const std::vector<Neighbor> &neighbors);

    /// Selects one behavioral feature. Each category is encoded by the mean behavior of its members, and a category of
    /// the point that is not in the group by the mean of all members.
    void select_behavior(std::size_t feature);

    /// Writes the group and the selected behavior to a task of the forest.
    void describe(PathForestTask &task) const;

    /// Members with a behavioral value, in ascending order of values.
    const std::vector<std::uint16_t> &behavior_order() const { return behavior_order_; }
    /// The behavioral values in ascending order.
    const std::vector<double> &sorted_behavior() const { return sorted_behavior_; }

private:
    void rank_numbers(std::size_t feature);
    void number_categories(std::size_t feature);
    void encode_categories(std::size_t feature);
    void lay_grid();

    const FittedTable &table_;
    std::size_t k_, p_;
    RankSorter sorter_;
    const double *point_ = nullptr;
    std::vector<std::uint32_t> rows_;

    std::vector<GroupFeature> features_;
    std::vector<std::uint32_t> orders_;        // [feature][place]
    std::vector<double> rank_values_;          // [feature][local rank]
    std::vector<std::int32_t> ranks_;          // [feature][member]
    std::vector<double> behavior_;             // [member]
    std::vector<std::int32_t> grid_behavior_;  // [member]
    double grid_scale_ = 0.0;
    int grid_bits_;
    std::vector<std::uint16_t> behavior_order_;
    std::vector<double> sorted_behavior_;

    // Categories are numbered in the order in which they appear in the group.
    static constexpr std::uint16_t absent = 0xffff;
    std::vector<std::vector<std::uint16_t>> local_of_code_;  // [feature][code], all absent between calls
    std::vector<std::uint16_t> categories_;                  // [feature][member]
    std::vector<std::uint16_t> n_categories_;                // [feature]
    std::vector<std::uint16_t> own_category_;                // [feature]: that of the point, or absent
    std::vector<double> category_values_;
    std::vector<std::uint32_t> category_counts_, category_starts_, category_ranks_;
    std::vector<std::uint16_t> category_order_;
};

}  // namespace paribus
