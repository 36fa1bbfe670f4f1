#include "kernels/path_forest.hpp"

#include "common/grid.hpp"
#include "kernels/lanes.hpp"
#include "kernels/split_merit.hpp"

// How it works. Each lane is a tree: a pack of trees is grown in step, level by level, and each lane has its own node.
// A member of the group is a row of multiplicities, with one lane per tree (0 if the node of the lane does not contain
// the member), and a row of moments (multiplicity x centered behavior). So one pass along the order of a feature tries
// every threshold of every tree in the pack, without a gather. Members that are in no lane's node any more are removed
// from the orders from time to time.
//
// Splits minimize the squared error as in CART, and they do so exactly: behavior is rounded to a grid of whole numbers,
// so that the sums on both sides of a split are exact, and so is the comparison of two splits. Splits that give the
// same partition of a node are tied, whichever feature they use; of tied ones, the first feature and the lowest
// threshold win. The grid has about 2^22 steps. If that is too coarse for a node, because an extreme value makes the
// range of the group wide, the node gets a finer grid.
//
// Most thresholds need not be evaluated. The scan sums a block of members, keeps the extremes of the running sum, and
// evaluates the thresholds of the block one by one only if these extremes could beat a merit that is known to be
// reached. This screen works in single precision, with margins for its rounding. The exact comparison is made for the
// few splits that pass it.

namespace paribus::PARIBUS_KERNEL {

namespace {

constexpr std::uint32_t position_mask = 0xffff;
constexpr std::uint32_t rank_shift = 16;
constexpr int highest_rank = 0xffff;
// A best merit below this, in squared steps of a grid with this many bits, requires a finer grid.
double coarse_merit(int grid_bits) { return __builtin_ldexp(1.0, 2 * grid_bits - 18); }

// The condition for members to stay in the lanes' nodes after a split on this feature: rank ^ flip > threshold.
struct Cut {
    std::size_t feature;
    Ints threshold, flip;
};

std::int32_t floor_divide(std::int32_t a, std::int32_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

class Pack {
public:
    Pack(const PathForestTask &task, std::size_t pack) : task_(task), k_(task.n_members), p_(task.n_features) {
        // In descending order of alignment, so that all arrays are aligned.
        char *memory = static_cast<char *>(task.scratch);
        const auto take = [&memory](auto *&pointer, std::size_t n) {
            pointer = static_cast<decltype(&*pointer)>(static_cast<void *>(memory));
            memory += n * sizeof *pointer;
        };
        take(moments_, k_);
        take(cuts_, n_lanes);
        take(wanted_, p_);
        take(blocks_, p_ * (k_ / block_size + 1));
        take(multiplicities_, k_);
        take(features_, p_);
        take(orders_, p_ * k_);
        take(members_, k_);
        take(alive_, k_);

        // Trees are distributed evenly: the fewer trees a pack has, the sooner members can be removed.
        const std::size_t share = task.n_trees / task.n_packs, rest = task.n_trees % task.n_packs;
        first_tree_ = pack * share + (pack < rest ? pack : rest);
        n_trees_ = share + (pack < rest ? 1 : 0);
        drawn_ = task.multiplicities + pack * k_ * n_lanes;

        for (std::size_t f = 0; f < p_; ++f) features_[f] = {f, task.features[f].order};
        n_features_ = p_;
        n_entries_ = k_;
    }

    void grow() {
        growing_ = (1u << n_trees_) - 1;
        plant();
        for (std::size_t depth = 0;; ++depth) {
            for (std::size_t lane = 0; lane < n_trees_; ++lane) {
                const bool leaf =
                    n_features_ == 0 || static_cast<std::uint32_t>(distinct_[lane]) < task_.min_samples_split;
                if (is_growing(lane) && leaf) close(lane);
            }
            if (growing_ == 0) return;
            split(depth);
            if (growing_ == 0) return;
            follow();
            thin_out();
        }
    }

private:
    // A feature that is not constant among the members.
    struct Open {
        std::size_t feature;
        const std::uint32_t *order;
    };

    bool is_growing(std::size_t lane) const { return growing_ >> lane & 1; }

    // Initializes the multiplicities and moments of the roots.
    void plant() {
        Ints sum = {};
        total_ = distinct_ = Ints{};
        n_members_ = 0;
        for (std::size_t i = 0; i < k_; ++i) {
            const Bytes drawn = Bytes::load(drawn_ + i * n_lanes);
            moments_[i] = Ints{};
            multiplicities_[i] = Bytes{};
            alive_[i] = any(drawn) && task_.behavior[i] == task_.behavior[i];
            if (!alive_[i]) continue;
            members_[n_members_++] = static_cast<std::uint16_t>(i);
            multiplicities_[i] = drawn;
            const Ints multiplicity = to_ints(drawn);
            sum += multiplicity * Ints::all(task_.grid_behavior[i]);
            total_ += multiplicity;
            distinct_ -= multiplicity > Ints{};
        }
        recenter(sum);
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            const Ints centered = Ints::all(task_.grid_behavior[i]) - shift_;
            moments_[i] = to_ints(multiplicities_[i]) * (centered + centered);
        }
        for (std::size_t lane = 0; lane < n_lanes; ++lane) scale_[lane] = task_.grid_scale;
    }

    // Computes, from the sums of moments (not doubled), how far the center of each lane moves, and the remaining sum.
    void recenter(const Ints &sum) {
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
            const std::int32_t shift = total_[lane] > 0 ? floor_divide(sum[lane], total_[lane]) : 0;
            shift_.set(lane, shift);
            remainder_.set(lane, sum[lane] - shift * total_[lane]);
        }
    }

