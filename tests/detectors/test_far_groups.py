"""Rows that lie far out because of their context: they are compared with each other, and gross errors stay gross."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paribus import ConditionalSurprise, load

N_SITES, N_YEARS = 60, 20
LARGE = 7
"""The number of the site that is a thousand times as large as the others."""


def panel(seed: int = 0) -> dict[str, Any]:
    """A table of sites over the years: of one of them, all amounts are far beyond those of the others."""
    random = np.random.default_rng(seed)
    site = np.repeat(np.arange(N_SITES), N_YEARS)
    size = np.exp(0.3 * random.normal(size=N_SITES))
    size[LARGE] = 1_000.0
    n = N_SITES * N_YEARS
    return {
        "site": np.array([f"site {number}" for number in site], dtype=object),
        "year": np.tile(np.arange(N_YEARS), N_SITES) + 2000.0,
        "amount": size[site] * np.exp(0.1 * random.normal(size=n)),
        "rate": random.normal(size=n),
    }


def fit(table: dict[str, Any], n_trees: int = 32, **options: Any) -> ConditionalSurprise:
    return ConditionalSurprise(["site", "year"], ["amount", "rate"], n_trees=n_trees, **options).fit(table)


def stated_range(detector: ConditionalSurprise, row: int) -> tuple[float, float]:
    """The range of amounts that an explanation states."""
    (amount,) = (feature for feature in detector.explain(row).behavior if feature.name == "amount")
    return float(amount.lower), float(amount.upper)


def rows_of_the_large(table: dict[str, Any]) -> Any:
    return np.flatnonzero(table["site"] == f"site {LARGE}")


@pytest.mark.parametrize("seed", range(2))
def test_a_group_that_lies_far_out_is_compared_with_itself(seed: int) -> None:
    """Tests that none of its rows is flagged for its amount, and that the stated ranges hold most amounts."""
    table = panel(seed)
    rows = rows_of_the_large(table)
    detector = fit(table)
    assert detector.partial_scores_["amount"][rows].max() < 3.0
    ranges = np.array([stated_range(detector, row) for row in rows.tolist()])
    assert ((ranges[:, 0] <= table["amount"][rows]) & (table["amount"][rows] <= ranges[:, 1])).mean() >= 0.7


def test_a_gross_error_in_such_a_group_is_found() -> None:
    """Tests that the other rows of the group do not make a value ordinary that is ten times as far out."""
    table = panel()
    wrong = int(rows_of_the_large(table)[3])
    table["amount"][wrong] *= 10
    detector = fit(table)
    assert int(np.argmax(detector.anomaly_scores_)) == wrong
    assert (detector.labels_[rows_of_the_large(table)] == -1).sum() == 1


def test_gross_errors_that_no_context_explains_stay_gross() -> None:
    """Tests that scattered errors are flagged, and that others are judged as if they were not there."""
    table = panel()
    clean = table["amount"].copy()
    random = np.random.default_rng(1)
    others = np.setdiff1d(np.arange(N_SITES * N_YEARS), rows_of_the_large(table))
    wrong = random.permutation(others)[:8]
    table["amount"][wrong] = 5_000.0 * random.uniform(1, 2, len(wrong))
    detector = fit(table)
    assert (detector.labels_[wrong] == -1).all()
    table["amount"] = clean
    without = fit(table)
    ordinary = np.setdiff1d(others, wrong)
    assert abs((detector.labels_[ordinary] == -1).sum() - (without.labels_[ordinary] == -1).sum()) <= 2


def test_a_placeholder_is_not_believed() -> None:
    """Tests that a value that most rows of two sites have, instead of their own, is in no stated range."""
    table = panel()
    rows = rows_of_the_large(table)
    table["amount"][rows] = 1.0 + 0.1 * np.random.default_rng(0).normal(size=len(rows))
    for site in ("site 3", "site 4"):
        table["amount"][np.flatnonzero(table["site"] == site)[:12]] = -9_999.0
    with pytest.warns(UserWarning, match="column 'amount' is -9999 in 24 rows"):
        detector = fit(table)
    low, high = stated_range(detector, int(np.flatnonzero(table["site"] == "site 3")[0]))
    assert -100 < low < high < 100


def test_everything_else_holds_for_moved_limits(tmp_path: Path) -> None:
    """Tests the same bits in another order of rows, on two threads, and from a file and a pickle."""
    table = panel()
    detector = fit(table, 8, n_jobs=1)
    order = np.random.default_rng(2).permutation(N_SITES * N_YEARS)
    shuffled = fit({name: column[order] for name, column in table.items()}, 8, n_jobs=2)
    assert shuffled.anomaly_scores_.tolist() == detector.anomaly_scores_[order].tolist()
    detector.save(tmp_path / "panel.paribus")
    new = {name: np.roll(column, 1) if name == "amount" else column for name, column in table.items()}
    expected = detector.anomaly_score(new)
    for again in (load(tmp_path / "panel.paribus"), pickle.loads(pickle.dumps(detector)), shuffled):
        assert again.anomaly_score(new).tolist() == expected.tolist()


def test_values_beyond_the_end_of_a_column_are_no_errors_where_their_context_has_them() -> None:
    """Tests that the negative amounts of refunds are ordinary, and that of a sale is on top."""
    random = np.random.default_rng(0)
    n, n_refunds = 20_000, 9
    kind = np.array(["refund"] * n_refunds + ["sale"] * (n - n_refunds), dtype=object)
    amount = np.where(random.random(n) < 0.3, 0.0, random.gamma(2.0, 20.0, n).round(2))
    amount[:n_refunds] = -random.gamma(2.0, 20.0, n_refunds).round(2) - 1.0
    amount[100] = -40.0
    detector = ConditionalSurprise(["kind"], ["amount"], n_trees=8).fit({"kind": kind, "amount": amount})
    assert (detector.labels_[:n_refunds] == -1).sum() <= 1
    assert int(np.argmax(detector.anomaly_scores_)) == 100


def test_a_rare_category_far_out_in_the_column_is_no_error() -> None:
    """Tests that rows of the farthest of many destinations are not flagged for their distance, and a wrong one is."""
    random = np.random.default_rng(0)
    n_places, n = 50, 6_000
    distances = np.append(np.sort(random.choice(np.arange(100, 2_600), n_places - 1, replace=False)), 4_983)
    shares = np.append(np.ones(n_places - 1), 0.15)
    place = random.choice(n_places, n, p=shares / shares.sum())
    far = np.flatnonzero(place == n_places - 1)
    # So few that the tail of the column says that they are beyond anything.
    assert 10 <= len(far) < 0.005 * n
    table = {
        "place": np.array([f"place {number}" for number in place], dtype=object),
        "distance": distances[place].astype(float),
        "delay": random.exponential(20.0, n).round(),
    }
    wrong = int(np.flatnonzero(place == 3)[0])
    table["distance"][wrong] = 4_983.0
    detector = ConditionalSurprise(["place"], ["distance", "delay"], n_trees=32).fit(table)
    assert (detector.labels_[far] == 1).mean() > 0.9
    assert int(np.argmax(detector.anomaly_scores_)) == wrong
