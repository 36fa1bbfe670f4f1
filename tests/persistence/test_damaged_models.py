"""Files that are damaged, changed, malicious, or not models: each is an error in one sentence."""

from __future__ import annotations

import io
import json
import os
import random
import resource
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paribus import ConditionalSurprise, load
from tests.support.models import Members, members_of, npy, same, with_header, write_members, write_unsealed
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a model saved by paribus"),
        (b"hello", "is not a model saved by paribus"),
        (b"PK\x03\x04hello", "damaged or truncated"),
    ],
)
def test_files_that_are_not_models(model: Path, data: bytes, message: str) -> None:
    """Tests the messages for files of other kinds."""
    model.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        load(model)


def test_other_archives_other_versions_and_no_file(model: Path, saved: bytes) -> None:
    """Tests the messages for another zip archive, a newer version, a folder and a missing file."""
    write_members(model, {"notes.txt": b"hello"})
    with pytest.raises(ValueError, match=r"is not a model saved by paribus"):
        load(model)
    write_members(model, with_header(members_of(saved), format="another"))
    with pytest.raises(ValueError, match=r"is not a model saved by paribus"):
        load(model)
    write_members(model, with_header(members_of(saved), version=6, paribus="9.1"))
    with pytest.raises(ValueError, match=r"was saved by a newer paribus \(9.1\)"):
        load(model)
    write_members(model, with_header(members_of(saved), version=3))
    with pytest.raises(
        ValueError, match=r"^m.paribus is a model of version 3, which this paribus no longer reads: fit"
    ):
        load(model)
    with pytest.raises(IsADirectoryError, match=r"is a folder"):
        load(model.parent)
    with pytest.raises(FileNotFoundError, match=r"there is no model"):
        load(model.parent / "none.paribus")


def test_a_part_before_the_file_is_an_error(model: Path, saved: bytes) -> None:
    """Tests a directory that seems to be nearer to the start than it is, so that parts come before the file."""
    damaged = bytearray(saved)
    # The offset of the directory is in the last 6 bytes, before the length of the comment.
    damaged[-6:-2] = (int.from_bytes(saved[-6:-2], "little") + 1000).to_bytes(4, "little")
    model.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"m\.paribus is damaged: part '.*' is outside the file"):
        load(model)


def test_truncation_and_flipped_bits_are_errors(model: Path, saved: bytes) -> None:
    """Tests that a truncated or altered file is a ValueError, or has the same content."""
    draw = random.Random(0)
    sound = load(model)
    for _ in range(300):
        damaged = bytearray(saved)
        if draw.random() < 0.3:
            del damaged[draw.randrange(len(damaged)) :]
        else:
            for _ in range(draw.choice([1, 1, 2, 20])):
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        model.write_bytes(damaged)
        try:
            loaded = load(model)
        except ValueError:
            continue
        # The flipped bit has no meaning, such as one in a date: zip has a checksum for everything else.
        assert same(loaded._fitted.judged.partial, sound._fitted.judged.partial)
        assert same(loaded._fitted.table.rows, sound._fitted.table.rows)


ABSURD: dict[str, dict[str, Any]] = {
    "more rows than there are": {"rows": 10**9},
    "negative rows": {"rows": -1},
    "rows as text": {"rows": "40"},
    "no columns": {"columns": []},
    "a billion columns": {"columns": 10**9},
    "duplicate names": {"columns": ["a"] * 8},
    "a role out of range": {"contextual": [0, 1, 2, 99]},
    "a duplicate role": {"contextual": [0, 0, 2, 5]},
    "two roles": {"behavioral": [0, 4]},
    "no role": {"contextual": []},
    "roles of another kind": {"contextual": {"a": 1}},
    "fewer categories": {"categories": [None, None, ["north"], [False, True]]},
    "duplicate categories": {"categories": [None, None, ["a", "a", "b"], [False, True]]},
    "odd categories": {"categories": [None, None, [{"code": "1/0"}, {"date": 5}, []], [False, True]]},
    "no categories": {"categories": None},
    "threshold": {"threshold": None},
    "types": {"types": {"0": "object"}},
    "no types": {"types": []},
    "array": {"array": "|O"},
    "labels": {"labels": 3},
    "parameters": {"parameters": {"contextual": ["age"], "os": "system"}},
    "no parameters": {"parameters": None},
    "bad parameters": {"parameters": {"contextual": ["age"], "n_trees": 10**9}},
    "no version": {"version": None},
    "a version that is not a number": {"version": True},
    "columns that are not a list": {"parameters": {"contextual": {"age": 1}}},
    "a column that is not a name": {"parameters": {"contextual": ["age"], "behavioral": [1.5]}},
    "a seed that is not a number": {"parameters": {"contextual": ["age"], "random_state": "x"}},
    "no threads": {"parameters": {"contextual": ["age"], "n_jobs": 0}},
    "seconds": {"seconds": "1"},
    "known rows that are not a list": {"known": {"row": "1"}},
    "a known rule that is not one": {"known": [{"row": None, "rule": "x is odd", "status": "confirmed", "note": ""}]},
}


