#include "kernels/subtree_orders.hpp"

#include "kernels/lanes.hpp"

namespace paribus::PARIBUS_KERNEL {

namespace {

#if defined(__AVX2__)

/// By eight bits: the places of those that are set, and then of those that are not.
struct Shuffles {
    std::uint64_t of[256];
};

constexpr Shuffles make_shuffles() {
    Shuffles result = {};
    for (unsigned bits = 0; bits < 256; ++bits) {
        int shift = 0;
        for (unsigned side = 0; side < 2; ++side) {
            for (unsigned place = 0; place < 8; ++place) {
                if ((bits >> place & 1) == side) continue;
                result.of[bits] |= std::uint64_t{place} << shift;
                shift += 8;
            }
        }
    }
    return result;
}

constexpr Shuffles shuffles = make_shuffles();

/// One bit for each of 256 rows.
struct RowSet {
    __m128i low, high;

    explicit RowSet(const std::uint8_t *goes_left) {
        alignas(16) std::uint16_t words[16] = {};
        for (std::size_t i = 0; i < SubtreeOrders::max_rows / 32; ++i) {
            const __m256i flags = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(goes_left) + i);
            const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(flags));
            __builtin_memcpy(words + 2 * i, &bits, sizeof bits);
        }
        low = _mm_load_si128(reinterpret_cast<const __m128i *>(words));
        high = _mm_load_si128(reinterpret_cast<const __m128i *>(words) + 1);
    }

    /// Of 16 rows, which are in the set.
    inline __attribute__((always_inline)) unsigned contains(__m128i rows) const {
        const __m128i byte = _mm_and_si128(_mm_srli_epi16(rows, 3), _mm_set1_epi8(31));
        const __m128i bytes = _mm_blendv_epi8(_mm_shuffle_epi8(low, byte), _mm_shuffle_epi8(high, byte), rows);
        const __m128i powers = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201u));
        const __m128i bit = _mm_shuffle_epi8(powers, _mm_and_si128(rows, _mm_set1_epi8(7)));
        const __m128i is_in = _mm_cmpeq_epi8(_mm_and_si128(bytes, bit), bit);
        return static_cast<unsigned>(_mm_movemask_epi8(is_in));
    }
};

void part(std::uint8_t *order, std::size_t n, std::size_t n_left, const RowSet &goes_left) {
    std::uint8_t right[SubtreeOrders::stride + SubtreeOrders::padding];
    const __m128i beyond = _mm_loadu_si128(reinterpret_cast<const __m128i *>(order + n));
    std::size_t to_left = 0, to_right = 0;
    const auto move = [&](__m128i eight, unsigned bits) __attribute__((always_inline)) {
        const __m128i shuffle = _mm_cvtsi64_si128(static_cast<long long>(shuffles.of[bits]));
        const auto moved = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_shuffle_epi8(eight, shuffle)));
        const auto count = static_cast<unsigned>(__builtin_popcount(bits));
        // If all go left, the shift is by nothing, and what is written on the right does not count.
        const std::uint64_t others = moved >> (8 * count & 63);
        __builtin_memcpy(order + to_left, &moved, sizeof moved);
        __builtin_memcpy(right + to_right, &others, sizeof others);
        to_left += count;
        to_right += 8 - count;
    };
    for (std::size_t i = 0; i < n; i += 16) {
        const __m128i rows = _mm_loadu_si128(reinterpret_cast<const __m128i *>(order + i));
        const unsigned bits = goes_left.contains(rows);
        move(rows, bits & 255);
        if (i + 8 < n) move(_mm_unpackhi_epi64(rows, rows), bits >> 8);
    }
    for (std::size_t i = 0; i < n - n_left; i += 16) {
        const __m128i rows = _mm_loadu_si128(reinterpret_cast<const __m128i *>(right + i));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(order + n_left + i), rows);
    }
    _mm_storeu_si128(reinterpret_cast<__m128i *>(order + n), beyond);
}

#else

using RowSet = const std::uint8_t *;

void part(std::uint8_t *order, std::size_t n, std::size_t n_left, RowSet goes_left) {
    std::uint8_t right[SubtreeOrders::max_rows];
    std::size_t to_left = 0, to_right = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t row = order[i], is_left = goes_left[row] & 1;
        order[to_left] = row;
        right[to_right] = row;
        to_left += is_left;
        to_right += is_left ^ 1;
    }
    __builtin_memcpy(order + n_left, right, n - n_left);
}

#endif

}  // namespace

void part_orders(std::uint8_t *orders, std::size_t n_orders, std::size_t n, std::size_t n_left,
                 const std::uint8_t *goes_left) {
    const RowSet set(goes_left);
    for (std::size_t i = 0; i < n_orders; ++i) part(orders + i * SubtreeOrders::stride, n, n_left, set);
}

}  // namespace paribus::PARIBUS_KERNEL
