"""Saved models: the same answers, and no file that does harm."""

from __future__ import annotations

import io
import json
import os
import random
import resource
import struct
import subprocess
import sys
import zipfile
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

from paribus import QCAD
from paribus.archive import _read_array, digest
from paribus.stored_columns import pack, unpack
from tables import BEHAVIOR, CONTEXT, mixed_table

Members = dict[str, bytes]


def wide_table(n: int = 150) -> pd.DataFrame:
    """A table with a moment and a truth value in its context, columns without a role, and an index."""
    frame = mixed_table(n)
    frame["when"] = pd.date_range("2026-01-01", periods=n, freq="h")
    frame["weekend"] = [bool(row % 7 < 2) for row in range(n)]
    frame["note"] = [None if row % 10 == 0 else f"n\u00f6te {row}\n" for row in range(n)]
    frame["count"] = range(n)
    return frame.set_index(pd.Index([f"r{row}" for row in range(n)]))


def same(first: Any, second: Any) -> bool:
    return bool(np.array_equal(np.asarray(first), np.asarray(second), equal_nan=True))


def check_same_answers(detector: QCAD, loaded: QCAD, table: Any) -> None:
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
def test_a_loaded_detector_gives_the_same_answers(tmp_path: Path, library: str) -> None:
    """Tests that scores, labels and explanations are the same to the last bit, and the rows are the original ones."""
    frame = wide_table()
    convert: dict[str, Callable[[pd.DataFrame], Any]] = {
        "pandas": lambda frame: frame,
        "polars": pl.from_pandas,
        "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        "dict": lambda frame: frame.to_dict("list"),
    }
    table = convert[library](frame)
    detector = QCAD([*CONTEXT, "when", "weekend"], BEHAVIOR, n_trees=7, max_features=2, n_neighbors=30).fit(table)
    detector.save(tmp_path / "m.paribus")
    loaded = QCAD.load(tmp_path / "m.paribus")
    check_same_answers(detector, loaded, table)
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


def test_a_detector_of_an_array_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that positions as columns, and the page about a loaded detector, stay what they are."""
    array = mixed_table(missing=0.0)[["age", "load", "pressure", "pulse"]].to_numpy()
    detector = QCAD([0, 1], [2, 3], n_trees=5, clip=None, contamination=0.1, random_state=np.random.RandomState(3)).fit(
        array
    )
    detector.save(tmp_path / "m.paribus")
    loaded = QCAD.load(tmp_path / "m.paribus")
    detector.set_params(random_state=None)
    check_same_answers(detector, loaded, array)
    for first, second in zip(detector.explain(0).reference.items(), loaded.explain(0).reference.items(), strict=True):
        assert first[0] == second[0]
        assert same(first[1], second[1])
    # The page says when it was written.
    monkeypatch.setattr("paribus.report.page.datetime", Mock(now=lambda: datetime(2026, 1, 31)))
    detector.report(tmp_path / "a.html", top=3)
    loaded.report(tmp_path / "b.html", top=3)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    loaded.save(tmp_path / "again.paribus")
    assert (tmp_path / "again.paribus").read_bytes() == (tmp_path / "m.paribus").read_bytes()


def test_categories_of_many_kinds(tmp_path: Path) -> None:
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
    detector = QCAD(names, ["x"], categorical=names, n_trees=3).fit(table)
    detector.save(tmp_path / "m.paribus")
    check_same_answers(detector, QCAD.load(tmp_path / "m.paribus"), table)


def test_big_endian_columns_are_stored_as_all_others(tmp_path: Path) -> None:
    """Tests that the order of bytes on some other machine makes no difference to the file."""
    table = {"c": np.arange(20.0), "x": np.arange(20.0) % 7, "n": np.arange(20)}
    stored = []
    for order in "<>":
        ordered = {name: values.astype(values.dtype.newbyteorder(order)) for name, values in table.items()}
        QCAD(["c"], ["x"], n_trees=2).fit(ordered).save(tmp_path / "m")
        assert QCAD.load(tmp_path / "m").explain(0).reference["n"].dtype.isnative
        stored.append({name: data for name, data in members_of((tmp_path / "m").read_bytes()).items() if "npy" in name})
    assert stored[0] == stored[1]


def test_only_a_fitted_detector_can_be_saved(tmp_path: Path) -> None:
    """Tests that there is no file without a fit, and that a failed write leaves the old one."""
    from sklearn.exceptions import NotFittedError

    path = tmp_path / "m.paribus"
    with pytest.raises(NotFittedError):
        QCAD([0]).save(path)
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match=r"there is no folder"):
        QCAD([0]).fit(np.arange(20.0).reshape(10, 2)).save(tmp_path / "no" / "m.paribus")


def test_a_full_disk_leaves_the_old_model(tmp_path: Path, model: Path) -> None:
    """Tests that a write that the system stops leaves the old file, and nothing half-written."""
    old = model.read_bytes()
    code = f"""
