"""Batches of rows that workers score at a time."""

from __future__ import annotations

import pyarrow as pa

from paribus.engines.batch_size import MAX_ROWS
from paribus.engines.spark import larger_batches, root_cause


def test_small_batches_are_joined() -> None:
    """Tests that the batches of Spark are joined up to a limit, with all rows in their order."""
    numbers = pa.RecordBatch.from_pydict({"a": range(MAX_ROWS + 30_000)})
    small = [numbers.slice(begin, 10_000) for begin in range(0, numbers.num_rows, 10_000)]
    found = list(larger_batches(iter(small)))
    assert [batch.num_rows >= MAX_ROWS for batch in found] == [True, False]
    assert pa.concat_batches(found) == numbers
    assert list(larger_batches(iter([]))) == []


def test_a_stack_of_java_becomes_a_sentence() -> None:
    """Tests that the last cause is found, with advice if memory was exhausted."""
    stack = "An error occurred.\n: org.apache.spark.SparkException: Job aborted: Task 0 failed 4 times, "
    lost = "most recent failure: Lost task 0.3 in stage 2.0 (TID 7) (host executor 1): ExecutorLostFailure\n"
    assert root_cause(stack + lost + "\tat org.apache.spark.x") == (
        "Lost task 0.3 in stage 2.0 (TID 7) (host executor 1): ExecutorLostFailure"
    )
    memory = root_cause(stack + lost + "\tat org.x\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat y")
    assert memory.startswith("java.lang.OutOfMemoryError: Java heap space: increase spark.executor.memory")
