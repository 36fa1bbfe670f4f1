#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "surprise/packed_bytes.hpp"
#include "surprise/table_tree.hpp"

namespace paribus {

/// What the packed trees of a forest have in common.
struct PackedLayout {
    /// Questions have 16 bits, or 8.
    bool has_wide_questions;
    /// Trees that only fitted rows reach, the second ones of pairs, hold no members: see `LeafMembers`.
    bool omits_second_members;
};

/// A tree of a packed forest: the parts of its bytes. They must outlive it.
///
/// Nodes are numbered level by level: the children of the k-th split are nodes 2 k + 1 and 2 k + 2, so that it is
/// enough to know which nodes are splits.
class PackedTree {
public:
    static constexpr std::size_t max_slots = std::size_t{1} << 13, max_narrow_slots = std::size_t{1} << 5;

    /// @param slot_of  by feature of the table: its place among those that trees ask for
    /// @param n_sample the size of the tree's sample, which positions in it have as few bits as possible for
    static void append_to(std::vector<std::uint8_t> &bytes, const TableTree &tree, const PackedLayout &layout,
                          bool has_members, const std::vector<std::uint16_t> &slot_of, std::size_t n_sample);

    PackedTree() = default;
    /// @throws std::invalid_argument if what the bytes say is out of bounds
    /// @param features by slot
    PackedTree(const std::uint8_t *bytes, std::size_t size, const PackedLayout &layout, bool has_members,
               const FeatureKinds &kinds, const std::vector<std::uint16_t> &features, std::size_t n_sample);

    bool has_members() const { return has_members_; }
    std::size_t n_splits() const { return header_.n_splits; }
    std::size_t n_leaves() const { return n_splits() + 1; }
    std::size_t n_nodes() const { return 2 * n_splits() + 1; }
    std::size_t n_members() const { return header_.n_members; }
    bool splits(std::size_t node) const { return (is_split_[node / word_bits] >> (node % word_bits) & 1) != 0; }
    /// The number of splits before a node: of a split, its own number.
    std::size_t splits_before(std::size_t node) const {
        const std::uint64_t earlier = (std::uint64_t{1} << (node % word_bits)) - 1;
        return before_[node / word_bits] +
               static_cast<std::size_t>(std::popcount(is_split_[node / word_bits] & earlier));
    }
    /// The number of a leaf, from that of its node.
    std::size_t leaf_of(std::size_t node) const { return node - splits_before(node); }

    /// Whether a row goes left.
    ///
    /// @param features by slot
    /// @param row      [feature of the table]
    bool goes_left(std::size_t split, const FeatureKinds &kinds, const std::vector<std::uint16_t> &features,
                   const double *row) const {
        const std::uint32_t question = questions_[split];
        const std::uint16_t feature = features[question >> slot_shift];
        const double value = row[feature];
        const bool unknown_left = (question & missing_left) != 0;
        if ((question & categorical) != 0) {
            const TableTree::BinSet &set = sets_[thresholds_[split]];
            return TableTree::category_goes_left(set, kinds.bin_of_code[feature], value, unknown_left);
        }
        return (value <= threshold(split)) | ((value != value) & unknown_left);
    }

    /// The node of a split as it was grown.
    TableTree::Node split_node(std::size_t split, const std::vector<std::uint16_t> &features) const;
    const TableTree::BinSet &set(std::size_t number) const { return sets_[number]; }
    std::vector<TableTree::BinSet> sets() const { return {sets_, sets_ + header_.n_sets}; }

    /// Where the members of a leaf are; only of a tree that has them.
    TableTree::Leaf leaf(std::size_t number) const {
        std::uint32_t first = anchors_[number / leaves_per_anchor];
        for (std::size_t i = number / leaves_per_anchor * leaves_per_anchor; i < number; ++i) first += leaf_size(i);
        return {first, leaf_size(number)};
    }
    /// Only a table of a row or two has a tree without rows.
    std::uint32_t leaf_size(std::size_t number) const {
        return header_.n_members == 0 ? 0 : std::uint32_t{sizes_[number]} + 1;
    }
    /// A position in the sample.
    std::uint32_t member(std::size_t i) const { return members_[i]; }

private:
    struct Header {
        std::uint32_t n_splits, n_exact, n_sets, n_members;
    };
    static constexpr std::size_t word_bits = 64, leaves_per_anchor = 16;
    // Of a question: the slot of its feature above these.
    static constexpr std::uint32_t missing_left = 1, categorical = 2, exact = 4;
    static constexpr int slot_shift = 3;

    static unsigned position_bits(std::size_t n_sample) {
        return n_sample == 0 ? 0 : static_cast<unsigned>(std::bit_width(n_sample - 1));
    }
    std::size_t n_words() const { return (n_nodes() + word_bits - 1) / word_bits; }
    std::size_t n_anchors() const { return (n_leaves() + leaves_per_anchor - 1) / leaves_per_anchor; }
    double threshold(std::size_t split) const {
        if ((questions_[split] & exact) != 0) return exact_[thresholds_[split]];
        return static_cast<double>(std::bit_cast<float>(thresholds_[split]));
    }
    void check_splits(const FeatureKinds &kinds, const std::vector<std::uint16_t> &features) const;
    void check_leaves(std::size_t n_sample) const;

    Header header_ = {};
    bool has_members_ = false;
    const std::uint64_t *is_split_ = nullptr;
    /// By word of `is_split_`: splits in the words before.
    const std::uint32_t *before_ = nullptr;
    /// By split; of one by category: the number of its set; of one that is no 32-bit number: its place in `exact_`.
    const std::uint32_t *thresholds_ = nullptr;
    PackedShorts questions_;
    const double *exact_ = nullptr;
    const TableTree::BinSet *sets_ = nullptr;
    /// By leaf: its size, less 1.
    const std::uint8_t *sizes_ = nullptr;
    /// By some leaves: where the members of the first of them begin.
    PackedBits anchors_, members_;
};

}  // namespace paribus
