#include "surprise/table_tree.hpp"

#include <algorithm>
#include <limits>

#include "common/random.hpp"

namespace paribus {

namespace {

// Sorting the values of a node with fewer rows costs less than counting them into bins, and is exact.
constexpr std::size_t few_rows = 192;

struct Sum {
    std::int64_t target = 0;
    std::int64_t count = 0;
};

Sum operator+(const Sum &a, const Sum &b) { return {a.target + b.target, a.count + b.count}; }
Sum operator-(const Sum &a, const Sum &b) { return {a.target - b.target, a.count - b.count}; }

}  // namespace

class TreeGrower {
public:
    TreeGrower(TableTree &tree, const FeatureTable &table, const TreeParameters &parameters, const std::int32_t *target,
               std::uint64_t seed)
        : tree_(tree),
          table_(table),
          parameters_(parameters),
          target_(target),
          random_(seed),
          features_(parameters.features) {}

    void grow() {
        tree_.nodes_.resize(1);
        std::vector<Range> todo = {{0, 0, static_cast<std::uint32_t>(tree_.rows_.size())}};
        while (!todo.empty()) {
            const Range range = todo.back();
            todo.pop_back();
            if (!find_split(range)) {
                tree_.nodes_[range.node] = {std::numeric_limits<double>::infinity(), range.node, 0, true, false};
                tree_.leaves_.resize(tree_.nodes_.size());
                tree_.leaves_[range.node] = {range.begin, range.end - range.begin};
                continue;
            }
            const auto left = static_cast<std::uint32_t>(tree_.nodes_.size());
            tree_.nodes_.resize(left + 2);
            const std::uint32_t middle = carry_out(range, left);
            todo.push_back({left + 1, middle, range.end});
            todo.push_back({left, range.begin, middle});
        }
    }

private:
    struct Range {
        std::uint32_t node, begin, end;
    };

    struct Split {
        double gain;
        std::uint16_t feature;
        double threshold;
        bool missing_left;
        TableTree::BinSet set;
    };

    bool find_split(const Range &range) {
        const std::size_t n = range.end - range.begin;
        if (n < 2 * parameters_.min_samples_leaf) return false;
        rows_ = tree_.rows_.data() + range.begin;
        n_rows_ = n;
        whole_ = {0, static_cast<std::int64_t>(n)};
        bool is_constant = true;
        for (std::size_t i = 0; i < n; ++i) {
            whole_.target += target_[rows_[i]];
            is_constant = is_constant && target_[rows_[i]] == target_[rows_[0]];
        }
        if (is_constant) return false;
        mean_ = static_cast<double>(whole_.target) / static_cast<double>(n);
        best_.gain = 0.0;
        for (std::size_t tried = 0, place = 0; tried < parameters_.max_features && place < features_.size(); ++place) {
            if (parameters_.max_features < features_.size()) {
                std::swap(features_[place], features_[place + random_.below(features_.size() - place)]);
            }
            const std::uint16_t feature = features_[place];
            const FeatureTable::Column &column = table_.column(feature);
            // A feature that is constant here does not count as tried.
            bool varies;
            if (column.kind == FeatureKind::categorical) {
                varies = try_categories(column, feature);
            } else if (n <= few_rows) {
                varies = try_sorted(column, feature);
            } else {
                varies = try_binned(column, feature);
            }
            tried += varies;
        }
        return best_.gain > 0.0;
    }

    bool is_better(const Sum &left, double &gain) const {
        const auto smallest = static_cast<std::int64_t>(parameters_.min_samples_leaf);
        const std::int64_t n_right = whole_.count - left.count;
        if (left.count < smallest || n_right < smallest) return false;
        const auto n_left = static_cast<double>(left.count);
        const double excess = static_cast<double>(left.target) - n_left * mean_;
        gain = excess * excess / (n_left * static_cast<double>(n_right));
        // By more than rounding, so that a split that is worth nothing is none.
        return gain > best_.gain * (1.0 + 1e-12) && gain > 1e-9;
    }

    void take(double gain, std::uint16_t feature, double threshold, bool missing_left) {
        best_.gain = gain;
        best_.feature = feature;
        best_.threshold = threshold;
        best_.missing_left = missing_left;
    }

    static double between(const FeatureTable::Column &column, std::uint32_t rank, std::uint32_t next) {
        const double low = column.distinct[rank], high = column.distinct[next];
        const double middle = low + 0.5 * (high - low);
        return middle < high ? middle : low;
    }

