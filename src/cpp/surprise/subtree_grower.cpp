#include "surprise/subtree_grower.hpp"

#include <algorithm>
#include <limits>

namespace paribus {

SubtreeGrower::SubtreeGrower(TableTree &tree, const TreeSample &sample, std::size_t min_samples_leaf, FeatureDraw &draw,
                             const std::vector<Root> &roots, const std::vector<std::uint32_t> &positions)
    : tree_(tree),
      sample_(sample),
      min_samples_leaf_(min_samples_leaf),
      draw_(draw),
      roots_(roots),
      positions_(positions),
      orders_((sample.n_slots() + 1) * sample.size()),
      ranks_(sample.n_slots() * sample.size()),
      has_missing_(sample.n_slots() * roots.size()) {}

void SubtreeGrower::grow() {
    sort_roots();
    for (std::size_t i = 0; i < roots_.size(); ++i) grow(roots_[i], i);
}

/// Sorts all rows by each feature, and deals them out to the roots: so these are sorted, too.
void SubtreeGrower::sort_roots() {
    struct Place {
        std::uint32_t root, place;
    };
    struct Deal {
        std::uint32_t next, last_rank, n_distinct, begin;
    };
    const std::size_t n = sample_.size();
    std::vector<Place> places(n);
    for (std::uint32_t root = 0; root < roots_.size(); ++root) {
        for (std::uint32_t place = roots_[root].begin; place < roots_[root].end; ++place) {
            places[positions_[place]] = {root, place};
        }
    }
    std::vector<TreeSample::Ranked> sorted;
    std::vector<Deal> deals(roots_.size());
    for (std::size_t slot = 0; slot < sample_.n_slots(); ++slot) {
        for (std::size_t root = 0; root < roots_.size(); ++root) {
            deals[root] = {roots_[root].begin, std::numeric_limits<std::uint32_t>::max(), 0, roots_[root].begin};
        }
        std::uint8_t *const orders = orders_.data() + slot * n, *const ranks = ranks_.data() + slot * n;
        sample_.sort_by_feature(slot, sorted);
        const bool is_category = sample_.column(slot).kind == FeatureKind::categorical;
        for (const TreeSample::Ranked &each : sorted) {
            const auto [root, place] = places[each.position];
            Deal &deal = deals[root];
            deal.n_distinct += each.rank != deal.last_rank;
            deal.last_rank = each.rank;
            // Cut off in leaves of more rows, which have no use for it.
            orders[deal.next++] = static_cast<std::uint8_t>(place - deal.begin);
            ranks[place] = static_cast<std::uint8_t>(is_category ? each.rank : deal.n_distinct - 1);
        }
        if (sorted.size() == n) continue;
        const std::uint8_t *bins = sample_.bins(slot);
        for (std::uint32_t position = 0; position < n; ++position) {
            if (bins[position] != FeatureTable::missing_bin) continue;
            const auto [root, place] = places[position];
            orders[deals[root].next++] = static_cast<std::uint8_t>(place - deals[root].begin);
            ranks[place] = missing_rank;
            has_missing_[slot * roots_.size() + root] = 1;
        }
    }
    for (std::size_t root = 0; root < roots_.size(); ++root)
        deals[root] = {roots_[root].begin, 0, 0, roots_[root].begin};
    std::uint8_t *const orders = orders_.data() + sample_.n_slots() * n;
    sample_.sort_by_target(sorted);
    for (const TreeSample::Ranked &each : sorted) {
        const auto [root, place] = places[each.position];
        // Those of leaves are in place with this.
        tree_.members_[deals[root].next] = each.position;
        orders[deals[root].next++] = static_cast<std::uint8_t>(place - deals[root].begin);
    }
}

void SubtreeGrower::grow(const Root &root, std::size_t place) {
    const auto make_leaf = [&](std::uint32_t node, std::uint32_t begin, std::uint32_t end) {
        tree_.nodes_[node] = {std::numeric_limits<double>::infinity(), node, 0, true, false};
        tree_.leaves_.resize(tree_.nodes_.size());
        tree_.leaves_[node] = {begin, end - begin};
    };
    if (root.is_leaf) {
        make_leaf(root.node, root.begin, root.end);
        return;
    }
    base_ = root.begin;
    root_ = place;
    const std::uint32_t n = root.end - root.begin;
    for (std::uint32_t i = 0; i < n; ++i) targets_[i] = sample_.targets()[positions_[base_ + i]];
    todo_ = {{root.node, 0, n, root.whole, root.key}};
    while (!todo_.empty()) {
        const Node node = todo_.back();
        todo_.pop_back();
        if (!find_split(node)) {
            make_leaf(node.node, root.begin + node.begin, root.begin + node.end);
            continue;
        }
        const auto left = static_cast<std::uint32_t>(tree_.nodes_.size());
        tree_.nodes_.resize(left + 2);
        const std::uint32_t middle = node.begin + carry_out(node, left);
        todo_.push_back({left + 1, middle, node.end, node.whole - best_.left, FeatureDraw::right_of(node.key)});
        todo_.push_back({left, node.begin, middle, best_.left, FeatureDraw::left_of(node.key)});
    }
    const std::uint8_t *by_target = order(sample_.n_slots());
    set_thresholds();
    for (std::uint32_t i = 0; i < n; ++i) tree_.members_[base_ + i] = positions_[base_ + by_target[i]];
}

bool SubtreeGrower::find_split(const Node &node) {
    if (node.end - node.begin < 2 * min_samples_leaf_) return false;
    const std::uint8_t *by_target = order(sample_.n_slots());
    if (targets_[by_target[node.begin]] == targets_[by_target[node.end - 1]]) return false;
    best_gain_ = BestGain(node.whole, min_samples_leaf_);
    draw_(node.key, [&](std::size_t slot) {
        const bool is_category = sample_.column(slot).kind == FeatureKind::categorical;
        return is_category ? try_categories(node, slot) : try_numbers(node, slot);
    });
    return best_gain_.found();
}

bool SubtreeGrower::try_numbers(const Node &node, std::size_t slot) {
    const std::uint8_t *const order = this->order(slot) + node.begin, *const rank = ranks(slot);
    std::size_t n = node.end - node.begin;
    Sum missing;
    if (has_missing_[slot * roots_.size() + root_] != 0) {
        for (; n > 0 && rank[order[n - 1]] == missing_rank; --n) missing = missing + Sum{targets_[order[n - 1]], 1};
    }
    if (n == 0 || (rank[order[0]] == rank[order[n - 1]] && missing.count == 0)) return false;
    Sum left;
    if (missing.count == 0) {
        // Only where both sides are large enough.
        std::size_t i = 0;
        std::int64_t target = 0;
        for (; i + 1 < min_samples_leaf_; ++i) target += targets_[order[i]];
        auto n_left = static_cast<double>(i), n_right = static_cast<double>(n - i);
        for (; i + min_samples_leaf_ < n; ++i) {
            target += targets_[order[i]];
            n_left += 1.0;
            n_right -= 1.0;
            if (!best_gain_.may_improve(target, n_left, n_right)) continue;
            if (rank[order[i]] == rank[order[i + 1]]) continue;
            left = {target, static_cast<std::int64_t>(i + 1)};
            if (best_gain_.improves(left)) take(left, slot, order[i], order[i + 1], best_gain_.majority_left(left));
        }
        return true;
    }
    for (std::size_t i = 0; i + 1 < n; ++i) {
        left = left + Sum{targets_[order[i]], 1};
        if (rank[order[i]] == rank[order[i + 1]]) continue;
        if (best_gain_.improves(left)) take(left, slot, order[i], order[i + 1], false);
        if (best_gain_.improves(left + missing)) take(left + missing, slot, order[i], order[i + 1], true);
    }
    // What is missing against what is not.
    left = node.whole - missing;
    if (best_gain_.improves(left)) {
        take(left, slot, 0, 0, false);
        best_.all_known_left = true;
    }
    return true;
}

void SubtreeGrower::take(const Sum &left, std::size_t slot, std::uint8_t low, std::uint8_t high, bool missing_left) {
    best_.slot = slot;
    best_.low = low;
    best_.high = high;
    best_.all_known_left = false;
    best_.missing_left = missing_left;
    best_.left = left;
}

bool SubtreeGrower::try_categories(const Node &node, std::size_t slot) {
    const std::uint8_t *const order = this->order(slot), *const bin = ranks(slot);
    groups_.clear();
    for (std::uint32_t i = node.begin; i < node.end; ++i) {
        const std::uint8_t row = order[i];
        if (groups_.empty() || groups_.back().bin != bin[row]) groups_.push_back({bin[row], {}, 0.0});
        groups_.back().sum = groups_.back().sum + Sum{targets_[row], 1};
    }
    if (groups_.size() < 2) return false;
    bool unknown_left = false;
    if (try_groups(groups_, best_gain_, best_.set, unknown_left)) {
        take({}, slot, 0, 0, unknown_left);
        for (const CategoryGroup &group : groups_) {
            if (TableTree::is_in(best_.set, group.bin)) best_.left = best_.left + group.sum;
        }
    }
    return true;
}

std::uint32_t SubtreeGrower::carry_out(const Node &node, std::uint32_t left) {
    const std::size_t n_slots = sample_.n_slots();
    const bool is_category = sample_.column(best_.slot).kind == FeatureKind::categorical;
    const std::uint8_t *const rank = ranks(best_.slot);
    std::uint8_t *const by_target = order(n_slots) + node.begin;
    const std::size_t n = node.end - node.begin;
    double limit;
    if (is_category) {
        limit = static_cast<double>(tree_.sets_.size());
        tree_.sets_.push_back(best_.set);
        for (std::size_t i = 0; i < n; ++i) goes_left_[by_target[i]] = TableTree::is_in(best_.set, rank[by_target[i]]);
    } else {
        limit = std::numeric_limits<double>::infinity();
        if (!best_.all_known_left) remember_threshold(node.node);
        const std::uint8_t low = best_.all_known_left ? missing_rank - 1 : rank[best_.low];
        const std::uint8_t missing_left = best_.missing_left;
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint8_t row = by_target[i], at = rank[row];
            goes_left_[row] = static_cast<std::uint8_t>((at <= low) | ((at == missing_rank) & missing_left));
        }
    }
    tree_.nodes_[node.node] = {limit, left, sample_.feature(best_.slot), best_.missing_left, is_category};
    const auto n_left = static_cast<std::uint32_t>(best_.left.count);
    part(by_target, n);
    // Leaves need no orders.
    if (std::max<std::size_t>(n_left, n - n_left) >= 2 * min_samples_leaf_) {
        for (std::size_t slot = 0; slot < n_slots; ++slot) part(order(slot) + node.begin, n);
    }
    return n_left;
}

