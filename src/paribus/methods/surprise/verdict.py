"""Kinds of strange rows, how common each is, and what that makes of a row: its score, its kind, and its parts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.threads import in_threads
from paribus.methods.interface import KIND_NAMES
from paribus.methods.null import ScoreNull
from paribus.methods.surprise.calibration import MIN_FAR_ROWS, TailMap
from paribus.methods.surprise.cells import CellEvidence
from paribus.methods.surprise.contamination import fit_contaminated

WHOLE, COMBINATION, VALUE = KIND_NAMES

# Surprises above the usual, in nats, count in full up to the cap; the excess adds at most a twentieth of the cap.
CAP, BEYOND_CAP = 3.0, 0.05
# The maximum number of rows from which the shares of kinds are learned.
MAX_ROWS_FOR_SHARES = 50_000
N_ROUNDS = 60
# The prior of the share of rows of each kind, and its weight in rows, ...
PRIOR_SHARE, PRIOR_ROWS = 0.01, 50.0
# The minimum share of a kind.
MIN_SHARE = 0.004
# ... and the prior of the rate of the evidence of strange cells, and its weight in cells. Ordinary cells have rate 1.
PRIOR_RATE, PRIOR_CELLS = 0.3, 3.0
MIN_RATE, MAX_RATE = 0.03, 0.6
# Tails are fitted down to this probability, since those of skewed or heavy-tailed columns are heavy: the tail of
# surprises, and that of their mean with the evidence.
FAR, FAR_OF_MEAN = 0.02, 0.05
# The highest of these probabilities: beyond it, the tail is not far from where it begins.
MAX_FAR = 0.07
# Sums have longer tails where rows are hard to predict in several columns at once, by at most this factor.
FAR_OF_SUM, MAX_GROWTH = 0.01, 1.25
# The limit of the evidence of one value, in multiples of the logarithm of the number of rows.
VALUE_LIMIT = 1.2
# Cells with less evidence, in nats, do not make a row strange.
MIN_EVIDENCE = 1.0
# More evidence than this, in nats, is strange: 1 in 200 ordinary rows has it.
STRANGE = float(np.log(200.0))
# Where a larger share of the rows have the same evidence, there is no scale to read off.
MAX_TIE = 0.1
# The number of terms of a sum that is as exact as the library's function.
MAX_TERMS = 100
NATS_PER_DIGIT = float(np.log(10.0))


@dataclass(frozen=True)
class Kind:
    """An alternative to being ordinary: what is added up over a row, and how it is called."""

    name: str
    statistic: str
    """"surprise" or "evidence", given "context", "all" or "both", is summed over the row; or one "value" stands out."""


KINDS = (
    Kind(WHOLE, "surprise_context"),
    Kind(WHOLE, "evidence_context"),
    Kind(COMBINATION, "surprise_both"),
    Kind(COMBINATION, "evidence_both"),
    Kind(COMBINATION, "surprise_all"),
    Kind(VALUE, "value_context"),
    Kind(VALUE, "value_both"),
)


@dataclass(frozen=True)
class Judgement:
    """The verdicts on some rows."""

    parts: Floats
    """[row][behavioral feature]: what each contributes to the score, which is their sum; NaN where missing.

    They are rounded to numbers of 32 bits.
    """
    kinds: npt.NDArray[np.object_]
    """The most probable kind of each row, if it is strange at all."""


@dataclass(frozen=True)
class ValueMap:
    """What the evidence and the surprise of a value are worth together.

    Evidence says how rare a value is in its context, surprise how thin the density is there. The one finds small
    deviations in narrow contexts, the other values where no rows are, however wide the context: their mean does both.
    """

    surprise: TailMap
    mean: TailMap

    @classmethod
    def fit(cls, evidence: Floats, surprises: Floats, limit: float) -> ValueMap:
        """Learns from the values of the fitted rows."""
        surprise = TailMap.fit(surprises, limit, body=0.3, far=FAR)
        return cls(surprise, TailMap.fit((evidence + surprise(surprises)) / 2.0, limit, far=FAR_OF_MEAN))

    def __call__(self, evidence: Floats, surprises: Floats) -> Floats:
        """The evidence of values."""
        return self.mean((evidence + self.surprise(surprises)) / 2.0)


@dataclass(frozen=True)
class Verdict:
    """Everything that turns the evidence of cells into scores."""

    sum_maps: dict[str, TailMap] = field(repr=False)
    """By statistic that is summed over a row: what its sum is worth."""
    value_maps: dict[str, tuple[ValueMap, ...]] = field(repr=False)
    """By statistic of a value, and by behavioral feature. Empty if there is one feature."""
    fills: dict[str, Floats] = field(repr=False)
    """By statistic that is summed: what a missing value counts, by feature; neither for nor against."""
    shares: Floats
    """How common ordinary rows are, and then each kind."""
    rates: Floats
    """By kind: the rate of the exponential distribution that its evidence has."""
    null: ScoreNull

    @classmethod
    def fit(cls, cells: CellEvidence, spread: CellEvidence | None = None, n_threads: int = 1) -> Verdict:
        """Learns from the rows of the fitted table, each judged by what has not seen it.

        `spread` are the same cells if some are categories, whose evidence has steps, spread evenly between these.
        Single values are learned from them, and rows if too many have the same evidence.
        """
        # Enough rows for the maps and shares; all of them tell what a score is worth.
        some = slice(MAX_ROWS_FOR_SHARES)
        if spread is not None and _largest_tie(cells.take(some)) > MAX_TIE:
            cells = spread
        singles = (cells if spread is None else spread).take(some)
        n_rows, n_features = cells.given_context.shape
        limit = float(np.log(n_rows))
        value_maps = {} if n_features == 1 else _fit_value_maps(singles, VALUE_LIMIT * limit)
        has_values = ~np.isnan(cells.given_context).all(axis=1)
        if n_features > 1:
            # The tails of sums are extrapolated from their bodies: what lies beyond may be many anomalies.
            learned = cls._learn(cells.take(some), value_maps, limit, follows_tail=False)
            known = cells.take(np.flatnonzero(has_values)[some])
            null = fit_contaminated(learned.log_odds, known, learned.log_odds(known))
            if null is not None:
                return replace(learned, null=null)
        learned = cls._learn(cells.take(some), value_maps, limit, follows_tail=True)
        # Several features outvote each other; a single one has nothing but its own tail.
        fit_null = ScoreNull.fit_cautiously if n_features == 1 else ScoreNull.fit
        # Where the context determines behavior, nearly all log odds are equal: others are what they say, in nats.
        return replace(learned, null=fit_null(learned.log_odds(cells, n_threads)[has_values], unit=1.0))

    @classmethod
    def _learn(
        cls, cells: CellEvidence, value_maps: dict[str, tuple[ValueMap, ...]], limit: float, *, follows_tail: bool
    ) -> Verdict:
        """Learns what sums are worth, and how common each kind is. There is no null distribution yet."""
        fills: dict[str, Floats] = {}
        sum_maps: dict[str, TailMap] = {}
        for name, values in _sums(cells).items():
            with warnings.catch_warnings():
                # A column without values in the sample has no median.
                warnings.simplefilter("ignore", RuntimeWarning)
                fills[name] = np.nan_to_num(np.nanmedian(values, axis=0))
            sums = _total(values, fills[name])
            if not value_maps:
                # In a short table, from as few rows as can tell.
                far = max(FAR, min((MIN_FAR_ROWS + 0.5) / len(sums), MAX_FAR))
                sum_maps[name] = TailMap.fit(sums, 2.0 * limit, body=0.3, far=far)
            elif follows_tail:
                sum_maps[name] = TailMap.fit(sums, 2.0 * limit, far=FAR_OF_SUM, max_growth=MAX_GROWTH)
            else:
                sum_maps[name] = TailMap.fit(sums, 2.0 * limit)
        kinds = [kind for kind in KINDS if kind.statistic in sum_maps or value_maps]
        shares, rates = _learn_shares(_evidence_of_kinds(cells, kinds, sum_maps, value_maps, fills))
        return cls(sum_maps, value_maps, fills, shares, rates, ScoreNull(np.zeros(1), np.zeros(1), 1.0))

    @property
    def _kinds(self) -> list[Kind]:
        return [kind for kind in KINDS if kind.statistic in self.sum_maps or self.value_maps]

    def judge(self, cells: CellEvidence, n_threads: int = 1) -> Judgement:
        """Scores, kinds and parts of rows."""
        found = in_threads(self._judge_block, cells.blocks(), n_threads)
        return Judgement(np.concatenate([each.parts for each in found]), np.concatenate([each.kinds for each in found]))

    def log_odds(self, cells: CellEvidence, n_threads: int = 1) -> Floats:
        """The log odds of rows against being ordinary."""
        return np.concatenate(in_threads(lambda block: self._weigh(block)[0], cells.blocks(), n_threads))

    def _judge_block(self, cells: CellEvidence) -> Judgement:
        log_odds, beliefs, found = self._weigh(cells)
        # A score is minus the decimal logarithm of the probability that an ordinary row is as strange, or as gross in a
        # value.
        strange = (np.nan_to_num(cells.given_context) + np.nan_to_num(cells.given_all) > 0).any(axis=1)
        of_rows = np.maximum(self.null(log_odds), _evidence_of_gross(cells))
        scores = np.where(strange, of_rows / NATS_PER_DIGIT, 0.0)
        shares = np.zeros_like(cells.given_context)
        for kind, belief, evidence, rate in zip(self._kinds, beliefs, found, self.rates, strict=True):
            shares += belief[:, None] * _cell_shares(kind, cells, evidence, rate)
        missing = np.isnan(cells.given_context)
        parts = np.where(missing, np.nan, scores[:, None] * shares)
        # Seven digits are more than a score is worth, and take half the space in a model file.
        return Judgement(parts.astype(np.float32).astype(np.float64), _name_kinds(self, cells))

    def _weigh(self, cells: CellEvidence) -> tuple[Floats, Floats, list[Evidence]]:
        """The log odds against being ordinary, the share of each kind in them, and the evidence of each kind."""
        found = _evidence_of_kinds(cells, self._kinds, self.sum_maps, self.value_maps, self.fills)
        ratios = _log_ratios(found, self.rates) + np.log(self.shares[1:] / self.shares[0])[:, None]
        highest = ratios.max(axis=0)
        # Kind by kind, so that a row's odds do not depend on the rows around it.
        odds = np.zeros(len(highest))
        for ratio in ratios:
            odds += np.exp(ratio - highest)
        return highest + np.log(odds), np.exp(ratios - highest) / odds, found


def _evidence_of_gross(cells: CellEvidence) -> Floats:
    """What the most gross value of each row says by itself: a table may be too short to tell how strange its rows are.

    Any of the features may have a gross value, at either end of its column.
    """
    return np.asarray(cells.gross.max(axis=1, initial=0.0) - np.log(2.0 * cells.gross.shape[1]))


def _largest_tie(cells: CellEvidence) -> float:
    """The largest share of rows that have the same evidence."""
    _, counts = np.unique(np.nan_to_num(cells.given_context).sum(axis=1), return_counts=True)
    return float(counts.max() / counts.sum())


def _name_kinds(verdict: Verdict, cells: CellEvidence) -> npt.NDArray[np.object_]:
    """What is strange about each row, if anything is.

    If a single value is strange and the others are ordinary, it is the value; if several are strange given the context,
    the whole row; if they are only strange given each other, their combination.
    """
    named = np.full(len(cells.given_context), VALUE, dtype=object)
    if cells.given_context.shape[1] == 1:
        return named
    alone = cells.given_context
    fills, sum_map = verdict.fills["evidence_context"], verdict.sum_maps["evidence_context"]
    strongest = np.nan_to_num(alone).argmax(axis=1)
    others = alone.copy()
    others[np.arange(len(alone)), strongest] = np.nan
    one_alone = _one_stands_out(alone)
    others_are_strange = sum_map(_total(others, fills)) > STRANGE
    all_are_strange = sum_map(_total(alone, fills)) > STRANGE
    several_alone = others_are_strange | (all_are_strange & ~one_alone)
    together = np.nan_to_num(cells.given_all)
    # Given each other, values are hardly related: the sum of the evidence of ordinary ones has a gamma distribution.
    n_others = np.maximum((~np.isnan(cells.given_all)).sum(axis=1) - 1, 1)
    rest = gamma_tail(n_others, together.sum(axis=1) - together.max(axis=1), together.shape[1])
    one_together = _one_stands_out(cells.given_all) & (rest >= np.exp(-STRANGE))
    undecided = ~(one_alone | several_alone | one_together)
    has_more_together = together.sum(axis=1) > np.nan_to_num(alone).sum(axis=1)
    named[several_alone | (undecided & ~has_more_together)] = WHOLE
    named[undecided & has_more_together] = COMBINATION
    return named


def gamma_tail(n: npt.NDArray[np.int64], sums: Floats, largest: int) -> Floats:
    """The probability that the sum of n values with a standard exponential distribution is larger.

    How it is computed depends on the largest n that there may be, so that a row does not depend on those around it.

    >>> gamma_tail(np.array([1, 3]), np.array([2.0, 2.0]), 3).round(4)
    array([0.1353, 0.6767])
    """
    if largest > MAX_TERMS:
        # Its import takes longer than to score a few rows.
        from scipy.special import gammaincc

        return np.asarray(gammaincc(n, sums))
    # As many events of a Poisson process at most.
    term = np.exp(-sums)
    found = term.copy()
    for events in range(1, largest):
        term = term * (sums / events)
        found += np.where(events < n, term, 0.0)
    return found


def _one_stands_out(evidence: Floats) -> npt.NDArray[np.bool_]:
    """Whether the highest evidence of each row is higher than that of as many ordinary values would be."""
    present = (~np.isnan(evidence)).sum(axis=1)
    highest = np.nan_to_num(evidence).max(axis=1)
    return np.asarray(highest - np.log(np.maximum(present, 1)) > STRANGE)


def capped(surprises: Floats) -> Floats:
    """Surprises of at least 0. Up to the cap they count in full; beyond it ever less, and a twentieth of it in all.

    >>> capped(np.array([-1.0, 2.0, 3.0, 6.0, 600.0])).round(3)
    array([0.   , 2.   , 3.   , 3.095, 3.15 ])
    """
    above = np.maximum(surprises, 0.0)
    beyond = np.maximum(above - CAP, 0.0)
    return np.asarray(np.minimum(above, CAP) - BEYOND_CAP * CAP * np.expm1(-beyond / CAP))


def _sums(cells: CellEvidence) -> dict[str, Floats]:
    """What is summed over a row: [row][feature] each. Given all there is something only with several features."""
    if cells.given_context.shape[1] == 1:
        # There are no others that a surprise could outvote.
        return {"surprise_context": cells.surprise_given_context}
    alone, together = capped(cells.surprise_given_context), capped(cells.surprise_given_all)
    return {
        "surprise_context": alone,
        "evidence_context": cells.given_context,
        "surprise_both": alone + together,
        "evidence_both": cells.both,
        "surprise_all": together,
    }


def _total(values: Floats, fills: Floats) -> Floats:
    """Sums over rows. A missing value counts as a usual one. Feature by feature: the rows around do not matter."""
    sums = np.zeros(len(values))
    for feature in range(values.shape[1]):
        sums += np.where(np.isnan(values[:, feature]), fills[feature], values[:, feature])
    return sums


Evidence = Floats
"""By row: of a sum; or by row and feature: of values."""


def _evidence_of_kinds(
    cells: CellEvidence,
    kinds: list[Kind],
    sum_maps: dict[str, TailMap],
    value_maps: dict[str, tuple[ValueMap, ...]],
    fills: dict[str, Floats],
) -> list[Evidence]:
    sums = _sums(cells)
    found: list[Evidence] = []
    for kind in kinds:
        if kind.statistic in sum_maps:
            of_sum = sum_maps[kind.statistic](_total(sums[kind.statistic], fills[kind.statistic]))
            # A sum of one value is that value.
            found.append(of_sum if value_maps else np.maximum(of_sum, cells.gross[:, 0]))
        else:
            maps = value_maps[kind.statistic]
            evidence, surprises = _value_parts(cells, kind.statistic)
            columns = [each(evidence[:, place], surprises[:, place]) for place, each in enumerate(maps)]
            found.append(np.maximum(np.column_stack(columns), cells.gross))
    return found


def _value_parts(cells: CellEvidence, statistic: str) -> tuple[Floats, Floats]:
    """The evidence and the surprise of single values: given the context, or the mean of that and what all gives."""
    if statistic == "value_context":
        return cells.given_context, cells.surprise_given_context
    return cells.both, np.asarray((cells.surprise_given_context + cells.surprise_given_all) / 2.0)


def _fit_value_maps(cells: CellEvidence, limit: float) -> dict[str, tuple[ValueMap, ...]]:
    maps = {}
    for statistic in ("value_context", "value_both"):
        evidence, surprises = _value_parts(cells, statistic)
        places = range(evidence.shape[1])
        maps[statistic] = tuple(ValueMap.fit(evidence[:, place], surprises[:, place], limit) for place in places)
    return maps


def _log_ratios(found: list[Evidence], rates: Floats) -> Floats:
    """[kind][row]: how much more likely the evidence is if the row is of the kind than if it is ordinary."""
    return np.array([_log_ratio(evidence, rate)[0] for evidence, rate in zip(found, rates, strict=True)])


def _log_ratio(evidence: Evidence, rate: float) -> tuple[Floats, Floats]:
    """What `_log_ratios` returns of one kind; and of single values their weights, see `_weights`."""
    if evidence.ndim == 1:
        return np.log(rate) + (1.0 - rate) * evidence, evidence
    # One of the values that are there is strange, any of them.
    weights, base = _weights(evidence, rate)
    likelihoods = np.zeros(len(evidence))
    for feature in range(evidence.shape[1]):
        likelihoods += weights[:, feature]
    count = np.maximum((~np.isnan(evidence)).sum(axis=1), 1)
    return np.log(rate) + base + np.log(np.maximum(likelihoods / count, 1e-300)), weights


def _weights(evidence: Floats, rate: float) -> tuple[Floats, Floats]:
    """How much more likely each of some single values is if it is strange, divided by the highest of its row.

    [row][feature], and by row the logarithm of that highest. `_normalized` makes of them how probable it is of each
    value that it is the strange one.
    """
    exponents = np.where(np.isnan(evidence), -np.inf, (1.0 - rate) * evidence)
    highest = exponents.max(axis=1, initial=-np.inf)
    base = np.where(np.isfinite(highest), highest, 0.0)
    return np.exp(exponents - base[:, None]), base


def _learn_shares(found: list[Evidence]) -> tuple[Floats, Floats]:
    """How common ordinary rows and each kind are, and the rate of each kind's evidence: expectation, maximization."""
    n_kinds, n_rows = len(found), len(found[0])
    # Evidence is limited to what this number of rows can confirm, so that no single row determines its kind.
    found = [np.minimum(evidence, np.log(n_rows)) for evidence in found]
    prior = np.append(1.0 - PRIOR_SHARE * n_kinds, np.full(n_kinds, PRIOR_SHARE))
    shares, rates = prior.copy(), np.full(n_kinds, PRIOR_RATE)
    known = [np.nan_to_num(evidence) for evidence in found]
    for _ in range(N_ROUNDS):
        ratios, weights = zip(*map(_log_ratio, found, rates), strict=True)
        logs = np.vstack([np.zeros(n_rows), *ratios]) + np.log(shares)[:, None]
        beliefs = np.exp(logs - logs.max(axis=0))
        beliefs /= beliefs.sum(axis=0)
        shares = (beliefs.sum(axis=1) + PRIOR_ROWS * prior) / (n_rows + PRIOR_ROWS)
        for kind, evidence in enumerate(found):
            strength = evidence if evidence.ndim == 1 else (_normalized(weights[kind]) * known[kind]).sum(axis=1)
            weight = beliefs[kind + 1]
            rate = (weight.sum() + PRIOR_CELLS) / ((weight * strength).sum() + PRIOR_CELLS / PRIOR_RATE)
            rates[kind] = np.clip(rate, MIN_RATE, MAX_RATE)
    # A kind that is rare in this table must not be overlooked for that.
    kinds = np.maximum(shares[1:], MIN_SHARE)
    return np.append(1.0 - kinds.sum(), kinds), rates


def _normalized(weights: Floats) -> Floats:
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


def _cell_shares(kind: Kind, cells: CellEvidence, evidence: Evidence, rate: float) -> Floats:
    """[row][feature]: how much of what a kind says of a row is due to each cell; 1 in all."""
    if evidence.ndim == 2:
        # A cell without evidence, such as one of a constant column, is not what is strange, if any other has some.
        has_some = cells.both > 0
        telling = np.where(has_some.any(axis=1, keepdims=True) & ~has_some, np.nan, evidence)
        return _normalized(_weights(telling, rate)[0])
    strength = np.nan_to_num(cells.given_context if kind.name == WHOLE else cells.both)
    above = np.maximum(strength - MIN_EVIDENCE, 0.0)
    # Where no cell stands out, all do by what they have; where none has anything, all alike.
    used = np.where(above.sum(axis=1, keepdims=True) > 0, above, strength)
    used = np.where(used.sum(axis=1, keepdims=True) > 0, used, cells.both > 0)
    used = np.where(used.sum(axis=1, keepdims=True) > 0, used, 1.0)
    used = np.where(np.isnan(cells.given_context), 0.0, used)
    return np.asarray(used / np.maximum(used.sum(axis=1, keepdims=True), 1e-300))
