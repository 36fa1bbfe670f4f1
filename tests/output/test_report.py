"""The report: what it says, how large it is, and that nothing in a table can break it."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from paribus import QCAD, ConditionalSurprise, datasets
from paribus.output.report import page as report_page
from tests.support.detectors import DETECTORS, DetectorClass, for_both
from tests.support.hostile import LABEL, NAMES, hostile_table
from tests.support.pages import check, fit, words_of, write
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.fixture(scope="module", params=DETECTORS)
def detector(request: pytest.FixtureRequest) -> Any:
    return fit(DETECTORS[request.param], mixed_table())


def test_the_page_says_what_was_compared(detector: Any, tmp_path: Path) -> None:
    """Tests that rows, columns, parameters, missing values, the threshold and the sentences are on the page."""
    page = write(detector, tmp_path, n_rows=5, title="Patients")
    words = words_of(page)
    frame = mixed_table()
    for expected in (
        "Patients",
        f"Each of {len(frame)} rows was compared with {detector.view().compared_with('row')}",
        "age, load and site",
        "pressure and pulse",
        f"flagged {int((detector.labels_ == -1).sum())}",
        f"values missing {int(frame[[*CONTEXT, *BEHAVIOR]].isna().sum().sum())}",
        "n_trees 5",
        f"above {detector.threshold_:,.1f} are flagged",
        detector.view().full_score,
        detector.view().citation,
        *(explanation.sentence for explanation in detector.explain_all(5)),
        *(warning for explanation in detector.explain_all(5) for warning in explanation.warnings),
    ):
        assert expected in words
    has_number = isinstance(detector, QCAD)
    assert (f"rows compared with each {detector.n_neighbors_}" in words) == has_number
    assert (f"n_neighbors {detector.n_neighbors_}" in words) == has_number
    assert page.count('<tbody id="row-') == 5


def test_the_policy_allows_the_page_itself_and_nothing_else(detector: Any, tmp_path: Path) -> None:
    """Tests that the hashes in the content security policy are those of the script and the style sheet."""
    page = write(detector, tmp_path, n_rows=1)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed
    for element in ("style", "script"):
        parts = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        assert len(parts) == 1
        digest = base64.b64encode(hashlib.sha256(parts[0].encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in allowed


@for_both
def test_hostile_names_are_escaped(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that names and values with markup, quotes, control characters and reversed text are only text."""
    detector = fit(make, hostile_table(), NAMES[3:], NAMES[:3])
    checker = check(write(detector, tmp_path, title=NAMES[0], id_column=LABEL))
    assert [name for name, _ in checker.elements].count("script") == 1
    assert not {"img", "b onclick"} & {name for name, _ in checker.elements}
    shown = "".join(checker.texts)
    assert NAMES[0] in shown
    assert NAMES[2] in shown
    assert "&lt;script&gt;&amp;" in shown
    assert "N" * 100 not in shown


@pytest.mark.parametrize(
    ("make", "name"), [(QCAD, '"' * 10_000), (ConditionalSurprise, "😀" * 10_000)], ids=["quotes", "emoji"]
)
def test_a_wide_table_with_long_names_stays_below_a_megabyte(make: DetectorClass, name: str, tmp_path: Path) -> None:
    """Tests the worst case: 50 rows explained, many columns, names and values that grow when they are escaped."""
    random = np.random.default_rng(0)
    values = np.array([f"{name}{i}" for i in range(9)], dtype=object)
    table = {f"{i}{name}": random.choice(values, 80) for i in range(20)}
    context = list(table)
    table |= {f"b{i}{name}": random.normal(size=80) for i in range(12)}
    table |= {f"o{i}{name}": np.full(80, name) for i in range(4)}
    detector = fit(make, table, context, [key for key in table if key.startswith("b")], n_trees=2)
    path = detector.report(tmp_path / "report.html", id_column=f"o0{name}")
    assert path.stat().st_size < 1_000_000
    check(path.read_text(encoding="utf-8"))