ABSURD_QCAD: dict[str, dict[str, Any]] = {
    "clip": {"clip": 0},
    "max_features": {"max_features": 0},
    "min_samples_split": {"min_samples_split": 2**40},
    "n_quantiles": {"n_quantiles": 10**9},
    "scale_tails": {"scale_tails": "yes"},
}
only_qcad = pytest.mark.parametrize("saved", ["qcad"], indirect=True)


@pytest.mark.parametrize("changes", ABSURD.values(), ids=ABSURD)
def test_absurd_headers_are_errors(model: Path, saved: bytes, changes: dict[str, Any]) -> None:
    """Tests that a header that does not fit the arrays is an error."""
    write_members(model, with_header(members_of(saved), **changes))
    with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
        load(model)


@only_qcad
@pytest.mark.parametrize("changes", ABSURD_QCAD.values(), ids=ABSURD_QCAD)
def test_absurd_fields_of_qcad_are_errors(model: Path, saved: bytes, changes: dict[str, Any]) -> None:
    """Tests the fields that only models of QCAD have."""
    write_members(model, with_header(members_of(saved), **changes))
    with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
        load(model)


def test_a_column_with_two_roles_is_an_error(model: Path, saved: bytes) -> None:
    """Tests that a column cannot be both contextual and behavioral, even if everything else fits."""
    header = json.loads(members_of(saved)["header.json"])
    both = [header["contextual"][0], header["behavioral"][1]]
    write_members(model, with_header(members_of(saved), behavioral=both))
    with pytest.raises(ValueError, match=r"^m.paribus is damaged: a column has two roles$"):
        load(model)


def test_changes_by_hand_are_errors(model: Path, saved: bytes) -> None:
    """Tests that neither the rows nor the header can be changed, even to valid values."""
    members = members_of(saved)
    header = json.loads(members["header.json"])
    backwards = np.load(io.BytesIO(members["rows.npy"]))[::-1]
    for changed in (
        members | {"rows.npy": npy(np.ascontiguousarray(backwards))},
        members | {"rows.npy": members["reach.npy"], "reach.npy": members["rows.npy"]},
        members | {"more.npy": members["reach.npy"]},
        with_header(members, threshold=header["threshold"] + 1),
        with_header(members, digest=None),
    ):
        write_unsealed(model, changed)
        with pytest.raises(
            ValueError, match=r"^m.paribus is damaged: [a-z ]* (after it was|that were|as it was) saved$"
        ):
            load(model)
    # The order of the parts does not matter.
    write_unsealed(model, {name: members[name] for name in reversed(members)})
    assert load(model).offset_ == -header["threshold"]


