#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "surprise/leaf_finder.hpp"
#include "surprise/leaf_members.hpp"
#include "surprise/packed_tree.hpp"
#include "surprise/target_column.hpp"
#include "surprise/tree_samples.hpp"

namespace paribus {

/// A forest in as few bytes as possible, which may be those of a file that is mapped into memory. The layout is that of
/// the file: see `docs/methods/model-files.md`.
///
/// A tree is checked when it is first used, since to read all of a large file would take long: its bytes must have
/// their checksum, and what they say must be within bounds, so that nothing that a file holds can do harm.
class PackedForest final : public LeafFinder {
public:
    /// @param trees           [tree] of `2 * samples.n_pairs()`
    /// @param are_of_numbers  whether the target is numbers: the leaves of classes have an order that is not known
    /// later
    static std::vector<std::uint8_t> pack(const FeatureKinds &kinds, const std::vector<std::uint16_t> &features,
                                          const TargetGrid &grid, bool are_of_numbers, const TreeSamples &samples,
                                          const std::vector<TableTree> &trees);

    /// The bytes of a forest without its first trees, and with those of another one of the same features at its end.
    ///
    /// @throws std::invalid_argument if the two do not belong together
    static std::vector<std::uint8_t> splice(const std::uint8_t *older, std::size_t older_size, std::size_t n_dropped,
                                            const std::uint8_t *newer, std::size_t newer_size);

    /// @param rows  the fitted rows: [row][feature of the table]
    /// @param bytes what `pack` gave; aligned for 64-bit numbers; everything must outlive the forest
    /// @throws std::invalid_argument if the beginning of the bytes, which describes the others, is not as it should be
    PackedForest(const FeatureKinds &kinds, const TreeSamples &samples, const TargetColumn &target, const double *rows,
                 const std::uint8_t *bytes, std::size_t size);
    ~PackedForest() override;

    /// Following this many rows through the packed trees takes about as long as unpacking these.
    ///
    /// @param for_new_rows whether none of them is a fitted one
    std::size_t min_rows_to_unpack(bool for_new_rows) const;

    const FeatureKinds &kinds() const { return kinds_; }
    /// Those that trees ask for.
    const std::vector<std::uint16_t> &features() const { return features_; }
    const TreeSamples &samples() const { return samples_; }
    std::size_t n_pairs() const override { return samples_.n_pairs(); }
    const TargetGrid &grid() const override { return grid_; }
    void find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch) const override;

    /// Something else that is known of the fitted rows, and that the rows of a leaf have in common more or less: how
    /// hard they are to predict.
    ///
    /// @param values by row of the table; must outlive the forest
    void set_second_target(const std::uint8_t *values) { second_target_ = values; }

    /// The rows of the leaves that a row is in, pair by pair, appended by ascending target.
    ///
    /// @param ends where those of each pair end, appended
    void find_rows(const AskedRows &rows, std::size_t row, std::vector<std::uint32_t> &found,
                   std::vector<std::size_t> &ends) const;

    /// The rows of a leaf.
    ///
    /// @param begin where its members begin in the tree
    void copy_rows(std::size_t tree, std::uint32_t begin, std::uint32_t n, std::uint32_t *to) const;

    /// Appends the targets in the leaves of a tree as steps, those of each leaf after its head (see
    /// `LeafFinder::Scratch`). Returns where they are, beyond what was there before, by number of the leaf.
    ///
    /// @param step_of by row of the table
    std::vector<TableTree::Leaf> unpack_leaves(std::size_t tree, const std::vector<std::int32_t> &step_of,
                                               std::vector<std::int32_t> &targets) const;

    /// A tree as it was grown, without its members.
    ///
    /// @param leaves by number
    TableTree unpack(std::size_t tree, const std::vector<TableTree::Leaf> &leaves) const;

    /// A tree, which has been checked.
    const PackedTree &tree(std::size_t tree) const { return open(tree).packed; }

    /// The target of all rows, as steps.
    std::vector<std::int32_t> steps(std::size_t n_threads) const;

private:
    struct Tree {
        PackedTree packed;
        /// Of a tree that holds no members: those that were asked for.
        std::unique_ptr<LeafMembers> members;
    };

    /// A tree, which is checked when it is first opened.
    const Tree &open(std::size_t tree) const;
    std::mutex &lock_of(std::size_t tree) const { return locks_[tree % n_locks]; }
    /// The members of a tree that was opened and holds none. Only for who has its lock.
    LeafMembers &members_of(std::size_t tree) const;
    LeafMembers::Source source(std::size_t tree, const PackedTree &packed) const {
        return {packed, kinds_, features_, rows_, samples_.sample(tree)};
    }
    /// A row on its way down a tree, and the leaf that it ends in.
    struct Walk {
        const Tree *tree;
        std::size_t which, row, node;
        TableTree::Leaf leaf;
    };
    /// The i-th member of a tree, as a row of the table.
    static std::uint32_t row_of(const Tree &tree, const std::vector<std::uint32_t> &sample, std::size_t i) {
        return tree.members ? tree.members->rows()[i] : sample[tree.packed.member(i)];
    }
    std::int32_t step_of(std::uint32_t row) const { return grid_.step(target_[row]); }
    static constexpr std::size_t side_by_side = 16;

    /// At the root of the tree of a pair that is used for a row.
    Walk start(std::size_t pair, std::size_t row, std::int64_t fitted) const;
    void follow(const AskedRows &rows, Walk *walks, std::size_t n) const;

    const FeatureKinds &kinds_;
    const TreeSamples &samples_;
    const TargetColumn &target_;
    const double *rows_;
    const std::uint8_t *second_target_ = nullptr;
    const std::uint8_t *bytes_;
    TargetGrid grid_;
    PackedLayout layout_;
    std::vector<std::uint16_t> features_;
    /// By tree.
    std::vector<std::uint64_t> begins_, sizes_, checksums_;
    /// By tree, filled in when it is first opened.
    std::unique_ptr<Tree[]> trees_;
    std::unique_ptr<std::atomic<bool>[]> is_open_;
    static constexpr std::size_t n_locks = 16;
    mutable std::mutex locks_[n_locks];
};

}  // namespace paribus
