#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/kernel_only.hpp"

// Sixteen lanes of a type, in as many processor vectors as necessary. Operators work lane by lane, so that results do
// not depend on the width of these vectors. A comparison gives -1 or 0 in each lane.
namespace paribus::PARIBUS_KERNEL {

namespace {

inline constexpr std::size_t n_lanes = 16;

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

template <typename T>
struct Lanes {
    typedef T Vector __attribute__((vector_size(vector_bytes)));
    static constexpr std::size_t width = vector_bytes / sizeof(T);
    static constexpr std::size_t n_parts = n_lanes / width;

    Vector part[n_parts];

    // Written out, because compilers would copy the array piece by piece through memory.
    Lanes() {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < n_parts; ++i) part[i] = Vector{};
    }
    Lanes(const Lanes &other) { *this = other; }
    Lanes &operator=(const Lanes &other) {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < n_parts; ++i) part[i] = other.part[i];
        return *this;
    }

    static Lanes all(T value) {
        Lanes result;
#pragma GCC unroll 8
        for (std::size_t i = 0; i < n_parts; ++i) result.part[i] = Vector{} + value;
        return result;
    }

    T operator[](std::size_t lane) const { return part[lane / width][lane % width]; }
    void set(std::size_t lane, T value) { part[lane / width][lane % width] = value; }
};

using Floats = Lanes<float>;
using Ints = Lanes<std::int32_t>;

template <typename T>
inline __attribute__((always_inline)) Lanes<T> load(const T *values) {
    Lanes<T> result;
    __builtin_memcpy(&result.part, values, sizeof result.part);
    return result;
}

template <typename T, typename Operation>
inline __attribute__((always_inline)) Lanes<T> lane_by_lane(const Lanes<T> &a, const Lanes<T> &b, Operation op) {
    Lanes<T> result;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Lanes<T>::n_parts; ++i) result.part[i] = op(a.part[i], b.part[i]);
    return result;
}

#define PARIBUS_LANES_OPERATOR(op)                                                                              \
    template <typename T>                                                                                       \
    inline __attribute__((always_inline)) Lanes<T> operator op(const Lanes<T> &a, const Lanes<T> &b) {          \
        return lane_by_lane(a, b, [](auto x, auto y) { return x op y; });                                       \
    }                                                                                                           \
    template <typename T>                                                                                       \
    inline __attribute__((always_inline)) Lanes<T> &operator op##=(Lanes<T> &a, const Lanes<T> &b) {            \
        return a = a op b;                                                                                      \
    }
PARIBUS_LANES_OPERATOR(+)
PARIBUS_LANES_OPERATOR(-)
PARIBUS_LANES_OPERATOR(*)
PARIBUS_LANES_OPERATOR(/)
PARIBUS_LANES_OPERATOR(&)
PARIBUS_LANES_OPERATOR(|)
PARIBUS_LANES_OPERATOR(^)
#undef PARIBUS_LANES_OPERATOR

#define PARIBUS_LANES_COMPARISON(op)                                                                            \
    template <typename T>                                                                                       \
    inline __attribute__((always_inline)) Ints operator op(const Lanes<T> &a, const Lanes<T> &b) {              \
        static_assert(sizeof(T) == sizeof(std::int32_t));                                                       \
        Ints result;                                                                                            \
        _Pragma("GCC unroll 8") for (std::size_t i = 0; i < Ints::n_parts; ++i) result.part[i] = a.part[i] op b.part[i]; \
        return result;                                                                                          \
    }
PARIBUS_LANES_COMPARISON(>)
PARIBUS_LANES_COMPARISON(<)
PARIBUS_LANES_COMPARISON(==)
#undef PARIBUS_LANES_COMPARISON

/// `yes` where the comparison is true, otherwise `no`.
template <typename T>
inline __attribute__((always_inline)) Lanes<T> select(const Ints &mask, const Lanes<T> &yes, const Lanes<T> &no) {
    Lanes<T> result;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Ints::n_parts; ++i) result.part[i] = mask.part[i] ? yes.part[i] : no.part[i];
    return result;
}

template <typename T>
inline __attribute__((always_inline)) Lanes<T> smaller(const Lanes<T> &a, const Lanes<T> &b) {
    return lane_by_lane(a, b, [](auto x, auto y) { return x < y ? x : y; });
}

template <typename T>
inline __attribute__((always_inline)) Lanes<T> larger(const Lanes<T> &a, const Lanes<T> &b) {
    return lane_by_lane(a, b, [](auto x, auto y) { return x > y ? x : y; });
}

inline Floats to_floats(const Ints &v) {
    Floats result;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Ints::n_parts; ++i) {
        result.part[i] = __builtin_convertvector(v.part[i], Floats::Vector);
    }
    return result;
}

/// Sixteen lanes of small counts, in one vector of bytes.
struct Bytes {
    typedef std::uint8_t Vector __attribute__((vector_size(n_lanes)));

    Vector part = {};

