#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/areas.hpp"
#include "bindings/arrays.hpp"
#include "common/row_index.hpp"
#include "kernels/path_forest.hpp"
#include "qcad/qcad_engine.hpp"

namespace bindings {

namespace {

class QcadEngine {
public:
    QcadEngine(const Input<double, 2> &context, const Input<std::uint8_t, 1> &categorical,
               const Input<double, 2> &behavior, const Input<std::uint32_t, 1> &tie_order,
               const Input<std::uint8_t, 2> &multiplicities,
               const std::optional<Input<std::uint16_t, 3>> &feature_order, std::size_t max_features,
               std::uint32_t min_samples_split, std::size_t n_quantiles, bool scale_tails)
        : table_(n_rows(context, categorical, behavior, tie_order), tie_order.data(), kinds(categorical),
                 context.data(), behavior.shape(0), behavior.data()),
          index_(table_.n_rows(), columns(table_)) {
        const std::size_t k = multiplicities.shape(0);
        require(k >= 1 && k <= 65535 && k <= table_.n_rows(), "1 to 65,535 neighbors, and no more than rows");
        require(multiplicities.shape(1) >= 1 && multiplicities.shape(1) <= 10000, "1 to 10,000 trees");
        for (std::size_t i = 0; i < multiplicities.size(); ++i) {
            require(multiplicities.data()[i] <= paribus::max_multiplicity, "a multiplicity above 31");
        }
        require(min_samples_split >= 2, "min_samples_split: at least 2");
        require(n_quantiles >= 1, "n_quantiles: at least 1");
        parameters_.n_neighbors = k;
        parameters_.n_trees = multiplicities.shape(1);
        parameters_.min_samples_split = min_samples_split;
        parameters_.n_quantiles = n_quantiles;
        parameters_.scale_tails = scale_tails;
        parameters_.multiplicities.assign(multiplicities.data(), multiplicities.data() + multiplicities.size());
        parameters_.max_features = max_features;
        parameters_.n_depths = 0;
        if (feature_order) {
            const std::size_t n_features = table_.context().n_features;
            require(max_features >= 1 && feature_order->shape(0) == parameters_.n_trees &&
                        feature_order->shape(1) >= 1 && feature_order->shape(2) == n_features,
                    "feature_order: [tree][depth][feature]");
            parameters_.n_depths = feature_order->shape(1);
            parameters_.feature_order.assign(feature_order->data(), feature_order->data() + feature_order->size());
            for (const std::uint16_t feature : parameters_.feature_order) {
                require(feature < n_features, "feature_order: an unknown feature");
            }
        }
    }

    Output<std::int64_t, 1> match(const Input<double, 2> &context, const Input<double, 2> &behavior) const {
        check_rows(context, behavior);
        auto rows = new_array<std::int64_t, 1>({context.shape(0)});
        const nb::gil_scoped_release released;
        for (std::size_t i = 0; i < context.shape(0); ++i) {
            const std::int64_t place = index_.find(context.data() + i * context.shape(1), context.shape(1),
                                                   behavior.data() + i * behavior.shape(1), behavior.shape(1));
            rows.data()[i] = place < 0 ? place : table_.callers_row(static_cast<std::uint32_t>(place));
        }
        return rows;
    }

    std::tuple<Output<double, 2>, Output<double, 2>, std::optional<Output<double, 3>>> score(
        const Input<double, 2> &context, const Input<double, 2> &behavior, const Input<std::int64_t, 1> &excluded,
        bool want_percentiles, std::size_t n_threads, const nb::object &progress) const {
        check_rows(context, behavior);
        check_references(context, excluded);
        auto scores = new_array<double, 2>({context.shape(0), table_.n_behavior()});
        auto reach = new_array<double, 2>({context.shape(0), 2});
        std::optional<Output<double, 3>> percentiles;
        if (want_percentiles) {
            percentiles = new_array<double, 3>({context.shape(0), table_.n_behavior(), parameters_.n_quantiles + 1});
        }
        paribus::Query query = {};
        query.n_rows = context.shape(0);
        query.context = context.data();
        query.behavior = behavior.data();
        query.excluded = excluded.data();
        query.partial_scores = scores.data();
        query.percentiles = percentiles ? percentiles->data() : nullptr;
        query.reach = reach.data();
        run(query, n_threads, progress);
        return {scores, reach, percentiles};
    }

