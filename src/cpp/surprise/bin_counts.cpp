#include "surprise/bin_counts.hpp"

#include <algorithm>

namespace paribus {

BinCounts::Place BinCounts::count(const std::uint32_t *positions, std::size_t n) {
    if (!are_inherited_ || n > max_rows) return none;
    const Place place = take_place();
    if (place == none) return none;
    pack(positions, n, false);
    std::fill(all_[place].begin(), all_[place].end(), 0);
    add(all_[place].data(), positions, n, 0, sample_.n_slots());
    return place;
}

BinCounts::Place BinCounts::split(Place parent, const std::uint32_t *positions, std::size_t n,
                                  bool smaller_has_counts) {
    const Place smaller = smaller_has_counts ? count(positions, n) : none;
    if (smaller == none) {
        pack(positions, n, true);
        add(all_[parent].data(), positions, n, 0, sample_.n_slots());
        return none;
    }
    std::uint64_t *const from = all_[parent].data();
    const std::uint64_t *const taken = all_[smaller].data();
    for (std::size_t i = 0; i < sample_.n_slots() * n_bins; ++i) from[i] -= taken[i];
    return smaller;
}

void BinCounts::release(Place place) {
    if (place != none) free_.push_back(place);
}

const std::uint64_t *BinCounts::cells(const std::uint32_t *positions, std::size_t n, std::size_t slot) {
    std::fill(one_.begin(), one_.end(), 0);
    add<1>(one_.data(), positions, n, slot);
    return one_.data();
}

BinCounts::Place BinCounts::take_place() {
    if (!free_.empty()) {
        const Place place = free_.back();
        free_.pop_back();
        return place;
    }
    if (n_places_ == max_places) return none;
    if (n_places_ == all_.size()) all_.emplace_back();
    all_[n_places_].resize(sample_.n_slots() * n_bins);
    return n_places_++;
}

void BinCounts::pack(const std::uint32_t *positions, std::size_t n, bool is_taken_away) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t target = sample_.targets()[positions[i]] + offset;
        packed_[i] = static_cast<std::uint64_t>(target) << BinScan::count_bits | 1;
    }
    if (!is_taken_away) return;
    for (std::size_t i = 0; i < n; ++i) packed_[i] = -packed_[i];
}

void BinCounts::add(std::uint64_t *cells, const std::uint32_t *positions, std::size_t n, std::size_t first_slot,
                    std::size_t n_slots) const {
    // Several features at once: a row may have to wait for the one before if both are in the same bin.
    for (; n_slots >= 3; n_slots -= 3, first_slot += 3, cells += 3 * n_bins) add<3>(cells, positions, n, first_slot);
    for (; n_slots > 0; --n_slots, ++first_slot, cells += n_bins) add<1>(cells, positions, n, first_slot);
}

template <std::size_t n_slots>
void BinCounts::add(std::uint64_t *cells, const std::uint32_t *positions, std::size_t n, std::size_t first_slot) const {
    const std::uint8_t *bins[n_slots];
    for (std::size_t i = 0; i < n_slots; ++i) bins[i] = sample_.bins(first_slot + i);
    for (std::size_t row = 0; row < n; ++row) {
        const std::uint32_t position = positions[row];
        const std::uint64_t packed = packed_[row];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < n_slots; ++i) cells[i * n_bins + bins[i][position]] += packed;
    }
}

}  // namespace paribus
