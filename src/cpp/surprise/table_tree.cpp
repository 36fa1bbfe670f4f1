#include "surprise/table_tree.hpp"

#include <algorithm>

#include "surprise/growth_memory.hpp"
#include "surprise/tree_grower.hpp"

namespace paribus {

TableTree::TableTree(const FeatureTable &table, const TreeParameters &parameters,
                     const std::vector<std::uint32_t> &sample, const std::int32_t *target, std::uint64_t seed,
                     GrowthMemory &memory) {
    // Nodes and leaves grow in memory that is there, and are kept in as little as they need.
    nodes_.swap(memory.nodes);
    leaves_.swap(memory.leaves);
    nodes_.clear();
    leaves_.clear();
    TreeGrower(*this, table, parameters, sample, target, seed, memory).grow();
    thin_out_leaves();
    leaves_.resize(nodes_.size());
    memory.nodes = std::exchange(nodes_, std::vector<Node>(nodes_));
    memory.leaves = std::exchange(leaves_, std::vector<Leaf>(leaves_));
}

void TableTree::thin_out_leaves() {
    const auto is_large = [](const Leaf &leaf) { return leaf.n_rows > max_leaf_rows; };
    if (std::none_of(leaves_.begin(), leaves_.end(), is_large)) return;
    std::vector<std::uint32_t> kept;
    for (Leaf &leaf : leaves_) {
        const auto first = static_cast<std::uint32_t>(kept.size());
        const std::size_t n = std::min<std::size_t>(leaf.n_rows, max_leaf_rows);
        for (std::size_t i = 0; i < n; ++i) kept.push_back(members_[leaf.first + kept_member(i, leaf.n_rows)]);
        leaf = {first, static_cast<std::uint32_t>(n)};
    }
    kept.shrink_to_fit();
    members_ = std::move(kept);
}

bool TableTree::category_goes_left(const FeatureKinds &kinds, const Node &node, double value) const {
    const BinSet &set = sets_[static_cast<std::size_t>(node.threshold)];
    return category_goes_left(set, kinds.bin_of_code[node.feature], value, node.missing_left);
}

void TableTree::find_some(const FeatureKinds &kinds, const TableTree *const *trees, const double *rows,
                          std::size_t n_rows, Leaf *leaves) {
    const std::size_t n_features = kinds.n_features();
    // The last rows are joined by copies of the first.
    const double *values[side_by_side];
    const Node *nodes[side_by_side];
    std::uint32_t places[side_by_side] = {};
    for (std::size_t i = 0; i < side_by_side; ++i) {
        const std::size_t row = i < n_rows ? i : 0;
        nodes[i] = trees[row]->nodes_.data();
        values[i] = rows + row * n_features;
    }
    const auto step = [&](std::size_t i) {
        const Node &node = nodes[i][places[i]];
        const double value = values[i][node.feature];
        // Without branches: they would be guessed wrong half of the time. A leaf keeps the row: its left child is
        // itself, and its threshold is infinite.
        bool goes_left = (value <= node.threshold) | ((value != value) & node.missing_left);
        if (node.is_categorical) goes_left = trees[i < n_rows ? i : 0]->category_goes_left(kinds, node, value);
        places[i] = node.left + !goes_left;
    };
    for (bool moved = true; moved;) {
        // To ask whether all have arrived takes as long as a step.
        for (std::size_t level = 0; level < 3; ++level) {
            for (std::size_t i = 0; i < side_by_side; ++i) step(i);
        }
        moved = false;
        for (std::size_t i = 0; i < side_by_side; ++i) {
            const std::uint32_t last = places[i];
            step(i);
            moved |= places[i] != last;
        }
    }
    for (std::size_t i = 0; i < n_rows; ++i) leaves[i] = trees[i]->leaves_[places[i]];
}

void TableTree::find(const FeatureKinds &kinds, const TableTree *const *trees, const double *rows, std::size_t n_rows,
                     Leaf *leaves) {
    for (std::size_t begin = 0; begin < n_rows; begin += side_by_side) {
        find_some(kinds, trees + begin, rows + begin * kinds.n_features(), std::min(side_by_side, n_rows - begin),
                  leaves + begin);
    }
}

}  // namespace paribus
