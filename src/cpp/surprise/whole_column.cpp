#include "surprise/whole_column.hpp"

#include "common/parallel.hpp"
#include "kernels/kernel.hpp"
#include "surprise/student.hpp"

namespace paribus {

void column_surprises(const double *atoms, std::size_t n_atoms, double scale, const double *values,
                      const std::uint8_t *is_own, std::size_t n_values, double *surprises, std::size_t n_threads) {
    constexpr std::size_t values_per_block = 1024;
    const auto student_sum = kernel().student_sum_of_values;
    for_each_item((n_values + values_per_block - 1) / values_per_block, n_threads,
                  [&](const std::atomic<bool> &) {
                      return [&](std::size_t block) {
                          const std::size_t end = std::min((block + 1) * values_per_block, n_values);
                          for (std::size_t i = block * values_per_block; i < end; ++i) {
                              if (std::isnan(values[i])) {
                                  surprises[i] = values[i];
                                  continue;
                              }
                              // Around itself a value is at the peak.
                              const double own = is_own[i] != 0 ? 1.0 : 0.0;
                              const double others = std::max(student_sum(atoms, n_atoms, values[i], scale) - own, 0.0);
                              surprises[i] = surprise(others / (static_cast<double>(n_atoms) - own), scale);
                          }
                      };
                  },
                  [](std::size_t) {});
}

}  // namespace paribus
