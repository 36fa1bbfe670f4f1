"""Tests of detectors with moments as context."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paribus import ConditionalSurprise, load

HOURS = 24 * 60


def readings(start: str = "2024-03-04", zone: str | None = None, n: int = HOURS) -> pd.DataFrame:
    """A value with a daily cycle, and one wrong value that is ordinary at another hour."""
    rng = np.random.default_rng(0)
    moments = pd.date_range(start, periods=n, freq="h", tz=zone)
    hour = np.arange(n) % 24
    value = 10 + 8 * np.sin(2 * np.pi * hour / 24) + rng.normal(size=n)
    value[24 * 40 + 18] = 18.0
    return pd.DataFrame({"when": moments, "value": value, "other": rng.normal(size=n)})


def detector(**parameters: Any) -> ConditionalSurprise:
    return ConditionalSurprise(["when"], ["value", "other"], **({"n_trees": 16} | parameters))


@pytest.fixture(scope="module")
def fitted() -> ConditionalSurprise:
    """A detector of all readings."""
    return detector().fit(readings())


def test_a_value_of_another_hour_is_found(fitted: ConditionalSurprise) -> None:
    """Tests that noon's value at six in the evening is the strangest row."""
    assert fitted.anomaly_scores_.argmax() == 24 * 40 + 18
    assert "about 18 h" in str(fitted.explain(24 * 40 + 18)) or "to 2" in str(fitted.explain(24 * 40 + 18))


def test_later_rows_are_judged_by_the_cycles() -> None:
    """Tests that a model of two months does not flag the third, and that a note says once how many rows are later."""
    table = readings(n=24 * 90)
    fitted = detector().fit(table[:HOURS])
    told = "720 rows are outside the fitted time range, and judged by their hour.*as if they were at its ends"
    with pytest.warns(UserWarning, match=told) as notes:
        scores = fitted.anomaly_score(table[HOURS:])
    assert len(notes) == 1
    assert (scores > 3).mean() < 0.01
    assert (scores > 1).mean() < 0.25
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.anomaly_score(table[:HOURS])


@pytest.mark.parametrize("weeks", [1, 9])
def test_shifted_clocks_give_the_same_verdicts(fitted: ConditionalSurprise, weeks: int) -> None:
    """Tests that the same readings some weeks later are judged alike, to the last bit."""
    shifted = readings()
    shifted["when"] += pd.Timedelta(weeks=weeks)
    assert np.array_equal(fitted.anomaly_scores_, detector().fit(shifted).anomaly_scores_)


def test_a_time_zone_shifts_hours_alone(fitted: ConditionalSurprise) -> None:
    """Tests that clock times are judged alike in any zone, and new rows by instants, whatever their zone."""
    zoned = detector().fit(readings(zone="Asia/Kathmandu"))
    assert np.array_equal(fitted.anomaly_scores_, zoned.anomaly_scores_)
    in_utc = readings(zone="Asia/Kathmandu")
    in_utc["when"] = in_utc["when"].dt.tz_convert("UTC")
    assert (zoned.anomaly_score(in_utc) == zoned.anomaly_scores_).all()


def test_reordered_rows_give_the_same_bits(fitted: ConditionalSurprise) -> None:
    """Tests that samples in blocks of time do not depend on the order of rows."""
    table = readings()
    order = np.random.default_rng(1).permutation(len(table))
    assert (detector().fit(table.iloc[order]).anomaly_scores_ == fitted.anomaly_scores_[order]).all()


def test_parts_can_be_named() -> None:
    """Tests that without the hour a value of another hour is ordinary, and that a dict names parts by column."""
    row = 24 * 40 + 18
    by_weekday = detector(time_parts={"when": ["weekday"]}).fit(readings())
    assert by_weekday.anomaly_scores_[row] < 2 < detector(time_parts=["hour"]).fit(readings()).anomaly_scores_[row]


def test_models_keep_the_parts(tmp_path: Path) -> None:
    """Tests that a stored model gives the same bits for fitted and later rows, with its zone."""
    table = readings(zone="America/New_York", n=HOURS + 100)
    fitted = detector(time_parts={"when": "auto"}).fit(table[:HOURS])
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    with pytest.warns(UserWarning, match="outside"):
        assert (loaded.anomaly_score(table) == fitted.anomaly_score(table)).all()


def test_past_knows_no_future(tmp_path: Path) -> None:
    """Tests that with reference='past' later values change nothing, also in explanations and from a file."""
    n = 600
    table, other = readings()[:n], readings()[:n]
    other.loc[n - 100 :, "value"] += 50.0
    with pytest.warns(UserWarning, match="60 of the 600 rows have no score, because they are the first in time"):
        fitted = detector(reference="past", n_trees=4).fit(table)
    with pytest.warns(UserWarning, match="first in time"):
        changed = detector(reference="past", n_trees=4).fit(other)
    assert np.array_equal(fitted.anomaly_scores_[: n - 150], changed.anomaly_scores_[: n - 150], equal_nan=True)
    assert np.isnan(fitted.anomaly_scores_[:60]).all()
    explanation = fitted.explain(400)
    assert explanation.score == fitted.anomaly_scores_[400]
    assert explanation.reference_positions.max() < 400
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.explain(400).score == explanation.score
    with pytest.raises(ValueError, match="no past"):
        fitted.explain(3)


def test_past_needs_moments() -> None:
    """Tests that reference='past' without a time is refused in one sentence."""
    table = readings().assign(when=np.arange(HOURS))
    with pytest.raises(ValueError, match="reference='past' needs a contextual column of dates or timestamps"):
        detector(reference="past").fit(table)
    with pytest.raises(ValueError, match="reference is 'future': it must be 'all' or 'past'"):
        detector(reference="future").fit(readings())


@pytest.mark.parametrize("odd", ["one moment", "one day", "missing", "far apart", "few"])
def test_odd_moments(odd: str) -> None:
    """Tests that any column of timestamps can be context."""
    table = readings()[:200].copy()
    if odd == "one moment":
        table["when"] = table["when"].iloc[0]
    elif odd == "one day":
        table["when"] = table["when"].dt.floor("D")
    elif odd == "missing":
        table.loc[::2, "when"] = pd.NaT
    elif odd == "far apart":
        table.loc[0, "when"] = pd.Timestamp("1700-01-01")
    else:
        table["when"] = np.repeat(table["when"].to_numpy()[:4], 50)
    fitted = detector().fit(table)
    assert np.isfinite(fitted.anomaly_scores_).all()
    assert str(fitted.explain(0))
