"""A fit that is split into tasks gives what a fit in one piece gives."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from paribus import ConditionalSurprise
from paribus.engines.sampling import DrawnFrame
from paribus.tables.drawing import Sample

N_ROWS = 400


class TasksHere:
    """Workers whose tasks run in this process, on copies of all that they are given."""

    n_slots = 1

    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []

    @contextmanager
    def share(self, value: Any) -> Iterator[bytes]:
        yield pickle.dumps(value)

    def run(self, work: Callable[..., Any], shared: Sequence[bytes], tasks: Sequence[Any]) -> Iterator[Any]:
        values = tuple(pickle.loads(each) for each in shared)
        for task in tasks:
            self.done.append((work.__name__, task))
            yield pickle.loads(pickle.dumps(work(values, pickle.loads(pickle.dumps(task)), 1)))


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """Columns of all kinds: with a trend, following it exactly, and of categories."""
    random = np.random.default_rng(3)
    slope = random.normal(size=N_ROWS)
    rain = slope + 0.1 * random.normal(size=N_ROWS)
    return {
        "slope": slope,
        "zone": random.choice(["north", "south"], N_ROWS),
        "rain": rain,
        "exact": 2.0 * slope,
        "sky": np.where(slope + 0.2 * random.normal(size=N_ROWS) > 0, "clear", "cloudy"),
    }


def test_a_forest_for_each_column_condition_and_view(table: dict[str, Any]) -> None:
    """Tests that each forest is a task of its own, and that scores of fitted and new rows have the same bits."""
    behavior = ["rain", "exact", "sky"]
    detector = ConditionalSurprise(["slope", "zone"], behavior, n_trees=4, n_jobs=1)
    expected = detector.fit(table)
    workers = TasksHere()
    drawn = DrawnFrame(Sample(table, N_ROWS, True), workers, "paribus.dask")
    found = ConditionalSurprise(["slope", "zone"], behavior, n_trees=4, n_jobs=1).fit(drawn)
    grown = [task for name, task in workers.done if name == "grow_view"]
    views = Counter((task.column, len(task.features)) for task, _ in grown)
    # Given the context and given all: two views of each column of numbers, and one of the categories.
    assert sorted(views.values()) == [1, 1, 2, 2, 2, 2]
    assert len({(task.column, len(task.features), number) for task, number in grown}) == len(grown)
    new = {name: np.roll(column, 7) if name == "rain" else column for name, column in table.items()}
    assert np.array_equal(found.anomaly_scores_, expected.anomaly_scores_, equal_nan=True)
    for mine, theirs in zip(found.score_batch(new).values(), expected.score_batch(new).values(), strict=True):
        assert mine.tolist() == theirs.tolist() or np.array_equal(mine, theirs, equal_nan=True)