import resource, signal, numpy as np
from paribus import QCAD
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
detector = QCAD([0], n_trees=3).fit(np.random.default_rng(0).normal(size=(3000, 2)))
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


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "m.paribus"
    frame = wide_table(40).drop(columns=["when"])
    QCAD([*CONTEXT, "weekend"], BEHAVIOR, n_trees=3, max_features=2, n_neighbors=8).fit(frame).save(path)
    return path.read_bytes()


@pytest.fixture
def model(tmp_path: Path, saved: bytes) -> Path:
    path = tmp_path / "model" / "m.paribus"
    path.parent.mkdir()
    path.write_bytes(saved)
    return path


def members_of(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(members: Members) -> Members:
    """With the digest that belongs to these parts, as if they had been saved so."""
    try:
        header = json.loads(members["header.json"])
        arrays = {
            name.removesuffix(".npy"): _read_array(data, name) for name, data in members.items() if name[-4:] == ".npy"
        }
        header["digest"] = digest(header, arrays)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return members
    return members | {"header.json": json.dumps(header).encode()}


def write_members(path: Path, members: Members, compression: int = zipfile.ZIP_STORED) -> None:
    write_unsealed(path, sealed(members), compression)


def write_unsealed(path: Path, members: Members, compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def with_header(members: Members, **changes: Any) -> Members:
    header = json.loads(members["header.json"]) | changes
    return members | {"header.json": json.dumps(header).encode()}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a model that paribus saved"),
        (b"hello", "is not a model that paribus saved"),
        (b"PK\x03\x04hello", "damaged or cut off"),
    ],
)
def test_files_that_are_not_ours(model: Path, data: bytes, message: str) -> None:
    """Tests that a file of another kind is called so."""
    model.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        QCAD.load(model)


def test_other_archives_other_versions_and_no_file(model: Path, saved: bytes) -> None:
    """Tests that a zip of something else, a newer version, a folder and a missing file are told apart."""
    write_members(model, {"notes.txt": b"hello"})
    with pytest.raises(ValueError, match=r"is not a model that paribus saved"):
        QCAD.load(model)
    write_members(model, with_header(members_of(saved), format="another"))
    with pytest.raises(ValueError, match=r"is not a model that paribus saved"):
        QCAD.load(model)
    write_members(model, with_header(members_of(saved), version=2, paribus="9.1"))
    with pytest.raises(ValueError, match=r"was saved by a newer paribus \(9.1\)"):
        QCAD.load(model)
    with pytest.raises(IsADirectoryError, match=r"is a folder"):
        QCAD.load(model.parent)
    with pytest.raises(FileNotFoundError, match=r"there is no model"):
        QCAD.load(model.parent / "none.paribus")


def test_every_cut_and_many_flips_are_noticed(model: Path, saved: bytes) -> None:
    """Tests that no truncated or altered file loads as something else, and none fails in another way."""
    draw = random.Random(0)
    sound = QCAD.load(model)
    for _ in range(300):
        damaged = bytearray(saved)
        if draw.random() < 0.3:
            del damaged[draw.randrange(len(damaged)) :]
        else:
            for _ in range(draw.choice([1, 1, 2, 20])):
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        model.write_bytes(damaged)
        try:
            loaded = QCAD.load(model)
        except ValueError:
            continue
        # A flip that means nothing, such as one in a date: zip has a checksum of everything else.
        assert same(loaded._fitted.partial, sound._fitted.partial)
        assert same(loaded._fitted.context, sound._fitted.context)


