#include "qcad/qcad_engine.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "common/parallel.hpp"
#include "kernels/kernel.hpp"
#include "kernels/path_forest.hpp"
#include "qcad/neighbors.hpp"
#include "qcad/percentiles.hpp"
#include "qcad/reference_group.hpp"

namespace paribus {

namespace {

constexpr std::size_t alignment = 64;

// The trees, distributed to the lanes of the kernel. They are the same for all rows.
struct Packs {
    std::size_t n_packs;
    std::vector<std::uint8_t> multiplicities;

    Packs(const ForestParameters &parameters, std::size_t lanes)
        : n_packs((parameters.n_trees + lanes - 1) / lanes), multiplicities(n_packs * parameters.n_neighbors * lanes) {
        const std::size_t n_trees = parameters.n_trees, k = parameters.n_neighbors;
        std::size_t tree = 0;
        for (std::size_t pack = 0; pack < n_packs; ++pack) {
            const std::size_t size = n_trees / n_packs + (pack < n_trees % n_packs ? 1 : 0);
            for (std::size_t lane = 0; lane < size; ++lane, ++tree) {
                for (std::size_t i = 0; i < k; ++i) {
                    multiplicities[(pack * k + i) * lanes + lane] = parameters.multiplicities[i * n_trees + tree];
                }
            }
        }
    }
};

// The scratch memory of one thread, and its work for one row.
class Worker {
public:
    Worker(const FittedTable &table, const ForestParameters &parameters, const Packs &packs, const Query &query,
           const std::atomic<bool> &stop)
        : stop_(stop),
          table_(table),
          query_(query),
          kernel_(kernel()),
          k_(parameters.n_neighbors),
          scale_tails_(parameters.scale_tails),
          search_(table.context(), k_) {
        if (query.partial_scores == nullptr && query.percentiles == nullptr) return;
        group_ = std::make_unique<ReferenceGroup>(table, k_);
        percentiles_ = std::make_unique<Percentiles>(parameters.n_quantiles);
        weights_.resize(k_);
        const std::size_t bytes = kernel_.path_forest_scratch_bytes(k_, table.context().n_features);
        scratch_.resize(bytes + alignment);
        void *aligned = scratch_.data();
        std::size_t space = scratch_.size();
        std::align(alignment, bytes, aligned, space);

        task_.min_samples_split = parameters.min_samples_split;
        task_.n_trees = parameters.n_trees;
        task_.n_packs = packs.n_packs;
        task_.multiplicities = packs.multiplicities.data();
        task_.max_features = parameters.max_features;
        task_.feature_order = parameters.feature_order.empty() ? nullptr : parameters.feature_order.data();
        task_.n_depths = parameters.n_depths;
        task_.scratch = aligned;
        task_.weights = weights_.data();
    }

    void operator()(std::size_t row) {
        const double *context = query_.context + row * table_.context().n_features;
        const auto &neighbors = search_.search(context, excluded_place(row));
        if (query_.neighbors != nullptr) write_neighbors(row, neighbors);
        if (query_.reach != nullptr) {
            query_.reach[row * 2] = neighbors[0].distance;
            query_.reach[row * 2 + 1] = neighbors[k_ - 1].distance;
        }
        if (!group_) return;
        group_->assign(context, neighbors);
        for (std::size_t feature = 0; feature < table_.n_behavior(); ++feature) judge(row, feature);
    }

private:
    std::uint32_t excluded_place(std::size_t row) const {
        const std::int64_t excluded = query_.excluded[row];
        return excluded < 0 ? NeighborSearch::nobody : table_.place_of(static_cast<std::uint32_t>(excluded));
    }

    void write_neighbors(std::size_t row, const std::vector<Neighbor> &neighbors) {
        for (std::size_t i = 0; i < k_; ++i) {
            query_.neighbors[row * k_ + i] = table_.callers_row(neighbors[i].row);
            query_.distances[row * k_ + i] = neighbors[i].distance;
        }
    }

    void write_weights(std::size_t cell, bool known) {
        std::uint64_t total = 0;
        for (const std::uint64_t weight : weights_) total += weight;
        for (std::size_t i = 0; i < k_; ++i) {
            query_.weights[cell * k_ + i] = known ? static_cast<double>(weights_[i]) / static_cast<double>(total) : NAN;
        }
    }

    void judge(std::size_t row, std::size_t feature) {
        const std::size_t cell = row * table_.n_behavior() + feature;
        const double value = query_.behavior[cell];
        const double range = table_.behavior_range(feature);
        // Constant features and missing values carry no information.
        const bool trivial = std::isnan(value) || !(range > 0.0);
        if (query_.partial_scores != nullptr) query_.partial_scores[cell] = std::isnan(value) ? NAN : 0.0;
        if (trivial && query_.percentiles == nullptr) return;

        group_->select_behavior(feature);
        group_->describe(task_);
        std::fill(weights_.begin(), weights_.end(), 0);
        for (std::size_t pack = 0; pack < task_.n_packs; ++pack) {
            if (stop_.load(std::memory_order_relaxed)) return;
            kernel_.grow_paths(task_, pack);
        }
        const bool known = percentiles_->estimate(group_->behavior_order(), group_->sorted_behavior(), weights_.data());
        if (query_.percentiles != nullptr) {
            const std::size_t n = percentiles_->taus().size();
            double *to = query_.percentiles + cell * n;
            for (std::size_t i = 0; i < n; ++i) to[i] = known ? percentiles_->taus()[i] : NAN;
        }
        if (query_.weights != nullptr) write_weights(cell, known);
        if (query_.partial_scores != nullptr && !trivial) {
            // The limit keeps scores finite, even for a value that is extremely far from a narrow distribution.
            query_.partial_scores[cell] =
                known ? std::fmin(percentiles_->partial_score(value, scale_tails_) / range, 1e300) : NAN;
        }
    }

    const std::atomic<bool> &stop_;
    const FittedTable &table_;
    const Query &query_;
    const Kernel &kernel_;
    std::size_t k_;
    bool scale_tails_;
    NeighborSearch search_;
    std::unique_ptr<ReferenceGroup> group_;
    std::unique_ptr<Percentiles> percentiles_;
    std::vector<std::uint64_t> weights_;
    std::vector<unsigned char> scratch_;
    PathForestTask task_{};
};

}  // namespace

void run(const FittedTable &table, const ForestParameters &parameters, const Query &query, std::size_t n_threads,
         const Tick &on_tick) {
    const Packs packs(parameters, kernel().path_forest_lanes());
    for_each_item(
        query.n_rows, n_threads,
        [&](const std::atomic<bool> &stop) -> std::function<void(std::size_t)> {
            const auto worker = std::make_shared<Worker>(table, parameters, packs, query, stop);
            return [worker](std::size_t row) { (*worker)(row); };
        },
        on_tick);
}

}  // namespace paribus
