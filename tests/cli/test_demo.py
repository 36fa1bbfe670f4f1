"""The demonstration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.running import fitted, invoke


def test_the_demo_replaces_nothing_but_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a file with the name of the demo's report stays if it is not a report."""
    path = tmp_path / "paribus-demo.html"
    path.write_text("<!doctype html><title>My own notes on paribus</title>")
    monkeypatch.chdir(tmp_path)
    code, out, err = invoke("demo")
    assert (code, out) == (2, "")
    assert err == "paribus: paribus-demo.html exists and is not a paribus report: use --report PATH\n"
    assert "My own notes" in path.read_text()


def test_the_demo_shows_the_planted_days_and_writes_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that it finds the planted days, prints no colors in a pipe even if asked to, and replaces its report."""
    path = tmp_path / "paribus-demo.html"
    fitted().report(path, n_rows=1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("FORCE_COLOR", "1")
    code, out, err = invoke("demo")
    assert code == 0, err
    assert "The most unusual days" in out
    assert "\x1b" not in out
    assert "1204" in out
    assert "The report is in paribus-demo.html." in out
    page = path.read_text()
    assert page.startswith("<!doctype html>")
    assert "Unusual days" in page
