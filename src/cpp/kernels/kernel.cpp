#include "kernels/kernel.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#define PARIBUS_DECLARE_KERNEL(build)                                                                             \
    namespace build {                                                                                             \
    void gower_distances(const ContextView &, const double *, std::size_t, std::size_t, double *, double *);      \
    std::size_t path_forest_lanes();                                                                              \
    std::size_t path_forest_scratch_bytes(std::size_t, std::size_t);                                              \
    void grow_paths(const PathForestTask &, std::size_t);                                                         \
    double mean_deviation(const WeightedSteps &);                                                                 \
    double student_sum(const WeightedSteps &, double, double);                                                    \
    void student_sums(const AtomGroup *, std::size_t, const float *, std::size_t, float *); \
    void student_shares(const float *, const float *, const float *, std::size_t, const float *, std::size_t,     \
                        float *);                                                                                 \
    void find_order_cuts(OrderScan &, Cut *);                                                                     \
    Cut find_bin_cut(const BinScan &);                                                                            \
    void part_orders(std::uint8_t *, std::size_t, std::size_t, std::size_t, const std::uint8_t *);                \
    double student_sum(const double *, std::size_t, double, double);                                              \
    constexpr Kernel kernel = {#build,                                                                            \
                               gower_distances,                                                                   \
                               path_forest_lanes,                                                                 \
                               path_forest_scratch_bytes,                                                         \
                               grow_paths,                                                                        \
                               mean_deviation,                                                                    \
                               student_sum,                                                                       \
                               student_sums,                                                                      \
                               student_shares,                                                                    \
                               find_order_cuts,                                                                   \
                               find_bin_cut,                                                                      \
                               part_orders,                                                                       \
                               student_sum};                                                                      \
    }

namespace paribus {

PARIBUS_DECLARE_KERNEL(baseline)
#ifdef PARIBUS_X86
PARIBUS_DECLARE_KERNEL(avx2)
PARIBUS_DECLARE_KERNEL(avx512)
#endif

std::vector<const Kernel *> available_kernels() {
    std::vector<const Kernel *> kernels = {&baseline::kernel};
#ifdef PARIBUS_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) kernels.push_back(&avx2::kernel);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
        kernels.push_back(&avx512::kernel);
    }
#endif
    return kernels;
}

const Kernel &find_kernel(const char *name) {
    std::string known;
    for (const Kernel *candidate : available_kernels()) {
        if (std::strcmp(candidate->name, name) == 0) return *candidate;
        known += known.empty() ? "" : ", ";
        known += candidate->name;
    }
    throw std::invalid_argument("there is no kernel '" + std::string(name) + "' for this machine, which has: " + known);
}

namespace {

std::atomic<const Kernel *> in_use = nullptr;

}  // namespace

const Kernel &kernel() {
    const Kernel *chosen = in_use.load(std::memory_order_relaxed);
    if (chosen == nullptr) {
        const char *name = std::getenv("PARIBUS_KERNEL");
        chosen = name != nullptr && *name != '\0' ? &find_kernel(name) : available_kernels().back();
        in_use.store(chosen, std::memory_order_relaxed);
    }
    return *chosen;
}

void use_kernel(const Kernel &chosen) { in_use.store(&chosen, std::memory_order_relaxed); }

}  // namespace paribus
