"""Facts about a behavioral feature that is categorical: its category, and how common each one is in the context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paribus._common.text import listed
from paribus.explain.facts import MAX_P_TO_MENTION, BehaviorFeature, Direction

# Categories that a sentence names as usual, besides the row's own; rarer ones are not worth naming.
MAX_NAMED = 2
MIN_NAMED_SHARE = 0.15
# Columns with or without values that a sentence names.
MAX_GIVEN = 3


@dataclass(frozen=True)
class CategoryFeature(BehaviorFeature):
    """One categorical feature: the row's category, and how probable each category is in its context."""

    is_flag: bool = False
    """Whether the feature says that a value is missing."""
    given: str = ""
    """Which comparable rows its probabilities are about, if not all: ' that have x but lack y'."""

    @property
    def has_reference(self) -> bool:
        """Whether it is known what is usual."""
        return self.verdict is not None and self.verdict.shares is not None

    @property
    def probability(self) -> float:
        """The probability of the row's category in its context."""
        assert self.verdict is not None
        assert self.verdict.shares is not None
        return self.verdict.shares.of(self.value)

    @property
    def most_common(self) -> list[tuple[int, float]]:
        """All categories and their probabilities, the most probable one first."""
        assert self.verdict is not None
        assert self.verdict.shares is not None
        found = self.verdict.shares.probabilities
        return [(int(code), float(found[code])) for code in np.argsort(-found, kind="stable")]

    @cached_property
    def direction(self) -> Direction:
        """Whether the category is rare in its context."""
        if np.isnan(self.value):
            return "missing"
        assert self.verdict is not None
        return "rare" if self.verdict.p_value <= MAX_P_TO_MENTION else "within"

    @property
    def text(self) -> str:
        """The name of the feature and its category."""
        return f"{self.title} is {self.value_text}" if self.is_flag else f"{self.title} '{self.value_text}'"

    @property
    def noun(self) -> str:
        """The name of the feature and its category, as a part of a sentence."""
        return f"{self.title} being {self.value_text}" if self.is_flag else self.text

    @property
    def value_text(self) -> str:
        """The category."""
        return self.format(self.value)

    @property
    def range_text(self) -> str:
        """The most common category."""
        return self.format(self.most_common[0][0])

    @property
    def range_given_others(self) -> str | None:
        """None: categories have no range."""
        return None

    @property
    def usual(self) -> str:
        """What comparable rows have: how many have this category, and which ones are usual."""
        own = "" if np.isnan(self.value) else f"{percent(self.probability)} of comparable rows have it"
        if self.is_flag:
            word = "missing" if self.value == 0.0 else "present"
            return f"in {percent(1.0 - self.probability)} of comparable rows{self.given} it is {word}"
        named = [
            f"{percent(share)} have '{self.format(code)}'"
            for place, (code, share) in enumerate(self.most_common[: MAX_NAMED + 1])
            if code != self.value and (place == 0 or share >= MIN_NAMED_SHARE)
        ][:MAX_NAMED]
        return ", ".join([own, listed(named, "and")]) if own and named else own or listed(named, "and")

    @property
    def expectation(self) -> str:
        """The usual categories in words."""
        return self.usual

    @property
    def is_category(self) -> bool:
        """Whether the value is the code of a category, and not a number."""
        return True

    def gist(self) -> dict[str, Any]:
        """The category, and the most common one in its context."""
        return {"value": None if np.isnan(self.value) else self.value_text, "usual": self.range_text}

    def as_row(self) -> dict[str, Any]:
        """The facts as plain values, by name."""
        row = super().as_row()
        row |= {"value": None if np.isnan(self.value) else self.value_text, "direction": self.direction}
        for name in ("median", "lower", "upper"):
            row[name] = None
        if not np.isnan(self.value):
            row["probability"] = self.probability
        row["usual"] = self.range_text
        return row


def rows_with(present: list[str], missing: list[str]) -> str:
    """Rows in which some values are present and others missing, as the end of 'comparable rows'.

    >>> rows_with(["x"], []), rows_with([], ["y"]), rows_with(["x", "y"], ["z"])
    (' that have x', ' that lack y', ' that have x and y but lack z')
    >>> rows_with(["a", "b"], ["c", "d"])
    ' in which the same other values are missing'
    """
    if len(present) + len(missing) > MAX_GIVEN:
        return " in which the same other values are missing"
    words = [f"have {listed(present, 'and')}"] if present else []
    words += [f"lack {listed(missing, 'and')}"] if missing else []
    return f" that {' but '.join(words)}" if words else ""


def percent(share: float) -> str:
    """A share in words, never 0 % or 100 % where it is not.

    >>> percent(0.712), percent(0.0123), percent(0.0004), percent(0.99996), percent(0.998)
    ('71 %', '1.2 %', 'under 0.1 %', 'over 99.9 %', '99.8 %')
    """
    if share < 0.001:
        return "under 0.1 %"
    if share > 0.999:
        return "over 99.9 %"
    if share < 0.02 or share > 0.98:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %"
