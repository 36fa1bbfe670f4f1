#pragma once

#include <limits>
#include <vector>

#include "context.hpp"

namespace paribus {

struct Neighbor {
    double distance;
    std::uint32_t row;
};

/// Finds the k nearest fitted rows of one query at a time; of rows at the same distance, those that stand first in the
/// table. Keeps its scratch memory between calls: one object per thread.
class NeighborSearch {
public:
    static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

    NeighborSearch(const ContextView &table, std::size_t k);

    /// The neighbours of `query`, nearest first; `excluded` (a row, or `nobody`) is never among them. The result is
    /// valid until the next call.
    const std::vector<Neighbor> &search(const double *query, std::uint32_t excluded);

private:
    void keep_nearest();

    ContextView table_;
    std::size_t k_;
    std::vector<double> distances_;
    std::vector<double> counts_;
    std::vector<Neighbor> found_;
    std::vector<Neighbor> sorted_;
    std::vector<std::uint32_t> bucket_ends_;
};

}  // namespace paribus
