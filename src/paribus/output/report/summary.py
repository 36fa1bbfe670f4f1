"""The whole table on the page: the lead, the overview, and the columns and parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.statistics import weighted_quantiles
from paribus._common.text import counted, expected_text, listed, none_above, plain
from paribus.output.results import MAX_FINDINGS, Results
from paribus.tables.column import Kind
from paribus.tables.row_store import ColumnSummary

if TYPE_CHECKING:
    from paribus.explain.context import ContextColumn
    from paribus.explain.view import FittedView

# Names in a sentence.
MAX_NAMED = 5
# Features in a table.
MAX_LISTED = 60
# Characters.
MAX_NAME_LENGTH = 40
# Parameters that the page shows elsewhere or that do not affect the results.
NOT_SHOWN = ("contextual", "behavioral", "categorical", "n_jobs", "progress")


@dataclass(frozen=True)
class ColumnLine:
    """One column of the table and its values."""

    name: str
    kind: str
    values: str
    missing: str
    leads: int | None
    """The number of listed rows in which it is the leading feature; None for a contextual feature."""


@dataclass(frozen=True)
class Summary:
    """Everything on the page except for the explained rows."""

    n_rows: int
    n_fitted: int
    """The number of rows that they are compared with."""
    is_new: bool
    """Whether the rows are new, rather than the fitted ones."""
    is_sampled: bool
    """Whether the fitted rows are a sample of the rows."""
    n_scored: int
    n_known: int
    """The number of flagged rows that are known and not listed."""
    expected: str
    """The number of rows that chance alone would flag."""
    compared_with: str
    """What a row is compared with."""
    full_score: str
    """What scores mean and how they are made up, in words."""
    n_neighbors: int | None
    """The number of rows that each row is compared with; None if the method has no fixed number."""
    n_flagged: int
    flagged_share: str
    threshold: float
    lowest: float
    """The lowest score."""
    highest: float
    """The highest score."""
    median: float
    """The median of the scores."""
    is_automatic: bool
    """Whether the threshold is derived from the scores rather than from a given share of rows."""
    seconds: str
    context_words: str
    behavior_words: str
    context: tuple[ColumnLine, ...]
    behavior: tuple[ColumnLine, ...]
    n_more_context: int
    """The number of contextual features that are left out."""
    n_more_behavior: int
    """The number of behavioral features that are left out."""
    n_missing: int
    """The number of missing values in columns with a role."""
    parameters: tuple[tuple[str, str], ...]
    """The names and values of the method's parameters."""
    leading: tuple[tuple[int, str, int], ...]
    """The position, name and number of listed rows of each behavioral feature that leads in any."""
    left_out: tuple[str, ...]
    """What is left out of the results, and why."""

    @property
    def n_unscored(self) -> int:
        """The number of rows without a score."""
        return self.n_rows - self.n_scored

    @property
    def all_equal(self) -> bool:
        """Whether all scores are equal."""
        return self.lowest == self.highest

    @property
    def none_above(self) -> str:
        """Why no row is flagged."""
        advice = "--contamination 0.01, in Python contamination=0.01," if self.is_automatic else ""
        return none_above(self.threshold, self.lowest, self.highest, advice)


def summarize(results: Results, parameters: Mapping[str, Any], leading: Sequence[int]) -> Summary:
    """Summarizes the rows and what they are compared with. `leading` are the leading features of the listed rows."""
    view = results.view
    scores = results.rows.scores[~np.isnan(results.rows.scores)]
    n_scored, n_flagged, whole = results.n_scored, results.n_flagged, results.rows.whole
    leads = Counter(leading)
    names = [plain(name, MAX_NAME_LENGTH) for name in view.behavior_names]
    if whole is None or whole.n_missing is None:
        n_missing = int(np.isnan(results.rows.context).sum() + np.isnan(results.rows.behavior).sum())
    else:
        n_missing = whole.n_missing
    n_neighbors = view.n_reference if "n_neighbors" in parameters else None
    known = {} if n_neighbors is None else {"n_neighbors": n_neighbors}
    return Summary(
        n_rows=results.n_total,
        n_fitted=view.store.n_rows,
        is_new=not results.rows.is_fitted,
        is_sampled=whole is not None and whole.is_sampled,
        n_scored=n_scored,
        n_known=results.n_known,
        expected=expected_text(results.expected_false_alarms),
        compared_with=view.compared_with("row"),
        full_score=view.full_score,
        n_neighbors=n_neighbors,
        n_flagged=n_flagged,
        flagged_share=_share(n_flagged, n_scored),
        threshold=view.threshold,
        lowest=float(scores.min()) if whole is None or whole.lowest is None else whole.lowest,
        highest=float(scores.max()),
        median=_median(results),
        is_automatic=parameters["contamination"] == "auto" and results.rows.is_fitted,
        seconds=_duration(view.seconds),
        # Columns without values are not compared, and there may be no others.
        context_words=_words([c.name for c in view.context if c.summary.has_values] or ["nothing"]),
        behavior_words=_words(view.behavior_names),
        context=tuple(_context_line(column) for column in view.context[:MAX_LISTED]),
        behavior=tuple(_behavior_line(view, place, leads[place]) for place in range(min(len(names), MAX_LISTED))),
        n_more_context=max(0, len(view.context) - MAX_LISTED),
        n_more_behavior=max(0, len(names) - MAX_LISTED),
        n_missing=n_missing,
        parameters=tuple(
            (name, plain(value, MAX_NAME_LENGTH))
            for name, value in sorted({**parameters, **known}.items())
            if name not in NOT_SHOWN
        ),
        leading=tuple((place, names[place], count) for place, count in sorted(leads.items())),
        left_out=tuple(_left_out(results)),
    )


