"""Sequential tests for changes in a stream: valid after every row, for any number of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._core import update_change_tests
from paribus.stream.bets import BETS, HOWS, PATIENCE, PAYOFFS, SHAPE, not_begun
from paribus.stream.randomness import uniform_rows

N_BINS = 256
"""The number of bins of levels; ties are broken at random."""
# The number of recent p-values that are kept.
N_RECENT = 256
MAX_STRIDE = 1_000
SHAPE_WEIGHT = 0.01
# Autocorrelations up to this are neglected.
MIN_CORRELATION = 0.1


@dataclass(frozen=True)
class Change:
    """What a test found."""

    column: int
    how: str
    """One of the names in `bets`."""
    group: int
    """The group in which it has changed: 0 for everywhere."""
    since: int
    """The number of the row at which it most probably began."""
    evidence: float
    """The factor by which the wealth of the bets has grown."""


@dataclass
class ChangeTests:
    """Tests columns of levels for changes, each everywhere and in groups of rows.

    A level is where a value lies in its own distribution. Its p-value is its rank among the levels of earlier rows of
    the same cell, ties broken at random: uniform and independent as long as rows of a cell are exchangeable, however
    good or bad the model is. Bets against that are begun with every row; their wealth is a martingale, which exceeds
    1 / alpha with a probability of at most alpha, ever (Ville's inequality).

    Parameters
    ----------
    alpha : float
        The probability of any false alarm, ever.
    strides : array
        By column: the step between rows that are tested; 0 if it is not tested. In most streams, successive rows are
        not in most streams.
    n_cells : int
        The number of cells.
    n_groups : int
        The number of groups, of which 0 is everywhere.
    seed : int
        The seed of the ranks of ties.
    """

    alpha: float
    strides: npt.NDArray[np.int64]
    n_cells: int
    n_groups: int
    seed: int
    n_rows: int = 0
    counts: npt.NDArray[np.int64] = field(init=False, repr=False)
    """[column][cell][bin]: levels so far."""
    wealth: Floats = field(init=False, repr=False)
    """[column][group][bet]."""
    best: Floats = field(init=False, repr=False)
    """[column][group][bet]: the logarithm of the part of the wealth that grew most."""
    begun: npt.NDArray[np.int64] = field(init=False, repr=False)
    """[column][group][bet]: the row with which this part began."""
    n_in_group: Floats = field(init=False, repr=False)
    """[column][group]: rows so far."""
    recent: Floats = field(init=False, repr=False)
    """[column][position in a ring buffer]: the last p-values, for pictures."""
    is_over: npt.NDArray[np.uint8] = field(init=False)
    """By column: whether a change was found, and the test has ended."""

    def __post_init__(self) -> None:
        n, shape = len(self.strides), (len(self.strides), self.n_groups, len(BETS))
        self.counts = np.zeros((n, self.n_cells, N_BINS), dtype=np.int64)
        self.wealth, self.best = np.zeros(shape), np.full(shape, -np.inf)
        self.begun = np.zeros(shape, dtype=np.int64)
        self.n_in_group = np.zeros(shape[:2])
        self.recent = np.full((n, N_RECENT), np.nan)
        self.is_over = np.zeros(n, dtype=np.uint8)
        # Half of the wealth is bet everywhere, the other half in the groups.
        self._shares = np.full(self.n_groups, 0.5 / max(self.n_groups - 1, 1))
        self._shares[0] = 0.5 if self.n_groups > 1 else 1.0

    def begin(self, levels: Floats, cells: npt.NDArray[np.int64]) -> None:
        """Starts with rows that are known to have no change: [row][column]."""
        for column in range(levels.shape[1]):
            known = ~np.isnan(levels[:, column])
            np.add.at(self.counts[column], (cells[known], _bins(levels[known, column])), 1)

    @property
    def evidence(self) -> Floats:
        """By column: the factor by which the wealth has grown."""
        held = self.wealth.mean(axis=2) + not_begun(self.n_in_group)
        return np.asarray(held @ self._shares)

    @property
    def limit(self) -> float:
        """The evidence at which a change of a column is reported."""
        return len(self.strides) / self.alpha

    def update(
        self,
        levels: Floats,
        cells: npt.NDArray[np.int64],
        groups: npt.NDArray[np.int64],
        number: int,
    ) -> list[tuple[int, Change]]:
        """Tests rows, one after the other.

        Parameters
        ----------
        levels : array
            [row][column].
        cells : array
            The cell of each row.
        groups : array
            [row][place]: the groups that each row is in; negative for none.
        number : int
            The number of the first row.

        Returns
        -------
        list of (row, Change)
            The changes that were found, and the rows at which they were.
        """
        found = update_change_tests(
            self.strides, self._shares, PAYOFFS, PATIENCE, self.limit, self.counts, self.wealth, self.best, self.begun,
            self.n_in_group, self.recent, self.is_over, self.n_rows, np.ascontiguousarray(levels), cells,
            np.ascontiguousarray(groups), uniform_rows(self.seed, self.n_rows, *levels.shape), number,
        )  # fmt: skip
        self.n_rows += len(levels)
        return [(int(found[column]), self._describe(column)) for column in np.flatnonzero(found >= 0).tolist()]

    def _describe(self, column: int) -> Change:
        evidence = float(self.evidence[column])
        # Changes of level and spread are easier to understand, and preferred unless another shape has far more
        # evidence.
        weighed = self.wealth[column] * self._shares[:, None] * np.where(np.array(HOWS) == SHAPE, SHAPE_WEIGHT, 1.0)
        group, bet = np.unravel_index(int(weighed.argmax()), weighed.shape)
        return Change(column, HOWS[bet], int(group), int(self.begun[column, group, bet]), evidence)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The state of the tests, to continue later."""
        names = ("counts", "wealth", "best", "begun", "n_in_group", "recent", "is_over")
        return {name: getattr(self, name) for name in names} | {"n_rows": np.array([self.n_rows])}

    def go_on(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restores what `state` returned. Raises a ValueError if it is inconsistent."""
        for name, value in state.items():
            if name == "n_rows":
                (self.n_rows,) = value.tolist()
            elif name not in self.__dict__ or getattr(self, name).shape != value.shape:
                raise ValueError("the stored tests are not those of this model")
            else:
                setattr(self, name, value.astype(getattr(self, name).dtype))


def _bins(levels: Floats) -> npt.NDArray[np.int64]:
    return np.clip((levels * N_BINS).astype(np.int64), 0, N_BINS - 1)


def find_strides(levels: Floats) -> npt.NDArray[np.int64]:
    """By column of levels of successive rows: the distance between rows that are nearly independent.

    0 if it exceeds a tenth of the rows: such a column cannot be tested.

    >>> walk = np.repeat(np.random.default_rng(0).uniform(size=2000), 5)
    >>> find_strides(np.column_stack([walk, np.random.default_rng(1).uniform(size=10_000)])).tolist()
    [5, 1]
    """
    n = len(levels)
    strides = np.ones(levels.shape[1], dtype=np.int64)
    n_lags = min(n // 10, MAX_STRIDE)
    for column in range(levels.shape[1]):
        away = levels[:, column] - np.nanmean(levels[:, column]) if n else levels[:, column]
        away = np.nan_to_num(away)
        total = float(away @ away)
        if n_lags < 1 or total <= 0.0:
            continue
        spectrum = np.abs(np.fft.rfft(away, 2 * n)) ** 2
        correlations = np.fft.irfft(spectrum)[1 : n_lags + 1] / total
        high = np.flatnonzero(np.abs(correlations) > max(MIN_CORRELATION, 4.0 / np.sqrt(n)))
        if high.size:
            last = int(high[-1]) + 2
            strides[column] = last if last <= n_lags else 0
    return strides
