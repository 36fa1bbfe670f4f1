"""Saved models give the same results."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import ConditionalSurprise, load
from paribus.persistence.columns import pack, unpack
from tests.support.detectors import Detector, DetectorClass, for_both, quick
from tests.support.models import members_of, npy, same, wide_table, with_header, write_members
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


def check_same_results(detector: Detector, loaded: Detector, table: Any) -> None:
    assert same(loaded.anomaly_scores_, detector.anomaly_scores_)
    assert same(loaded.labels_, detector.labels_)
    assert loaded.offset_ == detector.offset_
    assert same(loaded.anomaly_score(table), detector.anomaly_score(table))
    assert same(loaded.predict(table), detector.predict(table))
    for first, second in zip(detector.explain_all(5), loaded.explain_all(5), strict=True):
        assert second.to_dict() == first.to_dict()
        assert str(second) == str(first)
    assert loaded.get_params() == detector.get_params()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "dict"])
@for_both
def test_a_loaded_detector_gives_the_same_results(make: DetectorClass, tmp_path: Path, library: str) -> None:
    """Tests that scores, labels and explanations are the same to the last bit, and that rows are the original ones."""
    frame = wide_table()
    convert: dict[str, Callable[[pd.DataFrame], Any]] = {
        "pandas": lambda frame: frame,
        "polars": pl.from_pandas,
        "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        "dict": lambda frame: frame.to_dict("list"),
    }
    table = convert[library](frame)
    detector = quick(make, [*CONTEXT, "when", "weekend"], BEHAVIOR, max_features=2).fit(table)
    detector.save(tmp_path / "m.paribus")
    loaded = load(tmp_path / "m.paribus")
    assert type(loaded) is make
    check_same_results(detector, loaded, table)
    reference = loaded.explain(3).reference
    rows = loaded.explain(3).reference_positions
    assert list(reference) == [*frame.columns, "distance", "weight"]
    assert reference["note"].tolist() == [None if pd.isna(note) else note for note in frame["note"].iloc[rows]]
    assert reference["count"].tolist() == frame["count"].iloc[rows].tolist()
    assert same(reference["when"], frame["when"].iloc[rows].to_numpy().astype("M8[us]"))
    assert same(reference["age"], frame["age"].iloc[rows])
    if library == "pandas":
        assert loaded.explain("r17").row == "r17"
        with pytest.raises(ValueError, match=r"no row 'r999' in its index"):
            loaded.explain("r999")


@for_both
def test_a_detector_of_an_array_and_its_report(
    make: DetectorClass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests columns by position, and that a loaded detector writes the same report and the same file."""
    array = mixed_table(missing=0.0)[["age", "load", "pressure", "pulse"]].to_numpy()
    options = {"max_features": None, "contamination": 0.1, "random_state": np.random.RandomState(3)}
    detector = quick(make, [0, 1], [2, 3], **options).fit(array)
    detector.save(tmp_path / "m.paribus")
    loaded = load(tmp_path / "m.paribus")
    detector.set_params(random_state=None)
    check_same_results(detector, loaded, array)
    for first, second in zip(detector.explain(0).reference.items(), loaded.explain(0).reference.items(), strict=True):
        assert first[0] == second[0]
        assert same(first[1], second[1])
    # The page contains the date.
    monkeypatch.setattr("paribus.output.report.page.datetime", Mock(now=lambda: datetime(2026, 1, 31)))
    detector.report(tmp_path / "a.html", n_rows=3)
    loaded.report(tmp_path / "b.html", n_rows=3)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    loaded.save(tmp_path / "again.paribus")
    assert (tmp_path / "again.paribus").read_bytes() == (tmp_path / "m.paribus").read_bytes()


