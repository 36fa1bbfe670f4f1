"""The part of an explanation that lists, files and groups show: without distributions and reference rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paribus.explain.explanation import RowExplanation
from paribus.explain.facts import BehaviorFeature
from paribus.explain.wording import MIN_SHARE

# Behavioral features that a sentence names.
N_FEATURES = 3


@dataclass(frozen=True)
class FoundValue:
    """One behavioral value, and what is usual."""

    name: str
    value: float
    text: str
    """The value as text."""
    lower: float
    median: float
    upper: float
    range_text: str
    """What 90 % of comparable rows have; empty if none has a value."""
    partial_score: float
    direction: str
    p_value: float | None
    """The probability of a value at most as dense given the context; None if the method does not say."""
    is_off: bool
    """Whether the value is off and makes up a part of the score."""
    is_category: bool = False
    """Whether the value is the code of a category, and not a number."""

    @property
    def sign(self) -> int:
        """1 for a value above its usual range, -1 for one below; 0 for one that is odd in another way."""
        return 1 if self.direction.endswith("above") else -1 if self.direction.endswith("below") else 0


@dataclass(frozen=True)
class Finding:
    """The verdict on a row, as lists, files and groups show it."""

    position: int
    """The position of the row in its table."""
    score: float
    p_value: float
    kind: str | None
    sentence: str
    """The sentence and the warnings."""
    values: tuple[FoundValue, ...] = field(repr=False)
    """The behavioral values; the one that is off the most comes first."""

    @property
    def leading(self) -> FoundValue:
        """The value that is off the most."""
        return self.values[0]

    @classmethod
    def of(cls, explanation: RowExplanation, position: int) -> Finding:
        """The finding about a row that has been explained; `position` is that in its table."""
        values = tuple(
            _found(feature, is_leading=place == 0 and explanation.is_anomaly)
            for place, feature in enumerate(explanation.behavior)
        )
        return cls(position, explanation.score, explanation.p_value, explanation.kind, str(explanation), values)


def _found(feature: BehaviorFeature, *, is_leading: bool) -> FoundValue:
    return FoundValue(
        feature.name,
        feature.value,
        feature.value_text,
        feature.lower,
        feature.median,
        feature.upper,
        feature.range_text,
        feature.partial_score,
        feature.direction,
        None if feature.verdict is None else feature.verdict.p_value,
        is_leading or (feature.is_off and feature.share >= MIN_SHARE),
        feature.is_category,
    )


def finding_columns(findings: Sequence[Finding], n_rows: int) -> dict[str, np.ndarray[Any, Any]]:
    """The sentence and the leading value of each row of a table; empty where there is no finding."""
    texts = {name: np.full(n_rows, None, dtype=object) for name in ("sentence", "leading")}
    numbers = {name: np.full(n_rows, np.nan) for name in ("value", "usual_low", "usual_high")}
    for each in findings:
        first = each.leading
        texts["sentence"][each.position] = each.sentence
        texts["leading"][each.position] = first.name
        if first.is_category:
            # The sentence names it; a code would not be informative.
            continue
        for name, number in zip(numbers, (first.value, first.lower, first.upper), strict=True):
            numbers[name][each.position] = number
    return {**texts, **numbers}
