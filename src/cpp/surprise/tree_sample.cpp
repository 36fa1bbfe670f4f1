#include "surprise/tree_sample.hpp"

#include <algorithm>

namespace paribus {

TreeSample::TreeSample(const FeatureTable &table, const std::vector<std::uint16_t> &features,
                       const std::vector<std::uint32_t> &rows, const std::int32_t *target, GrowthMemory &memory)
    : table_(table),
      features_(features),
      rows_(rows),
      targets_(memory.targets),
      bins_(memory.bins),
      sorter_(memory.sorter),
      seen_(features.size()) {
    targets_.resize(rows.size());
    bins_.resize(features.size() * rows.size());
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

}  // namespace paribus
