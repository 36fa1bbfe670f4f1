"""Why a row has the score that it has."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from paribus.formatting import ColumnFormat, counted, ended, listed, plain, score_text
from paribus.judge import Surprise
from paribus.profile import ContextColumn, ContextFeature
from paribus.shapes import density
from paribus.table import Table
from paribus.values import Floats, Kind

if TYPE_CHECKING:
    from rich.console import RenderableType

    from paribus.plots import BeanplotDisplay, ContextProfileDisplay

Direction = Literal["far below", "below", "within", "in a gap", "above", "far above", "missing", "no reference"]

# Beyond the central 90 % by this much of their width is far. For a normal distribution: 3.3 deviations.
FAR = 0.5
# An interval between percentiles is a gap if it is so many times wider than the average step: from percentile to
# percentile, or from one row that counts to the next where there are fewer of these.
GAP = 5.0
# A feature with a higher partial score that is not beyond the usual lies where comparable rows are thinly spread.
SPARSE = 50.0
# A feature with a smaller share of the score is not worth a clause of the sentence.
WORTH_SAYING = 0.1
# A value that is less likely than usual by no more than a factor of 2 is not worth the words.
WORTH_A_FACTOR = float(np.log(2.0))
# By this factor it is named even if it lies within what is usual.
UNLIKELY = float(np.log(20.0))
MOST_NATS = float(np.log(1e6))
# Contextual features that the sentence names at most.
MOST_NAMED = 5
# A group of fewer rows makes coarse percentiles.
SMALL_GROUP = 30
# So do weights that are shared by fewer rows than this.
FEW_EFFECTIVE = 8


@dataclass(frozen=True)
class BehaviorFeature:
    """One behavioural feature: the row's value, and how it compares with the reference group's."""

    name: str
    value: float
    partial_score: float
    share: float
    """Of the total score, from 0 to 1."""
    lower: float
    """The 5 % percentile in the row's context, ..."""
    median: float
    upper: float
    """... the median, and the 95 % percentile; NaN if no comparable row has a value."""
    percentiles: Floats = field(repr=False)
    """The distribution of the feature in the row's context, smallest to largest, in original units."""
    weights: Floats = field(repr=False)
    """How much each row of the reference group counts in it, nearest first, 1 in all."""
    format: ColumnFormat = field(repr=False)
    surprise: Surprise | None = field(default=None, repr=False)
    """How improbable the value is, if the detector says so."""

    @property
    def title(self) -> str:
        """What texts call the feature."""
        return self.format.title or plain(self.name)

    @property
    def n_effective(self) -> float:
        """How many rows of equal weight would count as much."""
        return float(1.0 / np.sum(self.weights**2))

    def bean(self, at: Floats) -> Floats:
        """The smooth density of what was expected, largest value 1: the detector's own, if it has one."""
        if self.surprise is None or self.percentiles[0] == self.percentiles[-1]:
            return density(self.percentiles, at)
        heights = self.surprise.density(at)
        return np.asarray(heights / heights.max())

    @property
    def is_unlikely(self) -> bool:
        """Whether the detector calls the value far less likely than usual, given the context or all else."""
        return (
            self.surprise is not None and max(self.surprise.given_context, self.surprise.given_all or 0.0) >= UNLIKELY
        )

    @property
    def rarity(self) -> str | None:
        """How much less likely the value is than a usual one, in words, if the detector says so and it is worth it."""
        if self.surprise is None:
            return None
        alone, together = self.surprise.given_context, self.surprise.given_all or 0.0
        usual = "less likely than usual given the context"
        if alone >= WORTH_A_FACTOR:
            also = f", {times(together)} given the other behaviour too" if together >= WORTH_A_FACTOR else ""
            return f"{times(alone)} {usual}{also}"
        return f"{times(together)} {usual} and the other behaviour" if together >= WORTH_A_FACTOR else None

    @property
    def gap(self) -> tuple[float, float] | None:
        """The neighbouring percentiles around the value, if they are much farther apart than most are."""
        taus = self.percentiles
        if not taus[0] <= self.value <= taus[-1] or taus[0] == taus[-1]:
            return None
        below, above = int(np.searchsorted(taus, self.value)), int(np.searchsorted(taus, self.value, "right"))
        # As in the score: the narrowest interval that holds the value counts.
        narrowest = float(np.diff(taus[max(0, below - 1) : above + 1]).min())
        step = (taus[-1] - taus[0]) / min(len(taus) - 1, self.n_effective)
        if narrowest < GAP * step:
            return None
        return float(taus[max(0, below - 1)]), float(taus[min(above, len(taus) - 1)])

    @property
    def direction(self) -> Direction:
        """Where the value lies: against the central 90 %, or in a gap of the distribution."""
        if np.isnan(self.value):
            return "missing"
        if np.isnan(self.median):
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
        """Whether the value is not among the usual ones of its context."""
        return self.direction not in ("within", "missing", "no reference")

    @property
    def _finer_format(self) -> ColumnFormat:
        return self.format.telling_apart(self.value, self.lower, self.median, self.upper, *(self.gap or ()))

    @property
    def text(self) -> str:
        """The feature and its value."""
        return f"{self.title} {self.value_text}"

    @property
    def value_text(self) -> str:
        """The value, with as many digits as set it apart from what was expected."""
        return self._finer_format(self.value)

    @property
    def expectation(self) -> str:
        """What was expected, in words."""
        write = self._finer_format
        if np.isnan(self.median):
            return "no comparable row has a value"
        if self.percentiles[0] == self.percentiles[-1]:
            return f"all {write(self.median)}"
        words = f"median {write(self.median)}, "
        if self.lower == self.upper:
            words += f"90 % exactly {write(self.lower)}"
        else:
            words += f"90 % between {write(self.lower)} and {write(self.upper)}"
        if (gap := self.gap) is not None and self.direction == "in a gap":
            words += f", hardly any between {write(gap[0])} and {write(gap[1])}"
        return words


