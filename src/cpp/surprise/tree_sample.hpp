#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "surprise/feature_table.hpp"
#include "surprise/growth_memory.hpp"
#include "surprise/table_tree.hpp"

namespace paribus {

/// The sample of a tree: copies of what its splits look at, so that nothing is fetched from the whole table.
///
/// A position is the place of a row in the sample; a slot is the place of a feature among those that splits may use.
class TreeSample {
public:
    /// @param rows   in ascending order
    /// @param target by row of the table, below 2^29 in absolute value
    /// @param memory must outlive the sample
    TreeSample(const FeatureTable &table, const std::vector<std::uint16_t> &features,
               const std::vector<std::uint32_t> &rows, const std::int32_t *target, GrowthMemory &memory);

    std::size_t size() const { return rows_.size(); }
    const FeatureTable &table() const { return table_; }
    std::size_t n_slots() const { return features_.size(); }
    const FeatureTable::Column &column(std::size_t slot) const { return table_.column(features_[slot]); }
    std::uint16_t feature(std::size_t slot) const { return features_[slot]; }
    std::uint32_t row(std::size_t position) const { return rows_[position]; }
    const std::int32_t *targets() const { return targets_.data(); }
    /// Bins that numbers of a feature have, without the one of missing values.
    std::size_t n_bins(std::size_t slot) const { return column(slot).n_bins(); }
    /// By position.
    const std::uint8_t *bins(std::size_t slot) const { return bins_.data() + slot * rows_.size(); }

    /// Puts the categories of a feature that no row of the sample has on one side of a split: `set` are the bins on the
    /// left.
    void place_unseen(std::size_t slot, bool is_left, TableTree::BinSet &set) const;

    /// Whether no two rows of the table have the same number, and all have one.
    bool are_all_different(std::size_t slot) const { return column(slot).n_distinct == table_.n_rows(); }

    /// Visits the positions that have a feature, by ascending rank (of categories: by bin), equal ones by position.
    ///
    /// @param use called with the rank and the position: `void(std::uint32_t, std::uint32_t)`
    template <typename Use>
    void visit_by_feature(std::size_t slot, const Use &use) const;

    /// The same for all positions, by ascending target.
    template <typename Use>
    void visit_by_target(const Use &use) const;

private:
    static constexpr int target_bits = 30;

    const FeatureTable &table_;
    const std::vector<std::uint16_t> &features_;
    const std::vector<std::uint32_t> &rows_;
    std::vector<std::int32_t> &targets_;
    std::vector<std::uint8_t> &bins_;
    PositionSorter &sorter_;
    /// By slot, the bins that rows have; empty for numbers.
    std::vector<TableTree::BinSet> seen_;
};

template <typename Use>
void TreeSample::visit_by_feature(std::size_t slot, const Use &use) const {
    const FeatureTable::Column &of = column(slot);
    const std::uint8_t *const bin = bins(slot);
    const std::uint32_t *const rows = rows_.data(), *const ranks = of.ranks.data();
    const auto n_bits = static_cast<int>(std::bit_width(of.n_distinct));
    if (of.kind == FeatureKind::categorical) {
        sorter_(size(), 8, [&](std::uint32_t i) { return std::uint32_t{bin[i]}; }, use);
    } else if (are_all_different(slot)) {
        sorter_(size(), n_bits, [&](std::uint32_t i) { return ranks[rows[i]]; }, use);
    } else {
        const auto rank_of = [&](std::uint32_t i) {
            return bin[i] == FeatureTable::missing_bin ? PositionSorter::none : ranks[rows[i]];
        };
        sorter_(size(), n_bits, rank_of, use);
    }
}

template <typename Use>
void TreeSample::visit_by_target(const Use &use) const {
    constexpr std::int32_t lowest = -(1 << (target_bits - 1));
    const std::int32_t *const targets = targets_.data();
    sorter_(size(), target_bits, [&](std::uint32_t i) { return static_cast<std::uint32_t>(targets[i] - lowest); }, use);
}

}  // namespace paribus
