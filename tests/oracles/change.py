"""Tests for changes in a stream, one row, one column, one group and one bet at a time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from paribus._common.arrays import Floats


class PlainChangeTests:
    """The wealth of every bet that was ever begun, each on its own: nothing is summed up before it is asked for."""

    def __init__(
        self,
        lengths: Sequence[int],
        variances: Sequence[float],
        n_groups: int,
        n_bins: int,
        payoffs: Floats,
        sizes: Sequence[float],
        patience: float,
        limit: float,
    ) -> None:
        self.lengths, self.n_groups, self.n_bins = lengths, n_groups, n_bins
        self.payoffs, self.patience, self.limit = payoffs, patience, limit
        self.variances, self.sizes = variances, sizes
        self.before: dict[tuple[int, ...], list[int]] = defaultdict(list)
        """The bins of everything that was ever ranked, by what it is ranked among."""
        self.bets: dict[tuple[int, int, int], list[list[float]]] = defaultdict(list)
        """By column, group and bet: the row with which each part of the wealth began, and what it has become."""
        self.n_rows: dict[tuple[int, int], int] = defaultdict(int)
        self.blocks: dict[int, list[tuple[float, Sequence[int]]]] = defaultdict(list)
        """By column: the ranks of the rows of the current block, NaN for those that do not count, and their groups."""
        self.over: set[int] = set()

    def kept(self, n_rows: int) -> float:
        return 1.0 / (1.0 + math.log(1.0 + n_rows / self.patience))

    def rank(self, among: tuple[int, ...], level: float, random: float) -> float:
        own, before = min(int(level * self.n_bins), self.n_bins - 1), self.before[among]
        lower, ties = sum(each < own for each in before), sum(each == own for each in before) + 1
        n = len(before)
        before.append(own)
        return (lower + random * ties) / (n + 1)

    def bet(self, column: int, group: int, which: int, rank: float, n_rows: int, number: int) -> None:
        place = min(int(rank * self.payoffs.shape[1]), self.payoffs.shape[1] - 1)
        n = self.n_rows[column, group]
        for bet in self.bets_of(which):
            begun = self.bets[column, group, bet]
            begun.append([number, self.kept(n) - self.kept(n + n_rows)])
            for each in begun:
                each[1] *= self.gain(column, which, place, rank, bet)

    def gain(self, column: int, which: int, place: int, rank: float, bet: int) -> float:
        variance, size = self.variances[column], self.sizes[bet]
        if which > 0 or variance <= 1.0:
            return float(self.payoffs[which, place, bet])
        is_of_level, is_of_spread = bet in self.bets_of(1), bet in self.bets_of(2)
        level, spread = (rank - 0.5) / math.sqrt(1 / 12), (abs(rank - 0.5) - 0.25) / math.sqrt(1 / 48)
        y, k = is_of_level * level + is_of_spread * spread, size / variance
        return math.exp(k * y - variance * k**2 / 2)

    def bets_of(self, which: int) -> list[int]:
        """The bets on ranks of rows (0), on the level of blocks (1), or on their spread (2): those that can win."""
        return np.flatnonzero((self.payoffs[which] != 1.0).any(axis=0)).tolist()

    def update(
        self, levels: Floats, cell: int, groups: Sequence[int], random: Floats, number: int, *, is_known: bool = False
    ) -> list[int]:
        """Looks at one row. Returns the columns that have changed."""
        found = []
        for column, length in enumerate(self.lengths):
            level, drawn = float(levels[column]), float(random[column])
            if column in self.over or (length == 1 and math.isnan(level)):
                continue
            if length == 1:
                for group in groups:
                    rank = self.rank((column, cell, group), level, drawn)
                    if not is_known:
                        self.bet(column, group, 0, rank, 1, number)
                        self.n_rows[column, group] += 1
            else:
                block = self.blocks[column]
                counts = len(block) + 1 > length // 3 and not math.isnan(level)
                block.append((self.rank((column, cell, 0), level, drawn) if counts else math.nan, groups))
                if len(block) < length:
                    continue
                self.close_block(column, drawn * 2**20 % 1.0, number - length + 1, is_known)
            if not is_known and self.evidence(column) >= self.limit:
                self.over.add(column)
                found.append(column)
        return found

    def close_block(self, column: int, random: float, first: int, is_known: bool) -> None:
        length = self.lengths[column]
        for group in range(self.n_groups):
            ranks = [rank for rank, groups in self.blocks[column] if group in groups and not math.isnan(rank)]
            n = len(ranks)
            if n < max(1.0, length / 16):
                continue
            level = (sum(ranks) / n - 0.5) * math.sqrt(12 * n)
            spread = (sum(abs(rank - 0.5) for rank in ranks) / n - 0.25) * math.sqrt(48 * n)
            for which, (statistic, drawn) in enumerate([(level, random), (spread, random * 2**20 % 1.0)], 1):
                far = math.log(1 + abs(statistic)) / math.log(1 + math.sqrt(3 * n))
                rank = self.rank((column, -which, group), (1 + math.copysign(far, statistic)) / 2, drawn)
                if not is_known:
                    self.bet(column, group, which, rank, length, first)
            if not is_known:
                self.n_rows[column, group] += length
        self.blocks[column] = []

    def evidence(self, column: int) -> float:
        """The account that holds most. Half is bet everywhere, half in groups; of blocks, half on each statistic."""
        accounts = [0] if self.lengths[column] == 1 else [1, 2]
        found = []
        for group in range(self.n_groups):
            share = 1.0 if self.n_groups == 1 else 0.5 if group == 0 else 0.5 / (self.n_groups - 1)
            for which in accounts:
                bets = self.bets_of(which)
                held = sum(each[1] for bet in bets for each in self.bets[column, group, bet]) / len(bets)
                found.append(share / len(accounts) * (held + self.kept(self.n_rows[column, group])))
        return max(found)

    def since(self, column: int, group: int, bet: int) -> int:
        """The row with which the part of the wealth began that is largest now."""
        begun = self.bets[column, group, bet]
        return int(begun[int(np.argmax([each[1] for each in begun]))][0])