    static Bytes load(const std::uint8_t *values) {
        Bytes result;
        __builtin_memcpy(&result.part, values, sizeof result.part);
        return result;
    }

    std::uint8_t operator[](std::size_t lane) const { return part[lane]; }
    Bytes &operator+=(const Bytes &other) {
        part += other.part;
        return *this;
    }
};

inline Ints to_ints(const Bytes &v) {
    Ints result;
#if defined(__AVX512F__)
    result.part[0] = reinterpret_cast<Ints::Vector>(_mm512_cvtepu8_epi32(reinterpret_cast<__m128i>(v.part)));
#elif defined(__AVX2__)
    const auto bytes = reinterpret_cast<__m128i>(v.part);
    result.part[0] = reinterpret_cast<Ints::Vector>(_mm256_cvtepu8_epi32(bytes));
    result.part[1] = reinterpret_cast<Ints::Vector>(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes)));
#elif defined(__SSE2__)
    const auto bytes = reinterpret_cast<__m128i>(v.part);
    const __m128i zero = _mm_setzero_si128();
    const __m128i low = _mm_unpacklo_epi8(bytes, zero), high = _mm_unpackhi_epi8(bytes, zero);
    result.part[0] = reinterpret_cast<Ints::Vector>(_mm_unpacklo_epi16(low, zero));
    result.part[1] = reinterpret_cast<Ints::Vector>(_mm_unpackhi_epi16(low, zero));
    result.part[2] = reinterpret_cast<Ints::Vector>(_mm_unpacklo_epi16(high, zero));
    result.part[3] = reinterpret_cast<Ints::Vector>(_mm_unpackhi_epi16(high, zero));
#else
    for (std::size_t lane = 0; lane < n_lanes; ++lane) result.set(lane, v[lane]);
#endif
    return result;
}

/// Converts numbers from 0 to 127.
inline Bytes to_bytes(const Ints &v) {
    Bytes result;
#if defined(__AVX512F__)
    result.part = reinterpret_cast<Bytes::Vector>(_mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(v.part[0])));
#elif defined(__AVX2__)
    const __m256i packed =
        _mm256_packs_epi32(reinterpret_cast<__m256i>(v.part[0]), reinterpret_cast<__m256i>(v.part[1]));
    const __m256i words = _mm256_permute4x64_epi64(packed, 0xd8);
    result.part = reinterpret_cast<Bytes::Vector>(
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
#elif defined(__SSE2__)
    const __m128i low = _mm_packs_epi32(reinterpret_cast<__m128i>(v.part[0]), reinterpret_cast<__m128i>(v.part[1]));
    const __m128i high = _mm_packs_epi32(reinterpret_cast<__m128i>(v.part[2]), reinterpret_cast<__m128i>(v.part[3]));
    result.part = reinterpret_cast<Bytes::Vector>(_mm_packus_epi16(low, high));
#else
    for (std::size_t lane = 0; lane < n_lanes; ++lane) result.part[lane] = static_cast<std::uint8_t>(v[lane]);
#endif
    return result;
}

inline bool any(const Bytes &v) {
    std::uint64_t words[2];
    __builtin_memcpy(words, &v.part, sizeof words);
    return (words[0] | words[1]) != 0;
}

inline bool any(const Ints &mask) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask.part[0]), reinterpret_cast<__m512i>(mask.part[0])) !=
           0;
#elif defined(__AVX2__)
    const auto joined = reinterpret_cast<__m256i>(mask.part[0] | mask.part[1]);
    return _mm256_testz_si256(joined, joined) == 0;
#elif defined(__SSE2__)
    const auto joined = (mask.part[0] | mask.part[1]) | (mask.part[2] | mask.part[3]);
    return _mm_movemask_epi8(_mm_cmpeq_epi32(reinterpret_cast<__m128i>(joined), _mm_setzero_si128())) != 0xffff;
#else
    std::int32_t joined = 0;
    for (std::size_t lane = 0; lane < n_lanes; ++lane) joined |= mask[lane];
    return joined != 0;
#endif
}

/// One bit per lane: 1 where a comparison is true.
inline std::uint32_t lane_bits(const Ints &mask) {
#if defined(__AVX512F__)
    return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask.part[0]));
#elif defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask.part[0])) |
                                      _mm256_movemask_ps(reinterpret_cast<__m256>(mask.part[1])) << 8);
#elif defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_ps(reinterpret_cast<__m128>(mask.part[0])) |
                                      _mm_movemask_ps(reinterpret_cast<__m128>(mask.part[1])) << 4 |
                                      _mm_movemask_ps(reinterpret_cast<__m128>(mask.part[2])) << 8 |
                                      _mm_movemask_ps(reinterpret_cast<__m128>(mask.part[3])) << 12);
#else
    std::uint32_t bits = 0;
    for (std::size_t lane = 0; lane < n_lanes; ++lane) bits |= static_cast<std::uint32_t>(mask[lane] & 1) << lane;
    return bits;
#endif
}

}  // namespace

}  // namespace paribus::PARIBUS_KERNEL
