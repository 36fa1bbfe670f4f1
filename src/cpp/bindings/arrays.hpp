// Arrays of Python as arguments and results, which all bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/context.hpp"
#include "common/parallel.hpp"

namespace bindings {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T, std::size_t Dimensions>
using Input = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T, std::size_t Dimensions>
using InPlace = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T, std::size_t Dimensions>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<Dimensions>>;

inline void require(bool condition, const char *message) {
    if (!condition) throw std::invalid_argument(message);
}

template <typename T, std::size_t Dimensions>
Output<T, Dimensions> new_array(const std::array<std::size_t, Dimensions> &shape) {
    std::size_t size = 1;
    for (const std::size_t length : shape) size *= length;
    auto *data = new T[std::max<std::size_t>(size, 1)];
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return Output<T, Dimensions>(data, Dimensions, shape.data(), owner);
}

/// An array that takes over the bytes.
inline Output<std::uint8_t, 1> as_array(std::vector<std::uint8_t> &&bytes) {
    auto *const held = new std::vector<std::uint8_t>(std::move(bytes));
    nb::capsule owner(held, [](void *p) noexcept { delete static_cast<std::vector<std::uint8_t> *>(p); });
    const std::size_t size = held->size();
    return Output<std::uint8_t, 1>(held->data(), 1, &size, owner);
}

// Lets Python handle signals, and reports progress.
inline paribus::Tick python_tick(const nb::object &progress) {
    return [&progress](std::size_t n_done) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(n_done);
    };
}

inline std::vector<paribus::FeatureKind> kinds(const Input<std::uint8_t, 1> &categorical) {
    std::vector<paribus::FeatureKind> kinds;
    for (std::size_t f = 0; f < categorical.shape(0); ++f) {
        kinds.push_back(categorical.data()[f] != 0 ? paribus::FeatureKind::categorical : paribus::FeatureKind::numeric);
    }
    return kinds;
}

/// Throws an error unless a category is missing, or a code below `end`.
inline void require_code(double code, double end) {
    require(std::isnan(code) || (code >= 0.0 && code < end), "a category that is no code");
}

}  // namespace bindings
