"""Scores that must stay the same to the last bit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stored_scores import STORED, names, score

from paribus import datasets

# Small ones of each kind: benchmarks/stored_scores.py compares all.
PAPER_SETS = ["BodyFat", "Boston", "Concrete", "Energy", "FishWeight", "HeartFailure", "SynMachine", "Yacht"]


@pytest.mark.parametrize("name", ["cities", "weather", "Syn1"])
def test_scores_of_bundled_tables_are_the_stored_ones(name: str) -> None:
    """Tests that QCAD's scores of a table that comes with the package have the stored digest."""
    assert score("QCAD", datasets.load(name)) == json.loads(STORED.read_text())["QCAD"][name]


@pytest.mark.parametrize("name", PAPER_SETS)
def test_scores_of_paper_tables_are_the_stored_ones(name: str, paper_data: Path) -> None:
    """Tests that QCAD's scores of a table of the paper have the stored digest."""
    assert score("QCAD", datasets.load(name)) == json.loads(STORED.read_text())["QCAD"][name]


def test_each_data_set_has_a_stored_digest() -> None:
    """Tests that the benchmark script compares every data set of the paper."""
    assert set(json.loads(STORED.read_text())["QCAD"]) == set(names())
