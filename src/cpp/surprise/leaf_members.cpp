#include "surprise/leaf_members.hpp"

#include <algorithm>

namespace paribus {

std::uint32_t LeafMembers::divide(std::size_t split, const Part &part) {
    if (middles_[split] != 0) return middles_[split];
    if (right_.size() < part.end - part.begin) right_.resize(part.end - part.begin);
    const std::size_t n_features = source_.kinds.n_features();
    std::uint32_t middle = part.begin, n_right = 0;
    // Written to both sides and counted on one: half of all guesses would be wrong.
    for (std::uint32_t i = part.begin; i < part.end; ++i) {
        const std::uint32_t row = rows_[i];
        const bool is_left = goes_left(split, source_.rows + row * n_features);
        rows_[middle] = row;
        right_[n_right] = row;
        middle += is_left;
        n_right += !is_left;
    }
    // Trees that were grown have rows on both sides of each split.
    require_packed(middle > part.begin && n_right > 0);
    std::copy_n(right_.begin(), n_right, rows_.begin() + middle);
    middles_[split] = middle;
    return middle;
}

std::uint16_t LeafMembers::keep_sorted(const Part &part) {
    std::sort(keys_.begin(), keys_.end());
    const std::size_t n = keys_.size(), n_kept = std::min(n, TableTree::max_leaf_rows);
    for (std::size_t i = 0; i < n_kept; ++i) {
        rows_[part.begin + i] = static_cast<std::uint32_t>(keys_[TableTree::kept_member(i, n)]);
    }
    return static_cast<std::uint16_t>(n_kept);
}

}  // namespace paribus
