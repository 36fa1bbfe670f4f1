"""The proposed context, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paribus.advice.gains import Gain, GainMeter

# A column that adds fewer bits, over all behavioral columns, is not added.
MIN_BITS = 0.02


@dataclass(frozen=True)
class Step:
    """A column that was added to the proposed context."""

    name: str
    bits: float
    """Its gain beyond the columns before it, in bits per value, averaged over behavior."""
    most_for: str
    """The behavioral column with the highest gain."""
    gain: Gain
    """Its gain for that column."""
    adds: bool = True
    """False if other columns of the context say the same. Then the gains are those of the column by itself."""

    def __str__(self) -> str:
        what = f"adds {self.bits:.2f} bits" if self.adds else f"{self.bits:.2f} bits by itself"
        interval = f"95 % between {self.gain.low:.2f} and {self.gain.high:.2f}"
        return f"{what}, most for {self.most_for} ({self.gain.bits:.2f}, {interval})"


class Proposal:
    """Chooses the context.

    Parameters
    ----------
    meter : GainMeter
        Measures gains.
    behavior : dict
        The names of the behavioral columns, by their places.
    candidates : dict
        The names of the columns that may be context, by their places.
    """

    def __init__(self, meter: GainMeter, behavior: dict[int, str], candidates: dict[int, str]) -> None:
        self._meter = meter
        self._behavior = behavior
        self._candidates = candidates

    def greedy(self, max_context: int) -> list[Step]:
        """Adds the most informative column, as long as one adds information; then those that have some by themselves.

        The latter are redundant, but circumstances all the same: they hold where another column is missing or wrong.
        """
        chosen: list[int] = []
        steps: list[Step] = []
        while len(chosen) < max_context:
            found = {c: self._gains(c, chosen) for c in self._candidates if c not in chosen}
            informative = [c for c, gains in found.items() if is_informative(gains)]
            if not informative:
                break
            best = max(informative, key=lambda c: _mean(found[c]))
            chosen.append(best)
            steps.append(self._step(best, found[best]))
        alone = {c: self._gains(c, []) for c in self._candidates if c not in chosen}
        redundant = [c for c, gains in alone.items() if is_informative(gains)]
        redundant = sorted(redundant, key=lambda c: -_mean(alone[c]))[: max_context - len(chosen)]
        return steps + [self._step(c, alone[c], adds=False) for c in redundant]

    def all(self) -> list[Step]:
        """All candidates in their order, whatever they add."""
        places = list(self._candidates)
        return [self._step(c, self._gains(c, places[:number])) for number, c in enumerate(places)]

    def _gains(self, candidate: int, beyond: Sequence[int]) -> list[Gain]:
        return [self._meter.gain(b, [candidate], beyond) for b in self._behavior]

    def _step(self, candidate: int, gains: list[Gain], *, adds: bool = True) -> Step:
        most = int(np.argmax([gain.bits for gain in gains]))
        return Step(self._candidates[candidate], _mean(gains), list(self._behavior.values())[most], gains[most], adds)


def is_informative(gains: Sequence[Gain]) -> bool:
    """Whether any gain is large enough, and no chance."""
    return any(gain.is_there and gain.bits >= MIN_BITS for gain in gains)


def _mean(gains: Sequence[Gain]) -> float:
    return float(np.mean([gain.bits for gain in gains]))
