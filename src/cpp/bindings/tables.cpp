#include "bindings/tables.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/areas.hpp"
#include "common/gaps.hpp"

namespace bindings {

namespace {

/// The number of rows, once they are known to be valid.
std::size_t n_rows(const Input<double, 2> &rows, const Input<std::uint8_t, 1> &categorical) {
    const std::size_t n = rows.shape(0), n_features = rows.shape(1);
    require(n >= 2 && n < 0xffffffffu, "2 to 4,294,967,294 rows");
    require(n_features < 0xffff && categorical.shape(0) == n_features, "categorical: one per feature");
    for (std::size_t f = 0; f < n_features; ++f) {
        for (std::size_t row = 0; row < n && categorical.data()[f] != 0; ++row) {
            // At most as many categories as rows.
            require_code(rows.data()[row * n_features + f], static_cast<double>(n));
        }
    }
    return n;
}

/// @throws std::invalid_argument unless lists of so many numbers in all may end there
void check_ends(const Input<std::uint32_t, 1> &ends, std::size_t n) {
    std::size_t begin = 0;
    for (std::size_t list = 0; list < ends.shape(0); ++list) {
        require(begin <= ends.data()[list], "ends: in ascending order");
        begin = ends.data()[list];
    }
    require(begin == n, "ends: the last one is the end of the rows");
}

}  // namespace

FeatureKinds::FeatureKinds(const Input<std::uint8_t, 1> &categorical, const List<Input<std::uint8_t, 1>> &given_bins) {
    const std::vector<Input<std::uint8_t, 1>> bins = items(given_bins);
    auto found = std::make_shared<paribus::FeatureKinds>();
    require(bins.size() == categorical.shape(0), "bins: one array per feature");
    found->kinds = kinds(categorical);
    for (const auto &each : bins) found->bin_of_code.emplace_back(each.data(), each.data() + each.shape(0));
    kinds_ = found;
}

std::vector<Output<std::uint8_t, 1>> FeatureKinds::bins() const {
    std::vector<Output<std::uint8_t, 1>> found;
    for (const auto &each : kinds_->bin_of_code) {
        found.push_back(new_array<std::uint8_t, 1>({each.size()}));
        std::copy(each.begin(), each.end(), found.back().data());
    }
    return found;
}

FeatureTable::FeatureTable(const Input<double, 2> &rows, const Input<std::uint8_t, 1> &categorical)
    : rows_(rows),
      table_(std::make_shared<paribus::FeatureTable>(n_rows(rows, categorical), kinds(categorical), rows.data())) {}

Samples::Samples(const Input<std::uint8_t, 1> &usable, const std::optional<Input<std::int64_t, 1>> &originals,
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

Samples Samples::stored(std::size_t n_rows, const Input<std::uint32_t, 1> &rows, const Input<std::uint32_t, 1> &ends) {
    require(ends.shape(0) >= 2 && ends.shape(0) % 2 == 0 && ends.shape(0) <= 20000, "1 to 10,000 pairs");
    check_ends(ends, rows.shape(0));
    std::size_t begin = 0;
    for (std::size_t tree = 0; tree < ends.shape(0); ++tree) {
        const std::size_t end = ends.data()[tree];
        for (std::size_t i = begin; i < end; ++i) {
            require(rows.data()[i] < n_rows && (i == begin || rows.data()[i - 1] < rows.data()[i]),
                    "samples: known rows in ascending order");
        }
        begin = end;
    }
    Samples found;
    found.samples_ = std::make_shared<paribus::TreeSamples>(n_rows, rows.data(), ends.data(), ends.shape(0) / 2);
    return found;
}

std::tuple<Output<std::uint32_t, 1>, Output<std::uint32_t, 1>> Samples::arrays() const {
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

Output<std::uint8_t, 1> Samples::pack(const Input<std::uint32_t, 1> &rows, const Input<std::uint32_t, 1> &ends) {
    check_ends(ends, rows.shape(0));
    const std::vector<std::uint8_t> bytes = paribus::pack_gaps(rows.data(), ends.data(), ends.shape(0));
    auto packed = new_array<std::uint8_t, 1>({bytes.size()});
    std::copy(bytes.begin(), bytes.end(), packed.data());
    return packed;
}

Output<std::uint32_t, 1> Samples::unpack(const Input<std::uint8_t, 1> &packed, const Input<std::uint32_t, 1> &ends) {
    // Each row takes a byte at least, so that no more memory is taken than there are bytes for.
    const std::size_t n = ends.shape(0) == 0 ? 0 : ends.data()[ends.shape(0) - 1];
    require(n <= packed.shape(0), "ends: no more rows than bytes");
    check_ends(ends, n);
    auto rows = new_array<std::uint32_t, 1>({n});
    require(paribus::unpack_gaps(packed.data(), packed.shape(0), ends.data(), ends.shape(0), rows.data()),
            "packed: as many rows as the last end says");
    return rows;
}

static paribus::Limits limits_of(const std::optional<Bounds> &bounds) {
    if (!bounds) return {};
    return {std::get<0>(*bounds), std::get<1>(*bounds)};
}

Target::Target(const Input<double, 2> &rows, std::size_t column, double low, double high,
               const std::optional<Bounds> &placeholders)
    : rows_(rows) {
    require(column < rows.shape(1), "an unknown column");
    require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
    target_ =
        std::make_shared<paribus::TargetColumn>(rows.data(), rows.shape(0), rows.shape(1), column,
                                                paribus::Limits{low, high}, limits_of(placeholders), std::nullopt);
}

Target::Target(const Input<double, 2> &rows, std::size_t column, const Input<std::uint8_t, 1> &class_of_code)
    : rows_(rows) {
    require(column < rows.shape(1), "an unknown column");
    require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
    require(class_of_code.shape(0) > 0, "class_of_code: one or more");
    std::vector<std::uint8_t> classes(class_of_code.data(), class_of_code.data() + class_of_code.shape(0));
    target_ =
        std::make_shared<paribus::TargetColumn>(rows.data(), rows.shape(0), rows.shape(1), column, std::move(classes));
}

Target::Target(const Input<double, 2> &rows, std::size_t column, double low, double high, double constant,
               const List<TrendPart> &parts, const Input<std::uint32_t, 1> &seen, const Input<double, 1> &divisors,
               double lowest, double highest, const std::optional<Bounds> &placeholders)
    : rows_(rows) {
    require(column < rows.shape(1), "an unknown column");
    require(rows.shape(0) < 0xffffffffu, "rows: below 4,294,967,295");
    paribus::Trend trend = {};
    trend.constant = constant;
    for (const auto &[feature, least, most, center, slope, amounts] : items(parts)) {
        require(feature < rows.shape(1), "an unknown feature");
        trend.parts.push_back({feature, amounts.has_value(), {least, most}, center, slope, {}});
        if (amounts) trend.parts.back().amounts.assign(amounts->data(), amounts->data() + amounts->shape(0));
    }
    require(seen.shape(0) == divisors.shape(0), "divisors: one per row seen");
    trend.seen.assign(seen.data(), seen.data() + seen.shape(0));
    trend.divisors.assign(divisors.data(), divisors.data() + divisors.shape(0));
    trend.limits = {lowest, highest};
    target_ =
        std::make_shared<paribus::TargetColumn>(rows.data(), rows.shape(0), rows.shape(1), column,
                                                paribus::Limits{low, high}, limits_of(placeholders), std::move(trend));
}

Output<double, 1> Target::values() const {
    auto found = new_array<double, 1>({target_->n_rows()});
    const nb::gil_scoped_release released;
    for (std::uint32_t row = 0; row < target_->n_rows(); ++row) found.data()[row] = (*target_)[row];
    return found;
}

Output<double, 1> Target::centers(const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted) const {
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

void add_tables(nb::module_ &m) {
    nb::class_<FeatureKinds>(m, "FeatureKinds", "Which features are categorical, and the bins of their categories.")
        .def(nb::init<const Input<std::uint8_t, 1> &, const List<Input<std::uint8_t, 1>> &>(), "categorical"_a,
             "bins"_a)
        .def("bins", &FeatureKinds::bins, "By feature, the bin of each category's code; empty for numbers.");

    nb::class_<FeatureTable>(m, "FeatureTable", "A table that forests grow over: [row][feature].")
        .def(nb::init<const Input<double, 2> &, const Input<std::uint8_t, 1> &>(), "rows"_a, "categorical"_a)
        .def("kinds", &FeatureTable::feature_kinds,
             "The kinds of features and the bins of categories, which forests need.");

    nb::class_<Samples>(m, "Samples", "The samples of pairs of trees, which have no row in common.")
        .def(nb::init<const Input<std::uint8_t, 1> &, const std::optional<Input<std::int64_t, 1>> &, std::size_t,
                      std::size_t, std::uint64_t, std::size_t, const std::optional<Input<std::uint64_t, 1>> &>(),
             "usable"_a, "originals"_a, "n_pairs"_a, "n_sample"_a, "seed"_a, "n_threads"_a = 1, "keys"_a = nb::none())
        .def_static("stored", &Samples::stored, "n_rows"_a, "rows"_a, "ends"_a,
                    "The same again from what `arrays` gave.")
        .def("arrays", &Samples::arrays, "The rows of one sample after the other, and where each ends.")
        .def_static("pack", &Samples::pack, "rows"_a, "ends"_a, "The rows of samples as the differences between them.")
        .def_static("unpack", &Samples::unpack, "packed"_a, "ends"_a, "The rows again from what `pack` gave.");

    nb::class_<Target>(
        m, "Target", "The target of a forest: a column, its distances from a trend, or the classes of its categories.")
        .def(nb::init<const Input<double, 2> &, std::size_t, double, double, const std::optional<Bounds> &>(), "rows"_a,
             "column"_a, "low"_a, "high"_a, "placeholders"_a = nb::none())
        .def(nb::init<const Input<double, 2> &, std::size_t, double, double, double, const List<TrendPart> &,
                      const Input<std::uint32_t, 1> &, const Input<double, 1> &, double, double,
                      const std::optional<Bounds> &>(),
             "rows"_a, "column"_a, "low"_a, "high"_a, "constant"_a, "parts"_a, "seen"_a, "divisors"_a, "lowest"_a,
             "highest"_a, "placeholders"_a = nb::none())
        .def(nb::init<const Input<double, 2> &, std::size_t, const Input<std::uint8_t, 1> &>(), "rows"_a, "column"_a,
             "class_of_code"_a)
        .def("values", &Target::values, "By row; NaN where it is missing.")
        .def("centers", &Target::centers, "rows"_a, "fitted"_a,
             "The predictions of the trend for rows; out of sample for fitted ones.");
}

}  // namespace bindings
