"""Tests for changes in a stream, one row, one column, one group and one bet at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from paribus._common.arrays import Floats


class PlainChangeTests:
    """The wealth of every bet that was ever begun, each on its own: nothing is summed up before it is asked for."""

    def __init__(
        self,
        n_columns: int,
        n_cells: int,
        n_groups: int,
        n_bins: int,
        payoffs: Sequence[Sequence[float]],
        patience: float,
        limit: float,
    ) -> None:
        self.levels: dict[tuple[int, int], list[int]] = {(c, k): [] for c in range(n_columns) for k in range(n_cells)}
        self.bets: dict[tuple[int, int, int], list[list[float]]] = {
            (c, g, b): [] for c in range(n_columns) for g in range(n_groups) for b in range(len(payoffs[0]))
        }
        self.n_bins, self.payoffs, self.patience, self.limit = n_bins, payoffs, patience, limit
        self.n_columns, self.n_groups = n_columns, n_groups
        self.n_rows = {(c, g): 0 for c in range(n_columns) for g in range(n_groups)}
        self.over: set[int] = set()

    def kept(self, n_rows: int) -> float:
        return 1.0 / (1.0 + math.log(1.0 + n_rows / self.patience))

    def begin(self, column: int, cell: int, level: float) -> None:
        self.levels[column, cell].append(self._bin(level))

    def _bin(self, level: float) -> int:
        return min(int(level * self.n_bins), self.n_bins - 1)

    def update(self, levels: Floats, cell: int, groups: Sequence[int], random: Floats, number: int) -> list[int]:
        """Looks at one row. Returns the columns that have changed."""
        found = []
        for column in range(self.n_columns):
            if column in self.over or math.isnan(levels[column]):
                continue
            own, before = self._bin(levels[column]), self.levels[column, cell]
            lower, ties = sum(each < own for each in before), sum(each == own for each in before) + 1
            p_value = (lower + random[column] * ties) / (len(before) + 1)
            before.append(own)
            place = min(int(p_value * len(self.payoffs)), len(self.payoffs) - 1)
            for group in groups:
                n = self.n_rows[column, group]
                for bet, gain in enumerate(self.payoffs[place]):
                    begun = self.bets[column, group, bet]
                    begun.append([number, self.kept(n) - self.kept(n + 1)])
                    for each in begun:
                        each[1] *= gain
                self.n_rows[column, group] = n + 1
            if self.evidence(column) >= self.limit:
                self.over.add(column)
                found.append(column)
        return found

    def evidence(self, column: int) -> float:
        """The wealth that half is bet everywhere with, and half in the groups."""
        n_bets = len(self.payoffs[0])
        total = 0.0
        for group in range(self.n_groups):
            share = 1.0 if self.n_groups == 1 else 0.5 if group == 0 else 0.5 / (self.n_groups - 1)
            held = sum(each[1] for bet in range(n_bets) for each in self.bets[column, group, bet]) / n_bets
            total += share * (held + self.kept(self.n_rows[column, group]))
        return total

    def since(self, column: int, group: int, bet: int) -> int:
        """The row with which the part of the wealth began that is largest now."""
        begun = self.bets[column, group, bet]
        return int(begun[int(np.argmax([each[1] for each in begun]))][0])
