#pragma once

// For what is built once per instruction set (gower.cpp, path_forest.cpp, smooth_density.cpp and the headers they
// share). Whatever they share with other sources through the linker may be taken from the build for the newest
// processor and crash on an older one. So they include no standard header with templates or inline functions that could
// be emitted, and keep their helpers in anonymous namespaces.

#ifndef PARIBUS_KERNEL
#error "the build names the instruction set: -DPARIBUS_KERNEL=baseline, avx2 or avx512"
#endif
