"""Explanations as tables: in the shell, in a pipe, and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from paribus._common.palette import BLUE, VERMILION
from paribus._common.text import ended, score_text
from paribus.output.console import Grid

if TYPE_CHECKING:
    from rich.console import RenderableType

    from paribus.explain.context import ContextFeature
    from paribus.explain.explanation import RowExplanation
    from paribus.explain.facts import BehaviorFeature

BEHAVIOR_HEADINGS = ("behavior", "value", "score", "share", "median", "usual range", "verdict")
CONTEXT_HEADINGS = ("context", "value", "comparable rows", "share of all rows")
BAR_WIDTH, BAR_HEIGHT = 180, 14


def headline(explanation: RowExplanation) -> str:
    """The row, its score and its rank."""
    verdict = "anomaly" if explanation.is_anomaly else "not flagged"
    return (
        f"{explanation.title}: score {score_text(explanation.score)}, "
        f"rank {explanation.rank:,} of {explanation.n_ranked:,}, {verdict}"
    )


def as_rich(explanation: RowExplanation) -> RenderableType:
    """The explanation for a terminal: the sentence, and tables of behavior and context."""
    from rich.console import Group
    from rich.text import Text

    behavior = Grid(
        BEHAVIOR_HEADINGS,
        [_behavior_cells(feature) for feature in explanation.behavior],
        ["bold" if feature.stands_out else "" for feature in explanation.behavior],
        numbers=("value", "score", "share", "median"),
        wrapped=BEHAVIOR_HEADINGS[:1],
    )
    context = Grid(
        CONTEXT_HEADINGS,
        [_context_cells(feature) for feature in explanation.context],
        ["" if feature.sets_apart else "dim" for feature in explanation.context],
        numbers=CONTEXT_HEADINGS[-1:],
        wrapped=CONTEXT_HEADINGS[:-1],
    )
    notes = [Text(f"Note: {ended(warning)}", style="yellow") for warning in explanation.warnings]
    return Group(
        Text(headline(explanation), style="bold"),
        Text(ended(explanation.sentence)),
        *notes,
        behavior,
        context,
    )


def as_lines(explanation: RowExplanation) -> list[str]:
    """The explanation for a pipe: one line per sentence and table row, with tabs between cells."""
    behavior = [_behavior_cells(feature) for feature in explanation.behavior]
    context = [_context_cells(feature) for feature in explanation.context]
    return [
        headline(explanation),
        ended(explanation.sentence),
        *(f"Note: {ended(warning)}" for warning in explanation.warnings),
        *("\t".join(cells) for cells in [BEHAVIOR_HEADINGS, *behavior, CONTEXT_HEADINGS, *context]),
    ]


def as_html(explanation: RowExplanation) -> str:
    """The explanation for a notebook: no scripts, no style sheets, all text escaped."""
    behavior = "".join(
        "<tr>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in _behavior_cells(feature))
        + f"<td>{_bar(feature)}</td></tr>"
        for feature in explanation.behavior
    )
    context = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _context_cells(circumstance)) + "</tr>"
        for circumstance in explanation.context
    )
    notes = "".join(f"<p><strong>Note:</strong> {escape(ended(warning))}</p>" for warning in explanation.warnings)
    return (
        f'<div class="paribus-explanation"><p><strong>{escape(headline(explanation))}</strong><br>'
        f"{escape(ended(explanation.sentence))}</p>{notes}"
        f"{_table([*BEHAVIOR_HEADINGS, 'expected and actual'], behavior)}{_table(CONTEXT_HEADINGS, context)}</div>"
    )


def _table(headings: Sequence[str], body: str) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _behavior_cells(feature: BehaviorFeature) -> list[str]:
    known = not np.isnan(feature.median)
    judged = not np.isnan(feature.partial_score)
    return [
        feature.title,
        feature.value_text,
        score_text(feature.partial_score) if judged else "-",
        f"{feature.share:.0%}" if judged else "-",
        feature.format(feature.median) if known else "-",
        f"{feature.format(feature.lower)} to {feature.format(feature.upper)}" if known else "-",
        feature.direction,
    ]


def _context_cells(feature: ContextFeature) -> list[str]:
    return [feature.title, feature.text, feature.group_text, f"{feature.table_share:.0%}"]


def _bar(feature: BehaviorFeature) -> str:
    """The usual range as a bar, all percentiles as a line, and the value as a vertical mark."""
    if np.isnan(feature.median) or np.isnan(feature.value):
        return ""
    low, high = min(feature.percentiles[0], feature.value), max(feature.percentiles[-1], feature.value)
    width = (high - low) or 1.0

    def x(value: float) -> float:
        return round(2 + (BAR_WIDTH - 4) * float((value - low) / width), 1)

    middle = BAR_HEIGHT / 2
    bar = max(1.0, x(feature.upper) - x(feature.lower))
    return (
        f'<svg width="{BAR_WIDTH}" height="{BAR_HEIGHT}" role="img" aria-label="{escape(feature.expectation)}">'
        f'<line x1="{x(feature.percentiles[0])}" x2="{x(feature.percentiles[-1])}" y1="{middle}" y2="{middle}" '
        f'stroke="{BLUE}" stroke-width="1.5"/>'
        f'<rect x="{x(feature.lower)}" y="3" width="{bar:.1f}" height="{BAR_HEIGHT - 6}" fill="{BLUE}"/>'
        f'<rect x="{x(feature.value) - 1.25:.1f}" y="0" width="2.5" height="{BAR_HEIGHT}" fill="{VERMILION}"/></svg>'
    )
