"""The monitor: what it says of rows, how it learns, and that it goes on where it stopped."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from paribus import ConditionalSurprise, Monitor
from paribus.stream.alarms import Alarm, AlarmLog, RowVerdict
from paribus.stream.beginning import find_beginning
from paribus.stream.recent_rows import RecentRows
from tests.stream.streams import fitted, make_rows, one, some
from tests.support.models import members_of, npy, write_members


def as_dicts(verdicts: Iterable[RowVerdict]) -> list[dict[str, Any]]:
    return [verdict.to_dict() for verdict in verdicts]


def test_same_verdicts_one_at_a_time_and_in_batches() -> None:
    """Tests that it does not matter in which batches rows come, also where the monitor adapts in between."""
    rows = make_rows(1, 150)
    options: dict[str, Any] = {"window": 256, "adapt_every": 64}
    whole = Monitor(fitted(), **options)
    expected = as_dicts(whole.update_many(rows))
    assert whole.n_adaptations_ == 2
    single = Monitor(fitted(), **options)
    found = as_dicts(single.update_many(some(rows, 0, 90)))
    found += as_dicts(single.update_one(one(rows, place)) for place in range(90, 150))
    assert found == expected
    again = make_rows(2, 5)
    assert single.score_many(again).tolist() == [single.score_one(one(again, place)) for place in range(5)]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 29), min_size=0, max_size=6), st.integers(0, 2**16))
def test_scores_do_not_depend_on_batches(cuts: list[int], seed: int) -> None:
    """Tests that rows have the same scores, to the bit, in any batches between two adaptations."""
    rows = make_rows(seed, 30)
    monitor = Monitor(fitted(), window=256, adapt_every=64)
    expected = monitor.score_many(rows)
    edges = [0, *sorted(cuts), 30]
    parts = [monitor.score_many(some(rows, *pair)) for pair in pairwise(edges) if pair[0] < pair[1]]
    assert np.array_equal(np.concatenate(parts), expected)
    place = seed % 30
    assert monitor.score_one(one(rows, place)) == expected[place]
    verdicts = [monitor.update_one(one(rows, place)).score for place in range(5)]
    assert verdicts == expected[:5].tolist()
    assert np.array_equal(monitor.score_many(rows), expected)


def test_p_values_of_dependent_rows_hold() -> None:
    """Tests that p-values hold where rows right before and after were fitted too, which the detector's own do not."""
    random = np.random.default_rng(30)
    n, n_fitted = 5_000, 3_000
    a = np.cumsum(random.normal(size=n)) / 10.0
    noise = lfilter([0.3], [1.0, -0.95], random.normal(size=n))
    table = {"a": np.mod(a, 4.0), "x": np.mod(a, 4.0) + noise}
    detector = ConditionalSurprise(["a"], ["x"], n_trees=8, n_jobs=1, random_state=0).fit(some(table, 0, n_fitted))
    monitor = Monitor(detector, learn=False)
    p_values = np.array([verdict.p_value for verdict in monitor.update_many(some(table, n_fitted))])
    assert (p_values <= 0.05).mean() < 0.5 * (detector.p_values(some(table, n_fitted)) <= 0.05).mean()


def test_scores_of_held_out_rows_are_those_of_the_same_odds() -> None:
    """Tests that p-values begin with what the detector would score, not the model that has not seen the rows."""
    random = np.random.default_rng(33)
    a = lfilter([0.4], [1.0, -0.9], random.normal(size=2_000))
    # The later half is harder to predict, so that the two models calibrate odds differently.
    x = a + np.where(np.arange(2_000) < 1_000, 0.2, 1.0) * random.normal(size=2_000)
    detector = ConditionalSurprise(["a"], ["x"], n_trees=8, n_jobs=1, random_state=0).fit({"a": a, "x": x})
    found = find_beginning(detector, 0)
    half, whole = found.levels.scorer, detector.scorer()
    own = found.levels.detector.method.total(half.judge(*half.encode({"a": a[1_000:], "x": x[1_000:]})).partial)
    nats = np.log(10.0)
    np.testing.assert_allclose(whole.null.scores(found.scores * nats), half.null.scores(own * nats), atol=1e-6)
    assert np.median(np.abs(own - found.scores)) > 0.2


