"""Teaching a detector from Python and from the shell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paribus import QCAD, ConditionalSurprise, datasets
from paribus.detectors.base import ContextualDetector
from tests.support.running import QUICK_OPTIONS, ROLES, invoke

WEATHER = datasets.load("weather")
TABLE = {name: column[:600] for name, column in WEATHER.table.items()}


@pytest.fixture(scope="module")
def detector() -> ConditionalSurprise:
    return ConditionalSurprise(WEATHER.contextual, WEATHER.behavioral, n_trees=8).fit(TABLE)


def test_a_false_alarm_teaches(detector: ContextualDetector) -> None:
    """Tests that a false alarm leaves the list, lowers rows like it, and leaves the detector as it was."""
    before = detector.anomaly_scores_.copy()
    first = int(detector.teach().highest(1)[0])
    taught = detector.teach([{"row": first, "status": "false alarm"}])
    assert first not in taught.highest(600)
    assert max(taught.weights.values()) <= 1.0
    assert min(taught.weights.values()) < 0.9
    assert np.array_equal(detector.anomaly_scores_, before)


def test_known_causes_are_set_aside(detector: ContextualDetector) -> None:
    """Tests that a known cause is no longer listed and teaches nothing."""
    first = int(detector.teach().highest(1)[0])
    taught = detector.teach([{"row": first, "status": "known cause"}])
    assert first not in taught.highest(600)
    assert np.array_equal(taught.scores, detector.anomaly_scores_)


def test_a_rule_counts_once(detector: ContextualDetector) -> None:
    """Tests that an answer about a group counts as much as one about a row, and only by its flagged rows.

    Together, false alarms count a little less: each row may be an ordinary one.
    """
    lowest = float(np.sort(np.array(TABLE["temperature"]))[0])
    for status, least in (("confirmed", 1.0), ("false alarm", 0.8)):
        rule = detector.teach([{"rule": f"temperature >= {lowest}", "status": status}]).lesson.answers
        assert len(rule.rows) == int((detector.anomaly_scores_ > detector.threshold_).sum())
        assert least - 1e-9 <= rule.weights.sum() <= 1.0 + 1e-9


def test_answers_come_from_a_file(detector: ContextualDetector, tmp_path: Path) -> None:
    """Tests that the file of answers teaches as the answers themselves do."""
    first = int(detector.teach().highest(1)[0])
    path = tmp_path / "known.csv"
    path.write_text(f"row,rule,status,note\n{first},,false alarm,fine\n")
    listed = [{"row": first, "status": "false alarm"}]
    assert np.array_equal(detector.teach(path).scores, detector.teach(listed).scores)


def test_every_detector_can_be_taught() -> None:
    """Tests that QCAD, which has neither kinds nor conditions, learns by columns."""
    detector = QCAD(WEATHER.contextual, WEATHER.behavioral, n_trees=5, n_neighbors=50).fit(TABLE)
    taught = detector.teach([{"row": int(detector.anomaly_scores_.argmax()), "status": "false alarm"}])
    assert taught.kind_weights == {}
    assert [name for name, _ in taught.weights] == WEATHER.behavioral
    assert taught.next_row() is not None


def test_the_way_to_choose_is_checked(detector: ContextualDetector) -> None:
    """Tests that a misspelled way to choose the next row is an error in one sentence."""
    with pytest.raises(ValueError, match=r"how is .*highest"):
        detector.teach().next_row("lowest")


def test_the_shell_learns(days: Path, tmp_path: Path) -> None:
    """Tests that --learn ranks by the answers, and that it needs them."""
    options = [*ROLES, *QUICK_OPTIONS["surprise"], "--json"]
    known = tmp_path / "known.csv"
    known.write_text("row,rule,status,note\n,temperature is unusual,false alarm,\n")
    code, plain, _ = invoke("detect", days, *options, "--known", known)
    assert code == 0
    code, learned, _ = invoke("detect", days, *options, "--known", known, "--learn")
    assert code == 0
    assert learned != plain
    code, _, error = invoke("detect", days, *options, "--learn")
    assert (code, "--learn needs --known" in error) == (2, True)
