#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "kernels/kernel.hpp"
#include "kernels/split_scan.hpp"
#include "kernels/subtree_orders.hpp"
#include "surprise/split_search.hpp"
#include "surprise/tree_sample.hpp"

namespace paribus {

/// Draws the features that a split tries, one after the other, without replacement.
class FeatureDraw {
public:
    FeatureDraw(std::size_t n_slots, std::size_t max_features, std::uint64_t seed)
        : seed_(seed), max_features_(max_features), slots_(n_slots) {}

    /// The key of the root, and those of the children of a node.
    static constexpr std::uint64_t root = 1;
    static std::uint64_t left_of(std::uint64_t node) { return Random(2 * node)(); }
    static std::uint64_t right_of(std::uint64_t node) { return Random(2 * node + 1)(); }

    /// Calls `try_slot` with features until enough of them have varied, and `has_split` is true: one that is constant
    /// does not count, and a node must not end as a leaf because a feature with few other values was drawn. They depend
    /// on where the node is in the tree alone, so that a split that changes leaves the others as they are.
    template <typename TrySlot, typename HasSplit>
    void operator()(std::uint64_t node, const TrySlot &try_slot, const HasSplit &has_split) {
        std::iota(slots_.begin(), slots_.end(), std::uint16_t{0});
        Random random(seed_ ^ node);
        for (std::size_t tried = 0, place = 0; place < slots_.size(); ++place) {
            if (tried >= max_features_ && has_split()) break;
            if (max_features_ < slots_.size()) {
                std::swap(slots_[place], slots_[place + random.below(slots_.size() - place)]);
            }
            tried += try_slot(slots_[place]);
        }
    }

    /// A side of a split at random, in proportion to its rows: whether it is the left one. Over many trees, what none
    /// of them has seen is compared with all rows, as if nothing were known of it.
    bool draws_left(std::uint64_t node, const Sum &left, const Sum &whole) const {
        return Random(seed_ ^ Random(node)()).below(static_cast<std::uint64_t>(whole.count)) <
               static_cast<std::uint64_t>(left.count);
    }

private:
    std::uint64_t seed_;
    std::size_t max_features_;
    std::vector<std::uint16_t> slots_;
};

/// Grows the lower parts of a tree. The rows of each are sorted by every feature once, and stay sorted: a split carries
/// the orders over to both sides. Rows have numbers of 8 bits in their subtree.
class SubtreeGrower {
public:
    static constexpr std::size_t max_rows = SubtreeOrders::max_rows;

    /// A node that no split of the upper part divides, with its rows: a subtree, or a leaf of any size.
    struct Root {
        std::uint32_t node, begin, end;
        bool is_leaf;
        Sum whole;
        /// What features are drawn by.
        std::uint64_t key;
    };

    /// @param roots     from left to right; together they have all rows. Fewer than 2^24, as many as `places_` can
    ///                  tell apart
    /// @param positions of the rows of one root after the other, in ascending order within each
    SubtreeGrower(TableTree &tree, const TreeSample &sample, std::size_t min_samples_leaf, FeatureDraw &draw,
                  const std::vector<Root> &roots, const std::vector<std::uint32_t> &positions, GrowthMemory &memory);

    /// Grows all of them, and writes the rows of the leaves into the tree.
    void grow();

private:
    static constexpr std::uint8_t missing_rank = FeatureTable::missing_bin;

    struct Node {
        std::uint32_t node, begin, end;
        Sum whole;
        std::uint64_t key;
    };

    struct Best {
        std::size_t slot;
        /// Of numbers: the last row that goes left, and the first that goes right, unless all that are known go left.
        std::uint8_t low, high;
        /// Of numbers: how many rows have one.
        std::size_t n_known;
        bool all_known_left, missing_left;
        Sum left;
        TableTree::BinSet set;
    };

    void sort_roots();
    /// Deals out the rows of a feature in ascending order. Returns how many have one.
    std::size_t deal(std::size_t slot);
    /// The same where no two rows have the same number.
    std::size_t deal_different(std::size_t slot);
    /// The same for the rows that lack the feature, which come last.
    void deal_missing(std::size_t slot);
    void deal_by_target();
    void grow(const Root &root, std::size_t place);
    bool find_split(const Node &node);
    /// Whether the rows of a node differ.
    bool varies(const Node &node, std::size_t slot) const;
    bool has_missing(const Node &node, std::size_t slot) const;
    /// Tries up to `OrderScan::width` features, one after the other.
    void try_slots(const Node &node, const std::uint16_t *slots, std::size_t n_slots);
    /// Tries a feature of which the best split is known.
    void try_cut(const Node &node, std::size_t slot, const Cut &cut);
    void try_numbers(const Node &node, std::size_t slot);
    void try_categories(const Node &node, std::size_t slot);
    void take(const Sum &left, std::size_t slot, std::uint8_t low, std::uint8_t high, bool missing_left);
    /// Writes the split into the tree. Returns how many rows go left.
    std::uint32_t carry_out(const Node &node, std::uint32_t left);
    void remember_threshold(std::uint32_t node);
    void set_thresholds();

    bool is_category(std::size_t slot) const { return sample_.column(slot).kind == FeatureKind::categorical; }
    std::uint8_t traits(std::size_t slot) const { return traits_[slot * roots_.size() + root_]; }
    const std::uint8_t *ranks(std::size_t slot) const { return ranks_.data() + slot * sample_.size() + base_; }
    std::uint8_t *by_target() { return orders_.data(); }
    std::uint8_t *order(std::size_t slot) { return orders_.data() + (slot + 1) * SubtreeOrders::stride; }
    const std::uint8_t *order(std::size_t slot) const { return orders_.data() + (slot + 1) * SubtreeOrders::stride; }

    TableTree &tree_;
    const TreeSample &sample_;
    std::size_t min_samples_leaf_;
    FeatureDraw &draw_;
    const std::vector<Root> &roots_;
    const std::vector<std::uint32_t> &positions_;
    /// [the target, and then each slot][place among `positions`]: the rows of each root in order, missing ones last.
    std::vector<std::uint8_t> &dealt_;
    /// [slot][place among `positions`]: the rank of each row's value in its root, or the bin of a category. Of no
    /// meaning if no value is missing, and all are different.
    std::vector<std::uint8_t> &ranks_;
    /// [slot][root]: what there is among its values.
    enum Trait : std::uint8_t { missing_values = 1, equal_values = 2 };
    std::vector<std::uint8_t> traits_;

    /// By position: the root, and in the lowest 8 bits the row's number in it; cut off in leaves of more rows.
    std::vector<std::uint32_t> &places_;
    struct Deal {
        std::uint32_t next, last_rank, n_distinct;
    };
    /// By root.
    std::vector<Deal> deals_;

    /// Nodes whose thresholds lie between the values of two rows.
    struct Threshold {
        std::uint32_t node, low, high;
    };
    std::vector<Threshold> thresholds_;

    // The subtree in question.
    std::size_t base_ = 0, root_ = 0;
    std::array<std::int32_t, max_rows> targets_;
    /// [the target, and then each slot][row of `SubtreeOrders::stride`]
    std::vector<std::uint8_t> &orders_;
    std::array<std::uint8_t, max_rows> goes_left_ = {};
    BestGain best_gain_;
    Best best_ = {};
    std::vector<Node> todo_;

    // Kept from node to node for their memory.
    const Kernel &kernel_ = kernel();
    std::vector<std::uint16_t> tried_;
    std::vector<CategoryGroup> groups_;
    OrderScan scan_ = {};
};

}  // namespace paribus
