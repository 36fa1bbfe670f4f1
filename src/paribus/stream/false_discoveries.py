"""Which rows of a stream are odd, with a bound on the false discovery rate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class OnlineDiscoveries:
    """Decides row by row; decisions are final.

    The stream is divided into periods of `period` rows. Within each, a row is odd if its p-value is at most
    `fdr / period * max(1, odd rows of the period so far)`: the rule LORD++ (Ramdas and others, 2017) whose wealth is
    spread evenly over the period. If the p-values of ordinary rows are independent and not too small, the expected
    share of ordinary rows among the odd ones of a period is at most `fdr`, whatever the other rows are.

    Of a long stream, at most `fdr * (number of periods + number of odd rows)` ordinary rows are expected to be odd.

    Periods end because the wealth is finite: without them, the level would tend to zero.

    >>> rows = OnlineDiscoveries(fdr=0.1, period=100)
    >>> [rows.is_odd(p) for p in (0.5, 0.0005, 0.0015, 0.0015, 0.9)]
    [False, True, False, False, False]
    """

    fdr: float
    period: int
    n_rows: int = 0
    """Rows of this period so far."""
    n_odd: int = 0

    @property
    def level(self) -> float:
        """The maximum p-value at which the next row is odd."""
        return self.fdr / self.period * max(1, self.n_odd)

    def is_odd(self, p_value: float) -> bool:
        """Decides about the next row; one without a p-value is not odd, and does not count."""
        if p_value != p_value:
            return False
        if self.n_rows == self.period:
            self.n_rows = self.n_odd = 0
        found = p_value <= self.level
        self.n_rows += 1
        self.n_odd += found
        return found
