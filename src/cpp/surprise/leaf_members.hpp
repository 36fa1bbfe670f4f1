#pragma once

#include <cstdint>
#include <vector>

#include "surprise/packed_tree.hpp"

namespace paribus {

/// The rows of the leaves of a packed tree that holds none: they follow from sending its sample down. What is asked for
/// is sorted, and no more, since one row needs one leaf of each tree.
///
/// A leaf has the same place whatever was asked for before. Only one thread may call at a time; what was returned stays
/// as it is.
class LeafMembers {
public:
    /// What the leaves of a tree follow from. Everything must outlive this.
    struct Source {
        const PackedTree &tree;
        const FeatureKinds &kinds;
        /// By slot.
        const std::vector<std::uint16_t> &features;
        /// [row][feature of the table]
        const double *rows;
        /// In ascending order.
        const std::vector<std::uint32_t> &sample;
    };

    explicit LeafMembers(const Source &source)
        : source_(source),
          rows_(source.sample),
          middles_(source.tree.n_splits()),
          n_kept_(source.tree.n_leaves()),
          is_ready_(source.tree.n_leaves()) {}

    /// The leaf of a row. Its members are `rows()` from `first` on, by ascending target, equal ones in ascending order.
    ///
    /// @param row     [feature of the table]
    /// @param step_of the target of a row as a step: `std::int32_t(std::uint32_t)`
    /// @throws std::invalid_argument if a leaf that the row passes has no rows
    template <typename Step>
    TableTree::Leaf find(const double *row, const Step &step_of) {
        return descend([&](std::size_t split, std::uint32_t) { return goes_left(split, row); }, step_of);
    }

    /// The leaf whose members are in a place.
    template <typename Step>
    TableTree::Leaf find_at(std::uint32_t first, const Step &step_of) {
        return descend([&](std::size_t, std::uint32_t middle) { return first < middle; }, step_of);
    }

    /// By number of the leaf: all of them.
    template <typename Step>
    std::vector<TableTree::Leaf> find_all(const Step &step_of);

    const std::uint32_t *rows() const { return rows_.data(); }

private:
    struct Part {
        std::size_t node;
        std::uint32_t begin, end;
    };

    template <typename Choose, typename Step>
    TableTree::Leaf descend(const Choose &left, const Step &step_of);
    /// Brings the rows of a split into the order of its children. Returns where those of the right one begin.
    std::uint32_t divide(std::size_t split, const Part &part);
    /// Sorts the rows of a leaf, and keeps those that represent it.
    template <typename Step>
    TableTree::Leaf finish(const Part &part, const Step &step_of);
    /// Puts the rows of a leaf into the order of `keys_`. Returns how many of them represent it.
    std::uint16_t keep_sorted(const Part &part);
    bool goes_left(std::size_t split, const double *row) const {
        return source_.tree.goes_left(split, source_.kinds, source_.features, row);
    }

    Source source_;
    std::vector<std::uint32_t> rows_;
    /// By split: where the rows of its right child begin; 0 if it was not divided.
    std::vector<std::uint32_t> middles_;
    /// By leaf.
    std::vector<std::uint16_t> n_kept_;
    std::vector<bool> is_ready_;

    // Kept from split to split for their memory.
    std::vector<std::uint32_t> right_;
    std::vector<std::uint64_t> keys_;
};

template <typename Choose, typename Step>
TableTree::Leaf LeafMembers::descend(const Choose &left, const Step &step_of) {
    Part part = {0, 0, static_cast<std::uint32_t>(rows_.size())};
    while (source_.tree.splits(part.node)) {
        const std::size_t split = source_.tree.splits_before(part.node);
        const std::uint32_t middle = divide(split, part);
        part = left(split, middle) ? Part{2 * split + 1, part.begin, middle} : Part{2 * split + 2, middle, part.end};
    }
    // There are many trees.
    right_ = {};
    return finish(part, step_of);
}

template <typename Step>
std::vector<TableTree::Leaf> LeafMembers::find_all(const Step &step_of) {
    std::vector<TableTree::Leaf> leaves(source_.tree.n_leaves());
    // One subtree after the other, so that its rows stay near the processor.
    std::vector<Part> parts = {{0, 0, static_cast<std::uint32_t>(rows_.size())}};
    while (!parts.empty()) {
        const Part part = parts.back();
        parts.pop_back();
        if (!source_.tree.splits(part.node)) {
            leaves[source_.tree.leaf_of(part.node)] = finish(part, step_of);
            continue;
        }
        const std::size_t split = source_.tree.splits_before(part.node);
        const std::uint32_t middle = divide(split, part);
        parts.push_back({2 * split + 2, middle, part.end});
        parts.push_back({2 * split + 1, part.begin, middle});
    }
    return leaves;
}

template <typename Step>
TableTree::Leaf LeafMembers::finish(const Part &part, const Step &step_of) {
    const std::size_t leaf = source_.tree.leaf_of(part.node);
    if (!is_ready_[leaf]) {
        keys_.clear();
        for (std::uint32_t i = part.begin; i < part.end; ++i) {
            // In the order of whole numbers, of which steps have a sign.
            const auto step = static_cast<std::uint32_t>(step_of(rows_[i])) ^ 0x80000000u;
            keys_.push_back(std::uint64_t{step} << 32 | rows_[i]);
        }
        n_kept_[leaf] = keep_sorted(part);
        is_ready_[leaf] = true;
    }
    return {part.begin, n_kept_[leaf]};
}

}  // namespace paribus
