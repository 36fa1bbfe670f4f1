"""Fills the templates of the report."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from paribus._common import palette
from paribus._common.text import counted, plain, score_text
from paribus.explain.coverage import measure_coverage
from paribus.explain.finding import Finding
from paribus.output.report.anomalies import RowsShown, anomalies
from paribus.output.report.data import DATA_STEPS, KIND_WORDS, pack_data
from paribus.output.report.limits import STEPS, Limits, max_data_bytes, max_page_bytes
from paribus.output.report.names import RowNames
from paribus.output.report.summary import summarize
from paribus.output.results import Results, time_column
from paribus.pictures.svg.beanplot import beanplot
from paribus.pictures.svg.score_histogram import score_histogram
from paribus.pictures.svg.score_map import Axis, NamedRow, ScoreMap, score_map
from paribus.pictures.svg.timeline import timeline
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat

if TYPE_CHECKING:
    from paribus.explain.explanation import RowExplanation

DEFAULT_TITLE = "Unusual rows, given their context"
# Characters.
MAX_TITLE_LENGTH = 120
# Rows that the card of a group names.
MAX_GROUP_ROWS = 30
# Rows whose size is measured before all of them are drawn.
N_SAMPLED = 4


def make_page(
    results: Results,
    explained: Mapping[int, RowExplanation],
    parameters: Mapping[str, Any],
    *,
    title: str | None = None,
    names: RowNames,
) -> bytes:
    """Writes the page with as much detail as its maximum size allows.

    Parameters
    ----------
    results : Results
        The results for the rows that the page is about.
    explained : mapping
        The rows to show with pictures, in descending order of score: their positions and explanations.
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
    view = results.view
    style, script = Markup(_template("report.css").render(palette=palette)), Markup(_template("report.js").render())
    is_scored, whole = ~np.isnan(results.rows.scores), results.rows.whole
    weights = None if whole is None else whole.weights[is_scored]
    findings = {each.position: each for each in results.findings if results.is_flagged[each.position]}
    findings |= {row: Finding.of(each, row) for row, each in explained.items() if row not in findings}
    leading = [view.behavior_place(each.leading.name) for each in findings.values()]
    summary = summarize(results, parameters, leading)
    shown_rows = RowsShown(results, names, names if results.rows.is_fitted else RowNames(view.store.original))
    data = ""
    for data_limits in DATA_STEPS:
        data = pack_data(results, findings, names, view.threshold, data_limits)
        if len(data) < max_data_bytes(len(findings)):
            break
    kinds = Counter(each.kind for each in findings.values() if each.kind is not None)
    fixed = {
        "title": plain(title or DEFAULT_TITLE, MAX_TITLE_LENGTH),
        "summary": summary,
        "source": view.citation,
        "heading": names.heading,
        "histogram": score_histogram(results.rows.scores[is_scored], view.threshold, weights),
        "timeline": _timeline(results),
        "coverage": [(plain(name), share) for name, share in measure_coverage(view).items()],
        "groups": results.groups,
        "group_rows": {
            group.number: [(int(row), plain(names(int(row)))) for row in group.positions[:MAX_GROUP_ROWS]]
            for group in results.groups
        },
        "kinds": [(kind, words, kinds[kind]) for kind, words in KIND_WORDS.items() if kinds[kind]],
        "data": Markup(data),
        "n_listed": len(findings),
        "example": beanplot(next(iter(explained.values())).leading),
        "style": style,
        "style_hash": _sha256(style),
        "script": script,
        "script_hash": _sha256(script),
        "version": version("paribus"),
        "written": datetime.now().astimezone(),
    }
    page = b""
    max_bytes = max_page_bytes(len(explained))
    for limits in STEPS:
        if limits is not STEPS[-1] and _sampled_bytes(shown_rows, explained, limits) > max_bytes:
            continue
        shown = anomalies(shown_rows, explained, limits)
        scatter = _map(results, [NamedRow(anomaly.position, anomaly.name, anomaly.score) for anomaly in shown])
        page = _template("report.html").render(anomalies=shown, map=scatter, **fixed).encode()
        if len(page) - len(data) < max_bytes:
            break
    return page


def _sampled_bytes(shown_rows: RowsShown, explained: Mapping[int, RowExplanation], limits: Limits) -> int:
    """The size of all explained rows, estimated from a few of them, so that too large a page is not drawn."""
    some = dict(list(explained.items())[:: max(1, len(explained) // N_SAMPLED)][:N_SAMPLED])
    draw: Any = _template("anomaly.html").module
    sizes = [len(draw.anomaly_rows(each, "row").encode()) for each in anomalies(shown_rows, some, limits)]
    return sum(sizes) * len(explained) // len(sizes)


def _map(results: Results, rows: list[NamedRow]) -> ScoreMap | None:
    """The map of the two strongest behavioral features, or of the only one and the score."""
    view = results.view
    highest = [row.position for row in rows]
    contributions = np.nan_to_num(results.rows.partial[highest]).mean(axis=0)
    places = [int(p) for p in np.argsort(-contributions, kind="stable") if view.behavior_codes[p] is None]
    if not places:
        return None
    behavior = results.rows.behavior
    axes = [Axis(view.behavior_names[p], view.behavior_formats[p], behavior[:, p]) for p in places[:2]]
    if len(axes) == 2:
        return score_map(axes[0], axes[1], rows)
    scores = Axis("anomaly score", ColumnFormat(Kind.NUMERIC, decimals=1), np.asarray(results.rows.scores))
    return score_map(axes[0], scores, rows, view.threshold)


def _timeline(results: Results) -> Markup | None:
    """The timeline of the flagged rows; None if the table has no timestamps, or if no row is flagged."""
    table = results.rows.table
    position = time_column(table, [column.name for column in results.view.context])
    if position is None or not results.n_flagged:
        return None
    times = table.numbers(position)
    return timeline(times, results.is_flagged, ColumnFormat.fit(table, position, times))


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
