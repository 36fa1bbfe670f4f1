#include "surprise/row_planes.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "surprise/table_tree.hpp"

namespace paribus {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The lowest 32-bit number that is not below a number.
inline float rounded_up(double value) {
    constexpr double most = RowPlanes::highest;
    if (!(value < most)) return RowPlanes::highest;
    if (value < -most) return -RowPlanes::highest;
    const auto nearest = static_cast<float>(value);
    if (!(static_cast<double>(nearest) < value)) return nearest;
    const auto bits = std::bit_cast<std::uint32_t>(nearest);
    constexpr std::uint32_t sign = 0x80000000u;
    // Upwards is away from 0 for positive numbers, and towards it for negative ones.
    if ((bits & ~sign) == 0) return std::bit_cast<float>(std::uint32_t{1});
    return std::bit_cast<float>((bits & sign) != 0 ? bits - 1 : bits + 1);
}

}  // namespace

RowPlanes::RowPlanes(const FeatureKinds &kinds, const std::vector<std::uint16_t> &features)
    : kinds_(kinds), begins_(kinds.n_features()), n_words_(kinds.n_features()) {
    std::size_t n_planes = 0;
    for (const std::uint16_t feature : features) {
        if (!kinds.is_categorical(feature)) continue;
        std::size_t n_bins = 1;
        for (const std::uint8_t bin : kinds.bin_of_code[feature]) n_bins = std::max<std::size_t>(n_bins, bin + 1u);
        categories_.push_back(feature);
        begins_[feature] = n_planes * side_by_side;
        n_words_[feature] = (n_bins + bins_per_word - 1) / bins_per_word;
        n_planes += n_words_[feature];
    }
    numbers_begin_ = n_planes * side_by_side;
    for (const std::uint16_t feature : features) {
        if (kinds.is_categorical(feature)) continue;
        numbers_.push_back(feature);
        begins_[feature] = n_planes * side_by_side;
        n_planes += 2;
    }
    size_ = n_planes * side_by_side;
}

void RowPlanes::arrange(const double *rows, std::size_t n_rows, std::vector<float> &arranged) const {
    const std::size_t n_groups = (n_rows + side_by_side - 1) / side_by_side;
    arranged.resize(n_groups * size_ + numbers_begin_ + TableTree::max_leaf_rows + side_by_side);
    for (std::size_t place = 0; place < n_groups * side_by_side; ++place) {
        const double *const values = rows + std::min(place, n_rows - 1) * kinds_.n_features();
        float *const to = arranged.data() + place / side_by_side * size_ + place % side_by_side;
        for (const std::uint16_t feature : categories_) {
            float *const words = to + begins_[feature];
            const std::vector<std::uint8_t> &bin_of_code = kinds_.bin_of_code[feature];
            const double code = values[feature];
            std::size_t word = 0;
            std::uint32_t bits = code != code ? missing_bit : unknown_bit;
            if (code >= 0.0 && code < static_cast<double>(bin_of_code.size())) {
                const std::uint8_t bin = bin_of_code[static_cast<std::size_t>(code)];
                word = bin / bins_per_word;
                bits = 1u << (bin % bins_per_word);
            }
            for (std::size_t i = 0; i < n_words_[feature]; ++i) {
                words[i * side_by_side] = std::bit_cast<float>(i == word ? bits : 0u);
            }
        }
        for (const std::uint16_t feature : numbers_) {
            float *const planes = to + begins_[feature];
            const double value = values[feature];
            const bool is_missing = value != value;
            const float rounded = rounded_up(value);
            planes[0] = is_missing ? infinity : rounded;
            planes[side_by_side] = is_missing ? -infinity : rounded;
        }
    }
}

}  // namespace paribus