@only_qcad
def test_absurd_arrays_are_errors(model: Path, saved: bytes) -> None:
    """Tests that invalid shapes, types, orders, codes and numbers are errors before the engine gets them."""
    members = members_of(saved)
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(data)) for name, data in members.items() if name != "header.json"
    }
    rows, order, ties = arrays["rows"], arrays["feature_order"], arrays["tie_order"]
    bad_code, huge = rows.copy(), rows.copy()
    bad_code[0, 2], huge[0, 0] = 17.0, 1e300
    half = rows.copy()
    half[0, 2] = 0.5
    bad_order = order.copy()
    bad_order[0, 0, 0] = 60_000
    bad_ends = arrays["column_6.ends"].copy()
    bad_ends[3] = 10**12
    cases: dict[str, Any] = {
        "rows": [
            bad_code, huge, half, rows[:, :2], rows[:5], rows.astype(np.float32), rows.ravel(),
            np.full_like(rows, np.inf),
        ],
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
                load(model)
    for name in arrays:
        write_members(model, {each: data for each, data in members.items() if each != f"{name}.npy"})
        with pytest.raises(ValueError, match=r"^m.paribus is damaged: [^\n]*$"):
            load(model)


# Where in the header, and what is there instead.
ABSURD_SURPRISE: dict[str, tuple[str, Any]] = {
    "a surprise that is too large": ("learned/0/usual", 10**400),
    "shares of nothing": ("learned/0/shares", [0.0, 0.0, 0.0]),
    "shares below 0": ("learned/0/shares", [2.0, -0.5, -0.5]),
    "a share too few": ("learned/0/shares", [0.5, 0.5]),
    "a forest too many": ("learned/0/trend", None),
    "no deviation": ("learned/0/min_deviations", [0.0, 1.0]),
    "no trend": ("learned/0/trend", {}),
    "a trend of other columns": (
        "learned/0/trend",
        {"constant": 0.0, "centers": [0.0], "slopes": [0.0], "amounts": [None]},
    ),
    "no smoothing": ("learned/0/smoothing", None),
    "an unknown scale": ("learned/0/smoothing/shape", "sqrt"),
    "a scale that is not text": ("learned/0/smoothing/shape", ["log"]),
    "an infinite center": ("learned/0/smoothing/center", 10**400),
    "a unit of 0": ("learned/0/smoothing/unit", 0.0),
    "a width below 0": ("learned/0/smoothing/width", -1.0),
    "a width that is too large": ("learned/0/smoothing/width", 1e300),
    "a resolution below 0": ("learned/0/smoothing/resolution", -1.0),
    "shares of smoothing that do not sum to 1": ("learned/0/smoothing/shares", [0.9, 0.9]),
    "a least width of 0": ("learned/0/smoothing/min_widths", [0.0, 1.0]),
    "a least width too few": ("learned/0/smoothing/min_widths", [1.0]),
    "no tail": ("learned/0/calibration/final", None),
    "knots of a tail that are not in order": ("learned/0/calibration/final/knots", [1.0, 0.0]),
    "equal knots": ("learned/0/calibration/final/knots", [1.0, 1.0]),
    "a knot too few": ("learned/0/calibration/final/knots", [1.0]),
    "no knots": ("learned/0/calibration/final/knots", []),
    "a million knots": ("learned/0/calibration/final/knots", list(range(10**6))),
    "evidence that is not in order": ("learned/0/calibration/final/evidence", list(range(13, 0, -1))),
    "a scale of 0": ("learned/0/calibration/final/scale", 0.0),
    "a limit that is not a number": ("learned/0/calibration/final/limit", "8"),
    "no ranges": ("learned/0/ranges", None),
    "a probability above 1": ("learned/0/ranges/probabilities", [0.0, 2.0]),
    "a probability below 0": ("learned/0/ranges/probabilities", [-1.0, 1.0]),
    "levels that are not in order": ("learned/0/ranges/levels", [1.0, 0.0]),
    "tails of a power below 0": ("summaries/0/tails", [0.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0]),
    "ends that are not in order": ("summaries/0/ends", [1.0, 0.0]),
    "an infinite end": ("summaries/0/ends", [None, 10**400]),
    "a placeholder that is text": ("summaries/0/placeholders", ["-999", None]),
    "a placeholder too few": ("summaries/0/placeholders", [None]),
    "no verdict": ("verdict", None),
    "no sums": ("verdict/sums", {}),
    "an unknown sum": ("verdict/sums/other", {}),
    "a sum that is not a map": ("verdict/sums/evidence_both", 3),
    "a sum without a map": ("verdict/sums/evidence_both/map", None),
    "a missing value that counts nothing": ("verdict/sums/evidence_both/fills", []),
    "a missing value that counts infinitely": ("verdict/sums/evidence_both/fills", [10**400, 0.0]),
    "no values": ("verdict/values", {}),
    "values of another column": ("verdict/values/value_both", []),
    "values that are not maps": ("verdict/values/value_both", [1, 2]),
    "a value without a map": ("verdict/values/value_context/0/mean", None),
    "a value without a map of surprises": ("verdict/values/value_context/1/surprise", []),
    "shares of too few kinds": ("verdict/shares", [0.5, 0.5]),
    "a kind that does not occur": ("verdict/shares", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "a rate of 0": ("verdict/rates", [0.0] * 6),
    "a rate of 1": ("verdict/rates", [1.0] * 6),
    "a rate too few": ("verdict/rates", [0.5] * 5),
    "no scores of ordinary rows": ("verdict/null", None),
    "scores that are not in order": ("verdict/null/knots", [1.0, 0.0]),
    "a score too few": ("verdict/null/evidence", [0.0]),
    "a tail that does not fall": ("verdict/null/scale", 0.0),
    "a column too few": ("learned/3", None),
    "a column that is not a column": ("learned/2", 0),
    "not a list of columns": ("learned", {"0": 1}),
    "a seed below 0": ("seed", -1),
    "no rows in a leaf": ("min_samples_leaf", 0),
    "samples of no rows": ("max_samples", 0),
    "a share of columns above 1": ("max_features", 1.5),
    "another method": ("method", "RIF"),
}


@pytest.fixture(scope="module")
def surprise_members(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """The parts of a model of ConditionalSurprise with forests of both kinds."""
    path = tmp_path_factory.mktemp("surprise") / "m.paribus"
    ConditionalSurprise(CONTEXT, BEHAVIOR, n_trees=4).fit(mixed_table(40)).save(path)
    return members_of(path.read_bytes())


def with_change(members: Members, place: str, value: Any) -> Members:
    """The parts with another value at a place in the header."""
    header = json.loads(members["header.json"])
    *folders, last = place.split("/")
    part = header
    for each in folders:
        part = part[int(each)] if isinstance(part, list) else part[each]
    if isinstance(part, list):
        part[int(last)] = value
    else:
        part[last] = value
    return members | {"header.json": json.dumps(header).encode()}


@pytest.mark.parametrize(("place", "value"), ABSURD_SURPRISE.values(), ids=ABSURD_SURPRISE)
def test_absurd_state_of_conditional_surprise_is_an_error(
    surprise_members: Members, tmp_path: Path, place: str, value: Any
) -> None:
    """Tests that each field of the stored state of ConditionalSurprise is validated."""
    path = tmp_path / "m.paribus"
    write_members(path, with_change(surprise_members, place, value))
    with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
        load(path)


def test_no_part_of_the_state_of_conditional_surprise_can_be_left_out(
    surprise_members: Members, tmp_path: Path
) -> None:
    """Tests that a state without any one of its fields is an error, and the whole state is not."""
    path = tmp_path / "m.paribus"
    write_members(path, surprise_members)
    assert isinstance(load(path), ConditionalSurprise)
    header = json.loads(surprise_members["header.json"])
    places: list[list[Any]] = [["learned", 0], ["learned", 3], ["verdict"]]
    for place in places:
        whole = _at(header, place)
        for name, value in list(whole.items()):
            del whole[name]
            write_members(path, surprise_members | {"header.json": json.dumps(header).encode()})
            with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
                load(path)
            whole[name] = value
            if isinstance(value, dict) and len(places) < 40:
                places.append([*place, name])


def _at(part: Any, place: list[Any]) -> Any:
    for each in place:
        part = part[each]
    return part


def test_absurd_arrays_of_conditional_surprise_are_errors(surprise_members: Members, tmp_path: Path) -> None:
    """Tests that arrays of other shapes, other types, or out of range are errors."""
    path = tmp_path / "m.paribus"
    arrays = {name[:-4]: np.load(io.BytesIO(data)) for name, data in surprise_members.items() if name != "header.json"}
    kinds, cells, leverage, order = (arrays[name] for name in ("kinds", "cell_p_values", "leverage_0", "order"))
    seen, sample = arrays["leverage_gaps_0"], arrays["sample_gaps_0"]
    ends, bins, parts = arrays["sample_ends_0"], arrays["bins_2"], arrays["partial_scores"]
    cases: dict[str, Any] = {
        "leverage_0": [leverage * np.nan, leverage[:5], leverage.astype(np.float32), -leverage],
        "leverage_gaps_0": [seen[:5], seen.astype(np.int64), seen * 0 + 255, np.append(seen, seen)],
        "order": [order * 0, order + 1, order[:5], order.astype(np.int64)],
        "index": [order + 1, order[:5], order.astype(np.int64)],
        "sample_gaps_0": [sample[:-1], sample * 0, sample * 0 + 100, sample.astype(np.int64), np.append(sample, 1)],
        "sample_ends_0": [ends[:-1], ends[::-1].copy(), ends + 1, ends * 0, ends[:0]],
        "bins_2": [bins[None, :]],
        "kinds": [kinds + 3, kinds[:5], kinds.astype(np.int64)],
        "cell_p_values": [cells[:, :1], cells.astype(np.float32), cells.astype(np.int16)],
        "cell_p_values_given_all": [cells[:5], cells.astype(np.float64)],
        "partial_scores": [parts * np.nan, parts - 1000.0, parts[:5], parts.astype(np.float16)],
    }
    for name, wrongs in cases.items():
        for wrong in wrongs:
            write_members(path, surprise_members | {f"{name}.npy": npy(wrong)})
            with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
                load(path)
    for name in arrays:
        write_members(path, {each: data for each, data in surprise_members.items() if each != f"{name}.npy"})
        with pytest.raises(ValueError, match=r"^m.paribus is damaged: (?!it was changed)[^\n]*$"):
            load(path)


def claimed(shape: str, descr: str = "'<f8'", data: bytes = b"") -> bytes:
    """An array whose header does not match its data."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@only_qcad
def test_malicious_archives_are_errors(model: Path, saved: bytes) -> None:
    """Tests that objects, zip bombs, false lengths, unknown names and duplicates are errors, in little memory."""
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
            load(model)
    for header in (b"", b"[]", b"{", b"[" * 100_000, b'{"a":' * 50_000, b"\xff", b"1" * 100_000):
        write_members(model, members | {"header.json": header})
        with pytest.raises(ValueError, match=r"^[^\n]*$"):
            load(model)
    for name in ("../../evil.npy", "/etc/evil.npy", "evil.sh", "evil.npy/"):
        write_members(model, members | {name: npy([1.0])})
        with pytest.raises(ValueError, match="is unknown"):
            load(model)
    write_members(model, members | {"column_9.npy": npy(np.zeros(50_000_000, np.uint8))}, zipfile.ZIP_DEFLATED)
    assert model.stat().st_size < 200_000
    with pytest.raises(ValueError, match=r"is compressed or encrypted|parts are larger"):
        load(model)
    write_members(model, members)
    marked = bytearray(model.read_bytes())
    # Changes the compression method in the central directory from stored to deflated.
    marked[marked.index(b"PK\x01\x02") + 10] = zipfile.ZIP_DEFLATED
    model.write_bytes(marked)
    with pytest.raises(ValueError, match="is compressed or encrypted"):
        load(model)
    with zipfile.ZipFile(model, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("reach.npy", members["reach.npy"])
    with pytest.raises(ValueError, match=r"occurs twice"):
        load(model)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert sorted(os.listdir(model.parent)) == ["m.paribus"]


@only_qcad
def test_overlapping_parts_are_errors(model: Path) -> None:
    """Tests that parts that share bytes are an error, because together they are larger than the file."""
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
        load(model)


@pytest.mark.parametrize("min_mapped_size", [0, 2**30], ids=["mapped", "read"])
def test_no_byte_of_a_model_can_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, min_mapped_size: int
) -> None:
    """Tests bits all over a small model: it is refused when it is opened or used, or it gives the same answers.

    `PARIBUS_EVERY_BYTE=1` tests every byte, which takes minutes.
    """
    monkeypatch.setattr("paribus.persistence.archive.MIN_MAPPED_SIZE", min_mapped_size)
    path = tmp_path / "m.paribus"
    table = {"x": np.arange(14.0), "y": np.arange(14.0) ** 2 % 11}
    detector = ConditionalSurprise(["x"], ["y"], n_trees=2, n_jobs=1).fit(table)
    detector.save(path)
    saved = path.read_bytes()
    new = {"x": np.array([3.5, np.nan]), "y": np.array([20.0, 1.0])}
    expected = detector.anomaly_score(new)
    step = 1 if os.environ.get("PARIBUS_EVERY_BYTE") else 23
    for place in range(0, len(saved), step):
        damaged = bytearray(saved)
        damaged[place] ^= 1 << (place // step % 8)
        # A new file, since a mapped one must not change.
        path.unlink()
        path.write_bytes(damaged)
        try:
            loaded = load(path)
            found, scores = loaded.anomaly_score(new), loaded.anomaly_scores_
            rows = loaded._fitted.table.original.values(1)
        except ValueError:
            continue
        assert same(found, expected)
        assert same(scores, detector.anomaly_scores_)
        assert same(rows, table["y"])
