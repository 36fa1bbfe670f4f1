#include "surprise/subtree_grower.hpp"

#include <algorithm>
#include <limits>

namespace paribus {

SubtreeGrower::SubtreeGrower(TableTree &tree, const TreeSample &sample, std::size_t min_samples_leaf, FeatureDraw &draw,
                             const std::vector<Root> &roots, const std::vector<std::uint32_t> &positions,
                             GrowthMemory &memory)
    : tree_(tree),
      sample_(sample),
      min_samples_leaf_(min_samples_leaf),
      draw_(draw),
      roots_(roots),
      positions_(positions),
      dealt_(memory.dealt),
      ranks_(memory.ranks),
      traits_(sample.n_slots() * roots.size()),
      places_(memory.places),
      deals_(roots.size()),
      orders_(memory.orders) {
    dealt_.resize((sample.n_slots() + 1) * sample.size());
    ranks_.resize(sample.n_slots() * sample.size());
    places_.resize(sample.size());
    orders_.resize((sample.n_slots() + 1) * SubtreeOrders::stride);
    scan_.targets = targets_.data();
    scan_.min_samples_leaf = min_samples_leaf;
}

void SubtreeGrower::grow() {
    sort_roots();
    for (std::size_t i = 0; i < roots_.size(); ++i) grow(roots_[i], i);
}

/// Sorts all rows by each feature, and deals them out to the roots: so these are sorted, too.
void SubtreeGrower::sort_roots() {
    for (std::uint32_t root = 0; root < roots_.size(); ++root) {
        const std::uint32_t begin = roots_[root].begin, n = roots_[root].end - begin;
        for (std::uint32_t i = 0; i < n; ++i) places_[positions_[begin + i]] = root << 8 | (i & 0xff);
    }
    for (std::size_t slot = 0; slot < sample_.n_slots(); ++slot) {
        for (std::size_t root = 0; root < roots_.size(); ++root) {
            deals_[root] = {roots_[root].begin, std::numeric_limits<std::uint32_t>::max(), 0};
        }
        const std::size_t n_dealt = sample_.are_all_different(slot) ? deal_different(slot) : deal(slot);
        if (n_dealt < sample_.size()) deal_missing(slot);
    }
    for (std::size_t root = 0; root < roots_.size(); ++root) deals_[root].next = roots_[root].begin;
    deal_by_target();
}

std::size_t SubtreeGrower::deal(std::size_t slot) {
    std::uint8_t *const orders = dealt_.data() + (slot + 1) * sample_.size();
    std::uint8_t *const ranks = ranks_.data() + slot * sample_.size();
    const bool is_category = this->is_category(slot);
    std::size_t n_dealt = 0;
    sample_.visit_by_feature(slot, [&](std::uint32_t rank, std::uint32_t position) {
        const std::uint32_t root = places_[position] >> 8, row = places_[position] & 0xff;
        Deal &deal = deals_[root];
        deal.n_distinct += rank != deal.last_rank;
        deal.last_rank = rank;
        orders[deal.next++] = static_cast<std::uint8_t>(row);
        ranks[roots_[root].begin + row] = static_cast<std::uint8_t>(is_category ? rank : deal.n_distinct - 1);
        ++n_dealt;
    });
    std::uint8_t *const traits = traits_.data() + slot * roots_.size();
    for (std::size_t root = 0; root < roots_.size(); ++root) {
        traits[root] = deals_[root].n_distinct < deals_[root].next - roots_[root].begin ? equal_values : 0;
    }
    return n_dealt;
}

std::size_t SubtreeGrower::deal_different(std::size_t slot) {
    std::uint8_t *const orders = dealt_.data() + (slot + 1) * sample_.size();
    const std::uint32_t *const places = places_.data();
    Deal *const deals = deals_.data();
    sample_.visit_by_feature(slot, [=](std::uint32_t, std::uint32_t position) {
        orders[deals[places[position] >> 8].next++] = static_cast<std::uint8_t>(places[position]);
    });
    return sample_.size();
}

void SubtreeGrower::deal_missing(std::size_t slot) {
    std::uint8_t *const orders = dealt_.data() + (slot + 1) * sample_.size();
    std::uint8_t *const ranks = ranks_.data() + slot * sample_.size();
    std::uint8_t *const traits = traits_.data() + slot * roots_.size();
    const std::uint8_t *const bins = sample_.bins(slot);
    for (std::uint32_t position = 0; position < sample_.size(); ++position) {
        if (bins[position] != FeatureTable::missing_bin) continue;
        const std::uint32_t root = places_[position] >> 8, row = places_[position] & 0xff;
        orders[deals_[root].next++] = static_cast<std::uint8_t>(row);
        ranks[roots_[root].begin + row] = missing_rank;
        traits[root] |= missing_values;
    }
}

void SubtreeGrower::deal_by_target() {
    std::uint8_t *const orders = dealt_.data();
    std::uint32_t *const members = tree_.members_.data();
    const std::uint32_t *const places = places_.data();
    Deal *const deals = deals_.data();
    sample_.visit_by_target([=](std::uint32_t, std::uint32_t position) {
        const std::uint32_t next = deals[places[position] >> 8].next++;
        // Those of leaves are in place with this.
        members[next] = position;
        orders[next] = static_cast<std::uint8_t>(places[position]);
    });
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
    for (std::size_t i = 0; i <= sample_.n_slots(); ++i) {
        std::copy_n(dealt_.data() + i * sample_.size() + base_, n, orders_.data() + i * SubtreeOrders::stride);
    }
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
    set_thresholds();
    for (std::uint32_t i = 0; i < n; ++i) tree_.members_[base_ + i] = positions_[base_ + by_target()[i]];
}

bool SubtreeGrower::find_split(const Node &node) {
    if (node.end - node.begin < 2 * min_samples_leaf_) return false;
    if (targets_[by_target()[node.begin]] == targets_[by_target()[node.end - 1]]) return false;
    best_gain_ = BestGain(node.whole, min_samples_leaf_);
    tried_.clear();
    std::size_t n_done = 0;
    const auto has_split = [&] {
        for (; n_done < tried_.size(); n_done += std::min(OrderScan::width, tried_.size() - n_done)) {
            try_slots(node, tried_.data() + n_done, std::min(OrderScan::width, tried_.size() - n_done));
        }
        return best_gain_.found();
    };
    draw_(
        node.key,
        [&](std::size_t slot) {
            if (!varies(node, slot)) return false;
            tried_.push_back(static_cast<std::uint16_t>(slot));
            return true;
        },
        has_split);
    return has_split();
}

bool SubtreeGrower::varies(const Node &node, std::size_t slot) const {
    if (traits(slot) == 0) return true;
    return ranks(slot)[order(slot)[node.begin]] != ranks(slot)[order(slot)[node.end - 1]];
}

bool SubtreeGrower::has_missing(const Node &node, std::size_t slot) const {
    return (traits(slot) & missing_values) != 0 && ranks(slot)[order(slot)[node.end - 1]] == missing_rank;
}

void SubtreeGrower::try_slots(const Node &node, const std::uint16_t *slots, std::size_t n_slots) {
    std::array<Cut, OrderScan::width> cuts;
    scan_.n_rows = node.end - node.begin;
    scan_.mean = best_gain_.mean();
    scan_.n_orders = 0;
    const auto is_scanned = [&](std::size_t slot) { return !is_category(slot) && !has_missing(node, slot); };
    for (std::size_t i = 0; i < n_slots; ++i) {
        if (!is_scanned(slots[i])) continue;
        scan_.orders[scan_.n_orders] = order(slots[i]) + node.begin;
        scan_.ranks[scan_.n_orders++] = (traits(slots[i]) & equal_values) != 0 ? ranks(slots[i]) : nullptr;
    }
    kernel_.find_order_cuts(scan_, cuts.data());
    const Cut *next = cuts.data();
    for (std::size_t i = 0; i < n_slots; ++i) {
        if (is_category(slots[i])) {
            try_categories(node, slots[i]);
        } else if (is_scanned(slots[i])) {
            try_cut(node, slots[i], *next++);
        } else {
            try_numbers(node, slots[i]);
        }
    }
}

void SubtreeGrower::try_cut(const Node &node, std::size_t slot, const Cut &cut) {
    if (!(cut.gain > best_gain_.bar() * static_cast<double>(scan_.n_rows))) return;
    if (!is_alone(cut)) {
        try_numbers(node, slot);
        return;
    }
    const Sum left = {cut.left, cut.n_left};
    if (!best_gain_.improves(left)) return;
    const std::uint8_t *const at = order(slot) + node.begin + cut.place;
    best_.n_known = scan_.n_rows;
    take(left, slot, at[0], at[1], best_gain_.majority_left(left));
}

void SubtreeGrower::try_numbers(const Node &node, std::size_t slot) {
    const std::uint8_t *const order = this->order(slot) + node.begin, *const rank = ranks(slot);
    const bool are_equal = (traits(slot) & equal_values) != 0;
    std::size_t n = node.end - node.begin;
    Sum left, missing;
    if (has_missing(node, slot)) {
        for (; n > 0 && rank[order[n - 1]] == missing_rank; --n) missing = missing + Sum{targets_[order[n - 1]], 1};
    }
    const auto take_this = [&](const Sum &left, std::uint8_t low, std::uint8_t high, bool missing_left) {
        best_.n_known = n;
        take(left, slot, low, high, missing_left);
    };
    for (std::size_t i = 0; i + 1 < n; ++i) {
        left = left + Sum{targets_[order[i]], 1};
        if (are_equal && rank[order[i]] == rank[order[i + 1]]) continue;
        if (best_gain_.improves(left)) {
            take_this(left, order[i], order[i + 1], missing.count == 0 && best_gain_.majority_left(left));
        }
        if (missing.count == 0) continue;
        if (best_gain_.improves(left + missing)) take_this(left + missing, order[i], order[i + 1], true);
    }
    if (missing.count == 0) return;
    // What is missing against what is not.
    left = node.whole - missing;
    if (best_gain_.improves(left)) {
        take_this(left, 0, 0, false);
        best_.all_known_left = true;
    }
}

void SubtreeGrower::take(const Sum &left, std::size_t slot, std::uint8_t low, std::uint8_t high, bool missing_left) {
    best_.slot = slot;
    best_.low = low;
    best_.high = high;
    best_.all_known_left = false;
    best_.missing_left = missing_left;
    best_.left = left;
}

void SubtreeGrower::try_categories(const Node &node, std::size_t slot) {
    const std::uint8_t *const order = this->order(slot), *const bin = ranks(slot);
    groups_.clear();
    for (std::uint32_t i = node.begin; i < node.end; ++i) {
        const std::uint8_t row = order[i];
        if (groups_.empty() || groups_.back().bin != bin[row]) groups_.push_back({bin[row], {}, 0.0});
        groups_.back().sum = groups_.back().sum + Sum{targets_[row], 1};
    }
    CategorySplit split;
    if (!try_groups(groups_, best_gain_, split)) return;
    take(split.left, slot, 0, 0, false);
    best_.set = split.set;
}

std::uint32_t SubtreeGrower::carry_out(const Node &node, std::uint32_t left) {
    const bool is_category = this->is_category(best_.slot);
    const std::uint8_t *const by_feature = order(best_.slot) + node.begin;
    const std::size_t n = node.end - node.begin;
    const auto n_left = static_cast<std::size_t>(best_.left.count);
    double limit;
    if (is_category) {
        limit = static_cast<double>(tree_.sets_.size());
        best_.missing_left = draw_.draws_left(node.key, best_.left, node.whole);
        sample_.place_unseen(best_.slot, best_.missing_left, best_.set);
        tree_.sets_.push_back(best_.set);
        const std::uint8_t *const bin = ranks(best_.slot);
        for (std::size_t i = 0; i < n; ++i) {
            goes_left_[by_feature[i]] = TableTree::is_in(best_.set, bin[by_feature[i]]) ? 255 : 0;
        }
    } else {
        limit = std::numeric_limits<double>::infinity();
        if (!best_.all_known_left) remember_threshold(node.node);
        const bool has_missing_left = best_.n_known < n && best_.missing_left;
        const std::size_t n_known_left = has_missing_left ? n_left - (n - best_.n_known) : n_left;
        for (std::size_t i = 0; i < n_known_left; ++i) goes_left_[by_feature[i]] = 255;
        for (std::size_t i = n_known_left; i < best_.n_known; ++i) goes_left_[by_feature[i]] = 0;
        for (std::size_t i = best_.n_known; i < n; ++i) goes_left_[by_feature[i]] = best_.missing_left ? 255 : 0;
    }
    tree_.nodes_[node.node] = {limit, left, sample_.feature(best_.slot), best_.missing_left, is_category};
    // Leaves need no orders but that of the target.
    const bool is_last = std::max(n_left, n - n_left) < 2 * min_samples_leaf_;
    kernel_.part_orders(by_target() + node.begin, is_last ? 1 : sample_.n_slots() + 1, n, n_left, goes_left_.data());
    return static_cast<std::uint32_t>(n_left);
}

/// The values are far away in memory. They are fetched while the tree goes on growing.
void SubtreeGrower::remember_threshold(std::uint32_t node) {
    const Strided &values = sample_.column(best_.slot).values;
    const std::uint32_t low = sample_.row(positions_[base_ + best_.low]);
    const std::uint32_t high = sample_.row(positions_[base_ + best_.high]);
    __builtin_prefetch(values.data + low * values.stride);
    __builtin_prefetch(values.data + high * values.stride);
    thresholds_.push_back({node, low, high});
}

void SubtreeGrower::set_thresholds() {
    for (const Threshold &each : thresholds_) {
        TableTree::Node &node = tree_.nodes_[each.node];
        const Strided &values = sample_.table().column(node.feature).values;
        node.threshold = threshold_between(values[each.low], values[each.high]);
    }
    thresholds_.clear();
}

}  // namespace paribus