    void close(std::size_t lane) {
        growing_ &= ~(1u << lane);
        if (total_[lane] == 0) return;
        const std::uint64_t unit = weight_unit / static_cast<std::uint64_t>(total_[lane]);
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            task_.weights[i] += multiplicities_[i][lane] * unit;
        }
    }

    // Chooses the split of each lane, and closes the lanes that have none.
    void split(std::size_t depth) {
        bar_ = Floats{};
        for (Split &best : splits_) best = no_split;
        find_splits(depth, growing_);
        std::uint32_t refined = 0;
        const double coarse = coarse_merit(task_.grid_bits);
        for (std::size_t lane = 0; lane < n_trees_; ++lane) {
            if (is_growing(lane) && in_steps(splits_[lane].merit, lane) < coarse && refine(lane)) {
                refined |= 1u << lane;
                splits_[lane] = no_split;
                bar_.set(lane, 0.0f);
            }
        }
        if (refined != 0) find_splits(depth, refined);
        for (std::size_t lane = 0; lane < n_trees_; ++lane) {
            if (is_growing(lane) && splits_[lane].merit == 0.0) close(lane);
        }
    }

    // A merit on the scale of the screen: the squared contrast in grid steps, divided by the product.
    double in_steps(double merit, std::size_t lane) const {
        const double n = total_[lane];
        return merit * 4.0 / (n * n);
    }

