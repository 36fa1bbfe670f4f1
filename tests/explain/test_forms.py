"""Explanations in other forms: JSON, the terminal, notebooks, and pickles."""

from __future__ import annotations

import io
import json
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from paribus import QCAD, datasets
from tests.support.detectors import DETECTORS, DetectorClass, for_both, quick
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.fixture(scope="module", params=DETECTORS)
def weather(request: pytest.FixtureRequest) -> Any:
    data = datasets.load("weather")
    return quick(DETECTORS[request.param], data.contextual, data.behavioral, n_trees=16).fit(data.table)


def fit(make: DetectorClass, table: Any, **parameters: Any) -> Any:
    return quick(make, CONTEXT, BEHAVIOR, **({"n_jobs": 1} | parameters)).fit(table)


def show(explanation: Any, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(explanation)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


@for_both
def test_json_has_everything_and_no_nan(make: DetectorClass) -> None:
    """Tests that missing values, categories and dates survive the way to JSON and back."""
    table = mixed_table(60, missing=0.0)
    table.loc[20:30, ["age", "pulse"]] = None
    table.loc[7] = [None, None, None, 30.0, None]
    table["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), unit="h")
    detector = quick(make, [*CONTEXT, "when"], BEHAVIOR).fit(table)
    explanation = detector.explain(7)
    content = json.loads(explanation.to_json())
    assert content == explanation.to_dict()
    unscored = content["features"][1]
    for name, value in {
        "feature": "pulse",
        "value": None,
        "partial_score": None,
        "share": None,
        "direction": "missing",
    }.items():
        assert unscored[name] == value
    assert ("p_value" in unscored) == (make is not QCAD)
    assert [circumstance["value"] for circumstance in content["context"]] == [None, None, None, "2024-01-01 07:00"]
    assert len(content["reference"]["positions"]) == len(content["reference"]["distances"]) > 0
    assert len(content["percentiles"]["pressure"]) == 101


@for_both
def test_each_field_of_the_json(make: DetectorClass) -> None:
    """Tests that what a program reads is what the explanation says, field by field."""
    explanation = fit(make, mixed_table(60, missing=0.0)).explain(7)
    content, thin = explanation.to_dict(), explanation.thinness
    names = ("row", "position", "score", "rank", "n_ranked", "percentile", "p_value", "kind", "is_anomaly", "sentence")
    for name in names:
        assert content[name] == getattr(explanation, name)
    assert content["warnings"] == list(explanation.warnings)
    assert content["reference"] == {
        "nearest_distance": thin.nearest,
        "farthest_distance": thin.farthest,
        "usual_nearest_distance": thin.usual_nearest,
        "usual_farthest_distance": thin.usual_farthest,
        "n_comparable": thin.n_comparable,
        "n_counting": thin.n_counting,
        "n_effective": thin.n_effective,
        "positions": explanation.reference_positions.tolist(),
        "distances": explanation.reference_distances.tolist(),
        "weights": explanation.leading.weights.tolist(),
    }
    assert thin.nearest < thin.farthest
    for row, part in zip(content["features"], explanation.behavior, strict=True):
        assert row["feature"] == part.name
        assert row["lower"] < row["median"] < row["upper"]
        for name in ("value", "partial_score", "share", "lower", "median", "upper", "direction"):
            assert row[name] == getattr(part, name)
        if part.verdict is not None:
            assert row["p_value"] == part.verdict.p_value
            assert row["p_value_given_all"] == part.verdict.p_value_given_all
    for row, circumstance in zip(content["context"], explanation.context, strict=True):
        assert row["feature"] == circumstance.name
        for name in ("value", "low", "high", "share", "table_share", "sets_apart"):
            assert row[name] == getattr(circumstance, name)
        assert row["categories"] == list(circumstance.categories)


def test_the_tables_fit_a_terminal(weather: Any) -> None:
    """Tests that the tables are whole at 80 columns, with the headline and the sentence above them."""
    explanation = weather.explain(137)
    lines = show(explanation, width=80).splitlines()
    assert lines[0] == f"row 137: score {explanation.score:.1f}, rank {explanation.rank} of 2,000, anomaly"
    headings = ["behavior", "value", "score", "share", "median", "usual", "range", "verdict"]
    assert any(line.split() == headings for line in lines)
    first = explanation.leading
    cells = f"temperature 16.5 {first.partial_score:.1f} {first.share:.0%} {first.median:.1f} {first.lower:.1f} to"
    assert any(" ".join(line.split()) == f"{cells} {first.upper:.1f} far above" for line in lines)
    headings = ["context", "value", "comparable", "rows", "share", "of", "all", "rows"]
    assert any(line.split() == headings for line in lines)
    month = explanation.context[0]
    assert any(month.group_text in line and f"{month.table_share:.0%}" in line for line in lines)


@for_both
def test_names_are_never_markup(make: DetectorClass) -> None:
    """Tests that names and categories cannot color the terminal, end a line, or become HTML."""
    names = ["[red]age[/red]", "two\nlines\x1b[31m", "<script>alert(1)</script>", '"><img src=x>', "a\u202eb"]
    frame = mixed_table(60, missing=0.0).set_axis(names, axis=1)
    frame["<script>alert(1)</script>"] = "<b>&"
    explanation = quick(make, names[:3], names[3:]).fit(frame).explain(4)
    text = show(explanation)
    assert "[red]age[/red]" in text
    assert "\x1b" not in text
    assert "\n" not in str(explanation)
    assert "\u202e" not in str(explanation)
    html = explanation._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;b&gt;&amp;" in html


@for_both
def test_labels_and_warnings_are_never_markup(make: DetectorClass) -> None:
    """Tests that neither a row's label nor a category in a warning can become HTML or color the terminal."""
    frame = mixed_table(60, missing=0.0)
    labels = [f"<script>{row}</script>[red]" for row in range(60)]
    detector = fit(make, frame.set_axis(labels))
    html = detector.explain(labels[4])._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;4&lt;/script&gt;[red]" in html
    assert "<script>4</script>[red]" in show(detector.explain(4))
    strange = {"age": 30.0, "load": 0.1, "site": "<img src=x onerror=alert(1)>", "pressure": 10.0, "pulse": 1.0}
    assert "<img" not in detector.explain(strange)._repr_html_()


def test_the_notebook_form_has_a_bar_for_each_value(weather: Any) -> None:
    """Tests that the HTML shows the same cells, and the value to the right of the usual range if it is above."""
    explanation = weather.explain(137)
    html = explanation._repr_html_()
    assert html.count("<svg") == 3
    assert f"<td>{explanation.leading.lower:.1f} to {explanation.leading.upper:.1f}</td>" in html
    numbers = re.search(r'<rect x="([\d.]+)" y="3" width="([\d.]+)".*?<rect x="([\d.]+)" y="0"', html)
    assert numbers is not None
    start, width, value = map(float, numbers.groups())
    assert start + width < value


@for_both
def test_explanations_and_detectors_survive_pickling(make: DetectorClass) -> None:
    """Tests that both can be sent to another process and say the same there."""
    detector = fit(make, mixed_table(60, missing=0.0))
    explanation = detector.explain(3)
    assert pickle.loads(pickle.dumps(explanation)).to_dict() == explanation.to_dict()
    assert pickle.loads(pickle.dumps(detector)).explain(3).to_dict() == explanation.to_dict()


def test_an_explanation_cannot_be_changed(weather: Any) -> None:
    """Tests that neither its fields nor its arrays can be written to."""
    explanation = weather.explain(137)
    with pytest.raises(AttributeError):
        explanation.score = 0.0
    with pytest.raises(ValueError, match="read-only"):
        explanation.percentiles["rain"][0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        explanation.reference_distances[0] = 0.0
