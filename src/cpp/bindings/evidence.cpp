#include "surprise/evidence.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "bindings/areas.hpp"
#include "bindings/arrays.hpp"
#include "bindings/forest.hpp"
#include "bindings/lists.hpp"
#include "surprise/reference_rows.hpp"
#include "surprise/whole_column.hpp"

namespace bindings {

namespace {

/// How a column is smoothed: everything that does not depend on the row.
class Smoothing {
public:
    Smoothing(const char *shape_name, double center, double unit, double width, double surprise_width,
              double resolution, double tail_probability) {
        const std::string_view shape = shape_name;
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

/// The leaves that rows were found in, of forests over one table. They are stored once, and read only then: threads
/// need not take turns.
class FoundLeaves {
public:
    /// Only forests that were grown to keep their leaves, and have not been released, have some that can be stored.
    FoundLeaves(const List<const Forest *> &given_forests, std::size_t n_rows) : n_rows_(n_rows) {
        for (const Forest *forest : items(given_forests)) {
            const std::size_t n_fitted = forest->packed_forest().samples().n_rows();
            require(grown_.empty() || n_fitted == n_fitted_, "forests: of the same table");
            n_fitted_ = n_fitted;
            grown_.push_back(forest->get_grown());
        }
        try {
            if (paribus::FoundLeaves::can_store(grown_)) core_.emplace(grown_, n_rows);
        } catch (const std::bad_alloc &) {
            // There is another way, which takes longer.
        }
        if (!core_) grown_.clear();
    }

    bool can_store() const { return core_.has_value(); }

    /// Lets `find` store the leaves that forests find; it is given null if they cannot be stored.
    template <typename Find>
    void store(const std::vector<std::shared_ptr<const paribus::LeafFinder>> &forests, std::size_t n_rows,
               const Find &find) {
        if (!core_) return find(nullptr);
        require(n_rows == n_rows_, "leaves: of as many rows");
        require(std::equal(forests.begin(), forests.end(), grown_.begin(), grown_.end(),
                           [](const auto &a, const auto &b) { return a.get() == b.get(); }),
                "leaves: of the same forests");
        State expected = State::none;
        require(state_.compare_exchange_strong(expected, State::some), "leaves: stored once only");
        try {
            find(&*core_);
        } catch (...) {
            state_ = State::none;
            throw;
        }
        state_ = State::all;
    }

    Output<double, 1> second_means(const Input<std::uint8_t, 1> &values, std::size_t n_threads) const {
        require(state_ == State::all, "leaves: none were stored");
        require(values.shape(0) == n_fitted_, "values: one per row of the table");
        auto result = new_array<double, 1>({n_rows_});
        const nb::object nothing = nb::none();
        const paribus::Tick tick = python_tick(nothing);
        const nb::gil_scoped_release released;
        core_->find_second_means(values.data(), result.data(), n_threads, tick);
        return result;
    }

private:
    /// How much has been stored.
    enum class State { none, some, all };

    std::size_t n_rows_, n_fitted_ = 0;
    std::atomic<State> state_ = State::none;
    std::vector<std::shared_ptr<const paribus::TableForest>> grown_;
    std::optional<paribus::FoundLeaves> core_;
};

using View = std::tuple<const Forest *, std::optional<Input<double, 1>>, double, double, double>;

/// The forests of views in the form that suits the rows; unpacking them takes a while.
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

/// Views as the core has them, but for their forests; and the rows.
std::vector<paribus::SmoothView> check_views(const std::vector<View> &views, const Input<double, 2> &rows,
                                             const Input<std::int64_t, 1> &fitted, paribus::AskedRows &asked) {
    require(!views.empty(), "one view or more");
    std::vector<paribus::SmoothView> smooth;
    for (const auto &[forest, centers, share, min_width, min_deviation] : views) {
        asked = forest->check(rows, fitted);
        require(!centers || centers->shape(0) == asked.n_rows, "centers: one per row");
        require(share >= 0.0 && min_width > 0.0 && min_deviation > 0.0, "share: not below 0; least widths: above 0");
        smooth.push_back({nullptr, centers ? centers->data() : nullptr, share, min_width, min_deviation});
    }
    return smooth;
}

std::vector<double> check_levels(const Input<double, 1> &levels) {
    std::vector<double> wanted(levels.data(), levels.data() + levels.shape(0));
    require(std::is_sorted(wanted.begin(), wanted.end()), "levels: ascending");
    return wanted;
}

/// The number of pairs of trees, which all views must have.
std::size_t check_n_pairs(const std::vector<View> &views) {
    require(!views.empty(), "one view or more");
    const std::size_t n_pairs = std::get<0>(views[0])->packed_forest().n_pairs();
    for (const View &view : views) {
        require(std::get<0>(view)->packed_forest().n_pairs() == n_pairs, "forests: of as many trees");
    }
    return n_pairs;
}

std::tuple<Output<double, 1>, Output<double, 2>, Output<double, 1>> column_evidence(
    const List<View> &given_views, const Smoothing &smoothing, const Input<double, 2> &rows,
    const Input<std::int64_t, 1> &fitted, const Input<double, 1> &values, std::size_t n_threads,
    const nb::object &progress, FoundLeaves *leaves) {
    const std::vector<View> views = items(given_views);
    paribus::AskedRows asked = {};
    std::vector<paribus::SmoothView> smooth = check_views(views, rows, fitted, asked);
    require(values.shape(0) == asked.n_rows, "values: one per row");
    auto evidence = new_array<double, 1>({asked.n_rows});
    auto surprises = new_array<double, 2>({asked.n_rows, views.size()});
    auto seconds = new_array<double, 1>({asked.n_rows});
    const paribus::Tick tick = python_tick(progress);
    {
        const nb::gil_scoped_release released;
        const auto forests = get_forests(views, asked, n_threads, smooth);
        const auto find = [&](paribus::FoundLeaves *found) {
            paribus::find_evidence(asked, smooth, smoothing.get(), values.data(), evidence.data(), surprises.data(),
                                   seconds.data(), n_threads, tick, nullptr, found);
        };
        if (leaves == nullptr) {
            find(nullptr);
        } else {
            leaves->store(forests, asked.n_rows, find);
        }
    }
    return {evidence, surprises, seconds};
}

std::tuple<Output<double, 1>, Output<double, 2>, Output<double, 1>, Output<double, 2>, Output<double, 3>>
column_findings(const List<View> &given_views, const Smoothing &smoothing, const Input<double, 2> &rows,
                const Input<std::int64_t, 1> &fitted, const Input<double, 1> &values, const Input<double, 1> &levels,
                std::size_t n_threads) {
    const std::vector<View> views = items(given_views);
    paribus::AskedRows asked = {};
    std::vector<paribus::SmoothView> smooth = check_views(views, rows, fitted, asked);
    require(values.shape(0) == asked.n_rows, "values: one per row");
    const std::size_t n_pairs = check_n_pairs(views);
    auto evidence = new_array<double, 1>({asked.n_rows});
    auto surprises = new_array<double, 2>({asked.n_rows, views.size()});
    auto seconds = new_array<double, 1>({asked.n_rows});
    paribus::CloserLook closer = {check_levels(levels), nullptr, {}};
    auto quantiles = new_array<double, 2>({asked.n_rows, closer.levels.size()});
    auto atoms = new_array<double, 3>({views.size(), asked.n_rows, n_pairs});
    closer.quantiles = quantiles.data();
    for (std::size_t v = 0; v < views.size(); ++v) closer.atoms.push_back(atoms.data() + v * asked.n_rows * n_pairs);
    const nb::object nothing = nb::none();
    const paribus::Tick tick = python_tick(nothing);
    {
        const nb::gil_scoped_release released;
        const auto forests = get_forests(views, asked, n_threads, smooth);
        paribus::find_evidence(asked, smooth, smoothing.get(), values.data(), evidence.data(), surprises.data(),
                               seconds.data(), n_threads, tick, &closer);
    }
    return {evidence, surprises, seconds, quantiles, atoms};
}

Output<double, 1> second_means(const List<const Forest *> &given_forests, const Input<double, 2> &rows,
                               const Input<std::int64_t, 1> &fitted, std::size_t n_threads,
                               const nb::object &progress) {
    const std::vector<const Forest *> forests = items(given_forests);
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

Output<double, 2> column_quantiles(const List<View> &given_views, const Smoothing &smoothing,
                                   const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted,
                                   const Input<double, 1> &levels, std::size_t n_threads) {
    const std::vector<View> views = items(given_views);
    paribus::AskedRows asked = {};
    std::vector<paribus::SmoothView> smooth = check_views(views, rows, fitted, asked);
    const std::vector<double> wanted = check_levels(levels);
    auto result = new_array<double, 2>({asked.n_rows, wanted.size()});
    const nb::object nothing = nb::none();
    const paribus::Tick tick = python_tick(nothing);
    const nb::gil_scoped_release released;
    const auto forests = get_forests(views, asked, n_threads, smooth);
    paribus::find_smooth_quantiles(asked, smooth, smoothing.get(), wanted, result.data(), n_threads, tick);
    return result;
}

std::tuple<Output<double, 2>, Output<double, 3>> column_distributions(
    const List<View> &given_views, const Smoothing &smoothing, const Input<double, 2> &rows,
    const Input<std::int64_t, 1> &fitted, const Input<double, 1> &levels, std::size_t n_threads) {
    const std::vector<View> views = items(given_views);
    paribus::AskedRows asked = {};
    std::vector<paribus::SmoothView> smooth = check_views(views, rows, fitted, asked);
    const std::vector<double> wanted = check_levels(levels);
    const std::size_t n_pairs = check_n_pairs(views);
    auto quantiles = new_array<double, 2>({asked.n_rows, wanted.size()});
    auto atoms = new_array<double, 3>({views.size(), asked.n_rows, n_pairs});
    std::vector<double *> of_views;
    for (std::size_t v = 0; v < views.size(); ++v) of_views.push_back(atoms.data() + v * asked.n_rows * n_pairs);
    const nb::object nothing = nb::none();
    const paribus::Tick tick = python_tick(nothing);
    {
        const nb::gil_scoped_release released;
        const auto forests = get_forests(views, asked, n_threads, smooth);
        paribus::find_smooth_quantiles(asked, smooth, smoothing.get(), wanted, quantiles.data(), n_threads, tick,
                                       of_views);
    }
    return {quantiles, atoms};
}

Output<double, 2> quantiles_of_atoms(const List<View> &given_views, const Smoothing &smoothing,
                                     const Input<double, 3> &atoms, const Input<double, 1> &levels,
                                     std::size_t n_threads) {
    const std::vector<View> views = items(given_views);
    const std::size_t n_rows = atoms.shape(1), n_pairs = check_n_pairs(views);
    require(atoms.shape(0) == views.size() && atoms.shape(2) == n_pairs, "atoms: [view][row][pair]");
    std::vector<paribus::SmoothView> smooth;
    std::vector<const double *> of_views;
    for (std::size_t v = 0; v < views.size(); ++v) {
        const auto &[forest, centers, share, min_width, min_deviation] = views[v];
        require(!centers || centers->shape(0) == n_rows, "centers: one per row");
        require(share >= 0.0 && min_width > 0.0 && min_deviation > 0.0, "share: not below 0; least widths: above 0");
        smooth.push_back(
            {&forest->packed_forest(), centers ? centers->data() : nullptr, share, min_width, min_deviation});
        of_views.push_back(atoms.data() + v * n_rows * n_pairs);
    }
    const std::vector<double> wanted = check_levels(levels);
    auto result = new_array<double, 2>({n_rows, wanted.size()});
    const nb::gil_scoped_release released;
    paribus::find_quantiles_of_atoms(n_rows, of_views, smooth, smoothing.get(), wanted, result.data(), n_threads);
    return result;
}

using Counted = std::tuple<const Forest *, double>;

std::tuple<Output<std::int64_t, 2>, Output<double, 2>, Output<double, 3>> reference_rows(
    const List<List<Counted>> &features, const Input<double, 2> &fitted_rows, const Input<double, 1> &ranges,
    const Input<double, 2> &rows, const Input<std::int64_t, 1> &fitted, std::size_t n_reference,
    std::size_t n_threads) {
    const std::size_t n_fitted = fitted_rows.shape(0), n_rows = rows.shape(0);
    require(rows.shape(1) == fitted_rows.shape(1) && fitted.shape(0) == n_rows, "rows: [row][feature] as fitted");
    require(ranges.shape(0) <= rows.shape(1), "ranges: one per contextual feature");
    for (std::size_t i = 0; i < n_rows; ++i) {
        require(fitted.data()[i] < static_cast<std::int64_t>(n_fitted), "an unknown fitted row");
    }
    const paribus::AskedRows asked = {n_rows, rows.data(), fitted.data()};
    std::vector<std::vector<paribus::CountedForest>> counted;
    std::vector<std::shared_ptr<const paribus::TableForest>> unpacked;
    for (const auto &each : items(features)) {
        counted.emplace_back();
        for (const auto &[forest, share] : items(each)) {
            forest->check(rows, fitted);
            require(forest->packed_forest().samples().n_rows() == n_fitted, "forests: of the same table");
            unpacked.push_back(forest->get_held(asked));
            const bool is_of_use = unpacked.back() && unpacked.back()->has_heads();
            counted.back().push_back({&forest->packed_forest(), share, is_of_use ? unpacked.back().get() : nullptr});
        }
    }
    const paribus::ContextDistance distance = {
        fitted_rows.data(), rows.shape(1), {ranges.data(), ranges.data() + ranges.shape(0)}};
    auto positions = new_array<std::int64_t, 2>({n_rows, n_reference});
    auto distances = new_array<double, 2>({n_rows, n_reference});
    auto weights = new_array<double, 3>({n_rows, counted.size(), n_reference});
    const nb::object nothing = nb::none();
    const paribus::Tick tick = python_tick(nothing);
    {
        const nb::gil_scoped_release released;
        paribus::find_reference_rows(asked, counted, distance, n_fitted, n_reference, positions.data(),
                                     distances.data(), weights.data(), n_threads, tick);
    }
    return {positions, distances, weights};
}

}  // namespace

void add_evidence(nb::module_ &m) {
    nb::class_<Smoothing>(m, "Smoothing", "How the distributions of a column are smoothed.")
        .def(nb::init<const char *, double, double, double, double, double, double>(), "shape"_a, "center"_a, "unit"_a,
             "width"_a, "surprise_width"_a, "resolution"_a, "tail_probability"_a)
        .def("transformed", &Smoothing::transformed, "values"_a, "Values on the scale on which they are smoothed.")
        .def("slopes", &Smoothing::slopes, "values"_a, "The derivative of that scale at some values.");

    nb::class_<FoundLeaves>(m, "FoundLeaves", "The leaves that rows were found in, of forests over one table.")
        .def(nb::init<const List<const Forest *> &, std::size_t>(), "forests"_a, "n_rows"_a)
        .def("can_store", &FoundLeaves::can_store,
             "Whether leaves can be stored: those of forests that keep them, if there are not too many.")
        .def("second_means", &FoundLeaves::second_means, "values"_a, "n_threads"_a = 1,
             "What second_means returns if the values, by row of the table, are the second target of the forests. All "
             "leaves must have been stored.");

    m.def("column_evidence", &column_evidence, "views"_a, "smoothing"_a, "rows"_a, "fitted"_a, "values"_a,
          "n_threads"_a = 1, "progress"_a = nb::none(), "leaves"_a = nb::none(),
          "Of each value: minus the logarithm of the probability of one at most as dense, not calibrated; minus the "
          "logarithm of its density in each view, [row][view]; and the mean of the second target in its leaves. A view "
          "is a forest, what to add to its values by row, its share, the least kernel width, and the least deviation. "
          "The leaves are stored if they can be, once only; after an error, none are.");

    m.def("column_findings", &column_findings, "views"_a, "smoothing"_a, "rows"_a, "fitted"_a, "values"_a, "levels"_a,
          "n_threads"_a = 1, "What column_evidence and column_distributions say of rows, whose leaves are found once.");

    m.def("second_means", &second_means, "forests"_a, "rows"_a, "fitted"_a, "n_threads"_a = 1,
          "progress"_a = nb::none(), "The mean of the second target over the leaves of each row, in all forests.");

    m.def("column_quantiles", &column_quantiles, "views"_a, "smoothing"_a, "rows"_a, "fitted"_a, "levels"_a,
          "n_threads"_a = 1, "The quantiles of the smooth distributions of rows at some levels: [row][level].");

    m.def(
        "column_distributions", &column_distributions, "views"_a, "smoothing"_a, "rows"_a, "fitted"_a, "levels"_a,
        "n_threads"_a = 1,
        "What column_quantiles returns, and the atoms of each view, [view][row][pair], of rows whose leaves are found "
        "once.");

    m.def("quantiles_of_atoms", &quantiles_of_atoms, "views"_a, "smoothing"_a, "atoms"_a, "levels"_a, "n_threads"_a = 1,
          "What column_quantiles returns, given the atoms of each view, [view][row][pair].");

    m.def("reference_rows", &reference_rows, "features"_a, "fitted_rows"_a, "ranges"_a, "rows"_a, "fitted"_a,
          "n_reference"_a, "n_threads"_a = 1,
          "The fitted rows that share most leaves with rows, nearest first, -1 where there are fewer; their distances; "
          "and their weights, [row][feature][reference row]. A feature is a list of forests and their shares.");

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
}

}  // namespace bindings
