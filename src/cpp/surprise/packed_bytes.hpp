#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace paribus {

static_assert(std::endian::native == std::endian::little, "packed forests are little-endian");

/// @throws std::invalid_argument if a packed forest is not as it should be
inline void require_packed(bool holds) {
    if (!holds) throw std::invalid_argument("the model file is damaged: a forest in it is not as it was saved");
}

inline std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

/// Appends an array, so that the next one begins at a multiple of 8. Returns where it begins.
template <typename T>
std::size_t append(std::vector<std::uint8_t> &bytes, const T *values, std::size_t n) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + padded(n * sizeof(T)));
    if (n > 0) std::memcpy(bytes.data() + begin, values, n * sizeof(T));
    return begin;
}

template <typename T>
void append(std::vector<std::uint8_t> &bytes, const std::vector<T> &values) {
    append(bytes, values.data(), values.size());
}

/// Reads arrays one after the other, as `append` wrote them.
class PackedReader {
public:
    PackedReader(const std::uint8_t *bytes, std::size_t size) : bytes_(bytes), left_(size) {}

    template <typename T>
    const T *take(std::size_t n) {
        require_packed(n <= left_ / sizeof(T) && padded(n * sizeof(T)) <= left_);
        const auto *found = reinterpret_cast<const T *>(bytes_);
        bytes_ += padded(n * sizeof(T));
        left_ -= padded(n * sizeof(T));
        return found;
    }
    bool is_at_end() const { return left_ == 0; }

private:
    const std::uint8_t *bytes_;
    std::size_t left_;
};

/// Whole numbers of 8 or of 16 bits.
struct PackedShorts {
    const std::uint8_t *narrow = nullptr;
    const std::uint16_t *wide = nullptr;

    std::uint32_t operator[](std::size_t i) const { return wide != nullptr ? wide[i] : narrow[i]; }

    static PackedShorts take(PackedReader &reader, std::size_t n, bool is_wide) {
        if (is_wide) return {nullptr, reader.take<std::uint16_t>(n)};
        return {reader.take<std::uint8_t>(n), nullptr};
    }
    static void append_to(std::vector<std::uint8_t> &bytes, const std::vector<std::uint32_t> &numbers, bool is_wide) {
        if (is_wide) {
            append(bytes, std::vector<std::uint16_t>(numbers.begin(), numbers.end()));
        } else {
            append(bytes, std::vector<std::uint8_t>(numbers.begin(), numbers.end()));
        }
    }
};

/// Whole numbers of any number of bits up to 32, one after the other.
struct PackedBits {
    const std::uint8_t *bytes = nullptr;
    unsigned width = 0;

    std::uint32_t operator[](std::size_t i) const {
        std::uint64_t found;
        std::memcpy(&found, bytes + i * width / 8, sizeof found);
        return static_cast<std::uint32_t>(found >> (i * width % 8) & ((std::uint64_t{1} << width) - 1));
    }

    static PackedBits take(PackedReader &reader, std::size_t n, unsigned width) {
        return {reader.take<std::uint8_t>(size(n, width)), width};
    }
    static void append_to(std::vector<std::uint8_t> &bytes, const std::vector<std::uint32_t> &numbers, unsigned width) {
        std::vector<std::uint8_t> packed(size(numbers.size(), width));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            std::uint64_t word;
            std::memcpy(&word, packed.data() + i * width / 8, sizeof word);
            word |= std::uint64_t{numbers[i]} << (i * width % 8);
            std::memcpy(packed.data() + i * width / 8, &word, sizeof word);
        }
        append(bytes, packed);
    }

private:
    /// Each number can be read as part of a 64-bit number.
    static std::size_t size(std::size_t n, unsigned width) { return (n * width + 7) / 8 + sizeof(std::uint64_t); }
};

}  // namespace paribus
