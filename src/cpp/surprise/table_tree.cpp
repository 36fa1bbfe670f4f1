#include "surprise/table_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "surprise/subtree_grower.hpp"

namespace paribus {

/// Grows the upper part of a tree, whose nodes have many rows: these are counted into bins.
class TreeGrower {
public:
    TreeGrower(TableTree &tree, const FeatureTable &table, const TreeParameters &parameters,
               const std::vector<std::uint32_t> &sample, const std::int32_t *target, std::uint64_t seed)
        : tree_(tree),
          parameters_(parameters),
          sample_(table, parameters.features, sample, target),
          draw_(parameters.features.size(), parameters.max_features, seed),
          positions_(sample.size()),
          packed_targets_(sample.size()),
          right_(sample.size()) {
        std::iota(positions_.begin(), positions_.end(), 0);
        tree.members_.resize(sample.size());
    }

    void grow() {
        tree_.nodes_.resize(1);
        Root all = {0, 0, static_cast<std::uint32_t>(positions_.size()), false, {}, FeatureDraw::root};
        for (const std::uint32_t position : positions_) all.whole = all.whole + Sum{sample_.targets()[position], 1};
        std::vector<Root> todo = {all}, roots;
        while (!todo.empty()) {
            Root node = todo.back();
            todo.pop_back();
            const bool is_small = node.end - node.begin <= SubtreeGrower::max_rows;
            if (is_small || !find_split(node)) {
                node.is_leaf = !is_small;
                roots.push_back(node);
                continue;
            }
            const auto left = static_cast<std::uint32_t>(tree_.nodes_.size());
            tree_.nodes_.resize(left + 2);
            const std::uint32_t middle = carry_out(node, left);
            todo.push_back(
                {left + 1, middle, node.end, false, node.whole - best_.left, FeatureDraw::right_of(node.key)});
            todo.push_back({left, node.begin, middle, false, best_.left, FeatureDraw::left_of(node.key)});
        }
        SubtreeGrower(tree_, sample_, parameters_.min_samples_leaf, draw_, roots, positions_).grow();
    }

private:
    using Root = SubtreeGrower::Root;

    struct Best {
        std::size_t slot;
        /// Of numbers: the last bin that goes left, and the next one that has rows.
        std::size_t low, high;
        bool missing_left;
        Sum left;
        TableTree::BinSet set;
    };

    bool find_split(const Root &node) {
        if (node.end - node.begin < 2 * parameters_.min_samples_leaf) return false;
        const auto is_first = [&](std::uint32_t position) {
            return sample_.targets()[position] == sample_.targets()[positions_[node.begin]];
        };
        if (std::all_of(positions_.begin() + node.begin, positions_.begin() + node.end, is_first)) return false;
        best_gain_ = BestGain(node.whole, parameters_.min_samples_leaf);
        prepare(node);
        draw_(node.key, [&](std::size_t slot) { return try_slot(node, slot); });
        return best_gain_.found();
    }

    /// Tries a feature. Returns whether it varies.
    bool try_slot(const Root &node, std::size_t slot) {
        // Sums of more rows do not fit into one number.
        return node.whole.count < std::int64_t{1} << count_bits ? try_counted<std::uint64_t>(node, slot)
                                                                : try_counted<Sum>(node, slot);
    }

    /// What the rows of the node add to the sum of their bin: the target above, and 1 in the lower bits.
    void prepare(const Root &node) {
        for (std::size_t i = node.begin; i < node.end; ++i) {
            const std::int64_t target = sample_.targets()[positions_[i]] + offset;
            packed_targets_[i] = static_cast<std::uint64_t>(target) << count_bits | 1;
        }
    }

    static Sum unpacked(const Sum &sum) { return sum; }
    static Sum unpacked(std::uint64_t packed) {
        const auto n = static_cast<std::int64_t>(packed & ((std::uint64_t{1} << count_bits) - 1));
        return {static_cast<std::int64_t>(packed >> count_bits) - n * offset, n};
    }
    static void add(Sum &to, std::uint64_t packed) { to = to + unpacked(packed); }
    static void add(std::uint64_t &to, std::uint64_t packed) { to += packed; }

    template <typename Cell>
    bool try_counted(const Root &node, std::size_t slot) {
        std::array<Cell, FeatureTable::n_bins> cells = {};
        const std::uint8_t *const bins = sample_.bins(slot);
        for (std::size_t i = node.begin; i < node.end; ++i) add(cells[bins[positions_[i]]], packed_targets_[i]);
        const bool is_category = sample_.column(slot).kind == FeatureKind::categorical;
        return is_category ? try_categories(cells, slot) : try_numbers(cells, slot);
    }

