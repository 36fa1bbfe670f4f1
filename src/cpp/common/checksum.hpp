#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace paribus {

/// A checksum of bytes, the same on every machine: finds damage, at several gigabytes per second. It does not protect
/// against deliberate changes.
inline std::uint64_t checksum(const std::uint8_t *data, std::size_t size) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
    // Four chains side by side, since each waits for its last product.
    std::uint64_t chains[4] = {1, 2, 3, 4};
    const auto add = [](std::uint64_t chain, std::uint64_t word) {
        chain = (chain ^ word) * odd;
        return chain ^ (chain >> 32);
    };
    std::size_t i = 0;
    for (; i + sizeof chains <= size; i += sizeof chains) {
        std::uint64_t words[4];
        std::memcpy(words, data + i, sizeof words);
        for (std::size_t chain = 0; chain < 4; ++chain) chains[chain] = add(chains[chain], words[chain]);
    }
    std::uint64_t found = add(size, 5);
    for (const std::uint64_t chain : chains) found = add(found, chain);
    for (; i < size; ++i) found = add(found, data[i]);
    return found;
}

}  // namespace paribus
