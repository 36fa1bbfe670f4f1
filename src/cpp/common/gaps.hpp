#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paribus {

/// Lists of ascending numbers, one after the other, as the differences between these: mostly one byte each. The byte
/// 255 says that as much is added, and that the difference goes on.
///
/// @param ends by list: where it ends
inline std::vector<std::uint8_t> pack_gaps(const std::uint32_t *numbers, const std::uint32_t *ends,
                                           std::size_t n_lists) {
    constexpr std::uint32_t more = 255;
    std::vector<std::uint8_t> bytes;
    std::size_t i = 0;
    for (std::size_t list = 0; list < n_lists; ++list) {
        for (std::uint32_t last = 0; i < ends[list]; ++i) {
            std::uint32_t gap = numbers[i] - last;
            last = numbers[i];
            for (; gap >= more; gap -= more) bytes.push_back(more);
            bytes.push_back(static_cast<std::uint8_t>(gap));
        }
    }
    return bytes;
}

/// The numbers again. Returns false if the bytes are too few, too many, or give numbers beyond 32 bits.
///
/// @param ends    by list, in ascending order
/// @param numbers room for as many as the last end says
inline bool unpack_gaps(const std::uint8_t *bytes, std::size_t n_bytes, const std::uint32_t *ends, std::size_t n_lists,
                        std::uint32_t *numbers) {
    constexpr std::uint8_t more = 255;
    std::size_t i = 0, place = 0;
    for (std::size_t list = 0; list < n_lists; ++list) {
        for (std::uint64_t last = 0; i < ends[list]; ++i) {
            for (; place < n_bytes && bytes[place] == more; ++place) last += more;
            if (place == n_bytes) return false;
            last += bytes[place++];
            if (last > 0xffffffffu) return false;
            numbers[i] = static_cast<std::uint32_t>(last);
        }
    }
    return place == n_bytes;
}

}  // namespace paribus
