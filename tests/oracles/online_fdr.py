"""LORD++ as it is published, with the whole past looked at for each row."""

from __future__ import annotations


def lord_plus_plus(p_values, fdr, gamma):
    """Which p-values are discoveries: `gamma` is how the wealth is spread, and all of it is there at first."""
    times = []
    decisions = []
    for t, p in enumerate(p_values, start=1):
        level = fdr * gamma[t - 1]
        # The first discovery earns nothing, since all of the wealth was there at first; each further one earns `fdr`.
        for when in times[1:]:
            level += fdr * gamma[t - when - 1]
        decisions.append(bool(p <= level))
        if decisions[-1]:
            times.append(t)
    return decisions
