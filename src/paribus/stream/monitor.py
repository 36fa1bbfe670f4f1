"""A monitor of a stream: judges each row, learns from it, and watches for changes."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from paribus._common.arrays import Floats
from paribus._common.atomic_files import AnyPath
from paribus._common.validation import check_seed, check_whole_number, is_number
from paribus.detectors.explanation import Explanation
from paribus.detectors.surprise import ConditionalSurprise
from paribus.methods.interface import Judged
from paribus.methods.null import ScoreNull
from paribus.stream.alarms import LAW, ROW, Alarm, RowVerdict, say_row
from paribus.stream.checkpoint import Checkpoint, DetectorBytes, read_checkpoint, write_checkpoint
from paribus.stream.false_discoveries import OnlineDiscoveries
from paribus.stream.history import History
from paribus.stream.learning import refit
from paribus.stream.recent_rows import RecentRows
from paribus.stream.reference import Reference
from paribus.stream.row_times import RowTimes
from paribus.tables.streams import find_batches
from paribus.tables.table import Table

NATS_PER_DIGIT = float(np.log(10.0))
# Rows that are judged at a time.
BLOCK_SIZE = 1_024
# p-values follow recent scores as soon as there are so many.
MIN_SCORES = 1_000
# A new beginning needs so many rows, or this share of the window.
MIN_NEW_ROWS, NEW_SHARE = 200, 0.125
# Where more than this share of the rows would be withheld, they are no anomalies.
MAX_WITHHELD = 0.2
N_ALARMS = 1_000
PARAMETERS = (
    "start_rows", "window", "half_life", "adapt_every", "learn", "protect", "fdr", "fdr_period", "alpha", "time",
    "random_state",
)  # fmt: skip


class Monitor:
    """Judges the rows of a stream one after the other, and tells a strange row from a changed world.

    Each row is judged before it is learned. Three things can be wrong, and each has its own alarm: a *row* is odd; the
    *law* has changed, that is, how behavior is distributed given its context; or only the *circumstances* have shifted.

    Parameters
    ----------
    detector : ConditionalSurprise
        A fitted or loaded detector; or one that is not fitted, which is fitted to the first rows.
    start_rows : int
        The number of rows that a detector is fitted to which is not fitted. These get no verdict.
    window : int or timedelta
        What is learned from: the last so many rows, or the rows of so much time (at most 65,536).
    half_life : int, optional
        The number of rows after which a row counts half; by default, all rows of the window count alike.
    adapt_every : int, optional
        Every how many rows the oldest pairs of trees are replaced and scores are calibrated again; an eighth of the
        window by default. Between two adaptations, a score depends on the row alone.
    learn : bool
        Whether to learn at all. If not, the detector stays as it is, and alarms of changes are given once.
    protect : bool
        Whether to learn nothing from rows with a p-value below the detector's `false_alarms`. They are learned after
        all when the law has changed, or if more than a fifth of the rows would be left out.
    fdr : float
        The share of ordinary rows that may be expected among the odd ones, in each period.
    fdr_period : int
        The number of rows of a period.
    alpha : float
        The probability that a stream in which nothing changes ever causes an alarm "law"; likewise "circumstances".
    time : str, optional
        A column with the time of each row; by default the first contextual column of moments, if there is one.
    random_state : int
        The seed of what is drawn at random.

    Attributes
    ----------
    n_rows_ : int
        The number of rows so far.
    alarms_ : deque of Alarm
        The last 1,000 alarms.
    detector_ : ConditionalSurprise
        What rows are judged by now.
    n_adaptations_, n_new_beginnings_ : int
        How often trees were replaced, and how often everything was learned anew after a change.

    Examples
    --------
    >>> from paribus import ConditionalSurprise, Monitor, datasets
    >>> weather = datasets.load("weather")
    >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
    >>> monitor = Monitor(detector)
    >>> row = {"month": "July", "elevation": 1500.0, "zone": "inland", "temperature": -40.0, "rain": 0.0, "wind": 9.0}
    >>> monitor.update_one(row).is_odd
    True
    """

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
        self.alarms_: deque[Alarm] = deque(maxlen=N_ALARMS)
        self.history_ = History()
        self._odd = OnlineDiscoveries(fdr, fdr_period)
        self._scores: deque[float] = deque(maxlen=self._n_window)
        self._null: ScoreNull | None = None
        self._changed: list[Alarm] = []
        """Changes that wait for a new beginning."""
        self._waiting: list[dict[str, list[Any]]] = []
        """The first rows, as long as there is nothing to judge them by."""
        self._reference: Reference | None = None
        self._stored = DetectorBytes()
        self.extra_: dict[str, Any] = {}
        """What was kept with a checkpoint."""
        if hasattr(detector, "n_features_in_"):
            self._begin(detector)

    @property
    def _n_window(self) -> int:
        return self.window if isinstance(self.window, int) else 4_096

    @property
    def _step(self) -> int:
        return self.adapt_every or max(self._n_window // 8, 64)

    def _begin(self, detector: ConditionalSurprise) -> None:
        """Compares rows with a new detector from now on."""
        self.detector_ = detector
        self._scorer = detector.scorer()
        self._reference = Reference(detector, self.alpha, self.random_state * 1_000 + self.n_new_beginnings_ * 10)
        self._times = RowTimes(detector, self.time)
        if not hasattr(self, "_recent"):
            names = dict.fromkeys([*self._scorer.names, *self._times.names])
            self._recent = RecentRows(list(names), self.window)
            n_fitted = detector.view().store.n_rows
            self._numbers = np.arange(self.n_rows_ - n_fitted, self.n_rows_)
            """By row that the detector holds: its number in the stream; those from before are negative."""
            self._remember_fitted()
        self._changed = []

    @property
    def unwatched_(self) -> list[str]:
        """Behavior that is not watched for changes, because successive rows are too much alike for any test."""
        return [] if self._reference is None else self._reference.unwatched

    def score_one(self, row: Mapping[str, Any]) -> float:
        """Scores a row, without learning from it.

        Parameters
        ----------
        row : dict
            The values of the row by column.

        Returns
        -------
        float
            The score; higher is more anomalous. 0 as long as there is nothing to compare with.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor
        >>> monitor = Monitor(ConditionalSurprise(["x"], ["y"]), start_rows=100)
        >>> monitor.score_one({"x": 1.0, "y": 2.0})
        0.0
        """
        if self._reference is None:
            return 0.0
        score = float(self._judge(*self._scorer.encode(row))[1][0])
        return 0.0 if score != score else score

    def score_many(self, rows: Any) -> Floats:
        """Scores rows, without learning from them.

        Parameters
        ----------
        rows : table
            A dataframe, a dict of columns, or an Arrow batch.

        Returns
        -------
        array of shape (rows,)
            The scores, the same as one at a time; NaN for a row that cannot be judged.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> Monitor(detector).score_many(weather.table).shape
        (2000,)
        """
        if self._reference is None:
            return np.zeros(Table(rows).n_rows)
        return self._judge(*self._scorer.encode(rows))[1]

    def learn_one(self, row: Mapping[str, Any]) -> None:
        """Learns from a row. The same as `update_one`, for those who do not want its verdict.

        Parameters
        ----------
        row : dict
            The values of the row by column.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor
        >>> monitor = Monitor(ConditionalSurprise(["x"], ["y"]), start_rows=100)
        >>> monitor.learn_one({"x": 1.0, "y": 2.0})
        >>> monitor.n_rows_
        1
        """
        self.update_one(row)

    def learn_many(self, rows: Any) -> None:
        """Learns from rows. The same as `update_many`, for those who do not want its verdicts.

        Parameters
        ----------
        rows : table
            A dataframe, a dict of columns, or an Arrow batch.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor
        >>> monitor = Monitor(ConditionalSurprise(["x"], ["y"]), start_rows=100)
        >>> monitor.learn_many({"x": [1.0, 2.0], "y": [2.0, 3.0]})
        >>> monitor.n_rows_
        2
        """
        self.update_many(rows)

    def update_one(self, row: Mapping[str, Any]) -> RowVerdict:
        """Judges a row, and then learns from it.

        Parameters
        ----------
        row : dict
            The values of the row by column.

        Returns
        -------
        RowVerdict
            The verdict, with the alarms that this row has raised.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor
        >>> Monitor(ConditionalSurprise(["x"], ["y"]), start_rows=100).update_one({"x": 1.0, "y": 2.0}).number
        0
        """
        if self._reference is None:
            return self.update_many({name: [value] for name, value in row.items()})[0]
        encoded = self._scorer.encode(row)
        # Columns that are not there are missing in what is learned; those that are needed are asked for above.
        return self._update(*encoded, {name: [row.get(name)] for name in self._recent.columns})[0]

    def update_many(self, rows: Any) -> list[RowVerdict]:
        """Judges rows one after the other, and learns from them.

        Parameters
        ----------
        rows : table
            A dataframe, a dict of columns, an Arrow batch, or a source of batches, such as a RecordBatchReader.

        Returns
        -------
        list of RowVerdict
            The verdicts, the same as one at a time.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor, datasets
        >>> weather = datasets.load("weather")
        >>> monitor = Monitor(ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8))
        >>> verdicts = monitor.update_many(weather.table)
        >>> len(verdicts), monitor.n_rows_, verdicts[0].score, verdicts[1500].score > 0
        (2000, 2000, nan, True)
        """
        batches = find_batches(rows, once=True)
        if batches is not None:
            return [verdict for batch in batches.batches() for verdict in self.update_many(batch)]
        table = Table(rows)
        verdicts = self._collect(table) if self._reference is None else []
        while len(verdicts) < table.n_rows:
            # A block ends where the monitor adapts, so that all of its rows are judged alike.
            size = min(BLOCK_SIZE, table.n_rows - len(verdicts), self._step - self.n_rows_ % self._step)
            piece = table.take(np.arange(len(verdicts), len(verdicts) + size))
            encoded, known = self._scorer.encode(piece), Table(piece)
            verdicts += self._update(*encoded, {name: _cells(known, name) for name in self._recent.columns})
        return verdicts

    def _collect(self, table: Table) -> list[RowVerdict]:
        """Keeps the first rows, and begins as soon as there are enough. Returns their verdicts, which are none."""
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
        """Begins the window with the last of the fitted rows."""
        fitted = self.detector_.view().store.original
        if self.time is not None and not self._times.is_in(fitted):
            # Without their times they cannot be told to be old.
            return
        n = min(fitted.n_rows, self._n_window)
        last = Table(fitted.take(np.arange(fitted.n_rows - n, fitted.n_rows)))
        columns = {name: _cells(last, name) for name in self._recent.columns}
        self._recent.add(columns, self.n_rows_ - n, self._times.of(columns), np.zeros(n, dtype=bool))

    def _judge(self, context: Floats, behavior: Floats) -> tuple[Judged, Floats, Floats]:
        """What is said of rows, their scores as p-values say, and those of the detector itself."""
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
        changes, is_certain = self._reference.update(context, behavior, first, texts)
        withheld = np.nan_to_num(p_values, nan=1.0) < self.detector_.false_alarms if self.protect else np.zeros(n_rows)
        by_row: dict[int, list[Alarm]] = {}
        for row, alarm in changes:
            by_row.setdefault(row, []).append(alarm)
        names = self._reference.names
        kinds = judged.kinds
        with np.errstate(invalid="ignore", divide="ignore"):
            # Parts sum to the score, also where recent rows say that it is worth more or less.
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
            self.alarms_.extend(alarms)
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
        self.history_.add(first, verdicts, self._reference.law.evidence, self._reference.circumstances.evidence)
        if self.learn:
            self._scores.extend((own[~np.isnan(own)] * NATS_PER_DIGIT).tolist())
            self._recent.add(columns, first, times, withheld.astype(bool))
            if self.n_rows_ % self._step == 0:
                self._adapt()
        return verdicts

    def _adapt(self) -> None:
        """Learns from recent rows: a bit of what is new, or everything anew if the world has changed."""
        self._recent.trim()
        if self._changed:
            is_law = any(alarm.kind == LAW for alarm in self._changed)
            since = min(alarm.since for alarm in self._changed if alarm.kind == LAW or not is_law)
            n_needed = max(MIN_NEW_ROWS, int(NEW_SHARE * self._n_window))
            if self._recent.count(since) < n_needed:
                return
            # What was withheld since then is what is usual now.
            self._recent.release(since)
            if self._start_anew(since if is_law else 0):
                return
        latest = self.n_rows_ - self._step
        if self._recent.share_withheld(latest) > MAX_WITHHELD:
            self._recent.release(latest)
        places = self._recent.places(half_life=self.half_life, seed=self.random_state)
        if len(places) >= MIN_NEW_ROWS:
            self._renew(places)
        if len(self._scores) >= MIN_SCORES:
            self._null = ScoreNull.fit(np.array(self._scores))

    def _renew(self, places: npt.NDArray[np.int64]) -> None:
        """Replaces the oldest trees; all of them, if recent rows have what no tree knows."""
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

    def _start_anew(self, since: int) -> bool:
        """Fits everything to the rows from a number on. Returns whether that was possible."""
        places = self._recent.places(since)
        found = refit(self.detector_, self._recent.table(places))
        if found is None:
            return False
        self._numbers = np.array(self._recent.numbers)[places]
        self.n_new_beginnings_ += 1
        self._scores.clear()
        self._null = None
        self._begin(found)
        return True

    def save(self, path: AnyPath, *, extra: Mapping[str, Any] | None = None) -> None:
        """Writes everything that the monitor knows to a file, for `load`. An old file is replaced as a whole.

        Parameters
        ----------
        path : path
            Where to write it.
        extra : dict, optional
            Plain values to keep with it, such as how far a source was read.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from paribus import ConditionalSurprise, Monitor, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> monitor = Monitor(detector)
        >>> with TemporaryDirectory() as folder:
        ...     monitor.save(f"{folder}/monitor.state", extra={"offset": 12})
        ...     Monitor.load(f"{folder}/monitor.state").extra_
        {'offset': 12}
        """
        if self._reference is None:
            raise ValueError(f"there is nothing to save before {self.start_rows:,} rows have come")
        tests, arrays = self._reference.state()
        null = self._null
        fields = {
            "parameters": {name: getattr(self, name) for name in PARAMETERS},
            "n_rows": self.n_rows_,
            "n_adaptations": self.n_adaptations_,
            "n_new_beginnings": self.n_new_beginnings_,
            "odd": [self._odd.n_rows, self._odd.n_odd],
            "alarms": [alarm.to_dict() for alarm in self.alarms_],
            "changed": [alarm.to_dict() for alarm in self._changed],
            "null": None if null is None else [null.knots.tolist(), null.evidence.tolist(), null.scale],
            "history": self.history_.state(),
            "recent": [self._recent.columns, self._recent.numbers, self._recent.times, self._recent.withheld],
            "tests": tests,
            "extra": dict(extra or {}),
        }
        arrays["scores"], arrays["numbers"] = np.array(self._scores), self._numbers
        detectors = {"detector": self.detector_, "reference": self._reference.detector}
        write_checkpoint(path, Checkpoint(fields, arrays, detectors), self._stored)

    @classmethod
    def load(cls, path: AnyPath) -> Monitor:
        """Reads a monitor that `save` wrote, which goes on as if it had never stopped.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Monitor
            The monitor; `extra_` is what was kept with it.

        Examples
        --------
        >>> from paribus import Monitor
        >>> Monitor.load("no such file")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
        """
        found = read_checkpoint(path)
        fields = found.fields
        try:
            reference = found.detectors["reference"]
            monitor = cls(clone(reference), **fields["parameters"])
            monitor.n_new_beginnings_ = fields["n_new_beginnings"]
            monitor.n_rows_ = fields["n_rows"]
            monitor._begin(reference)
            assert monitor._reference is not None
            monitor._reference.go_on(fields["tests"], found.arrays)
            monitor.n_adaptations_ = fields["n_adaptations"]
            if monitor.n_adaptations_ > 0:
                monitor.detector_ = found.detectors["detector"]
                monitor._scorer = monitor.detector_.scorer()
            monitor._odd.n_rows, monitor._odd.n_odd = fields["odd"]
            monitor.alarms_.extend(Alarm(**each) for each in fields["alarms"])
            monitor._changed = [Alarm(**each) for each in fields["changed"]]
            if fields["null"] is not None:
                knots, evidence, scale = fields["null"]
                monitor._null = ScoreNull(np.array(knots), np.array(evidence), scale)
            monitor.history_ = History.of(fields["history"])
            recent = monitor._recent
            recent.columns, recent.numbers, recent.times, recent.withheld = fields["recent"]
            monitor._scores.extend(found.arrays["scores"].tolist())
            monitor._numbers = found.arrays["numbers"].astype(np.int64)
            monitor.extra_ = fields["extra"]
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"{Path(path).name} is not a checkpoint of a monitor, or it is damaged ({error})") from None
        return monitor

    def explain(self, row: Any, *, n_features: int = 3) -> Explanation:
        """Explains the score of a row by what rows are judged by now.

        Parameters
        ----------
        row : dict
            The values of the row by column.
        n_features : int
            The maximum number of behavioral features in the sentence.

        Returns
        -------
        Explanation
            Which features stand out, by how much, and compared with which rows.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> row = {name: column[137] for name, column in weather.table.items()}
        >>> Monitor(detector).explain(row).score > 3
        True
        """
        if self._reference is None:
            raise ValueError(f"there is nothing to compare with before {self.start_rows:,} rows have come")
        return self.detector_.explain(dict(row) if isinstance(row, Mapping) else row, n_features=n_features)


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