@for_both
def test_categories_of_many_kinds(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that whole numbers, dates and decimals can be categories of a saved detector."""
    n = 60
    table = pl.DataFrame(
        {
            "code": [row % 4 for row in range(n)],
            "day": [date(2026, 1, 1 + row % 5) for row in range(n)],
            "price": [Decimal(row % 3) / 4 for row in range(n)],
            "x": np.random.default_rng(0).normal(size=n),
        }
    )
    names = ["code", "day", "price"]
    detector = quick(make, names, ["x"], categorical=names).fit(table)
    detector.save(tmp_path / "m.paribus")
    check_same_results(detector, load(tmp_path / "m.paribus"), table)


@for_both
def test_big_endian_columns_are_stored_as_all_others(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that the byte order of the input makes no difference to the file."""
    table = {"c": np.arange(20.0), "x": np.arange(20.0) % 7, "n": np.arange(20)}
    stored = []
    for swap in (False, True):
        ordered = {
            name: values.astype(values.dtype.newbyteorder()) if swap else values for name, values in table.items()
        }
        quick(make, ["c"], ["x"]).fit(ordered).save(tmp_path / "m")
        assert load(tmp_path / "m").explain(0).reference["n"].dtype.isnative
        stored.append({name: data for name, data in members_of((tmp_path / "m").read_bytes()).items() if "npy" in name})
    assert stored[0] == stored[1]


@for_both
def test_a_model_that_is_saved_again_is_the_same_file(make: DetectorClass, tmp_path: Path) -> None:
    """Tests names of rows beyond the whole numbers that floats can hold: they must not become other rows' names."""
    table = mixed_table(60, missing=0.0)
    table.index = 2**53 + np.arange(60)
    quick(make, CONTEXT, BEHAVIOR).fit(table).save(tmp_path / "1.paribus")
    load(tmp_path / "1.paribus").save(tmp_path / "2.paribus")
    again = load(tmp_path / "2.paribus")
    assert sorted(int(str(each.row)) for each in again.explain_all(60)) == table.index.tolist()
    assert (tmp_path / "2.paribus").read_bytes() == (tmp_path / "1.paribus").read_bytes()


@for_both
def test_only_a_fitted_detector_can_be_saved(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that a detector that is not fitted, or a missing folder, is an error that leaves no file."""
    from sklearn.exceptions import NotFittedError

    path = tmp_path / "m.paribus"
    with pytest.raises(NotFittedError):
        quick(make, [0]).save(path)
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match=r"there is no folder"):
        quick(make, [0]).fit(np.arange(20.0).reshape(10, 2)).save(tmp_path / "no" / "m.paribus")


@pytest.mark.parametrize("saved", ["qcad"], indirect=True)
def test_a_full_disk_leaves_the_old_model(tmp_path: Path, model: Path) -> None:
    """Tests that a failed write leaves the old file unchanged, and no other file."""
    old = model.read_bytes()
    code = f"""
import resource, signal, numpy as np
from paribus import QCAD
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
detector = QCAD([0], n_trees=3, n_neighbors=10).fit(np.random.default_rng(0).normal(size=(1500, 2)))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    detector.save({str(model)!r})
except OSError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cannot write" in result.stdout
    assert "file too large" in result.stdout
    assert model.read_bytes() == old
    assert os.listdir(model.parent) == [model.name]


@pytest.fixture
def few_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of 60 rows are large."""
    monkeypatch.setattr("paribus.tables.row_store.MAX_SORTED", 50)
    monkeypatch.setattr("paribus.tables.row_store.N_REPRESENTED", 17)
    monkeypatch.setattr("paribus.persistence.described.MAX_SORTED", 50)


@pytest.mark.usefixtures("few_are_sorted")
@for_both
def test_columns_of_large_tables_are_described_in_the_model(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that formats and summaries of numbers come from the file, are the same, and survive another save."""
    frame = wide_table()
    detector = quick(make, [*CONTEXT, "when", "weekend"], BEHAVIOR).fit(frame)
    detector.save(tmp_path / "m.paribus")
    saved = (tmp_path / "m.paribus").read_bytes()
    summaries = [name for name in members_of(saved) if name.startswith("summary_")]
    # Age, load, pressure and pulse; the others are categories, a timestamp and a boolean.
    assert len(summaries) == 4
    loaded = load(tmp_path / "m.paribus")
    check_same_results(detector, loaded, frame)
    for first, second in ((detector.view(), loaded.view()), (loaded.view(), pickle.loads(pickle.dumps(loaded)).view())):
        assert second.behavior_formats == first.behavior_formats
        assert [column.format for column in second.context] == [column.format for column in first.context]
        for own, other in zip(first.behavior_summaries, second.behavior_summaries, strict=True):
            assert (other.n_rows, other.n_missing) == (own.n_rows, own.n_missing)
            assert same(other.order_statistics, own.order_statistics)
    loaded.save(tmp_path / "again.paribus")
    assert (tmp_path / "again.paribus").read_bytes() == saved


@pytest.mark.usefixtures("few_are_sorted")
def test_damaged_descriptions_of_columns_are_errors(tmp_path: Path) -> None:
    """Tests summaries that are not sorted, too long, missing or no numbers, and formats that are none."""
    path = tmp_path / "m.paribus"
    quick(ConditionalSurprise, CONTEXT, BEHAVIOR).fit(mixed_table(60)).save(path)
    members = members_of(path.read_bytes())
    entries = json.loads(members["header.json"])["described"]
    place = next(place for place, entry in enumerate(entries) if entry is not None)
    values = np.load(io.BytesIO(members[f"summary_{place}.npy"]))
    cases = [
        members | {f"summary_{place}.npy": npy(wrong)}
        for wrong in (values[::-1].copy(), values * np.nan, values[:0], np.repeat(values, 9), values[:, None])
    ]
    cases.append({name: data for name, data in members.items() if name != f"summary_{place}.npy"})
    for wrong in ([61, 1, True, False], [0, -1, True, False], [0, 1, 1, False], [0, 1, True], "no entry"):
        cases.append(with_header(members, described=[*entries[:place], wrong, *entries[place + 1 :]]))
    cases.append(with_header(members, described=entries[1:]))
    cases.append(with_header(members, described=[[0, 1, True, False]] * len(entries)))
    for changed in cases:
        write_members(path, changed)
        with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
            load(path)


def test_a_signaling_nan_is_a_missing_value(model: Path, saved: bytes) -> None:
    """Tests that NaN as R writes it, which causes warnings in computations, is a missing value."""
    members = members_of(saved)
    sound = load(model)
    assert np.isnan(sound._fitted.table.all_context[:, 2]).any()
    for name in ("rows", "partial_scores"):
        array = np.load(io.BytesIO(members[f"{name}.npy"]))
        signaling = (np.uint64, 0x7FF00000000007A2) if array.dtype == np.float64 else (np.uint32, 0x7F8007A2)
        array.view(signaling[0])[np.isnan(array)] = signaling[1]
        members |= {f"{name}.npy": npy(array)}
    write_members(model, members)
    assert same(load(model).anomaly_score(wide_table(40)), sound.anomaly_score(wide_table(40)))


def test_too_long_headers_are_neither_written_nor_read(
    model: Path, saved: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests the limit of the size of the header, for writing and for reading."""
    length = len(members_of(saved)["header.json"])
    monkeypatch.setattr("paribus.persistence.archive.MAX_HEADER_SIZE", length)
    sound = load(model)
    sound.save(model)
    assert model.read_bytes() == saved
    monkeypatch.setattr("paribus.persistence.archive.MAX_HEADER_SIZE", length - 1)
    with pytest.raises(ValueError, match="the header is too long"):
        load(model)
    with pytest.raises(ValueError, match="too long to be saved"):
        sound.save(model)
    assert model.read_bytes() == saved


@given(
    st.one_of(
        st.lists(st.one_of(st.none(), st.text(max_size=6)), min_size=1),
        st.lists(st.integers(-(2**62), 2**62), min_size=1),
        st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1),
    )
)
def test_columns_are_stored_without_loss(values: list[Any]) -> None:
    """Tests that text, whole numbers and floats are restored, with missing values."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    back = unpack("c", pack("c", column), len(values)).tolist()
    assert [None if value != value else value for value in back] == values


@for_both
def test_a_mapped_model_gives_the_same_results(
    make: DetectorClass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests a file that is mapped into memory, as large ones are, and that it can be pickled and saved again."""
    table = wide_table()
    detector = quick(make, [*CONTEXT, "when", "weekend"], BEHAVIOR).fit(table)
    detector.save(tmp_path / "m.paribus")
    monkeypatch.setattr("paribus.persistence.archive.MIN_MAPPED_SIZE", 0)
    loaded = load(tmp_path / "m.paribus")
    assert "anomaly_scores_" not in vars(loaded)
    check_same_results(detector, loaded, table)
    check_same_results(detector, pickle.loads(pickle.dumps(loaded)), table)
    loaded.save(tmp_path / "again.paribus")
    assert (tmp_path / "again.paribus").read_bytes() == (tmp_path / "m.paribus").read_bytes()
