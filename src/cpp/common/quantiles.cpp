#include "common/quantiles.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/parallel.hpp"

namespace paribus {

namespace {

// Absorbs rounding errors of the sums.
constexpr double tolerance = 1e-9;
constexpr std::size_t rows_per_item = 64;

struct Weighted {
    double value, weight;
    std::size_t place;
};

}  // namespace

void weighted_quantiles(const double *values, const double *weights, std::size_t n_rows, std::size_t n_values,
                        const std::vector<double> &shares, double *found, std::size_t n_threads) {
    const auto one_row = [&](std::size_t row, std::vector<Weighted> &sorted) {
        for (std::size_t i = 0; i < n_values; ++i) {
            sorted[i] = {values[row * n_values + i], weights[row * n_values + i], i};
        }
        // Equal values in their order: the order of a sum matters to its last bit.
        std::sort(sorted.begin(), sorted.end(), [](const Weighted &a, const Weighted &b) {
            return a.value < b.value || (a.value == b.value && a.place < b.place);
        });
        double total = 0.0;
        for (Weighted &each : sorted) each.weight = total += each.weight;
        for (std::size_t k = 0; k < shares.size(); ++k) {
            const double wanted = shares[k] * total - tolerance;
            std::size_t place = 0;
            while (place + 1 < n_values && sorted[place].weight < wanted) ++place;
            found[row * shares.size() + k] = sorted[place].value;
        }
    };
    for_each_item((n_rows + rows_per_item - 1) / rows_per_item, n_threads,
                  [&](const std::atomic<bool> &) -> std::function<void(std::size_t)> {
                      return [&, sorted = std::make_shared<std::vector<Weighted>>(n_values)](std::size_t item) {
                          const std::size_t end = std::min((item + 1) * rows_per_item, n_rows);
                          for (std::size_t row = item * rows_per_item; row < end; ++row) one_row(row, *sorted);
                      };
                  },
                  [](std::size_t) {});
}

}  // namespace paribus
