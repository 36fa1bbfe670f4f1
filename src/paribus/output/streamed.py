"""Results for a table that is scored in batches: the rows that are kept, and the ranks of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.explain.known import KnownEntry, mark
from paribus.explain.view import FittedView, highest
from paribus.output.results import MAX_FINDINGS, Flags, Results, ScoredRows, WholeTable
from paribus.tables.row_hash import mix

# A table of up to this many rows is kept as it is, with the same results as in memory.
MAX_KEPT = 2**17
# The size of the sample of all other rows, for groups and pictures.
N_BACKGROUND = 30_000
# Scores that are sorted at a time.
RUN_SIZE = 2**22


class RowKeeper:
    """Keeps the rows of a table that are to be explained, and a sample of all others.

    These are the highest scores, known or not, and the highest scores of rows that are not known. What is kept depends
    on the rows and their order alone, not on batches.

    Parameters
    ----------
    threshold : float
        The score above which a row is an anomaly.
    n_shown : int
        The number of rows to list.
    known : sequence of KnownEntry
        What is known about some rows.
    """

    def __init__(self, threshold: float, n_shown: int, known: Sequence[KnownEntry] = ()) -> None:
        self._threshold, self._n_shown = threshold, n_shown
        # Rules about what is usual need explanations, which are computed later.
        self._known = [entry for entry in known if entry.rule is None or not entry.rule.on_usual]
        self._parts: list[tuple[ScoredRows, Positions, Flags]] = []
        self._n_held = 0
        self._is_named = False
        self.n_rows = 0
        """The number of rows so far."""
        self._n_scored = self._n_above = self._n_known = self._n_missing = 0
        self._lowest = np.inf

    def add(self, rows: ScoredRows) -> None:
        """Takes the next rows."""
        positions = self.n_rows + np.arange(len(rows.scores))
        is_scored, is_above = ~np.isnan(rows.scores), rows.scores > self._threshold
        self._is_named |= rows.labels is not None
        rows = replace(rows, labels=positions if rows.labels is None else rows.labels)
        names: list[str] = []
        if any(entry.row is not None for entry in self._known):
            assert rows.labels is not None
            names = [str(label) for label in rows.labels.tolist()]
        is_known = mark(self._known, rows.table, names, ()).is_known
        self.n_rows += len(positions)
        self._n_scored += int(is_scored.sum())
        self._n_above += int(is_above.sum())
        self._n_known += int((is_above & is_known).sum())
        self._n_missing += int(np.isnan(rows.context).sum() + np.isnan(rows.behavior).sum())
        self._lowest = min(self._lowest, float(rows.scores[is_scored].min(initial=np.inf)))
        self._parts.append((rows, positions, is_known))
        self._n_held += len(positions)
        if self._n_held > MAX_KEPT:
            self._drop()

    def finish(self, ranks: ScoreRanks, *, is_sampled: bool = False) -> ScoredRows:
        """The rows that are kept, in their order. `is_sampled` says that the fitted rows are a sample of the table."""
        is_whole = self.n_rows <= MAX_KEPT
        if not is_whole:
            self._drop()
        rows, positions, is_known = self._joined()
        if is_whole:
            return rows if self._is_named else replace(rows, labels=None)
        is_high = self._is_high(rows.scores, is_known)
        n_others = self.n_rows - int(is_high.sum())
        weights = np.where(is_high, 1.0, n_others / max(1, int((~is_high).sum())))
        n_known_here = int((is_known & (rows.scores > self._threshold)).sum())
        whole = WholeTable(
            n_rows=self.n_rows,
            n_scored=self._n_scored,
            n_above=self._n_above,
            weights=weights,
            n_known_elsewhere=self._n_known - n_known_here,
            positions=positions,
            ranks=ranks.of(rows.scores),
            n_missing=self._n_missing,
            lowest=self._lowest,
            is_sampled=is_sampled,
        )
        return replace(rows, whole=whole)

    def _is_high(self, scores: Floats, is_known: Flags) -> Flags:
        is_high = np.zeros(len(scores), dtype=bool)
        is_high[highest(scores, MAX_FINDINGS)] = True
        # Of these, as many as are explained may turn out to be known.
        is_high[highest(np.where(is_known, np.nan, scores), MAX_FINDINGS + self._n_shown)] = True
        return is_high

    def _drop(self) -> None:
        rows, positions, is_known = self._joined()
        is_kept = self._is_high(rows.scores, is_known)
        # The others are drawn by a hash of their position, which does not depend on the batches.
        keys = mix(positions.astype(np.uint64))
        is_kept[np.argsort(keys, kind="stable")[:N_BACKGROUND]] = True
        kept = np.flatnonzero(is_kept)
        self._parts = [(rows.taken(kept), positions[kept], is_known[kept])]
        self._n_held = len(kept)

    def _joined(self) -> tuple[ScoredRows, Positions, Flags]:
        parts, self._parts = self._parts, []
        joined = (
            ScoredRows.joined([rows for rows, _, _ in parts]),
            np.concatenate([positions for _, positions, _ in parts]),
            np.concatenate([is_known for _, _, is_known in parts]),
        )
        self._parts = [joined]
        return joined


class ScoreRanks:
    """The ranks of scores among all scores of a table, which are in a file: sorted, some at a time.

    Parameters
    ----------
    path : Path
        The file, which is created.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[Floats] = []
        self._n_waiting = 0
        self._runs: list[int] = []
        path.touch()

    def add(self, scores: Floats) -> None:
        """Takes the next scores; NaN for rows without one."""
        known = scores[~np.isnan(scores)]
        self._waiting.append(known)
        self._n_waiting += len(known)
        if self._n_waiting >= RUN_SIZE:
            self._store()

    def of(self, scores: Floats) -> Floats:
        """The rank of each score: 1 is the highest, equal scores share a rank; NaN for NaN."""
        self._store()
        order = np.argsort(scores, kind="stable")
        ascending = scores[order]
        n_above = np.zeros(len(scores))
        begin = 0
        for size in self._runs:
            run = np.memmap(self._path, np.float64, "r", offset=8 * begin, shape=(size,))
            n_above += size - np.searchsorted(run, ascending, "right")
            begin += size
        ranks = np.empty(len(scores))
        ranks[order] = n_above + 1
        ranks[np.isnan(scores)] = np.nan
        return ranks

    def _store(self) -> None:
        if self._n_waiting:
            with self._path.open("ab") as file:
                file.write(np.sort(np.concatenate(self._waiting)).data)
            self._runs.append(self._n_waiting)
        self._waiting, self._n_waiting = [], 0


