"""Fills the templates of the report."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from paribus._common import palette
from paribus._common.text import counted, plain, score_text
from paribus.output.report.anomalies import anomalies
from paribus.output.report.limits import STEPS, max_page_bytes
from paribus.output.report.names import RowNames
from paribus.output.report.summary import summarize
from paribus.pictures.svg.beanplot import beanplot
from paribus.pictures.svg.score_histogram import score_histogram
from paribus.pictures.svg.score_map import Axis, NamedRow, ScoreMap, score_map
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat

if TYPE_CHECKING:
    from paribus.explain.explanation import RowExplanation
    from paribus.explain.view import FittedView

DEFAULT_TITLE = "Unusual rows, given their context"
# Characters.
MAX_TITLE_LENGTH = 120


def make_page(
    view: FittedView,
    explanations: Sequence[RowExplanation],
    parameters: Mapping[str, Any],
    *,
    title: str | None = None,
    names: RowNames,
) -> bytes:
    """Writes the page with as much detail as its maximum size allows.

    Parameters
    ----------
    view : FittedView
        The fitted detector.
    explanations : sequence of RowExplanation
        The rows to show, in descending order of score.
    parameters : mapping
        The parameters of the detector.
    title : str, optional
        The title of the page.
    names : RowNames
        The names of the rows.

    Returns
    -------
    bytes
        The HTML in UTF-8.
    """
    style, script = Markup(_template("report.css").render(palette=palette)), Markup(_template("report.js").render())
    histogram = score_histogram(view.sorted_scores, view.threshold)
    page = b""
    for limits in STEPS:
        shown = anomalies(view, explanations, names, limits)
        scatter = _map(view, [NamedRow(anomaly.position, anomaly.name, anomaly.score) for anomaly in shown])
        page = (
            _template("report.html")
            .render(
                title=plain(title or DEFAULT_TITLE, MAX_TITLE_LENGTH),
                summary=summarize(view, shown, parameters),
                source=view.citation,
                anomalies=shown,
                heading=names.heading,
                histogram=histogram,
                map=scatter,
                example=beanplot(explanations[0].leading),
                style=style,
                style_hash=_sha256(style),
                script=script,
                script_hash=_sha256(script),
                version=version("paribus"),
                written=datetime.now().astimezone(),
            )
            .encode()
        )
        if len(page) < max_page_bytes(len(shown)):
            break
    return page


def _map(view: FittedView, rows: list[NamedRow]) -> ScoreMap | None:
    """The map of the two strongest behavioral features, or of the only one and the score."""
    places = view.strongest_features(len(rows))
    behavior = view.store.behavior(slice(None))
    axes = [Axis(view.behavior_names[p], view.behavior_formats[p], behavior[:, p]) for p in places[:2]]
    if len(axes) == 2:
        return score_map(axes[0], axes[1], rows)
    scores = Axis("anomaly score", ColumnFormat(Kind.NUMERIC, decimals=1), np.asarray(view.scores))
    return score_map(axes[0], scores, rows, view.threshold)


def _sha256(text: str) -> str:
    """The hash by which a content security policy allows a script or a style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("paribus.output.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"score": score_text, "counted": counted}
    return environment


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)
