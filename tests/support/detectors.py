"""Both detectors, for tests of what they have in common."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from paribus import QCAD, ConditionalSurprise

Detector: TypeAlias = QCAD | ConditionalSurprise
DetectorClass: TypeAlias = type[QCAD] | type[ConditionalSurprise]

DETECTORS: dict[str, DetectorClass] = {"qcad": QCAD, "surprise": ConditionalSurprise}
"""By the name of the method in the shell."""

for_both = pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
"""Runs a test once for each detector; the test's argument `make` is its class."""


def quick(make: DetectorClass, contextual: Any, behavioral: Any = None, **options: Any) -> Any:
    """A detector with few trees."""
    return make(contextual, behavioral, **({"n_trees": 5} | options))
