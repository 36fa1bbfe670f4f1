"""What-if analysis: the verdict on a row after values were changed, or a circumstance was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paribus._common.statistics import evenly
from paribus._common.text import one_in
from paribus.explore.analysis import Analysis
from paribus.tables.column import is_missing

# A circumstance that is left out is averaged over this many rows, spread evenly over the table.
N_DRAWS = 24


def what_if(analysis: Analysis, row: int, values: Mapping[str, str], left_out: Sequence[str]) -> dict[str, Any]:
    """The score, and the usual range of each behavioral column.

    A circumstance that is left out is averaged over: the row is judged with the values of 24 rows, spread evenly over
    the table, and probabilities are their means.
    """
    names, context = analysis.shown_names, analysis.context_names
    if unknown := [name for name in (*values, *left_out) if name not in names]:
        raise ValueError(f"the verdict does not depend on '{unknown[0]}'")
    if wrong := [name for name in left_out if name not in context]:
        raise ValueError(f"'{wrong[0]}' is behavior: only circumstances can be left out")
    drawn = evenly(np.arange(analysis.results.n_rows), N_DRAWS) if left_out else np.zeros(1, dtype=np.int64)
    n = len(drawn)
    rows = {}
    for name in names:
        column = analysis.columns.columns[name]
        if name in left_out:
            rows[name] = column[drawn]
            continue
        cell = read_value(name, values[name], column) if name in values else column[row]
        rows[name] = np.full(n, cell, dtype=column.dtype)
    return _verdict(analysis, rows)


def _verdict(analysis: Analysis, rows: dict[str, Any]) -> dict[str, Any]:
    detector, view = analysis.detector, analysis.results.view
    found = detector.results(rows)
    scores = found.rows.scores
    if np.isnan(scores).all():
        raise ValueError("no behavioral value is left to judge")
    p_value = float(np.nanmean(found.rows.p_values))
    percentiles = detector.percentiles(rows)
    partial = np.nan_to_num(found.rows.partial).mean(axis=0)
    kinds = found.rows.kinds
    behavior = []
    for place, name in enumerate(view.behavior_names):
        write, codes = view.behavior_formats[place], view.behavior_codes[place]
        usual = ""
        if codes is None:
            low, high = np.percentile(percentiles[:, place], [5, 95])
            usual = f"{write(low)} to {write(high)}" if low < high else write(low)
        value = found.rows.behavior[0, place]
        behavior.append({"name": name, "value": write(value), "usual": usual, "partial": float(partial[place])})
    score = float(np.nanmean(scores)) if len(scores) == 1 else float(-np.log10(max(p_value, 1e-300)))
    return {
        "score": score,
        "rarity": one_in(p_value),
        "is_flagged": score > analysis.threshold,
        "kind": "" if kinds is None else str(kinds[0]),
        "behavior": behavior,
    }


def read_value(name: str, text: str, column: Any) -> Any:
    """A value that was typed, in the type of its column; an empty one is missing.

    >>> read_value("rain", "2.5", np.zeros(1)), read_value("zone", "coast", np.array(["a"], dtype=object))
    (2.5, 'coast')
    """
    words = text.strip()
    if column.dtype.kind == "M":
        try:
            return np.datetime64(words or "NaT").astype(column.dtype)
        except ValueError:
            raise ValueError(f"{name} is '{words}': it must be a date such as 2026-01-31 or 2026-01-31 12:30") from None
    if column.dtype.kind != "O":
        try:
            value = float(words) if words else float("nan")
        except ValueError:
            raise ValueError(f"{name} is '{words}': it must be a number") from None
        if np.isinf(value):
            raise ValueError(f"{name} must be finite")
        return value
    if not words:
        return None
    example = next((cell for cell in column.tolist() if not is_missing(cell)), "")
    if isinstance(example, bool):
        if words.lower() not in ("true", "false"):
            raise ValueError(f"{name} is '{words}': it must be true or false")
        return words.lower() == "true"
    return words
