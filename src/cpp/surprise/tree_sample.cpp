#include "surprise/tree_sample.hpp"

#include <algorithm>
#include <bit>

namespace paribus {

namespace {

constexpr int target_bits = 30;
// Below this, a table of counts costs more than the comparisons that it saves.
constexpr std::size_t few_to_sort = 256;

}  // namespace

TreeSample::TreeSample(const FeatureTable &table, const std::vector<std::uint16_t> &features,
                       const std::vector<std::uint32_t> &rows, const std::int32_t *target)
    : table_(table),
      features_(features),
      rows_(rows),
      targets_(rows.size()),
      bins_(features.size() * rows.size()),
      seen_(features.size()) {
    std::transform(rows.begin(), rows.end(), targets_.begin(), [&](std::uint32_t row) { return target[row]; });
    for (std::size_t slot = 0; slot < features.size(); ++slot) {
        const std::vector<std::uint8_t> &from = table.column(features[slot]).bins;
        std::transform(rows.begin(), rows.end(), bins_.begin() + static_cast<std::ptrdiff_t>(slot * rows.size()),
                       [&](std::uint32_t row) { return from[row]; });
        seen_[slot].fill(0);
        if (column(slot).kind != FeatureKind::categorical) continue;
        for (std::size_t position = 0; position < size(); ++position) {
            const std::uint8_t bin = bins(slot)[position];
            seen_[slot][bin / 64] |= std::uint64_t{1} << (bin % 64);
        }
    }
}

void TreeSample::place_unseen(std::size_t slot, bool is_left, TableTree::BinSet &set) const {
    for (std::size_t word = 0; word < set.size(); ++word) {
        set[word] = (set[word] & seen_[slot][word]) | (is_left ? ~seen_[slot][word] : 0);
    }
}

void TreeSample::sort_by_feature(std::size_t slot, std::vector<Ranked> &sorted) const {
    const FeatureTable::Column &of = column(slot);
    const std::uint8_t *bin = bins(slot);
    sorted.clear();
    if (of.kind == FeatureKind::categorical) {
        for (std::uint32_t position = 0; position < size(); ++position) sorted.push_back({bin[position], position});
        sort(sorted, 8);
        return;
    }
    for (std::uint32_t position = 0; position < size(); ++position) {
        if (bin[position] != FeatureTable::missing_bin) sorted.push_back({of.ranks[rows_[position]], position});
    }
    sort(sorted, static_cast<int>(std::bit_width(of.n_distinct)));
}

void TreeSample::sort_by_target(std::vector<Ranked> &sorted) const {
    sorted.clear();
    for (std::uint32_t position = 0; position < size(); ++position) {
        sorted.push_back({static_cast<std::uint32_t>(targets_[position] + (1 << (target_bits - 1))), position});
    }
    sort(sorted, target_bits);
}

void TreeSample::sort(std::vector<Ranked> &sorted, int n_bits) const {
    const std::size_t n = sorted.size();
    if (n < few_to_sort) {
        std::sort(sorted.begin(), sorted.end(), [](const Ranked &a, const Ranked &b) {
            return a.rank < b.rank || (a.rank == b.rank && a.position < b.position);
        });
        return;
    }
    // By counting, the lowest digits first; each pass is stable.
    const int n_passes = (n_bits + 10) / 11, digit = (n_bits + n_passes - 1) / n_passes;
    const std::uint32_t mask = (std::uint32_t{1} << digit) - 1;
    std::uint32_t counts[1 << 11];
    other_.resize(n);
    for (int shift = 0; shift < n_bits; shift += digit) {
        std::fill_n(counts, mask + 1, 0);
        for (const Ranked &each : sorted) ++counts[each.rank >> shift & mask];
        std::uint32_t total = 0;
        for (std::uint32_t i = 0; i <= mask; ++i) {
            const std::uint32_t count = counts[i];
            counts[i] = total;
            total += count;
        }
        for (const Ranked &each : sorted) other_[counts[each.rank >> shift & mask]++] = each;
        sorted.swap(other_);
    }
}

}  // namespace paribus
