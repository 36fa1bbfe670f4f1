"""What a reference group has in common, compared with the whole table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.statistics import evenly, weighted_quantiles
from paribus._common.text import listed, plain
from paribus.explain.time_words import TimeWords
from paribus.tables.column_format import ColumnFormat
from paribus.tables.row_store import ColumnSummary
from paribus.tables.table import Table
from paribus.tables.time_parts import TREND, TimeParts

# The quantiles between which the values of a numeric feature are described.
CENTRAL = (0.05, 0.95)
# The minimum share of the group that the named categories of a categorical feature make up together.
MIN_NAMED_SHARE = 0.8
# A feature sets a group apart if the table's share of the described values is at most this fraction of the group's.
MAX_RELATIVE_SHARE = 0.75
# Categories that a text lists by name; the others are counted.
MAX_LISTED = 3
NO_ROW_HAS = "none of the rows it is compared with has "
"""The beginning of the warning that a row is alone with its category."""
# A value this far beyond all values of its group, as a share of the column's range, gets a warning.
FAR_BEYOND = 0.1
# The maximum number of timestamps that represent a column.
MAX_MOMENTS = 10_000


class ContextFeature(NamedTuple):
    """One contextual feature: the row's own value, and what its reference group has in common."""

    name: str
    own: float | Hashable
    """The row's own value as it is computed with: timestamps in microseconds; None if missing."""
    lowest: float | None
    """The lower end of the group's central 90 %, as it is computed with; None for a categorical feature."""
    highest: float | None
    """The upper end of the group's central 90 %, as it is computed with; None for a categorical feature."""
    categories: tuple[Hashable, ...]
    """The categories that make up at least 80 % of the group, most frequent first; empty for a numeric feature."""
    share: float
    """The share of the group that the range or the categories cover."""
    table_share: float
    """The share of the whole table that the range or the categories cover."""
    warning: str | None
    """Why the group is not representative for this row's value; None if it is."""
    format: ColumnFormat
    counts: bool = True
    """Whether the leading behavioral feature is judged by it."""
    words: str | None = None
    """What the group has in common, if it has been written: '22 to 28', or 'Sundays in July, about 14 h'."""
    own_words: str | None = None
    """The row's own value as text, if it has been written."""

    @property
    def value(self) -> Any:
        """The row's own value, as in its table; None if missing."""
        return self.format.decoded(self.own)

    @property
    def low(self) -> Any:
        """The lower end of the group's central 90 %: a number, timestamp or duration; None for a categorical one."""
        return self.format.decoded(self.lowest)

    @property
    def high(self) -> Any:
        """The upper end of the group's central 90 %: a number, timestamp or duration; None for a categorical one."""
        return self.format.decoded(self.highest)

    @property
    def title(self) -> str:
        """The name of the feature in texts."""
        return self.format.title or plain(self.name)

    @property
    def is_same(self) -> bool:
        """Whether most of the group has the row's own value."""
        if self.lowest is not None:
            return self.own == self.lowest == self.highest
        return self.categories == (self.own,)

    @property
    def sets_apart(self) -> bool:
        """Whether the group differs from the whole table in this feature."""
        return self.counts and self.table_share <= MAX_RELATIVE_SHARE * self.share

    @property
    def text(self) -> str:
        """The row's own value as text."""
        return self.format(self.own) if self.own_words is None else self.own_words

    @property
    def group_text(self) -> str:
        """What the group has in common: '22 to 28', or 'MF or FW'."""
        if self.words is not None:
            return self.words
        if self.lowest is not None and self.highest is not None:
            return self.format.range_text(self.lowest, self.highest)
        words = [self.format(category) for category in self.categories[:MAX_LISTED]]
        more = len(self.categories) - len(words)
        if more:
            words.append("another" if more == 1 else f"{more} others")
        return listed(words, "or")


