"""The distribution of a column of categories given other columns: class frequencies in the leaves of a forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._core import FeatureKinds, FeatureTable, Forest, Samples, Target, splice_forests
from paribus.methods.interface import CategoryShares
from paribus.methods.surprise.calibration import USUAL_EVIDENCE, TailMap
from paribus.methods.surprise.expected_tails import ROUNDING, ExpectedTails
from paribus.methods.surprise.learned import LearnedCategories
from paribus.methods.surprise.views import Addition, Asked, Bytes, Features, ForestSettings, GrownView, Growth, Tick

# Beyond, the rarest categories share the last class.
MAX_CLASSES = 64
# The number of rows from which the smoothing and the distribution of probabilities are learned.
MAX_ROWS_FOR_STRENGTH = 4_000
MAX_ROWS_FOR_TAIL = 20_000
# The number of cells, of rows and classes, that are processed at a time.
BLOCK_CELLS = 2_000_000
# The numbers of rows of the whole column to add to each leaf, and the powers of probabilities, that are tried.
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
POWERS = (1.0, 1.3, 1.7, 2.2, 3.0, 4.0)
# This share of the values is assumed to be arbitrary, so that a few wrong ones do not decide for all others.
FEW_WRONG = 0.001
# The shares of wrong values that are tried.
WRONG_SHARES = (0.01, 0.02, 0.04, 0.07, 0.1)
# The minimum share of truly wrong values among those that would be left out as wrong. Where a forest is too sure of
# itself, a share of wrong values also makes the values more likely; but those left out are then mostly ordinary.
MIN_PURITY = 0.3
# The surprise of a category is at most this many times its evidence.
MAX_SURPRISE = 2.0


@dataclass(frozen=True)
class Categories:
    """The categories of a column, and how common each is in the whole column."""

    counts: npt.NDArray[np.int64]
    """By code."""

    @classmethod
    def of(cls, codes: Floats, n_codes: int) -> Categories:
        """The categories of a column."""
        return cls(np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=n_codes))

    @property
    def is_constant(self) -> bool:
        """Whether there is only one category."""
        return bool((self.counts > 0).sum() < 2)

    @cached_property
    def class_of_code(self) -> npt.NDArray[np.uint8]:
        """The most common categories have a class each, in descending order of their counts; the others share one."""
        rank = np.empty(len(self.counts), dtype=np.int64)
        rank[np.argsort(-self.counts, kind="stable")] = np.arange(len(self.counts))
        return np.minimum(rank, MAX_CLASSES - 1).astype(np.uint8)

    @cached_property
    def frequencies(self) -> Floats:
        """By class: its share of the whole column."""
        return np.asarray(np.bincount(self.class_of_code, self.counts) / self.counts.sum())

    @cached_property
    def shares(self) -> Floats:
        """By code: its share of its class."""
        in_class = np.bincount(self.class_of_code, self.counts)
        return np.asarray(self.counts / np.maximum(in_class[self.class_of_code], 1.0))

    @cached_property
    def unseen(self) -> float:
        """The probability of a category that the column does not have.

        By Good and Turing, as many values are new as there are categories that were seen once; at least one is.
        """
        return float(max(1, (self.counts == 1).sum()) / (self.counts.sum() + 1))

    @cached_property
    def shared(self) -> Floats:
        """The shares of the categories in the last class, ascending, if there are several."""
        return np.sort(self.shares[self.class_of_code == MAX_CLASSES - 1])

    def probabilities(self, of_classes: Floats, codes: npt.NDArray[np.int64]) -> Floats:
        """By row: the probability of a code, given those of classes, [row][class]. Other codes are unseen ones."""
        is_seen = (codes >= 0) & (codes < len(self.counts))
        known = np.where(is_seen, codes, 0)
        found = of_classes[np.arange(len(codes)), self.class_of_code[known]] * self.shares[known]
        return np.where(is_seen, (1.0 - self.unseen) * found, self.unseen)

    def tails(self, of_classes: Floats, probabilities: Floats) -> Floats:
        """By row: the probability of a category that is at most as probable."""
        limit = probabilities * (1.0 + ROUNDING)
        highest = limit / (1.0 - self.unseen)
        n_alone = of_classes.shape[1] if len(self.shared) < 2 else MAX_CLASSES - 1
        # Class by class, so that a row's sum does not depend on the rows around it.
        found = np.zeros(len(of_classes))
        for place in range(n_alone):
            found += np.where(of_classes[:, place] <= highest, of_classes[:, place], 0.0)
        if n_alone < of_classes.shape[1]:
            together = of_classes[:, n_alone]
            reached = np.append(0.0, np.cumsum(self.shared))
            found += together * reached[np.searchsorted(self.shared, highest / np.maximum(together, 1e-300), "right")]
        found = (1.0 - self.unseen) * found + np.where(self.unseen <= limit, self.unseen, 0.0)
        return np.minimum(found, 1.0)

    def all_tails(self, of_classes: Floats) -> tuple[Floats, Floats]:
        """For each row and category: the probability of one at most as probable, and its own.

        Of the categories that share a class, some represent all.
        """
        n_rows, n_classes = of_classes.shape
        n_alone = n_classes if len(self.shared) < 2 else MAX_CLASSES - 1
        parts = [(place, 1.0, 1.0) for place in range(n_alone)]
        if n_alone < n_classes:
            strata = np.array_split(self.shared, min(len(self.shared), MAX_STRATA))
            parts += [(n_alone, float(each[-1]), float(each.sum())) for each in strata]
        tails, masses = np.empty((len(parts) + 1, n_rows)), np.empty((len(parts) + 1, n_rows))
        for place, (which, share, mass) in enumerate(parts):
            own = (1.0 - self.unseen) * of_classes[:, which]
            tails[place], masses[place] = self.tails(of_classes, own * share), own * mass
        tails[-1] = self.tails(of_classes, np.full(n_rows, self.unseen))
        masses[-1] = self.unseen
        return tails.ravel(), masses.ravel()


MAX_STRATA = 16


@dataclass(frozen=True)
class FoundShares:
    """The distributions of some rows over categories."""

    central: Floats
    """[row][3]: categories have no percentiles."""
    n: int
    """The number of intervals between percentiles."""
    shares: list[CategoryShares]
    """By row."""

    @property
    def has_one_value(self) -> npt.NDArray[np.bool_]:
        """By row: False, without percentiles."""
        return np.full(len(self.central), False)

    def percentiles(self, row: int) -> Floats:
        """Not a number: categories have none."""
        return np.full(self.n + 1, np.nan)


class CategoricalColumn:
    """The distribution of a column of categories given other columns.

    Each tree gives the class frequencies in the leaf, together with some rows of the whole column; the forest gives
    their mean, raised to a power. The number of rows and the power are learned from rows that the trees have not seen.
    So is the share of wrong values, if it is the same everywhere: these are part of the stated probabilities and of the
    evidence, but not of the distribution of ordinary rows, by which surprise is measured.

    Parameters
    ----------
    rows : array
        The table: [row][column].
    column : int
        The column of the table, which holds codes.
    categories : Categories
        Its categories.
    features : array
        The columns of the table that it is conditioned on.
    """

    def __init__(self, rows: Floats, column: int, categories: Categories, features: Features) -> None:
        self.features = features
        self._rows, self._column = rows, column
        self._categories = categories
        self._target = Target(rows, column, categories.class_of_code)
        self._forest: Forest | None = None
        self._learned = LearnedCategories(1.0, 1.0, 0.0, TailMap(np.zeros(1), np.zeros(1), 1.0, 1.0))

    @property
    def learned(self) -> LearnedCategories:
        """The fitted parameters."""
        return self._learned

    @property
    def packed(self) -> list[Bytes]:
        """The forest, as bytes."""
        return [] if self._forest is None else [self._forest.packed()]

    def fit(
        self, table: FeatureTable, growth: Growth, report: Callable[[float], object]
    ) -> tuple[Floats, Floats, tuple[Floats, Floats] | None]:
        """Learns from all rows of a table. Returns the evidence of each value, its surprise, and both to learn from.

        Evidence of categories has steps: many rows have the same. What is learned from them is as if they were spread
        evenly between this step and the next.
        """
        if self._categories.is_constant:
            return self._nothing_to_learn(growth.asked)

        def tick(done: int) -> None:
            report(0.7 * done / growth.settings.n_pairs)

        self._forest = self._grow(table, growth.samples, growth.settings, growth.seed, growth.asked.n_threads, tick)
        found = self._calibrate(growth.asked, self.target, growth.seed)
        self._forest.release()
        report(1.0)
        return found

    @property
    def n_views(self) -> int:
        """The number of views that have a forest."""
        return 0 if self._categories.is_constant else 1

    def grow_view(self, number: int, table: FeatureTable, growth: Growth) -> GrownView:
        """Grows the forest of the only view."""
        forest = self._grow(table, growth.samples, growth.settings, growth.seed, growth.asked.n_threads)
        return GrownView(forest.packed())

    def fit_grown(
        self, grown: list[GrownView], kinds: FeatureKinds, growth: Growth
    ) -> tuple[Floats, Floats, tuple[Floats, Floats] | None]:
        """Learns everything else, when the forest has been grown. Returns what `fit` does."""
        if self._categories.is_constant:
            return self._nothing_to_learn(growth.asked)
        self._forest = Forest(kinds, growth.samples, self._target, self._rows, grown[0].packed)
        return self._calibrate(growth.asked, self.target, growth.seed)

    def _nothing_to_learn(self, asked: Asked) -> tuple[Floats, Floats, None]:
        return *self.judge(asked, self.target), None

    @property
    def target(self) -> Floats:
        """The column of the table, NaN where a value is missing."""
        return np.ascontiguousarray(self._rows[:, self._column])

    def _grow(
        self,
        table: FeatureTable,
        samples: Samples,
        settings: ForestSettings,
        seed: int,
        n_threads: int,
        tick: Tick | None = None,
    ) -> Forest:
        return Forest(
            table,
            samples,
            self._target,
            self.features,
            settings.max_features,
            settings.min_samples_leaf,
            seed,
            n_threads,
            tick,
        )

    def renew(
        self,
        learned: LearnedCategories,
        packed: list[Bytes],
        addition: Addition,
        table: FeatureTable,
        asked: Asked,
        settings: ForestSettings,
        seed: int,
    ) -> tuple[Floats, Floats, tuple[Floats, Floats] | None]:
        """Keeps all trees except the oldest, which are replaced, and is recalibrated on the recent rows.

        `asked` are all rows of the table. Returns what `fit` does, for the recent rows.
        """
        asked = asked.take(addition.recent)
        values = np.ascontiguousarray(asked.rows[:, self._column])
        if self._categories.is_constant or not packed:
            raise ValueError("a column is constant, or was so far")
        grown = self._grow(table, addition.added, settings, seed, asked.n_threads)
        spliced = splice_forests(packed[0], addition.n_dropped, grown.packed())
        self._forest = Forest(addition.kinds, addition.samples, self._target, self._rows, spliced)
        return self._calibrate(asked, values, seed)

    def _calibrate(self, asked: Asked, values: Floats, seed: int) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
        """Calibrates probabilities on fitted rows. Returns the same as `fit`, for these rows."""
        known = np.flatnonzero(~np.isnan(values))
        chosen = self._choose(asked.take(known[:MAX_ROWS_FOR_STRENGTH]))
        limit = float(np.log(len(known)))
        self._learned = LearnedCategories(*chosen, TailMap(np.zeros(1), np.zeros(1), 1.0, limit))
        some = asked.take(known[:MAX_ROWS_FOR_TAIL])
        found = [self._categories.all_tails(classes) for _, classes in self._blocks(some)]
        tails, masses = (np.concatenate([each[i] for each in found]) for i in (0, 1))
        expected = ExpectedTails.of(tails, masses)
        self._learned = LearnedCategories(*chosen, expected.map(limit))
        stated, own = self._tails(asked, values)
        # Another sequence for each column, so that they are independent of each other.
        step = np.sqrt(2.0 + 4.0 * seed % 9973)
        spread = np.modf((np.arange(len(values)) + 0.5) * step)[0]
        evidence, surprises = self._worth(stated, own)
        spread_out = expected.spread(own, spread, self._learned.tail)
        # Values that are believed to be wrong are left out of the distribution of ordinary rows.
        spread_out[self._beliefs(asked, values) > 1.0 - spread] = np.nan
        # Most rows have the most probable category.
        to_learn = np.where(own >= 1.0 - ROUNDING, spread_out, evidence), spread_out - USUAL_EVIDENCE
        return evidence, surprises, to_learn

    def recall(self, learned: LearnedCategories, kinds: FeatureKinds, samples: Samples, packed: list[Bytes]) -> None:
        """Restores fitted parameters and the forest."""
        self._learned = learned
        if not self._categories.is_constant:
            self._forest = Forest(kinds, samples, self._target, self._rows, packed[0])

    def judge(self, asked: Asked, values: Floats) -> tuple[Floats, Floats]:
        """The calibrated evidence of values, and their surprise above the usual, in nats; NaN where one is missing."""
        if self._forest is None:
            nothing = np.where(np.isnan(values), np.nan, 0.0)
            return nothing, nothing
        return self._worth(*self._tails(asked, values))

    def _worth(self, stated: Floats, ordinary: Floats) -> tuple[Floats, Floats]:
        """Evidence and surprise. Where most rows are certain, an uncertain one is more surprising, up to a limit."""
        most = MAX_SURPRISE * self._evidence(ordinary)
        return self._evidence(stated), np.minimum(self._learned.tail(-np.log(ordinary)), most) - USUAL_EVIDENCE

    def _evidence(self, tails: Floats) -> Floats:
        return TailMap(np.zeros(1), np.zeros(1), 1.0, self._learned.tail.limit)(-np.log(tails))

    def shares(self, asked: Asked) -> list[CategoryShares]:
        """The probability of each category, by row."""
        categories = self._categories
        if self._forest is None:
            whole = (1.0 - categories.unseen) * categories.counts / categories.counts.sum()
            return [CategoryShares(whole, categories.unseen)] * len(asked.rows)
        found = []
        for _, classes in self._blocks(asked):
            stated = self._stated(classes)
            all_codes = (1.0 - categories.unseen) * stated[:, categories.class_of_code] * categories.shares
            found += [CategoryShares(each, categories.unseen) for each in all_codes]
        return found

    def levels(self, asked: Asked, values: Floats, share: Floats) -> Floats:
        """By row: the probability of categories that come before its own, and of `share` of its own; NaN if missing."""
        missing = np.isnan(values)
        if self._forest is None:
            return np.where(missing, np.nan, share)
        codes = np.where(missing, 0, values).astype(np.int64)
        found = np.empty(len(values))
        for row, each in enumerate(self.shares(asked)):
            found[row] = each.probabilities[: codes[row]].sum() + share[row] * each.of(float(codes[row]))
        return np.where(missing, np.nan, found)

    @property
    def forests(self) -> list[Forest]:
        """The forest; none for a constant column."""
        return [] if self._forest is None else [self._forest]

    def percentiles(self, asked: Asked, n: int) -> Floats:
        """[row][n + 1]: categories have none."""
        return np.full((len(asked.rows), n + 1), np.nan)

    def judge_and_find(self, asked: Asked, values: Floats, n: int) -> tuple[tuple[Floats, Floats], FoundShares]:
        """What `judge` and `find` return."""
        return self.judge(asked, values), self.find(asked, n)

    def find(self, asked: Asked, n: int) -> FoundShares:
        """The distributions of rows, which have no percentiles."""
        return FoundShares(np.full((len(asked.rows), 3), np.nan), n, self.shares(asked))

    @property
    def counted_forests(self) -> list[tuple[Forest, float]]:
        """The forest, and how much it counts; none for a constant column."""
        return [] if self._forest is None else [(self._forest, 1.0)]

    def _tails(self, asked: Asked, values: Floats) -> tuple[Floats, Floats]:
        """By row: the probability of a category that is at most as probable as its own; NaN where that is missing.

        As stated, and for ordinary rows, which have no wrong values.
        """
        missing = np.isnan(values)
        codes = np.where(missing, 0, values).astype(np.int64)
        stated, ordinary = np.empty(len(values)), np.empty(len(values))
        for rows, classes in self._blocks(asked):
            ordinary[rows] = self._tails_of(classes, codes[rows])
            stated[rows] = self._tails_of(self._stated(classes), codes[rows])
        return np.where(missing, np.nan, stated), np.where(missing, np.nan, ordinary)

    def _beliefs(self, asked: Asked, values: Floats) -> Floats:
        """By row: the probability that its value is wrong; 0 where it is missing."""
        share = self._learned.wrong_share
        codes = np.nan_to_num(values).astype(np.int64)
        found = np.zeros(len(values))
        if share > 0:
            for rows, classes in self._blocks(asked):
                own = self._categories.class_of_code[codes[rows]]
                usual, likelihoods = self._categories.frequencies[own], classes[np.arange(len(own)), own]
                found[rows] = _belief_in_error(share, usual, likelihoods)
        return np.where(np.isnan(values), 0.0, found)

    def _tails_of(self, classes: Floats, codes: npt.NDArray[np.int64]) -> Floats:
        return self._categories.tails(classes, self._categories.probabilities(classes, codes))

    def _stated(self, classes: Floats) -> Floats:
        """The probabilities of classes if some values are wrong."""
        wrong_share = self._learned.wrong_share
        return (1.0 - wrong_share) * classes + wrong_share * self._categories.frequencies

    def _blocks(self, asked: Asked) -> list[tuple[slice, Floats]]:
        learned = self._learned
        size = max(1, BLOCK_CELLS // len(self._categories.frequencies))
        blocks = [slice(begin, begin + size) for begin in range(0, len(asked.rows), size)]
        return [
            (rows, self._of_classes(asked.take(np.arange(len(asked.rows))[rows]), learned.strength, learned.power))
            for rows in blocks
        ]

    def _of_classes(self, asked: Asked, strength: float, power: float) -> Floats:
        """The probabilities of classes: [row][class]."""
        assert self._forest is not None
        found = self._forest.class_shares(asked.rows, asked.fitted, strength, asked.n_threads)
        return _to_power(found[:, :-1] + found[:, -1:] * self._categories.frequencies, power)

    def _choose(self, asked: Asked) -> tuple[float, float, float]:
        """The strength, the power and the share of wrong values with the maximum likelihood.

        A share of wrong values is accepted if it increases the likelihood by more than one additional parameter
        does by chance (Bayesian information criterion), and if the wrong values can be told from ordinary ones. Where
        rare categories go with certain contexts, it does not, or they cannot.
        """
        codes = self._rows[asked.fitted, self._column].astype(np.int64)
        own = self._categories.class_of_code[codes]
        usual = self._categories.frequencies[own]
        best = dict.fromkeys((FEW_WRONG, *WRONG_SHARES), (-np.inf, 1.0, 1.0))
        for strength in STRENGTHS:
            plain = self._of_classes(asked, strength, 1.0)
            for power in POWERS:
                likelihoods = _to_power(plain, power)[np.arange(len(own)), own]
                for share, before in best.items():
                    quality = float(np.log((1.0 - share) * likelihoods + share * usual).sum())
                    best[share] = max(before, (quality, strength, power))
        share = max(best, key=lambda each: best[each][0])
        quality, strength, power = best[share]
        if quality - best[FEW_WRONG][0] > np.log(len(own)) / 2.0:
            likelihoods = self._of_classes(asked, strength, power)[np.arange(len(own)), own]
            beliefs = _belief_in_error(share, usual, likelihoods)
            # Each value is left out with the probability that it is wrong.
            if np.square(beliefs).sum() >= MIN_PURITY * beliefs.sum():
                return strength, power, share
        return *best[FEW_WRONG][1:], 0.0


def _belief_in_error(share: float, usual: Floats, likelihoods: Floats) -> Floats:
    """The probability that values are wrong, from how common they are in the column and how likely in their context."""
    wrong = share * usual
    return np.asarray(wrong / (wrong + (1.0 - share) * likelihoods))


def _to_power(probabilities: Floats, power: float) -> Floats:
    if power == 1.0:
        return probabilities
    raised = probabilities**power
    total = np.zeros(len(raised))
    for place in range(raised.shape[1]):
        total += raised[:, place]
    return np.asarray(raised / total[:, None])
