"""Methods that take tables that are not in memory, in batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numpy as np

from paribus._common.progress import reporter
from paribus.tables.joining import join_tables
from paribus.tables.streams import TableBatches, find_batches
from paribus.tables.table import Table

Answer = TypeVar("Answer")


def by_batches(method: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Answer]:
    """Lets a method with one result per row also take a table that is read in batches."""

    @functools.wraps(method)
    def answer(self: Any, rows: Any) -> Answer:
        found = find_batches(rows, once=True)
        if found is None:
            return method(self, rows)
        return cast(Answer, _joined([method(self, batch) for batch in each_batch(self, found, "Scoring")]))

    return answer


def each_batch(detector: Any, found: TableBatches, doing: str) -> Iterator[Any]:
    """The batches of a table, with one progress bar for all of them."""
    progress = detector.progress
    n_done = 0
    with reporter(progress, found.n_rows, doing) as tick:
        for batch in found.batches():
            detector.progress = False
            try:
                yield batch
            finally:
                detector.progress = progress
            n_done += Table(batch).n_rows
            if tick is not None:
                tick(n_done)


def _joined(answers: list[Any]) -> Any:
    if not answers:
        raise ValueError("the table has no batches of rows")
    if isinstance(answers[0], tuple):
        return tuple(_joined(list(parts)) for parts in zip(*answers, strict=True))
    return np.concatenate(answers) if isinstance(answers[0], np.ndarray) else join_tables(answers)
