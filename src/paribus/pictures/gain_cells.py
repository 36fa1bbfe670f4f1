"""The numbers behind the heat map of gains, for every renderer."""

from __future__ import annotations

from dataclasses import dataclass

from paribus.advice.suggestion import Advice

# Cells with more bits than this get the same, darkest color.
FULL = 1.0
MAX_NAME_LENGTH = 24


@dataclass(frozen=True)
class GainCell:
    """The information of one column about another."""

    row: int
    column: int
    text: str
    """The bits; empty if the interval includes 0."""
    shade: float
    """From 0 to 1."""
    is_proposed: bool
    """Whether the column is part of the proposed context."""
    title: str
    """The gain in words."""


@dataclass(frozen=True)
class GainMap:
    """A heat map with a row for each behavioral column and a column for each possible context."""

    behavior: tuple[str, ...]
    context: tuple[str, ...]
    cells: tuple[GainCell, ...]
    title: str

    @classmethod
    def of(cls, advice: Advice, *, beyond: bool = False) -> GainMap:
        """The map of the information of each column by itself, or given all others."""
        gains = advice.beyond if beyond else advice.alone
        cells = [
            GainCell(
                b,
                c,
                f"{gain.bits:.2f}" if gain.is_there else "",
                min(1.0, max(0.0, gain.bits / FULL)) if gain.is_there else 0.0,
                name in advice.contextual,
                f"{name} gives {gain.bits:.2f} bits about {behavior} (95 % between {gain.low:.2f} and {gain.high:.2f})",
            )
            for b, behavior in enumerate(advice.measured)
            for c, (name, gain) in enumerate(zip(advice.candidates, gains[b], strict=True))
        ]
        what = "on top of the others" if beyond else "by itself"
        return cls(advice.measured, advice.candidates, tuple(cells), f"Bits gained {what}")
