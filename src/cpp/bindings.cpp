#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "common/checksum.hpp"
#include "common/row_index.hpp"
#include "kernels/kernel.hpp"
#include "kernels/path_forest.hpp"
#include "qcad/qcad_engine.hpp"
#include "stream/change_tests.hpp"
#include "surprise/class_shares.hpp"
#include "surprise/distributions.hpp"
#include "surprise/evidence.hpp"
#include "surprise/reference_rows.hpp"
#include "surprise/table_forest.hpp"
#include "surprise/whole_column.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T, std::size_t Dimensions>
using Input = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T, std::size_t Dimensions>
using InPlace = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T, std::size_t Dimensions>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<Dimensions>>;

void require(bool condition, const char *message) {
    if (!condition) throw std::invalid_argument(message);
}

template <typename T, std::size_t Dimensions>
Output<T, Dimensions> new_array(const std::array<std::size_t, Dimensions> &shape) {
    std::size_t size = 1;
    for (const std::size_t length : shape) size *= length;
    auto *data = new T[std::max<std::size_t>(size, 1)];
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return Output<T, Dimensions>(data, Dimensions, shape.data(), owner);
}

// Lets Python handle signals, and tells whoever wants to know how far the work has come.
paribus::Tick python_tick(const nb::object &progress) {
    return [&progress](std::size_t n_done) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(n_done);
    };
}

