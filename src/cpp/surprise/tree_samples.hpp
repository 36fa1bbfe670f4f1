#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paribus {

/// The samples of the trees of a forest. Trees come in pairs, whose samples have no row in common: whatever the row,
/// one tree of each pair has not seen it. Forests whose targets have the same rows share them.
class TreeSamples {
public:
    /// Draws samples without replacement: each row by a key of its own, so that the sample of a tree hardly changes
    /// with a single row of the table.
    ///
    /// @param usable    by row: whether it may be drawn
    /// @param originals by row: the first of the rows that it is a copy of, or itself; copies are in the same samples
    /// as
    ///                  their original, so that no tree that is used for one has seen another. Null: no copies
    /// @param keys      by row: what it is drawn by; null: its number
    /// @param n_sample  rows per tree, and their copies besides; at most half of those that may be drawn
    TreeSamples(std::size_t n_rows, const std::uint8_t *usable, const std::int64_t *originals,
                const std::uint64_t *keys, std::size_t n_pairs, std::size_t n_sample, std::uint64_t seed,
                std::size_t n_threads);

    /// Samples that were drawn before, one after the other. Each must be in ascending order, and below `n_rows`.
    ///
    /// @param ends by tree: where its sample ends
    TreeSamples(std::size_t n_rows, const std::uint32_t *rows, const std::uint32_t *ends, std::size_t n_pairs);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_pairs() const { return samples_.size() / 2; }
    /// In ascending order.
    const std::vector<std::uint32_t> &sample(std::size_t tree) const { return samples_[tree]; }

    /// The tree of a pair that is used for a row: the one that has not seen it; the first, if neither has.
    ///
    /// @param fitted the fitted row that it is, or a negative number
    std::size_t unseen_tree(std::size_t pair, std::int64_t fitted) const {
        const bool first_has_seen = fitted >= 0 && (seen_[pair * n_words_ + fitted / 64] >> (fitted % 64) & 1) != 0;
        return 2 * pair + first_has_seen;
    }

private:
    void mark(std::size_t pair);

    std::size_t n_rows_, n_words_;
    std::vector<std::vector<std::uint32_t>> samples_;
    /// [pair][row]: whether the first tree has seen it.
    std::vector<std::uint64_t> seen_;
};

}  // namespace paribus