def test_hours_that_follow_each_other_do_not_hide_a_change() -> None:
    """Tests that a change is found soon where contexts are hours and days in their order, which are not tested."""
    random = np.random.default_rng(31)
    n = 4_500
    hour, day = np.arange(n) % 24, np.arange(n) // 24 % 7
    x = 10.0 * np.sin(hour / 4.0) + 2.0 * (day > 4) + random.normal(size=n)
    x[4_000:] += 1.5
    table = {"hour": hour, "day": day, "x": x}
    detector = ConditionalSurprise(["hour", "day"], ["x"], n_trees=8, n_jobs=1, random_state=0).fit(
        some(table, 0, 3_000)
    )
    # A row is left out, so that hours come one earlier from then on.
    gap = np.delete(np.arange(3_000, n), 400)
    monitor = Monitor(detector, learn=False)
    monitor.update_many({name: values[gap] for name, values in table.items()})
    assert monitor.unwatched_ == ["hour", "day"]
    (alarm,) = [alarm for alarm in monitor.alarms_ if alarm.kind != "row"]
    assert (alarm.kind, alarm.how) == ("law", "higher")
    assert 1_000 <= alarm.number < 1_300


def test_takes_any_table() -> None:
    """Tests that dicts, dataframes and Arrow batches of the same rows have the same scores."""
    rows = make_rows(3, 20)
    monitor = Monitor(fitted())
    expected = monitor.score_many(rows)
    assert np.array_equal(monitor.score_many(pl.DataFrame(rows)), expected)
    assert np.array_equal(monitor.score_many(pa.RecordBatch.from_pydict(rows)), expected)


