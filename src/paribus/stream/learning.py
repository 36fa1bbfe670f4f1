"""How a monitor judges and learns: it replaces some of the trees, or refits everything."""

from __future__ import annotations

import warnings
from collections import deque
from datetime import timedelta
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from paribus._common.arrays import Floats
from paribus._common.validation import check_seed, check_whole_number, is_number
from paribus.detectors.surprise import ConditionalSurprise
from paribus.methods.interface import Judged
from paribus.methods.surprise.verdict import NATS_PER_DIGIT
from paribus.stream.alarms import LAW, ROW, Alarm, AlarmLog, RowVerdict, say_row
from paribus.stream.checkpoint import Checkpoint, DetectorBytes
from paribus.stream.false_discoveries import OnlineDiscoveries
from paribus.stream.history import History
from paribus.stream.levels import Levels
from paribus.stream.recent_null import RecentNull
from paribus.stream.recent_rows import RecentRows
from paribus.stream.reference import Reference
from paribus.stream.refitting import refit
from paribus.stream.row_times import RowTimes
from paribus.tables.table import Table

# The maximum number of rows that are judged at a time.
BLOCK_SIZE = 1_024
# p-values are calibrated on recent scores as soon as there are this many.
MIN_SCORES = 1_000
# A refit after a change needs this many rows, or this share of the window.
MIN_NEW_ROWS, NEW_SHARE = 200, 0.125
# If more than this share of the rows would be withheld, they are not anomalies.
MAX_WITHHELD = 0.2


