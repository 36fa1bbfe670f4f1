"""P-values of values in two bytes each, rounded to 0.05 %."""

from __future__ import annotations

import functools
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

Codes: TypeAlias = npt.NDArray[np.uint16]

# A p-value is an estimate, whose fourth digit means nothing. It is rounded to a power of two to the 1/643, which makes
# steps of 0.1 %. A tenth is such a power, too, except for 3 in 10 million: p-values that are limits stay what they are.
STEPS_PER_HALVING = 643
# Below 2 to the power -99, which is 1.6e-30, steps are as large as it takes for the smallest numbers to have a code.
N_FINE_HALVINGS = 99
HALVINGS_PER_LARGE_STEP = 0.49
N_FINE = N_FINE_HALVINGS * STEPS_PER_HALVING
MISSING = 65_535
N_LARGE = MISSING - 1 - N_FINE


def encode(evidence: Floats) -> Codes:
    """The codes of p-values, from minus their natural logarithms. They ascend with these; NaN has one of its own.

    >>> encode(np.array([0.0, np.log(2.0), np.log(10.0), 700.0, np.inf, np.nan]))
    array([    0,   643,  2136, 65516, 65534, 65535], dtype=uint16)
    """
    halvings = evidence / math.log(2.0)
    fine = np.rint(np.minimum(halvings, N_FINE_HALVINGS) * STEPS_PER_HALVING)
    large = np.rint(np.clip((halvings - N_FINE_HALVINGS) / HALVINGS_PER_LARGE_STEP, 0.0, N_LARGE))
    return np.where(np.isnan(evidence), MISSING, fine + large).astype(np.uint16)


def decode(codes: Codes) -> Floats:
    """The p-values, above 0 and at most 1; NaN where a value is missing.

    >>> decode(np.array([0, 643, 2136, 65535], dtype=np.uint16)).round(6)
    array([1. , 0.5, 0.1, nan])
    """
    return _p_values()[codes]


@functools.cache
def _p_values() -> Floats:
    """By code."""
    first = np.array([math.exp2(-step / STEPS_PER_HALVING) for step in range(STEPS_PER_HALVING)])
    steps = np.arange(N_FINE + 1)
    fine = np.ldexp(first[steps % STEPS_PER_HALVING], -(steps // STEPS_PER_HALVING))
    large = [math.exp2(-N_FINE_HALVINGS - step * HALVINGS_PER_LARGE_STEP) for step in range(1, N_LARGE + 1)]
    return np.concatenate([fine, large, [np.nan]])