def test_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Tests that a monitor that was saved and loaded, or pickled, says what it would have said."""
    rows = make_rows(4, 220)
    monitor = Monitor(fitted(), window=256, adapt_every=100)
    monitor.update_many(some(rows, 0, 130))
    monitor.save(tmp_path / "monitor.state", extra={"offset": 3})
    loaded, pickled = Monitor.load(tmp_path / "monitor.state"), pickle.loads(pickle.dumps(monitor))
    expected = as_dicts(monitor.update_many(some(rows, 130)))
    assert as_dicts(loaded.update_many(some(rows, 130))) == expected
    assert as_dicts(pickled.update_many(some(rows, 130))) == expected
    assert loaded.extra_ == {"offset": 3}
    (tmp_path / "broken.state").write_bytes((tmp_path / "monitor.state").read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"broken\.state is damaged or truncated, or it is not a checkpoint"):
        Monitor.load(tmp_path / "broken.state")


@pytest.mark.parametrize("changes", [{"n_rows": -1}, {"tests": []}, {"null": "x"}, {"odd": [1]}, []])
def test_a_checkpoint_that_was_changed_is_refused(tmp_path: Path, changes: Any) -> None:
    """Tests that fields which make no sense are one sentence, also if all checksums fit."""
    path = tmp_path / "monitor.state"
    Monitor(fitted()).save(path)
    members = members_of(path.read_bytes())
    fields = json.loads(bytes(np.load(io.BytesIO(members["fields.npy"]))))
    text = json.dumps(fields | changes if isinstance(changes, dict) else changes)
    write_members(path, members | {"fields.npy": npy(np.frombuffer(text.encode(), dtype=np.uint8))})
    with pytest.raises(ValueError, match=r"^monitor\.state is not a checkpoint [^\n]* damaged \([^\n]*\)$"):
        Monitor.load(path)


@pytest.mark.parametrize("drift", [0.0, 0.0002])
def test_p_values_hold_on_stable_and_drifting_streams(drift: float) -> None:
    """Tests that about 1 in 100 p-values is at most 0.01, although the stream drifts by half of its noise."""
    monitor = Monitor(fitted(), window=1024, adapt_every=256)
    p_values = np.array([each.p_value for each in monitor.update_many(make_rows(5, 2600, drift=drift))])
    assert 0.005 <= (p_values <= 0.01).mean() <= 0.02
    # The trees that stay hold older rows, but no more than the window had.
    assert monitor.detector_.view().store.n_rows <= 2 * 1024 + 1500


def test_p_values_of_small_windows_are_recalibrated() -> None:
    """Tests that p-values are read off the last 1,000 scores although fewer rows are learned from."""
    monitor, rows = Monitor(fitted(), window=256, adapt_every=550), make_rows(32, 1200)
    monitor.update_many(some(rows, 0, 1100))
    own = -monitor.detector_.score_samples(some(rows, 1100))
    assert not np.allclose(monitor.score_many(some(rows, 1100)), own, rtol=1e-3)


def test_the_three_alarms_are_told_apart() -> None:
    """Tests that an odd row, a changed law in a region, and shifted circumstances each cause their own alarm."""
    rows = make_rows(6, 900)
    rows["x"][100] = 40.0
    monitor = Monitor(fitted(), learn=False)
    monitor.update_many(rows)
    assert [alarm.number for alarm in monitor.alarms_ if alarm.kind == "row"][:1] == [100]
    assert all(alarm.kind == "row" for alarm in monitor.alarms_)

    monitor = Monitor(fitted(), learn=False)
    monitor.update_many(make_rows(7, 1500, shift=1.5, where=lambda a, b: (np.arange(1500) > 300) & (a > 0.75)))
    alarm = next(each for each in monitor.alarms_ if each.kind != "row")
    assert (alarm.kind, alarm.column, alarm.how) == ("law", "x", "higher")
    assert alarm.region is not None
    assert alarm.region.startswith("a is above 0.7")
    assert 200 < alarm.since < 500
    assert alarm.sentence.startswith("x is higher than it was in the same circumstances, where a is above 0.7")

    monitor = Monitor(fitted(), learn=False)
    verdicts = monitor.update_many(make_rows(8, 800, context=lambda random, n: random.uniform(0.6, 1.0, size=n)))
    alarm = next(each for each in monitor.alarms_ if each.kind != "row")
    assert (alarm.kind, alarm.column) == ("circumstances", "a")
    assert alarm.sentence.startswith("The circumstances have shifted: a is ")
    assert all(verdict.is_certain for verdict in verdicts[:10])
    assert not all(verdict.is_certain for verdict in verdicts[alarm.number :])


def test_a_new_normal_is_learned_after_the_alarm() -> None:
    """Tests that rows are withheld after a sudden change, until the alarm releases them, and are ordinary then."""
    monitor = Monitor(fitted(), window=1024, adapt_every=128)
    changed = monitor.update_many(make_rows(9, 300, shift=4.0))
    assert np.mean([verdict.is_learned for verdict in changed[:50]]) < 0.5
    assert any(alarm.kind == "law" for alarm in monitor.alarms_)
    monitor.update_many(make_rows(10, 300, shift=4.0))
    assert monitor.n_new_beginnings_ >= 1
    p_values = np.array([each.p_value for each in monitor.update_many(make_rows(11, 200, shift=4.0))])
    assert np.median(p_values) > 0.3


def test_begins_with_the_first_rows() -> None:
    """Tests that a detector that is not fitted is fitted to the first rows, which have no verdict."""
    monitor = Monitor(ConditionalSurprise(["a", "b", "k"], ["x", "y"], n_trees=8, n_jobs=1), start_rows=200)
    verdicts = monitor.update_many(make_rows(12, 210))
    assert [verdict.score == verdict.score for verdict in verdicts] == [False] * 200 + [True] * 10
    with pytest.raises(ValueError, match="there is nothing to compare with before the first 200 rows"):
        Monitor(ConditionalSurprise(["a"], ["x"]), start_rows=200).explain({"a": 1.0, "x": 1.0})


def test_a_category_that_is_new_becomes_usual() -> None:
    """Tests that new categories, which no tree knows, are learned by a fit of their own."""
    rows = make_rows(13, 320)
    rows["k"] = np.where(np.arange(320) % 2, "new", rows["k"])
    monitor = Monitor(fitted(), window=512, adapt_every=256, protect=False)
    monitor.update_many(rows)
    assert "new" in monitor.detector_.categories_["k"]


def test_old_trees_are_kept_where_rows_have_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no adaptation needs a fit of its own, and that old trees mean the same categories as before."""
    random = np.random.default_rng(20)

    def rows(n: int) -> dict[str, Any]:
        k, a = random.integers(0, 5, n), random.uniform(size=n)
        return {"k": np.array(list("uvwyz"))[k], "a": a, "x": 4.0 * k + a + random.normal(size=n)}

    detector = ConditionalSurprise(["k", "a"], ["x"], n_trees=8, n_jobs=1, random_state=0).fit(rows(600))
    monitor = Monitor(detector, window=512, adapt_every=64)
    monkeypatch.setattr("paribus.stream.learning.refit", lambda *_: pytest.fail("everything was fitted anew"))
    for n_adaptations in range(1, 12):
        monitor.update_many(rows(64))
        assert monitor.n_adaptations_ == n_adaptations
        wrong = rows(50)
        wrong["x"] = wrong["x"] + 9.0
        assert (monitor.score_many(wrong) > 2.5).mean() > 0.9
        assert (monitor.score_many(rows(50)) > 2.5).mean() < 0.1
    # Eight pairs were replaced: none of the first is left.
    assert monitor.detector_.view().store.n_rows <= 512 + 64 * 8


