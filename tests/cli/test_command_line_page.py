"""The examples of docs/command-line.md."""

from __future__ import annotations

import io
import re
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.support.running import invoke, write_table

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def examples() -> list[tuple[str, str]]:
    """Commands, and what the page shows of their output."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for command, output in re.findall(r"\$ (.*?)\n(.*?)(?=\$ |\Z)", block, re.DOTALL):
            found.append((command, output))
    return found


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that every command on the page ends well and prints what the page shows, up to spaces and dots."""
    days = write_table(tmp_path / "days.csv")
    lines = [line.split(",") for line in days.read_text().splitlines()]
    with sqlite3.connect(tmp_path / "weather.db") as connection:
        connection.execute(f"CREATE TABLE days ({', '.join(lines[0])})")
        connection.executemany("INSERT INTO days VALUES (?, ?, ?, ?, ?, ?, ?)", lines[1:])
    connection.close()
    monkeypatch.chdir(tmp_path)
    assert len(examples()) >= 9
    for command, expected in examples():
        words = shlex.split(command)
        if "<" in words:
            data = (tmp_path / words[words.index("<") + 1]).read_bytes()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            words = words[: words.index("<")]
        if words[1] not in ("score",):
            words += ["--n-trees", "10"]
        code, out, err = invoke(*words[1:])
        assert code == 0, err
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in expected.split("..."))
        assert re.match(pattern.replace(r"\ .*", ".*"), " ".join(out.split()), re.DOTALL), (command, out)
