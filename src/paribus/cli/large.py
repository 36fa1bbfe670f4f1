"""Tables that do not fit into memory: a sample to fit, and the scores of all rows in batches."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.arrays import Positions
from paribus._common.memory import check_fits, memory_limit
from paribus._common.progress import reporter
from paribus.cli.delivery_options import Columns, Delivery
from paribus.cli.options import Source
from paribus.explain.finding import Finding, finding_columns
from paribus.io.reading import TableStream
from paribus.io.writing import append_columns
from paribus.io.writing.options import WriteOptions
from paribus.output.frame import RowScores
from paribus.output.results import MAX_FINDINGS
from paribus.tables.rows import unnamed

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
# The memory of a fit, in bytes: for each value, for the forests of each column, and for Python and its libraries.
BYTES_PER_VALUE = 100
BYTES_PER_COLUMN = 30 * 10**6
BASE = 300 * 10**6
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


def sample_size(memory: int | None, n_columns: int) -> int:
    """The maximum number of rows of a fit with this many columns.

    >>> sample_size(None, 10), sample_size(2 * 10**9, 10)
    (2097152, 1376256)
    """
    from paribus.tables.drawing import MAX_SAMPLE

    if memory is None:
        return MAX_SAMPLE
    fixed, per_row = BASE + BYTES_PER_COLUMN * n_columns, BYTES_PER_VALUE * n_columns
    n_rows = (memory - fixed) // per_row
    if n_rows < MIN_SAMPLE:
        least = fixed + MIN_SAMPLE * per_row
        raise ValueError(f"--memory is too small for {n_columns} columns: it must be {-(-least // 10**6):,} MB or more")
    # In large steps, so that small differences have no effect.
    return int(min(MAX_SAMPLE, n_rows if n_rows < 2**16 else n_rows // 2**16 * 2**16))


def is_large(source: Source, memory: int | None) -> bool:
    """Whether a table is read in batches: with --memory, or if its file is likely to be too large for this machine."""
    if memory is not None:
        return True
    available = memory_limit()
    return available is not None and _expected_size(source.file) > MAX_SHARE * available


def check_fit(name: str, n_rows: int, n_columns: int) -> None:
    """Raises an error if a fit to this many rows exceeds the memory."""
    check_fits(
        f"a fit to {n_rows:,} rows of {n_columns:,} columns of {name}",
        BASE + (BYTES_PER_COLUMN + float(BYTES_PER_VALUE) * n_rows) * n_columns,
        "add --memory to fit a sample of the rows, or choose fewer columns",
    )


def _expected_size(path: str) -> float:
    if os.path.isdir(path):
        return sum(_expected_size(os.path.join(place, file)) for place, _, files in os.walk(path) for file in files)
    if not os.path.isfile(path):
        return 0.0
    return EXPANSION.get(Path(path).suffix.lower(), TEXT_EXPANSION) * os.path.getsize(path)


@dataclass
class ScoredRows:
    """A summary of the scores of all rows, and the rows with the highest ones."""

    threshold: float
    n_top: int
    heading: str
    n_rows: int = 0
    n_scored: int = 0
    n_flagged: int = 0
    lowest: float = np.inf
    highest: float = -np.inf

    def __post_init__(self) -> None:
        self.scores, self.positions = np.zeros(0), np.zeros(0, dtype=np.int64)
        self.labels: list[Any] = []
        self.rows: dict[str, Any] = {}

    def add(self, columns: dict[str, Any], total: Any, labels: Any) -> None:
        """Adds the next rows."""
        known = total[~np.isnan(total)]
        self.n_scored += len(known)
        self.n_flagged += int((known > self.threshold).sum())
        if known.size:
            self.lowest, self.highest = min(self.lowest, float(known.min())), max(self.highest, float(known.max()))
        best = RowScores(total, {}, self.threshold).highest(self.n_top)
        scores = np.concatenate([self.scores, total[best]])
        # Of equal scores the first rows come first, as in a table that is scored at once.
        order = np.argsort(-scores, kind="stable")[: self.n_top]
        positions = np.concatenate([self.positions, self.n_rows + best])
        named = [*self.labels, *(labels[row] for row in best)]
        some = {name: values[best] for name, values in columns.items()}
        joined = (
            {name: np.concatenate([self.rows[name], values]) for name, values in some.items()} if self.rows else some
        )
        self.scores, self.positions = scores[order], positions[order]
        self.labels = [named[place] for place in order]
        self.rows = {name: values[order] for name, values in joined.items()}
        self.n_rows += len(total)

    @property
    def ranks(self) -> Any:
        """The ranks of the highest scores: equal scores share one."""
        return len(self.scores) - np.searchsorted(self.scores[::-1], self.scores, "right") + 1


def score_stream(
    detector: ContextualDetector, stream: TableStream, id: str | None, wanted: Delivery, wants_bar: bool
) -> ScoredRows:
    """Scores all rows of a table batch by batch, writes the results, and keeps the rows with the highest scores."""
    heading = "row" if id is None else "id"
    found = ScoredRows(detector.threshold_, wanted.top, heading)
    parts = [f"partial_{name}" for name in detector.behavioral_features_]
    # Ranks and groups are not among them: they need all rows at once.
    names = [heading, "score", "p_value", "label", "kind", *finding_columns([], 0), *parts]
    roles = {*detector.contextual_features_, *detector.view().behavior_columns}
    kept = [name for name in stream.names if wanted.columns is Columns.ALL or name in roles]
    original = [] if wanted.columns is Columns.NONE else kept
    detector.set_params(progress=False)
    writing = (
        nullcontext()
        if wanted.out is None
        else append_columns(wanted.out, _free_names(names, original), WriteOptions(table=wanted.out_table))
    )
    n_explained = 0
    with writing as append, reporter(wants_bar, stream.n_rows, "Scoring") as tick:
        for columns in stream.batches():
            results = detector.score_batch(columns)
            labels = np.arange(found.n_rows, found.n_rows + len(results["score"]))
            if id is not None:
                own = [
                    unnamed(int(row), ()) if each is None else each
                    for row, each in zip(labels, columns[id], strict=True)
                ]
                labels = np.array(own, dtype=object)
            found.add(columns, results["score"], labels)
            if append is not None:
                is_flagged = results["label"] == "anomaly"
                flagged = np.flatnonzero(is_flagged)[: MAX_FINDINGS - n_explained]
                n_explained += len(flagged)
                results = {**results, **_findings(detector, columns, flagged, len(is_flagged))}
                rows = [labels, *(results[name] for name in names[1:]), *(columns[name] for name in original)]
                keep = is_flagged if wanted.only_flagged else slice(None)
                append({name: each[keep] for name, each in zip(_free_names(names, original), rows, strict=True)})
            if tick is not None:
                tick(found.n_rows)
    return found


def _findings(detector: ContextualDetector, columns: dict[str, Any], flagged: Positions, n_rows: int) -> dict[str, Any]:
    """The sentence and the leading value of each flagged row of a batch; empty for the others."""
    findings = []
    if len(flagged):
        rows = {name: values[flagged] for name, values in columns.items()}
        explanations = detector.explain_all(len(flagged), rows=rows)
        findings = [Finding.of(each, int(flagged[int(str(each.row))])) for each in explanations]
    return finding_columns(findings, n_rows)


def _free_names(results: list[str], original: list[str]) -> list[str]:
    """The names of results, and then those of original columns, which come first where both have the same.

    >>> _free_names(["row", "score"], ["Score", "month"])
    ['row', 'score (paribus)', 'Score', 'month']
    """
    taken = {name.casefold() for name in original}
    return [*(name if name.casefold() not in taken else f"{name} (paribus)" for name in results), *original]