ABSURD: dict[str, dict[str, Any]] = {
    "more rows than there are": {"rows": 10**9},
    "negative rows": {"rows": -1},
    "rows as text": {"rows": "40"},
    "no columns": {"columns": []},
    "a billion columns": {"columns": 10**9},
    "names twice": {"columns": ["a"] * 8},
    "a role out of range": {"contextual": [0, 1, 2, 99]},
    "a role twice": {"contextual": [0, 0, 2, 5]},
    "two roles": {"behavioral": [0, 4]},
    "no role": {"contextual": []},
    "roles of another kind": {"contextual": {"a": 1}},
    "fewer categories": {"categories": [None, None, ["north"], [False, True]]},
    "categories twice": {"categories": [None, None, ["a", "a", "b"], [False, True]]},
    "odd categories": {"categories": [None, None, [{"code": "1/0"}, {"date": 5}, []], [False, True]]},
    "no categories": {"categories": None},
    "max_features": {"max_features": 0},
    "min_samples_split": {"min_samples_split": 2**40},
    "n_quantiles": {"n_quantiles": 10**9},
    "scale_tails": {"scale_tails": "yes"},
    "clip": {"clip": 0},
    "threshold": {"threshold": None},
    "types": {"types": {"0": "object"}},
    "no types": {"types": []},
    "array": {"array": "|O"},
    "labels": {"labels": 3},
    "parameters": {"parameters": {"contextual": ["age"], "os": "system"}},
    "no parameters": {"parameters": None},
    "bad parameters": {"parameters": {"contextual": ["age"], "n_trees": 10**9}},
    "no version": {"version": None},
    "a version that is none": {"version": True},
    "columns that are none": {"parameters": {"contextual": {"age": 1}}},
    "a column that is none": {"parameters": {"contextual": ["age"], "behavioral": [1.5]}},
    "a seed that is none": {"parameters": {"contextual": ["age"], "random_state": "x"}},
    "no threads": {"parameters": {"contextual": ["age"], "n_jobs": 0}},
    "seconds": {"seconds": "1"},
}


@pytest.mark.parametrize("changes", ABSURD.values(), ids=ABSURD)
def test_absurd_headers_are_refused(model: Path, saved: bytes, changes: dict[str, Any]) -> None:
    """Tests that a header that does not fit the arrays is noticed before anything is believed."""
    write_members(model, with_header(members_of(saved), **changes))
    with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
        QCAD.load(model)


def test_a_column_with_two_roles_is_refused(model: Path, saved: bytes) -> None:
    """Tests that a column cannot be context and behaviour, even if everything else fits."""
    header = json.loads(members_of(saved)["header.json"])
    both = [header["contextual"][0], header["behavioral"][1]]
    write_members(model, with_header(members_of(saved), behavioral=both))
    with pytest.raises(ValueError, match=r"^m.paribus is damaged: a column has two roles$"):
        QCAD.load(model)


def test_what_is_changed_by_hand_is_noticed(model: Path, saved: bytes) -> None:
    """Tests that neither the rows nor the header can be changed, even to what could be right."""
    members = members_of(saved)
    header = json.loads(members["header.json"])
    backwards = np.load(io.BytesIO(members["behavior.npy"]))[::-1]
    for changed in (
        members | {"behavior.npy": npy(np.ascontiguousarray(backwards))},
        members | {"behavior.npy": members["reach.npy"], "reach.npy": members["behavior.npy"]},
        with_header(members, threshold=header["threshold"] + 1),
        with_header(members, digest=None),
    ):
        write_unsealed(model, changed)
        with pytest.raises(ValueError, match=r"^m.paribus is damaged: it was changed after it was saved$"):
            QCAD.load(model)
    # Written in another order it is still the same.
    write_unsealed(model, {name: members[name] for name in reversed(members)})
    assert QCAD.load(model).offset_ == -header["threshold"]


