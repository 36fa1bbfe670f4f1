"""What a reference group has in common, compared with the whole table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.statistics import weighted_quantile
from paribus._common.text import listed, plain
from paribus.tables.column_format import ColumnFormat
from paribus.tables.row_store import ColumnSummary
from paribus.tables.table import Table

# The central part of a group that is described: from the 5 % to the 95 % percentile, ...
CENTRAL = (0.05, 0.95)
# ... or the most frequent categories that make up so much of it together.
MOST = 0.8
# A feature sets a group apart if the described part is this much rarer in the whole table.
RARER = 0.75
# Categories that are listed by name; the rest is counted.
MOST_LISTED = 3
# A row this far beyond its whole group in one feature, as a share of the table's range, stands alone there.
FAR_BEYOND = 0.1


@dataclass(frozen=True)
class ContextFeature:
    """One contextual feature: the row's own value, and what its reference group has in common."""

    name: str
    value: float | Hashable
    """The row's own; None if missing. Moments in time are microseconds."""
    low: float | None
    high: float | None
    """The central 90 % of the group, if the feature is a number."""
    categories: tuple[Hashable, ...]
    """The categories that make up at least 80 % of the group, most frequent first, if it is a category."""
    share: float
    """How much of the group the range or the categories hold, ..."""
    table_share: float
    """... and how much of the whole table."""
    warning: str | None
    """Why the group says little about this row's value, if so."""
    format: ColumnFormat = field(repr=False)

    @property
    def title(self) -> str:
        """What texts call the feature."""
        return self.format.title or plain(self.name)

    @property
    def sets_apart(self) -> bool:
        """Whether the group differs from the whole table in this feature."""
        return self.table_share <= RARER * self.share

    @property
    def text(self) -> str:
        """The row's own value."""
        return self.format(self.value)

    @property
    def group_text(self) -> str:
        """What the group has in common: '22 to 28', or 'MF or FW'."""
        if self.low is not None and self.high is not None:
            write = self.format.telling_apart(self.low, self.high)
            return write(self.low) if self.low == self.high else f"{write(self.low)} to {write(self.high)}"
        words = [self.format(category) for category in self.categories[:MOST_LISTED]]
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
    """The code of each category; None for numbers."""

    @cached_property
    def _categories(self) -> list[Hashable]:
        # A missing category comes last.
        return [*(self.codes or {}), None]

    def decode_one(self, value: float) -> float | Hashable:
        """A number as it is, or the category that a code stands for; None if missing."""
        if np.isnan(value):
            return None
        return value if self.codes is None else self._categories[int(value)]

    def decode(self, values: Floats) -> npt.NDArray[Any]:
        """Encoded values as a person knows them: numbers, or categories as objects."""
        if self.codes is None:
            return values
        decoded = np.empty(len(values), dtype=object)
        decoded[:] = [self.decode_one(code) for code in values]
        return decoded

    def own_values(self, table: Table, position: int) -> Any:
        """The values of a column of another table, as a person knows them."""
        if self.codes is not None:
            return table.categories(position)
        return table.numbers(position) if table.has_values(position) else np.full(table.n_rows, np.nan)

    def describe(self, value: float | Hashable, group: Floats, weights: Floats) -> ContextFeature:
        """A row's own value and those of its reference group, as much as each counts, as a person would put it."""
        if self.codes is not None:
            return self._describe_categories(value, group, weights)
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
            )
        known = ~np.isnan(group)
        values, counts = group[known], weights[known] / weights[known].sum()
        low, high = (weighted_quantile(values, counts, share) for share in CENTRAL)
        share = float(counts[(values >= low) & (values <= high)].sum())
        warning = self._beyond(value, float(values.min()), float(values.max()))
        # Among the rows that have a value, as in the group.
        table_share = self.summary.share_between(low, high)
        return ContextFeature(self.name, value, low, high, (), share, table_share, warning, self.format)

    def _describe_categories(self, value: Hashable, group: Floats, weights: Floats) -> ContextFeature:
        counts = self._count(group, weights)
        order = np.argsort(-counts, kind="stable")
        # Shares that differ by rounding alone are equal.
        n_named = int(np.searchsorted(np.cumsum(counts[order]), MOST - 1e-9)) + 1
        named = order[:n_named]
        categories = tuple(self._categories[i] for i in named)
        warning = None
        if value is not None and (code := (self.codes or {}).get(value)) is None:
            warning = f"{self.format.title} {self.format(value)} occurs nowhere in the fitted table"
        elif value is not None and code is not None and not (group == code).any():
            warning = f"no row it is compared with has {self.format.title} {self.format(value)}"
        assert self.summary.category_shares is not None
        share, table_share = counts[named].sum(), self.summary.category_shares[named].sum()
        return ContextFeature(
            self.name, value, None, None, categories, float(share), float(table_share), warning, self.format
        )

    def _beyond(self, value: float | Hashable, lowest: float, highest: float) -> str | None:
        if not isinstance(value, float):
            return None
        table_range = self.summary.highest - self.summary.lowest
        if max(value - highest, lowest - value) <= FAR_BEYOND * table_range:
            return None
        end, bound = ("at most", highest) if value > highest else ("at least", lowest)
        write = self.format.telling_apart(value, bound)
        alone = f"{self.format.title} {write(value)} lies beyond all rows it is compared with"
        return f"{alone}, which have {end} {write(bound)}"

    def _count(self, codes: Floats, weights: Floats) -> Floats:
        n_categories = len(self._categories) - 1
        places = np.where(np.isnan(codes), n_categories, codes).astype(np.int64)
        return np.bincount(places, weights, minlength=n_categories + 1).astype(np.float64)
