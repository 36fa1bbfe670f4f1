#include "path_forest.hpp"

#include "lanes.hpp"

// How it works. Trees are lanes: a pack of them is grown in step, level by level, each lane with its own node. A member
// of the group is one row: its multiplicity in each lane (0 where the lane's node does not hold it) and its moment
// (multiplicity x centred behaviour). So one pass along a feature's order tries every threshold of every tree in the
// pack, without a gather. Members that no lane holds any more are dropped from the orders as they thin out.
//
// The merit of a split is -(mean moment on the left) x (mean moment on the right). For moments that are centred in the
// node this orders splits as the squared error does. Moments are whole numbers: behaviour is brought to a grid, so that
// sums are exact. Splits that part a node in the same way thus have the same merit to the last bit, whichever feature
// they use; of equal merits the first feature and the lowest threshold win. Where the grid turns out too coarse for a
// node (an extreme value made the group's range wide), the node gets a finer one.
//
// Most thresholds are not worth a look: the scan adds up a block of members, keeps the extremes of the running sum, and
// only evaluates the block threshold by threshold if these extremes could beat the best merit so far.

namespace paribus::PARIBUS_KERNEL {

namespace {

constexpr std::uint32_t position_mask = 0xffff;
constexpr std::uint32_t rank_shift = 16;
constexpr int highest_rank = 0xffff;
constexpr std::size_t block_size = 8;
// Less than this share of the best merit is less than the best, in whatever way both were rounded.
constexpr float nearly = 0.999999f;
// Below this merit, in steps of the grid, a finer grid is tried.
constexpr float coarse_merit = 0x1p26f;
// Adding and subtracting it rounds a double below 2^51 to a whole number, on every processor alike.
constexpr double rounder = 0x1.8p52;

// One member in every lane.
struct Row {
    Ints multiplicity;
    Ints moment;  // doubled
};

// The members that lanes keep after a split of this feature: rank ^ flip > threshold.
struct Cut {
    std::size_t feature;
    Ints threshold, flip;
};

// The best split of each lane.
struct Splits {
    Floats merit;
    Ints feature;
    Ints at;      // the last member on the left, as a place in the feature's order
    Ints left;    // multiplicity on the left
    Ints excess;  // left sum of moments - right sum
};

// A stretch of a feature's order, as the scan found it.
struct Block {
    Ints left, excess;  // before it
    Floats bound;       // no threshold in it has a higher merit
};

class Pack {
public:
    Pack(const PathForestTask &task, std::size_t pack) : task_(task), k_(task.n_members), p_(task.n_features) {
        // The widest types first, so that everything is aligned.
        char *memory = static_cast<char *>(task.scratch);
        const auto take = [&memory](auto *&pointer, std::size_t n) {
            pointer = static_cast<decltype(&*pointer)>(static_cast<void *>(memory));
            memory += n * sizeof *pointer;
        };
        take(rows_, k_);
        take(cuts_, n_lanes);
        take(wanted_, p_);
        take(blocks_, k_ / block_size + 1);
        take(features_, p_);
        take(orders_, p_ * k_);
        take(members_, k_);
        take(alive_, k_);

        // Trees are dealt out evenly: the fewer share a pack, the sooner its members thin out.
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
                const bool leaf = n_features_ == 0 || static_cast<std::uint32_t>(distinct_[lane]) < task_.min_samples_split;
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
    // A feature that still differs among the members.
    struct Open {
        std::size_t feature;
        const std::uint32_t *order;
    };

    bool is_growing(std::size_t lane) const { return growing_ >> lane & 1; }

    // Makes the rows of the roots.
    void plant() {
        const double scale = task_.grid_scale;
        Ints sum = {};
        total_ = distinct_ = Ints{};
        n_members_ = 0;
        for (std::size_t i = 0; i < k_; ++i) {
            const Ints multiplicity = Ints::load(drawn_ + i * n_lanes);
            rows_[i].multiplicity = rows_[i].moment = Ints{};
            alive_[i] = any(multiplicity) && task_.behavior[i] == task_.behavior[i];
            if (!alive_[i]) continue;
            members_[n_members_++] = static_cast<std::uint16_t>(i);
            rows_[i].multiplicity = multiplicity;
            sum += multiplicity * Ints::all(task_.grid_behavior[i]);
            total_ += multiplicity;
            distinct_ -= multiplicity > Ints{};
        }
        recenter(sum);
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            const Ints centered = Ints::all(task_.grid_behavior[i]) - shift_;
            rows_[i].moment = rows_[i].multiplicity * (centered + centered);
        }
        for (std::size_t lane = 0; lane < n_lanes; ++lane) scale_[lane] = scale;
    }

