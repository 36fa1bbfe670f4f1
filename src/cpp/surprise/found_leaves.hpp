#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "surprise/table_forest.hpp"

namespace paribus {

/// The leaves that rows were found in, in 16 bits each. What is learned of the fitted rows only later can then be
/// averaged over the leaves of each row without sending it down all trees again.
class FoundLeaves {
public:
    /// What may be stored of each row, in bytes: as much as the default number of trees needs. The estimate of the
    /// memory of a fit includes no more.
    static constexpr std::size_t max_bytes_per_row = 128;

    /// Whether those of a forest that is grown on samples could be stored: with no more rows in a pair of trees than 16
    /// bits can tell apart, and not too many trees.
    static bool could_store(const TreeSamples &samples);

    /// Whether those of forests, by view, can be stored: forests that were grown for it, whose trees all have rows, and
    /// not too many trees in all.
    static bool can_store(const std::vector<std::shared_ptr<const TableForest>> &forests);

    /// @param forests of which `can_store` is true, over the same table
    FoundLeaves(std::vector<std::shared_ptr<const TableForest>> forests, std::size_t n_rows);

    /// Stores what a forest found for rows from `begin` on. Threads may store different rows at once.
    void store(std::size_t view, std::size_t begin, const LeafFinder::Scratch &found);

    /// The mean of a second target over all leaves of each row, to the bit as the other `find_second_means` has it. All
    /// rows must have been stored.
    ///
    /// @param values  by row of the fitted table
    /// @param on_tick what it is called with means nothing
    void find_second_means(const std::uint8_t *values, double *means, std::size_t n_threads, const Tick &on_tick) const;

private:
    std::size_t n_places() const { return first_place_.back(); }

    std::size_t n_rows_;
    std::vector<std::shared_ptr<const TableForest>> forests_;
    /// Pairs of all views have successive places; by view, where they begin, and where those of the last one end.
    std::vector<std::size_t> first_place_;
    /// [place of the pair][row]: where the leaf begins among the members of its pair.
    std::vector<std::uint16_t> leaves_;
};

}  // namespace paribus
