// Lists of Python as arguments. Bindings take no std::vector and no std::string: nanobind would fill these in functions
// that must not throw, so that a failed allocation would end the process.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

namespace bindings {

namespace nb = nanobind;

template <typename T>
using List = nb::typed<nb::sequence, T>;

/// The items of a list; a TypeError if one is of another type.
template <typename T>
std::vector<T> items(const List<T> &list) {
    std::vector<T> found;
    for (const nb::handle each : list) {
        T item;
        if (!nb::try_cast(each, item)) throw nb::type_error("a list with an item of another type");
        found.push_back(std::move(item));
    }
    return found;
}

}  // namespace bindings
