"""Sequential tests for changes in a stream: valid after every row, for any number of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._core import update_change_tests
from paribus.stream.bets import BETS, HOWS, PATIENCE, PAYOFFS, SHAPE, SIZES, STATISTICS, not_begun
from paribus.stream.randomness import uniform_rows

N_BINS = 128
"""The number of bins of levels; ties are broken at random."""
SHAPE_WEIGHT = 0.01


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
    the same cell and group, ties broken at random: uniform and independent as long as these rows are exchangeable,
    however good or bad the model is. Bets against that are begun with every row; their wealth is a martingale, which
    exceeds 1 / alpha with a probability of at most alpha, ever (Ville's inequality).

    If successive rows are dependent, there are two ways. With a `variance` above 1, bets are smaller and pay less, as
    much as the sum of dependent ranks varies more than that of independent ones. Or blocks of rows are tested: the mean
    of the ranks in a block, and the mean of their distances from the middle, are ranked among earlier blocks, which
    only requires exchangeable blocks.

    Parameters
    ----------
    alpha : float
        The probability of any false alarm, ever.
    lengths : array
        By column: the number of rows of a block; 1 to test each row, 0 if it is not tested.
    variances : array
        By column: how many times as much a sum of successive ranks varies as that of independent ones. It only matters
        if rows are tested one by one.
    n_cells : int
        The number of cells.
    n_groups : int
        The number of groups, of which 0 is everywhere.
    seed : int
        The seed of the ranks of ties.
    """

    alpha: float
    lengths: npt.NDArray[np.int64]
    variances: Floats
    n_cells: int
    n_groups: int
    seed: int
    n_rows: int = 0
    counts: npt.NDArray[np.int32] = field(init=False, repr=False)
    """[column][cell][group][bin]: levels so far."""
    block_counts: npt.NDArray[np.int32] = field(init=False, repr=False)
    """[column][group][statistic][bin]: blocks so far."""
    sums: Floats = field(init=False, repr=False)
    """[column][group]: of the current block, how many rows, and the sums of what its statistics are made of."""
    in_block: npt.NDArray[np.int64] = field(init=False, repr=False)
    """By column: the rows of the current block."""
    wealth: Floats = field(init=False, repr=False)
    """[column][group][bet]."""
    best: Floats = field(init=False, repr=False)
    """[column][group][bet]: the logarithm of the part of the wealth that grew most."""
    begun: npt.NDArray[np.int64] = field(init=False, repr=False)
    """[column][group][bet]: the row with which this part began."""
    n_in_group: Floats = field(init=False, repr=False)
    """[column][group]: rows so far."""
    is_over: npt.NDArray[np.uint8] = field(init=False)
    """By column: whether a change was found, and the test has ended."""

    def __post_init__(self) -> None:
        n, shape = len(self.lengths), (len(self.lengths), self.n_groups, len(BETS))
        self.counts = np.zeros((n, self.n_cells, self.n_groups, N_BINS), dtype=np.int32)
        self.block_counts = np.zeros((n, self.n_groups, 2, N_BINS), dtype=np.int32)
        self.sums, self.in_block = np.zeros((n, self.n_groups, 3)), np.zeros(n, dtype=np.int64)
        self.wealth, self.best = np.zeros(shape), np.full(shape, -np.inf)
        self.begun = np.zeros(shape, dtype=np.int64)
        self.n_in_group = np.zeros(shape[:2])
        self.is_over = np.zeros(n, dtype=np.uint8)
        # Half of the wealth is bet everywhere, the other half in the groups.
        self._shares = np.full(self.n_groups, 0.5 / max(self.n_groups - 1, 1))
        self._shares[0] = 0.5 if self.n_groups > 1 else 1.0

    def begin(self, levels: Floats, cells: npt.NDArray[np.int64], groups: npt.NDArray[np.int64]) -> None:
        """Starts with successive rows that are known to have no change: see `update`."""
        self._look(levels, cells, groups, 0, is_known=True)
        # An incomplete block is dropped.
        self.sums[:] = 0.0
        self.in_block[:] = 0

    @property
    def evidence(self) -> Floats:
        """By column: the largest wealth of any group, weighted by its share of the initial wealth.

        Ranks in different groups are dependent, so their wealth must not be added up. Each group, and each of the two
        statistics of blocks, has an account of its own; the alarm is a union bound over accounts.
        """
        kept = not_begun(self.n_in_group)
        of_rows = self.wealth.mean(axis=2) + kept
        of_blocks = [(self.wealth[:, :, which == STATISTICS].mean(axis=2) + kept) / 2.0 for which in (0, 1)]
        held = np.where((self.lengths == 1)[:, None], of_rows, np.maximum(*of_blocks))
        return np.asarray((held * self._shares).max(axis=1, initial=0.0))

    @property
    def limit(self) -> float:
        """The evidence at which a change of a column is reported."""
        return len(self.lengths) / self.alpha

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
        found = self._look(levels, cells, groups, number, is_known=False)
        return [(int(found[column]), self._describe(column)) for column in np.flatnonzero(found >= 0).tolist()]

    def _look(
        self,
        levels: Floats,
        cells: npt.NDArray[np.int64],
        groups: npt.NDArray[np.int64],
        number: int,
        *,
        is_known: bool,
    ) -> npt.NDArray[np.int64]:
        found = update_change_tests(
            self.lengths, self.variances, self._shares, PAYOFFS, STATISTICS, SIZES, PATIENCE, self.limit, self.counts,
            self.block_counts, self.sums, self.in_block, self.wealth, self.best, self.begun, self.n_in_group,
            self.is_over, np.ascontiguousarray(levels), cells, np.ascontiguousarray(groups),
            uniform_rows(self.seed, self.n_rows, *levels.shape), number, is_known,
        )  # fmt: skip
        self.n_rows += len(levels)
        return found

    def _describe(self, column: int) -> Change:
        evidence = float(self.evidence[column])
        # Changes of level and spread are easier to understand, and preferred unless another shape has far more
        # evidence.
        weighed = self.wealth[column] * self._shares[:, None] * np.where(np.array(HOWS) == SHAPE, SHAPE_WEIGHT, 1.0)
        group, bet = np.unravel_index(int(weighed.argmax()), weighed.shape)
        return Change(column, HOWS[bet], int(group), int(self.begun[column, group, bet]), evidence)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The state of the tests, to continue later."""
        names = (
            "lengths", "variances", "counts", "block_counts", "sums", "in_block", "wealth", "best", "begun",
            "n_in_group", "is_over",
        )  # fmt: skip
        # Stored arrays have no more than three dimensions.
        arrays = {name: _flat(getattr(self, name)) for name in names}
        return arrays | {"n_rows": np.array([self.n_rows])}

    def go_on(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restores what `state` returned. Raises a ValueError if it is inconsistent."""
        for name, value in state.items():
            if name == "n_rows":
                (self.n_rows,) = value.tolist()
            elif name not in self.__dict__ or _flat(getattr(self, name)).shape != value.shape:
                raise ValueError("the stored tests are not those of this model")
            else:
                own = getattr(self, name)
                setattr(self, name, value.astype(own.dtype).reshape(own.shape))


def _flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array.reshape(len(array), -1, array.shape[-1]) if array.ndim > 3 else array