    // Moves the moments of a lane to the finest grid. Returns false if they are on it already.
    bool refine(std::size_t lane) {
        double low = __builtin_inf(), high = -__builtin_inf();
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            if (multiplicities_[i][lane] == 0) continue;
            const double behavior = task_.behavior[i];
            low = behavior < low ? behavior : low;
            high = behavior > high ? behavior : high;
        }
        const double scale = grid_scale(high - low, task_.grid_bits);
        if (!(scale > scale_[lane])) return false;
        scale_[lane] = scale;
        std::int32_t sum = 0;
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            if (multiplicities_[i][lane] == 0) continue;
            sum += multiplicities_[i][lane] * grid_step(task_.behavior[i], low, scale, task_.grid_bits);
        }
        const std::int32_t center = floor_divide(sum, total_[lane]);
        remainder_.set(lane, sum - center * total_[lane]);
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            if (multiplicities_[i][lane] == 0) continue;
            const std::int32_t step = grid_step(task_.behavior[i], low, scale, task_.grid_bits);
            moments_[i].set(lane, 2 * multiplicities_[i][lane] * (step - center));
        }
        return true;
    }

    void find_splits(std::size_t depth, std::uint32_t lanes_asking) {
        Ints asking = {};
        for (std::size_t lane = 0; lane < n_trees_; ++lane) asking.set(lane, lanes_asking >> lane & 1 ? -1 : 0);
        if (task_.feature_order == nullptr) {
            for (std::size_t f = 0; f < p_; ++f) wanted_[f] = asking;
            try_features();
            return;
        }
        // Each lane tries the first `max_features` features of its order, and then one more at a time until one splits.
        std::size_t tried = 0, next = task_.max_features;
        while (tried < p_ && want_features(tried, next, depth, asking)) {
            try_features();
            tried = next++;
        }
    }

    // Tries all thresholds of the wanted features: screens all of them, then examines those that pass.
    void try_features() {
        const Screen screen(total_, remainder_);
        for (std::size_t open = 0; open < n_features_; ++open) {
            has_few_values(open) ? survey_values(open, screen) : survey(open, screen);
        }
        for (std::size_t open = 0; open < n_features_; ++open) {
            has_few_values(open) ? examine_values(open) : examine(open, screen);
        }
    }

    // Marks the features from `begin` to `end` in the order of each asking lane that has no split yet. Returns false if
    // there is none.
    bool want_features(std::size_t begin, std::size_t end, std::size_t depth, const Ints &asking) {
        for (std::size_t f = 0; f < p_; ++f) wanted_[f] = Ints{};
        bool some = false;
        for (std::size_t lane = 0; lane < n_trees_; ++lane) {
            if (asking[lane] == 0 || splits_[lane].merit > 0.0) continue;
            const std::size_t row = (first_tree_ + lane) * task_.n_depths + depth % task_.n_depths;
            for (std::size_t f = begin; f < end && f < p_; ++f) {
                wanted_[task_.feature_order[row * p_ + f]].set(lane, -1);
                some = true;
            }
        }
        return some;
    }

    // Whether a feature has so few distinct values left that it is faster to process values than blocks.
    bool has_few_values(std::size_t open) const {
        const std::uint32_t *order = features_[open].order;
        return ((order[n_entries_ - 1] >> rank_shift) - (order[0] >> rank_shift) + 1) * block_size <= n_entries_;
    }

    // Computes the merit of the threshold after each value, along the order of a feature. Here, each value is a block.
    void survey_values(std::size_t open, const Screen &screen) {
        const std::uint32_t *order = features_[open].order;
        const std::size_t last = n_entries_ - 1;
        Reached reached;
        Ints left = {};
        Ints excess = Ints{} - remainder_;
        Block *block = blocks_of(open);
        Bytes count = {};
        std::size_t n_counted = 0;
        for (std::size_t i = 0; i < last; ++i) {
            const std::size_t member = order[i] & position_mask;
            count += multiplicities_[member];
            excess += moments_[member];
            const bool tied = (order[i] ^ order[i + 1]) >> rank_shift == 0;
            if (tied && ++n_counted < block_size) continue;
            left += to_ints(count);
            count = Bytes{};
            n_counted = 0;
            if (tied) continue;
            const Floats left_side = to_floats(left);
            const Floats contrast = to_floats(excess) + (screen.remainder - left_side * screen.slope);
            block->left = left;
            block->excess = excess;
            block->squares = contrast * contrast - screen.nothing;
            block->product = left_side * (screen.total - left_side);
            block->end = i;
            reached.raise(block->squares, block->product);
            ++block;
        }
        block->end = last;
        raise_bar(open, reached);
    }

    void raise_bar(std::size_t open, const Reached &reached) {
        const Floats bar = reached.bar();
        bar_ = select((bar > bar_) & wanted_[features_[open].feature], bar, bar_);
    }

    // The bar is infinite in lanes that do not want the feature, so that nothing passes there.
    Floats bar_for(std::size_t open) const {
        return select(wanted_[features_[open].feature], bar_, Floats::all(__builtin_inff()));
    }

    void examine_values(std::size_t open) {
        const Floats bar = bar_for(open);
        const std::size_t last = n_entries_ - 1;
        for (const Block *block = blocks_of(open); block->end != last; ++block) {
            compare_lanes(block->squares > bar * block->product, open, block->end, block->left, block->excess);
        }
    }

    // Computes a bound of the merits in each block, and the merit at its end, along the order of a feature.
    void survey(std::size_t open, const Screen &screen) {
        const std::uint32_t *order = features_[open].order;
        const std::size_t last = n_entries_ - 1;
        Reached reached;
        Ints left = {};
        Ints excess = Ints{} - remainder_;
        Floats left_before = {}, product_before = {};
        Block *block = blocks_of(open);
        for (std::size_t begin = 0; begin < last; begin += block_size, ++block) {
            block->left = left;
            block->excess = excess;
            Ints highest = excess, lowest = excess;
            Bytes count = {};
            if (begin + block_size <= last) {
#pragma GCC unroll 8
                for (std::size_t i = 0; i < block_size; ++i) pass(order[begin + i], count, excess, highest, lowest);
            } else {
                for (std::size_t i = begin; i < last; ++i) pass(order[i], count, excess, highest, lowest);
            }
            left += to_ints(count);
            const std::size_t end = begin + block_size < last ? begin + block_size : last;
            const Floats left_after = to_floats(left);
            const Floats product_after = left_after * (screen.total - left_after);
            if ((order[begin] ^ order[end]) >> rank_shift == 0) {
                block->squares = Floats::all(-1.0f);
                block->product = Floats{};
            } else {
                // Within the block, the correction falls by `drift`, and the product is at least as large as at one of
                // the ends, and as large as with a single row on one side.
                const Floats correction = screen.remainder - left_before * screen.slope;
                const Floats drift = (left_after - left_before) * screen.slope;
                const Floats extreme =
                    larger(to_floats(highest) + correction, drift - (to_floats(lowest) + correction));
                block->squares = extreme * extreme - screen.nothing;
                block->product = larger(smaller(product_after, product_before), screen.total - Floats::all(1.0f));
                if ((order[end - 1] ^ order[end]) >> rank_shift != 0) {
                    const Floats contrast = to_floats(excess) + (correction - drift);
                    reached.raise(contrast * contrast - screen.nothing, product_after);
                }
            }
            left_before = left_after;
            product_before = product_after;
        }
        raise_bar(open, reached);
    }

    // Examines the blocks that could beat the bar.
    void examine(std::size_t open, const Screen &screen) {
        const std::size_t last = n_entries_ - 1;
        Floats bar = bar_for(open);
        const Block *block = blocks_of(open);
        for (std::size_t begin = 0; begin < last; begin += block_size, ++block) {
            if (any(block->squares > bar * block->product)) {
                examine_block(open, begin, begin + block_size < last ? begin + block_size : last, *block, screen, bar);
                bar = bar_for(open);
            }
        }
    }

    Block *blocks_of(std::size_t open) const { return blocks_ + open * (k_ / block_size + 1); }

    void pass(std::uint32_t entry, Bytes &count, Ints &excess, Ints &highest, Ints &lowest) const {
        count += multiplicities_[entry & position_mask];
        excess += moments_[entry & position_mask];
        highest = larger(highest, excess);
        lowest = smaller(lowest, excess);
    }

    // Tries the thresholds of a block one by one.
    void examine_block(std::size_t open, std::size_t begin, std::size_t end, const Block &block, const Screen &screen,
                       const Floats &bar) {
        const std::uint32_t *order = features_[open].order;
        Ints left = block.left, excess = block.excess;
        for (std::size_t i = begin; i < end; ++i) {
            left += to_ints(multiplicities_[order[i] & position_mask]);
            excess += moments_[order[i] & position_mask];
            if ((order[i] ^ order[i + 1]) >> rank_shift == 0) continue;
            const Floats left_side = to_floats(left);
            const Floats contrast = to_floats(excess) + (screen.remainder - left_side * screen.slope);
            const Ints hopeful = contrast * contrast - screen.nothing > bar * (left_side * (screen.total - left_side));
            compare_lanes(hopeful, open, i, left, excess);
        }
    }

    void compare_lanes(const Ints &hopeful, std::size_t open, std::size_t at, const Ints &left, const Ints &excess) {
        for (std::uint32_t bits = lane_bits(hopeful); bits != 0; bits &= bits - 1) {
            const auto lane = static_cast<std::size_t>(__builtin_ctz(bits));
            compare(lane, features_[open].feature, at, left[lane], (excess[lane] + remainder_[lane]) / 2);
        }
    }

    // Keeps a split if it is better than the best one of its lane so far. Of tied ones, the first is kept.
    void compare(std::size_t lane, std::size_t feature, std::size_t at, std::int32_t left, std::int32_t left_sum) {
        const NodeSums node = {total_[lane], remainder_[lane]};
        Split split = {0.0, feature, at, left, left_sum};
        split.merit = rounded_merit(node, split);
        if (!is_better(node, split, splits_[lane])) return;
        splits_[lane] = split;
        const float bar = static_cast<float>(in_steps(split.merit, lane)) * nearly - slack;
        if (bar > bar_[lane]) bar_.set(lane, bar);
    }

    // Moves each lane to the side of its split that contains the point.
    void follow() {
        n_cuts_ = 0;
        Ints sum = {}, closed = {};
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
            if (!is_growing(lane)) {
                closed.set(lane, -1);
                total_.set(lane, 0);
                continue;
            }
            const Split &best = splits_[lane];
            const GroupFeature &feature = task_.features[best.feature];
            const std::uint32_t *order = order_of(best.feature);
            std::size_t next = best.at + 1;
            while (multiplicities_[order[next] & position_mask][lane] == 0) ++next;
            const std::uint32_t left_rank = order[best.at] >> rank_shift;
            const double below = feature.values[left_rank], above = feature.values[order[next] >> rank_shift];
            double threshold = below * 0.5 + above * 0.5;
            if (!(threshold < above)) threshold = below;

            Cut &cut = cut_of(best.feature);
            if (feature.own <= threshold) {
                cut.flip.set(lane, -1);
                cut.threshold.set(lane, ~static_cast<std::int32_t>(left_rank) - 1);
                total_.set(lane, best.left);
                sum.set(lane, best.left_sum);
            } else {
                cut.threshold.set(lane, static_cast<std::int32_t>(left_rank));
                total_.set(lane, total_[lane] - best.left);
                sum.set(lane, remainder_[lane] - best.left_sum);
            }
        }
        // Closed lanes keep no members.
        cuts_[0].threshold = select(closed, Ints::all(highest_rank), cuts_[0].threshold);
        recenter(sum);
        const Ints shift = shift_ + shift_;

        std::size_t n = 0;
        distinct_ = Ints{};
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            Ints keep = Ints::all(-1);
            for (std::size_t c = 0; c < n_cuts_; ++c) {
                const Ints rank = Ints::all(task_.ranks[cuts_[c].feature * k_ + i]);
                keep &= (rank ^ cuts_[c].flip) > cuts_[c].threshold;
            }
            const Ints multiplicity = to_ints(multiplicities_[i]) & keep;
            multiplicities_[i] = to_bytes(multiplicity);
            moments_[i] = (moments_[i] & keep) - multiplicity * shift;
            distinct_ -= multiplicity > Ints{};
            alive_[i] = any(multiplicity);
            members_[n] = static_cast<std::uint16_t>(i);
            n += alive_[i];
        }
        n_members_ = n;
    }

    const std::uint32_t *order_of(std::size_t feature) const {
        std::size_t open = 0;
        while (features_[open].feature != feature) ++open;
        return features_[open].order;
    }

    Cut &cut_of(std::size_t feature) {
        for (std::size_t c = 0; c < n_cuts_; ++c) {
            if (cuts_[c].feature == feature) return cuts_[c];
        }
        Cut &cut = cuts_[n_cuts_++];
        cut.feature = feature;
        cut.threshold = Ints::all(-1);
        cut.flip = Ints{};
        return cut;
    }

    // Removes dropped members from the orders if there are many, and features that have become constant.
    void thin_out() {
        if (n_members_ * 4 > n_entries_ * 3) return;
        const std::uint8_t *alive = alive_;
        const std::size_t before = n_entries_;
        std::size_t n_open = 0;
        for (std::size_t open = 0; open < n_features_; ++open) {
            Open feature = features_[open];
            const std::uint32_t *from = feature.order;
            std::uint32_t *kept = orders_ + feature.feature * k_;
            std::size_t n = 0;
            for (std::size_t i = 0; i < before; ++i) {
                const std::uint32_t entry = from[i];
                kept[n] = entry;
                n += alive[entry & position_mask];
            }
            feature.order = kept;
            features_[n_open] = feature;
            n_open += n > 0 && (kept[0] ^ kept[n - 1]) >> rank_shift != 0;
        }
        n_entries_ = n_members_;
        n_features_ = n_open;
    }

    const PathForestTask &task_;
    const std::size_t k_, p_;
    std::size_t first_tree_, n_trees_;
    const std::uint8_t *drawn_;
    std::uint32_t growing_ = 0;

    // The node of each lane.
    Ints total_;             // sum of multiplicities
    Ints distinct_;          // number of members
    Ints remainder_;         // sum of moments, not doubled: less than the sum of multiplicities
    Ints shift_;             // from the last center to this one
    double scale_[n_lanes];  // grid steps per unit of behavior
    Split splits_[n_lanes];
    Floats bar_;  // slightly less than the merit that each lane is known to reach

    Ints *moments_;  // doubled
    Bytes *multiplicities_;
    std::uint16_t *members_;
    std::size_t n_members_;
    std::uint8_t *alive_;

    Open *features_;
    std::size_t n_features_;
    std::uint32_t *orders_;
    std::size_t n_entries_;  // members in the orders, including dropped ones

    Cut *cuts_;
    std::size_t n_cuts_ = 0;
    Ints *wanted_;
    Block *blocks_;
};

}  // namespace

std::size_t path_forest_lanes() { return n_lanes; }

std::size_t path_forest_scratch_bytes(std::size_t n_members, std::size_t n_features) {
    return n_members * (sizeof(Ints) + sizeof(Bytes) + n_features * sizeof(std::uint32_t) + sizeof(std::uint16_t) + 1) +
           n_features * (sizeof(Ints) + 2 * sizeof(void *)) + n_lanes * sizeof(Cut) +
           n_features * (n_members / block_size + 1) * sizeof(Block);
}

void grow_paths(const PathForestTask &task, std::size_t pack) { Pack(task, pack).grow(); }

}  // namespace paribus::PARIBUS_KERNEL
