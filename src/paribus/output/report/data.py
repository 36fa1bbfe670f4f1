"""The data of the page: every flagged row and all of its columns, compressed, for the script that lists them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._common.text import one_in, plain
from paribus.explain.finding import Finding
from paribus.explain.group import AnomalyGroup
from paribus.output.report.names import RowNames
from paribus.output.results import Results
from paribus.tables.column import is_missing
from paribus.tables.column_format import ColumnFormat
from paribus.tables.table import Table

KIND_WORDS = {"whole": "the row as a whole", "combination": "values that do not go together", "value": "one value"}
"""Kinds of verdicts in words."""
ROW_FIELDS = (
    "position", "name", "known_name", "rank", "score", "rarity", "kind", "group", "leading", "sentence", "values",
    "cells", "p_value",
)  # fmt: skip
"""The fields of each row in the data, in this order."""


@dataclass(frozen=True)
class DataLimits:
    """The limits of what the data contain about one row."""

    columns: int
    """Columns of the table."""
    cell: int
    """Characters of a value."""
    sentence: int
    """Characters of a sentence."""


# From the most detailed to what always fits: the first one that keeps the page small enough is used.
DATA_STEPS = (DataLimits(500, 60, 3000), DataLimits(60, 24, 1000), DataLimits(20, 12, 600), DataLimits(0, 0, 300))


def pack_data(
    results: Results, findings: Mapping[int, Finding], names: RowNames, threshold: float, limits: DataLimits
) -> str:
    """The data as compressed JSON in base64."""
    view, table = results.view, results.rows.table
    rows = np.array(sorted(findings, key=lambda row: -findings[row].score), dtype=np.int64)
    places = {name: place for place, name in enumerate(view.behavior_names)}
    columns = list(range(table.n_columns))[: limits.columns]
    shown = _texts(table, rows, columns, limits.cell)
    kinds = list(KIND_WORDS)
    content = {
        "behavior": [plain(name) for name in view.behavior_names],
        "columns": [plain(table.name(p)) for p in columns],
        "hidden": table.n_columns - len(columns),
        "threshold": threshold,
        "full": view.full_partial_score,
        "rows": [
            _row(results, findings[int(row)], places, kinds, names, [texts[i] for texts in shown], limits)
            for i, row in enumerate(rows)
        ],
        "whole": _whole(results, columns),
    }
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # Without a timestamp, so that the same rows give the same page.
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _whole(results: Results, columns: Sequence[int]) -> dict[str, Any]:
    """What the explorer needs besides the rows to open the report: names as they are, and groups."""
    rows, view = results.rows, results.view
    n_scored = int((~np.isnan(rows.scores)).sum()) if rows.whole is None else rows.whole.n_scored
    return {
        "columns": [rows.table.name(p) for p in columns],
        "context": [column.name for column in view.context],
        "behavior": list(view.behavior_names),
        "n_rows": results.n_rows if rows.whole is None else rows.whole.n_rows,
        "n_scored": n_scored,
        "expected": results.expected_false_alarms,
        "groups": [group_texts(group) for group in results.groups],
    }


def group_texts(group: AnomalyGroup) -> dict[str, Any]:
    """The texts about a group on the page."""
    return {
        "number": group.number,
        "size": group.size,
        "rule": group.rule,
        "column": group.column,
        "fit": group.fit_text,
        "chance": group.chance_text,
        "when": group.when_text,
        "also": list(group.also),
        "known_rule": group.known_rule,
    }


def _row(
    results: Results,
    finding: Finding,
    places: Mapping[str, int],
    kinds: Sequence[str],
    names: RowNames,
    columns: Sequence[str],
    limits: DataLimits,
) -> list[Any]:
    row = finding.position
    group = results.group_of[row]
    values: list[Any] = [None] * len(places)
    for value in finding.values:
        part = None if np.isnan(value.partial_score) else float(f"{value.partial_score:.3g}")
        values[places[value.name]] = [value.text, value.range_text, value.direction, part, int(value.is_off)]
    return [
        row,
        plain(names(row)),
        results.name(row),
        int(results.rank[row]),
        float(f"{finding.score:.4g}"),
        one_in(finding.p_value),
        -1 if finding.kind is None else kinds.index(finding.kind),
        0 if np.isnan(group) else int(group),
        places[finding.leading.name],
        plain(finding.sentence, limits.sentence),
        values,
        columns,
        float(f"{finding.p_value:.3g}"),
    ]


def _texts(table: Table, rows: Any, columns: Sequence[int], longest: int) -> list[list[str]]:
    """[column][row]: values as text."""
    taken = Table(table.take(rows))
    texts = []
    for position in columns:
        kind = table.kind(position)
        if kind.is_number:
            numbers = table.numbers(position) if table.has_values(position) else np.full(table.n_rows, np.nan)
            write = ColumnFormat.fit(table, position, numbers)
            texts.append([write(value) for value in numbers[rows]])
        else:
            cells = taken.cells(position)
            texts.append(["missing" if is_missing(cell) else plain(cell, longest) for cell in cells])
    return texts
