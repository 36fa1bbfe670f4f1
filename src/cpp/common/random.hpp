#pragma once

#include <cstdint>

namespace paribus {

/// A small random number generator with the same results on every machine: SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t operator()() {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    /// A random whole number below `end`, which is at most 2^32.
    std::uint64_t below(std::uint64_t end) { return ((*this)() >> 32) * end >> 32; }

private:
    std::uint64_t state_;
};

}  // namespace paribus