    // From the sums of moments (not doubled): how far each lane's centre has to move, and what then remains.
    void recenter(const Ints &sum) {
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
            const std::int32_t n = total_[lane], s = sum[lane];
            std::int32_t shift = n > 0 ? s / n : 0;
            if (shift * n > s) --shift;
            shift_.set(lane, shift);
            remainder_.set(lane, s - shift * n);
        }
    }

    void close(std::size_t lane) {
        growing_ &= ~(1u << lane);
        if (total_[lane] == 0) return;
        const std::uint64_t unit = weight_unit / static_cast<std::uint64_t>(total_[lane]);
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            task_.weights[i] += static_cast<std::uint64_t>(rows_[i].multiplicity[lane]) * unit;
        }
    }

    // Chooses each lane's split, and so where it goes next; closes the lanes that have none.
    void split(std::size_t depth) {
        splits_.merit = bar_ = Floats{};
        splits_.feature = Ints::all(highest_rank);
        splits_.at = Ints::all(-1);
        find_splits(depth, growing_);
        std::uint32_t refined = 0;
        for (std::size_t lane = 0; lane < n_trees_; ++lane) {
            if (is_growing(lane) && splits_.merit[lane] < coarse_merit && refine(lane)) {
                refined |= 1u << lane;
                splits_.merit.set(lane, 0.0f);
                splits_.feature.set(lane, highest_rank);
                splits_.at.set(lane, -1);
                bar_.set(lane, 0.0f);
            }
        }
        if (refined != 0) find_splits(depth, refined);
        for (std::size_t lane = 0; lane < n_trees_; ++lane) {
            if (is_growing(lane) && splits_.at[lane] < 0) close(lane);
        }
    }

