#include "kernels/split_scan.hpp"

#include "kernels/lanes.hpp"

namespace paribus::PARIBUS_KERNEL {

namespace {

typedef double Doubles __attribute__((vector_size(vector_bytes)));
typedef std::int64_t Longs __attribute__((vector_size(vector_bytes)));
typedef std::uint64_t UnsignedLongs __attribute__((vector_size(vector_bytes)));
constexpr std::size_t n_doubles = vector_bytes / sizeof(double);

// A whole number that is added to this one, and then read as the digits of a number, is that number plus 1.5 * 2^52: it
// must be below 2^51 in absolute value.
constexpr std::int64_t whole_digits = 0x4338000000000000;
constexpr double whole_base = 6755399441055744.0;

struct Inverses {
    /// 1 / n, and 1 / (max_rows - n).
    double up[OrderScan::max_rows + 1], down[OrderScan::max_rows + 1];
};

constexpr Inverses make_inverses() {
    Inverses result = {};
    for (std::size_t n = 1; n <= OrderScan::max_rows; ++n) {
        result.up[n] = 1.0 / static_cast<double>(n);
        result.down[OrderScan::max_rows - n] = result.up[n];
    }
    return result;
}

constexpr Inverses inverses = make_inverses();

/// The highest number of each lane so far, the second highest, and when the highest was seen. What is no number does
/// not count.
struct Highest {
    Doubles first = Doubles{} - 1.0, second = Doubles{} - 1.0;
    Longs place = {};

