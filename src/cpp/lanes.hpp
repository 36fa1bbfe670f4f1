#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernel_only.hpp"

// Sixteen lanes of a type, as as many processor vectors as they need. Operators work lane by lane, so that a result
// does not depend on how wide these vectors are. A comparison gives -1 or 0 in each lane.
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

    // Written out: left to themselves, compilers copy the array piece by piece through memory.
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

    static Lanes load(const T *values) {
        Lanes result;
#pragma GCC unroll 8
        for (std::size_t i = 0; i < n_parts; ++i) __builtin_memcpy(&result.part[i], values + i * width, vector_bytes);
        return result;
    }

    T operator[](std::size_t lane) const { return part[lane / width][lane % width]; }
    void set(std::size_t lane, T value) { part[lane / width][lane % width] = value; }
};

using Floats = Lanes<float>;
using Ints = Lanes<std::int32_t>;

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

/// `yes` where the comparison held, else `no`.
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

/// One bit per lane in which a comparison held.
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
