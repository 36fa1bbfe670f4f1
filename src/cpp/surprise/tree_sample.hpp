#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surprise/feature_table.hpp"
#include "surprise/table_tree.hpp"

namespace paribus {

/// The sample of a tree: copies of what its splits look at, so that nothing is fetched from the whole table.
///
/// A position is the place of a row in the sample; a slot is the place of a feature among those that splits may use.
class TreeSample {
public:
    /// @param rows   in ascending order
    /// @param target by row of the table, below 2^29 in absolute value
    TreeSample(const FeatureTable &table, const std::vector<std::uint16_t> &features,
               const std::vector<std::uint32_t> &rows, const std::int32_t *target);

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

    struct Ranked {
        std::uint32_t rank, position;
    };

    /// The positions that have a feature, by ascending rank (of categories: by bin), equal ones by position.
    void sort_by_feature(std::size_t slot, std::vector<Ranked> &sorted) const;

    /// All positions, by ascending target, equal ones by position.
    void sort_by_target(std::vector<Ranked> &sorted) const;

private:
    /// Sorts by rank. Ranks have at most this number of bits.
    void sort(std::vector<Ranked> &sorted, int n_bits) const;

    const FeatureTable &table_;
    const std::vector<std::uint16_t> &features_;
    const std::vector<std::uint32_t> &rows_;
    std::vector<std::int32_t> targets_;
    std::vector<std::uint8_t> bins_;
    /// By slot, the bins that rows have; empty for numbers.
    std::vector<TableTree::BinSet> seen_;
    mutable std::vector<Ranked> other_;
};

}  // namespace paribus