@dataclass(frozen=True)
class ContextColumn:
    """One contextual feature of the fitted table: its name, its format, and a summary of its values."""

    name: str
    format: ColumnFormat
    summary: ColumnSummary = field(repr=False)
    codes: dict[Hashable, int] | None = field(repr=False)
    """The code of each category; None for a numeric feature."""
    times: TimeParts | None = field(default=None, repr=False)
    """The time parts in use; None for any other feature."""

    @cached_property
    def _categories(self) -> list[Hashable]:
        # None, for missing values, comes last.
        return [*(self.codes or {}), None]

    @cached_property
    def _far_beyond(self) -> float:
        return FAR_BEYOND * (self.summary.highest - self.summary.lowest)

    def decode_one(self, value: float) -> float | Hashable:
        """Decodes a value: a number stays as it is, a code becomes its category, a missing value becomes None."""
        if np.isnan(value):
            return None
        return value if self.codes is None else self._categories[int(value)]

    def decode(self, values: Floats) -> npt.NDArray[Any]:
        """Decodes values: an array of numbers, or of categories as objects."""
        if self.codes is None:
            return values
        decoded = np.empty(len(values), dtype=object)
        decoded[:] = [self.decode_one(code) for code in values]
        return decoded

    def own_values(self, table: Table, position: int) -> Any:
        """The decoded values of a column of another table."""
        if self.codes is not None:
            return table.categories(position)
        return table.numbers(position) if table.has_values(position) else np.full(table.n_rows, np.nan)

    @property
    def is_number(self) -> bool:
        """Whether groups are described by a range of numbers, as `describe_groups` does it."""
        return self.codes is None and self.times is None

    def table_shares(self, ranges: Floats) -> Floats:
        """By row: the share of the whole table in the range of its group, given all that `describe_groups` found."""
        if not self.summary.has_values:
            return np.full(len(ranges), np.nan)
        # Among the rows with a value, as in the group.
        return self.summary.share_between(ranges[:, 0], ranges[:, 1])

    def are_beyond(self, values: Floats, lowest: Floats, highest: Floats) -> npt.NDArray[np.bool_]:
        """By row: whether its value is far beyond all values of its group, which `beyond` puts in words."""
        if not self.summary.has_values:
            return np.full(len(values), False)
        return np.maximum(values - highest, lowest - values) > self._far_beyond

    def beyond(self, value: float | Hashable, lowest: float, highest: float) -> str | None:
        """A warning if a row's own value is far beyond all values of its group, else None."""
        if not isinstance(value, float):
            return None
        if max(value - highest, lowest - value) <= self._far_beyond:
            return None
        end, bound = ("at most", highest) if value > highest else ("at least", lowest)
        write = self.format.telling_apart(value, bound)
        alone = f"{self.format.title} {write(value)} lies beyond all rows it is compared with"
        return f"{alone}, which have {end} {write(bound)}"

    def describe(self, value: float | Hashable, group: Floats, weights: Floats, *, counts: bool) -> ContextFeature:
        """Describes a row's own value and the weighted values of its reference group, of any kind."""
        if self.codes is not None:
            return self._describe_categories(value, group, weights, counts)
        missing = float(weights[np.isnan(group)].sum())
        if missing > 0.5:
            return ContextFeature(
                self.name,
                value,
                None,
                None,
                (None,),
                missing,
                self.summary.n_missing / self.summary.n_rows,
                None,
                self.format,
                counts,
            )
        known = ~np.isnan(group)
        values, shares = group[known], weights[known] / weights[known].sum()
        low, high = weighted_quantiles(values, shares, CENTRAL)
        if self.times is not None:
            return self._describe_times(self.times, value, values, shares, (low, high), counts)
        share = float(shares[(values >= low) & (values <= high)].sum())
        warning = self.beyond(value, float(values.min()), float(values.max()))
        # Among the rows with a value, as in the group.
        table_share = float(self.summary.share_between(low, high))
        return ContextFeature(self.name, value, low, high, (), share, table_share, warning, self.format, counts)

    def _describe_times(
        self,
        times: TimeParts,
        value: float | Hashable,
        moments: Floats,
        shares: Floats,
        ends: tuple[float, float],
        counts: bool,
    ) -> ContextFeature:
        words = TimeWords.of(times, moments, shares, self.format)
        share = float(shares[words.holds(times, moments)].sum())
        every = evenly(self.summary.order_statistics, MAX_MOMENTS)
        table_share = float(words.holds(times, every).mean())
        warning = None
        if TREND in times.parts:
            warning = self.beyond(value, float(moments.min()), float(moments.max()))
        return ContextFeature(self.name, value, *ends, (), share, table_share, warning, self.format, counts, words.text)

    def _describe_categories(self, value: Hashable, group: Floats, weights: Floats, counts: bool) -> ContextFeature:
        shares = self._count(group, weights)
        order = np.argsort(-shares, kind="stable")
        # The tolerance absorbs rounding errors of the sum.
        n_named = int(np.searchsorted(np.cumsum(shares[order]), MIN_NAMED_SHARE - 1e-9)) + 1
        named = order[:n_named]
        categories = tuple(self._categories[i] for i in named)
        warning = None
        if value is not None and (code := (self.codes or {}).get(value)) is None:
            warning = f"{self.format.title} {self.format(value)} does not occur in the fitted table"
        elif value is not None and code is not None and not (group == code).any():
            warning = f"{NO_ROW_HAS}{self.format.title} {self.format(value)}"
        assert self.summary.category_shares is not None
        share, table_share = shares[named].sum(), self.summary.category_shares[named].sum()
        return ContextFeature(
            self.name, value, None, None, categories, float(share), float(table_share), warning, self.format, counts
        )

    def _count(self, codes: Floats, weights: Floats) -> Floats:
        n_categories = len(self._categories) - 1
        places = np.where(np.isnan(codes), n_categories, codes).astype(np.int64)
        return np.bincount(places, weights, minlength=n_categories + 1).astype(np.float64)
