#pragma once

// For sources that are built once per instruction set (gower.cpp, path_forest.cpp, smooth_density.cpp,
// split_scan.cpp, subtree_orders.cpp and the headers they share). The linker may replace any function that they share
// with other sources by the build for the newest processor, which crashes on an older one. So they include no standard
// header with templates or inline functions that could be emitted, and keep their helpers in anonymous namespaces.

#ifndef PARIBUS_KERNEL
#error "the build names the instruction set: -DPARIBUS_KERNEL=baseline, avx2 or avx512"
#endif
