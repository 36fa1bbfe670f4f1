"""Methods that take a table in batches, where it is not in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from paribus.tables.joining import join_tables
from paribus.tables.streams import find_batches

Answer = TypeVar("Answer")


def by_batches(method: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Answer]:
    """Lets a method that answers for each row of a table also take one that is read in batches."""

    @functools.wraps(method)
    def answer(self: Any, rows: Any) -> Answer:
        found = find_batches(rows, once=True)
        if found is None:
            return method(self, rows)
        return cast(Answer, _joined([method(self, batch) for batch in found.batches()]))

    return answer


def _joined(answers: list[Any]) -> Any:
    if not answers:
        raise ValueError("the table has no batches of rows")
    if isinstance(answers[0], tuple):
        return tuple(_joined(list(parts)) for parts in zip(*answers, strict=True))
    return np.concatenate(answers) if isinstance(answers[0], np.ndarray) else join_tables(answers)