def _median(results: Results) -> float:
    """The median of the scores, estimated from a sample if only some rows are here."""
    scores, whole = results.rows.scores, results.rows.whole
    is_scored = ~np.isnan(scores)
    if whole is None:
        return float(np.median(scores[is_scored]))
    return weighted_quantiles(scores[is_scored], whole.weights[is_scored], (0.5,))[0]


def _left_out(results: Results) -> list[str]:
    """What is left out of the results, and why."""
    view, table = results.view, results.rows.table
    roles = {*view.behavior_names, *(column.name for column in view.context)}
    others = [table.name(p) for p in range(table.n_columns) if table.name(p) not in roles]
    notes = []
    if others:
        notes.append(f"Columns without a role: {_words(others)}.")
    empty = [column.name for column in view.context if not column.summary.has_values]
    if empty:
        notes.append(f"Contextual columns without any value: {_words(empty)}.")
    constant = [
        name
        for name, summary in zip(view.behavior_names, view.behavior_summaries, strict=True)
        if summary.has_values and summary.lowest == summary.highest
    ]
    if constant:
        notes.append(
            f"Behavioral columns that are always the same, so that nothing in them is unusual: {_words(constant)}."
        )
    if n_unscored := results.n_total - results.n_scored:
        notes.append(f"{counted(n_unscored, 'row')} without a score, because no behavioral value could be judged.")
    if n_excluded := view.origin.n_excluded:
        anomalies = "confirmed anomaly" if n_excluded == 1 else "confirmed anomalies"
        notes.append(f"{n_excluded:,} {anomalies}, excluded from the fit.")
    if n_known := results.n_known:
        verb = "is" if n_known == 1 else "are"
        notes.append(f"{counted(n_known, 'flagged row')} that {verb} known, and not listed again.")
    if (n_more := results.n_above - MAX_FINDINGS) > 0:
        notes.append(f"{counted(n_more, 'flagged row')} beyond the {MAX_FINDINGS:,} with the highest scores.")
    return notes


def _context_line(column: ContextColumn) -> ColumnLine:
    summary = column.summary
    missing = _missing(summary.n_missing, summary.n_rows)
    if not summary.has_values:
        return ColumnLine(plain(column.name, MAX_NAME_LENGTH), "number", "-", missing, None)
    if column.codes is None:
        kind = "date" if column.format.kind is Kind.TIME else "number"
        low, high = (column.format(value) for value in (summary.lowest, summary.highest))
        values = f"{low} to {high}" if low != high else f"always {low}"
    else:
        kind = "category"
        values = _most_common(summary, lambda code: column.format(column.decode_one(code)))
    return ColumnLine(plain(column.name, MAX_NAME_LENGTH), kind, values, missing, None)


def _most_common(summary: ColumnSummary, write: Callable[[float], str]) -> str:
    """The most common categories, and how many others there are."""
    codes, counts = np.unique(summary.order_statistics, return_counts=True)
    ranked = codes[np.argsort(-counts, kind="stable")]
    words = [plain(write(code), MAX_NAME_LENGTH // 2) for code in ranked[:3]]
    more = len(ranked) - len(words)
    return listed([*words, f"{more:,} other{'s' if more > 1 else ''}"] if more else words, "and")


def _behavior_line(view: FittedView, place: int, leads: int) -> ColumnLine:
    summary, write = view.behavior_summaries[place], view.behavior_formats[place]
    if view.behavior_codes[place] is not None:
        values, kind = _most_common(summary, write), "category"
        missing = _missing(summary.n_missing, summary.n_rows)
        return ColumnLine(plain(view.behavior_names[place], MAX_NAME_LENGTH), kind, values, missing, leads)
    low, middle, high = (write(value) for value in (summary.lowest, summary.median, summary.highest))
    values = f"{low} to {high}, median {middle}" if low != high else f"always {low}"
    missing = _missing(summary.n_missing, summary.n_rows)
    return ColumnLine(plain(view.behavior_names[place], MAX_NAME_LENGTH), "number", values, missing, leads)


def _missing(n_missing: int, n_rows: int) -> str:
    return f"{n_missing:,} ({_share(n_missing, n_rows)})" if n_missing else "none"


def _share(part: int, whole: int) -> str:
    """A percentage that is never rounded to 0 or 100.

    >>> _share(0, 7), _share(1, 200_000), _share(13, 500)
    ('0 %', '<0.1 %', '2.6 %')
    """
    percent = 100 * part / max(1, whole)
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def _duration(seconds: float) -> str:
    """A duration in words.

    >>> _duration(0.043), _duration(75), _duration(7300)
    ('0.04 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return (
        f"{int(seconds) // 60} min {int(seconds) % 60} s" if seconds < 3600 else f"{minutes // 60} h {minutes % 60} min"
    )


def _words(names: list[str]) -> str:
    shown = [plain(name, MAX_NAME_LENGTH) for name in names[: MAX_NAMED if len(names) > MAX_NAMED + 1 else None]]
    more = len(names) - len(shown)
    return listed([*shown, f"{more} others"] if more else shown, "and")
