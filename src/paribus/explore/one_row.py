"""One row: why it is unusual, in pictures, words and tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._common.arrays import Positions
from paribus._common.text import ended, one_in, plain, score_text
from paribus.explain.categories import CategoryFeature
from paribus.explain.explanation import RowExplanation
from paribus.explain.group import number_text, quoted
from paribus.explore.analysis import Analysis
from paribus.explore.result import Taught
from paribus.pictures.svg.beanplot import beanplot
from paribus.pictures.svg.context_profile import context_profile
from paribus.tables.column import is_missing

N_BEANS, N_PROFILES, N_COMPARABLE = 6, 12, 12
# The number of neighbors in time on each side.
N_AROUND = 15
# With fewer rows than this of the same categories, all rows are neighbors.
MIN_AROUND = 8


def one_row(taught: Taught, analysis: Analysis, row: int) -> dict[str, Any]:
    """Everything that the page shows about a row."""
    explanation = analysis.detector.explain(row, n_features=3)
    leading = explanation.leading
    view = analysis.results.view
    return {
        "row": row,
        "name": analysis.results.name(row)[:80],
        "score": explanation.score,
        "taught": float(taught.teaching.scores[row]),
        "rank": explanation.rank,
        "rarity": one_in(explanation.p_value),
        "kind": explanation.kind or "",
        "group": int(analysis.group_of[row]),
        "status": taught.marks.status[row] or "",
        "note": taught.marks.note[row] or "",
        "sentence": explanation.sentence,
        "warnings": [ended(each[0].upper() + each[1:]) for each in explanation.warnings],
        "rule": proposed_rule(analysis, explanation, row),
        "behavior": [
            {
                "name": feature.name,
                "value": feature.value_text,
                "usual": feature.range_text,
                "direction": feature.direction,
                "rarity": feature.rarity or "",
                "partial": feature.partial_score,
                "share": min(1.0, max(0.0, float(np.nan_to_num(feature.partial_score)) / view.full_partial_score)),
                "is_off": feature.is_off,
                "picture": str(beanplot(feature)) if feature.has_reference and place < N_BEANS else "",
            }
            for place, feature in enumerate(explanation.behavior)
        ],
        "context": [
            {
                "name": feature.name,
                "value": feature.text,
                "group": feature.group_text,
                "picture": str(context_profile(feature, explanation.reference_values(feature), leading.weights))
                if place < N_PROFILES
                else "",
            }
            for place, feature in enumerate(explanation.context)
        ],
        "comparable": _comparable(analysis, explanation, row),
        "around": _around(analysis, row, [feature.name for feature in explanation.behavior]),
        "cells": [
            {"name": name, "value": analysis.columns.text(name, row, 200), "role": analysis.roles.get(name, "none")}
            for name in analysis.columns.names
        ],
        "inputs": [_input(analysis, name, row) for name in analysis.shown_names],
    }


def _input(analysis: Analysis, name: str, row: int) -> dict[str, Any]:
    """A value of a row to change."""
    values = analysis.columns.columns[name]
    cell = values[row]
    found: dict[str, Any] = {"name": name, "value": "" if is_missing(cell) else plain(cell, 200)}
    found["role"] = "context" if name in analysis.context_names else "behavior"
    if values.dtype.kind == "f":
        found |= {"type": "number", "value": "" if is_missing(cell) else number_text(float(cell))}
    elif values.dtype.kind == "M":
        found["type"] = "time"
    else:
        found["type"] = "category"
        categories = analysis.detector.categories_.get(name, [])
        found["choices"] = [str(each) for each in categories[:200] if each is not None]
    return found


def _comparable(analysis: Analysis, explanation: RowExplanation, row: int) -> dict[str, Any]:
    """The rows with the highest weights, and the row itself above them."""
    weights = explanation.leading.weights
    order = np.argsort(-weights, kind="stable")[:N_COMPARABLE]
    names = analysis.shown_names
    rows = []
    for place in order.tolist():
        position = int(explanation.reference_positions[place])
        rows.append(
            {
                "row": position,
                "name": analysis.results.name(position)[:60],
                "cells": [analysis.columns.text(name, position, 40) for name in names],
                "weight": float(weights[place]),
            }
        )
    own = [analysis.columns.text(name, row, 40) for name in names]
    return {"columns": names, "own": own, "rows": rows, "n": int((weights > 0).sum()), "group": explanation.group}


def _around(analysis: Analysis, row: int, behavior: list[str]) -> dict[str, Any] | None:
    """The rows before and after, if the table has a time."""
    if analysis.time_order is None:
        return None
    name, order = analysis.time_order
    order, same = _same_series(analysis, row, order)
    place = int(np.flatnonzero(order == row)[0]) if (order == row).any() else -1
    if place < 0:
        return None
    rows = order[max(0, place - N_AROUND) : place + N_AROUND + 1].tolist()
    moments = analysis.columns.numbers(name)
    assert moments is not None
    series = []
    for each in behavior[:3]:
        numbers = analysis.columns.numbers(each) if each in analysis.columns.columns else None
        if numbers is not None:
            texts = [analysis.columns.text(each, other) for other in rows]
            series.append({"name": each, "values": numbers[rows].tolist(), "texts": texts})
    return {
        "column": name,
        "same": same,
        "rows": rows,
        "moments": moments[rows].tolist(),
        "texts": [analysis.columns.text(name, other) for other in rows],
        "scores": [score_text(float(score)) for score in analysis.scores[rows]],
        "series": series,
    }


def _same_series(analysis: Analysis, row: int, order: Positions) -> tuple[Positions, list[str]]:
    """The rows with the same categories of context, and the names of these columns: those of one station, one shop.

    All rows, if hardly any are left.
    """
    names = [name for name in analysis.context_names if analysis.columns.numbers(name) is None]
    keep = np.ones(len(order), dtype=bool)
    for name in names:
        values = analysis.columns.columns[name]
        keep &= np.asarray(values[order] == values[row], dtype=bool)
    return (order[keep], names) if int(keep.sum()) >= MIN_AROUND else (order, [])


def proposed_rule(analysis: Analysis, explanation: RowExplanation, row: int) -> str:
    """A rule about rows like this one: the behavior that is off, in the region of context of comparable rows."""
    leading = explanation.leading
    side = "above usual" if leading.direction.endswith("above") else "unusual"
    side = "below usual" if leading.direction.endswith("below") else side
    if isinstance(leading, CategoryFeature) and leading.is_flag:
        side = leading.value_text
    view = analysis.results.view
    conditions = [f"{quoted(view.behavior_sources[view.behavior_place(leading.name)])} is {side}"]
    for feature in explanation.context:
        if not feature.sets_apart or len(conditions) == 3:
            continue
        cell = analysis.columns.columns[feature.name][row]
        if feature.lowest is not None and feature.highest is not None:
            numbers = analysis.columns.numbers(feature.name)
            if numbers is None or analysis.columns.columns[feature.name].dtype.kind != "f" or np.isnan(numbers[row]):
                continue
            low, high = min(feature.lowest, float(numbers[row])), max(feature.highest, float(numbers[row]))
            conditions.append(f"{quoted(feature.name)} between {number_text(low)} and {number_text(high)}")
        elif not is_missing(cell):
            is_number = isinstance(cell, float) and float(cell).is_integer()
            conditions.append(f"{quoted(feature.name)} = {quoted(str(int(cell)) if is_number else str(cell))}")
    return " and ".join(conditions)