    std::tuple<Output<double, 2>, Output<double, 3>, Output<double, 3>, Output<std::int64_t, 2>, Output<double, 2>>
    explain(const Input<double, 2> &context, const Input<double, 2> &behavior, const Input<std::int64_t, 1> &excluded,
            std::size_t n_threads, const nb::object &progress) const {
        check_rows(context, behavior);
        check_references(context, excluded);
        const std::size_t n_rows = context.shape(0), n_behavior = table_.n_behavior(), k = parameters_.n_neighbors;
        auto scores = new_array<double, 2>({n_rows, n_behavior});
        auto percentiles = new_array<double, 3>({n_rows, n_behavior, parameters_.n_quantiles + 1});
        auto weights = new_array<double, 3>({n_rows, n_behavior, k});
        auto neighbors = new_array<std::int64_t, 2>({n_rows, k});
        auto distances = new_array<double, 2>({n_rows, k});
        paribus::Query query = {};
        query.n_rows = n_rows;
        query.context = context.data();
        query.behavior = behavior.data();
        query.excluded = excluded.data();
        query.partial_scores = scores.data();
        query.percentiles = percentiles.data();
        query.weights = weights.data();
        query.neighbors = neighbors.data();
        query.distances = distances.data();
        run(query, n_threads, progress);
        return {scores, percentiles, weights, neighbors, distances};
    }

    std::tuple<Output<std::int64_t, 2>, Output<double, 2>> neighbors(
        const Input<double, 2> &context, const Input<std::int64_t, 1> &excluded, std::size_t n_threads,
        const nb::object &progress) const {
        check_context(context);
        check_references(context, excluded);
        auto rows = new_array<std::int64_t, 2>({context.shape(0), parameters_.n_neighbors});
        auto distances = new_array<double, 2>({context.shape(0), parameters_.n_neighbors});
        paribus::Query query = {};
        query.n_rows = context.shape(0);
        query.context = context.data();
        query.excluded = excluded.data();
        query.neighbors = rows.data();
        query.distances = distances.data();
        run(query, n_threads, progress);
        return {rows, distances};
    }

private:
    static std::vector<paribus::Strided> columns(const paribus::FittedTable &table) {
        std::vector<paribus::Strided> found;
        for (std::size_t f = 0; f < table.context().n_features; ++f) {
            found.push_back({table.context().features[f].values, 1});
        }
        for (std::size_t f = 0; f < table.n_behavior(); ++f) found.push_back({table.behavior(f), 1});
        return found;
    }

    static std::size_t n_rows(const Input<double, 2> &context, const Input<std::uint8_t, 1> &categorical,
                              const Input<double, 2> &behavior, const Input<std::uint32_t, 1> &tie_order) {
        const std::size_t n = context.shape(1);
        require(n >= 1 && n < 0xffffffffu, "1 to 4,294,967,294 rows");
        require(context.shape(0) >= 1 && categorical.shape(0) == context.shape(0), "categorical: one per feature");
        require(behavior.shape(1) == n && tie_order.shape(0) == n, "context, behavior and tie_order: as many rows");
        std::vector<bool> seen(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t row = tie_order.data()[i];
            require(row < n && !seen[row], "tie_order: a permutation of the rows");
            seen[row] = true;
        }
        // Codes need not be dense, but memory is as large as the highest.
        const double end = std::max(static_cast<double>(n), 65536.0);
        for (std::size_t i = 0; i < context.size(); ++i) {
            if (categorical.data()[i / n] != 0) require_code(context.data()[i], end);
        }
        for (std::size_t i = 0; i < behavior.size(); ++i) {
            // The difference of two values has to be finite, too.
            require(!(std::abs(behavior.data()[i]) > std::numeric_limits<double>::max() / 2),
                    "behavior: not too large");
        }
        return n;
    }

