"""Frozen facts about a row: each behavioral feature, and how well the context is covered."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from paribus._common.arrays import Floats
from paribus._common.statistics import density
from paribus._common.text import counted, one_in, plain
from paribus.methods.interface import CellVerdict
from paribus.tables.column_format import ColumnFormat

Direction = Literal["far below", "below", "within", "in a gap", "above", "far above", "rare", "missing", "no reference"]

# Beyond the central 90 % by this share of their width is far: 3.3 deviations of a normal distribution.
FAR = 0.5
# An interval between percentiles is a gap if it is this many times wider than the average step: from percentile to
# percentile, or from one row that counts to the next where there are fewer of these.
GAP = 5.0
# Probabilities above this are not worth mentioning.
MAX_P_TO_MENTION = 0.1
# A value this improbable is mentioned even if it lies within the usual range.
MAX_P_TO_NAME = 0.02
# Smaller probabilities count as this one.
SMALLEST_P = 1e-300
# A smaller reference group gives coarse percentiles.
MIN_GROUP_SIZE = 30
# A smaller effective number of rows gives coarse percentiles.
MIN_EFFECTIVE_SIZE = 8


class Distribution(Protocol):
    """What is known of a feature in a row's context besides its central range; most of it is seldom used."""

    @property
    def percentiles(self) -> Floats:
        """The percentiles in ascending order."""

    @property
    def weights(self) -> Floats:
        """The weight of each row of the reference group, nearest first."""

    @property
    def has_one_value(self) -> bool:
        """Whether all percentiles are equal."""


@dataclass(frozen=True)
class KnownDistribution:
    """A distribution that has been computed."""

    percentiles: Floats
    weights: Floats

    @property
    def has_one_value(self) -> bool:
        """Whether all percentiles are equal."""
        return bool(self.percentiles[0] == self.percentiles[-1])


