"""Output on terminals of any width, and names of picture files."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from paribus.cli.pictures import file_stem
from paribus.output.console import Grid
from paribus.output.tables import BEHAVIOR_HEADINGS
from tests.support.running import QUICK, ROLES, invoke, invoke_in_terminal

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def drawn(grid: Grid, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(grid)
    return out.getvalue().splitlines()


GRID = Grid(
    ("row", "score", "mostly because of", "why"),
    [["1204", "100.0", "temperature", "it is far above what comparable rows show"], ["7", "3.5", "", "no reason"]],
    numbers=("row", "score"),
    wrapped=("why",),
    has_prose=True,
)


def test_a_table_that_does_not_fit_becomes_a_list() -> None:
    """Tests that the list has all words of the table, in lines that fit."""
    assert drawn(GRID, 80)[1].split() == ["row", "score", "mostly", "because", "of", "why"]
    assert drawn(GRID, 40) == [
        "",
        "row 1204",
        "  score 100.0",
        "  mostly because of temperature",
        "  it is far above what comparable rows",
        "  show",
        "",
        "row 7",
        "  score 3.5",
        "  no reason",
        "",
    ]


@given(
    st.lists(st.lists(st.text("ab [red]…", max_size=30), min_size=3, max_size=3), min_size=1, max_size=4),
    st.integers(12, 90),
)
def test_no_character_is_lost_at_any_width(rows: list[list[str]], width: int) -> None:
    """Tests that no cell is cut off, and that markup in cells is ordinary text."""
    lines = drawn(Grid(("x", "y", "z"), rows, wrapped=("z",)), width)
    assert max(map(len, lines)) <= width
    letters = sorted("".join("".join(row) for row in rows).replace(" ", ""))
    shown = re.sub(r"[ ─·]", "", "".join(lines))
    for heading in "xyz":
        shown = shown.replace(heading, "")
    assert sorted(shown) == letters


@pytest.mark.parametrize(
    ("command", "columns"),
    [("detect", 40), ("detect", 60), ("explain", 40), ("explain", 60), ("overview", 40), ("demo", 60)],
)
def test_narrow_terminals(
    command: str, columns: int, days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that lines fit the terminal, that no value is cut off, and that words are not broken."""
    arguments: dict[str, list[object]] = {
        "detect": ["detect", days, *ROLES, *QUICK, "--id", "station", "--top", 2],
        "explain": ["explain", days, *ROLES, *QUICK, "--row", 137],
        "overview": ["detect", days],
        "demo": ["demo"],
    }
    monkeypatch.chdir(tmp_path)
    shown = CODES.sub("", invoke_in_terminal(*arguments[command], columns=columns))
    lines = [line.rpartition("\r")[2].rstrip() for line in shown.split("\n")]
    # Commands to copy and paths of files are not broken.
    lines = [line for line in lines if "  paribus detect" not in line and "report is" not in line]
    assert max(map(len, lines)) <= columns
    assert "…" not in "".join(lines)
    words = set(re.findall(r"\w+", " ".join(lines)))
    whole = {
        "detect": {"s137", "temperature", "comparable", "elevation"},
        "explain": {BEHAVIOR_HEADINGS[0], "temperature", "elevation", "comparable"},
        "overview": {"temperature", "categories", "distinct", "station"},
        "demo": {"temperature", "inland", "1204", "unusual"},
    }[command]
    assert whole <= words


def test_without_anomalies_the_highest_score_is_shown(tmp_path: Path) -> None:
    """Tests that if no score is above the threshold, both the threshold and the highest score are shown."""
    table = tmp_path / "calm.csv"
    table.write_text("a,x,y\n" + "".join(f"{i},{i % 7}.5,{2 * i}\n" for i in range(60)))
    _, _, notes = invoke("detect", table, "-c", "a", "-b", "x,y", "--n-trees", 5)
    found = re.search(r"no score is above the threshold of ([\d.]+); the highest is ([\d.]+)", notes)
    assert found is not None
    assert float(found[1]) >= float(found[2]) > 0


@given(st.text(max_size=30), st.text(max_size=30))
def test_different_rows_have_different_files(one: str, other: str) -> None:
    """Tests that different names give different file names, even on systems that ignore case."""
    if one != other:
        assert file_stem(one).casefold() != file_stem(other).casefold()
    assert re.fullmatch(r"[\w][\w.-]*", file_stem(one))
    assert len(file_stem(one).encode()) <= 200


@pytest.mark.parametrize(("one", "other"), [("ид 1", "№ 1"), ("a/b", "a?b"), ("Zell", "zell"), ("é", "e\u0301")])
def test_similar_names_have_different_files(one: str, other: str) -> None:
    """Tests other alphabets, characters that file names cannot have, case, and accents."""
    assert file_stem(one).casefold() != file_stem(other).casefold()
