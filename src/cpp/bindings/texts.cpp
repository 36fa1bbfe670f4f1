#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "bindings/areas.hpp"
#include "bindings/arrays.hpp"

namespace bindings {

namespace {

/// Appends a number in fixed notation, as Python writes it: the digits are Python's own.
void write_fixed(std::string &text, double number, int decimals, bool grouped) {
    char *const digits = PyOS_double_to_string(number, 'f', decimals, 0, nullptr);
    if (digits == nullptr) throw nb::python_error();
    const char *from = digits;
    if (*from == '-') text.push_back(*from++);
    const std::size_t n_whole = std::strcspn(from, ".");
    for (std::size_t i = 0; i < n_whole; ++i) {
        if (grouped && i > 0 && (n_whole - i) % 3 == 0) text.push_back(',');
        text.push_back(from[i]);
    }
    text.append(from + n_whole);
    PyMem_Free(digits);
}

using Texts = nb::typed<nb::list, std::optional<nb::str>>;

Texts number_texts(const Input<double, 1> &numbers, int decimals, bool grouped, double least, double limit) {
    require(decimals >= 0 && decimals <= 100, "decimals: from 0 to 100");
    require(limit <= 1e21, "limit: at most 1e21");
    const std::size_t n = numbers.shape(0);
    nb::object found = nb::steal(PyList_New(static_cast<Py_ssize_t>(n)));
    if (!found.is_valid()) throw nb::python_error();
    std::string text;
    for (std::size_t i = 0; i < n; ++i) {
        const double number = numbers.data()[i];
        nb::object item = nb::none();
        if (std::fabs(number) >= least && std::fabs(number) < limit) {
            text.clear();
            write_fixed(text, number, decimals, grouped);
            item = nb::str(text.data(), text.size());
        }
        PyList_SetItem(found.ptr(), static_cast<Py_ssize_t>(i), item.release().ptr());
    }
    return nb::borrow<Texts>(found);
}

}  // namespace

void add_texts(nb::module_ &m) {
    m.def("number_texts", &number_texts, "numbers"_a, "decimals"_a, "grouped"_a, "least"_a, "limit"_a,
          "Numbers in fixed notation, as Python's format() writes them, with commas between thousands if they are "
          "grouped; None for one whose size is below the least, or not below the limit.");
}

}  // namespace bindings
