#pragma once

#include "kernels/lanes.hpp"

// What a split is worth: exactly, one by one, and roughly, for a whole stretch of thresholds in all lanes at once.
//
// The merit of a split is (n sum_left - n_left sum)^2 / (n_left n_right). It grows as the squared error falls, so that
// the best split is CART's. The screen works with the contrast 2 sum_left - 2 n_left / n sum instead, whose square over
// n_left n_right is the merit up to a factor of the node, in single precision and with margins for its rounding.
namespace paribus::PARIBUS_KERNEL {

namespace {

// Members whose thresholds are screened together.
constexpr std::size_t block_size = 8;
// The margins of the screen: what surely is no better than a merit that was reached.
constexpr float nearly = 0.999f;
constexpr float slack = 4096.0f;
// Relative to a node's multiplicity: a contrast that is nothing but rounding.
constexpr float negligible = 0x1p-20f;
// Merits that are closer are compared exactly.
constexpr double rounding = 1e-14;

// A contrast is below 2^46 and a product below 2^31, so that their products fit.
__extension__ typedef __int128 Wide;

// A node, as far as its splits are concerned.
struct NodeSums {
    std::int32_t n;    // multiplicity
    std::int32_t sum;  // of moments
};

// A split of a node; the best of a lane so far.
struct Split {
    double merit;  // rounded
    std::size_t feature;
    std::size_t at;         // the last member on the left, as a place in the feature's order
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

// Whether a split is better than another of the same node, exactly. Both know their rounded merit.
bool is_better(const NodeSums &node, const Split &split, const Split &other) {
    if (split.merit < other.merit * (1.0 - rounding) || split.merit == 0.0) return false;
    if (split.merit > other.merit * (1.0 + rounding)) return true;
    // Crosswise, in whole numbers.
    const Wide contrast = exact_contrast(node, split), other_contrast = exact_contrast(node, other);
    return contrast * contrast * exact_product(node, other) >
           other_contrast * other_contrast * exact_product(node, split);
}

// What the screen needs to know of the nodes. The running excess of left over right moments is the contrast up to a
// correction for the sum of moments, which centring on whole numbers leaves over.
struct Screen {
    Floats total, remainder;
    Floats slope;    // of the correction, over the multiplicity on the left
    Floats nothing;  // a squared contrast that is nothing but rounding

    Screen(const Ints &totals, const Ints &sums) : total(to_floats(totals)), remainder(to_floats(sums)) {
        slope = (remainder + remainder) / total;
        const Floats tiny = total * Floats::all(negligible);
        nothing = tiny * tiny;
    }
};

// A stretch of a feature's order, as the screen found it.
struct Block {
    Ints left, excess;        // before it; if it is a single value, after it
    Floats squares, product;  // no threshold in it has a higher merit than their ratio
    std::size_t end;          // of a single value
};

// The best merit that a lane was seen to reach, as a ratio: a product is cheaper than a division.
struct Reached {
    Floats squares = {}, product = Floats::all(1.0f);

    void raise(const Floats &new_squares, const Floats &new_product) {
        const Ints better = new_squares * product > squares * new_product;
        squares = select(better, new_squares, squares);
        product = select(better, new_product, product);
    }

    /// What surely is no better.
    Floats bar() const { return squares / product * Floats::all(nearly) - Floats::all(slack); }
};

}  // namespace

}  // namespace paribus::PARIBUS_KERNEL