class StoredScores:
    """The scores of all rows of a table in a file, to be written with what is known once all rows have been seen.

    Parameters
    ----------
    path : Path
        The file, which is created.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b")
        self._kinds: dict[str | None, int] = {}

    def add(self, rows: ScoredRows) -> None:
        """Takes the next rows."""
        kinds = np.zeros(len(rows.scores))
        if rows.kinds is not None:
            kinds[:] = [self._kinds.setdefault(kind, len(self._kinds)) for kind in rows.kinds.tolist()]
        self._file.write(np.ascontiguousarray(np.column_stack([rows.scores, kinds, rows.partial])).data)

    def read(self, n_rows: int, n_features: int) -> tuple[Floats, npt.NDArray[np.object_], Floats]:
        """The scores, kinds and partial scores of the next rows."""
        block = np.fromfile(self._file, np.float64, n_rows * (2 + n_features)).reshape(n_rows, 2 + n_features)
        names = np.array([*self._kinds, None], dtype=object)
        return block[:, 0].copy(), names[block[:, 1].astype(np.int64)], block[:, 2:].copy()

    def rewind(self) -> None:
        """Reads from the start next."""
        self._file.flush()
        self._file.seek(0)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class PartsOfResults:
    """The results for all rows of a table, some rows at a time, after its highest rows have been explained.

    Parameters
    ----------
    view : FittedView
        What the rows are compared with.
    results : Results
        The results for the rows that were kept.
    ranks : ScoreRanks
        The ranks of all rows.
    """

    def __init__(self, view: FittedView, results: Results, ranks: ScoreRanks) -> None:
        self._view, self._results, self._ranks = view, results, ranks
        places = [results.position(each.position) for each in results.findings]
        order = np.argsort(np.array(places, dtype=np.int64), kind="stable")
        self._findings = [replace(results.findings[place], position=places[place]) for place in order]
        self._positions = np.array([each.position for each in self._findings], dtype=np.int64)
        self._groups = {
            results.position(int(row)): group.number for group in results.groups for row in group.positions.tolist()
        }

    def part(self, rows: ScoredRows, first: int) -> Results:
        """The results for some rows; `first` is the position of the first one."""
        end = first + len(rows.scores)
        found = Results(self._view, rows, lambda _: [], self._results.entries)
        found.label_column = self._results.label_column
        begin, stop = np.searchsorted(self._positions, [first, end])
        found.findings = [replace(each, position=each.position - first) for each in self._findings[begin:stop]]
        found.rank = self._ranks.of(rows.scores)
        found.group_of = np.full(len(rows.scores), np.nan)
        for each in found.findings:
            found.group_of[each.position] = self._groups.get(each.position + first, np.nan)
        return found