@dataclass(frozen=True)
class BehaviorFeature:
    """One behavioral feature: the row's value, and how it compares with the reference group's."""

    name: str
    value: float
    partial_score: float
    share: float
    """The share of the total score, from 0 to 1."""
    lower: float
    """The 5 % percentile in the row's context; NaN if no comparable row has a value."""
    median: float
    """The median in the row's context; NaN if no comparable row has a value."""
    upper: float
    """The 95 % percentile in the row's context; NaN if no comparable row has a value."""
    distribution: Distribution = field(repr=False)
    """The distribution of the feature in the row's context, in more detail."""
    format: ColumnFormat = field(repr=False)
    verdict: CellVerdict | None = field(default=None, repr=False)
    """How improbable the value is; None if the method does not say."""

    @cached_property
    def percentiles(self) -> Floats:
        """The distribution of the feature in the row's context, in ascending order and original units."""
        return self.distribution.percentiles

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row of the reference group in the distribution, nearest first; they sum to 1."""
        return self.distribution.weights

    @property
    def title(self) -> str:
        """The name of the feature in texts."""
        return self.format.title or plain(self.name)

    @property
    def n_effective(self) -> float:
        """The effective number of rows: how many rows of equal weight would count as much."""
        return float(1.0 / np.sum(self.weights**2))

    def bean(self, at: Floats) -> Floats:
        """The expected density, scaled to a maximum of 1: the method's own, or an estimate from the percentiles."""
        if self.verdict is None or self.verdict.density is None or self.percentiles[0] == self.percentiles[-1]:
            return density(self.percentiles, at)
        heights = self.verdict.density(at)
        return np.asarray(heights / max(float(heights.max()), 1e-300))

    @property
    def has_reference(self) -> bool:
        """Whether it is known what is usual."""
        return not math.isnan(self.median)

    @property
    def is_unlikely(self) -> bool:
        """Whether the value is improbable enough for a clause, given the context or everything else."""
        if self.verdict is None:
            return False
        together = self.verdict.p_value_given_all
        return min(self.verdict.p_value, 1.0 if together is None else together) <= MAX_P_TO_NAME

    @property
    def rarity(self) -> str | None:
        """How many comparable rows would be as far off, in words; None if unknown or not worth mentioning."""
        if self.verdict is None:
            return None
        alone, together = self.verdict.p_value, self.verdict.p_value_given_all
        is_odd_together = together is not None and together <= MAX_P_TO_MENTION
        if alone <= MAX_P_TO_MENTION:
            words = f"{one_in(alone)} comparable rows would be as far off"
            return (
                f"{words}, {one_in(together)} given its other values"
                if together is not None and is_odd_together
                else words
            )
        if together is not None and is_odd_together:
            return f"{one_in(together)} comparable rows with its other values would be as far off"
        return None

    @property
    def is_off(self) -> bool:
        """Whether the value is worth a clause: outside the usual range, in a gap, or improbable."""
        return self.stands_out or self.is_unlikely

    @property
    def oddness(self) -> float:
        """How far off the value is, to compare the features of a row: nats, or the partial score if there are none."""
        if self.verdict is None:
            return -1.0 if math.isnan(self.partial_score) else self.partial_score
        alone, together = self.verdict.p_value, self.verdict.p_value_given_all
        if math.isnan(alone):
            return -1.0
        evidence = -math.log(max(alone, SMALLEST_P))
        if together is None or math.isnan(together):
            return evidence
        # As in the score, the evidence that the other values add counts half.
        return evidence + max(0.0, -math.log(max(together, SMALLEST_P)) - evidence) / 2

    @property
    def is_odd_given_others(self) -> bool:
        """Whether the value is improbable given the other values, and more so than given the context alone."""
        if self.verdict is None or self.verdict.p_value_given_all is None:
            return False
        return self.verdict.p_value_given_all <= min(MAX_P_TO_NAME, self.verdict.p_value)

    @cached_property
    def gap(self) -> tuple[float, float] | None:
        """The percentiles on both sides of the value if they are unusually far apart, else None."""
        # Values of a scale of few steps are far apart without being rare.
        if self.verdict is not None and not self.verdict.p_value <= MAX_P_TO_NAME:
            return None
        taus = self.percentiles
        if not taus[0] <= self.value <= taus[-1] or taus[0] == taus[-1]:
            return None
        below, above = int(taus.searchsorted(self.value)), int(taus.searchsorted(self.value, "right"))
        # The narrowest interval that contains the value counts, as in the score.
        narrowest = min(high - low for low, high in pairwise(taus[max(0, below - 1) : above + 1].tolist()))
        width, n_steps = float(taus[-1] - taus[0]), len(taus) - 1
        # Fewer rows that count make for larger steps.
        if narrowest < GAP * (width / n_steps) or narrowest < GAP * (width / min(n_steps, self.n_effective)):
            return None
        return float(taus[max(0, below - 1)]), float(taus[min(above, len(taus) - 1)])

    @property
    def has_one_value(self) -> bool:
        """Whether all comparable rows have the same value."""
        return self.distribution.has_one_value

    @property
    def gap_text(self) -> str:
        """The ends of the gap; empty if there is none."""
        return "" if (gap := self.gap) is None else " and ".join(self._finer_format(end) for end in gap)

    @cached_property
    def direction(self) -> Direction:
        """Where the value lies relative to the central 90 %, or that it is in a gap of the distribution."""
        if math.isnan(self.value):
            return "missing"
        if math.isnan(self.median):
            return "no reference"
        width = self.upper - self.lower
        if self.value > self.upper:
            far = self.value - self.upper >= FAR * width if width > 0 else self.value > self.percentiles[-1]
            return "far above" if far else "above"
        if self.value < self.lower:
            far = self.lower - self.value >= FAR * width if width > 0 else self.value < self.percentiles[0]
            return "far below" if far else "below"
        return "within" if self.gap is None else "in a gap"

    @property
    def stands_out(self) -> bool:
        """Whether the value is outside the usual range of its context, or in a gap."""
        return self.direction not in ("within", "missing", "no reference")

    @cached_property
    def _finer_format(self) -> ColumnFormat:
        return self.format.telling_apart(self.value, self.lower, self.upper, *(self.gap or ()))

    @property
    def text(self) -> str:
        """The name of the feature and its value."""
        return f"{self.title} {self.value_text}"

    @property
    def noun(self) -> str:
        """The name of the feature and its value, as a part of a sentence."""
        return self.text

    @property
    def value_text(self) -> str:
        """The value, with enough digits to tell it apart from the expected values."""
        return self._finer_format(self.value)

    @property
    def is_point(self) -> bool:
        """Whether 90 % of comparable rows have one value, as far as a reader can tell."""
        return self._finer_format(self.lower) == self._finer_format(self.upper)

    @property
    def range_text(self) -> str:
        """What 90 % of comparable rows have: '3.0 to 6.5', or one value; empty if no comparable row has a value."""
        if math.isnan(self.median):
            return ""
        return _range(self.lower, self.upper, self._finer_format)

    @cached_property
    def range_given_others(self) -> str | None:
        """What 90 % of the rows have that have its other values, too; None if unknown, or if the value is among it."""
        usual = None if self.verdict is None else self.verdict.usual_given_all
        if usual is None or usual[0] <= self.value <= usual[1]:
            return None
        return _range(*usual, self.format.telling_apart(self.value, *usual))

    @property
    def expectation(self) -> str:
        """The expected values in words."""
        write = self._finer_format
        if math.isnan(self.median):
            return "no comparable row has a value"
        if self.has_one_value:
            return f"all {write(self.median)}"
        words = f"median {write(self.median)}, "
        if self.is_point:
            words += f"90 % exactly {write(self.lower)}"
        else:
            words += f"90 % between {write(self.lower)} and {write(self.upper)}"
        if self.direction == "in a gap":
            words += f", hardly any between {self.gap_text}"
        return words

    @property
    def is_category(self) -> bool:
        """Whether the value is the code of a category, and not a number."""
        return False

    def gist(self) -> dict[str, Any]:
        """The value, and what is usual."""
        return {"value": self.value, "usual": [self.lower, self.upper]}

    def as_row(self) -> dict[str, Any]:
        """The facts as plain values, by name."""
        row = {
            "feature": self.name,
            "value": self.value,
            "partial_score": self.partial_score,
            "share": self.share,
            "median": self.median,
            "lower": self.lower,
            "upper": self.upper,
            "direction": self.direction,
        }
        if self.verdict is not None:
            row["p_value"] = self.verdict.p_value
            if self.verdict.p_value_given_all is not None:
                row["p_value_given_all"] = self.verdict.p_value_given_all
        return row


