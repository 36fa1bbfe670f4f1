"""Bets against uniform p-values: how much each way of not being uniform would pay.

A bet is a density on 0 to 1. Whoever bets on it multiplies a wealth by its height at each p-value. If these are uniform
and independent, no bet is expected to gain; if they are not, some bet grows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import beta

from paribus._common.arrays import Floats

N_PLACES = 1024
"""p-values are told apart as finely as this."""
# What is not bet in each round, so that no p-value takes everything.
RESERVE = 0.05
HIGHER, LOWER, WIDER, NARROWER, SHAPE = "higher", "lower", "more spread out", "less spread out", "distributed otherwise"
# How many rows pass until a change is about half as likely to begin as at first.
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
"""How values are, and the cumulative distribution of the bet on it."""

HOWS = tuple(how for how, _ in BETS)


def _payoffs() -> Floats:
    edges = np.linspace(0.0, 1.0, N_PLACES + 1)
    # The mean over a place, so that the bets are fair for p-values that are told apart by places only.
    heights = np.column_stack([np.diff(cumulative(edges)) * N_PLACES for _, cumulative in BETS])
    return np.asarray(RESERVE + (1.0 - RESERVE) * heights)


PAYOFFS = _payoffs()
"""[place of the p-value][bet]: what a wealth is multiplied by; its mean over all places is 1."""


def not_begun(n_rows: Floats) -> Floats:
    """The share of the wealth that is not bet yet after so many rows: changes may begin at any time.

    It falls so slowly that a change after a million rows is found nearly as soon as one after a thousand.

    >>> not_begun(np.array([0.0, 1e3, 1e6])).round(2)
    array([1.  , 0.29, 0.1 ])
    """
    return np.asarray(1.0 / (1.0 + np.log1p(np.asarray(n_rows) / PATIENCE)))
