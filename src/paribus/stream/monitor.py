"""A monitor of a stream: judges each row, learns from it, and watches for changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.arrays import Floats
from paribus._common.atomic_files import AnyPath
from paribus._common.untrusted import Fields
from paribus.detectors.explanation import Explanation
from paribus.pictures.svg.stream_timeline import stream_timeline
from paribus.stream.alarms import Alarm, RowVerdict
from paribus.stream.checkpoint import Checkpoint, damage_explained, read_checkpoint, write_checkpoint
from paribus.stream.history import History
from paribus.stream.learning import LearningMonitor
from paribus.stream.recent_null import RecentNull
from paribus.tables.streams import find_batches
from paribus.tables.table import Table

if TYPE_CHECKING:
    from paribus.pictures.matplotlib import StreamTimelineDisplay

PARAMETERS = (
    "start_rows", "window", "half_life", "adapt_every", "learn", "protect", "fdr", "fdr_period", "alpha", "time",
    "random_state",
)  # fmt: skip


class Monitor(LearningMonitor):
    """Judges the rows of a stream one after the other, and distinguishes odd rows from changes of the stream.

    Each row is judged before it is learned. There are three kinds of alarms: a *row* is odd; the
    *law* has changed, that is, the distribution of behavior given its context (concept drift); or only the
    *circumstances* have shifted (covariate shift).

    Parameters
    ----------
    detector : ConditionalSurprise
        A fitted or loaded detector; or one that is not fitted, which is fitted to the first rows.
    start_rows : int
        The number of rows to fit the detector to, if it is not fitted. These get no verdict.
    window : int or timedelta
        The rows to learn from: this many, or those of this length of time (at most 65,536).
    half_life : int, optional
        The number of rows after which the weight of a row is halved; by default, all rows of the window have the same
        weight.
    adapt_every : int, optional
        The number of rows between adaptations, which replace the oldest pairs of trees and recalibrate scores; an
        eighth of the window by default. Between two adaptations, a score depends on the row alone.
    learn : bool
        Whether to learn. If not, the detector does not change, and each change is reported once.
    protect : bool
        Whether to withhold rows with a p-value below the detector's `false_alarms` from learning. They are learned
        after all when the law has changed, or if more than a fifth of the rows would be left out.
    fdr : float
        The maximum expected share of ordinary rows among the odd ones of a period. In a long stream, at most this many
        ordinary rows per period, and this share of the odd ones, are expected to be called odd.
    fdr_period : int
        The number of rows of a period.
    alpha : float
        The probability that a stream in which nothing changes ever causes an alarm "law"; likewise "circumstances".
    time : str, optional
        A column with the time of each row; by default the first contextual column of timestamps, if there is one.
    random_state : int
        The seed of the random numbers.

    Attributes
    ----------
    n_rows_ : int
        The number of rows so far.
    alarms_ : list of Alarm
        The last 1,000 alarms about rows and the last 1,000 about changes, in the order in which they were raised.
    detector_ : ConditionalSurprise
        The detector that judges rows now.
    n_adaptations_, n_new_beginnings_ : int
        How often trees were replaced, and how often everything was refitted after a change.

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

    @property
    def unwatched_(self) -> list[str]:
        """Columns that are not tested for changes: successive rows are too much alike, or come again in cycles."""
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
        """Learns from a row: `update_one` without the verdict.

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
        """Learns from rows: `update_many` without the verdicts.

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
        # Absent columns are learned as missing values; required ones were checked above.
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
        return self._update_table(Table(rows))

    @property
    def limits_(self) -> dict[str, float]:
        """The evidence at which an alarm is raised, as a decimal logarithm: for "law" and for "circumstances"."""
        if self._reference is None:
            return {}
        tests = {"law": self._reference.law, "circumstances": self._reference.circumstances}
        return {kind: float(np.log10(each.limit)) for kind, each in tests.items()}

    def plot(self, ax: Any = None) -> StreamTimelineDisplay:
        """Draws the timeline: the strangest rows, and the evidence of changes, with all alarms.

        Parameters
        ----------
        ax : matplotlib axes, or three of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        StreamTimelineDisplay
            The picture, with `figure_` and `axes_`.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor
        >>> Monitor(ConditionalSurprise(["x"], ["y"])).plot()
        Traceback (most recent call last):
        ...
        ValueError: there is nothing to draw: the monitor has not judged any row yet
        """
        from paribus.pictures.matplotlib import StreamTimelineDisplay

        return StreamTimelineDisplay.from_monitor(self, ax)

    def to_svg(self) -> str:
        """Draws the same timeline as SVG, without matplotlib.

        Returns
        -------
        str
            The drawing; each alarm has its sentence as a title.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> monitor = Monitor(detector)
        >>> verdicts = monitor.update_many({name: column[:100] for name, column in weather.table.items()})
        >>> monitor.to_svg()[:4]
        '<svg'
        """
        return str(stream_timeline(self))

    def save(self, path: AnyPath, *, extra: Mapping[str, Any] | None = None) -> None:
        """Writes the state of the monitor to a file, for `load`. An existing file is replaced atomically.

        Parameters
        ----------
        path : path
            Where to write it.
        extra : dict, optional
            Plain values to store with it, such as the position in a source.

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
            raise ValueError(f"there is nothing to save before the first {self.start_rows:,} rows")
        tests, arrays = self._reference.state()
        null = self._null
        fields = {
            "parameters": {name: getattr(self, name) for name in PARAMETERS},
            "n_rows": self.n_rows_,
            "n_adaptations": self.n_adaptations_,
            "n_new_beginnings": self.n_new_beginnings_,
            "odd": [self._odd.n_rows, self._odd.n_odd],
            "alarms": [alarm.to_dict() for alarm in self._log.alarms],
            "changed": [alarm.to_dict() for alarm in self._changed],
            "null": None if null is None else null.state(),
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
        """Reads a monitor that `save` wrote; it continues as if it had never stopped.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Monitor
            The monitor; `extra_` has the values that were stored with it.

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
        with damage_explained(path):
            counts = [Fields(fields).whole(name, 0, 2**53) for name in ("n_rows", "n_new_beginnings", "n_adaptations")]
            monitor = cls._resume(found, *counts[:2])
            monitor.n_adaptations_ = counts[2]
            monitor._odd.n_rows, monitor._odd.n_odd = fields["odd"]
            monitor._log.add(Alarm(**each) for each in fields["alarms"])
            monitor._changed = [Alarm(**each) for each in fields["changed"]]
            if fields["null"] is not None:
                monitor._null = RecentNull.of(fields["null"])
            monitor.history_ = History.of(fields["history"])
            recent = monitor._recent
            recent.columns, recent.numbers, recent.times, recent.withheld = fields["recent"]
            monitor._scores.extend(found.arrays["scores"].tolist())
            monitor._numbers = found.arrays["numbers"].astype(np.int64)
            monitor.extra_ = fields["extra"]
        return monitor

    def explain(self, row: Any, *, n_features: int = 3) -> Explanation:
        """Explains the score of a row with the current detector.

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
            raise ValueError(f"there is nothing to compare with before the first {self.start_rows:,} rows")
        return self.detector_.explain(dict(row) if isinstance(row, Mapping) else row, n_features=n_features)