def _range(lower: float, upper: float, write: ColumnFormat) -> str:
    low, high = write(lower), write(upper)
    return low if low == high else f"{low} to {high}"


class Thinness(NamedTuple):
    """How far away the reference group is, and how far reference groups usually are in the fitted table."""

    nearest: float
    """The distance of the nearest reference row."""
    farthest: float
    """The distance of the farthest reference row."""
    usual_nearest: float
    """The median over the fitted rows of the distance of the nearest reference row."""
    usual_farthest: float
    """The median over the fitted rows of the distance of the farthest reference row."""
    n_rows: int
    """The size of the reference group."""
    n_comparable: int
    """The number of reference rows that are no farther away than those of 95 % of the fitted rows."""
    n_counting: int
    """The minimum number of reference rows that hold 95 % of the weight for the leading feature."""
    n_effective: float
    """The effective number of reference rows for the leading feature."""

    @property
    def warning(self) -> str | None:
        """A warning if there are few comparable rows, else None."""
        usual = "in context as is usual in this table"
        if 2 * self.n_comparable < self.n_rows:
            if self.n_rows == 1:
                return f"no row is comparable: not even the nearest one is as close {usual}"
            many = {0: "none", 1: "only 1"}.get(self.n_comparable, f"only {self.n_comparable:,}")
            verb = "is" if self.n_comparable <= 1 else "are"
            return f"few rows are comparable: {many} of the {self.n_rows:,} {verb} as close {usual}"
        if self.n_rows < MIN_GROUP_SIZE:
            verb = "is" if self.n_rows == 1 else "are"
            return f"there {verb} only {counted(self.n_rows, 'row')} to compare with, so the percentiles are coarse"
        if self.n_effective < MIN_EFFECTIVE_SIZE:
            return f"the percentiles rest on only about {counted(round(self.n_effective), 'row')}"
        return None