    bool try_sorted(const FeatureTable::Column &column, std::uint16_t feature) {
        keys_.clear();
        Sum missing;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            const std::uint32_t row = rows_[i];
            if (column.bins[row] == FeatureTable::missing_bin) {
                missing = missing + Sum{target_[row], 1};
            } else {
                // The target rides along, so that the scan below reads one array.
                keys_.push_back(std::uint64_t{column.ranks[row]} << 32 | static_cast<std::uint32_t>(target_[row]));
            }
        }
        if (keys_.empty()) return false;
        std::sort(keys_.begin(), keys_.end());
        const auto rank = [](std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); };
        if (rank(keys_.front()) == rank(keys_.back()) && missing.count == 0) return false;
        Sum left;
        for (std::size_t i = 0; i + 1 < keys_.size(); ++i) {
            left = left + Sum{static_cast<std::int32_t>(static_cast<std::uint32_t>(keys_[i])), 1};
            if (rank(keys_[i]) == rank(keys_[i + 1])) continue;
            consider(left, missing, feature, [&] { return between(column, rank(keys_[i]), rank(keys_[i + 1])); });
        }
        consider_missing(missing, feature);
        return true;
    }

    bool try_binned(const FeatureTable::Column &column, std::uint16_t feature) {
        count(column);
        const std::size_t n_bins = column.last_rank.size();
        const Sum missing = sums_[FeatureTable::missing_bin];
        std::size_t first = 0;
        while (first < n_bins && sums_[first].count == 0) ++first;
        if (first == n_bins || (sums_[first].count == whole_.count)) return false;
        Sum left;
        std::size_t last = first;
        for (std::size_t bin = first; bin < n_bins; ++bin) {
            if (sums_[bin].count == 0) continue;
            if (bin > first) {
                consider(left, missing, feature, [&] {
                    return between(column, column.last_rank[last], bin == 0 ? 0 : column.last_rank[bin - 1] + 1);
                });
            }
            left = left + sums_[bin];
            last = bin;
        }
        consider_missing(missing, feature);
        return true;
    }

    template <typename Threshold>
    void consider(const Sum &left, const Sum &missing, std::uint16_t feature, const Threshold &threshold) {
        double gain;
        // Where nothing is missing now, what is missing later goes with the majority.
        const bool majority_left = 2 * left.count >= whole_.count;
        if (is_better(left, gain)) take(gain, feature, threshold(), missing.count == 0 && majority_left);
        if (missing.count > 0 && is_better(left + missing, gain)) take(gain, feature, threshold(), true);
    }

    /// What is missing against what is not.
    void consider_missing(const Sum &missing, std::uint16_t feature) {
        double gain;
        if (missing.count > 0 && is_better(whole_ - missing, gain)) {
            take(gain, feature, std::numeric_limits<double>::infinity(), false);
        }
    }

    bool try_categories(const FeatureTable::Column &column, std::uint16_t feature) {
        count(column);
        present_.clear();
        for (std::size_t bin = 0; bin < FeatureTable::n_bins; ++bin) {
            if (sums_[bin].count > 0) present_.push_back(static_cast<std::uint8_t>(bin));
        }
        if (present_.size() < 2) return false;
        // From the lowest mean to the highest: one of the cuts of this order is the best of all splits in two.
        const auto mean = [&](std::uint8_t bin) {
            return static_cast<double>(sums_[bin].target) / static_cast<double>(sums_[bin].count);
        };
        std::stable_sort(present_.begin(), present_.end(),
                         [&](std::uint8_t a, std::uint8_t b) { return mean(a) < mean(b); });
        Sum left;
        std::size_t n_left = 0;
        bool unknown_left = false;
        for (std::size_t i = 0; i + 1 < present_.size(); ++i) {
            left = left + sums_[present_[i]];
            double gain;
            if (!is_better(left, gain)) continue;
            unknown_left = 2 * left.count >= whole_.count;
            take(gain, feature, 0.0, unknown_left);
            n_left = i + 1;
        }
        if (n_left > 0) {
            best_.set.fill(unknown_left ? ~std::uint64_t{0} : 0);
            for (std::size_t i = 0; i < present_.size(); ++i) {
                const std::uint64_t bit = std::uint64_t{1} << (present_[i] % 64);
                std::uint64_t &word = best_.set[present_[i] / 64];
                word = i < n_left ? word | bit : word & ~bit;
            }
        }
        return true;
    }

    void count(const FeatureTable::Column &column) {
        sums_.fill({});
        for (std::size_t i = 0; i < n_rows_; ++i) {
            Sum &sum = sums_[column.bins[rows_[i]]];
            sum.target += target_[rows_[i]];
            ++sum.count;
        }
    }

    /// Writes the split into its node, and brings the rows into its order. Returns where the right part begins.
    std::uint32_t carry_out(const Range &range, std::uint32_t left) {
        const FeatureTable::Column &column = table_.column(best_.feature);
        const bool is_categorical = column.kind == FeatureKind::categorical;
        if (is_categorical) {
            best_.threshold = static_cast<double>(tree_.sets_.size());
            tree_.sets_.push_back(best_.set);
        }
        tree_.nodes_[range.node] = {best_.threshold, left, best_.feature, best_.missing_left, is_categorical};
        std::uint32_t *const begin = tree_.rows_.data() + range.begin;
        std::uint32_t *const end = tree_.rows_.data() + range.end;
        // Stable, so that the rows of a leaf stay in ascending order.
        right_.clear();
        std::uint32_t *to = begin;
        if (is_categorical) {
            for (std::uint32_t *it = begin; it != end; ++it) {
                TableTree::is_in(best_.set, column.bins[*it]) ? void(*to++ = *it) : right_.push_back(*it);
            }
        } else {
            for (std::uint32_t *it = begin; it != end; ++it) {
                const double value = column.values[*it];
                const bool is_left = value <= best_.threshold || (value != value && best_.missing_left);
                is_left ? void(*to++ = *it) : right_.push_back(*it);
            }
        }
        std::copy(right_.begin(), right_.end(), to);
        return static_cast<std::uint32_t>(to - tree_.rows_.data());
    }

    TableTree &tree_;
    const FeatureTable &table_;
    const TreeParameters &parameters_;
    const std::int32_t *target_;
    Random random_;
    std::vector<std::uint16_t> features_;

    // The node in question.
    const std::uint32_t *rows_ = nullptr;
    std::size_t n_rows_ = 0;
    Sum whole_;
    double mean_ = 0.0;
    Split best_ = {};

    // Kept from node to node for their memory.
    std::vector<std::uint64_t> keys_;
    std::array<Sum, FeatureTable::n_bins> sums_;
    std::vector<std::uint8_t> present_;
    std::vector<std::uint32_t> right_;
};

