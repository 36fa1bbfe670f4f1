#include "surprise/tree_grower.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace paribus {

TreeGrower::TreeGrower(TableTree &tree, const FeatureTable &table, const TreeParameters &parameters,
                       const std::vector<std::uint32_t> &sample, const std::int32_t *target, std::uint64_t seed,
                       GrowthMemory &memory)
    : tree_(tree),
      parameters_(parameters),
      sample_(table, parameters.features, sample, target, memory),
      counts_(sample_, parameters.max_features, memory),
      draw_(parameters.features.size(), parameters.max_features, seed),
      memory_(memory),
      positions_(memory.positions),
      right_(memory.right) {
    positions_.resize(sample.size());
    right_.resize(sample.size());
    std::iota(positions_.begin(), positions_.end(), 0);
    tree.members_.resize(sample.size());
}

void TreeGrower::grow() {
    tree_.nodes_.resize(1);
    Root all = {0, 0, static_cast<std::uint32_t>(positions_.size()), false, {}, FeatureDraw::root};
    for (const std::uint32_t position : positions_) all.whole = all.whole + Sum{sample_.targets()[position], 1};
    std::vector<Node> todo = {{all, BinCounts::none}};
    std::vector<Root> roots;
    while (!todo.empty()) {
        Node node = todo.back();
        Root &root = node.root;
        todo.pop_back();
        if (is_small(root)) {
            roots.push_back(root);
            continue;
        }
        if (node.counts == BinCounts::none) {
            node.counts = counts_.count(positions_.data() + root.begin, root.end - root.begin);
        }
        if (!find_split(node)) {
            counts_.release(node.counts);
            root.is_leaf = true;
            roots.push_back(root);
            continue;
        }
        const auto left = static_cast<std::uint32_t>(tree_.nodes_.size());
        tree_.nodes_.resize(left + 2);
        const std::uint32_t middle = carry_out(root, left);
        todo.push_back({{left + 1, middle, root.end, false, root.whole - best_.left, FeatureDraw::right_of(root.key)},
                        BinCounts::none});
        todo.push_back(
            {{left, root.begin, middle, false, best_.left, FeatureDraw::left_of(root.key)}, BinCounts::none});
        if (node.counts != BinCounts::none) pass_on(node.counts, todo.back(), todo[todo.size() - 2]);
    }
    SubtreeGrower(tree_, sample_, parameters_.min_samples_leaf, draw_, roots, positions_, memory_).grow();
}

void TreeGrower::pass_on(BinCounts::Place parent, Node &left, Node &right) {
    const auto size = [](const Node &node) { return node.root.end - node.root.begin; };
    Node &smaller = size(left) < size(right) ? left : right, &larger = size(left) < size(right) ? right : left;
    if (is_small(larger.root)) {
        counts_.release(parent);
        return;
    }
    smaller.counts =
        counts_.split(parent, positions_.data() + smaller.root.begin, size(smaller), !is_small(smaller.root));
    larger.counts = parent;
}

bool TreeGrower::find_split(const Node &node) {
    const Root &root = node.root;
    if (root.end - root.begin < 2 * parameters_.min_samples_leaf) return false;
    const auto is_first = [&](std::uint32_t position) {
        return sample_.targets()[position] == sample_.targets()[positions_[root.begin]];
    };
    if (std::all_of(positions_.begin() + root.begin, positions_.begin() + root.end, is_first)) return false;
    best_gain_ = BestGain(root.whole, parameters_.min_samples_leaf);
    if (node.counts == BinCounts::none && root.whole.count <= BinCounts::max_rows) {
        counts_.prepare(positions_.data() + root.begin, root.end - root.begin);
    }
    draw_(root.key, [&](std::size_t slot) { return try_slot(node, slot); }, [&] { return best_gain_.found(); });
    return best_gain_.found();
}

