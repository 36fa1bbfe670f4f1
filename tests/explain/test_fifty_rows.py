"""Sentences about fifty real rows, each of which was read aloud."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.facts import FILE, remake

ROWS: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def test_there_are_fifty_rows_of_all_kinds() -> None:
    """Tests that the rows come from many tables, and that each kind of verdict is among them."""
    assert len(ROWS) == 50
    assert {row["kind"] for row in ROWS} == {"whole", "combination", "value", None}
    assert len({row["table"] for row in ROWS}) >= 7
    assert {row["is_anomaly"] for row in ROWS} == {row["is_new"] for row in ROWS} == {True, False}


@pytest.mark.parametrize("place", range(50), ids=[f"{i}-{row['table']}-{row['kind']}" for i, row in enumerate(ROWS)])
def test_the_sentence_is_the_one_that_was_read(place: int) -> None:
    """Tests the wording, so that every change of it is deliberate."""
    assert remake(ROWS[place]) == ROWS[place]["sentence"]
