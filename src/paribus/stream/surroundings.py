"""The circumstances of rows: which part of the context a row is in, and where it lies in the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.statistics import evenly
from paribus._common.text import plain
from paribus.explain.context import ContextColumn

Numbers = npt.NDArray[np.int64]

N_CELLS = 8
# A cell is not split if its parts would have fewer rows.
MIN_CELL_ROWS = 100
N_STRATA = 4
MAX_CATEGORIES = 7
# Values that represent a contextual column of numbers.
N_QUANTILES = 256
# Strata with more than this share of the rows are too wide to be informative.
MAX_STRATUM = 0.9
# The number of rows that represent all of them.
N_REPRESENTATIVES = 4_000


@dataclass(frozen=True)
class Split:
    """A split of the context: values up to the threshold, and missing ones, go left."""

    feature: int
    threshold: float
    left: int
    """The split or, if negative, minus 1 minus the cell that is on this side."""
    right: int


@dataclass(frozen=True)
class Stratum:
    """A part of one contextual column, in words."""

    column: int
    text: str
    low: float
    """Numbers above it, and ..."""
    high: float
    """... up to this; or the code of a category, twice."""


class Surroundings:
    """Cells, which partition the context; strata, which have names; and the distribution of each contextual column.

    Parameters
    ----------
    context : array
        [row][contextual feature]: contexts of the reference, encoded.
    columns : list of ContextColumn
        What the features are.
    """

    def __init__(self, context: Floats, columns: list[ContextColumn]) -> None:
        self._columns = columns
        self._is_category = np.array([column.codes is not None for column in columns])
        self._is_moment = np.array([column.times is not None for column in columns])
        self._splits = _part(context[:, ~self._is_moment]) if (~self._is_moment).any() else []
        self.watched = np.flatnonzero(~self._is_moment).tolist()
        """Contextual columns except timestamps, which never recur."""
        self.strata: list[Stratum] = []
        self._values: dict[int, Floats] = {}
        """By column of numbers: sorted values that represent it."""
        self._shares: dict[int, Floats] = {}
        """By column of categories: the share of each code; the last for all others."""
        for place in self.watched:
            self._describe(place, context[:, place])
        self.n_cells = len(self._splits) + 1
        counts = np.bincount(self.cells(context), minlength=self.n_cells).astype(np.float64)
        self.cell_shares = counts / counts.sum()
        with np.errstate(invalid="ignore"):
            missing = np.isnan(context)
            self._lowest = np.where(missing, np.inf, context).min(axis=0)
            self._highest = np.where(missing, -np.inf, context).max(axis=0)

    def _describe(self, place: int, values: Floats) -> None:
        column, known = self._columns[place], values[~np.isnan(values)]
        if column.codes is not None:
            counts = np.bincount(np.minimum(known, len(column.codes)).astype(np.int64), minlength=len(column.codes) + 1)
            self._shares[place] = counts / max(counts.sum(), 1)
            common = np.argsort(-counts[:-1], kind="stable")[:MAX_CATEGORIES]
            names = list(column.codes)
            for code in common[counts[common] >= MIN_CELL_ROWS // 2].tolist():
                self.strata.append(Stratum(place, f"{plain(column.name)} is {plain(names[code])}", code, code))
            return
        if known.size == 0:
            self._values[place] = np.zeros(1)
            return
        self._values[place] = np.quantile(known, np.linspace(0.0, 1.0, N_QUANTILES))
        edges = np.unique(np.quantile(known, np.arange(1, N_STRATA) / N_STRATA, method="lower"))
        edges = edges[edges < known.max()]
        title, write = plain(column.name), column.format
        for low, high in zip(np.append(-np.inf, edges), np.append(edges, np.inf), strict=True):
            if ((known > low) & (known <= high)).mean() > MAX_STRATUM:
                continue
            text = f"{write(low)} to {write(high)}" if np.isfinite([low, high]).all() else (
                f"up to {write(high)}" if np.isfinite(high) else f"above {write(low)}"
            )  # fmt: skip
            self.strata.append(Stratum(place, f"{title} is {text}", float(low), float(high)))

    def cells(self, context: Floats) -> Numbers:
        """The cell of each context."""
        if not self._splits:
            return np.zeros(len(context), dtype=np.int64)
        used = context[:, ~self._is_moment]
        at = np.zeros(len(context), dtype=np.int64)
        for number, split in enumerate(self._splits):
            here = at == number
            right = here & (used[:, split.feature] > split.threshold)
            at[here] = split.left
            at[right] = split.right
        return -1 - at

    def groups(self, context: Floats) -> Numbers:
        """[row][1 + contextual column]: the groups of each context, which are everywhere (0) and strata (from 1)."""
        found = np.full((len(context), 1 + len(self._columns)), -1, dtype=np.int64)
        found[:, 0] = 0
        for number, stratum in enumerate(self.strata):
            values = context[:, stratum.column]
            if self._is_category[stratum.column]:
                inside = values == stratum.low
            else:
                inside = (values > stratum.low) & (values <= stratum.high)
            found[inside, 1 + stratum.column] = 1 + number
        return found

    def levels(self, context: Floats, share: Floats) -> Floats:
        """[row][watched column, and last the cell]: where each lies in the reference; ties by `share`, [row][same]."""
        found = np.full((len(context), len(self.watched) + 1), np.nan)
        for place, column in enumerate(self.watched):
            values = context[:, column]
            known = ~np.isnan(values)
            if column in self._shares:
                found[known, place] = _level_of_code(self._shares[column], values[known], share[known, place])
            else:
                below = np.searchsorted(self._values[column], values[known], "left")
                up_to = np.searchsorted(self._values[column], values[known], "right")
                n = len(self._values[column])
                found[known, place] = (below + share[known, place] * (up_to - below)) / n
        cells = self.cells(context).astype(np.float64)
        found[:, -1] = _level_of_code(np.append(self.cell_shares, 0.0), cells, share[:, -1])
        return found

    def is_unfamiliar(self, context: Floats) -> npt.NDArray[np.bool_]:
        """Whether a context has a number beyond all of the reference, or a category that it does not have."""
        beyond = (context < self._lowest) | (context > self._highest)
        beyond[:, self._is_moment] = False
        return np.asarray(beyond.any(axis=1))

    def name(self, watched: int) -> str:
        """The name of a column of `levels`."""
        if watched == len(self.watched):
            return "the combination of circumstances"
        return self._columns[self.watched[watched]].name

    def has_order(self, watched: int) -> bool:
        """Whether values of a column of `levels` can be higher or lower."""
        return watched < len(self.watched) and not self._is_category[self.watched[watched]]


def representatives(context: Floats) -> Floats:
    """Some of the contexts, which have the same range as all of them.

    >>> representatives(np.arange(100_000.0)[:, None])[[0, -2, -1], 0]
    array([    0.,     0., 99999.])
    """
    if len(context) <= N_REPRESENTATIVES:
        return context
    ends = [np.where(np.isnan(context), away, context) for away in (np.inf, -np.inf)]
    extreme = np.unique(np.concatenate([ends[0].argmin(axis=0), ends[1].argmax(axis=0)]))
    return np.concatenate([evenly(context, N_REPRESENTATIVES), context[extreme]])


def _level_of_code(shares: Floats, codes: Floats, share: Floats) -> Floats:
    place = np.minimum(codes, len(shares) - 1).astype(np.int64)
    below = np.append(0.0, np.cumsum(shares))[place]
    return np.minimum(below + share * shares[place], 1.0)


def _part(context: Floats) -> list[Split]:
    """Splits contexts at medians: always the largest cell, by the feature that varies most in it."""
    ranks = np.argsort(np.argsort(np.nan_to_num(context, nan=-np.inf), axis=0, kind="stable"), axis=0, kind="stable")
    cells: list[Numbers] = [np.arange(len(context))]
    splits: list[Split] = []
    # The position of the split or cell in its parent.
    parents: list[tuple[int, bool] | None] = [None]
    while len(cells) < N_CELLS:
        found = None
        for place in sorted(range(len(cells)), key=lambda each: -len(cells[each])):
            rows = cells[place]
            if len(rows) < 2 * MIN_CELL_ROWS:
                break
            for feature in np.argsort(-np.ptp(ranks[rows], axis=0), kind="stable").tolist():
                values = context[rows, feature]
                known = values[~np.isnan(values)]
                if known.size == 0 or known.min() == known.max():
                    continue
                threshold = float(np.quantile(known, 0.5, method="lower"))
                if threshold == known.max():
                    threshold = float(known[known < threshold].max())
                right = values > threshold
                if min(int(right.sum()), int((~right).sum())) >= MIN_CELL_ROWS:
                    found = place, feature, threshold, right
                    break
            if found:
                break
        if found is None:
            break
        place, feature, threshold, right = found
        rows, parent = cells[place], parents[place]
        number = len(splits)
        splits.append(Split(feature, threshold, 0, 0))
        if parent is not None:
            splits[parent[0]] = _with_child(splits[parent[0]], parent[1], number)
        cells[place], parents[place] = rows[~right], (number, False)
        cells.append(rows[right])
        parents.append((number, True))
    for cell, parent in enumerate(parents):
        if parent is not None:
            splits[parent[0]] = _with_child(splits[parent[0]], parent[1], -1 - cell)
    return splits


def _with_child(split: Split, is_right: bool, child: int) -> Split:
    left, right = (split.left, child) if is_right else (child, split.right)
    return Split(split.feature, split.threshold, left, right)
