#pragma once

#include <limits>
#include <vector>

#include "common/context.hpp"

namespace paribus {

struct Neighbor {
    double distance;
    std::uint32_t row;
};

/// Finds the k nearest fitted rows of one query at a time. Of rows at the same distance, the first ones in the table
/// are taken. Keeps its scratch memory between calls, so each thread needs its own object.
class NeighborSearch {
public:
    static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

    NeighborSearch(const ContextView &table, std::size_t k);

    /// The neighbors of `query`, nearest first. `excluded` (a row, or `nobody`) is never among them. The result is
    /// valid until the next call.
    const std::vector<Neighbor> &search(const double *query, std::uint32_t excluded);

private:
    void keep_nearest();

    ContextView table_;
    std::size_t k_;
    std::vector<double> chunk_distances_, chunk_counts_;
    // Candidates so far: those that the last call of keep_nearest kept, nearest first, then others in table order.
    std::vector<double> distances_;
    std::vector<std::uint32_t> rows_;
    std::size_t n_found_ = 0;
    std::vector<std::uint16_t> buckets_;
    std::vector<std::uint32_t> bucket_ends_;
    std::vector<Neighbor> nearest_;
};

}  // namespace paribus
