#include "bindings/forest.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/areas.hpp"
#include "surprise/class_shares.hpp"
#include "surprise/distributions.hpp"
#include "surprise/evidence.hpp"
#include "surprise/found_leaves.hpp"

namespace bindings {

namespace {

bool are_new(const paribus::AskedRows &asked) {
    return std::all_of(asked.fitted, asked.fitted + asked.n_rows, [](std::int64_t row) { return row < 0; });
}

}  // namespace

Forest::Forest(const FeatureTable &table, const Samples &samples, const Target &target,
               const Input<std::uint16_t, 1> &features, std::size_t max_features, std::size_t min_samples_leaf,
               std::uint64_t seed, std::size_t n_threads, const nb::object &progress, bool keeps_leaves)
    : kinds_(table.get().kinds()), samples_(samples.get()), target_(target), rows_(table.rows()) {
    const paribus::FeatureTable &core = table.get();
    require(target.get()->n_rows() == core.n_rows() && samples_->n_rows() == core.n_rows(),
            "target and samples: of the same table");
    std::vector<bool> has_target(core.n_rows());
    for (std::uint32_t row = 0; row < has_target.size(); ++row) has_target[row] = !std::isnan((*target.get())[row]);
    for (std::size_t tree = 0; tree < 2 * samples_->n_pairs(); ++tree) {
        for (const std::uint32_t row : samples_->sample(tree)) {
            require(has_target[row], "samples: rows that have a target");
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
        const auto grown =
            std::make_shared<paribus::TableForest>(core, *samples_, *target.get(), parameters, seed, n_threads, tick);
        bytes = grown->pack(parameters.features, keeps_leaves && paribus::FoundLeaves::could_store(*samples_));
        hold(grown);
    }
    packed_ = nb::cast<Input<std::uint8_t, 1>>(nb::cast(as_array(std::move(bytes))));
    open();
}

Forest::Forest(const FeatureKinds &kinds, const Samples &samples, const Target &target, const Input<double, 2> &rows,
               const Input<std::uint8_t, 1> &packed)
    : kinds_(kinds.get()), samples_(samples.get()), target_(target), rows_(rows), packed_(packed) {
    require(rows.shape(0) == samples_->n_rows() && rows.shape(1) == kinds_->n_features(),
            "rows: [row][feature] as fitted");
    require(target.get()->n_rows() == samples_->n_rows(), "target and samples: of the same table");
    require(reinterpret_cast<std::uintptr_t>(packed_.data()) % alignof(std::uint64_t) == 0, "packed: aligned");
    open();
}

std::shared_ptr<const paribus::TableForest> Forest::held() const {
    const std::lock_guard lock(lock_);
    return held_;
}

void Forest::hold(std::shared_ptr<const paribus::TableForest> forest) const {
    const std::lock_guard lock(lock_);
    held_ = std::move(forest);
}

void Forest::hold(std::size_t n_threads) {
    const auto already = held();
    holds_for_good_ = true;
    if (already && !already->is_for_new_rows()) return;
    const nb::gil_scoped_release released;
    hold(std::make_shared<paribus::TableForest>(*forest_, false, n_threads));
}

void Forest::keep(bool keeps) {
    n_keeping_ += keeps ? 1 : -1;
    if (n_keeping_ <= 0 && !holds_for_good_) hold(nullptr);
}

void Forest::release() {
    holds_for_good_ = false;
    hold(nullptr);
}

void Forest::set_second_target(const Input<std::uint8_t, 1> &values) {
    require(values.shape(0) == samples_->n_rows(), "values: one per row of the table");
    second_target_ = values;
    open();
    release();
}

std::shared_ptr<const paribus::TableForest> Forest::get_grown() const {
    auto already = held();
    if (!already || already->leaf_rows().empty()) return nullptr;
    const auto all = std::make_shared<std::tuple<decltype(already), decltype(kinds_), decltype(samples_)>>(
        already, kinds_, samples_);
    return {all, already.get()};
}

std::shared_ptr<const paribus::TableForest> Forest::get_held(const paribus::AskedRows &asked) const {
    auto already = held();
    return already && (!already->is_for_new_rows() || are_new(asked)) ? already : nullptr;
}

std::shared_ptr<const paribus::LeafFinder> Forest::get(const paribus::AskedRows &asked, std::size_t n_threads) const {
    if (auto already = get_held(asked)) return already;
    const bool for_new_rows = are_new(asked);
    if (asked.n_rows < forest_->min_rows_to_unpack(for_new_rows)) return forest_;
    auto unpacked = std::make_shared<paribus::TableForest>(*forest_, for_new_rows, n_threads);
    if (n_keeping_ > 0) hold(unpacked);
    return unpacked;
}

Output<double, 1> Forest::deviations(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                     std::size_t n_threads, const nb::object &progress) const {
    const paribus::AskedRows asked = check(rows, fitted);
    auto result = new_array<double, 1>({asked.n_rows});
    const paribus::Tick tick = python_tick(progress);
    const nb::gil_scoped_release released;
    paribus::find_deviations(asked, *get(asked, n_threads), result.data(), n_threads, tick);
    return result;
}

Output<double, 1> Forest::surprises(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
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

Output<double, 2> Forest::quantiles(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, std::size_t n,
                                    std::size_t n_threads, const nb::object &progress) const {
    const paribus::AskedRows asked = check(rows, fitted);
    require(n >= 1, "n: at least 1");
    auto result = new_array<double, 2>({asked.n_rows, n});
    const paribus::Tick tick = python_tick(progress);
    const nb::gil_scoped_release released;
    paribus::find_quantiles(asked, *get(asked, n_threads), n, result.data(), n_threads, tick);
    return result;
}

Output<double, 2> Forest::class_shares(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                       double strength, std::size_t n_threads, const nb::object &progress) const {
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

Output<double, 2> Forest::atoms(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                std::size_t n_threads, const nb::object &progress) const {
    const paribus::AskedRows asked = check(rows, fitted);
    auto result = new_array<double, 2>({asked.n_rows, forest_->n_pairs()});
    const paribus::Tick tick = python_tick(progress);
    const nb::gil_scoped_release released;
    paribus::find_atoms(asked, *get(asked, n_threads), result.data(), n_threads, tick);
    return result;
}

Output<double, 1> Forest::weights(const Input<double, 1> &row, std::int64_t fitted) const {
    require(row.shape(0) == kinds_->n_features(), "row: one value per feature");
    require(fitted < static_cast<std::int64_t>(samples_->n_rows()), "an unknown fitted row");
    auto result = new_array<double, 1>({samples_->n_rows()});
    std::fill_n(result.data(), samples_->n_rows(), 0.0);
    std::vector<std::uint32_t> found;
    std::vector<std::size_t> ends;
    forest_->find_rows({1, row.data(), &fitted}, 0, found, ends);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
        const double weight = 1.0 / static_cast<double>((end - begin) * forest_->n_pairs());
        for (; begin < end; ++begin) result.data()[found[begin]] += weight;
    }
    return result;
}

paribus::AskedRows Forest::check(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted) const {
    require(rows.shape(1) == kinds_->n_features(), "rows: [row][feature] as fitted");
    require(fitted.shape(0) == rows.shape(0), "fitted: one fitted row, or -1, for each row");
    for (std::size_t i = 0; i < fitted.shape(0); ++i) {
        require(fitted.data()[i] < static_cast<std::int64_t>(samples_->n_rows()), "an unknown fitted row");
    }
    return {rows.shape(0), rows.data(), fitted.data()};
}

void Forest::open() {
    const auto opened = std::make_shared<paribus::PackedForest>(*kinds_, *samples_, *target_.get(), rows_.data(),
                                                                packed_.data(), packed_.shape(0));
    if (second_target_) opened->set_second_target(second_target_->data());
    forest_ = opened;
}

void add_forests(nb::module_ &m) {
    nb::class_<Forest>(m, "Forest", "A forest over all rows of a table, for one target.")
        .def(nb::init<const FeatureTable &, const Samples &, const Target &, const Input<std::uint16_t, 1> &,
                      std::size_t, std::size_t, std::uint64_t, std::size_t, const nb::object &, bool>(),
             "table"_a, "samples"_a, "target"_a, "features"_a, "max_features"_a, "min_samples_leaf"_a, "seed"_a,
             "n_threads"_a = 1, "progress"_a = nb::none(), "keeps_leaves"_a = false)
        .def(nb::init<const FeatureKinds &, const Samples &, const Target &, const Input<double, 2> &,
                      const Input<std::uint8_t, 1> &>(),
             "kinds"_a, "samples"_a, "target"_a, "rows"_a, "packed"_a)
        .def("class_shares", &Forest::class_shares, "rows"_a, "fitted"_a, "strength"_a, "n_threads"_a = 1,
             "progress"_a = nb::none(),
             "How common each class is in the leaves of rows, [row][class], and last the weight of a prior of that "
             "strength.")
        .def("packed", &Forest::packed, "The forest as bytes.")
        .def("release", &Forest::release, "Keeps the packed form only.")
        .def("hold", nb::overload_cast<std::size_t>(&Forest::hold), "n_threads"_a = 1,
             "Keeps the unpacked form, which is faster for repeated calls with few rows.")
        .def("keep", &Forest::keep, "keeps"_a,
             "From now on keeps what a call has to unpack; or gives it up, when it has been told so as many times.")
        .def("set_second_target", &Forest::set_second_target, "values"_a,
             "Sets a second target of the fitted rows, whose mean over the leaves of a row can be queried.")
        .def("deviations", &Forest::deviations, "rows"_a, "fitted"_a, "n_threads"_a = 1, "progress"_a = nb::none(),
             "The mean absolute deviation of the target in each row's distribution.")
        .def("surprises", &Forest::surprises, "rows"_a, "fitted"_a, "values"_a, "width"_a, "least_deviation"_a,
             "n_threads"_a = 1, "progress"_a = nb::none(),
             "Minus the logarithm of each row's smooth density at a value.")
        .def("quantiles", &Forest::quantiles, "rows"_a, "fitted"_a, "n"_a, "n_threads"_a = 1, "progress"_a = nb::none(),
             "The quantiles of each row's distribution at the middles of n equal shares: [row][n].")
        .def("atoms", &Forest::atoms, "rows"_a, "fitted"_a, "n_threads"_a = 1, "progress"_a = nb::none(),
             "Values that represent each row's distribution, with equal weights: one of each tree used.")
        .def("weights", &Forest::weights, "row"_a, "fitted"_a,
             "The weight of each fitted row in the distribution of one row; they sum to 1.");

    m.def(
        "splice_forests",
        [](const Input<std::uint8_t, 1> &older, std::size_t n_dropped, const Input<std::uint8_t, 1> &newer) {
            for (const auto *each : {&older, &newer}) {
                require(reinterpret_cast<std::uintptr_t>(each->data()) % alignof(std::uint64_t) == 0,
                        "forests: aligned");
            }
            return as_array(
                paribus::PackedForest::splice(older.data(), older.shape(0), n_dropped, newer.data(), newer.shape(0)));
        },
        "older"_a, "n_dropped"_a, "newer"_a,
        "A packed forest without its first trees, and with those of another one of the same features at its end.");
}

}  // namespace bindings
