#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/split_scan.hpp"
#include "surprise/table_tree.hpp"
#include "surprise/threshold.hpp"

namespace paribus {

/// Rows of a node, and the sum of their targets.
struct Sum {
    std::int64_t target = 0;
    std::int64_t count = 0;
};

inline Sum operator+(const Sum &a, const Sum &b) { return {a.target + b.target, a.count + b.count}; }
inline Sum operator-(const Sum &a, const Sum &b) { return {a.target - b.target, a.count - b.count}; }

/// The best split of a node so far, by how much it lowers the squared error.
class BestGain {
public:
    BestGain() = default;
    BestGain(const Sum &whole, std::size_t min_samples_leaf)
        : whole_(whole),
          smallest_(static_cast<std::int64_t>(min_samples_leaf)),
          mean_(static_cast<double>(whole.target) / static_cast<double>(whole.count)) {}

    /// Whether a split with these rows on the left may be better than the best one: false for most that are not.
    bool may_improve(std::int64_t target, double n_left, double n_right) const {
        const double excess = static_cast<double>(target) - n_left * mean_;
        return excess * excess > bar_ * (n_left * n_right);
    }

    /// Whether a split with these rows on the left is better than the best one. If so, it is the best one now.
    bool improves(const Sum &left) {
        const std::int64_t right = whole_.count - left.count;
        if (left.count < smallest_ || right < smallest_) return false;
        const auto n_left = static_cast<double>(left.count), n_right = static_cast<double>(right);
        if (!may_improve(left.target, n_left, n_right)) return false;
        const double excess = static_cast<double>(left.target) - n_left * mean_;
        const double gain = excess * excess / (n_left * n_right);
        // By more than rounding, so that a split that is worth nothing is none.
        if (!(gain > gain_ * (1.0 + 1e-12) && gain > least)) return false;
        gain_ = gain;
        bar_ = std::max(gain * (1.0 + 1e-12), least) * screen;
        return true;
    }

    double mean() const { return mean_; }
    /// A split that gains less is none that improves.
    double bar() const { return bar_; }
    bool found() const { return gain_ > 0.0; }
    const Sum &whole() const { return whole_; }
    /// Where nothing is missing, and of categories that are elsewhere in the tree: what comes later goes with the
    /// majority.
    bool majority_left(const Sum &left) const { return 2 * left.count >= whole_.count; }

private:
    static constexpr double least = 1e-9;
    // Products are compared first, which is cheaper than a division; they are off by less than this.
    static constexpr double screen = 1.0 - 1e-10;

    Sum whole_;
    std::int64_t smallest_ = 1;
    double mean_ = 0.0, gain_ = 0.0, bar_ = least * screen;
};

/// Whether a split gains so much more than the other ones of its feature that rounding could not put one of them first.
inline bool is_alone(const Cut &cut) { return cut.next_gain < cut.gain * (1.0 - 1e-6); }

/// The rows of a node that have the same category.
struct CategoryGroup {
    std::uint8_t bin;
    Sum sum;
    double mean;
};

/// A split by category.
struct CategorySplit {
    /// The bins that go left.
    TableTree::BinSet set;
    Sum left;
};

/// Tries to split a node by category. `groups` are in the order of bins, and come out in that of their means. Returns
/// whether `split` is better than the best one.
inline bool try_groups(std::vector<CategoryGroup> &groups, BestGain &best, CategorySplit &split) {
    for (CategoryGroup &group : groups) {
        group.mean = static_cast<double>(group.sum.target) / static_cast<double>(group.sum.count);
    }
    // From the lowest mean to the highest: one of the cuts of this order is the best of all splits in two.
    const auto is_lower = [](const CategoryGroup &a, const CategoryGroup &b) { return a.mean < b.mean; };
    if (groups.size() > 32) {
        std::stable_sort(groups.begin(), groups.end(), is_lower);
    } else {
        for (std::size_t i = 1; i < groups.size(); ++i) {
            for (std::size_t j = i; j > 0 && is_lower(groups[j], groups[j - 1]); --j)
                std::swap(groups[j], groups[j - 1]);
        }
    }
    Sum left;
    std::size_t n_left = 0;
    for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
        left = left + groups[i].sum;
        if (!best.improves(left)) continue;
        split.left = left;
        n_left = i + 1;
    }
    if (n_left == 0) return false;
    split.set.fill(best.majority_left(split.left) ? ~std::uint64_t{0} : 0);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::uint64_t bit = std::uint64_t{1} << (groups[i].bin % 64);
        std::uint64_t &word = split.set[groups[i].bin / 64];
        word = i < n_left ? word | bit : word & ~bit;
    }
    return true;
}

}  // namespace paribus