    // Puts a lane's moments on the finest grid; false if they are on it already.
    bool refine(std::size_t lane) {
        double low = __builtin_inf(), high = -__builtin_inf(), sum = 0.0;
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            if (rows_[i].multiplicity[lane] == 0) continue;
            const double behavior = task_.behavior[i];
            low = behavior < low ? behavior : low;
            high = behavior > high ? behavior : high;
            sum += rows_[i].multiplicity[lane] * behavior;
        }
        const double scale = static_cast<double>(std::uint32_t{1} << task_.grid_bits) / (high - low);
        if (!(scale < 1e300 && scale >= 4.0 * scale_[lane])) return false;
        scale_[lane] = scale;
        const double mean = sum / total_[lane];
        std::int32_t remainder = 0;
        for (std::size_t place = 0; place < n_members_; ++place) {
            const std::size_t i = members_[place];
            const std::int32_t multiplicity = rows_[i].multiplicity[lane];
            if (multiplicity == 0) continue;
            const double rounded = ((task_.behavior[i] - mean) * scale + rounder) - rounder;
            const std::int32_t moment = multiplicity * static_cast<std::int32_t>(rounded);
            rows_[i].moment.set(lane, 2 * moment);
            remainder += moment;
        }
        remainder_.set(lane, remainder);
        return true;
    }

    void find_splits(std::size_t depth, std::uint32_t lanes_asking) {
        Ints asking = {};
        for (std::size_t lane = 0; lane < n_trees_; ++lane) asking.set(lane, lanes_asking >> lane & 1 ? -1 : 0);
        if (task_.feature_order == nullptr) {
            for (std::size_t open = 0; open < n_features_; ++open) scan(open, asking);
            return;
        }
        // Each lane tries the first `max_features` of its own order, and then one more at a time until one can split.
        std::size_t tried = 0, next = task_.max_features;
        while (tried < p_ && want_features(tried, next, depth, asking)) {
            for (std::size_t open = 0; open < n_features_; ++open) {
                if (any(wanted_[features_[open].feature])) scan(open, wanted_[features_[open].feature]);
            }
            tried = next++;
        }
    }

    // Marks the features from `begin` to `end` of each lane that asks and has no split yet; false if there is none.
    bool want_features(std::size_t begin, std::size_t end, std::size_t depth, const Ints &asking) {
        for (std::size_t f = 0; f < p_; ++f) wanted_[f] = Ints{};
        bool some = false;
        for (std::size_t lane = 0; lane < n_trees_; ++lane) {
            if (asking[lane] == 0 || splits_.at[lane] >= 0) continue;
            const std::size_t row = (first_tree_ + lane) * task_.n_depths + depth % task_.n_depths;
            for (std::size_t f = begin; f < end && f < p_; ++f) {
                wanted_[task_.feature_order[row * p_ + f]].set(lane, -1);
                some = true;
            }
        }
        return some;
    }

    // Tries all thresholds of one feature in all lanes that ask for it.
    void scan(std::size_t open, const Ints &asking) {
        const std::uint32_t *order = features_[open].order;
        const std::size_t last = n_entries_ - 1;
        const Floats total = to_floats(total_);
        const Floats remainder = to_floats(remainder_);
        const Floats floor = remainder * remainder;
        // Lanes that do not ask have a bar that nothing passes.
        Floats bar = select(asking, bar_, Floats::all(__builtin_inff()));

        Ints left = {};
        Ints excess = Ints{} - remainder_;
        Floats product = {};
        Block *block = blocks_;
        for (std::size_t begin = 0; begin < last; begin += block_size, ++block) {
            block->left = left;
            block->excess = excess;
            Ints highest = excess, lowest = excess;
            if (begin + block_size <= last) {
#pragma GCC unroll 8
                for (std::size_t i = 0; i < block_size; ++i) pass(order[begin + i], left, excess, highest, lowest);
            } else {
                for (std::size_t i = begin; i < last; ++i) pass(order[i], left, excess, highest, lowest);
            }
            const std::size_t end = begin + block_size < last ? begin + block_size : last;
            const Floats product_before = product;
            const Floats left_side = to_floats(left);
            product = left_side * (total - left_side);
            if ((order[begin] ^ order[end]) >> rank_shift == 0) {
                block->bound = Floats{};
                continue;
            }
            // Between its ends, the product is nowhere smaller than at the smaller one.
            const Floats extreme = to_floats(larger(highest, Ints{} - lowest));
            block->bound = (extreme * extreme - floor) / smaller(product, product_before);
            if ((order[end - 1] ^ order[end]) >> rank_shift != 0) {
                const Floats contrast = to_floats(excess);
                const Floats reached = (contrast * contrast - floor) / product * Floats::all(nearly);
                bar = select(reached > bar, reached, bar);
            }
        }
        block = blocks_;
        for (std::size_t begin = 0; begin < last; begin += block_size, ++block) {
            if (any(block->bound > bar)) {
                scan_block(open, begin, begin + block_size < last ? begin + block_size : last, *block, total, floor, bar);
            }
        }
        bar_ = select(asking, bar, bar_);
    }

    void pass(std::uint32_t entry, Ints &left, Ints &excess, Ints &highest, Ints &lowest) const {
        const Row &row = rows_[entry & position_mask];
        left += row.multiplicity;
        excess += row.moment;
        highest = larger(highest, excess);
        lowest = smaller(lowest, excess);
    }

    // Tries the thresholds of a block one by one.
    void scan_block(std::size_t open, std::size_t begin, std::size_t end, const Block &block, const Floats &total,
                    const Floats &floor, Floats &bar) {
        const std::uint32_t *order = features_[open].order;
        const Ints feature = Ints::all(static_cast<int>(features_[open].feature));
        Ints left = block.left, excess = block.excess;
        for (std::size_t i = begin; i < end; ++i) {
            const Row &row = rows_[order[i] & position_mask];
            left += row.multiplicity;
            excess += row.moment;
            if ((order[i] ^ order[i + 1]) >> rank_shift == 0) continue;
            const Floats contrast = to_floats(excess);
            const Floats left_side = to_floats(left);
            const Floats squares = contrast * contrast - floor;
            const Floats product = left_side * (total - left_side);
            const Ints hopeful = squares > bar * product;
            if (!any(hopeful)) continue;
            const Floats merit = squares / product;
            const Ints better =
                hopeful & ((merit > splits_.merit) | ((merit == splits_.merit) & (feature < splits_.feature)));
            splits_.merit = select(better, merit, splits_.merit);
            splits_.feature = select(better, feature, splits_.feature);
            splits_.at = select(better, Ints::all(static_cast<int>(i)), splits_.at);
            splits_.left = select(better, left, splits_.left);
            splits_.excess = select(better, excess, splits_.excess);
            const Floats reached = merit * Floats::all(nearly);
            bar = select(better & (reached > bar), reached, bar);
        }
    }

    // Takes each lane to the side of its split where the point is.
    void follow() {
        n_cuts_ = 0;
        Ints sum = {}, closed = {};
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
            if (!is_growing(lane)) {
                closed.set(lane, -1);
                total_.set(lane, 0);
                continue;
            }
            const auto f = static_cast<std::size_t>(splits_.feature[lane]);
            const GroupFeature &feature = task_.features[f];
            const std::uint32_t *order = order_of(f);
            const auto at = static_cast<std::size_t>(splits_.at[lane]);
            std::size_t next = at + 1;
            while (rows_[order[next] & position_mask].multiplicity[lane] == 0) ++next;
            const std::uint32_t left_rank = order[at] >> rank_shift;
            const double below = feature.values[left_rank], above = feature.values[order[next] >> rank_shift];
            double threshold = below * 0.5 + above * 0.5;
            if (!(threshold < above)) threshold = below;

            const std::int32_t left_sum = (splits_.excess[lane] + remainder_[lane]) / 2;
            Cut &cut = cut_of(f);
            if (feature.own <= threshold) {
                cut.flip.set(lane, -1);
                cut.threshold.set(lane, ~static_cast<std::int32_t>(left_rank) - 1);
                total_.set(lane, splits_.left[lane]);
                sum.set(lane, left_sum);
            } else {
                cut.threshold.set(lane, static_cast<std::int32_t>(left_rank));
                total_.set(lane, total_[lane] - splits_.left[lane]);
                sum.set(lane, remainder_[lane] - left_sum);
            }
        }
        // Lanes that are done keep nobody.
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
            const Ints multiplicity = rows_[i].multiplicity & keep;
            rows_[i].multiplicity = multiplicity;
            rows_[i].moment = (rows_[i].moment & keep) - multiplicity * shift;
            const Ints present = multiplicity > Ints{};
            distinct_ -= present;
            alive_[i] = any(present);
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

    // Takes dropped members out of the features' orders once they are many, and closes features that no longer differ.
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
    const std::int32_t *drawn_;
    std::uint32_t growing_ = 0;

    // The nodes.
    Ints total_;      // multiplicities
    Ints distinct_;   // members
    Ints remainder_;  // sum of moments, not doubled: less than the multiplicities
    Ints shift_;      // from the last centre to this one
    double scale_[n_lanes];  // grid steps per unit of behaviour
    Splits splits_;
    Floats bar_;  // a little less than the best merit that is known to be reached

    Row *rows_;
    std::uint16_t *members_;
    std::size_t n_members_;
    std::uint8_t *alive_;

    Open *features_;
    std::size_t n_features_;
    std::uint32_t *orders_;
    std::size_t n_entries_;  // members in the orders, some of them dropped already

    Cut *cuts_;
    std::size_t n_cuts_ = 0;
    Ints *wanted_;
    Block *blocks_;
};

}  // namespace

std::size_t path_forest_lanes() { return n_lanes; }

std::size_t path_forest_scratch_bytes(std::size_t n_members, std::size_t n_features) {
    return n_members * (sizeof(Row) + n_features * sizeof(std::uint32_t) + sizeof(std::uint16_t) + 1) +
           n_features * (sizeof(Ints) + 2 * sizeof(void *)) + n_lanes * sizeof(Cut) +
           (n_members / block_size + 1) * sizeof(Block);
}

void grow_paths(const PathForestTask &task) {
    for (std::size_t i = 0; i < task.n_members; ++i) task.weights[i] = 0;
    for (std::size_t pack = 0; pack < task.n_packs; ++pack) Pack(task, pack).grow();
}

}  // namespace paribus::PARIBUS_KERNEL
