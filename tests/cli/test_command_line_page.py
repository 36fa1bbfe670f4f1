"""The shell examples of the how-to pages."""

from __future__ import annotations

import io
import re
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.support.running import invoke, write_table

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = [page.name for page in sorted(FOLDER.glob("*.md")) if "```console" in page.read_text(encoding="utf-8")]


def examples(page: str) -> list[tuple[str, str]]:
    """The commands on a page, and the output that it shows."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", (FOLDER / page).read_text(encoding="utf-8"), re.DOTALL):
        for command, output in re.findall(r"\$ (.*?)\n(.*?)(?=\$ |\Z)", block, re.DOTALL):
            found.append((command, output))
    return found


def test_the_pages_have_examples() -> None:
    """Tests that the pages which explain the command line show how it is used."""
    assert {"command-line.md", "detect-in-a-file.md", "score-new-rows.md"} <= set(PAGES)
    assert len(examples("command-line.md")) >= 9


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_the_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each command on a page succeeds and prints what the page shows, except for spaces and ellipses."""
    days = write_table(tmp_path / "days.csv")
    text = days.read_text().splitlines()
    lines = [line.split(",") for line in text]
    (tmp_path / "tomorrow.csv").write_text("\n".join([text[0], *text[-20:]]) + "\n")
    with sqlite3.connect(tmp_path / "weather.db") as connection:
        connection.execute(f"CREATE TABLE days ({', '.join(lines[0])})")
        connection.executemany("INSERT INTO days VALUES (?, ?, ?, ?, ?, ?, ?)", lines[1:])
    connection.close()
    (tmp_path / "known.csv").write_text("row,rule,status,note\ns137,,confirmed,station moved\n,wind = 0,known cause,\n")
    monkeypatch.chdir(tmp_path)
    for command, expected in examples(page):
        words = shlex.split(command)
        if "<" in words:
            data = (tmp_path / words[words.index("<") + 1]).read_bytes()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            words = words[: words.index("<")]
        if words[1] not in ("context", "score", "show") and not {"explain", "--model"} <= set(words):
            words += ["--n-trees", "10"]
        code, out, err = invoke(*words[1:])
        assert code == 0, err
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in expected.split("..."))
        assert re.match(pattern.replace(r"\ .*", ".*"), " ".join(out.split()), re.DOTALL), (command, out)
