#include "surprise/tree_pair.hpp"

#include <algorithm>
#include <bit>

#include "surprise/threshold.hpp"

namespace paribus {

namespace {

constexpr std::size_t max_nodes = 0xffff;
// What is left of a 32-bit number if it is to be none.
constexpr std::uint32_t no_number = 0x7fc00000u, max_first = 0x003fffffu;

/// The lowest 32-bit number that is not below a number.
inline float rounded_up(double value) {
    const auto nearest = static_cast<float>(value);
    if (!(static_cast<double>(nearest) < value)) return nearest;
    const auto bits = std::bit_cast<std::uint32_t>(nearest);
    constexpr std::uint32_t sign = 0x80000000u;
    // Upwards is away from 0 for positive numbers, and towards it for negative ones.
    if ((bits & ~sign) == 0) return std::bit_cast<float>(std::uint32_t{1});
    return std::bit_cast<float>((bits & sign) != 0 ? bits - 1 : bits + 1);
}

}  // namespace

void TreePair::arrange(const double *rows, std::size_t n_rows, std::size_t n_features, std::vector<float> &arranged) {
    const std::size_t n_groups = (n_rows + side_by_side - 1) / side_by_side;
    // Leaves look at what may lie beyond the last row.
    arranged.resize(n_groups * side_by_side * n_features + TableTree::max_leaf_rows + side_by_side);
    for (std::size_t place = 0; place < n_groups * side_by_side; ++place) {
        // The last rows are joined by copies of one of them.
        const double *const values = rows + std::min(place, n_rows - 1) * n_features;
        float *const to = arranged.data() + place / side_by_side * side_by_side * n_features + place % side_by_side;
        for (std::size_t feature = 0; feature < n_features; ++feature) {
            to[feature * side_by_side] = rounded_up(values[feature]);
        }
    }
}

TreePair::TreePair(const TableTree &first, const TableTree &second, std::uint32_t offset) {
    if (first.nodes().size() + second.nodes().size() > max_nodes) return;
    nodes_.reserve(first.nodes().size() + second.nodes().size());
    second_root_ = static_cast<std::uint32_t>(first.nodes().size());
    if (!append(first, 0) || !append(second, offset)) nodes_ = {};
}

bool TreePair::append(const TableTree &tree, std::uint32_t offset) {
    const std::size_t begin = nodes_.size();
    for (std::size_t i = 0; i < tree.nodes().size(); ++i) {
        const TableTree::Node &node = tree.nodes()[i];
        const auto left = static_cast<std::uint16_t>(begin + node.left);
        if (node.left == i) {
            const std::uint32_t first = tree.leaves()[i].first + offset;
            if (first > max_first) return false;
            nodes_.push_back(
                {std::bit_cast<float>(no_number | first), left, static_cast<std::uint16_t>(tree.leaves()[i].n_rows)});
            continue;
        }
        const std::size_t place = std::size_t{node.feature} * side_by_side;
        if (node.is_categorical || !is_single(node.threshold) || place > 0xffff) return false;
        nodes_.push_back({static_cast<float>(node.threshold), left, static_cast<std::uint16_t>(place)});
    }
    return true;
}

void TreePair::find(const std::vector<float> &arranged, std::size_t n_features, const std::uint8_t *is_second,
                    std::size_t n_rows, TableTree::Leaf *leaves) const {
    const Node *const nodes = nodes_.data();
    for (std::size_t begin = 0; begin < n_rows; begin += side_by_side) {
        const float *const values = arranged.data() + begin * n_features;
        const std::size_t n = std::min(side_by_side, n_rows - begin);
        std::uint32_t places[side_by_side];
        for (std::size_t i = 0; i < side_by_side; ++i) {
            places[i] = is_second[begin + std::min(i, n - 1)] != 0 ? second_root_ : 0;
        }
        // Without branches: they would be guessed wrong half of the time.
        const auto step = [&](std::size_t i) __attribute__((always_inline)) {
            const Node &node = nodes[places[i]];
            places[i] = std::uint32_t{node.left} + (node.threshold < values[node.place + i]);
        };
        for (std::uint32_t moved = 1; moved != 0;) {
            // To ask whether all have arrived takes as long as a step.
            for (std::size_t level = 0; level < 3; ++level) {
#pragma GCC unroll 8
                for (std::size_t i = 0; i < side_by_side; ++i) step(i);
            }
            moved = 0;
#pragma GCC unroll 8
            for (std::size_t i = 0; i < side_by_side; ++i) {
                const std::uint32_t last = places[i];
                step(i);
                moved |= places[i] ^ last;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const Node &leaf = nodes[places[i]];
            leaves[begin + i] = {std::bit_cast<std::uint32_t>(leaf.threshold) & max_first, leaf.place};
        }
    }
}

}  // namespace paribus
