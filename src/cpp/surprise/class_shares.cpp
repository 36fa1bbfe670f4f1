#include "surprise/class_shares.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "common/random.hpp"
#include "surprise/distributions.hpp"

namespace paribus {

std::vector<std::int32_t> number_classes(const TargetColumn &target, std::uint64_t seed) {
    std::vector<std::int32_t> order(target.n_classes());
    std::iota(order.begin(), order.end(), 0);
    Random random(seed);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    // Far above the least gain of a split.
    constexpr std::int32_t unit = 1 << 20;
    std::vector<std::int32_t> numbered(target.n_rows());
    for (std::uint32_t row = 0; row < numbered.size(); ++row) {
        const double own = target[row];
        numbered[row] = std::isnan(own) ? 0 : order[static_cast<std::size_t>(own)] * unit;
    }
    return numbered;
}

void find_class_shares(const AskedRows &rows, const LeafFinder &forest, std::size_t n_classes, double strength,
                       double *shares, std::size_t n_threads, const Tick &on_tick) {
    const std::size_t n_pairs = forest.n_pairs(), width = n_classes + 1;
    struct Scratch {
        LeafFinder::Scratch finding;
        std::vector<std::uint32_t> counts;
    };
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>();
        scratch->counts.resize(n_classes);
        return [&, scratch](std::size_t begin, std::size_t end) {
            forest.find_leaves(rows, begin, end, scratch->finding);
            std::vector<std::uint32_t> &counts = scratch->counts;
            for (std::size_t row = begin; row < end; ++row) {
                double *const to = shares + row * width;
                std::fill_n(to, width, 0.0);
                for (std::size_t pair = 0; pair < n_pairs; ++pair) {
                    const TableTree::Leaf &leaf = scratch->finding.leaf(pair, row - begin);
                    const std::int32_t *steps = scratch->finding.targets[pair] + leaf.first;
                    std::fill(counts.begin(), counts.end(), 0);
                    for (std::size_t i = 0; i < leaf.n_rows; ++i) {
                        const double place =
                            forest.grid().steps_per_unit > 0.0 ? forest.grid().value_at(steps[i]) : forest.grid().low;
                        const auto found = static_cast<std::size_t>(place + 0.5);
                        ++counts[std::min(found, n_classes - 1)];
                    }
                    const double weight = 1.0 / (leaf.n_rows + strength);
                    for (std::size_t each = 0; each < n_classes; ++each) to[each] += counts[each] * weight;
                    to[n_classes] += strength * weight;
                }
                for (std::size_t i = 0; i < width; ++i) to[i] /= static_cast<double>(n_pairs);
            }
        };
    });
}

}  // namespace paribus
