"""Learns from answers about rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.validation import check_choice, check_whole_number
from paribus.detectors.estimator import require_fitted
from paribus.detectors.explaining import ExplainingDetector
from paribus.explain.known import CONFIRMED, FALSE_ALARM, KnownEntry, KnownLike, Marks
from paribus.methods.teaching import Answers, EvidenceShares, Lesson

HIGHEST, MOST_TELLING = WAYS = ("highest", "most telling")


@dataclass(frozen=True)
class Teaching:
    """What was learned from answers: the result of `teach`.

    Confirmed rows are of interest and false alarms are not; rows with a known cause are set aside, and nothing is
    learned from them.
    """

    lesson: Lesson = field(repr=False)
    is_open: npt.NDArray[np.bool_] = field(repr=False)
    """By fitted row: whether it has a score and nothing is known about it."""

    @property
    def scores(self) -> Floats:
        """By fitted row: its adjusted score; the score of the detector if nothing was learned about it."""
        return self.lesson.taught_scores

    @property
    def weights(self) -> dict[tuple[str, str], float]:
        """By behavioral column and condition: how the odds of being of interest change; 1 before answers."""
        return self.lesson.weights

    @property
    def kind_weights(self) -> dict[str, float]:
        """By kind of anomaly: how the odds of being of interest change; empty if there are no kinds."""
        return self.lesson.kind_weights

    def highest(self, n_rows: int = 10) -> Positions:
        """The open rows with the highest scores.

        Parameters
        ----------
        n_rows : int
            The maximum number of rows.

        Returns
        -------
        array
            Positions of fitted rows, in descending order of `scores`.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> first = detector.teach().highest(1)
        >>> bool(detector.anomaly_scores_[first[0]] == detector.anomaly_scores_.max())
        True
        """
        check_whole_number("n_rows", n_rows, 0)
        scores = np.where(self.is_open, self.scores, np.nan)
        return np.argsort(-scores, kind="stable")[: min(n_rows, int(self.is_open.sum()))]

    def next_row(self, how: str = MOST_TELLING) -> int | None:
        """The row to look at next.

        Parameters
        ----------
        how : {"most telling", "highest"}
            The row with the most informative answer, among the 500 open rows with the highest scores; or simply the
            highest.

        Returns
        -------
        int or None
            The position of a fitted row; None if no row is open.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> teaching = detector.teach()
        >>> bool(teaching.next_row("highest") == teaching.highest(1)[0])
        True
        """
        check_choice("how", how, WAYS)
        if how == MOST_TELLING:
            return self.lesson.most_telling(self.is_open)
        first = self.highest(1)
        return int(first[0]) if first.size else None


class TeachingDetector(ExplainingDetector):
    """Learns from answers which anomalies people are looking for."""

    def teach(self, known: KnownLike | None = None) -> Teaching:
        """Learns from answers which anomalies are of interest, and ranks the fitted rows by it.

        The scores of the detector stay as they are: what was learned is in the result. It takes milliseconds, so teach
        again after each answer.

        Parameters
        ----------
        known : path or list of dicts, optional
            The answers, as for `fit`: "confirmed" rows are of interest, "false alarm" rows are not, and rows with a
            "known cause" are set aside. By default those that were given to `fit`.

        Returns
        -------
        Teaching
            The new scores, the weights of columns, conditions and kinds, and the row to ask about next.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> row = int(detector.anomaly_scores_.argmax())
        >>> teaching = detector.teach([{"row": row, "status": "false alarm"}])
        >>> row in teaching.highest(2000)
        False
        >>> max(teaching.weights.values()) <= 1
        True
        """
        require_fitted(self)
        results = self.results(known=known)
        return self.lesson(results.marks, results.entries)

    def lesson(self, marks: Marks, entries: Sequence[KnownEntry]) -> Teaching:
        """The result of `teach`, for rows that are already marked.

        Parameters
        ----------
        marks : Marks
            What is known about each fitted row.
        entries : sequence of KnownEntry
            The entries that the rows were marked by.

        Returns
        -------
        Teaching

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> teaching = detector.lesson(detector.results().marks, ())
        >>> bool((teaching.scores == detector.anomaly_scores_).all())
        True
        """
        scores = self.anomaly_scores_
        if self._evidence is None:
            self._evidence = EvidenceShares.of(self._fitted.judged, self.behavioral_features_)
        answers = find_answers(marks, entries, scores, self.threshold_)
        return Teaching(Lesson.learn(scores, self._evidence, answers), ~marks.is_known & ~np.isnan(scores))


def find_answers(marks: Marks, entries: Sequence[KnownEntry], scores: Floats, threshold: float) -> Answers:
    """The answers in a list of known rows.

    An entry counts once, however many rows it is about. Of those that a rule is about, only the ones above the
    threshold count: the others were not flagged.
    """
    is_answer = np.array([entry.status in (CONFIRMED, FALSE_ALARM) for entry in entries], dtype=bool)
    is_rule = np.array([entry.rule is not None for entry in entries], dtype=bool)
    rows = np.flatnonzero(marks.is_known & ~np.isnan(scores))
    by = marks.entry[rows]
    chosen = is_answer[by] & (~is_rule[by] | (scores[rows] > threshold)) if rows.size else np.zeros(0, dtype=bool)
    rows, by = rows[chosen], by[chosen]
    counts = np.bincount(by, minlength=max(len(entries), 1))
    is_real = np.array([entry.status == CONFIRMED for entry in entries], dtype=bool)
    return Answers(rows, is_real[by] if rows.size else np.zeros(0, dtype=bool), 1.0 / np.maximum(counts[by], 1))