std::vector<paribus::FeatureKind> kinds(const Input<std::uint8_t, 1> &categorical) {
    std::vector<paribus::FeatureKind> kinds;
    for (std::size_t f = 0; f < categorical.shape(0); ++f) {
        kinds.push_back(categorical.data()[f] != 0 ? paribus::FeatureKind::categorical : paribus::FeatureKind::numeric);
    }
    return kinds;
}

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
        require(k >= 1 && k <= 65535 && k <= table_.n_rows(), "1 to 65,535 neighbours, and no more than rows");
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
        require(context.shape(1) == table_.context().n_features, "context: [row][feature] as fitted");
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
        return n;
    }

    void check_rows(const Input<double, 2> &context, const Input<double, 2> &behavior) const {
        require(context.shape(1) == table_.context().n_features, "context: [row][feature] as fitted");
        require(behavior.shape(0) == context.shape(0) && behavior.shape(1) == table_.n_behavior(),
                "behavior: [row][feature] as fitted");
    }

    void check_references(const Input<double, 2> &context, const Input<std::int64_t, 1> &rows) const {
        require(rows.shape(0) == context.shape(0), "one fitted row, or -1, for each row");
        for (std::size_t i = 0; i < rows.shape(0); ++i) {
            require(rows.data()[i] < static_cast<std::int64_t>(table_.n_rows()), "an unknown fitted row");
            require(rows.data()[i] < 0 || parameters_.n_neighbors < table_.n_rows(), "fewer others than neighbours");
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

/// Rows of a table that are held by Python: [row][feature].
class RowFinder {
public:
    RowFinder(const Input<double, 2> &rows, const std::optional<Input<std::uint32_t, 1>> &order)
        : rows_(rows), order_(order) {
        require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
        std::vector<paribus::Strided> columns;
        for (std::size_t f = 0; f < rows.shape(1); ++f) columns.push_back({rows.data() + f, rows.shape(1)});
        if (!order) {
            index_ = std::make_unique<paribus::RowIndex>(rows.shape(0), columns);
            return;
        }
        require(order->shape(0) == rows.shape(0), "order: one per row");
        for (std::size_t i = 0; i < order->shape(0); ++i) {
            require(order->data()[i] < rows.shape(0), "order: an unknown row");
        }
        index_ = std::make_unique<paribus::RowIndex>(rows.shape(0), columns, order->data());
    }

    Output<std::uint32_t, 1> order() const {
        auto found = new_array<std::uint32_t, 1>({rows_.shape(0)});
        std::copy_n(index_->order(), rows_.shape(0), found.data());
        return found;
    }

    Output<std::int64_t, 1> find(const Input<double, 2> &rows) const {
        require(rows.shape(1) == rows_.shape(1), "rows: [row][feature] as fitted");
        auto found = new_array<std::int64_t, 1>({rows.shape(0)});
        const nb::gil_scoped_release released;
        for (std::size_t i = 0; i < rows.shape(0); ++i) {
            found.data()[i] = index_->find(rows.data() + i * rows.shape(1), rows.shape(1), nullptr, 0);
        }
        return found;
    }

    Output<std::int64_t, 1> find_all() const {
        auto found = new_array<std::int64_t, 1>({rows_.shape(0)});
        const nb::gil_scoped_release released;
        index_->find_all(found.data());
        return found;
    }

private:
    Input<double, 2> rows_;
    std::optional<Input<std::uint32_t, 1>> order_;
    std::unique_ptr<paribus::RowIndex> index_;
};

/// What forests know about features: categories of columns that are categorical.
class FeatureKinds {
public:
    FeatureKinds(const Input<std::uint8_t, 1> &categorical, const std::vector<Input<std::uint8_t, 1>> &bins) {
        auto found = std::make_shared<paribus::FeatureKinds>();
        require(bins.size() == categorical.shape(0), "bins: one array per feature");
        found->kinds = kinds(categorical);
        for (const auto &each : bins) found->bin_of_code.emplace_back(each.data(), each.data() + each.shape(0));
        kinds_ = found;
    }
    explicit FeatureKinds(std::shared_ptr<const paribus::FeatureKinds> kinds) : kinds_(std::move(kinds)) {}

    std::vector<Output<std::uint8_t, 1>> bins() const {
        std::vector<Output<std::uint8_t, 1>> found;
        for (const auto &each : kinds_->bin_of_code) {
            found.push_back(new_array<std::uint8_t, 1>({each.size()}));
            std::copy(each.begin(), each.end(), found.back().data());
        }
        return found;
    }
    const std::shared_ptr<const paribus::FeatureKinds> &get() const { return kinds_; }

private:
    std::shared_ptr<const paribus::FeatureKinds> kinds_;
};

class FeatureTable {
public:
    FeatureTable(const Input<double, 2> &rows, const Input<std::uint8_t, 1> &categorical)
        : rows_(rows),
          table_(std::make_shared<paribus::FeatureTable>(n_rows(rows, categorical), kinds(categorical), rows.data())) {}

    const paribus::FeatureTable &get() const { return *table_; }
    FeatureKinds feature_kinds() const { return FeatureKinds(table_->kinds()); }

private:
    static std::size_t n_rows(const Input<double, 2> &rows, const Input<std::uint8_t, 1> &categorical) {
        const std::size_t n = rows.shape(0), n_features = rows.shape(1);
        require(n >= 2 && n < 0xffffffffu, "2 to 4,294,967,294 rows");
        require(n_features < 0xffff && categorical.shape(0) == n_features, "categorical: one per feature");
        for (std::size_t f = 0; f < n_features; ++f) {
            for (std::size_t row = 0; row < n && categorical.data()[f] != 0; ++row) {
                const double code = rows.data()[row * n_features + f];
                // At most as many categories as rows.
                require(code != code || (code >= 0.0 && code < static_cast<double>(n)), "a category that is no code");
            }
        }
        return n;
    }

    Input<double, 2> rows_;
    std::shared_ptr<const paribus::FeatureTable> table_;
};

class Samples {
public:
    Samples(const Input<std::uint8_t, 1> &usable, const std::optional<Input<std::int64_t, 1>> &originals,
            std::size_t n_pairs, std::size_t n_sample, std::uint64_t seed, std::size_t n_threads,
            const std::optional<Input<std::uint64_t, 1>> &keys) {
        const std::size_t n_rows = usable.shape(0);
        require(!keys || keys->shape(0) == n_rows, "keys: one per row");
        require(!originals || originals->shape(0) == n_rows, "originals: one per row");
        for (std::size_t row = 0; originals && row < n_rows; ++row) {
            const std::int64_t original = originals->data()[row];
            require(original >= 0 && original <= static_cast<std::int64_t>(row), "originals: come before their copies");
        }
        const auto n_usable = static_cast<std::size_t>(
            std::count_if(usable.data(), usable.data() + n_rows, [](std::uint8_t each) { return each != 0; }));
        require(n_sample >= 1 && 2 * n_sample <= n_usable, "n_sample: at least 1, and at most half the rows");
        require(n_pairs >= 1 && n_pairs <= 10000, "1 to 10,000 pairs");
        const nb::gil_scoped_release released;
        samples_ =
            std::make_shared<paribus::TreeSamples>(n_rows, usable.data(), originals ? originals->data() : nullptr,
                                                   keys ? keys->data() : nullptr, n_pairs, n_sample, seed, n_threads);
    }

    static Samples stored(std::size_t n_rows, const Input<std::uint32_t, 1> &rows,
                          const Input<std::uint32_t, 1> &ends) {
        require(ends.shape(0) >= 2 && ends.shape(0) % 2 == 0 && ends.shape(0) <= 20000, "1 to 10,000 pairs");
        std::size_t begin = 0;
        for (std::size_t tree = 0; tree < ends.shape(0); ++tree) {
            const std::size_t end = ends.data()[tree];
            require(begin <= end && end <= rows.shape(0), "ends: in ascending order");
            for (std::size_t i = begin; i < end; ++i) {
                require(rows.data()[i] < n_rows && (i == begin || rows.data()[i - 1] < rows.data()[i]),
                        "samples: known rows in ascending order");
            }
            begin = end;
        }
        require(begin == rows.shape(0), "ends: the last one is the end of the rows");
        Samples found;
        found.samples_ = std::make_shared<paribus::TreeSamples>(n_rows, rows.data(), ends.data(), ends.shape(0) / 2);
        return found;
    }

    std::tuple<Output<std::uint32_t, 1>, Output<std::uint32_t, 1>> arrays() const {
        const std::size_t n_trees = 2 * samples_->n_pairs();
        auto ends = new_array<std::uint32_t, 1>({n_trees});
        std::size_t n = 0;
        for (std::size_t tree = 0; tree < n_trees; ++tree) {
            n += samples_->sample(tree).size();
            ends.data()[tree] = static_cast<std::uint32_t>(n);
        }
        auto rows = new_array<std::uint32_t, 1>({n});
        std::uint32_t *to = rows.data();
        for (std::size_t tree = 0; tree < n_trees; ++tree) {
            to = std::copy(samples_->sample(tree).begin(), samples_->sample(tree).end(), to);
        }
        return {rows, ends};
    }

    const std::shared_ptr<const paribus::TreeSamples> &get() const { return samples_; }

private:
    Samples() = default;
    std::shared_ptr<const paribus::TreeSamples> samples_;
};

/// Of one feature of a trend: whether it is categorical, limits, center and slope; and the amounts of categories.
using TrendPart = std::tuple<std::uint16_t, double, double, double, double, std::optional<Input<double, 1>>>;

class Target {
public:
    Target(const Input<double, 2> &rows, std::size_t column, double low, double high) : rows_(rows) {
        require(column < rows.shape(1), "an unknown column");
        require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
        target_ = std::make_shared<paribus::TargetColumn>(rows.data(), rows.shape(0), rows.shape(1), column,
                                                          paribus::Limits{low, high}, std::nullopt);
    }

    Target(const Input<double, 2> &rows, std::size_t column, const Input<std::uint8_t, 1> &class_of_code)
        : rows_(rows) {
        require(column < rows.shape(1), "an unknown column");
        require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
        require(class_of_code.shape(0) > 0, "class_of_code: one or more");
        std::vector<std::uint8_t> classes(class_of_code.data(), class_of_code.data() + class_of_code.shape(0));
        target_ = std::make_shared<paribus::TargetColumn>(rows.data(), rows.shape(0), rows.shape(1), column,
                                                          std::move(classes));
    }

    Target(const Input<double, 2> &rows, std::size_t column, double low, double high, double constant,
           const std::vector<TrendPart> &parts, const Input<std::uint32_t, 1> &seen, const Input<double, 1> &divisors,
           double lowest, double highest)
        : rows_(rows) {
        require(column < rows.shape(1), "an unknown column");
        require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
        paribus::Trend trend = {};
        trend.constant = constant;
        for (const auto &[feature, least, most, center, slope, amounts] : parts) {
            require(feature < rows.shape(1), "an unknown feature");
            trend.parts.push_back({feature, amounts.has_value(), {least, most}, center, slope, {}});
            if (amounts) trend.parts.back().amounts.assign(amounts->data(), amounts->data() + amounts->shape(0));
        }
        require(seen.shape(0) == divisors.shape(0), "divisors: one per row seen");
        trend.seen.assign(seen.data(), seen.data() + seen.shape(0));
        trend.divisors.assign(divisors.data(), divisors.data() + divisors.shape(0));
        trend.limits = {lowest, highest};
        target_ = std::make_shared<paribus::TargetColumn>(rows.data(), rows.shape(0), rows.shape(1), column,
                                                          paribus::Limits{low, high}, std::move(trend));
    }

    Output<double, 1> values() const {
        auto found = new_array<double, 1>({target_->n_rows()});
        const nb::gil_scoped_release released;
        for (std::uint32_t row = 0; row < target_->n_rows(); ++row) found.data()[row] = (*target_)[row];
        return found;
    }

    Output<double, 1> centers(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted) const {
        require(rows.shape(1) == target_->n_features(), "rows: [row][feature] as fitted");
        require(fitted.shape(0) == rows.shape(0), "fitted: one fitted row, or -1, for each row");
        auto found = new_array<double, 1>({rows.shape(0)});
        const nb::gil_scoped_release released;
        for (std::size_t row = 0; row < rows.shape(0); ++row) {
            require(fitted.data()[row] < static_cast<std::int64_t>(target_->n_rows()), "an unknown fitted row");
            found.data()[row] = target_->center(rows.data() + row * rows.shape(1), fitted.data()[row]);
        }
        return found;
    }

    const std::shared_ptr<const paribus::TargetColumn> &get() const { return target_; }
    const Input<double, 2> &rows() const { return rows_; }

private:
    Input<double, 2> rows_;
    std::shared_ptr<const paribus::TargetColumn> target_;
};

/// A forest, packed; and as it was grown, until that is released.
class Forest {
public:
    Forest(const FeatureTable &table, const Samples &samples, const Target &target,
           const Input<std::uint16_t, 1> &features, std::size_t max_features, std::size_t min_samples_leaf,
           std::uint64_t seed, std::size_t n_threads, const nb::object &progress)
        : kinds_(table.get().kinds()), samples_(samples.get()), target_(target) {
        const paribus::FeatureTable &core = table.get();
        require(target.get()->n_rows() == core.n_rows() && samples_->n_rows() == core.n_rows(),
                "target and samples: of the same table");
        for (std::size_t tree = 0; tree < 2 * samples_->n_pairs(); ++tree) {
            for (const std::uint32_t row : samples_->sample(tree)) {
                require(!std::isnan((*target.get())[row]), "samples: rows that have a target");
            }
        }
        require(max_features >= 1 && min_samples_leaf >= 1, "max_features and min_samples_leaf: at least 1");
        paribus::TreeParameters parameters;
        parameters.features.assign(features.data(), features.data() + features.shape(0));
        require(parameters.features.size() < 8192, "features: below 8,192");
        for (const std::uint16_t feature : parameters.features) {
            require(feature < kinds_->n_features(), "features: an unknown feature");
        }
        parameters.max_features = max_features;
        parameters.min_samples_leaf = min_samples_leaf;
        const paribus::Tick tick = python_tick(progress);
        std::vector<std::uint8_t> bytes;
        {
            const nb::gil_scoped_release released;
            const auto grown = std::make_shared<paribus::TableForest>(core, *samples_, *target.get(), parameters, seed,
                                                                      n_threads, tick);
            bytes = grown->pack(parameters.features);
            grown_ = grown;
        }
        auto packed = new_array<std::uint8_t, 1>({bytes.size()});
        std::copy(bytes.begin(), bytes.end(), packed.data());
        packed_ = nb::cast<Input<std::uint8_t, 1>>(nb::cast(packed));
        open();
    }

    Forest(const FeatureKinds &kinds, const Samples &samples, const Target &target,
           const Input<std::uint8_t, 1> &packed)
        : kinds_(kinds.get()), samples_(samples.get()), target_(target), packed_(packed) {
        require(target.get()->n_rows() == samples_->n_rows(), "target and samples: of the same table");
        require(reinterpret_cast<std::uintptr_t>(packed_.data()) % alignof(std::uint64_t) == 0, "packed: aligned");
        open();
    }

    Input<std::uint8_t, 1> packed() const { return packed_; }
    const paribus::PackedForest &packed_forest() const { return *forest_; }
    void release() { grown_.reset(); }
    void hold(std::size_t n_threads) {
        if (grown_) return;
        const nb::gil_scoped_release released;
        grown_ = std::make_shared<paribus::TableForest>(*forest_, n_threads);
    }

    /// From now on the packed form is used, which knows the second target.
    void set_second_target(const Input<std::uint8_t, 1> &values) {
        require(values.shape(0) == samples_->n_rows(), "values: one per row of the table");
        second_target_ = values;
        open();
        grown_.reset();
    }

    /// The forest in the form that suits the rows.
    std::shared_ptr<const paribus::LeafFinder> get(const paribus::AskedRows &asked, std::size_t n_threads) const {
        if (grown_) return grown_;
        if (asked.n_rows < forest_->min_rows_to_unpack()) return forest_;
        const bool are_new =
            std::all_of(asked.fitted, asked.fitted + asked.n_rows, [](std::int64_t row) { return row < 0; });
        return std::make_shared<paribus::TableForest>(*forest_, are_new, n_threads);
    }

    Output<double, 1> deviations(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                 std::size_t n_threads, const nb::object &progress) const {
        const paribus::AskedRows asked = check(rows, fitted);
        auto result = new_array<double, 1>({asked.n_rows});
        const paribus::Tick tick = python_tick(progress);
        const nb::gil_scoped_release released;
        paribus::find_deviations(asked, *get(asked, n_threads), result.data(), n_threads, tick);
        return result;
    }

    Output<double, 1> surprises(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                const Input<double, 1> &values, double width, double least_deviation,
                                std::size_t n_threads, const nb::object &progress) const {
        const paribus::AskedRows asked = check(rows, fitted);
        require(values.shape(0) == asked.n_rows, "values: one per row");
        require(width > 0.0 && least_deviation > 0.0, "width and least_deviation: above 0");
        auto result = new_array<double, 1>({asked.n_rows});
        const paribus::Tick tick = python_tick(progress);
        const nb::gil_scoped_release released;
        paribus::find_surprises(asked, *get(asked, n_threads), values.data(), width, least_deviation, result.data(),
                                n_threads, tick);
        return result;
    }

    Output<double, 2> quantiles(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, std::size_t n,
                                std::size_t n_threads, const nb::object &progress) const {
        const paribus::AskedRows asked = check(rows, fitted);
        require(n >= 1, "n: at least 1");
        auto result = new_array<double, 2>({asked.n_rows, n});
        const paribus::Tick tick = python_tick(progress);
        const nb::gil_scoped_release released;
        paribus::find_quantiles(asked, *get(asked, n_threads), n, result.data(), n_threads, tick);
        return result;
    }

    Output<double, 2> class_shares(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, double strength,
                                   std::size_t n_threads, const nb::object &progress) const {
        const paribus::AskedRows asked = check(rows, fitted);
        const std::size_t n_classes = target_.get()->n_classes();
        require(n_classes > 0, "the target: classes");
        require(strength > 0.0, "strength: above 0");
        auto result = new_array<double, 2>({asked.n_rows, n_classes + 1});
        const paribus::Tick tick = python_tick(progress);
        const nb::gil_scoped_release released;
        paribus::find_class_shares(asked, *get(asked, n_threads), n_classes, strength, result.data(), n_threads, tick);
        return result;
    }

    Output<double, 2> atoms(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, std::size_t n_threads,
                            const nb::object &progress) const {
        const paribus::AskedRows asked = check(rows, fitted);
        auto result = new_array<double, 2>({asked.n_rows, forest_->n_pairs()});
        const paribus::Tick tick = python_tick(progress);
        const nb::gil_scoped_release released;
        paribus::find_atoms(asked, *get(asked, n_threads), result.data(), n_threads, tick);
        return result;
    }

    Output<double, 1> weights(const Input<double, 1> &row, std::int64_t fitted) const {
        require(row.shape(0) == kinds_->n_features(), "row: one value per feature");
        require(fitted < static_cast<std::int64_t>(samples_->n_rows()), "an unknown fitted row");
        auto result = new_array<double, 1>({samples_->n_rows()});
        std::fill_n(result.data(), samples_->n_rows(), 0.0);
        std::vector<std::uint32_t> rows;
        for (std::size_t pair = 0; pair < forest_->n_pairs(); ++pair) {
            rows.clear();
            forest_->find_rows(pair, row.data(), fitted, rows);
            const double weight = 1.0 / static_cast<double>(rows.size() * forest_->n_pairs());
            for (const std::uint32_t each : rows) result.data()[each] += weight;
        }
        return result;
    }

    paribus::AskedRows check(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted) const {
        require(rows.shape(1) == kinds_->n_features(), "rows: [row][feature] as fitted");
        require(fitted.shape(0) == rows.shape(0), "fitted: one fitted row, or -1, for each row");
        for (std::size_t i = 0; i < fitted.shape(0); ++i) {
            require(fitted.data()[i] < static_cast<std::int64_t>(samples_->n_rows()), "an unknown fitted row");
        }
        return {rows.shape(0), rows.data(), fitted.data()};
    }

private:
    void open() {
        const auto opened = std::make_shared<paribus::PackedForest>(*kinds_, *samples_, *target_.get(), packed_.data(),
                                                                    packed_.shape(0));
        if (second_target_) opened->set_second_target(second_target_->data());
        forest_ = opened;
    }

    std::shared_ptr<const paribus::FeatureKinds> kinds_;
    std::shared_ptr<const paribus::TreeSamples> samples_;
    Target target_;
    Input<std::uint8_t, 1> packed_;
    std::optional<Input<std::uint8_t, 1>> second_target_;
    std::shared_ptr<const paribus::PackedForest> forest_;
    std::shared_ptr<const paribus::TableForest> grown_;
};

/// How a column is smoothed: everything that does not depend on the row.
class Smoothing {
public:
    Smoothing(const std::string &shape, double center, double unit, double width, double surprise_width,
              double resolution, double tail_probability) {
        require(shape == "plain" || shape == "asinh" || shape == "log", "shape: plain, asinh or log");
        require(unit > 0.0 && width > 0.0 && surprise_width > 0.0 && resolution >= 0.0, "units and widths: above 0");
        require(tail_probability > 0.0 && tail_probability < 1.0, "tail_probability: between 0 and 1");
        using Kind = paribus::ColumnShape::Kind;
        const Kind kind = shape == "plain" ? Kind::plain : shape == "asinh" ? Kind::inverse_sinh : Kind::logarithm;
        parameters_ = {{kind, center, unit}, width, surprise_width, resolution, tail_probability};
    }

    const paribus::EvidenceParameters &get() const { return parameters_; }

    Output<double, 1> transformed(const Input<double, 1> &values) const {
        auto result = new_array<double, 1>({values.shape(0)});
        for (std::size_t i = 0; i < values.shape(0); ++i) {
            result.data()[i] = parameters_.shape.transformed(values.data()[i]);
        }
        return result;
    }

    Output<double, 1> slopes(const Input<double, 1> &values) const {
        auto result = new_array<double, 1>({values.shape(0)});
        for (std::size_t i = 0; i < values.shape(0); ++i) {
            result.data()[i] = parameters_.shape.slope(values.data()[i]);
        }
        return result;
    }

private:
    paribus::EvidenceParameters parameters_;
};

using View = std::tuple<const Forest *, std::optional<Input<double, 1>>, double, double, double>;

/// The forests of views in the form that suits the rows, which takes a while if they have to be unpacked.
std::vector<std::shared_ptr<const paribus::LeafFinder>> get_forests(
    const std::vector<View> &views, const paribus::AskedRows &asked, std::size_t n_threads,
    std::vector<paribus::SmoothView> &smooth) {
    std::vector<std::shared_ptr<const paribus::LeafFinder>> forests;
    for (std::size_t v = 0; v < views.size(); ++v) {
        forests.push_back(std::get<0>(views[v])->get(asked, n_threads));
        smooth[v].forest = forests.back().get();
    }
    return forests;
}

std::tuple<Output<double, 1>, Output<double, 2>, Output<double, 1>> column_evidence(
    const std::vector<View> &views, const Smoothing &smoothing, const Input<double, 2> &rows,
    const Input<std::int64_t, 1> &fitted, const Input<double, 1> &values, std::size_t n_threads,
    const nb::object &progress) {
    require(!views.empty(), "one view or more");
    paribus::AskedRows asked = {};
    std::vector<paribus::SmoothView> smooth;
    for (const auto &[forest, centers, share, min_width, min_deviation] : views) {
        asked = forest->check(rows, fitted);
        require(!centers || centers->shape(0) == asked.n_rows, "centers: one per row");
        require(share >= 0.0 && min_width > 0.0 && min_deviation > 0.0, "share: not below 0; least widths: above 0");
        smooth.push_back({nullptr, centers ? centers->data() : nullptr, share, min_width, min_deviation});
    }
    require(values.shape(0) == asked.n_rows, "values: one per row");
    auto evidence = new_array<double, 1>({asked.n_rows});
    auto surprises = new_array<double, 2>({asked.n_rows, views.size()});
    auto seconds = new_array<double, 1>({asked.n_rows});
    const paribus::Tick tick = python_tick(progress);
    {
        const nb::gil_scoped_release released;
        const auto forests = get_forests(views, asked, n_threads, smooth);
        paribus::find_evidence(asked, smooth, smoothing.get(), values.data(), evidence.data(), surprises.data(),
                               seconds.data(), n_threads, tick);
    }
    return {evidence, surprises, seconds};
}

Output<double, 1> second_means(const std::vector<const Forest *> &forests, const Input<double, 2> &rows,
                               const Input<std::int64_t, 1> &fitted, std::size_t n_threads,
                               const nb::object &progress) {
    require(!forests.empty(), "one forest or more");
    paribus::AskedRows asked = {};
    std::vector<std::shared_ptr<const paribus::LeafFinder>> finders;
    std::vector<const paribus::LeafFinder *> all;
    for (const Forest *forest : forests) {
        asked = forest->check(rows, fitted);
        finders.push_back(forest->get(asked, n_threads));
        all.push_back(finders.back().get());
    }
    auto result = new_array<double, 1>({asked.n_rows});
    const paribus::Tick tick = python_tick(progress);
    const nb::gil_scoped_release released;
    paribus::find_second_means(asked, all, result.data(), n_threads, tick);
    return result;
}

Output<double, 2> column_quantiles(const std::vector<View> &views, const Smoothing &smoothing,
                                   const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                   const Input<double, 1> &levels, std::size_t n_threads) {
    require(!views.empty(), "one view or more");
    paribus::AskedRows asked = {};
    std::vector<paribus::SmoothView> smooth;
    for (const auto &[forest, centers, share, min_width, min_deviation] : views) {
        asked = forest->check(rows, fitted);
        require(!centers || centers->shape(0) == asked.n_rows, "centers: one per row");
        require(share >= 0.0 && min_width > 0.0, "share: not below 0; least widths: above 0");
        smooth.push_back({nullptr, centers ? centers->data() : nullptr, share, min_width, min_deviation});
    }
    const std::vector<double> wanted(levels.data(), levels.data() + levels.shape(0));
    require(std::is_sorted(wanted.begin(), wanted.end()), "levels: ascending");
    auto result = new_array<double, 2>({asked.n_rows, wanted.size()});
    const nb::object nothing = nb::none();
    const paribus::Tick tick = python_tick(nothing);
    const nb::gil_scoped_release released;
    const auto forests = get_forests(views, asked, n_threads, smooth);
    paribus::find_smooth_quantiles(asked, smooth, smoothing.get(), wanted, result.data(), n_threads, tick);
    return result;
}

using Counted = std::tuple<const Forest *, double>;

std::tuple<Output<std::int64_t, 2>, Output<double, 2>, Output<double, 3>> reference_rows(
    const std::vector<std::vector<Counted>> &features, const Input<double, 2> &fitted_rows,
    const Input<double, 1> &ranges, const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
    std::size_t n_reference, std::size_t n_threads) {
    const std::size_t n_fitted = fitted_rows.shape(0), n_rows = rows.shape(0);
    require(rows.shape(1) == fitted_rows.shape(1) && fitted.shape(0) == n_rows, "rows: [row][feature] as fitted");
    require(ranges.shape(0) <= rows.shape(1), "ranges: one per contextual feature");
    for (std::size_t i = 0; i < n_rows; ++i) {
        require(fitted.data()[i] < static_cast<std::int64_t>(n_fitted), "an unknown fitted row");
    }
    std::vector<std::vector<paribus::CountedForest>> counted;
    for (const auto &each : features) {
        counted.emplace_back();
        for (const auto &[forest, share] : each) {
            forest->check(rows, fitted);
            require(forest->packed_forest().samples().n_rows() == n_fitted, "forests: of the same table");
            counted.back().push_back({&forest->packed_forest(), share});
        }
    }
    const paribus::ContextDistance distance = {
        fitted_rows.data(), rows.shape(1), {ranges.data(), ranges.data() + ranges.shape(0)}};
    auto positions = new_array<std::int64_t, 2>({n_rows, n_reference});
    auto distances = new_array<double, 2>({n_rows, n_reference});
    auto weights = new_array<double, 3>({n_rows, features.size(), n_reference});
    const nb::object nothing = nb::none();
    const paribus::Tick tick = python_tick(nothing);
    {
        const nb::gil_scoped_release released;
        paribus::find_reference_rows({n_rows, rows.data(), fitted.data()}, counted, distance, n_fitted, n_reference,
                                     positions.data(), distances.data(), weights.data(), n_threads, tick);
    }
    return {positions, distances, weights};
}

std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const paribus::Kernel *kernel : paribus::available_kernels()) names.emplace_back(kernel->name);
    return names;
}