bool TreeGrower::try_slot(const Node &node, std::size_t slot) {
    const Root &root = node.root;
    const bool is_category = sample_.column(slot).kind == FeatureKind::categorical;
    if (root.whole.count <= BinCounts::max_rows) {
        const std::uint64_t *const cells =
            node.counts != BinCounts::none ? counts_.cells(node.counts, slot)
                                           : counts_.cells(positions_.data() + root.begin, root.end - root.begin, slot);
        if (!is_category && cells[FeatureTable::missing_bin] == 0) return try_bins(cells, slot);
        std::transform(cells, cells + sums_.size(), sums_.begin(), BinCounts::unpacked);
    } else {
        sums_.fill({});
        const std::uint8_t *const bins = sample_.bins(slot);
        for (std::size_t i = root.begin; i < root.end; ++i) {
            Sum &sum = sums_[bins[positions_[i]]];
            sum = sum + Sum{sample_.targets()[positions_[i]], 1};
        }
    }
    return is_category ? try_categories(sums_, slot) : try_numbers(sums_, slot);
}

bool TreeGrower::try_bins(const std::uint64_t *cells, std::size_t slot) {
    const std::size_t n_bins = sample_.n_bins(slot);
    const Sum &whole = best_gain_.whole();
    const std::uint64_t *const end = cells + n_bins;
    const auto next_bin = [&](const std::uint64_t *from) {
        return std::find_if(from, end, [](std::uint64_t cell) { return cell != 0; });
    };
    if (BinCounts::unpacked(*next_bin(cells)).count == whole.count) return false;
    const Cut cut =
        kernel_.find_bin_cut({cells, n_bins, whole.count, static_cast<std::int64_t>(parameters_.min_samples_leaf),
                              best_gain_.mean(), best_gain_.bar()});
    if (cut.gain < 0.0) return true;
    if (!is_alone(cut)) {
        std::transform(cells, cells + sums_.size(), sums_.begin(), BinCounts::unpacked);
        return try_numbers(sums_, slot);
    }
    const Sum left = {cut.left, cut.n_left};
    if (!best_gain_.improves(left)) return true;
    const auto high = static_cast<std::size_t>(next_bin(cells + cut.place + 1) - cells);
    take(left, slot, cut.place, high, best_gain_.majority_left(left));
    return true;
}

bool TreeGrower::try_numbers(const Sums &sums, std::size_t slot) {
    const std::size_t n_bins = sample_.n_bins(slot);
    const Sum missing = sums[FeatureTable::missing_bin], whole = best_gain_.whole();
    std::size_t next = 0;
    const auto skip_empty = [&] {
        while (next < n_bins && sums[next].count == 0) ++next;
    };
    skip_empty();
    if (next == n_bins || sums[next].count == whole.count) return false;
    Sum left;
    while (next < n_bins) {
        const std::size_t bin = next++;
        skip_empty();
        left = left + sums[bin];
        if (best_gain_.improves(left)) {
            take(left, slot, bin, next, missing.count == 0 && best_gain_.majority_left(left));
        }
        if (missing.count > 0 && best_gain_.improves(left + missing)) take(left + missing, slot, bin, next, true);
    }
    return true;
}

void TreeGrower::take(const Sum &left, std::size_t slot, std::size_t low, std::size_t high, bool missing_left) {
    best_.slot = slot;
    best_.low = low;
    best_.high = high;
    best_.missing_left = missing_left;
    best_.left = left;
}

bool TreeGrower::try_categories(const Sums &sums, std::size_t slot) {
    groups_.clear();
    for (std::size_t bin = 0; bin < sums.size(); ++bin) {
        if (sums[bin].count > 0) groups_.push_back({static_cast<std::uint8_t>(bin), sums[bin], 0.0});
    }
    if (groups_.size() < 2) return false;
    CategorySplit split;
    if (try_groups(groups_, best_gain_, split)) {
        take(split.left, slot, 0, 0, false);
        best_.set = split.set;
    }
    return true;
}

std::uint32_t TreeGrower::carry_out(const Root &node, std::uint32_t left) {
    const FeatureTable::Column &column = sample_.column(best_.slot);
    const bool is_category = column.kind == FeatureKind::categorical;
    std::array<std::uint8_t, FeatureTable::n_bins> goes_left;
    double limit;
    if (is_category) {
        limit = static_cast<double>(tree_.sets_.size());
        best_.missing_left = draw_.draws_left(node.key, best_.left, node.whole);
        sample_.place_unseen(best_.slot, best_.missing_left, best_.set);
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

double TreeGrower::threshold(const FeatureTable::Column &column) const {
    if (best_.high == sample_.n_bins(best_.slot)) return std::numeric_limits<double>::infinity();
    return threshold_between(column.highest[best_.low], column.lowest[best_.high]);
}

}  // namespace paribus