    void check_context(const Input<double, 2> &context) const {
        const std::size_t n_features = table_.context().n_features;
        require(context.shape(1) == n_features, "context: [row][feature] as fitted");
        for (std::size_t f = 0; f < n_features; ++f) {
            if (table_.context().features[f].kind != paribus::FeatureKind::categorical) continue;
            for (std::size_t i = 0; i < context.shape(0); ++i) {
                // Any number that no fitted row has stands for an unseen category.
                require_code(context.data()[i * n_features + f], INFINITY);
            }
        }
    }

    void check_rows(const Input<double, 2> &context, const Input<double, 2> &behavior) const {
        check_context(context);
        require(behavior.shape(0) == context.shape(0) && behavior.shape(1) == table_.n_behavior(),
                "behavior: [row][feature] as fitted");
    }

    void check_references(const Input<double, 2> &context, const Input<std::int64_t, 1> &rows) const {
        require(rows.shape(0) == context.shape(0), "one fitted row, or -1, for each row");
        for (std::size_t i = 0; i < rows.shape(0); ++i) {
            require(rows.data()[i] < static_cast<std::int64_t>(table_.n_rows()), "an unknown fitted row");
            require(rows.data()[i] < 0 || parameters_.n_neighbors < table_.n_rows(), "fewer others than neighbors");
        }
    }

    void run(const paribus::Query &query, std::size_t n_threads, const nb::object &progress) const {
        const paribus::Tick tick = python_tick(progress);
        const nb::gil_scoped_release released;
        paribus::run(table_, parameters_, query, n_threads, tick);
    }

    paribus::FittedTable table_;
    paribus::RowIndex index_;
    paribus::ForestParameters parameters_;
};

}  // namespace

void add_qcad(nb::module_ &m) {
    nb::class_<QcadEngine>(m, "QcadEngine", "A fitted table of QCAD, ready to score rows.")
        .def(nb::init<const Input<double, 2> &, const Input<std::uint8_t, 1> &, const Input<double, 2> &,
                      const Input<std::uint32_t, 1> &, const Input<std::uint8_t, 2> &,
                      const std::optional<Input<std::uint16_t, 3>> &, std::size_t, std::uint32_t, std::size_t, bool>(),
             "context"_a, "categorical"_a, "behavior"_a, "tie_order"_a, "multiplicities"_a,
             "feature_order"_a = nb::none(), "max_features"_a = 0, "min_samples_split"_a = 10, "n_quantiles"_a = 100,
             "scale_tails"_a = true)
        .def("match", &QcadEngine::match, "context"_a, "behavior"_a,
             "For each row, the fitted row that equals it in all features (of several, the first when ties are "
             "broken), or -1.")
        .def("score", &QcadEngine::score, "context"_a, "behavior"_a, "excluded"_a, "want_percentiles"_a = false,
             "n_threads"_a = 1, "progress"_a = nb::none(),
             "Partial scores [row][feature]; the distances of the nearest and the farthest neighbor [row][2]; and "
             "percentiles [row][feature][quantile] if wanted.")
        .def("explain", &QcadEngine::explain, "context"_a, "behavior"_a, "excluded"_a, "n_threads"_a = 1,
             "progress"_a = nb::none(),
             "Partial scores [row][feature]; percentiles [row][feature][quantile]; the weight of each neighbor "
             "[row][feature][k], which sum to 1; fitted rows [row][k], nearest first, and their distances.")
        .def("neighbors", &QcadEngine::neighbors, "context"_a, "excluded"_a, "n_threads"_a = 1,
             "progress"_a = nb::none(), "Fitted rows, nearest first, and their distances.");
}

}  // namespace bindings
