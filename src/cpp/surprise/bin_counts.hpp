#pragma once

#include <cstdint>
#include <vector>

#include "surprise/split_search.hpp"
#include "surprise/tree_sample.hpp"

namespace paribus {

/// The rows of large nodes, counted into the bins of every feature: how many there are, and the sum of their targets,
/// in one number.
///
/// If most features are tried by a split, only the smaller one of two children is counted. What is left in the counts
/// of their parent are then those of the larger one.
class BinCounts {
public:
    /// Nodes that have counts, known by a number; or one that has none.
    using Place = std::size_t;
    static constexpr Place none = ~Place{0};
    /// A node of more rows has no counts: they would not fit into one number.
    static constexpr std::int64_t max_rows = (std::int64_t{1} << BinScan::count_bits) - 1;

    /// @param sample       must outlive this
    /// @param max_features features that a split tries
    BinCounts(const TreeSample &sample, std::size_t max_features, GrowthMemory &memory)
        : sample_(sample),
          are_inherited_(2 * max_features >= sample.n_slots()),
          all_(memory.counts),
          packed_(memory.packed) {
        packed_.resize(sample.size());
    }

    /// Counts for the rows at some positions: `none` if it is better to count features when they are tried.
    Place count(const std::uint32_t *positions, std::size_t n);

    /// Turns the counts of a node into those of its larger child. Returns those of the smaller child.
    ///
    /// @param positions of the rows of the smaller child
    Place split(Place parent, const std::uint32_t *positions, std::size_t n, bool smaller_has_counts);

    /// The node has no use for its counts any more.
    void release(Place place);

    /// The counts of one feature.
    const std::uint64_t *cells(Place place, std::size_t slot) const { return all_[place].data() + slot * n_bins; }

    /// Counts the rows at some positions by one feature; `prepare` must have been called for them. The counts are valid
    /// until the next call.
    const std::uint64_t *cells(const std::uint32_t *positions, std::size_t n, std::size_t slot);
    void prepare(const std::uint32_t *positions, std::size_t n) { pack(positions, n, false); }

    static Sum unpacked(std::uint64_t cell) {
        const auto n = static_cast<std::int64_t>(cell & ((std::uint64_t{1} << BinScan::count_bits) - 1));
        return {static_cast<std::int64_t>(cell >> BinScan::count_bits) - n * offset, n};
    }

private:
    static constexpr std::size_t n_bins = FeatureTable::n_bins;
    static constexpr std::int64_t offset = std::int64_t{1} << (BinScan::target_bits - 1);
    // More at a time would be in nobody's cache.
    static constexpr std::size_t max_places = 64;

    Place take_place();
    /// What the rows at some positions add to their cells, or take away.
    void pack(const std::uint32_t *positions, std::size_t n, bool is_taken_away);
    void add(std::uint64_t *cells, const std::uint32_t *positions, std::size_t n, std::size_t first_slot,
             std::size_t n_slots) const;
    template <std::size_t n_slots>
    void add(std::uint64_t *cells, const std::uint32_t *positions, std::size_t n, std::size_t first_slot) const;

    const TreeSample &sample_;
    bool are_inherited_;
    /// [place][slot][bin]; those from `n_places_` on are of the tree before.
    std::vector<std::vector<std::uint64_t>> &all_;
    std::size_t n_places_ = 0;
    std::vector<Place> free_;
    std::vector<std::uint64_t> &packed_;
    std::vector<std::uint64_t> one_ = std::vector<std::uint64_t>(n_bins);
};

}  // namespace paribus
