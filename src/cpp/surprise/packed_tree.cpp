#include "surprise/packed_tree.hpp"

#include <algorithm>
#include <cmath>

#include "surprise/threshold.hpp"

namespace paribus {

void PackedTree::append_to(std::vector<std::uint8_t> &bytes, const TableTree &tree, const PackedLayout &layout,
                           bool has_members, const std::vector<std::uint16_t> &slot_of, std::size_t n_sample) {
    Header header = {0, 0, static_cast<std::uint32_t>(tree.sets().size()), 0};
    std::vector<std::uint32_t> nodes = {0}, before, thresholds, questions, anchors, members;
    std::vector<std::uint64_t> is_split;
    std::vector<std::uint8_t> sizes;
    std::vector<double> exact_thresholds;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i % word_bits == 0) {
            is_split.push_back(0);
            before.push_back(header.n_splits);
        }
        const TableTree::Node &node = tree.nodes()[nodes[i]];
        if (node.left == nodes[i]) {
            if (!has_members) continue;
            const TableTree::Leaf &leaf = tree.leaves()[nodes[i]];
            if (sizes.size() % leaves_per_anchor == 0) anchors.push_back(static_cast<std::uint32_t>(members.size()));
            sizes.push_back(static_cast<std::uint8_t>(leaf.n_rows - 1));
            const auto first = tree.members().begin() + leaf.first;
            members.insert(members.end(), first, first + leaf.n_rows);
            continue;
        }
        is_split.back() |= std::uint64_t{1} << (i % word_bits);
        ++header.n_splits;
        nodes.push_back(node.left);
        nodes.push_back(node.left + 1);
        std::uint32_t question = std::uint32_t{slot_of[node.feature]} << slot_shift;
        if (node.missing_left) question |= missing_left;
        if (node.is_categorical) {
            question |= categorical;
            thresholds.push_back(static_cast<std::uint32_t>(node.threshold));
        } else if (is_single(node.threshold)) {
            thresholds.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(node.threshold)));
        } else {
            question |= exact;
            thresholds.push_back(static_cast<std::uint32_t>(exact_thresholds.size()));
            exact_thresholds.push_back(node.threshold);
        }
        questions.push_back(question);
    }
    header.n_exact = static_cast<std::uint32_t>(exact_thresholds.size());
    if (has_members) header.n_members = static_cast<std::uint32_t>(members.size());
    append(bytes, &header, 1);
    append(bytes, is_split);
    append(bytes, before);
    append(bytes, thresholds);
    PackedShorts::append_to(bytes, questions, layout.has_wide_questions);
    append(bytes, exact_thresholds);
    append(bytes, tree.sets());
    if (!has_members) return;
    append(bytes, sizes);
    PackedBits::append_to(bytes, anchors, position_bits(n_sample));
    PackedBits::append_to(bytes, members, position_bits(n_sample));
}

PackedTree::PackedTree(const std::uint8_t *bytes, std::size_t size, const PackedLayout &layout, bool has_members,
                       const FeatureKinds &kinds, const std::vector<std::uint16_t> &features, std::size_t n_sample)
    : has_members_(has_members) {
    PackedReader reader(bytes, size);
    header_ = *reader.take<Header>(1);
    is_split_ = reader.take<std::uint64_t>(n_words());
    before_ = reader.take<std::uint32_t>(n_words());
    thresholds_ = reader.take<std::uint32_t>(n_splits());
    questions_ = PackedShorts::take(reader, n_splits(), layout.has_wide_questions);
    exact_ = reader.take<double>(header_.n_exact);
    sets_ = reader.take<TableTree::BinSet>(header_.n_sets);
    if (has_members) {
        sizes_ = reader.take<std::uint8_t>(n_leaves());
        anchors_ = PackedBits::take(reader, n_anchors(), position_bits(n_sample));
        members_ = PackedBits::take(reader, n_members(), position_bits(n_sample));
    }
    require_packed(reader.is_at_end());
    check_splits(kinds, features);
    check_leaves(n_sample);
}

void PackedTree::check_splits(const FeatureKinds &kinds, const std::vector<std::uint16_t> &features) const {
    std::size_t n_found = 0;
    for (std::size_t node = 0; node < n_nodes(); ++node) {
        if (node % word_bits == 0) require_packed(before_[node / word_bits] == n_found);
        // A node is the child of a split before it: no way leads back.
        require_packed(node <= 2 * n_found);
        n_found += splits(node);
    }
    require_packed(n_found == n_splits());
    for (std::size_t node = n_nodes(); node < n_words() * word_bits; ++node) require_packed(!splits(node));
    for (std::size_t split = 0; split < n_splits(); ++split) {
        const std::uint32_t question = questions_[split];
        require_packed(question >> slot_shift < features.size());
        const bool is_categorical = kinds.is_categorical(features[question >> slot_shift]);
        require_packed(is_categorical == ((question & categorical) != 0));
        if (is_categorical) {
            require_packed((question & exact) == 0 && thresholds_[split] < header_.n_sets);
        } else {
            require_packed((question & exact) == 0 || thresholds_[split] < header_.n_exact);
            require_packed(!std::isnan(threshold(split)));
        }
    }
}

void PackedTree::check_leaves(std::size_t n_sample) const {
    if (!has_members_) {
        // Each leaf has a row, except that of a tree without rows.
        require_packed(header_.n_members == 0 && n_splits() < std::max<std::size_t>(n_sample, 1));
        return;
    }
    std::size_t n_found = 0;
    for (std::size_t leaf = 0; leaf < n_leaves(); ++leaf) {
        if (leaf % leaves_per_anchor == 0) require_packed(anchors_[leaf / leaves_per_anchor] == n_found);
        n_found += leaf_size(leaf);
    }
    require_packed(n_found == n_members());
    for (std::size_t i = 0; i < n_members(); ++i) require_packed(members_[i] < n_sample);
}

TableTree::Node PackedTree::split_node(std::size_t split, const std::vector<std::uint16_t> &features) const {
    const std::uint32_t question = questions_[split];
    const bool is_categorical = (question & categorical) != 0;
    return {is_categorical ? static_cast<double>(thresholds_[split]) : threshold(split),
            2 * static_cast<std::uint32_t>(split) + 1, features[question >> slot_shift], (question & missing_left) != 0,
            is_categorical};
}

}  // namespace paribus