class LearningMonitor:
    """The implementation of a monitor; `Monitor` adds the public methods."""

    def __init__(
        self,
        detector: ConditionalSurprise,
        *,
        start_rows: int = 1_000,
        window: int | timedelta = 4_096,
        half_life: int | None = None,
        adapt_every: int | None = None,
        learn: bool = True,
        protect: bool = True,
        fdr: float = 0.1,
        fdr_period: int = 1_000,
        alpha: float = 0.01,
        time: str | None = None,
        random_state: int = 0,
    ) -> None:
        _check(detector, start_rows, window, half_life, adapt_every, fdr, fdr_period, alpha)
        check_seed(random_state)
        self.detector = detector
        self.start_rows, self.window, self.half_life, self.adapt_every = start_rows, window, half_life, adapt_every
        self.learn, self.protect, self.time, self.random_state = learn, protect, time, random_state
        self.fdr, self.fdr_period, self.alpha = fdr, fdr_period, alpha
        self.n_rows_ = self.n_adaptations_ = self.n_new_beginnings_ = 0
        self._log = AlarmLog()
        self.history_ = History()
        self._odd = OnlineDiscoveries(fdr, fdr_period)
        self._scores: deque[float] = deque(maxlen=max(self._n_window, MIN_SCORES))
        self._null: RecentNull | None = None
        self._changed: list[Alarm] = []
        """Changes for which a refit is pending."""
        self._waiting: list[dict[str, list[Any]]] = []
        """The first rows, until there are enough to fit the detector."""
        self._reference: Reference | None = None
        self._stored = DetectorBytes()
        self.extra_: dict[str, Any] = {}
        """Values that were stored with a checkpoint."""
        if hasattr(detector, "n_features_in_"):
            self._begin(detector)

    @property
    def alarms_(self) -> list[Alarm]:
        """The last 1,000 alarms about rows and the last 1,000 about changes, in the order in which they were raised."""
        return self._log.alarms

    @property
    def _n_window(self) -> int:
        return self.window if isinstance(self.window, int) else 4_096

    @property
    def _step(self) -> int:
        return self.adapt_every or max(self._n_window // 8, 64)

    @property
    def _seed(self) -> int:
        """The seed of the tests since the last new beginning."""
        return self.random_state * 1_000 + self.n_new_beginnings_ * 10

    def _begin(self, detector: ConditionalSurprise, reference: Reference | None = None) -> None:
        """Judges rows by a new detector from now on, and compares them with a reference, by default a new one."""
        self.detector_ = detector
        self._scorer = detector.scorer()
        self._reference = reference or Reference.begin(detector, self.alpha, self._seed, self._reference)
        self._scores.clear()
        first_scores = self._reference.first_scores
        if len(first_scores) >= MIN_SCORES:
            # A model that knows the rows before and after a row judges it too well: its own p-values do not hold.
            self._scores.extend((first_scores[~np.isnan(first_scores)] * NATS_PER_DIGIT).tolist())
            self._null = RecentNull.fit(np.array(self._scores))
        elif not self._reference.is_dependent:
            self._null = None
        self._times = RowTimes(detector, self.time)
        if isinstance(self.window, timedelta) and not self._times.names:
            raise ValueError("a window of time needs the time of each row: name its column with time")
        if not hasattr(self, "_recent"):
            names = dict.fromkeys([*self._scorer.names, *self._times.names])
            self._recent = RecentRows(list(names), self.window)
            n_fitted = detector.view().store.n_rows
            self._numbers = np.arange(self.n_rows_ - n_fitted, self.n_rows_)
            """By row that the detector holds: its number in the stream; negative for rows from before it."""
            self._remember_fitted()
        self._changed = []

    def __getstate__(self) -> dict[str, Any]:
        # These are derived from the detector, or made when they are needed.
        return {name: value for name, value in self.__dict__.items() if name not in ("_scorer", "_stored")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._stored = DetectorBytes()
        if self._reference is not None:
            self._scorer = self.detector_.scorer()

    @classmethod
    def _resume(cls, found: Checkpoint, n_rows: int, n_new_beginnings: int) -> Self:
        """A monitor with the detector and the reference of a checkpoint, before the rest of its state is restored."""
        fields, arrays = found.fields, found.arrays
        monitor = cls(clone(found.detectors["detector"]), **fields["parameters"])
        monitor.n_rows_, monitor.n_new_beginnings_ = n_rows, n_new_beginnings
        levels = Levels(found.detectors["reference"], monitor._seed, arrays.get("known_context"))
        stored = (arrays[name] for name in ("law_lengths", "law_variances", "circumstances_lengths"))
        reference = Reference(levels, monitor.alpha, monitor._seed, *stored)
        reference.go_on(fields["tests"], arrays)
        monitor._begin(found.detectors["detector"], reference)
        return monitor

    def _update_table(self, table: Table) -> list[RowVerdict]:
        """Judges and learns the rows of a table."""
        verdicts = self._collect(table) if self._reference is None else []
        while len(verdicts) < table.n_rows:
            # A block ends where the monitor adapts, so that all of its rows are judged by the same detector.
            size = min(BLOCK_SIZE, table.n_rows - len(verdicts), self._step - self.n_rows_ % self._step)
            piece = table.take(np.arange(len(verdicts), len(verdicts) + size))
            encoded, known = self._scorer.encode(piece), Table(piece)
            verdicts += self._update(*encoded, {name: _cells(known, name) for name in self._recent.columns})
        return verdicts

    def _collect(self, table: Table) -> list[RowVerdict]:
        """Keeps the first rows, and starts as soon as there are enough. Returns their verdicts, which are empty."""
        n = min(table.n_rows, self.start_rows - self.n_rows_)
        piece = Table(table.take(np.arange(n)))
        names = [piece.name(place) for place in range(piece.n_columns)]
        self._waiting.append({name: _cells(piece, name) for name in names})
        verdicts = [RowVerdict(self.n_rows_ + row, np.nan, np.nan) for row in range(n)]
        self.n_rows_ += n
        if self.n_rows_ == self.start_rows:
            first = {name: [cell for part in self._waiting for cell in part.get(name, [])] for name in names}
            self._waiting = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                self._begin(clone(self.detector).fit(first))
        return verdicts

    def _remember_fitted(self) -> None:
        """Initializes the window with the last of the fitted rows."""
        fitted = self.detector_.view().store.original
        if self.time is not None and not self._times.is_in(fitted):
            # Without their times, it is unknown whether they are old.
            return
        n = min(fitted.n_rows, self._n_window)
        last = Table(fitted.take(np.arange(fitted.n_rows - n, fitted.n_rows)))
        columns = {name: _cells(last, name) for name in self._recent.columns}
        self._recent.add(columns, self.n_rows_ - n, self._times.of(columns), np.zeros(n, dtype=bool))

    def _judge(self, context: Floats, behavior: Floats) -> tuple[Judged, Floats, Floats]:
        """Verdicts on rows, their scores by p-values, and those of the detector itself."""
        judged = self._scorer.judge(context, behavior)
        own = self.detector_.method.total(judged.partial)
        if self._null is None:
            return judged, own, own
        return judged, np.where(np.isnan(own), np.nan, self._null(own * NATS_PER_DIGIT) / NATS_PER_DIGIT), own

    def _update(self, context: Floats, behavior: Floats, columns: dict[str, list[Any]]) -> list[RowVerdict]:
        """Judges and learns rows between two adaptations."""
        assert self._reference is not None
        first, n_rows = self.n_rows_, len(context)
        judged, scores, own = self._judge(context, behavior)
        p_values = np.where(np.isnan(scores), np.nan, 10.0 ** -np.nan_to_num(scores))
        times = self._times.of(columns)
        texts = self._times.texts(times)
        reference = self._reference.levels.scorer
        # Detectors that were fitted to other rows may have other codes for the same categories.
        known = (context, behavior) if self._scorer.encodes_like(reference) else reference.encode(columns)
        changes, is_certain, evidence = self._reference.update(*known, first, texts)
        withheld = self.protect & (np.nan_to_num(p_values, nan=1.0) < self.detector_.false_alarms)
        by_row: dict[int, list[Alarm]] = {}
        for row, alarm in changes:
            by_row.setdefault(row, []).append(alarm)
        names = self._reference.names
        kinds = judged.kinds
        with np.errstate(invalid="ignore", divide="ignore"):
            # Parts sum to the score, also after it was recalibrated on recent rows.
            parts = np.where(own[:, None] > 0, judged.partial * (scores / own)[:, None], judged.partial)
        verdicts = []
        for row in range(n_rows):
            is_odd = self._odd.is_odd(float(p_values[row]))
            alarms = by_row.get(row, [])
            if is_odd:
                column = names[int(np.nan_to_num(judged.partial[row], nan=-1.0).argmax())]
                sentence = say_row(first + row, float(p_values[row]), column, texts[row])
                odd = Alarm(ROW, first + row, first + row, sentence, column, time=texts[row])
                alarms = [odd, *alarms]
            self._log.add(alarms)
            verdicts.append(
                RowVerdict(
                    first + row,
                    float(scores[row]),
                    float(p_values[row]),
                    None if kinds is None else str(kinds[row]),
                    is_odd,
                    bool(is_certain[row]),
                    self.learn and not withheld[row],
                    dict(zip(names, parts[row].tolist(), strict=True)),
                    tuple(alarms),
                )
            )
        self.n_rows_ += n_rows
        self._changed += [alarm for _, alarm in changes]
        for each in evidence:
            self.history_.add(first + each.rows.start, verdicts[each.rows], each.law, each.circumstances)
        if self.learn:
            self._scores.extend((own[~np.isnan(own)] * NATS_PER_DIGIT).tolist())
            self._recent.add(columns, first, times, withheld)
            if self.n_rows_ % self._step == 0:
                self._adapt()
        return verdicts

    def _adapt(self) -> None:
        """Learns from recent rows: replaces some trees, or refits everything after a change."""
        self._recent.trim()
        if self._changed:
            is_law = any(alarm.kind == LAW for alarm in self._changed)
            since = min(alarm.since for alarm in self._changed if alarm.kind == LAW or not is_law)
            n_needed = max(MIN_NEW_ROWS, int(NEW_SHARE * self._n_window))
            if self._recent.count(since) < n_needed:
                return
            # Rows that were withheld since then are ordinary now.
            self._recent.release(since)
            # If only the circumstances are new, the earlier rows are still valid.
            if self._start_anew(since if is_law else None):
                return
        latest = self.n_rows_ - self._step
        if self._recent.share_withheld(latest) > MAX_WITHHELD:
            self._recent.release(latest)
        places = self._recent.places(half_life=self.half_life, seed=self.random_state)
        if len(places) >= MIN_NEW_ROWS:
            self._renew(places)
        if len(self._scores) >= MIN_SCORES:
            self._null = RecentNull.fit(np.array(self._scores))

    def _renew(self, places: npt.NDArray[np.int64]) -> None:
        """Replaces the oldest trees; all of them, if recent rows have categories that no tree knows."""
        rows, numbers = self._recent.table(places), np.array(self._recent.numbers)[places]
        seed = self.random_state * 100_003 + self.n_adaptations_
        share = self._step / self._n_window
        renewed = self.detector_.renewed(self._numbers, rows, numbers, share, seed)
        if renewed is None:
            found = refit(self.detector_, rows)
            if found is None:
                return
            renewed = found, numbers
        self.detector_, self._numbers = renewed
        self._scorer = self.detector_.scorer()
        self.n_adaptations_ += 1

    def _start_anew(self, since: int | None) -> bool:
        """Fits everything to the rows from this number on, or to all. Returns whether that was possible."""
        places = self._recent.places(since)
        found = refit(self.detector_, self._recent.table(places))
        if found is None:
            return False
        self._numbers = np.array(self._recent.numbers)[places]
        self.n_new_beginnings_ += 1
        self._begin(found)
        return True


def _cells(table: Table, name: str) -> list[Any]:
    """The values of a column; missing ones if there is no such column."""
    names = [table.name(place) for place in range(table.n_columns)]
    return table.cells(names.index(name)) if name in names else [None] * table.n_rows


def _check(
    detector: Any,
    start_rows: Any,
    window: Any,
    half_life: Any,
    adapt_every: Any,
    fdr: Any,
    fdr_period: Any,
    alpha: Any,
) -> None:
    if not isinstance(detector, ConditionalSurprise):
        raise TypeError(f"detector is a {type(detector).__name__}: a monitor needs a ConditionalSurprise")
    check_whole_number("start_rows", start_rows, 100)
    if isinstance(window, timedelta):
        if window <= timedelta(0):
            raise ValueError(f"window is {window}: it must be above 0")
    else:
        check_whole_number("window", window, 256, 1_000_000)
    for name, value in (("half_life", half_life), ("adapt_every", adapt_every)):
        if value is not None:
            check_whole_number(name, value, 16)
    check_whole_number("fdr_period", fdr_period, 1)
    for name, value in (("fdr", fdr), ("alpha", alpha)):
        if not (is_number(value) and 0 < value < 1):
            raise ValueError(f"{name} is {value!r}: it must be a share above 0 and below 1")