@dataclass(frozen=True)
class Thinness:
    """How far away the rows are that a row is compared with, and how far they usually are in the fitted table."""

    nearest: float
    farthest: float
    usual_nearest: float
    """The median over the fitted rows."""
    usual_farthest: float
    n_rows: int
    """The size of the reference group."""
    n_comparable: int
    """How many of them are as near as the reference rows of 95 % of the fitted rows."""
    n_counting: int
    """The fewest of them that have 95 % of the weight in the forest of the leading feature, ..."""
    n_effective: float
    """... and how many rows of equal weight would count as much."""

    @property
    def warning(self) -> str | None:
        """What to keep in mind, if the context is thin."""
        if 2 * self.n_comparable < self.n_rows:
            many = {0: "none", 1: "only 1"}.get(self.n_comparable, f"only {self.n_comparable:,}")
            verb = "is" if self.n_comparable <= 1 else "are"
            whole = "the only one" if self.n_rows == 1 else f"the {self.n_rows:,}"
            return f"few rows are comparable: {many} of {whole} {verb} as near in context as is usual here"
        if self.n_rows < SMALL_GROUP:
            rows = "1 row to compare with is" if self.n_rows == 1 else f"{self.n_rows:,} rows to compare with are"
            return f"{rows} few: the percentiles are coarse"
        if self.n_effective < FEW_EFFECTIVE:
            return f"the percentiles rest on no more than about {counted(round(self.n_effective), 'row')}"
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a row has the score that it has: which features, how far off, compared with whom.

    `str()` is a sentence; `rich.print` and notebooks show tables; `plot()` draws the beanplots.
    """

    row: Hashable
    """The row's label in the index of its table, else its position there; None for a single new row."""
    position: int | None
    """The row's position in the fitted table; None for a new row."""
    score: float
    rank: int
    """1 for the highest score among the fitted rows."""
    n_ranked: int
    """The number of fitted rows that have a score; a new row is one more."""
    percentile: float
    """The percentage of fitted rows with a lower score."""
    threshold: float
    """The score above which the detector calls a row an anomaly."""
    behavior: tuple[BehaviorFeature, ...]
    """The behavioural features, from the highest to the lowest partial score."""
    context: tuple[ContextFeature, ...]
    """The contextual features: the row's own values, and what the reference group has in common."""
    thinness: Thinness
    top: int
    """How many behavioural features the sentence and the beanplots show at most."""
    reference_positions: npt.NDArray[np.int64]
    """The positions of the reference group in the fitted table, nearest first."""
    reference_distances: Floats
    _table: Table
    _columns: tuple[ContextColumn, ...]

    @property
    def is_anomaly(self) -> bool:
        """Whether the score is above the detector's threshold."""
        return self.score > self.threshold

    @property
    def features(self) -> Any:
        """The behavioural features from the highest to the lowest partial score, as a table of the caller's type."""
        rows = [_feature_row(feature) for feature in self.behavior]
        return self._table.new({key: [row[key] for row in rows] for key in rows[0]})

    @property
    def reference(self) -> Any:
        """The rows of the reference group, nearest first, as a table of the caller's type.

        With their distances, and with how much each counts for the feature that the sentence names first.
        """
        extra = {"distance": self.reference_distances, "weight": self.leading.weights}
        return self._table.take(self.reference_positions, extra)

    @property
    def leading(self) -> BehaviorFeature:
        """The feature that the sentence names first: the one with the highest partial score."""
        return self.behavior[0]

    def reference_values(self, feature: ContextFeature) -> npt.NDArray[Any]:
        """The values of the reference group in a contextual feature: numbers, or categories as objects."""
        return self._columns[self.context.index(feature)].decode(self.reference_positions)

    @property
    def percentiles(self) -> dict[str, Floats]:
        """The distribution of each behavioural feature in the row's context, in original units."""
        return {feature.name: feature.percentiles for feature in self.behavior}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to keep in mind: a thin context, values that the reference group does not have."""
        said = [self.thinness.warning, *(feature.warning for feature in self.context)]
        missing = [feature.title for feature in self.behavior if feature.direction == "missing"]
        if missing:
            said.append(f"{listed(missing, 'and')} {'is' if len(missing) == 1 else 'are'} missing and not judged")
        return tuple(warning for warning in said if warning is not None)

    @property
    def title(self) -> str:
        """What is explained: 'row 137', 'new row', or 'new row 3' of several."""
        kind = "new row" if self.position is None else "row"
        return kind if self.row is None else f"{kind} {plain(self.row)}"

    @property
    def group(self) -> str:
        """Whom the row is compared with: how many of them count, and what sets those apart from the whole table."""
        telling = [feature for feature in self.context if feature.sets_apart]
        kept = sorted(telling, key=lambda feature: feature.table_share / feature.share)[:MOST_NAMED]
        words = [f"{feature.title} {feature.group_text}" for feature in telling if feature in kept]
        n_rows, n_counting = self.thinness.n_rows, self.thinness.n_counting
        rows = "the nearest row" if n_rows == 1 else f"the {n_rows:,} nearest rows"
        if self.leading.surprise is not None:
            rows = "1 comparable row counts" if n_counting == 1 else f"{n_counting:,} comparable rows count"
        elif n_counting < n_rows:
            rows = f"{n_counting:,} of {rows} count" + ("s" if n_counting == 1 else "")
        return f"{rows}, mostly with {', '.join(words)}" if words else rows

    @property
    def sentence(self) -> str:
        """What stands out and what was expected of whom, in the units of the table."""
        first = self.leading
        others = [f for f in self.behavior[1 : self.top] if f.share >= WORTH_SAYING]
        outside = [f for f in others if f.stands_out]
        # Each within what is usual, and yet it does not go with the others.
        unlikely = [f for f in others if not f.stands_out and f.is_unlikely]
        verb = "is in a gap of" if first.direction == "in a gap" else f"is {first.direction}"
        words = f"{first.text} {verb} what comparable rows show"
        if first.rarity is not None:
            words += f", {'but' if first.direction == 'within' else 'and'} {first.rarity}"
        elif first.direction == "within" and first.partial_score >= SPARSE:
            words += ", thinly spread as they are"
        words += f" ({first.expectation}; {self.group})"
        also = [f"also {f.direction}: {f.text} ({f.expectation})" for f in outside]
        also += [f"also {f.rarity}: {f.text} ({f.expectation})" for f in unlikely]
        return "; ".join([words, *also])

    def __str__(self) -> str:
        """The sentence, and after it whatever should be kept in mind."""
        return ended("; note that ".join([self.sentence, *self.warnings]))

    def __repr__(self) -> str:
        standing = f"score {score_text(self.score)}, rank {self.rank:,} of {self.n_ranked:,}"
        return f"<Explanation of {self.title}, {standing}: {self}>"

    def __rich__(self) -> RenderableType:
        from paribus.rendering import as_rich

        return as_rich(self)

    def _repr_html_(self) -> str:
        from paribus.rendering import as_html

        return as_html(self)

    def plot(self, ax: Any = None) -> BeanplotDisplay:
        """The beanplots of the top features: what was expected, and what the value is (extra `plot`)."""
        from paribus.plots import BeanplotDisplay

        return BeanplotDisplay.from_explanation(self, ax=ax)

    def plot_context(self, ax: Any = None) -> ContextProfileDisplay:
        """The distribution of the reference group in each contextual feature, the row's own value marked."""
        from paribus.plots import ContextProfileDisplay

        return ContextProfileDisplay.from_explanation(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values that JSON can hold: no NaN, moments in time as text."""
        thin = self.thinness
        return {
            "row": _plain_value(self.row),
            "position": self.position,
            "score": self.score,
            "rank": self.rank,
            "n_ranked": self.n_ranked,
            "percentile": self.percentile,
            "is_anomaly": self.is_anomaly,
            "sentence": self.sentence,
            "warnings": list(self.warnings),
            "features": [
                {key: _plain_value(value) for key, value in _feature_row(feature).items()} for feature in self.behavior
            ],
            "context": [_context_row(feature) for feature in self.context],
            "reference": {
                "nearest_distance": thin.nearest,
                "farthest_distance": thin.farthest,
                "usual_nearest_distance": thin.usual_nearest,
                "usual_farthest_distance": thin.usual_farthest,
                "n_comparable": thin.n_comparable,
                "n_counting": thin.n_counting,
                "n_effective": thin.n_effective,
                "positions": self.reference_positions.tolist(),
                "distances": self.reference_distances.tolist(),
                "weights": self.leading.weights.tolist(),
            },
            "percentiles": {
                feature.name: [_plain_value(tau) for tau in feature.percentiles.tolist()] for feature in self.behavior
            },
        }

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)


def times(nats: float) -> str:
    """A ratio of likelihoods, in words.

    >>> times(3.0), times(7.2), times(30.0)
    ('20 times', '1,300 times', 'over a million times')
    """
    if nats > MOST_NATS:
        return "over a million times"
    ratio = float(np.exp(nats))
    # Two digits are more than enough.
    rounded = round(ratio, 1 - int(np.floor(np.log10(ratio))))
    return f"{rounded:,.0f} times" if rounded >= 10 else f"{rounded:.1f} times"


def _feature_row(feature: BehaviorFeature) -> dict[str, Any]:
    row = {
        "feature": feature.name,
        "value": feature.value,
        "partial_score": feature.partial_score,
        "share": feature.share,
        "median": feature.median,
        "lower": feature.lower,
        "upper": feature.upper,
        "direction": feature.direction,
    }
    if feature.surprise is not None:
        row["surprise_given_context"] = feature.surprise.given_context
        if feature.surprise.given_all is not None:
            row["surprise_given_all"] = feature.surprise.given_all
    return row


def _context_row(feature: ContextFeature) -> dict[str, Any]:
    def plain_value(value: Any) -> Any:
        return feature.format(value) if feature.format.kind is Kind.TIME and value is not None else _plain_value(value)

    return {
        "feature": feature.name,
        "value": plain_value(feature.value),
        "low": plain_value(feature.low),
        "high": plain_value(feature.high),
        "categories": [plain_value(category) for category in feature.categories],
        "share": feature.share,
        "table_share": feature.table_share,
        "sets_apart": feature.sets_apart,
    }


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
