#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace paribus {

/// Sorts positions by their ranks, equal ones by position: by counting, the lowest digits first.
///
/// A rank and its position share one number, of 32 bits if there is room for both.
class PositionSorter {
public:
    /// @param n           positions
    /// @param n_rank_bits ranks are below 2^n_rank_bits; at most 31
    /// @param rank_of     the rank of a position, or `none`: `std::uint32_t(std::uint32_t)`
    /// @param use         called with each rank and position in order: `void(std::uint32_t, std::uint32_t)`
    template <typename RankOf, typename Use>
    void operator()(std::size_t n, int n_rank_bits, const RankOf &rank_of, const Use &use) {
        if (n_rank_bits + position_bits(n) <= 32) {
            sort(narrow_, n, n_rank_bits, rank_of, use);
        } else {
            sort(wide_, n, n_rank_bits, rank_of, use);
        }
    }

    /// The rank of a position that is left out.
    static constexpr std::uint32_t none = ~std::uint32_t{0};

private:
    static constexpr int max_digit = 11;
    // Below this, a table of counts costs more than the comparisons that it saves.
    static constexpr std::size_t few = 256;

    template <typename Key>
    struct Keys {
        std::vector<Key> sorted, other;
    };
    using Counts = std::array<std::uint32_t, 1 << max_digit>;

    static int position_bits(std::size_t n) { return static_cast<int>(std::bit_width(n - (n > 0))); }

    template <typename Key, typename RankOf, typename Use>
    void sort(Keys<Key> &keys, std::size_t n, int n_rank_bits, const RankOf &rank_of, const Use &use) {
        const int n_passes = std::max((n_rank_bits + max_digit - 1) / max_digit, 1);
        const int digit = (n_rank_bits + n_passes - 1) / n_passes, n_position_bits = position_bits(n);
        const Key mask = (Key{1} << digit) - 1;
        keys.sorted.resize(n);
        keys.other.resize(n);
        Key *from = keys.sorted.data(), *to = keys.other.data();
        counts_[0].fill(0);
        std::size_t n_ranked = 0;
        for (std::uint32_t position = 0; position < n; ++position) {
            const std::uint32_t rank = rank_of(position);
            from[n_ranked] = Key{rank} << n_position_bits | position;
            // Without a branch: what is left out is written over.
            const bool is_ranked = rank != none;
            counts_[0][rank & mask] += is_ranked;
            n_ranked += is_ranked;
        }
        if (n_ranked < few) {
            std::sort(from, from + n_ranked);
        } else {
            for (int pass = 0; pass < n_passes; ++pass) {
                const int shift = n_position_bits + pass * digit;
                std::uint32_t *const places = counts_[pass % 2].data(), *const next = counts_[(pass + 1) % 2].data();
                std::uint32_t total = 0;
                for (std::size_t i = 0; i <= mask; ++i) total += std::exchange(places[i], total);
                const auto scatter = [&](const auto &count) {
                    for (std::size_t i = 0; i < n_ranked; ++i) {
                        const Key key = from[i];
                        to[places[key >> shift & mask]++] = key;
                        count(key);
                    }
                };
                if (pass + 1 < n_passes) {
                    // The next pass needs counts, whatever the order.
                    std::fill_n(next, mask + 1, 0);
                    scatter([&](Key key) { ++next[key >> (shift + digit) & mask]; });
                } else {
                    scatter([](Key) {});
                }
                std::swap(from, to);
            }
        }
        const Key position_mask = (Key{1} << n_position_bits) - 1;
        for (std::size_t i = 0; i < n_ranked; ++i) {
            use(static_cast<std::uint32_t>(from[i] >> n_position_bits),
                static_cast<std::uint32_t>(from[i] & position_mask));
        }
    }

    Keys<std::uint32_t> narrow_;
    Keys<std::uint64_t> wide_;
    std::array<Counts, 2> counts_;
};

}  // namespace paribus
