"""LORD++ as it is published, with the whole past looked at for each row."""

from __future__ import annotations

from collections.abc import Sequence

from paribus._common.arrays import Floats


def lord_plus_plus(p_values: Floats, fdr: float, gamma: Sequence[float]) -> list[bool]:
    """Which p-values are discoveries: `gamma` is how the wealth is spread, and all of it is there at first."""
    times: list[int] = []
    decisions: list[bool] = []
    for t, p in enumerate(p_values, start=1):
        level = fdr * gamma[t - 1]
        # The first discovery earns nothing, since all of the wealth was there at first; each further one earns `fdr`.
        for when in times[1:]:
            level += fdr * gamma[t - when - 1]
        decisions.append(bool(p <= level))
        if decisions[-1]:
            times.append(t)
    return decisions