def test_a_noisy_nan_is_a_missing_value(model: Path, saved: bytes) -> None:
    """Tests that NaN as R writes it, which warns when it is computed with, is taken for what it means."""
    members = members_of(saved)
    sound = QCAD.load(model)
    assert np.isnan(sound._fitted.context[:, 2]).any()
    for name in ("context", "behavior", "partial_scores"):
        array = np.load(io.BytesIO(members[f"{name}.npy"]))
        array.view(np.uint64)[np.isnan(array)] = 0x7FF00000000007A2
        members |= {f"{name}.npy": npy(array)}
    write_members(model, members)
    assert same(QCAD.load(model).anomaly_score(wide_table(40)), sound.anomaly_score(wide_table(40)))


def test_absurd_arrays_are_refused(model: Path, saved: bytes) -> None:
    """Tests that shapes, types, orders, codes and numbers that cannot be are noticed before the engine gets them."""
    members = members_of(saved)
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(data)) for name, data in members.items() if name != "header.json"
    }
    context, order, ties = arrays["context"], arrays["feature_order"], arrays["tie_order"]
    bad_code, huge = context.copy(), context.copy()
    bad_code[0, 2], huge[0, 0] = 17.0, 1e300
    half = context.copy()
    half[0, 2] = 0.5
    bad_order = order.copy()
    bad_order[0, 0, 0] = 60_000
    bad_ends = arrays["column_6.ends"].copy()
    bad_ends[3] = 10**12
    cases: dict[str, Any] = {
        "context": [bad_code, huge, half, context[:, :2], context[:5], context.astype(np.float32), context.ravel()],
        "behavior": [arrays["behavior"][:, :1], np.full_like(arrays["behavior"], np.inf)],
        "tie_order": [ties * 0, ties + 1, ties.astype(np.int64)],
        "multiplicities": [
            np.zeros((8, 3), np.uint8), np.ones((40, 3), np.uint8), np.ones((8, 0), np.uint8), np.ones(8, np.uint8),
            np.full((8, 3), 255, np.uint8),
        ],
        "feature_order": [bad_order, order[:1], order[:, :1]],
        "partial_scores": [-np.ones_like(arrays["partial_scores"]), np.full_like(arrays["partial_scores"], np.nan)],
        "reach": [np.full_like(arrays["reach"], np.nan)],
        "column_6.ends": [bad_ends, -bad_ends, bad_ends[:3]],
        "labels.missing": [np.zeros(3, np.uint8)],
    }  # fmt: skip
    for name, wrongs in cases.items():
        for wrong in wrongs:
            write_members(model, members | {f"{name}.npy": npy(wrong)})
            with pytest.raises(ValueError, match=r"^m.paribus is damaged: [^\n]*$"):
                QCAD.load(model)
    for name in arrays:
        write_members(model, {each: data for each, data in members.items() if each != f"{name}.npy"})
        with pytest.raises(ValueError, match=r"^m.paribus is damaged: [^\n]*$"):
            QCAD.load(model)


