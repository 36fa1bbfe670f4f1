#include "qcad/neighbors.hpp"

#include <algorithm>

#include "kernels/kernel.hpp"

namespace paribus {

namespace {

// Rows are compared in chunks whose distances fit into the first-level cache.
constexpr std::size_t chunk = 1024;
constexpr std::size_t n_buckets = 1024;

}  // namespace

NeighborSearch::NeighborSearch(const ContextView &table, std::size_t k)
    : table_(table),
      k_(std::min(k, table.n_rows)),
      chunk_distances_(chunk),
      chunk_counts_(chunk),
      distances_(4 * k_ + 2 * chunk),
      rows_(distances_.size()),
      buckets_(distances_.size()),
      bucket_ends_(n_buckets + 1) {
    nearest_.reserve(distances_.size());
}

const std::vector<Neighbor> &NeighborSearch::search(const double *query, std::uint32_t excluded) {
    const auto distances_to = kernel().gower_distances;
    // Rows at or beyond this distance cannot be among the k nearest: a later row at the same distance loses the tie.
    double bound = std::numeric_limits<double>::infinity();
    n_found_ = 0;
    for (std::size_t begin = 0; begin < table_.n_rows; begin += chunk) {
        const std::size_t end = std::min(begin + chunk, table_.n_rows);
        distances_to(table_, query, begin, end, chunk_distances_.data(), chunk_counts_.data());
        if (excluded >= begin && excluded < end) {
            chunk_distances_[excluded - begin] = std::numeric_limits<double>::infinity();
        }
        for (std::size_t i = 0; i < end - begin; ++i) {
            distances_[n_found_] = chunk_distances_[i];
            rows_[n_found_] = static_cast<std::uint32_t>(begin + i);
            n_found_ += chunk_distances_[i] < bound;
        }
        if (n_found_ > 4 * k_ + chunk) {
            keep_nearest();
            bound = nearest_.back().distance;
        }
    }
    keep_nearest();
    return nearest_;
}

// Keeps the k nearest candidates, stably sorted by distance: first into buckets of equal width, then within each
// bucket.
void NeighborSearch::keep_nearest() {
    nearest_.clear();
    if (n_found_ == 0) return;
    double low = distances_[0], high = distances_[0];
    for (std::size_t i = 0; i < n_found_; ++i) {
        low = distances_[i] < low ? distances_[i] : low;
        high = distances_[i] > high ? distances_[i] : high;
    }
    // If all distances are equal, or nearly so, all candidates are in the first bucket.
    const double width = (high - low) / n_buckets;
    const double scale = width > std::numeric_limits<double>::min() ? 1.0 / width : 0.0;
    for (std::size_t i = 0; i < n_found_; ++i) {
        const auto bucket = static_cast<std::int32_t>((distances_[i] - low) * scale);
        buckets_[i] = static_cast<std::uint16_t>(std::min(bucket, static_cast<std::int32_t>(n_buckets - 1)));
    }

    std::fill(bucket_ends_.begin(), bucket_ends_.end(), 0);
    for (std::size_t i = 0; i < n_found_; ++i) ++bucket_ends_[buckets_[i] + 1];
    std::size_t last = 0;
    while (last + 1 < n_buckets && bucket_ends_[last + 1] < k_) {
        bucket_ends_[last + 2] += bucket_ends_[last + 1];
        ++last;
    }
    // Buckets after `last` are entirely beyond the k-th neighbor.
    nearest_.resize(bucket_ends_[last + 1]);
    for (std::size_t i = 0; i < n_found_; ++i) {
        if (buckets_[i] <= last) nearest_[bucket_ends_[buckets_[i]]++] = {distances_[i], rows_[i]};
    }
    const auto closer = [](const Neighbor &a, const Neighbor &b) { return a.distance < b.distance; };
    auto begin = nearest_.begin();
    for (std::size_t bucket = 0; bucket <= last; ++bucket) {
        const auto end = nearest_.begin() + bucket_ends_[bucket];
        if (end - begin > 16) {
            if (!std::is_sorted(begin, end, closer)) std::stable_sort(begin, end, closer);
        } else {
            for (auto next = begin; next != end; ++next) {
                const Neighbor moving = *next;
                auto to = next;
                for (; to != begin && moving.distance < (to - 1)->distance; --to) *to = *(to - 1);
                *to = moving;
            }
        }
        begin = end;
    }
    nearest_.resize(std::min(nearest_.size(), k_));

    n_found_ = nearest_.size();
    for (std::size_t i = 0; i < n_found_; ++i) {
        distances_[i] = nearest_[i].distance;
        rows_[i] = nearest_[i].row;
    }
}

}  // namespace paribus