Output<std::int64_t, 1> update_change_tests(
    const Input<std::int64_t, 1> &strides, const Input<double, 1> &shares, const Input<double, 2> &payoffs,
    double patience, double limit, const InPlace<std::int64_t, 3> &counts, const InPlace<double, 3> &wealth,
    const InPlace<double, 3> &best, const InPlace<std::int64_t, 3> &begun, const InPlace<double, 2> &n_in_group,
    const InPlace<double, 2> &recent, const InPlace<std::uint8_t, 1> &is_over, std::int64_t n_before,
    const Input<double, 2> &levels, const Input<std::int64_t, 1> &cells, const Input<std::int64_t, 2> &groups,
    const Input<double, 2> &random, std::int64_t number) {
    const std::size_t n = strides.shape(0), n_rows = levels.shape(0), n_groups = shares.shape(0);
    const std::size_t n_bets = payoffs.shape(1);
    const auto is_of_bets = [&](const auto &array) {
        return array.shape(0) == n && array.shape(1) == n_groups && array.shape(2) == n_bets;
    };
    require(is_of_bets(wealth) && is_of_bets(best) && is_of_bets(begun), "wealth, best, begun: [column][group][bet]");
    require(counts.shape(0) == n && counts.shape(2) >= 1 && n_in_group.shape(0) == n &&
                n_in_group.shape(1) == n_groups && recent.shape(0) == n && recent.shape(1) >= 1 &&
                is_over.shape(0) == n,
            "counts, n_in_group, recent, is_over: one per column");
    require(payoffs.shape(0) >= 1 && n_bets >= 1, "payoffs: [place][bet]");
    require(levels.shape(1) == n && random.shape(0) == n_rows && random.shape(1) == n && cells.shape(0) == n_rows &&
                groups.shape(0) == n_rows && n_before >= 0,
            "levels, random, cells, groups: one per row");
    for (std::size_t i = 0; i < n; ++i) require(strides.data()[i] >= 0, "strides: at least 0");
    for (std::size_t i = 0; i < n_rows; ++i) {
        require(cells.data()[i] >= 0 && static_cast<std::size_t>(cells.data()[i]) < counts.shape(1), "cells: unknown");
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        require(groups.data()[i] < static_cast<std::int64_t>(n_groups), "groups: unknown");
    }
    auto found = new_array<std::int64_t, 1>({n});
    paribus::ChangeTests tests = {n,
                                  counts.shape(1),
                                  n_groups,
                                  n_bets,
                                  counts.shape(2),
                                  payoffs.shape(0),
                                  recent.shape(1),
                                  strides.data(),
                                  shares.data(),
                                  payoffs.data(),
                                  patience,
                                  limit,
                                  counts.data(),
                                  wealth.data(),
                                  best.data(),
                                  begun.data(),
                                  n_in_group.data(),
                                  recent.data(),
                                  is_over.data()};
    tests.update(n_rows, n_before, levels.data(), cells.data(), groups.data(), groups.shape(1), random.data(), number,
                 found.data());
    return found;
}

}  // namespace

