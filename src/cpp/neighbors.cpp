#include "neighbors.hpp"

#include <algorithm>

#include "kernel.hpp"

namespace paribus {

namespace {

// Rows are compared in chunks whose distances stay in the first-level cache.
constexpr std::size_t chunk = 1024;
constexpr std::size_t n_buckets = 1024;

}  // namespace

NeighborSearch::NeighborSearch(const ContextView &table, std::size_t k)
    : table_(table), k_(std::min(k, table.n_rows)), distances_(chunk), counts_(chunk), bucket_ends_(n_buckets + 1) {
    found_.reserve(4 * k_ + 2 * chunk);
    sorted_.reserve(4 * k_ + 2 * chunk);
}

const std::vector<Neighbor> &NeighborSearch::search(const double *query, std::uint32_t excluded) {
    const auto distances_to = kernel().gower_distances;
    const std::size_t limit = 4 * k_ + chunk;
    // Nothing at or beyond this distance can still enter: an equal row further down loses the tie.
    double bound = std::numeric_limits<double>::infinity();
    found_.clear();
    for (std::size_t begin = 0; begin < table_.n_rows; begin += chunk) {
        const std::size_t end = std::min(begin + chunk, table_.n_rows);
        distances_to(table_, query, begin, end, distances_.data(), counts_.data());
        if (excluded >= begin && excluded < end) distances_[excluded - begin] = std::numeric_limits<double>::infinity();

        const std::size_t before = found_.size();
        found_.resize(before + (end - begin));
        Neighbor *next = found_.data() + before;
        for (std::size_t i = 0; i < end - begin; ++i) {
            *next = {distances_[i], static_cast<std::uint32_t>(begin + i)};
            next += distances_[i] < bound;
        }
        found_.resize(static_cast<std::size_t>(next - found_.data()));
        if (found_.size() > limit) {
            keep_nearest();
            if (found_.size() == k_) bound = found_.back().distance;
        }
    }
    keep_nearest();
    return found_;
}

// Sorts by distance, stably, and cuts after k: distances into buckets of equal width, then each bucket by itself.
void NeighborSearch::keep_nearest() {
    if (found_.empty()) return;
    const auto closer = [](const Neighbor &a, const Neighbor &b) { return a.distance < b.distance; };
    const auto [low, high] = std::minmax_element(found_.begin(), found_.end(), closer);
    const double base = low->distance;
    const double width = (high->distance - base) / (n_buckets - 1);
    // All equal (or so close that the buckets have no width): one stable sort does it.
    if (!(width > std::numeric_limits<double>::min())) {
        std::stable_sort(found_.begin(), found_.end(), closer);
        found_.resize(std::min(found_.size(), k_));
        return;
    }
    const double scale = 1.0 / width;
    const auto bucket_of = [&](const Neighbor &n) {
        return std::min(static_cast<std::size_t>((n.distance - base) * scale), n_buckets - 1);
    };

    std::fill(bucket_ends_.begin(), bucket_ends_.end(), 0);
    for (const Neighbor &n : found_) ++bucket_ends_[bucket_of(n) + 1];
    std::size_t last = 0;
    while (last + 1 < n_buckets && bucket_ends_[last + 1] < k_) {
        bucket_ends_[last + 2] += bucket_ends_[last + 1];
        ++last;
    }
    // Buckets after `last` lie wholly beyond the k-th neighbour.
    sorted_.resize(bucket_ends_[last + 1]);
    for (const Neighbor &n : found_) {
        const std::size_t bucket = bucket_of(n);
        if (bucket <= last) sorted_[bucket_ends_[bucket]++] = n;
    }
    std::size_t begin = 0;
    for (std::size_t bucket = 0; bucket <= last; ++bucket) {
        const std::size_t end = bucket_ends_[bucket];
        if (end - begin > 16) {
            std::stable_sort(sorted_.begin() + static_cast<std::ptrdiff_t>(begin),
                             sorted_.begin() + static_cast<std::ptrdiff_t>(end), closer);
        } else {
            for (std::size_t i = begin + 1; i < end; ++i) {
                const Neighbor moving = sorted_[i];
                std::size_t to = i;
                for (; to > begin && moving.distance < sorted_[to - 1].distance; --to) sorted_[to] = sorted_[to - 1];
                sorted_[to] = moving;
            }
        }
        begin = end;
    }
    sorted_.resize(std::min(sorted_.size(), k_));
    found_.swap(sorted_);
}

}  // namespace paribus
