#include "qcad/reference_group.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/grid.hpp"

namespace paribus {

RankSorter::RankSorter(std::size_t n_rows)
    : map_((n_rows + 63) / 64), summary_((map_.size() + 63) / 64), place_of_rank_(n_rows) {}

template <typename Visit>
void RankSorter::for_each_sorted(const std::uint32_t *rows, std::size_t n, const ColumnRanks &ranks, Visit visit) {
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t rank = ranks.rank[rows[i]];
        map_[rank / 64] |= std::uint64_t{1} << (rank % 64);
        summary_[rank / 4096] |= std::uint64_t{1} << (rank / 64 % 64);
        place_of_rank_[rank] = static_cast<std::uint16_t>(i);
    }
    for (std::size_t s = 0; s < summary_.size(); ++s) {
        for (std::uint64_t words = summary_[s]; words != 0; words &= words - 1) {
            const std::size_t word = s * 64 + static_cast<std::size_t>(std::countr_zero(words));
            for (std::uint64_t bits = map_[word]; bits != 0; bits &= bits - 1) {
                const std::size_t rank = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
                visit(place_of_rank_[rank], ranks.sorted[rank]);
            }
            map_[word] = 0;
        }
        summary_[s] = 0;
    }
}

ReferenceGroup::ReferenceGroup(const FittedTable &table, std::size_t k)
    : table_(table),
      k_(k),
      p_(table.context().n_features),
      sorter_(table.n_rows()),
      rows_(k),
      features_(p_),
      orders_(p_ * k),
      rank_values_(p_ * k),
      ranks_(p_ * k),
      behavior_(k),
      grid_behavior_(k),
      grid_bits_(31 - static_cast<int>(std::bit_width(k))),
      local_of_code_(p_),
      categories_(p_ * k),
      n_categories_(p_),
      own_category_(p_) {
    behavior_order_.reserve(k);
    sorted_behavior_.reserve(k);
    for (std::size_t f = 0; f < p_; ++f) {
        const ContextFeature &feature = table.context().features[f];
        // Two more: for a missing value, and for a category that no fitted row has.
        if (feature.kind == FeatureKind::categorical) local_of_code_[f].assign(feature.n_codes + 2, absent);
    }
}

void ReferenceGroup::assign(const double *point, const std::vector<Neighbor> &neighbors) {
    point_ = point;
    for (std::size_t i = 0; i < k_; ++i) rows_[i] = neighbors[i].row;
    for (std::size_t f = 0; f < p_; ++f) {
        const ContextFeature &feature = table_.context().features[f];
        if (feature.kind == FeatureKind::categorical) {
            number_categories(f);
            continue;
        }
        rank_numbers(f);
    }
}

void ReferenceGroup::rank_numbers(std::size_t feature) {
    // A missing number sorts below every number.
    const auto number = [](double value) { return std::isnan(value) ? -INFINITY : value; };
    std::uint32_t *entry = orders_.data() + feature * k_;
    double *rank_values = rank_values_.data() + feature * k_;
    std::int32_t *ranks = ranks_.data() + feature * k_;
    features_[feature] = {entry, rank_values, number(point_[feature])};
    // The first value increments this to 0, because it differs from NaN.
    std::uint32_t rank = ~std::uint32_t{0};
    double last = NAN;
    sorter_.for_each_sorted(rows_.data(), k_, table_.context_ranks(feature), [&](std::uint16_t member, double value) {
        value = number(value);
        rank += value != last;
        last = value;
        rank_values[rank] = value;
        ranks[member] = static_cast<std::int32_t>(rank);
        *entry++ = rank << 16 | member;
    });
}

void ReferenceGroup::select_behavior(std::size_t feature) {
    const double *behavior = table_.behavior(feature);
    behavior_order_.clear();
    sorted_behavior_.clear();
    for (std::size_t i = 0; i < k_; ++i) behavior_[i] = behavior[rows_[i]];
    sorter_.for_each_sorted(rows_.data(), k_, table_.behavior_ranks(feature), [&](std::uint16_t member, double value) {
        if (std::isnan(value)) return;
        behavior_order_.push_back(member);
        sorted_behavior_.push_back(value);
    });
    lay_grid();
    for (std::size_t f = 0; f < p_; ++f) {
        if (table_.context().features[f].kind == FeatureKind::categorical) encode_categories(f);
    }
}

