"""Delivers results: into files, as a report, as pictures, on standard output, and as an exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.arrays import Positions
from paribus._common.text import counted, listed, plain
from paribus.cli.delivery_options import MIN_REPORTED_ROWS, Delivery
from paribus.cli.messages import note
from paribus.cli.outputs import check_outputs, check_report, output_folder
from paribus.cli.pictures import check_formats, require_matplotlib, save_pictures
from paribus.cli.printing import print_anomalies, print_groups, print_json
from paribus.cli.summary import Summary
from paribus.explain.group import plain_label
from paribus.explain.known import KnownEntry, read_known
from paribus.io.reading import ReadTable
from paribus.io.writing import check_format, write_columns
from paribus.io.writing.options import WriteOptions

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector
    from paribus.explain.explanation import RowExplanation
    from paribus.explain.group import AnomalyGroup
    from paribus.output.results import Results

# The exit code if more rows are flagged than --max-flagged or --fail-if-flagged allows.
FLAGGED = 3
# The fields of a group in short JSON.
SHORT_GROUP = ("group", "size", "rule", "example", "first", "last", "fit", "p_value", "known_rule")


@contextmanager
def prepared(wanted: Delivery, inputs: list[str]) -> Iterator[tuple[KnownEntry, ...]]:
    """Validates where results go before the work starts. Yields the known rows."""
    entries = () if wanted.known is None else read_known(wanted.known)
    inputs = inputs if wanted.known is None else [*inputs, str(wanted.known)]
    check_outputs(inputs, {"--out": wanted.out, "--report": wanted.report})
    if wanted.out is not None:
        check_format(wanted.out, (), WriteOptions(table=wanted.out_table))
    if wanted.report is not None:
        check_report(wanted.report)
    if wanted.formats and wanted.plots is None:
        raise ValueError("--format needs --plots FOLDER, which is where pictures are saved")
    check_formats(wanted.formats or [])
    with ExitStack() as stack:
        if wanted.plots is not None:
            require_matplotlib()
            stack.enter_context(output_folder(wanted.plots))
        yield entries


def columns_of(entries: tuple[KnownEntry, ...]) -> set[str]:
    """The columns that rules are about."""
    return {condition.column for entry in entries if entry.rule is not None for condition in entry.rule.conditions}


def deliver(
    detector: ContextualDetector,
    results: Results,
    table: ReadTable,
    wanted: Delivery,
    id_column: str | None,
    write: Callable[[], None] | None = None,
) -> int:
    """Delivers the results. Returns the exit code. `write` writes those of a table that is not in memory."""
    if wanted.out is not None:
        if write is not None:
            write()
        else:
            columns = results.columns(wanted.columns.value, only_flagged=wanted.only_flagged)
            write_columns(wanted.out, columns, WriteOptions(table.types, wanted.out_table))
        which = "flagged rows" if wanted.only_flagged else "all rows"
        note(f"the results for {which} are in {wanted.out}")
    if wanted.report is not None:
        from paribus.output.report.names import RowNames

        names = RowNames(results.rows.table, id_column, results.rows.labels)
        highest = results.highest(max(wanted.top, MIN_REPORTED_ROWS))
        detector.write_report(wanted.report, list(results.explain(highest)), results=results, names=names)
        note(f"the report is in {wanted.report}")
    positions = results.highest(wanted.top) if wanted.as_json else _stories(results, wanted.top)
    explanations = list(results.explain(positions)) if len(positions) else []
    if wanted.plots is not None:
        written = [
            path
            for row, explanation in zip(positions, explanations, strict=True)
            for path in save_pictures(
                explanation, wanted.plots, results.name(int(row)), check_formats(wanted.formats or ["svg", "png"])
            )
        ]
        note(f"{counted(len(written), 'picture')} in {wanted.plots}")
    if results.n_known:
        note(f"{counted(results.n_known, 'flagged row')} known and not listed: {_known_words(results)}")
    shown = list(zip(positions.tolist(), explanations, strict=True))
    if wanted.as_json:
        print_json(_as_json(detector, results, table, wanted, shown))
    else:
        _print(results, shown)
    return _exit_code(wanted, results.n_flagged, results.n_scored)


def deliver_summary(
    detector: ContextualDetector,
    source: str,
    summary: Summary,
    explanations: Sequence[RowExplanation],
    wanted: Delivery,
) -> int:
    """Delivers the results for a table on a cluster: its highest scores. Returns the exit code."""
    if wanted.out is not None:
        note(f"the scores of {'flagged' if wanted.only_flagged else 'all'} rows are in {wanted.out}")
    rows = list(zip(summary.labels, summary.positions, summary.ranks, summary.scores, explanations, strict=True))
    if wanted.as_json:
        found = _summary_of(source, summary.n_rows, summary.n_scored, summary.n_flagged, summary.threshold)
        found |= {"expected_false_alarms": summary.expected} | (_about(detector) if wanted.full else {})
        found["top"] = [
            (each.to_dict() if wanted.full else each.to_short_dict())
            | {"row": plain_label(label), "position": int(position), "rank_in_file": int(rank)}
            for label, position, rank, _, each in rows
        ]
        print_json(found)
    else:
        shown = [(plain(label), int(rank), float(score), "", each) for label, _, rank, score, each in rows]
        print_anomalies(summary.heading, shown)
    return _exit_code(wanted, summary.n_flagged, summary.n_scored)


def _exit_code(wanted: Delivery, n_flagged: int, n_scored: int) -> int:
    if wanted.allows(n_flagged, n_scored):
        return 0
    note(f"{counted(n_flagged, 'row')} of {n_scored:,} flagged, which is more than allowed: exit code {FLAGGED}")
    return FLAGGED


def _stories(results: Results, n: int) -> Positions:
    """The highest scores, and of each group the highest one, which stands for all."""
    chosen: list[int] = []
    seen: set[float] = set()
    for row in results.highest(results.n_rows).tolist():
        number = float(results.group_of[row])
        if number in seen:
            continue
        if not np.isnan(number):
            seen.add(number)
        chosen.append(row)
        if len(chosen) == n:
            break
    return np.array(chosen, dtype=np.int64)


def _known_words(results: Results) -> str:
    statuses = results.marks.status[results.is_above]
    return listed([f"{(statuses == each).sum():,} {each}" for each in sorted({s for s in statuses if s})], "and")


def _print(results: Results, shown: list[tuple[int, RowExplanation]]) -> None:
    groups = results.groups
    if groups:
        print_groups(groups)
    rows = []
    for row, explanation in shown:
        number = results.group_of[row]
        rows.append(
            (
                plain(results.label(row)),
                int(results.rank[row]),
                float(results.rows.scores[row]),
                "" if np.isnan(number) else str(int(number)),
                explanation,
            )
        )
    print_anomalies(results.rows.heading, rows, has_groups=bool(groups))


def _as_json(
    detector: ContextualDetector,
    results: Results,
    table: ReadTable,
    wanted: Delivery,
    shown: list[tuple[int, RowExplanation]],
) -> dict[str, Any]:
    counts = results.n_total, results.n_scored, results.n_flagged
    summary = _summary_of(table.name, *counts, results.view.threshold)
    summary |= {"known": results.n_known, "expected_false_alarms": results.expected_false_alarms}
    if wanted.full:
        summary |= _about(detector)
    summary["groups"] = [_group(results, group, full=wanted.full) for group in results.groups]
    summary["top"] = [_row(results, row, explanation, full=wanted.full) for row, explanation in shown]
    return summary


def _summary_of(source: str, n_rows: int, n_scored: int, n_flagged: int, threshold: float) -> dict[str, Any]:
    return {
        "paribus": version("paribus"),
        "source": source,
        "rows": n_rows,
        "scored": n_scored,
        "anomalies": n_flagged,
        "threshold": threshold,
    }


def _about(detector: ContextualDetector) -> dict[str, Any]:
    return {
        "n_neighbors": detector.n_neighbors_,
        "contextual": detector.contextual_features_,
        "behavioral": detector.behavioral_features_,
        "categorical": list(detector.categories_),
        "parameters": {
            name: value
            for name, value in detector.get_params(deep=False).items()
            if name not in ("contextual", "behavioral", "categorical", "progress")
        },
    }


def _group(results: Results, group: AnomalyGroup, *, full: bool) -> dict[str, Any]:
    found = group.to_dict() | {"positions": [results.position(row) for row in group.positions.tolist()]}
    return found if full else {name: found[name] for name in SHORT_GROUP}


def _row(results: Results, row: int, explanation: RowExplanation, *, full: bool) -> dict[str, Any]:
    number = results.group_of[row]
    place = {
        "row": plain_label(results.label(row)),
        "position": results.position(row),
        "rank_in_file": int(results.rank[row]),
        "group": None if np.isnan(number) else int(number),
    }
    return (explanation.to_dict() if full else explanation.to_short_dict()) | place
