#pragma once

#include <vector>

#include "common/context.hpp"

namespace paribus {

struct AtomGroup;
struct BinScan;
struct Cut;
struct OrderScan;
struct PathForestTask;
struct WeightedSteps;

/// The hot loops, built for one instruction set. All builds give the same bits.
struct Kernel {
    const char *name;
    void (*gower_distances)(const ContextView &, const double *, std::size_t, std::size_t, double *, double *);
    std::size_t (*path_forest_lanes)();
    std::size_t (*path_forest_scratch_bytes)(std::size_t, std::size_t);
    void (*grow_paths)(const PathForestTask &, std::size_t);
    double (*mean_deviation)(const WeightedSteps &);
    double (*student_sum)(const WeightedSteps &, double, double);
    void (*student_sums)(const AtomGroup *, std::size_t, const float *, std::size_t, float *);
    void (*student_shares)(const float *, const float *, const float *, std::size_t, const float *, std::size_t,
                           float *);
    void (*find_order_cuts)(OrderScan &, Cut *);
    Cut (*find_bin_cut)(const BinScan &);
    void (*part_orders)(std::uint8_t *, std::size_t, std::size_t, std::size_t, const std::uint8_t *);
    double (*student_sum_of_values)(const double *, std::size_t, double, double);
};

/// The builds that this processor can run, from the slowest to the fastest.
std::vector<const Kernel *> available_kernels();

/// The build with this name.
/// @throws std::invalid_argument if there is none, or if this processor cannot run it
const Kernel &find_kernel(const char *name);

/// The build in use: the fastest one, or the one that the environment variable PARIBUS_KERNEL names at the first call.
const Kernel &kernel();

/// Chooses the build in use.
void use_kernel(const Kernel &chosen);

}  // namespace paribus
