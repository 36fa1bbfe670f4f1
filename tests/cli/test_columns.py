"""Columns in the shell: which are judged, by which context, and the notes about columns that are left out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paribus import ConditionalSurprise
from tests.support.running import invoke

N = 200
QUICK = ("--n-trees", 8, "--n-jobs", 1)


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """Two columns of which each depends on another one, a third that never varies, and a value that is missing."""
    rng = np.random.default_rng(0)
    hour, zone = rng.integers(0, 24, N), rng.choice(["coast", "inland"], N)
    load = (hour + rng.normal(size=N)).round(2)
    rain = (5 * (zone == "coast") + rng.normal(size=N)).round(2)
    rain[7] = np.nan
    return {"hour": hour, "zone": zone, "load": load, "rain": rain, "unit": np.full(N, 7.0)}


@pytest.fixture(scope="module")
def path(table: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as a file."""
    path = tmp_path_factory.mktemp("columns") / "table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(
            [["" if value != value else value for value in row] for row in zip(*table.values(), strict=True)]
        )
    return path


def test_default_behavior_is_listed_and_constants_are_said(path: Path) -> None:
    """Tests that without --behavior a note says what is judged, and that a constant column is named and left out."""
    code, _, err = invoke("detect", path, "-c", "hour,zone", *QUICK)
    assert code == 0
    assert "every other numeric column is judged: load and rain\n" in err
    assert "behavioral column 'unit' is 7 in every row, so it is left out" in err


def test_missing_values_are_judged_if_asked(path: Path) -> None:
    """Tests that --judge-missing yes makes a single missing value a feature of its own, which is listed."""
    code, _, err = invoke("detect", path, "-c", "hour,zone", "--judge-missing", "yes", *QUICK)
    assert code == 0
    assert "every other numeric column is judged: load, rain and rain (missing)\n" in err


@pytest.mark.parametrize(
    "options",
    [("-c", "load=hour", "-c", "rain=hour,zone"), ("-c", "hour", "-c", "rain=zone", "-b", "load,rain")],
    ids=["each", "common and own"],
)
def test_contexts_per_behavior_are_those_of_python(options: tuple[str, ...], path: Path, table: dict[str, Any]) -> None:
    """Tests that contexts in the shell, for each behavior or on top of a common one, give the scores of a dict."""
    code, out, err = invoke("detect", path, *options, *QUICK, "--json", "--top", 5)
    assert code == 0, err
    detector = ConditionalSurprise({"load": ["hour"], "rain": ["hour", "zone"]}, n_trees=8, n_jobs=1).fit(table)
    expected = np.sort(detector.anomaly_scores_)[::-1][:5]
    found = [each["score"] for each in json.loads(out)["top"]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
