"""Tables in files: read at once, and in batches of a few rows, which must give the same values or the same error."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzzing.area import REFUSED, Area, as_file, expect, sentence
from paribus.io.duck import connect
from paribus.io.reading import Limits, TextOptions, Wanted, open_stream, parquet, raw, read

LIMITS = Limits(columns=200, cell=2000, line=10_000, nesting=20, expansion=200)
OPTIONS: list[dict[str, Any]] = [
    {}, {}, {}, {"encoding": "utf-8"}, {"encoding": "latin-1"}, {"encoding": "utf-16"}, {"encoding": "cp1252"},
    {"encoding": "utf-7"}, {"separator": ";"}, {"separator": " "}, {"has_header": True}, {"has_header": False},
    {"missing": frozenset({"NA", "-1"})}, {"date_order": "dmy"}, {"decimal": "comma"}, {"decimal": "point"},
]  # fmt: skip
CSV = [
    b"site,when,load\nnorth,2026-01-31,1.5\nsouth,2026-02-01,\n",
    b'a;b\n"x;1";1,5\n"two\nlines";-2,5\n',
    "ort\tpreis\nKöln\t1.234,50 €\nÖs\t(5,00 €)\n".encode("cp1252"),
    "a,b\n1,ü\n".encode("utf-16"),
    "a|b\n1|2\n".encode("utf-32"),
    b"1 2 3\n4 5 6\n7 8 9\n",
    b"d,t,p\n31.01.2020,14:30,61.7%\n01.02.2020,2:15 PM,5%\n",
    b"id,flag\n007,true\n008,false\n",
    b"a\n1\n\n2\n",
    b"a,b,c\r\n1,2,3\r\n4,5,6\r\n",
]
JSON_LINES = [
    b'{"a": 1, "b": "x"}\n{"a": null, "c": [1, {"d": 2}]}\n',
    b'{"a": true}\n\n{"a": 1e308, "when": "2026-01-31"}\n',
    '{"ä": "ü\\u0000\\ud800", "b": -0.0}\n'.encode(),
    b'{"a": {"a": {"a": 1}}}\n{"a": 12345678901234567890123}\n',
]
CSV_TOKENS = (
    b"9999-12-31T23:59:59-12:00",
    b",",
    b";",
    b"\t",
    b"|",
    b'"',
    b'""',
    b"\n",
    b"\r",
    b" ",
    b"NA",
    b"1e999",
    b"-",
    b"%",
    b"2026-01-31",
    b"\xc3\xa4",
    b"\xe9",
    b"\x00",
)
JSON_TOKENS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b":",
    b",",
    b"\n",
    b"null",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b'"a"',
    b"\\u0000",
    b'{"k1": 1}\n{"k2": 2}\n',
)


def check_path(path: Path, data: bytes) -> bool:
    """Tests that a file is refused in one sentence, or gives the same table at once and in batches."""
    place = sum(data[:64]) + len(data)
    text = TextOptions(**OPTIONS[place % len(OPTIONS)], limits=LIMITS)
    strict = place % 3 == 0

    def choose(_: list[str]) -> Wanted:
        return Wanted(strict=strict)

    found: Any = None
    notes: list[str] = []
    try:
        found = read(str(path), choose, text=text, note=notes.append)
    except REFUSED as error:
        message = sentence(error)
    else:
        message = ""
    if place % 2:
        return found is not None
    raw.BATCH_SIZE = 2 + place % 5
    try:
        with ExitStack() as stack:
            stream = open_stream(str(path), stack, choose, text=text)
            batches = list(stream.batches())
    except REFUSED as error:
        other = sentence(error)
        # With several mistakes in a file, either may be found first.
        expect(message, f"read at once, but in batches: {other}")
        return False
    expect(found is not None, f"read in batches, but at once: {message}")
    expect(list(found.columns) == stream.names and found.n_rows == stream.n_rows, "another shape in batches")
    for name, values in found.columns.items():
        expect(same(values, np.concatenate([batch[name] for batch in batches])), f"column {name!r} differs in batches")
    return True


def same(first: Any, second: Any) -> bool:
    """Whether two columns are equal, and missing in the same places."""
    if first.dtype.kind != second.dtype.kind:
        return False
    if first.dtype.kind in "fM":
        return bool(np.array_equal(first, second, equal_nan=True))
    return bool(first.tolist() == second.tolist())


def check_csv(data: bytes) -> bool:
    """A file of delimited text."""
    return check_path(as_file(data, "t.csv"), data)


def check_json(data: bytes) -> bool:
    """A file of JSON lines; values that are written are those that Python reads."""
    accepted = check_path(as_file(data, "t.jsonl"), data)
    if accepted and data.startswith(b'{"a"') and data.isascii() and b"\r" not in data:
        rows = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
        numbers = [row.get("a") for row in rows]
        if all(each is None or _is_plain_number(each) for each in numbers) and numbers != [None] * len(numbers):
            column = read(str(as_file(data, "t.jsonl")), lambda _: Wanted(["a"])).columns["a"]
            expected = np.array([np.nan if each is None else each for each in numbers], dtype=float)
            expect(column.dtype.kind != "f" or same(column, expected), "numbers differ from json's")
    return accepted


def _is_plain_number(value: Any) -> bool:
    """Whether a value of JSON is a number that a float can hold."""
    return type(value) in (int, float) and abs(value) <= 1e308


def check_gzip(data: bytes) -> bool:
    """A gzipped file, damaged or not; the first byte says which of both to damage."""
    if data[:1] == b"\x1f":
        return check_path(as_file(data, "t.csv.gz"), data)
    return check_path(as_file(gzip.compress(data, 1, mtime=0), "t.csv.gz"), data)


def parquet_seeds() -> list[bytes]:
    """Small Parquet files of many types."""
    tables = [
        pa.table({"a": [1, 2, None], "s": ["x", None, "yy"], "d": pa.array([0, 1, 2], pa.date32())}),
        pa.table({"f": [1.5, float("nan"), float("inf")], "l": [[1], [], None], "b": [True, None, False]}),
        pa.table(
            {"c": pa.array(["u", "v", "u"]).dictionary_encode(), "t": pa.array([0, 1, 2], pa.timestamp("ns", "UTC"))}
        ),
    ]
    found = []
    for table in tables:
        for compression in ("none", "snappy"):
            buffer = io.BytesIO()
            pq.write_table(table, buffer, compression=compression, row_group_size=2)
            found.append(buffer.getvalue())
    return found


@cache
def _database() -> Any:
    """One database for all inputs: to start one takes ten times as long as to read a small file."""
    return connect(threads="1", enable_external_file_cache="false")


def check_parquet(data: bytes) -> bool:
    """A Parquet file."""
    parquet.connect = _database().cursor  # type: ignore[attr-defined]
    return check_path(as_file(data, "t.parquet"), data)


AREAS = [
    Area("csv", lambda: CSV, check_csv, 0.12, CSV_TOKENS, "the same table, read in batches of a few rows"),
    Area("json lines", lambda: JSON_LINES, check_json, 0.12, JSON_TOKENS, "Python's json, and batches of a few rows"),
    Area(
        "gzip",
        lambda: [gzip.compress(each, mtime=0) for each in (*CSV, *JSON_LINES)] + CSV,
        check_gzip,
        0.05,
        CSV_TOKENS,
        "the same table, read in batches of a few rows",
    ),
    Area("parquet", parquet_seeds, check_parquet, 0.01, (), "the same table, read in batches of a few rows"),
]