def test_other_codes_of_categories_are_no_change() -> None:
    """Tests that categories which become common, and have other codes from then on, do not look like another law."""
    random = np.random.default_rng(21)

    def rows(n: int, shares: list[float]) -> dict[str, Any]:
        k = random.choice(3, n, p=shares)
        return {"k": np.array(["u", "v", "w"])[k], "x": 4.0 * k + random.normal(size=n)}

    detector = ConditionalSurprise(["k"], ["x"], n_trees=4, n_jobs=1, random_state=0).fit(rows(400, [0.6, 0.3, 0.1]))
    monitor = Monitor(detector, window=256, adapt_every=64)
    # A new category needs a new fit, which numbers all of them again.
    late = rows(256, [0.1, 0.3, 0.6])
    late["k"] = np.where(np.arange(256) % 64 == 7, "new", late["k"])
    monitor.update_many(late)
    assert not monitor.detector_.scorer().encodes_like(detector.scorer())
    monitor.update_many(rows(60, [0.1, 0.3, 0.6]))
    assert {alarm.kind for alarm in monitor.alarms_} <= {"row", "circumstances"}


def test_older_rows_count_less_with_a_half_life() -> None:
    """Tests that half of the rows that are a half-life old are drawn, and that those of the fit count until then."""
    recent = RecentRows(["v"], 4000)
    recent.add({"v": [0] * 4000}, -2000, np.full(4000, np.nan), np.zeros(4000, dtype=bool))
    assert len(recent.places()) == 4000
    drawn = recent.places(half_life=1000)
    ages = 3999 - drawn
    for n_half_lives in range(3):
        share = ((ages >= 1000 * n_half_lives) & (ages < 1000 * (n_half_lives + 1))).mean() * len(drawn) / 1000
        assert abs(share - 0.72 / 2**n_half_lives) < 0.06


def test_windows_of_time_survive_clocks_that_jump() -> None:
    """Tests that rows leave a window of time when they are old, and not because one clock was wrong."""
    recent = RecentRows(["v"], timedelta(hours=1))
    minutes = np.arange(120.0) * 60e6
    minutes[100] = 1e15
    recent.add({"v": list(range(120))}, 0, minutes, np.zeros(120, dtype=bool))
    recent.trim()
    # By the median of the last 31 rows it is minute 105.
    assert recent.numbers[0] == 45
    assert len(recent) == 75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 10}, "window is 10: it must be a whole number from 256"),
        ({"alpha": 1.0}, "alpha is 1.0: it must be a share above 0 and below 1"),
        ({"window": timedelta(0)}, "window is 0:00:00: it must be above 0"),
    ],
)
def test_mistakes_are_explained(options: dict[str, Any], message: str) -> None:
    """Tests that a parameter that cannot be is named."""
    with pytest.raises(ValueError, match=message):
        Monitor(fitted(), **options)


def test_odd_rows_do_not_push_out_changes() -> None:
    """Tests that an alarm of a change is still there after more odd rows than are kept."""
    log = AlarmLog()
    log.add([Alarm("law", 0, 0, "changed")])
    log.add(Alarm("row", number, number, "odd") for number in range(1, 3000))
    assert [alarm.number for alarm in log.alarms] == [0, *range(2000, 3000)]


def test_times_are_named() -> None:
    """Tests that alarms say when, by a column of times."""
    rows = make_rows(14, 5)
    rows["at"] = np.array([datetime(2026, 1, 1, 12, minute) for minute in range(5)])
    rows["x"][3] = 60.0
    monitor = Monitor(fitted(), time="at", fdr_period=100)
    monitor.update_many(rows)
    assert [alarm.time for alarm in monitor.alarms_] == ["2026-01-01T12:03:00"]
