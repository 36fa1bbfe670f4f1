"""Bets against uniform p-values: the payoff of each alternative to the uniform distribution.

A bet is a density on [0, 1]. At each p-value, the wealth of the bet is multiplied by the density. If p-values are
uniform and independent, no bet is expected to gain; if they are not, some bet grows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import beta

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


def _power(k: float) -> Callable[[Floats], Floats]:
    return lambda p: p**k


def _wide(k: float) -> Callable[[Floats], Floats]:
    return lambda p: np.asarray((p**k + 1.0 - (1.0 - p) ** k) / 2.0)


def _narrow(k: float) -> Callable[[Floats], Floats]:
    return lambda p: np.asarray(beta.cdf(p, k, k))


def _wave(degree: int, amount: float) -> Callable[[Floats], Floats]:
    polynomial = np.polynomial.legendre.Legendre.basis(degree, domain=[0.0, 1.0]).integ(lbnd=0.0)
    return lambda p: np.asarray(p + amount * polynomial(p))


BETS: tuple[tuple[str, Callable[[Floats], Floats]], ...] = (
    *((HIGHER, _power(k)) for k in (1.5, 3.0, 8.0)),
    *((LOWER, lambda p, k=k: np.asarray(1.0 - (1.0 - p) ** k)) for k in (1.5, 3.0, 8.0)),
    (WIDER, _wide(3.0)),
    (WIDER, _wide(8.0)),
    (NARROWER, _narrow(2.0)),
    (NARROWER, _narrow(5.0)),
    *((SHAPE, _wave(degree, amount)) for degree in (3, 4) for amount in (0.9, -0.9)),
)
"""The name of each alternative, and the cumulative distribution function of the bet on it."""

HOWS = tuple(how for how, _ in BETS)


# A block of rows has two statistics, which change with the level and with the spread of its rows.
OF_LEVEL, OF_SPREAD, NONE = 0, 1, -1
_STATISTIC = {HIGHER: OF_LEVEL, LOWER: OF_LEVEL, WIDER: OF_SPREAD, NARROWER: OF_SPREAD, SHAPE: NONE}
STATISTICS = np.array([_STATISTIC[how] for how in HOWS], dtype=np.int64)
"""By bet: the statistic of blocks that it is about."""
# How a bet on rows is made on the statistic of blocks: rows that are more spread out have a higher one.
_OF_BLOCKS = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 1, 7: 2, 8: 4, 9: 5}


def _payoffs() -> Floats:
    edges = np.linspace(0.0, 1.0, N_PLACES + 1)
    # The mean over a bin, so that the bets are fair for binned p-values.
    heights = np.column_stack([np.diff(cumulative(edges)) * N_PLACES for _, cumulative in BETS])
    of_rows = RESERVE + (1.0 - RESERVE) * heights
    of_blocks = np.ones((2, *of_rows.shape))
    for bet, same in _OF_BLOCKS.items():
        of_blocks[STATISTICS[bet], :, bet] = of_rows[:, same]
    return np.concatenate([of_rows[None], of_blocks])


PAYOFFS = _payoffs()
"""[p-value of a row, of the level of a block, of its spread][bin of the p-value][bet]: the factor of the wealth.

Its mean over all bins is 1."""


def not_begun(n_rows: Floats) -> Floats:
    """The share of the wealth that is not yet bet after this many rows: changes may begin at any time.

    It falls so slowly that a change after a million rows is found nearly as soon as one after a thousand.

    >>> not_begun(np.array([0.0, 1e3, 1e6])).round(2)
    array([1.  , 0.29, 0.1 ])
    """
    return np.asarray(1.0 / (1.0 + np.log1p(np.asarray(n_rows) / PATIENCE)))