    template <typename Cell>
    bool try_numbers(const std::array<Cell, FeatureTable::n_bins> &cells, std::size_t slot) {
        const std::size_t n_bins = sample_.n_bins(slot);
        const auto count = [&](std::size_t bin) { return unpacked(cells[bin]).count; };
        const Sum missing = unpacked(cells[FeatureTable::missing_bin]), whole = best_gain_.whole();
        std::size_t first = 0;
        while (first < n_bins && count(first) == 0) ++first;
        if (first == n_bins || count(first) == whole.count) return false;
        Cell reached = {};
        for (std::size_t bin = first; bin < n_bins; ++bin) {
            // Without asking whether the bin has any rows: if it has none, this is no better than before.
            reached = reached + cells[bin];
            const Sum left = unpacked(reached);
            const bool may_improve = best_gain_.may_improve(left.target, static_cast<double>(left.count),
                                                            static_cast<double>(whole.count - left.count));
            if (!may_improve && missing.count == 0) continue;
            std::size_t next = bin + 1;
            while (next < n_bins && count(next) == 0) ++next;
            if (best_gain_.improves(left)) {
                take(left, slot, bin, next, missing.count == 0 && best_gain_.majority_left(left));
            }
            if (missing.count > 0 && best_gain_.improves(left + missing)) take(left + missing, slot, bin, next, true);
        }
        return true;
    }

    void take(const Sum &left, std::size_t slot, std::size_t low, std::size_t high, bool missing_left) {
        best_.slot = slot;
        best_.low = low;
        best_.high = high;
        best_.missing_left = missing_left;
        best_.left = left;
    }

    template <typename Cell>
    bool try_categories(const std::array<Cell, FeatureTable::n_bins> &cells, std::size_t slot) {
        groups_.clear();
        for (std::size_t bin = 0; bin < FeatureTable::n_bins; ++bin) {
            const Sum sum = unpacked(cells[bin]);
            if (sum.count > 0) groups_.push_back({static_cast<std::uint8_t>(bin), sum, 0.0});
        }
        if (groups_.size() < 2) return false;
        CategorySplit split;
        if (try_groups(groups_, best_gain_, split)) {
            take(split.left, slot, 0, 0, split.unknown_left);
            best_.set = split.set;
        }
        return true;
    }

    /// Writes the split into its node, and brings the positions into its order. Returns where the right part begins.
    std::uint32_t carry_out(const Root &node, std::uint32_t left) {
        const FeatureTable::Column &column = sample_.column(best_.slot);
        const bool is_category = column.kind == FeatureKind::categorical;
        std::array<std::uint8_t, FeatureTable::n_bins> goes_left;
        double limit;
        if (is_category) {
            limit = static_cast<double>(tree_.sets_.size());
            tree_.sets_.push_back(best_.set);
            for (std::size_t bin = 0; bin < goes_left.size(); ++bin) {
                goes_left[bin] = TableTree::is_in(best_.set, static_cast<std::uint8_t>(bin));
            }
        } else {
            limit = threshold(column);
            for (std::size_t bin = 0; bin < goes_left.size(); ++bin) goes_left[bin] = bin <= best_.low;
            goes_left[FeatureTable::missing_bin] = best_.missing_left;
        }
        tree_.nodes_[node.node] = {limit, left, sample_.feature(best_.slot), best_.missing_left, is_category};
        const std::uint8_t *const bins = sample_.bins(best_.slot);
        // Stable: positions stay in ascending order.
        std::uint32_t *const positions = positions_.data() + node.begin;
        std::size_t n_left = 0, n_right = 0;
        for (std::size_t i = 0; i < node.end - node.begin; ++i) {
            const std::uint32_t position = positions[i], is_left = goes_left[bins[position]];
            positions[n_left] = position;
            right_[n_right] = position;
            n_left += is_left;
            n_right += is_left ^ 1;
        }
        std::copy_n(right_.data(), n_right, positions + n_left);
        return node.begin + static_cast<std::uint32_t>(n_left);
    }

    double threshold(const FeatureTable::Column &column) const {
        if (best_.high == sample_.n_bins(best_.slot)) return std::numeric_limits<double>::infinity();
        return threshold_between(column.highest[best_.low], column.lowest[best_.high]);
    }

    // Sums of targets and counts in one number: no more than 2^17 - 1 targets below 2^30.
    static constexpr int count_bits = 17;
    static constexpr std::int64_t offset = std::int64_t{1} << 29;

    TableTree &tree_;
    const TreeParameters &parameters_;
    TreeSample sample_;
    FeatureDraw draw_;
    std::vector<std::uint32_t> positions_;
    /// In the order of `positions_`.
    std::vector<std::uint64_t> packed_targets_;

    // The node in question.
    BestGain best_gain_;
    Best best_ = {};

    // Kept from node to node for their memory.
    std::vector<CategoryGroup> groups_;
    std::vector<std::uint32_t> right_;
};

TableTree::TableTree(const FeatureTable &table, const TreeParameters &parameters,
                     const std::vector<std::uint32_t> &sample, const std::int32_t *target, std::uint64_t seed) {
    TreeGrower(*this, table, parameters, sample, target, seed).grow();
    thin_out_leaves();
    nodes_.shrink_to_fit();
    leaves_.resize(nodes_.size());
    leaves_.shrink_to_fit();
}

void TableTree::thin_out_leaves() {
    const auto is_large = [](const Leaf &leaf) { return leaf.n_rows > max_leaf_rows; };
    if (std::none_of(leaves_.begin(), leaves_.end(), is_large)) return;
    std::vector<std::uint32_t> kept;
    for (Leaf &leaf : leaves_) {
        const auto first = static_cast<std::uint32_t>(kept.size());
        const std::size_t n = std::min<std::size_t>(leaf.n_rows, max_leaf_rows);
        for (std::size_t i = 0; i < n; ++i) kept.push_back(members_[leaf.first + (2 * i + 1) * leaf.n_rows / (2 * n)]);
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