@for_both
def test_a_long_table_makes_no_large_page(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that the size does not grow with the rows, because many of them are drawn as hexagons."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=10_000) for name in "axy"}
    detector = fit(make, table, ["a"], ["x", "y"], n_trees=2, **({"n_neighbors": 10} if make is QCAD else {}))
    page = write(detector, tmp_path, n_rows=50)
    check(page)
    assert 'class="shade5"' in page
    assert 'class="dots"' not in page
    assert len(page.encode()) < 900_000


@pytest.mark.parametrize(
    ("table", "contextual", "behavioral"),
    [
        (pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, 2, 3, 9]}), ["a"], ["b"]),
        (pd.DataFrame({"a": np.arange(30.0), "b": np.ones(30), "c": np.ones(30)}), ["a"], ["b", "c"]),
        (pd.DataFrame({"a": np.ones(30), "b": np.arange(30.0)}), ["a"], ["b"]),
        (pd.DataFrame({"a": pd.date_range("2024-01-01", periods=30), "b": np.arange(30.0)}), ["a"], ["b"]),
        (pd.DataFrame({"a": pd.to_timedelta(np.arange(30), "h"), "b": np.arange(30.0) * 1e14}), ["a"], ["b"]),
        (pd.DataFrame({"a": [None] * 29 + [1.0], "b": [np.nan] * 5 + list(range(25))}), ["a"], ["b"]),
        (pl.DataFrame({"a": ["x", None, "y"] * 10, "b": [1e-9 * i for i in range(30)], "c": range(30)}), ["a"], None),
        (np.random.default_rng(0).normal(size=(40, 4)), [0, 1], [2, 3]),
        (pd.DataFrame({"a": np.arange(30.0), "b": [1e200, -1e200] * 15, "c": [0.0] * 29 + [1.0]}), ["a"], ["b", "c"]),
    ],
    ids=["tiny", "equal", "constant", "dates", "durations", "missing", "polars", "array", "huge"],
)
@for_both
def test_odd_tables_have_a_page(
    make: DetectorClass, table: Any, contextual: Any, behavioral: Any, tmp_path: Path
) -> None:
    """Tests that every table that can be fitted has a well-formed page, without a NaN in its pictures."""
    page = write(fit(make, table, contextual, behavioral), tmp_path)
    check(page)
    assert not re.search(r'(?:d|x|y|cx|cy|r|width|height)="[^"]*(?:nan|inf)', page)


@for_both
def test_rows_are_named_by_a_column_the_index_or_their_position(make: DetectorClass, tmp_path: Path) -> None:
    """Tests the names of rows, and that a row without a name has its position."""
    frame = mixed_table(60)
    strangest = int(np.nanargmax(fit(make, frame).anomaly_scores_))
    names = [f"patient {i}" for i in range(60)]

    def first_name(table: Any, **options: Any) -> str:
        found = re.search(r"<bdi>([^<]*)</bdi></button>", write(fit(make, table), tmp_path, n_rows=1, **options))
        assert found is not None
        return found[1]

    assert first_name(frame) == f"row {strangest}"
    assert first_name(frame.set_index(pd.Index(names))) == f"row patient {strangest}"
    assert first_name(frame.assign(who=names), id_column="who") == f"patient {strangest}"
    assert first_name(frame.assign(who=names), id_column=5) == f"patient {strangest}"
    assert first_name(frame.assign(who=[None] * 60), id_column="who") == f"(row {strangest})"
    assert first_name(pl.from_pandas(frame.assign(who=range(60))), id_column="who") == str(strangest)


def test_bad_arguments_raise_an_error_before_any_work(
    detector: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a wrong path, number or column raises an error of one sentence before anything is explained."""
    monkeypatch.setattr(type(detector), "explain_all", lambda *_: pytest.fail("rows are explained"))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        detector.report(tmp_path / "nowhere" / "report.html")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        detector.report(tmp_path)
    with pytest.raises(ValueError, match="n_rows is 0"):
        detector.report(tmp_path / "report.html", n_rows=0)
    with pytest.raises(ValueError, match="there is no column 'sitee': did you mean 'site'"):
        detector.report(tmp_path / "report.html", id_column="sitee")


def test_a_failure_leaves_the_old_page(detector: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a failure does not change an existing page."""
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(report_page, "score_histogram", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        detector.report(path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_the_same_table_has_the_same_page(detector: Any, tmp_path: Path) -> None:
    """Tests that only the time of writing differs between two pages."""
    first, second = (re.sub(r"<time.*?</time>", "", write(detector, tmp_path, n_rows=3)) for _ in range(2))
    assert first == second


def test_the_report_needs_no_matplotlib(tmp_path: Path) -> None:
    """Tests that the page is written without the extra `plot`."""
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from paribus import QCAD\n"
        "QCAD([0], [1], n_trees=1).fit([[i, i % 3] for i in range(20)]).report(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "report.html")], check=True)


@for_both
def test_the_bundled_weather(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that the page of the bundled table is small, and shows three beanplots and three profiles for each row."""
    weather = datasets.load("weather")
    page = write(fit(make, weather.table, weather.contextual, weather.behavioral), tmp_path)
    assert len(page.encode()) < 900_000
    # The legend has one more beanplot.
    assert page.count('class="beanplot"') == 3 * 50 + 1
    assert page.count('class="profile"') == 3 * 50