NB_MODULE(_core, m) {
    // A wrong PARIBUS_KERNEL is said here, not in the middle of the work.
    paribus::kernel();
    m.doc() = "The compiled part of paribus: the engine of QCAD, and forests over whole tables.";

    nb::class_<QcadEngine>(m, "QcadEngine", "A fitted table of QCAD, ready to be asked about rows.")
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
             "Partial scores [row][feature]; the distances of the nearest and the farthest neighbour [row][2]; and "
             "percentiles [row][feature][quantile] if wanted.")
        .def("explain", &QcadEngine::explain, "context"_a, "behavior"_a, "excluded"_a, "n_threads"_a = 1,
             "progress"_a = nb::none(),
             "Partial scores [row][feature]; percentiles [row][feature][quantile]; how much each neighbour counts "
             "[row][feature][k], 1 in all; fitted rows [row][k], nearest first, and their distances.")
        .def("neighbors", &QcadEngine::neighbors, "context"_a, "excluded"_a, "n_threads"_a = 1,
             "progress"_a = nb::none(), "Fitted rows, nearest first, and their distances.");

    nb::class_<RowFinder>(m, "RowIndex", "Finds rows of a table by their values: [row][feature].")
        .def(nb::init<const Input<double, 2> &, const std::optional<Input<std::uint32_t, 1>> &>(), "rows"_a,
             "order"_a = nb::none())
        .def("order", &RowFinder::order,
             "The rows in the order of their hashes, from which the index can be made again.")
        .def("find", &RowFinder::find, "rows"_a, "For each row, the first one of the table that equals it, or -1.")
        .def("find_all", &RowFinder::find_all, "For each row of the table, the first one that equals it.");

    nb::class_<FeatureKinds>(m, "FeatureKinds", "Which features are categorical, and the bins of their categories.")
        .def(nb::init<const Input<std::uint8_t, 1> &, const std::vector<Input<std::uint8_t, 1>> &>(), "categorical"_a,
             "bins"_a)
        .def("bins", &FeatureKinds::bins, "By feature, the bin of each category's code; empty for numbers.");

    nb::class_<FeatureTable>(m, "FeatureTable", "A table that forests grow over: [row][feature].")
        .def(nb::init<const Input<double, 2> &, const Input<std::uint8_t, 1> &>(), "rows"_a, "categorical"_a)
        .def("kinds", &FeatureTable::feature_kinds, "What forests have to know about the features later.");

    nb::class_<Samples>(m, "Samples", "The samples of pairs of trees, which have no row in common.")
        .def(nb::init<const Input<std::uint8_t, 1> &, const std::optional<Input<std::int64_t, 1>> &, std::size_t,
                      std::size_t, std::uint64_t, std::size_t, const std::optional<Input<std::uint64_t, 1>> &>(),
             "usable"_a, "originals"_a, "n_pairs"_a, "n_sample"_a, "seed"_a, "n_threads"_a = 1, "keys"_a = nb::none())
        .def_static("stored", &Samples::stored, "n_rows"_a, "rows"_a, "ends"_a,
                    "The same again from what `arrays` gave.")
        .def("arrays", &Samples::arrays, "The rows of one sample after the other, and where each ends.");

    nb::class_<Target>(
        m, "Target", "The target of a forest: a column, its distances from a trend, or the classes of its categories.")
        .def(nb::init<const Input<double, 2> &, std::size_t, double, double>(), "rows"_a, "column"_a, "low"_a, "high"_a)
        .def(nb::init<const Input<double, 2> &, std::size_t, double, double, double, const std::vector<TrendPart> &,
                      const Input<std::uint32_t, 1> &, const Input<double, 1> &, double, double>(),
             "rows"_a, "column"_a, "low"_a, "high"_a, "constant"_a, "parts"_a, "seen"_a, "divisors"_a, "lowest"_a,
             "highest"_a)
        .def(nb::init<const Input<double, 2> &, std::size_t, const Input<std::uint8_t, 1> &>(), "rows"_a, "column"_a,
             "class_of_code"_a)
        .def("values", &Target::values, "By row; NaN where it is missing.")
        .def("centers", &Target::centers, "rows"_a, "fitted"_a,
             "What the trend expects of rows; of fitted ones as if they had not been seen.");

    nb::class_<Forest>(m, "Forest", "A forest over all rows of a table, for one target.")
        .def(nb::init<const FeatureTable &, const Samples &, const Target &, const Input<std::uint16_t, 1> &,
                      std::size_t, std::size_t, std::uint64_t, std::size_t, const nb::object &>(),
             "table"_a, "samples"_a, "target"_a, "features"_a, "max_features"_a, "min_samples_leaf"_a, "seed"_a,
             "n_threads"_a = 1, "progress"_a = nb::none())
        .def(nb::init<const FeatureKinds &, const Samples &, const Target &, const Input<std::uint8_t, 1> &>(),
             "kinds"_a, "samples"_a, "target"_a, "packed"_a)
        .def("class_shares", &Forest::class_shares, "rows"_a, "fitted"_a, "strength"_a, "n_threads"_a = 1,
             "progress"_a = nb::none(),
             "How common each class is in the leaves of rows, [row][class], and last how much a prior of that strength "
             "counts.")
        .def("packed", &Forest::packed, "The forest as bytes.")
        .def("release", &Forest::release, "Keeps the packed form only.")
        .def("hold", &Forest::hold, "n_threads"_a = 1,
             "Keeps the form that rows go down fast, for who asks again and again about few rows.")
        .def("set_second_target", &Forest::set_second_target, "values"_a,
             "Something else that is known of the fitted rows, whose mean in the leaves of a row is wanted.")
        .def("deviations", &Forest::deviations, "rows"_a, "fitted"_a, "n_threads"_a = 1, "progress"_a = nb::none(),
             "The mean absolute deviation of the target in each row's distribution.")
        .def("surprises", &Forest::surprises, "rows"_a, "fitted"_a, "values"_a, "width"_a, "least_deviation"_a,
             "n_threads"_a = 1, "progress"_a = nb::none(),
             "Minus the logarithm of each row's smooth density at a value.")
        .def("quantiles", &Forest::quantiles, "rows"_a, "fitted"_a, "n"_a, "n_threads"_a = 1, "progress"_a = nb::none(),
             "The quantiles of each row's distribution at the middles of n equal shares: [row][n].")
        .def("atoms", &Forest::atoms, "rows"_a, "fitted"_a, "n_threads"_a = 1, "progress"_a = nb::none(),
             "Values that represent each row's distribution, all alike: one of each tree asked.")
        .def("weights", &Forest::weights, "row"_a, "fitted"_a,
             "How much each fitted row counts in the distribution of one row, 1 in all.");

    nb::class_<Smoothing>(m, "Smoothing", "How the distributions of a column are smoothed.")
        .def(nb::init<const std::string &, double, double, double, double, double, double>(), "shape"_a, "center"_a,
             "unit"_a, "width"_a, "surprise_width"_a, "resolution"_a, "tail_probability"_a)
        .def("transformed", &Smoothing::transformed, "values"_a, "Values on the scale on which they are smoothed.")
        .def("slopes", &Smoothing::slopes, "values"_a, "The derivative of that scale at some values.");

    m.def("column_evidence", &column_evidence, "views"_a, "smoothing"_a, "rows"_a, "fitted"_a, "values"_a,
          "n_threads"_a = 1, "progress"_a = nb::none(),
          "Of each value: minus the logarithm of the probability of one at most as dense, not calibrated; minus the "
          "logarithm of its density in each view, [row][view]; and the mean of the second target in its leaves. A view "
          "is a forest, what to add to its values by row, its share, the least kernel width, and the least deviation.");

    m.def("second_means", &second_means, "forests"_a, "rows"_a, "fitted"_a, "n_threads"_a = 1,
          "progress"_a = nb::none(), "The mean of the second target over the leaves of each row, in all forests.");

    m.def("update_change_tests", &update_change_tests, "strides"_a, "shares"_a, "payoffs"_a, "patience"_a, "limit"_a,
          "counts"_a, "wealth"_a, "best"_a, "begun"_a, "n_in_group"_a, "recent"_a, "is_over"_a, "n_before"_a,
          "levels"_a, "cells"_a, "groups"_a, "random"_a, "number"_a,
          "Tests rows of a stream for changes, one after the other, and updates the tests in place. By column: the row "
          "that settled a change, or -1.");

    m.def(
        "splice_forests",
        [](const Input<std::uint8_t, 1> &older, std::size_t n_dropped, const Input<std::uint8_t, 1> &newer) {
            for (const auto *each : {&older, &newer}) {
                require(reinterpret_cast<std::uintptr_t>(each->data()) % alignof(std::uint64_t) == 0,
                        "forests: aligned");
            }
            const std::vector<std::uint8_t> bytes =
                paribus::PackedForest::splice(older.data(), older.shape(0), n_dropped, newer.data(), newer.shape(0));
            auto packed = new_array<std::uint8_t, 1>({bytes.size()});
            std::copy(bytes.begin(), bytes.end(), packed.data());
            return packed;
        },
        "older"_a, "n_dropped"_a, "newer"_a,
        "A packed forest without its first trees, and with those of another one of the same features at its end.");

    m.def("column_quantiles", &column_quantiles, "views"_a, "smoothing"_a, "rows"_a, "fitted"_a, "levels"_a,
          "n_threads"_a = 1, "The quantiles of the smooth distributions of rows at some levels: [row][level].");

    m.def("reference_rows", &reference_rows, "features"_a, "fitted_rows"_a, "ranges"_a, "rows"_a, "fitted"_a,
          "n_reference"_a, "n_threads"_a = 1,
          "The fitted rows that share most leaves with rows, nearest first, -1 where there are fewer; their distances; "
          "and how much each counts, [row][feature][reference row]. A feature is a list of forests and their shares.");

    m.def(
        "column_surprises",
        [](const Input<double, 1> &atoms, double scale, const Input<double, 1> &values,
           const Input<std::uint8_t, 1> &is_own, std::size_t n_threads) {
            require(atoms.shape(0) >= 2 && scale > 0.0, "two atoms or more, and a scale above 0");
            require(is_own.shape(0) == values.shape(0), "is_own: one per value");
            auto result = new_array<double, 1>({values.shape(0)});
            const nb::gil_scoped_release released;
            paribus::column_surprises(atoms.data(), atoms.shape(0), scale, values.data(), is_own.data(),
                                      values.shape(0), result.data(), n_threads);
            return result;
        },
        "atoms"_a, "scale"_a, "values"_a, "is_own"_a, "n_threads"_a = 1,
        "Minus the logarithm of the smooth density around atoms at some values, without the value itself if it is "
        "one.");

    m.def(
        "checksum",
        [](const Input<std::uint8_t, 1> &bytes) {
            const nb::gil_scoped_release released;
            return paribus::checksum(bytes.data(), bytes.shape(0));
        },
        "bytes"_a, "A checksum that finds damage, at several gigabytes per second.");

    m.def(
        "check_rows",
        [](const Input<double, 2> &rows, const Input<std::uint8_t, 1> &is_number, const Input<double, 1> &n_codes,
           double largest) {
            const std::size_t n = rows.shape(1);
            require(is_number.shape(0) == n && n_codes.shape(0) == n, "one per column");
            const nb::gil_scoped_release released;
            bool is_sound = true, is_quiet = true;
            for (std::size_t i = 0; i < rows.shape(0); ++i) {
                for (std::size_t f = 0; f < n; ++f) {
                    const double value = rows.data()[i * n + f];
                    if (std::isnan(value)) {
                        is_quiet &= std::bit_cast<std::uint64_t>(value) >> 51 == 0xfff;
                    } else if (is_number.data()[f] != 0) {
                        is_sound &= std::fabs(value) <= largest;
                    } else {
                        is_sound &= value >= 0.0 && value < n_codes.data()[f] && value == std::floor(value);
                    }
                }
            }
            return std::make_tuple(is_sound, is_quiet);
        },
        "rows"_a, "is_number"_a, "n_codes"_a, "largest"_a,
        "Whether all numbers are within range and all categories codes; and whether all NaN are quiet and positive.");

    m.def("kernel", [] { return std::string(paribus::kernel().name); }, "The build of the hot loops in use.");
    m.def("kernels", &kernel_names, "The builds that this machine can run, the fastest last.");
    m.def(
        "use_kernel", [](const std::string &name) { paribus::use_kernel(paribus::find_kernel(name.c_str())); },
        "name"_a, "Chooses the build in use; all give the same bits.");
}
