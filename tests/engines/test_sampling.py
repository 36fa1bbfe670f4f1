"""Samples of frames: the rows that one machine would draw, however the frame is split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus.engines.checks import check_java, check_versions
from paribus.engines.interface import Engine
from paribus.engines.payload import read_payload, write_payload
from paribus.engines.sampling import sample_frame
from paribus.tables.row_sample import sample_rows
from tests.tables.test_row_sample import random_table


class PartsEngine:
    """A frame is a list of pandas tables."""

    name, module, n_slots, threads_per_task = "Parts", "none", 100, 1

    def names(self, frame: list[pd.DataFrame]) -> list[str]:
        return list(frame[0].columns)

    def select(self, frame: list[pd.DataFrame], names: Sequence[str]) -> list[pd.DataFrame]:
        return [part[list(names)] for part in frame]

    def empty(self, frame: list[pd.DataFrame]) -> pd.DataFrame:
        return frame[0][:0]

    def n_rows(self, frame: list[pd.DataFrame]) -> int:
        return sum(map(len, frame))

    def in_parts(self, frame: list[pd.DataFrame], most: int) -> tuple[list[pd.DataFrame], int]:
        return frame, len(frame)

    def gather(self, frame: list[pd.DataFrame], work: Callable[[Iterator[Any]], Any]) -> Iterator[Any]:
        return (work(iter([part[: len(part) // 2], part[len(part) // 2 :]])) for part in frame)


def lines(table: Any) -> list[tuple[Any, ...]]:
    return list(pd.DataFrame(table)[["site", "load"]].itertuples(index=False, name=None))


@settings(max_examples=40)
@given(
    n_rows=st.integers(2, 400),
    n_values=st.sampled_from([3, 40, 10**6]),
    common=st.sampled_from([0.0, 0.4, 1.0]),
    limit=st.sampled_from([2, 30, 150]),
    n_parts=st.sampled_from([1, 2, 7]),
    with_key=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_partitions_change_nothing(
    n_rows: int, n_values: int, common: float, limit: int, n_parts: int, with_key: bool, seed: int
) -> None:
    """Tests that the sample of a shuffled frame is that of the table on one machine, and so are the tallies."""
    table = random_table(n_rows, n_values, common, seed)
    key = "key" if with_key else None
    expected = sample_rows(table, ["site"], ["load"], key=key, n_rows=limit)
    mixed = table.sample(frac=1.0, random_state=seed)
    frame = [mixed.iloc[part::n_parts] for part in range(n_parts)]
    engine = cast(Engine, PartsEngine())
    found = sample_frame(engine, frame, ["site"], ["load"], key=key, n_rows=limit)
    assert (found.n_rows, found.is_complete) == (expected.n_rows, expected.is_complete)
    if found.is_complete:
        assert sorted(lines(found.table)) == sorted(lines(expected.table))
    else:
        assert lines(found.table) == lines(expected.table)
    assert found.tallies == expected.tallies
    assert found.tallies["site"].counts == table["site"].value_counts().to_dict()


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ({"paribus": None, "pyarrow": "26.0.1", "numpy": "2.3"}, "executors do not have paribus"),
        ({"paribus": "0.9", "pyarrow": "26.0.1", "numpy": "2.3"}, "have paribus 0.9, and the driver has 1.0"),
        ({"paribus": "1.0", "pyarrow": "14.0.1", "numpy": "2.3"}, "have pyarrow 14.0.1, and the driver has 26.0.1"),
        ({"paribus": "1.0", "pyarrow": None, "numpy": "2.3"}, "executors do not have pyarrow"),
    ],
)
def test_what_executors_lack_is_one_sentence(versions: dict[str, str | None], words: str) -> None:
    """Tests that other versions on the executors are named before the work starts."""
    with pytest.raises(ValueError, match=words):
        check_versions(versions, {"paribus": "1.0", "pyarrow": "26.0.1", "numpy": "2.3"}, "the Spark executors")


def test_missing_java_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the message says what Spark needs."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(ValueError, match="Spark needs Java 17 or newer, and there is none in JAVA_HOME"):
        check_java()


def test_payloads_map_their_arrays(tmp_path: Any) -> None:
    """Tests that an object comes back as it was, and that its arrays are not copied into memory."""
    write_payload(str(tmp_path / "p"), {"a": np.arange(5.0), "b": ["text", np.ones((2, 3), dtype=np.uint8)]})
    found = read_payload(str(tmp_path / "p"))
    assert found["a"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert found["b"][1].shape == (2, 3)
    assert not found["a"].flags.owndata
    assert not found["a"].flags.writeable