TableTree::TableTree(const FeatureTable &table, const TreeParameters &parameters, std::vector<std::uint32_t> rows,
                     const std::int32_t *target, std::uint64_t seed)
    : rows_(std::move(rows)) {
    TreeGrower(*this, table, parameters, target, seed).grow();
    nodes_.shrink_to_fit();
    leaves_.resize(nodes_.size());
    leaves_.shrink_to_fit();
}

bool TableTree::category_goes_left(const FeatureTable &table, const Node &node, double value) const {
    const BinSet &set = sets_[static_cast<std::size_t>(node.threshold)];
    if (value != value) return is_in(set, FeatureTable::missing_bin);
    const std::vector<std::uint8_t> &bins = table.column(node.feature).bin_of_code;
    const auto code = static_cast<std::size_t>(value);
    return code < bins.size() ? is_in(set, bins[code]) : node.missing_left;
}

template <bool is_plain>
void TableTree::find_some(const FeatureTable &table, const TableTree *const *trees, const double *rows,
                          std::size_t n_rows, Leaf *leaves) {
    const std::size_t n_features = table.n_features();
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
        if constexpr (is_plain) {
            places[i] = node.left + !(value <= node.threshold);
        } else {
            bool goes_left = (value <= node.threshold) | ((value != value) & node.missing_left);
            if (node.is_categorical) {
                goes_left = trees[i < n_rows ? i : 0]->category_goes_left(table, node, value);
            }
            places[i] = node.left + !goes_left;
        }
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

void TableTree::find(const FeatureTable &table, const TableTree *const *trees, const double *rows,
                     const std::uint8_t *has_missing, std::size_t n_rows, Leaf *leaves) {
    const std::size_t n_features = table.n_features();
    for (std::size_t begin = 0; begin < n_rows; begin += side_by_side) {
        const std::size_t n = std::min(side_by_side, n_rows - begin);
        bool is_plain = true;
        for (std::size_t i = begin; i < begin + n; ++i) is_plain &= trees[i]->sets_.empty() && has_missing[i] == 0;
        const auto find_here = is_plain ? find_some<true> : find_some<false>;
        find_here(table, trees + begin, rows + begin * n_features, n, leaves + begin);
    }
}

}  // namespace paribus
