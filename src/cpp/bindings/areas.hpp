// What each source of the bindings adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace bindings {

void add_qcad(nanobind::module_ &module);
void add_rows(nanobind::module_ &module);
void add_texts(nanobind::module_ &module);
void add_tables(nanobind::module_ &module);
void add_forests(nanobind::module_ &module);
void add_evidence(nanobind::module_ &module);
void add_stream(nanobind::module_ &module);

}  // namespace bindings
