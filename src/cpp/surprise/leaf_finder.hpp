#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "surprise/table_tree.hpp"
#include "surprise/target_grid.hpp"

namespace paribus {

/// Rows to ask a forest about.
struct AskedRows {
    std::size_t n_rows;
    /// [row][feature of the table]
    const double *features;
    /// By row: the fitted row that it is, or a negative number. No tree that has seen that row is used for it.
    const std::int64_t *fitted;
};

/// A forest over the whole table for one target, as far as it can be asked about rows.
///
/// Of each pair of trees, the one that has not seen a row is used. It predicts that the target is one of those in the
/// row's leaf, each as likely as the other; the forest says that each of its trees may be right.
///
/// Everything is the same on any number of threads and in any batch.
class LeafFinder {
public:
    /// Memory for `find_leaves`, and what it found.
    struct Scratch {
        std::size_t n_rows = 0;
        /// The leaf of each row in the tree of each pair that is used for it: [pair][row - begin].
        std::vector<TableTree::Leaf> leaves;
        /// By pair: the targets that its leaves are parts of, as steps. Those of a leaf are in ascending order (those
        /// of classes in any order), and may be read by lots of `step_lot`: what follows the leaf is there, too.
        std::vector<const std::int32_t *> targets;

        std::vector<std::uint8_t> is_second;
        std::vector<const TableTree *> trees;
        std::vector<float> arranged;
        std::vector<std::int32_t> steps;

        /// Whether the targets of each leaf come after a head of two numbers: where its members begin in the packed
        /// tree, and the mean of the second target there, in steps of `second_steps` to a unit. See
        /// `PackedForest::set_second_target`.
        bool has_heads = false;

        const TableTree::Leaf &leaf(std::size_t pair, std::size_t place) const { return leaves[pair * n_rows + place]; }

        /// The sum of the second target's means over the leaves of a row; 0 if there is no second target.
        std::int64_t sum_second(std::size_t place) const {
            std::int64_t sum = 0;
            if (!has_heads) return sum;
            for (std::size_t pair = 0; pair < targets.size(); ++pair) sum += targets[pair][leaf(pair, place).first - 1];
            return sum;
        }

        /// Where the members of a leaf begin in its packed tree; only if there are heads.
        std::uint32_t members_begin(std::size_t pair, std::size_t place) const {
            return static_cast<std::uint32_t>(targets[pair][leaf(pair, place).first - head_size]);
        }

        /// Reserves memory for a number of rows.
        void start(std::size_t n, std::size_t n_pairs) {
            n_rows = n;
            leaves.resize(n * n_pairs);
            targets.resize(n_pairs);
        }

        /// Fetches the targets in the leaves of a row, if there is one, and the leaves of those after it.
        void prefetch(std::size_t place) const {
            if (place >= n_rows) return;
            const TableTree::Leaf *next = leaves.data() + place;
            for (const std::int32_t *const of_pair : targets) {
                __builtin_prefetch(of_pair + next->first);
                __builtin_prefetch(next + leaves_ahead);
                next += n_rows;
            }
        }
    };

    virtual ~LeafFinder() = default;
    virtual std::size_t n_pairs() const = 0;
    virtual const TargetGrid &grid() const = 0;

    /// Finds the leaves that rows `begin` to `end` are in, in the tree of each pair that is used for them.
    virtual void find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch) const = 0;

    static constexpr std::size_t step_lot = 8;
    static constexpr std::uint32_t head_size = 2;
    static constexpr std::uint64_t second_steps = 256;
    /// The mean of a second target over a number of rows, rounded to a step.
    static std::int32_t mean_of(std::uint64_t sum, std::uint64_t n) {
        return n == 0 ? 0 : static_cast<std::int32_t>((sum * second_steps + n / 2) / n);
    }

private:
    static constexpr std::size_t leaves_ahead = 8;
};

}  // namespace paribus
