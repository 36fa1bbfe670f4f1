#pragma once

#include <vector>

#include "surprise/packed_forest.hpp"

namespace paribus {

/// A forest in the form in which it grows, and that many rows go down fast.
class TableForest final : public LeafFinder {
public:
    /// Grows it. Rows without a target must be in no sample.
    ///
    /// @param samples must outlive the forest, and so must the kinds of the table's features
    TableForest(const FeatureTable &table, const TreeSamples &samples, const TargetColumn &target,
                const TreeParameters &parameters, std::uint64_t seed, std::size_t n_threads, const Tick &on_tick);

    /// A forest that was grown before, which must outlive this one.
    TableForest(const PackedForest &packed, std::size_t n_threads);

    /// The bytes for a `PackedForest`. Only of a forest that was grown.
    std::vector<std::uint8_t> pack(const std::vector<std::uint16_t> &features);

    std::size_t n_pairs() const override { return samples_.n_pairs(); }
    const TargetGrid &grid() const override { return grid_; }
    void find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch,
                     TableTree::Leaf *leaves) const override;
    const std::int32_t *members(std::size_t pair, std::int64_t fitted, const TableTree::Leaf &leaf,
                                const Scratch &) const override {
        return members_[samples_.unseen_tree(pair, fitted)].data() + leaf.first;
    }

    std::int32_t second_mean(std::size_t pair, std::int64_t fitted, const TableTree::Leaf &leaf,
                             const Scratch &) const override {
        return was_packed_ ? members_[samples_.unseen_tree(pair, fitted)][leaf.first - 1] : 0;
    }

    void prefetch(std::size_t pair, std::int64_t fitted, const TableTree::Leaf &leaf) const override {
        __builtin_prefetch(members_[samples_.unseen_tree(pair, fitted)].data() + leaf.first);
    }

private:
    const FeatureKinds &kinds_;
    const TreeSamples &samples_;
    TargetGrid grid_;
    std::vector<TableTree> trees_;
    bool was_packed_ = false;
    /// [tree]: the targets of its leaves, one leaf after the other, each in ascending order. If the forest was packed,
    /// those of each leaf come after the mean of the second target.
    std::vector<std::vector<std::int32_t>> members_;
};

}  // namespace paribus
