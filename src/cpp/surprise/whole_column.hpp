#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// Minus the logarithm of a smooth density at some values: the mean of Student's t with 3 degrees of freedom around
/// each atom. NaN for a value that is missing.
///
/// @param is_own by value: whether it is one of the atoms, which does not count then; there must be others
void column_surprises(const double *atoms, std::size_t n_atoms, double scale, const double *values,
                      const std::uint8_t *is_own, std::size_t n_values, double *surprises, std::size_t n_threads);

}  // namespace paribus
