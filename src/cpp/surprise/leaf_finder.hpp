#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "surprise/table_tree.hpp"
#include "surprise/target_grid.hpp"

namespace paribus {

/// Called with how much of the work is done.
using Tick = std::function<void(std::size_t)>;

/// Rows to ask a forest about.
struct AskedRows {
    std::size_t n_rows;
    /// [row][feature of the table]
    const double *features;
    /// By row: the fitted row that it is, or a negative number. No tree that has seen that row is asked about it.
    const std::int64_t *fitted;
};

/// A forest over the whole table for one target, as far as it can be asked about rows.
///
/// Of each pair of trees, the one that has not seen a row is asked. It says that the target is one of those in the
/// row's leaf, each as likely as the other; the forest says that each of its trees may be right.
///
/// Everything is the same on any number of threads and in any batch.
class LeafFinder {
public:
    /// Memory for `find_leaves`, and what it found.
    struct Scratch {
        std::vector<std::uint8_t> has_missing;
        std::vector<const TableTree *> trees;
        std::vector<float> rounded;
        std::vector<std::int32_t> steps;
    };

    virtual ~LeafFinder() = default;
    virtual std::size_t n_pairs() const = 0;
    virtual const TargetGrid &grid() const = 0;

    /// The leaves that rows `begin` to `end` are in, in the tree of each pair that is asked about them:
    /// [pair][row - begin], `end - begin` to a pair.
    virtual void find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch,
                             TableTree::Leaf *leaves) const = 0;

    /// The targets in a leaf of the tree of a pair that was asked about a row, as steps, in ascending order (those of
    /// classes in any order). May be read by lots of `step_lot`: what follows the leaf is there, too.
    virtual const std::int32_t *members(std::size_t pair, std::int64_t fitted, const TableTree::Leaf &leaf,
                                        const Scratch &scratch) const = 0;

    /// How much there is of the second target, by its mean in a leaf of the tree of a pair that was asked about a row,
    /// in 256ths of its unit; 0 if the forest has none. See `PackedForest::set_second_target`.
    virtual std::int32_t second_mean(std::size_t pair, std::int64_t fitted, const TableTree::Leaf &leaf,
                                     const Scratch &scratch) const = 0;

    /// Fetches what `members` will give.
    virtual void prefetch(std::size_t, std::int64_t, const TableTree::Leaf &) const {}

    static constexpr std::size_t step_lot = 8;
};

}  // namespace paribus
