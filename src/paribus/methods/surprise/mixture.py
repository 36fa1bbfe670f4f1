"""The distribution of a column given other columns: a mixture of views, weighted by their out-of-sample likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._core import (
    FeatureKinds,
    FeatureTable,
    Forest,
    FoundLeaves,
    Samples,
    Target,
    column_distributions,
    column_evidence,
    column_findings,
    column_quantiles,
    quantiles_of_atoms,
    second_means,
    splice_forests,
)
from paribus.methods.density import ColumnSupport, Density, RangeMap, percentile_shares, student_cumulative
from paribus.methods.surprise.calibration import (
    NO_LIMIT,
    PRIOR_LEAVES,
    STEPS_PER_NAT,
    CellCalibration,
    TailMap,
    evidence_levels,
)
from paribus.methods.surprise.learned import Learned
from paribus.methods.surprise.smoothing import ColumnSmoothing, choose_smoothing
from paribus.methods.surprise.trend_target import NEGLIGIBLE, TrendColumn, TrendTarget
from paribus.methods.surprise.view_shares import fit_shares, mix
from paribus.methods.surprise.views import (
    Addition,
    Asked,
    Bytes,
    Features,
    ForestSettings,
    ForestView,
    GrownView,
    Growth,
    Tick,
    WholeColumn,
)

# The number of rows on which views are compared: more would not change the result.
MAX_ROWS_FOR_SHARES = 50_000
# The number of rows from which the smoothing and the calibration of ranges are learned.
MAX_ROWS_FOR_WIDTHS = 1_000
MAX_ROWS_FOR_RANGES = 4_000
MAX_ROWS_FOR_A_MEDIAN = 2_000
# The mean evidence of the fitted values is 1 where these are calibrated, and less where they repeat.
MIN_USUAL = 0.05
# Where nearly all rows have the value that is expected of them, calibrated evidence is at most this multiple of what
# the distribution itself says, as that of categories, if a tenth of the distribution is no denser.
MAX_BY_RAW = 2.0
ONE_OF_SEVERAL = float(np.log(10.0))


@dataclass(frozen=True)
class FoundDistributions:
    """The distributions of some rows. Of most of them, only the central range is ever used."""

    central: Floats
    """[row][3]: the 5 % percentile, the median, and the 95 % percentile."""
    has_one_value: npt.NDArray[np.bool_]
    """By row: whether all percentiles are equal."""
    percentiles: Callable[[int], Floats]
    """Returns all percentiles of a row, given its place among those that were asked about."""
    density: Callable[[int], Density]
    """Returns the distribution of a row."""


class ConditionalColumn:
    """The distribution of a column given others: several views of it, mixed.

    Views are weighted by how well they predict rows that they have not seen: the shares are those that
    maximize the likelihood of the fitted values, each judged without its own row.

    Parameters
    ----------
    rows : array
        The table: [row][column].
    column : int
        The column of the table.
    whole : WholeColumn
        Its unconditional distribution.
    support : ColumnSupport
        The values that it can have.
    features : array
        The columns of the table that it is conditioned on.
    """

    def __init__(
        self, rows: Floats, column: int, whole: WholeColumn, support: ColumnSupport, features: Features
    ) -> None:
        self.features = features
        self._rows, self._column = rows, column
        self._whole = whole
        self._views: list[ForestView] = []
        self._learned = Learned(np.ones(1), 0.0, [], None, None, RangeMap.exact(), None)
        self._support = support

    @property
    def learned(self) -> Learned:
        """The fitted parameters."""
        return self._learned

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same, so that there is no scale for deviations."""
        return self._whole.is_constant

    def fit(
        self, table: FeatureTable, growth: Growth, report: Callable[[float], object]
    ) -> tuple[Floats, Floats, None]:
        """Learns the views and their shares from all rows of a table.

        Returns the calibrated evidence of each value, and its surprise above the usual; there is nothing else to learn
        from. `report` is called with the share of the work that is finished.
        """
        if self.is_constant:
            return self._nothing_to_learn(growth.asked)
        trend = TrendTarget.fit(self._of_trend, growth.categorical)
        self._make_views(trend)
        n_steps = len(self._views) + 2

        def ticker(step: int, n_done_in_all: int, weight: int = 1) -> Tick:
            return lambda done: report((step + weight * done / n_done_in_all) / n_steps)

        for place, view in enumerate(self._views):
            self._grow(view, table, growth, ticker(place, growth.settings.n_pairs), keeps_leaves=True)
        told = replace(growth.asked, tick=ticker(len(self._views), len(growth.asked.rows), 2))
        evidence, surprises = self._learn_from_views(told, trend, growth.settings.n_pairs)
        for view in self._views:
            view.forest.release()
        return evidence, surprises, None

    @property
    def n_views(self) -> int:
        """The maximum number of views that have a forest: of the values, and of their distances from a trend."""
        return 0 if self.is_constant else 2

    def grow_view(self, number: int, table: FeatureTable, growth: Growth) -> GrownView | None:
        """Grows the forest of one view, as `fit` does for all of them; None if the column has no such view."""
        trend = None if number == 0 else TrendTarget.fit(self._of_trend, growth.categorical)
        self._make_views(trend)
        if number == len(self._views):
            return None
        view = self._views[number]
        self._grow(view, table, growth, None)
        return GrownView(view.forest.packed(), view.min_deviation, trend)

    def fit_grown(self, grown: list[GrownView], kinds: FeatureKinds, growth: Growth) -> tuple[Floats, Floats, None]:
        """Learns everything else, when the forests have been grown. Returns what `fit` does."""
        if self.is_constant:
            return self._nothing_to_learn(growth.asked)
        trend = grown[-1].trend
        self._make_views(trend)
        for view, its in zip(self._views, grown, strict=True):
            view.open(kinds, growth.samples, self._rows, its.packed, its.min_deviation)
        return *self._learn_from_views(growth.asked, trend, growth.settings.n_pairs), None

    def _nothing_to_learn(self, asked: Asked) -> tuple[Floats, Floats, None]:
        return *self.judge(asked, self.target), None

    @property
    def target(self) -> Floats:
        """The column of the table, NaN where a value is missing or a placeholder."""
        return np.ascontiguousarray(self._whole.tails.without_placeholders(self._rows[:, self._column]))

    def _grow(
        self, view: ForestView, table: FeatureTable, growth: Growth, tick: Tick | None, *, keeps_leaves: bool = False
    ) -> None:
        settings, n_threads = growth.settings, growth.asked.n_threads
        view.grow(table, growth.samples, settings, growth.seed, n_threads, tick, keeps_leaves=keeps_leaves)
        view.measure(growth.asked.take(np.flatnonzero(~np.isnan(self.target))[:MAX_ROWS_FOR_A_MEDIAN]))

    def _learn_from_views(self, asked: Asked, trend: TrendTarget | None, n_pairs: int) -> tuple[Floats, Floats]:
        """Learns from all rows of the table, given the views."""
        target = self.target
        known = np.flatnonzero(~np.isnan(target))
        some = known[:MAX_ROWS_FOR_WIDTHS]
        smoothing = choose_smoothing(
            target[some], [view.atoms(asked.take(some)) for view in self._views], target[known]
        )
        return self._learn(asked, target, known, smoothing, trend, n_pairs)

    def _learn(
        self,
        asked: Asked,
        target: Floats,
        known: Positions,
        smoothing: ColumnSmoothing,
        trend: TrendTarget | None,
        n_pairs: int,
    ) -> tuple[Floats, Floats]:
        """Learns the weights of the views and calibrates evidence, from some rows that have a value, `known`.

        `asked` are all rows of the table. Returns the evidence and the surprise of all of them.
        """
        min_deviations = [view.min_deviation for view in self._views]
        self._learned = Learned(np.ones(1), 0.0, min_deviations, smoothing, None, RangeMap.exact(), trend)
        # With them, rows need not go down the trees again. They keep the forests as grown until this ends.
        leaves = FoundLeaves([view.forest for view in self._views], len(asked.rows))
        raw, surprises, _ = self._look(asked, target, leaves)
        shares = fit_shares(surprises[:, known[:MAX_ROWS_FOR_SHARES]])
        mixed = mix(surprises, shares)
        usual = float(np.median(mixed[known]))
        # First, because calibration packs the forests: a few rows would take as long as many.
        some = known[:MAX_ROWS_FOR_RANGES]
        ranges = self._find_ranges(asked.take(some), target[some])
        calibration, around = self._calibrate(asked, raw, known, n_pairs, leaves)
        self._learned = Learned(shares, usual, min_deviations, smoothing, calibration, ranges, trend)
        return self._calibrated(asked, raw, mixed - usual, around)

    def _calibrate(
        self, asked: Asked, raw: Floats, known: Positions, n_pairs: int, leaves: FoundLeaves
    ) -> tuple[CellCalibration, Floats]:
        """Calibrates evidence. Returns also the mean evidence around each fitted row."""
        overall = TailMap.fit(raw[known], NO_LIMIT)
        evidence = overall(raw)
        levels = evidence_levels(evidence)
        for view in self._views:
            view.forest.set_second_target(levels)
        if leaves.can_store():
            around = leaves.second_means(levels, asked.n_threads) / STEPS_PER_NAT
        else:
            forests = [view.forest for view in self._views]
            around = second_means(forests, asked.rows, asked.fitted, asked.n_threads) / STEPS_PER_NAT
        # If most values are equal, the median row is easier to predict than usual.
        usual = max(float(np.median(around[known])), float(around[known].mean()), MIN_USUAL)
        n_leaves = n_pairs * len(self._views)
        calibration = CellCalibration(overall, usual, n_leaves / (n_leaves + PRIOR_LEAVES), overall, levels)
        final = TailMap.fit((evidence / calibration.factors(around))[known], float(np.log(len(known))))
        return replace(calibration, final=final), around

    def renew(
        self,
        learned: Learned,
        packed: list[Bytes],
        addition: Addition,
        table: FeatureTable,
        asked: Asked,
        settings: ForestSettings,
        seed: int,
    ) -> tuple[Floats, Floats, None]:
        """Keeps all trees except the oldest, which are replaced, and is recalibrated.

        `asked` are all rows of the table, and `packed` the forests so far. The scale of the smoothing and the trend
        stay. Returns what `fit` does, for the recent rows.
        """
        target = self.target
        if self.is_constant or learned.smoothing is None:
            raise ValueError("a column is constant, or was so far")
        known = addition.recent[~np.isnan(target[addition.recent])]
        trend = None if learned.trend is None else learned.trend.moved(self._of_trend, addition.moved, known)
        self._make_views(trend)
        for view, older in zip(self._views, packed, strict=True):
            view.grow(table, addition.added, settings, seed, asked.n_threads, None)
            spliced = splice_forests(older, addition.n_dropped, view.forest.packed())
            view.open(addition.kinds, addition.samples, self._rows, spliced, 0.0)
            view.measure(asked.take(known[:MAX_ROWS_FOR_A_MEDIAN]))
        evidence, surprises = self._learn(asked, target, known, learned.smoothing, trend, addition.n_pairs)
        return evidence[addition.recent], surprises[addition.recent], None

    def recall(self, learned: Learned, kinds: FeatureKinds, samples: Samples, packed: list[Bytes]) -> None:
        """Restores fitted parameters and forests."""
        self._learned = learned
        if self.is_constant:
            return
        self._make_views(learned.trend)
        assert learned.calibration is not None
        for view, forest, min_deviation in zip(self._views, packed, learned.min_deviations, strict=True):
            view.open(kinds, samples, self._rows, forest, min_deviation)
            view.forest.set_second_target(learned.calibration.levels)

    @property
    def packed(self) -> list[Bytes]:
        """The forests, as bytes."""
        return [view.forest.packed() for view in self._views]

    def judge(self, asked: Asked, values: Floats) -> tuple[Floats, Floats]:
        """The calibrated evidence of values, and their surprise above the usual, in nats.

        NaN where one is missing or a placeholder.
        """
        values, learned = self._whole.tails.without_placeholders(values), self._learned
        if learned.calibration is None:
            nothing = np.where(np.isnan(values), np.nan, 0.0)
            return nothing, nothing
        return self._conclude(asked, *self._look(asked, values))

    def _conclude(self, asked: Asked, raw: Floats, surprises: Floats, around: Floats) -> tuple[Floats, Floats]:
        """What `judge` returns, from what `_look` does."""
        learned = self._learned
        return self._calibrated(asked, raw, mix(surprises, learned.shares) - learned.usual, around)

    def _calibrated(self, asked: Asked, raw: Floats, surprises: Floats, around: Floats) -> tuple[Floats, Floats]:
        """Calibrated evidence, and what surprise counts in these surroundings."""
        calibration = self._learned.calibration
        assert calibration is not None
        evidence = calibration(raw, around)
        if calibration.is_of_steps:
            # A value that is one of several in its context is rare where most rows have a single one, but no error.
            np.minimum(evidence, MAX_BY_RAW * raw, out=evidence, where=raw <= ONE_OF_SEVERAL)
        if asked.unfamiliar is not None:
            # Calibration says what is rare among rows whose contexts are known; what is not so well known is less rare.
            own = asked.unfamiliar[:, self._column - self._rows.shape[1]]
            np.minimum(evidence, raw, out=evidence, where=own)
        return evidence, calibration.surprises(surprises, evidence, around)

    def judge_and_find(self, asked: Asked, values: Floats, n: int) -> tuple[tuple[Floats, Floats], FoundDistributions]:
        """What `judge` and `find` return, in less time than both."""
        values, smoothing = self._whole.tails.without_placeholders(values), self._learned.smoothing
        if smoothing is None:
            return self.judge(asked, values), self.find(asked, n)
        raw, surprises, around, central, atoms = column_findings(
            self._smooth_views(asked),
            smoothing.core,
            asked.rows,
            asked.fitted,
            values,
            self._central_levels(n),
            asked.n_threads,
        )
        surprises = np.vstack([self._whole.surprises(asked, values), surprises.T])
        return self._conclude(asked, raw, surprises, around / STEPS_PER_NAT), self._found(asked, n, central, atoms)

    def _central_levels(self, n: int) -> Floats:
        levels = self._learned.ranges(percentile_shares(n))
        return np.asarray(levels[[5 * n // 100, n // 2, 95 * n // 100]])

    def find(self, asked: Asked, n: int) -> FoundDistributions:
        """The distributions of rows; `n` is the number of intervals between percentiles."""
        smoothing, n_rows = self._learned.smoothing, len(asked.rows)
        if smoothing is None:
            one = np.array([self._whole.range[0]])
            of_constant = Density(one, np.full(1, 1e-300), np.ones(1), support=self._support)
            central, all_equal = np.full((n_rows, 3), one[0]), np.full(n_rows, True)
            return FoundDistributions(central, all_equal, lambda row: np.full(n + 1, one[0]), lambda row: of_constant)
        views, levels = self._smooth_views(asked), self._central_levels(n)
        found = column_distributions(views, smoothing.core, asked.rows, asked.fitted, levels, asked.n_threads)
        return self._found(asked, n, *found)

    def _found(self, asked: Asked, n: int, central: Floats, atoms: Floats) -> FoundDistributions:
        """What `find` returns, given the central quantiles and the atoms of each view, [view][row][atom]."""
        learned, smoothing = self._learned, self._learned.smoothing
        assert smoothing is not None
        views, levels = self._smooth_views(asked), learned.ranges(percentile_shares(n))

        def quantiles(rows: Positions, at: Floats) -> Floats:
            of_rows = [
                (forest, None if centers is None else centers[rows], share, min_width, min_deviation)
                for forest, centers, share, min_width, min_deviation in views
            ]
            own = np.ascontiguousarray(atoms[:, rows])
            return self._support.nearest(quantiles_of_atoms(of_rows, smoothing.core, own, at, asked.n_threads))

        def density(row: int) -> Density:
            own = [
                each[row : row + 1] if center is None else each[row : row + 1] + center[row]
                for each, (_, center, *_) in zip(atoms, views, strict=True)
            ]
            (place,), (width,), weights = self._smooth(own)
            return Density(place, width, weights, smoothing.shape, self._support, learned.ranges)

        central = self._support.nearest(central)
        has_one_value = np.full(len(central), False)
        narrow = np.flatnonzero(central[:, 0] == central[:, 2])
        if narrow.size:
            lowest, highest = quantiles(narrow, levels[[0, n]]).T
            has_one_value[narrow] = lowest == highest
        return FoundDistributions(central, has_one_value, lambda row: quantiles(np.array([row]), levels)[0], density)

    def percentiles(self, asked: Asked, n: int) -> Floats:
        """[row][n + 1]: from nearly the smallest value to nearly the largest; values that the column can have."""
        smoothing = self._learned.smoothing
        if smoothing is None:
            return np.full((len(asked.rows), n + 1), self._whole.range[0])
        levels = self._learned.ranges(percentile_shares(n))
        found = column_quantiles(
            self._smooth_views(asked), smoothing.core, asked.rows, asked.fitted, levels, asked.n_threads
        )
        return self._support.nearest(found)

    @property
    def counted_forests(self) -> list[tuple[Forest, float]]:
        """The forests and their weights; none for a constant column."""
        if not self._views:
            return []
        shares = self._learned.shares[1:] + NEGLIGIBLE
        return [(view.forest, float(share)) for view, share in zip(self._views, shares / shares.sum(), strict=True)]

    @property
    def _of_trend(self) -> TrendColumn:
        return TrendColumn(self._rows, self._column, self._whole.limits, self.features, self._whole.tails.placeholders)

    def _make_views(self, trend: TrendTarget | None) -> None:
        target = Target(self._rows, self._column, *self._whole.limits, self._whole.tails.placeholders)
        self._views = [ForestView(target, self.features)]
        if trend is not None:
            self._views.append(ForestView(trend.distances(self._of_trend), self.features, has_trend=True))

    def _look(self, asked: Asked, values: Floats, leaves: FoundLeaves | None = None) -> tuple[Floats, Floats, Floats]:
        """Evidence before calibration, surprises, and the mean evidence around each row.

        Surprises are minus the logarithm of the density: [view][row], the whole column first.
        """
        smoothing = self._learned.smoothing
        assert smoothing is not None
        raw, surprises, around = column_evidence(
            self._smooth_views(asked),
            smoothing.core,
            asked.rows,
            asked.fitted,
            values,
            asked.n_threads,
            asked.tick,
            leaves,
        )
        return raw, np.vstack([self._whole.surprises(asked, values), surprises.T]), around / STEPS_PER_NAT

    def _smooth_views(self, asked: Asked) -> list[tuple[Forest, Floats | None, float, float, float]]:
        smoothing = self._learned.smoothing
        assert smoothing is not None
        return [
            (view.forest, view.centers(asked), share, min_width, view.min_deviation)
            for view, share, min_width in zip(self._views, smoothing.shares, smoothing.min_widths, strict=True)
        ]

    def _smooth(self, atoms: list[Floats]) -> tuple[Floats, Floats, Floats]:
        """Atoms and widths, [row][atom], on the scale of the shape, and how much each atom counts."""
        smoothing = self._learned.smoothing
        assert smoothing is not None
        middles = np.median(np.concatenate(atoms, axis=1), axis=1)
        transformed = [smoothing.shape.transformed(each) for each in atoms]
        widths = smoothing.widths(transformed, middles)
        n = transformed[0].shape[1]
        return (
            np.concatenate(transformed, axis=1),
            np.repeat(np.column_stack(widths), n, axis=1),
            np.repeat(np.array(smoothing.shares) / n, n),
        )

    def levels(self, asked: Asked, values: Floats, share: Floats) -> Floats:
        """By row: the share of its distribution below its value, not calibrated; NaN as in `judge`.

        Values that repeat have an interval of levels: `share`, between 0 and 1, says where in it.
        """
        values = self._whole.tails.without_placeholders(values)
        if self._learned.smoothing is None:
            return np.where(np.isnan(values), np.nan, share)
        below, up_to = self._reached(asked, values)
        return np.asarray(below + share * (up_to - below))

    def atoms(self, asked: Asked) -> Floats:
        """[row][atom]: values that represent those in the leaves of each row. The column must not be constant."""
        return self._views[0].atoms(asked)

    @property
    def forests(self) -> list[Forest]:
        """The forests; none for a constant column."""
        return [view.forest for view in self._views]

    def _find_ranges(self, asked: Asked, values: Floats) -> RangeMap:
        """Calibrates ranges on some fitted rows."""
        return RangeMap.fit(*self._reached(asked, values))

    def _reached(self, asked: Asked, values: Floats) -> tuple[Floats, Floats]:
        """By row: the share of its distribution below a value, and up to it."""
        assert self._learned.smoothing is not None
        shape, half = self._learned.smoothing.shape, self._support.resolution / 2.0
        atoms, widths, weights = self._smooth([view.atoms(asked) for view in self._views])
        # Sums over atoms row by row, so that they do not depend on the rows around.
        below, up_to = (
            (student_cumulative(shape.transformed(at)[:, None], atoms, widths) * weights).sum(axis=1)
            for at in (values - half, values + half)
        )
        return below, up_to
