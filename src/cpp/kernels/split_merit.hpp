#pragma once

#include "kernels/lanes.hpp"

// The merit of splits: exact for single ones, and approximate for a block of thresholds in all lanes at once.
//
// The merit of a split is (n sum_left - n_left sum)^2 / (n_left n_right). It increases as the squared error decreases,
// so that the best split is that of CART. The screen uses the contrast 2 sum_left - 2 n_left / n sum instead, whose
// square divided by n_left n_right is the merit up to a factor of the node, in single precision and with margins for
// its rounding.
namespace paribus::PARIBUS_KERNEL {

namespace {

// The number of members whose thresholds are screened together.
constexpr std::size_t block_size = 8;
// The margins of the screen: merits below (reached x nearly - slack) are certainly not better.
constexpr float nearly = 0.999f;
constexpr float slack = 4096.0f;
// Contrasts below this, relative to the multiplicity of the node, are rounding errors.
constexpr float negligible = 0x1p-20f;
// Merits with a smaller relative difference are compared exactly.
constexpr double rounding = 1e-14;

// A contrast is below 2^46 and a product below 2^31, so that their products fit into 128 bits.
__extension__ typedef __int128 Wide;

// The sums of a node that the merits of its splits depend on.
struct NodeSums {
    std::int32_t n;    // multiplicity
    std::int32_t sum;  // of moments
};

// A split of a node.
struct Split {
    double merit;  // rounded
    std::size_t feature;
    std::size_t at;         // the position of the last member on the left in the feature's order
    std::int32_t left;      // multiplicity on the left
    std::int32_t left_sum;  // of moments
};

constexpr Split no_split = {0.0, 0xffff, 0, 0, 0};

std::int64_t exact_contrast(const NodeSums &node, const Split &split) {
    return std::int64_t{node.n} * split.left_sum - std::int64_t{split.left} * node.sum;
}

std::int64_t exact_product(const NodeSums &node, const Split &split) {
    return std::int64_t{split.left} * (node.n - split.left);
}

double rounded_merit(const NodeSums &node, const Split &split) {
    const auto contrast = static_cast<double>(exact_contrast(node, split));
    return contrast * contrast / static_cast<double>(exact_product(node, split));
}

// Whether a split is better than another one of the same node, exactly. The rounded merits of both are set.
bool is_better(const NodeSums &node, const Split &split, const Split &other) {
    if (split.merit < other.merit * (1.0 - rounding) || split.merit == 0.0) return false;
    if (split.merit > other.merit * (1.0 + rounding)) return true;
    // Cross-multiplied, in whole numbers.
    const Wide contrast = exact_contrast(node, split), other_contrast = exact_contrast(node, other);
    return contrast * contrast * exact_product(node, other) >
           other_contrast * other_contrast * exact_product(node, split);
}

// What the screen needs to know about the nodes. The running excess of left over right moments is the contrast, except
// for a correction for the sum of moments, which is not 0 because the center is a whole number.
struct Screen {
    Floats total, remainder;
    Floats slope;    // of the correction, as a function of the multiplicity on the left
    Floats nothing;  // squared contrasts below this are rounding errors

    Screen(const Ints &totals, const Ints &sums) : total(to_floats(totals)), remainder(to_floats(sums)) {
        slope = (remainder + remainder) / total;
        const Floats tiny = total * Floats::all(negligible);
        nothing = tiny * tiny;
    }
};

// A block of a feature's order, with the results of the screen.
struct Block {
    Ints left, excess;        // before the block, or after it if it is a single value
    Floats squares, product;  // no threshold in the block has a higher merit than their ratio
    std::size_t end;          // the end of a block that is a single value
};

// The best merit that each lane is known to reach, as a ratio, because a product is cheaper than a division.
struct Reached {
    Floats squares = {}, product = Floats::all(1.0f);

    void raise(const Floats &new_squares, const Floats &new_product) {
        const Ints better = new_squares * product > squares * new_product;
        squares = select(better, new_squares, squares);
        product = select(better, new_product, product);
    }

    /// Merits below this are certainly not better.
    Floats bar() const { return squares / product * Floats::all(nearly) - Floats::all(slack); }
};

}  // namespace

}  // namespace paribus::PARIBUS_KERNEL
