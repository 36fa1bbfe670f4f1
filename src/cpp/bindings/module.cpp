#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/areas.hpp"
#include "kernels/kernel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const paribus::Kernel *kernel : paribus::available_kernels()) names.emplace_back(kernel->name);
    return names;
}

}  // namespace

NB_MODULE(_core, m) {
#if defined(NDEBUG) && !defined(PARIBUS_SANITIZE)
    // At the end of a program that holds a detector in a thread that still runs, as servers and test runners do,
    // nanobind would report leaks that are none: Python does not free such objects.
    nb::set_leak_warnings(false);
#endif
    // A wrong PARIBUS_KERNEL is an error here, not in the middle of the work.
    paribus::kernel();
    m.doc() = "The compiled part of paribus: the engine of QCAD, and forests over whole tables.";

    bindings::add_qcad(m);
    bindings::add_rows(m);
    bindings::add_texts(m);
    bindings::add_tables(m);
    bindings::add_forests(m);
    bindings::add_evidence(m);
    bindings::add_stream(m);

    m.def("kernel", [] { return std::string(paribus::kernel().name); }, "The build of the hot loops in use.");
    m.def("kernels", &kernel_names, "The builds that this machine can run, the fastest last.");
    m.def(
        "use_kernel", [](const char *name) { paribus::use_kernel(paribus::find_kernel(name)); }, "name"_a,
        "Chooses the build in use; all give the same bits.");
}
