"""Bets against uniform p-values: the payoff of each alternative to the uniform distribution.

A bet is a density on [0, 1]. At each p-value, the wealth of the bet is multiplied by the density. If p-values are
uniform and independent, no bet is expected to gain; if they are not, some bet grows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from paribus._common.arrays import Floats

N_PLACES = 1024
"""The number of bins of p-values."""
# The share of the wealth that is not bet in each round, so that no p-value takes everything.
RESERVE = 0.05
HIGHER, LOWER, WIDER, NARROWER, SHAPE = (
    "higher",
    "lower",
    "more spread out",
    "less spread out",
    "distributed differently",
)
# The number of rows after which a change is about half as likely to begin as at first.
PATIENCE = 100.0


def _shifted(by: float) -> Callable[[Floats], Floats]:
    """The levels of normal values whose mean has moved by this many standard deviations."""
    return lambda p: np.asarray(ndtr(ndtri(p) - by))


def _scaled(by: float) -> Callable[[Floats], Floats]:
    """The levels of normal values whose standard deviation has been multiplied."""
    return lambda p: np.asarray(ndtr(ndtri(p) / by))


def _wave(degree: int, amount: float) -> Callable[[Floats], Floats]:
    polynomial = np.polynomial.legendre.Legendre.basis(degree, domain=[0.0, 1.0]).integ(lbnd=0.0)
    return lambda p: np.asarray(p + amount * polynomial(p))


SHIFTS, WIDER_BY, NARROWER_BY = (0.5, 1.0, 2.0), (1.6, 2.5), (0.65, 0.4)
BETS: tuple[tuple[str, Callable[[Floats], Floats]], ...] = (
    *((HIGHER, _shifted(by)) for by in SHIFTS),
    *((LOWER, _shifted(-by)) for by in SHIFTS),
    *((WIDER, _scaled(by)) for by in WIDER_BY),
    *((NARROWER, _scaled(by)) for by in NARROWER_BY),
    *((SHAPE, _wave(degree, amount)) for degree in (3, 4) for amount in (0.9, -0.9)),
)
"""The name of each alternative, and the cumulative distribution function of the bet on it."""

HOWS = tuple(how for how, _ in BETS)


# A block of rows has two statistics, which change with the level and with the spread of its rows.
OF_LEVEL, OF_SPREAD, NONE = 0, 1, -1
_STATISTIC = {HIGHER: OF_LEVEL, LOWER: OF_LEVEL, WIDER: OF_SPREAD, NARROWER: OF_SPREAD, SHAPE: NONE}
STATISTICS = np.array([_STATISTIC[how] for how in HOWS], dtype=np.int64)
"""By bet: the statistic of blocks that it is about."""
# The bets on level and spread, on the statistics of blocks: powers of their ranks, negative ones from the other end.
# After a change, the ranks of blocks are all among the highest or the lowest.
_OF_BLOCKS = (2.0, 6.0, 20.0, -2.0, -6.0, -20.0, 3.0, 10.0, -3.0, -10.0)
_EDGES = np.linspace(0.0, 1.0, N_PLACES + 1)


def _fair(cumulative: Callable[[Floats], Floats]) -> Floats:
    # The mean over a bin, so that the bets are fair for binned p-values.
    return np.asarray(RESERVE + (1.0 - RESERVE) * np.diff(cumulative(_EDGES)) * N_PLACES)


def _power(k: float) -> Callable[[Floats], Floats]:
    return lambda p: np.asarray(p**k if k > 0.0 else 1.0 - (1.0 - p) ** -k)


def _payoffs() -> Floats:
    found = np.ones((3, N_PLACES, len(BETS)))
    found[0] = np.column_stack([_fair(cumulative) for _, cumulative in BETS])
    for bet, k in enumerate(_OF_BLOCKS):
        found[1 + STATISTICS[bet], :, bet] = _fair(_power(k))
    return found


PAYOFFS = _payoffs()
"""[p-value of a row, of the level of a block, of its spread][bin of the p-value][bet]: the factor of the wealth.

Its mean over all bins is 1."""

SIZES = np.array([*SHIFTS, *(-by for by in SHIFTS), 0.7, 1.5, -0.7, -1.5, 0.0, 0.0, 0.0, 0.0])
"""By bet, if rows depend on each other: the change that it is about, in standard deviations of a statistic.

With y, the level or the distance from the middle, standardized, and k = size / variance, the factor of the wealth is
exp(k y - variance k^2 / 2). Then a sum of dependent y that varies `variance` times as much as an independent one does
not gain. Neither does a sum of independent ones: uniform y have a moment generating function below that of normal ones.
"""


def not_begun(n_rows: Floats) -> Floats:
    """The share of the wealth that is not yet bet after this many rows: changes may begin at any time.

    It falls so slowly that a change after a million rows is found nearly as soon as one after a thousand.

    >>> not_begun(np.array([0.0, 1e3, 1e6])).round(2)
    array([1.  , 0.29, 0.1 ])
    """
    return np.asarray(1.0 / (1.0 + np.log1p(np.asarray(n_rows) / PATIENCE)))