/// The values are far away in memory. They are fetched while the tree goes on growing.
void SubtreeGrower::remember_threshold(std::uint32_t node) {
    const Strided &values = sample_.column(best_.slot).values;
    const std::uint32_t low = sample_.row(positions_[base_ + best_.low]);
    const std::uint32_t high = sample_.row(positions_[base_ + best_.high]);
    __builtin_prefetch(values.data + low * values.stride);
    __builtin_prefetch(values.data + high * values.stride);
    cuts_.push_back({node, low, high});
}

void SubtreeGrower::set_thresholds() {
    for (const Cut &cut : cuts_) {
        TableTree::Node &node = tree_.nodes_[cut.node];
        const Strided &values = sample_.table().column(node.feature).values;
        node.threshold = threshold_between(values[cut.low], values[cut.high]);
    }
    cuts_.clear();
}

/// Rows that go left first, the others after them; otherwise as they were.
void SubtreeGrower::part(std::uint8_t *order, std::size_t n) const {
    std::array<std::uint8_t, max_rows> right;
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t row = order[i], is_left = goes_left_[row];
        order[n_left] = row;
        right[n_right] = row;
        n_left += is_left;
        n_right += is_left ^ 1;
    }
    std::copy_n(right.data(), n_right, order + n_left);
}

}  // namespace paribus
