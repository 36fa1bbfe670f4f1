"""Tables that do not fit into memory: a sample to fit, and the scores of all rows in batches."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paribus._common.atomic_files import errors_named
from paribus._common.memory import (
    BASE,
    BYTES_PER_COLUMN,
    BYTES_PER_ROW,
    BYTES_PER_ROW_IN_FORESTS,
    BYTES_PER_VALUE,
    check_fit,
    memory_limit,
)
from paribus._common.progress import reporter
from paribus._common.scratch import scratch_folder
from paribus.cli.delivery_options import MIN_REPORTED_ROWS, Delivery
from paribus.cli.options import Source
from paribus.explain.known import KnownEntry
from paribus.io.reading import TableStream
from paribus.io.writing import append_columns
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.rows import Append
from paribus.output.results import Results, ScoredRows
from paribus.output.streamed import PartsOfResults, RowKeeper, ScoreRanks, StoredScores
from paribus.tables.rows import unnamed
from paribus.tables.table import Table

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
MIN_SAMPLE = 10_000
# The memory of a table for each byte of its file: text becomes Python objects first.
EXPANSION = {".parquet": 12.0, ".gz": 60.0}
TEXT_EXPANSION = 15.0
# The share of the memory of this process that a table may take before it is read in batches.
MAX_SHARE = 0.5


def parse_memory(text: str | None) -> int | None:
    """The number of bytes that --memory names.

    >>> parse_memory("2GB"), parse_memory("512 MiB"), parse_memory(None)
    (2000000000, 536870912, None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([kmgt]i?)?b?\s*", text.lower())
    if found is None:
        raise ValueError(f"--memory is {text!r}: it must be a size such as 2GB or 512MB")
    return int(float(found[1]) * UNITS[found[2] or ""])


def sample_size(memory: int | None, n_columns: int, n_fitted: int | None = None, n_there: int | None = None) -> int:
    """The maximum number of rows of a fit to a table with this many columns.

    `n_fitted` are those with a role, if not all, and `n_there` the rows of the table, if that is known.

    >>> sample_size(None, 10), sample_size(2 * 10**9, 10)
    (2097152, 1441792)
    """
    from paribus.tables.drawing import MAX_SAMPLE

    if memory is None:
        return MAX_SAMPLE
    n_least = MIN_SAMPLE if n_there is None else min(MIN_SAMPLE, n_there)
    per_column = min(BYTES_PER_COLUMN, BYTES_PER_ROW_IN_FORESTS * (n_there or MAX_SAMPLE))
    fixed = BASE + per_column * (n_columns if n_fitted is None else n_fitted)
    per_row = BYTES_PER_ROW + BYTES_PER_VALUE * n_columns
    n_rows = (memory - fixed) // per_row
    if n_rows < n_least:
        least = fixed + n_least * per_row
        raise ValueError(f"--memory is too small for {n_columns} columns: it must be {-(-least // 10**6):,} MB or more")
    # In large steps, so that small differences have no effect.
    return int(min(MAX_SAMPLE, n_rows if n_rows < 2**16 else n_rows // 2**16 * 2**16))


def is_large(source: Source, memory: int | None) -> bool:
    """Whether a table is read in batches: with --memory, or if its file is likely to be too large for this machine."""
    if memory is not None:
        return True
    available = memory_limit()
    return available is not None and _expected_size(source.file) > MAX_SHARE * available


def check_rows_fit(name: str, n_rows: int, n_columns: int) -> None:
    """Raises an error if a fit to this many rows of a table exceeds the memory."""
    check_fit(
        f"a fit to {n_rows:,} rows of {n_columns:,} columns of {name}",
        n_rows,
        n_columns,
        "add --memory to fit a sample of the rows, or choose fewer columns",
    )


def _expected_size(path: str) -> float:
    if os.path.isdir(path):
        return sum(_expected_size(os.path.join(place, file)) for place, _, files in os.walk(path) for file in files)
    if not os.path.isfile(path):
        return 0.0
    return EXPANSION.get(Path(path).suffix.lower(), TEXT_EXPANSION) * os.path.getsize(path)


@dataclass(frozen=True)
class ScoredStream:
    """A table that was scored in batches: its highest rows, a sample of the others, and the scores of all in a file."""

    detector: ContextualDetector
    stream: TableStream
    results: Results
    """The results for the rows that were kept."""
    _id: str | None
    _ranks: ScoreRanks
    _stored: StoredScores | None

    def write(self, wanted: Delivery, wants_bar: bool) -> None:
        """Writes the results for all rows, or the flagged ones, to the file of --out; the table is read once more."""
        assert wanted.out is not None
        assert self._stored is not None
        view, n_features = self.detector.view(), len(self.detector.behavioral_features_)
        parts = PartsOfResults(view, self.results, self._ranks)
        options = WriteOptions(self.stream.types.found, wanted.out_table)
        self._stored.rewind()
        n_done = 0
        with ExitStack() as stack:
            tick = stack.enter_context(reporter(wants_bar, self.stream.n_rows, "Writing"))
            append: Append | None = None
            for columns in self.stream.batches():
                labels = _labels(columns, self._id, n_done)
                scores, kinds, parts_of_score = self._stored.read(len(labels), n_features)
                nothing = np.empty((len(labels), 0))
                rows = ScoredRows(
                    table=Table(columns),
                    context=nothing,
                    behavior=nothing,
                    partial=parts_of_score,
                    scores=scores,
                    p_values=view.p_values(scores),
                    kinds=None if self.results.rows.kinds is None else kinds,
                    is_fitted=False,
                    labels=labels,
                    heading=self.results.rows.heading,
                )
                found = parts.part(rows, n_done).columns(wanted.columns.value, only_flagged=wanted.only_flagged)
                if append is None:
                    append = stack.enter_context(append_columns(wanted.out, found, options))
                append(found)
                n_done += len(labels)
                if tick is not None:
                    tick(n_done)


def score_stream(
    detector: ContextualDetector,
    stream: TableStream,
    id: str | None,
    wanted: Delivery,
    known: Sequence[KnownEntry],
    wants_bar: bool,
    stack: ExitStack,
    *,
    is_sampled: bool,
) -> ScoredStream:
    """Scores all rows of a table batch by batch, and keeps those with the highest scores. `stack` ends with the files.

    `is_sampled` says that the detector was fitted to a sample of this table.

    The results for the other rows are stored next to the output file, where there must be room anyway.
    """
    heading = "row" if id is None else "id"
    beside = None if wanted.out is None else wanted.out.resolve().parent
    folder = stack.enter_context(scratch_folder(beside))
    target = folder / "ranks" if wanted.out is None else wanted.out
    with errors_named(target):
        ranks = ScoreRanks(folder / "ranks")
        stored = None if wanted.out is None else stack.enter_context(closing(StoredScores(folder / "scores")))
    keeper = RowKeeper(detector.threshold_, max(wanted.top, MIN_REPORTED_ROWS), known)
    detector.set_params(progress=False)
    with reporter(wants_bar, stream.n_rows, "Scoring") as tick, detector.view().keeping():
        for columns in stream.batches():
            labels = _labels(columns, id, keeper.n_rows)
            within = None if tick is None else partial(_tick, tick, keeper.n_rows)
            rows = detector.scored_rows(columns, labels=labels, heading=heading, tick=within)
            keeper.add(rows)
            with errors_named(target):
                ranks.add(rows.scores)
                if stored is not None:
                    stored.add(rows)
            if tick is not None:
                tick(keeper.n_rows)
    with errors_named(target):
        kept = keeper.finish(ranks, is_sampled=is_sampled)
    results = detector.results_of(kept, known)
    results.label_column = id
    return ScoredStream(detector, stream, results, id, ranks, stored)


def _tick(tick: Callable[[int], object], n_before: int, n_done: int) -> None:
    tick(n_before + n_done)


def _labels(columns: dict[str, Any], id: str | None, first: int) -> npt.NDArray[Any]:
    """The names of some rows, the first of which has this position in the table."""
    positions = first + np.arange(len(next(iter(columns.values()))))
    if id is None:
        return positions
    labels: npt.NDArray[Any] = columns[id].copy()
    for place in np.flatnonzero(np.array([label is None for label in labels], dtype=bool)):
        labels[place] = unnamed(int(positions[place]), ())
    return labels
