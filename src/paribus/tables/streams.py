"""Tables that are read in batches: those of pyarrow, DuckDB and polars that are not in memory."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paribus._common.scratch import Scratch

BATCH_SIZE = 65_536
"""The number of rows of a batch."""


@dataclass(frozen=True)
class TableBatches:
    """A table in batches of rows, which can be read several times.

    Parameters
    ----------
    batches : function
        Reads the table from its start; batches are tables of any supported kind, all of the same kind.
    n_rows : int, optional
        The number of rows, if it is known.
    """

    batches: Callable[[], Iterator[Any]]
    n_rows: int | None = None


def find_batches(data: Any, *, once: bool = False) -> TableBatches | None:
    """The batches of a table that is not in memory; None for any other table.

    Those of a reader, which can be read only once, are kept in a temporary file unless `once` is true.

    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1, 2, 3]})
    >>> found = find_batches(table.to_reader(max_chunksize=2))
    >>> [batch.num_rows for batch in found.batches()]
    [2, 1]
    >>> find_batches(table) is None
    True
    """
    if isinstance(data, TableBatches):
        return data
    kinds = {(each.__module__.split(".")[0], each.__name__) for each in type(data).__mro__}
    if ("narwhals", "LazyFrame") in kinds:
        return find_batches(data.to_native(), once=once)
    if ("pyarrow", "Dataset") in kinds:
        return TableBatches(lambda: data.to_batches(batch_size=BATCH_SIZE))
    if ("pyarrow", "RecordBatchReader") in kinds:
        return TableBatches((lambda: iter(data)) if once else _Spooled(data).batches)
    if kinds & {("duckdb", "DuckDBPyRelation"), ("_duckdb", "DuckDBPyRelation")}:
        return TableBatches(lambda: _relation_batches(data))
    if ("polars", "LazyFrame") in kinds:
        if not hasattr(data, "collect_batches"):
            raise TypeError("this polars cannot read a lazy table in batches: update polars, or pass data.collect()")
        return TableBatches(lambda: data.collect_batches(chunk_size=BATCH_SIZE, maintain_order=True))
    return None


def _relation_batches(relation: Any) -> Iterator[Any]:
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError("a DuckDB relation is read through pyarrow, which is not installed: install it") from None
    # Older versions of DuckDB have the same under another name.
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return iter(read(BATCH_SIZE))


class _Spooled:
    """Batches that can be read only once, kept in a temporary file for the next time."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._path: str | None = None
        self._is_whole = False

    def batches(self) -> Iterator[Any]:
        """Reads the batches: the first time from the reader, and then from the file."""
        import pyarrow as pa

        if self._path is not None:
            if not self._is_whole:
                raise ValueError("a RecordBatchReader was read only in part: make a new one")
            with pa.memory_map(self._path) as file, pa.ipc.open_file(file) as stored:
                for place in range(stored.num_record_batches):
                    yield stored.get_batch(place)
            return
        scratch = Scratch(Path(tempfile.gettempdir()))
        weakref.finalize(self, scratch.remove)
        self._path = str(scratch.create() / "batches.arrow")
        with pa.OSFile(self._path, "wb") as file, pa.ipc.new_file(file, self._reader.schema) as writer:
            for batch in self._reader:
                writer.write_batch(batch)
                yield batch
        self._is_whole = True
