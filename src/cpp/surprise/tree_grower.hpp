#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"
#include "surprise/bin_counts.hpp"
#include "surprise/subtree_grower.hpp"

namespace paribus {

/// Grows a tree: its upper part, whose nodes have many rows, by counting them into bins; the rest as subtrees.
class TreeGrower {
public:
    /// What `TableTree` is made of. The tree must be empty.
    TreeGrower(TableTree &tree, const FeatureTable &table, const TreeParameters &parameters,
               const std::vector<std::uint32_t> &sample, const std::int32_t *target, std::uint64_t seed,
               GrowthMemory &memory);

    void grow();

private:
    using Root = SubtreeGrower::Root;

    struct Node {
        Root root;
        BinCounts::Place counts;
    };

    struct Best {
        std::size_t slot;
        /// Of numbers: the last bin that goes left, and the next one that has rows.
        std::size_t low, high;
        bool missing_left;
        Sum left;
        TableTree::BinSet set;
    };

    using Sums = std::array<Sum, FeatureTable::n_bins>;

    static bool is_small(const Root &node) { return node.end - node.begin <= SubtreeGrower::max_rows; }
    bool find_split(const Node &node);
    /// Tries a feature. Returns whether it varies.
    bool try_slot(const Node &node, std::size_t slot);
    bool try_bins(const std::uint64_t *cells, std::size_t slot);
    bool try_numbers(const Sums &sums, std::size_t slot);
    bool try_categories(const Sums &sums, std::size_t slot);
    void take(const Sum &left, std::size_t slot, std::size_t low, std::size_t high, bool missing_left);
    /// Writes the split into its node, and brings the positions into its order. Returns where the right part begins.
    std::uint32_t carry_out(const Root &node, std::uint32_t left);
    /// Passes the counts of a node on to its children.
    void pass_on(BinCounts::Place parent, Node &left, Node &right);
    double threshold(const FeatureTable::Column &column) const;

    TableTree &tree_;
    const TreeParameters &parameters_;
    const Kernel &kernel_ = kernel();
    TreeSample sample_;
    BinCounts counts_;
    FeatureDraw draw_;
    GrowthMemory &memory_;
    std::vector<std::uint32_t> &positions_;

    // The node in question.
    BestGain best_gain_;
    Best best_ = {};

    // Kept from node to node for their memory.
    Sums sums_;
    std::vector<CategoryGroup> groups_;
    std::vector<std::uint32_t> &right_;
};

}  // namespace paribus