void ReferenceGroup::lay_grid() {
    std::fill(grid_behavior_.begin(), grid_behavior_.end(), 0);
    const double low = sorted_behavior_.empty() ? 0.0 : sorted_behavior_.front();
    const double high = sorted_behavior_.empty() ? 0.0 : sorted_behavior_.back();
    grid_scale_ = grid_scale(high - low, grid_bits_);
    for (const std::uint16_t member : behavior_order_) {
        grid_behavior_[member] = grid_step(behavior_[member], low, grid_scale_, grid_bits_);
    }
}

void ReferenceGroup::number_categories(std::size_t feature) {
    const double *codes = table_.context().features[feature].values;
    std::vector<std::uint16_t> &local_of_code = local_of_code_[feature];
    // After the fitted categories come one for missing values, and one without members for unseen categories.
    const auto index = [n_codes = table_.context().features[feature].n_codes](double code) {
        if (std::isnan(code)) return n_codes;
        return code < static_cast<double>(n_codes) ? static_cast<std::size_t>(code) : n_codes + 1;
    };
    std::uint16_t n_local = 0;
    for (std::size_t i = 0; i < k_; ++i) {
        std::uint16_t &local = local_of_code[index(codes[rows_[i]])];
        if (local == absent) local = n_local++;
        categories_[feature * k_ + i] = local;
    }
    n_categories_[feature] = n_local;
    own_category_[feature] = local_of_code[index(point_[feature])];
    for (std::size_t i = 0; i < k_; ++i) local_of_code[index(codes[rows_[i]])] = absent;
}

void ReferenceGroup::encode_categories(std::size_t feature) {
    const std::uint16_t *categories = categories_.data() + feature * k_;
    const std::size_t n = n_categories_[feature];
    category_values_.assign(n, 0.0);
    category_counts_.assign(n, 0);
    double sum = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < k_; ++i) {
        if (std::isnan(behavior_[i])) continue;
        category_values_[categories[i]] += behavior_[i];
        ++category_counts_[categories[i]];
        sum += behavior_[i];
        ++count;
    }
    const double overall = count > 0 ? sum / static_cast<double>(count) : 0.0;
    for (std::size_t c = 0; c < n; ++c) {
        category_values_[c] = category_counts_[c] > 0 ? category_values_[c] / category_counts_[c] : overall;
    }
    category_order_.resize(n);
    std::iota(category_order_.begin(), category_order_.end(), std::uint16_t{0});
    std::sort(category_order_.begin(), category_order_.end(),
              [this](std::uint16_t a, std::uint16_t b) { return category_values_[a] < category_values_[b]; });

    category_counts_.assign(n, 0);
    for (std::size_t i = 0; i < k_; ++i) ++category_counts_[categories[i]];
    category_starts_.resize(n);
    category_ranks_.resize(n);
    double *rank_values = rank_values_.data() + feature * k_;
    std::uint32_t start = 0, rank = 0;
    for (const std::uint16_t c : category_order_) {
        rank += start > 0 && category_values_[c] != rank_values[rank];
        rank_values[rank] = category_values_[c];
        category_ranks_[c] = rank;
        category_starts_[c] = start;
        start += category_counts_[c];
    }
    std::uint32_t *entries = orders_.data() + feature * k_;
    std::int32_t *ranks = ranks_.data() + feature * k_;
    for (std::size_t i = 0; i < k_; ++i) {
        const std::uint16_t c = categories[i];
        ranks[i] = static_cast<std::int32_t>(category_ranks_[c]);
        entries[category_starts_[c]++] = category_ranks_[c] << 16 | static_cast<std::uint32_t>(i);
    }
    const std::uint16_t own = own_category_[feature];
    features_[feature] = {entries, rank_values, own == absent ? overall : category_values_[own]};
}

void ReferenceGroup::describe(PathForestTask &task) const {
    task.n_members = k_;
    task.n_features = p_;
    task.features = features_.data();
    task.ranks = ranks_.data();
    task.behavior = behavior_.data();
    task.grid_behavior = grid_behavior_.data();
    task.grid_scale = grid_scale_;
    task.grid_bits = grid_bits_;
}

}  // namespace paribus