def claimed(shape: str, descr: str = "'<f8'", data: bytes = b"") -> bytes:
    """An array that says of itself what it is not."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def test_archives_that_try_to_do_harm(model: Path, saved: bytes) -> None:
    """Tests that objects, bombs, false lengths, odd names and doubled parts are refused, in little memory."""
    members = members_of(saved)
    objects = io.BytesIO()
    np.save(objects, np.array([print], dtype=object), allow_pickle=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in (
        objects.getvalue(),
        claimed("(1000000000000,)"),
        claimed("(-1, -8)", data=bytes(64)),
        claimed("(4294967296, 4294967296)"),
        claimed("(2,)", "'|O'", bytes(16)),
        claimed("(1,)", "[('a', '|O')]", bytes(8)),
        claimed("(1,)", "'<U1000000000'"),
        claimed("(40, 2)", "'>f8'", bytes(640)),
        claimed("(" * 3000),
        claimed("__import__('os').system('false')"),
        claimed("(True,)", data=bytes(8)),
        b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x09\x00",
        b"",
        b"text",
    ):
        write_members(model, members | {"reach.npy": data})
        with pytest.raises(ValueError, match=r"^m.paribus is damaged[^\n]*$"):
            QCAD.load(model)
    for header in (b"", b"[]", b"{", b"[" * 100_000, b'{"a":' * 50_000, b"\xff", b"1" * 100_000):
        write_members(model, members | {"header.json": header})
        with pytest.raises(ValueError, match=r"^[^\n]*$"):
            QCAD.load(model)
    for name in ("../../evil.npy", "/etc/evil.npy", "evil.sh", "evil.npy/"):
        write_members(model, members | {name: npy([1.0])})
        with pytest.raises(ValueError, match="is unknown"):
            QCAD.load(model)
    write_members(model, members | {"column_9.npy": npy(np.zeros(50_000_000, np.uint8))}, zipfile.ZIP_DEFLATED)
    assert model.stat().st_size < 200_000
    with pytest.raises(ValueError, match=r"is compressed or encrypted|parts are larger"):
        QCAD.load(model)
    write_members(model, members)
    marked = bytearray(model.read_bytes())
    # The method of compression in the list of parts: stored becomes deflated.
    marked[marked.index(b"PK\x01\x02") + 10] = zipfile.ZIP_DEFLATED
    model.write_bytes(marked)
    with pytest.raises(ValueError, match="is compressed or encrypted"):
        QCAD.load(model)
    with zipfile.ZipFile(model, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("reach.npy", members["reach.npy"])
    with pytest.raises(ValueError, match=r"is there twice"):
        QCAD.load(model)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert sorted(os.listdir(model.parent)) == ["m.paribus"]


def test_headers_that_are_too_long_are_neither_written_nor_read(
    model: Path, saved: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests the limit to what JSON may become in memory, on both sides."""
    length = len(members_of(saved)["header.json"])
    monkeypatch.setattr("paribus.archive.LONGEST_HEADER", length)
    sound = QCAD.load(model)
    sound.save(model)
    assert model.read_bytes() == saved
    monkeypatch.setattr("paribus.archive.LONGEST_HEADER", length - 1)
    with pytest.raises(ValueError, match="the header is too long"):
        QCAD.load(model)
    with pytest.raises(ValueError, match="too long to be saved"):
        sound.save(model)
    assert model.read_bytes() == saved


def test_parts_that_overlap_are_refused(model: Path) -> None:
    """Tests that parts which share their bytes do not add up to more than the file."""
    big = npy(np.zeros(100_000))
    write_members(model, {"header.json": b"{}", "a.npy": big})
    data = bytearray(model.read_bytes())
    start = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    entry = bytes(data[start : data.index(b"PK\x05\x06")])
    names = [f"{letter}.npy".encode() for letter in "bcdefghij"]
    more = b"".join(entry.replace(b"a.npy", name) for name in names)
    end = bytearray(data[data.index(b"PK\x05\x06") :])
    (size,) = struct.unpack("<I", end[12:16])
    end[8:12] = struct.pack("<HH", 2 + len(names), 2 + len(names))
    end[12:16] = struct.pack("<I", size + len(more))
    model.write_bytes(bytes(data[: data.index(b"PK\x05\x06")]) + more + bytes(end))
    with pytest.raises(ValueError, match=r"the parts are larger than the file"):
        QCAD.load(model)


@given(
    st.one_of(
        st.lists(st.one_of(st.none(), st.text(max_size=6)), min_size=1),
        st.lists(st.integers(-(2**62), 2**62), min_size=1),
        st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1),
    )
)
def test_columns_are_stored_without_loss(values: list[Any]) -> None:
    """Tests that texts with any letters, whole numbers and floats come back, with what is missing."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    back = unpack("c", pack("c", column), len(values)).tolist()
    assert [None if value != value else value for value in back] == values