    inline __attribute__((always_inline)) void see(const Doubles &value, std::int64_t at) {
        const Longs is_higher = value > first;
        const Doubles lower = first < value ? first : value;
        second = lower > second ? lower : second;
        first = is_higher ? value : first;
        place = is_higher ? Longs{} + at : place;
    }
};

/// Adds up the targets of a feature's order. Where a row cannot be told from the next one, there is no number.
void add_up(const OrderScan &scan, std::size_t feature, std::size_t begin, std::size_t end, std::int64_t *sums) {
    const std::uint8_t *const order = scan.orders[feature], *const rank = scan.ranks[feature];
    std::int64_t sum = whole_digits;
    for (std::size_t i = 0; i < begin; ++i) sum += scan.targets[order[i]];
    if (rank == nullptr) {
        for (std::size_t i = begin; i < end; ++i) {
            sum += scan.targets[order[i]];
            sums[i * n_doubles] = sum;
        }
        return;
    }
    constexpr std::int64_t no_number = 0x7ff8000000000000;
    for (std::size_t i = begin; i < end; ++i) {
        sum += scan.targets[order[i]];
        sums[i * n_doubles] = rank[order[i]] == rank[order[i + 1]] ? no_number : sum;
    }
}

constexpr std::uint64_t count_mask = (std::uint64_t{1} << BinScan::count_bits) - 1;

/// Of one bin, or of several in lanes.
template <typename T>
inline __attribute__((always_inline)) T sum_of_targets(const T &packed, const T &counts) {
    return (packed >> BinScan::count_bits) - (counts << (BinScan::target_bits - 1));
}

}  // namespace

void find_order_cuts(OrderScan &scan, Cut *cuts) {
    const std::size_t n = scan.n_rows, begin = scan.min_samples_leaf - 1, end = n - scan.min_samples_leaf;
    for (std::size_t first = 0; first < scan.n_orders; first += n_doubles) {
        // As many features side by side as fit into a vector; those of lanes beyond are of no interest.
        const std::size_t last = first + n_doubles < scan.n_orders ? first + n_doubles : scan.n_orders;
        std::int64_t *const sums = scan.sums + first * OrderScan::max_rows;
        for (std::size_t i = first; i < last; ++i) add_up(scan, i, begin, end, sums + (i - first));
        Highest highest;
        for (std::size_t i = begin; i < end; ++i) {
            Doubles sum;
            __builtin_memcpy(&sum, sums + i * n_doubles, sizeof sum);
            const double n_left = static_cast<double>(i + 1);
            const double weight = inverses.up[i + 1] + inverses.down[OrderScan::max_rows - n + i + 1];
            const Doubles excess = (sum - whole_base) - n_left * scan.mean;
            highest.see(excess * excess * weight, static_cast<std::int64_t>(i));
        }
        for (std::size_t i = first; i < last; ++i) {
            const auto place = static_cast<std::size_t>(highest.place[i - first]);
            cuts[i] = {highest.first[i - first], highest.second[i - first], place,
                       sums[place * n_doubles + (i - first)] - whole_digits, static_cast<std::int64_t>(place + 1)};
        }
    }
}

Cut find_bin_cut(const BinScan &scan) {
    alignas(64) std::uint64_t sums[BinScan::max_bins];
    alignas(64) double squares[BinScan::max_bins], products[BinScan::max_bins];
    const std::size_t n_bins = (scan.n_bins + n_doubles - 1) / n_doubles * n_doubles;
    std::uint64_t sum = 0;
    for (std::size_t bin = 0; bin < n_bins; ++bin) {
        sum += scan.cells[bin];
        sums[bin] = sum;
    }
    const double n_rows = static_cast<double>(scan.n_rows), smallest = static_cast<double>(scan.min_samples_leaf);
    Longs is_any = {};
    for (std::size_t bin = 0; bin < n_bins; bin += n_doubles) {
        UnsignedLongs reached, cells;
        __builtin_memcpy(&reached, sums + bin, sizeof reached);
        __builtin_memcpy(&cells, scan.cells + bin, sizeof cells);
        const UnsignedLongs counts = reached & count_mask, targets = sum_of_targets(reached, counts);
        const UnsignedLongs count_digits = counts + std::uint64_t{whole_digits};
        const UnsignedLongs target_digits = targets + std::uint64_t{whole_digits};
        Doubles n_left, left;
        __builtin_memcpy(&n_left, &count_digits, sizeof n_left);
        __builtin_memcpy(&left, &target_digits, sizeof left);
        n_left -= whole_base;
        left -= whole_base;
        const Doubles n_right = n_rows - n_left, excess = left - n_left * scan.mean;
        const Doubles square = excess * excess, product = n_left * n_right;
        // Compared as numbers, for which every processor has an operation.
        const UnsignedLongs own_digits = (cells & count_mask) + std::uint64_t{whole_digits};
        Doubles own;
        __builtin_memcpy(&own, &own_digits, sizeof own);
        const Longs counts_at_all = (n_left >= smallest) & (n_right >= smallest) & (own > whole_base);
        const Longs may_win = counts_at_all & (square >= scan.least_gain * product);
        is_any |= may_win;
        Longs kept;
        __builtin_memcpy(&kept, &square, sizeof kept);
        kept &= may_win;
        __builtin_memcpy(squares + bin, &kept, sizeof kept);
        __builtin_memcpy(products + bin, &product, sizeof product);
    }
    std::int64_t any = 0;
    for (std::size_t i = 0; i < n_doubles; ++i) any |= is_any[i];
    Cut best = {-1.0, -1.0, 0, 0, 0};
    if (any == 0) return best;
    Highest highest;
    for (std::size_t bin = 0; bin < n_bins; bin += n_doubles) {
        Doubles square, product;
        __builtin_memcpy(&square, squares + bin, sizeof square);
        __builtin_memcpy(&product, products + bin, sizeof product);
        // 0, or no number, where there is no split.
        highest.see(square / product, static_cast<std::int64_t>(bin));
    }
    for (std::size_t i = 0; i < n_doubles; ++i) {
        const double lower = highest.first[i] > best.gain ? best.gain : highest.first[i];
        best.next_gain = lower > best.next_gain ? lower : best.next_gain;
        best.next_gain = highest.second[i] > best.next_gain ? highest.second[i] : best.next_gain;
        if (highest.first[i] > best.gain) {
            best.gain = highest.first[i];
            best.place = static_cast<std::size_t>(highest.place[i]) + i;
        }
    }
    best.n_left = static_cast<std::int64_t>(sums[best.place] & count_mask);
    best.left = static_cast<std::int64_t>(sum_of_targets(sums[best.place], sums[best.place] & count_mask));
    return best;
}

}  // namespace paribus::PARIBUS_KERNEL
