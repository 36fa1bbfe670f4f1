"""The adapter for river, by river's own checks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("river")

from river import checks

from paribus.stream.river_adapter import ContextualAnomalyDetector

MODEL = ContextualAnomalyDetector(start_rows=100, window=256, n_trees=4)


class Rows:
    """A stream with known anomalies, in place of one that river would download."""

    def __iter__(self) -> Iterator[tuple[dict[str, float], bool]]:
        random = np.random.default_rng(0)
        for number in range(125):
            a = float(random.uniform())
            is_odd = number % 12 == 11
            yield {"a": a, "b": 3.0 * a + 0.3 * float(random.normal()) + 5.0 * is_odd}, is_odd


@pytest.fixture(autouse=True)
def local_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_yield_datasets", lambda model, scale=1: iter([Rows()]))


CHECKS = list({getattr(check, "__name__", str(check)): check for check in checks.yield_checks(MODEL)})


@pytest.mark.parametrize("name", CHECKS)
def test_passes_the_checks_of_river(name: str) -> None:
    """Tests that the adapter passes each of river's checks for anomaly detectors."""
    for check in checks.yield_checks(MODEL):
        if getattr(check, "__name__", str(check)) == name:
            check(MODEL.clone())
