"""Reading tables from files and standard input."""

from __future__ import annotations

import errno
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus._common.arrays import LARGEST_NUMBER
from paribus.io.reading import ReadTable, TextOptions, Wanted, read
from paribus.io.reading.delimited import find_separator

CSV = "site,when,load\nnorth,2026-01-31,1.5\nsouth,2026-02-01,\n"


def read_bytes(folder: Path, data: bytes | str, name: str = "t.csv", **options: Any) -> ReadTable:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read(str(path), **options)


def strict(names: list[str]) -> Wanted:
    return Wanted(strict=True)


def plain(table: ReadTable) -> dict[str, list[Any]]:
    return {
        name: [None if value != value else value for value in column.tolist()] for name, column in table.columns.items()
    }


def check_small_table(table: ReadTable) -> None:
    assert list(table.columns) == ["site", "when", "load"]
    assert table.columns["site"].tolist() == ["north", "south"]
    assert table.columns["when"].dtype.kind == "M"
    assert table.columns["when"].astype("datetime64[D]").astype(str).tolist() == ["2026-01-31", "2026-02-01"]
    assert table.columns["load"][0] == 1.5
    assert np.isnan(table.columns["load"][1])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "bad", "n_before"),
    [
        *(("utf-8", b"\xe9", n_before) for n_before in (0, 1, 500, 300_000)),
        *(("utf-16", b"\x00\xd8a\x00", n_before) for n_before in (0, 1, 500)),
        ("ascii", b"\xe9", 1),
    ],
)
def test_the_line_of_a_bad_byte_is_named(tmp_path: Path, end: str, n_before: int, encoding: str, bad: bytes) -> None:
    """Tests that the line number is right for any line end, although the stream reads ahead."""
    text = f"a,b{end}" * n_before
    # There may be a byte order mark, and there is text before the bad bytes in the last line.
    data = f"{text}12".encode(encoding) + bad + end.encode("utf-16-le" if encoding == "utf-16" else "ascii")
    with pytest.raises(ValueError, match=rf"^t\.csv, line {n_before + 1}: it is not {encoding} text: set the right"):
        read_bytes(tmp_path, data, text=TextOptions(encoding=encoding))


@pytest.mark.parametrize(
    ("name", "place"), [("t.csv", "line 3"), ("t;csv", "line 3"), ("t.jsonl", "line 2"), ("t.parquet", "row 1")]
)
def test_the_place_of_a_too_large_number_is_named(tmp_path: Path, name: str, place: str) -> None:
    """Tests that the message has the line or row of a number that is too large."""
    rows = [{"a": "x", "b": 1.5}, {"a": "y", "b": 1e300}]
    data: dict[str, str | bytes] = {
        "t.csv": "a,b\nx,1.5\ny,1e300\n",
        "t;csv": "a;b\nx;1,5\ny;1,0e300\n",
        "t.jsonl": "\n".join(json.dumps(row) for row in rows),
    }
    if name == "t.parquet":
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), buffer)
        data[name] = buffer.getvalue()
    expected = rf"^{name}, {place}: column 'b' has 1e\+300, which is too large to compute with: fix it"
    with pytest.raises(ValueError, match=expected):
        read_bytes(tmp_path, data[name], name)


@pytest.mark.parametrize(
    "data",
    [
        CSV.encode(),
        CSV.encode("utf-8-sig"),
        CSV.encode("utf-16"),
        CSV.encode("utf-16-le"),
        CSV.encode("utf-16-be"),
        CSV.encode("utf-32"),
        CSV.replace("\n", "\r\n").encode(),
        CSV.replace("\n", "\r").encode(),
        CSV.removesuffix("\n").encode(),
        CSV.replace(",", ";").encode(),
        CSV.replace(",", "\t").encode(),
        CSV.replace(",", "|").encode(),
        CSV.replace(",", ", ").encode(),
        ("\n" + CSV + "\n\n").encode(),
        gzip.compress(CSV.encode(), mtime=0),
    ],
    ids=[
        *("utf-8", "bom", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "crlf", "cr", "no end", "semicolons", "tabs"),
        *("bars", "spaces", "blank lines", "gzip"),
    ],
)
def test_text_formats_are_detected(tmp_path: Path, data: bytes) -> None:
    """Tests that encodings, line ends, separators and compression are auto-detected."""
    check_small_table(read_bytes(tmp_path, data))


def test_json_lines_and_parquet_give_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the format makes no difference, gzipped or not, from a file or a pipe."""
    rows = [{"site": "north", "when": "2026-01-31", "load": 1.5}, {"site": "south", "when": "2026-02-01"}]
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    check_small_table(read_bytes(tmp_path, lines, "t.jsonl"))
    check_small_table(read_bytes(tmp_path, gzip.compress(lines, mtime=0), "t.jsonl.gz"))
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        check_small_table(read_bytes(tmp_path, lines.decode().encode(encoding), "t.jsonl"))
    frame = pd.DataFrame(rows).assign(when=pd.to_datetime(["2026-01-31", "2026-02-01"]))
    frame.to_parquet(tmp_path / "t.parquet")
    check_small_table(read(str(tmp_path / "t.parquet")))
    for data in (CSV.encode(), lines, (tmp_path / "t.parquet").read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        check_small_table(read("-"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "t.csv is empty"),
        (b"\n\n", "t.csv is empty"),
        (b'""\n" "\n', "t.csv is empty"),
        (b"a,b\n", "t.csv: there are no rows"),
        (b"a,b\n1,2\n3\n", "t.csv, line 3: it has 1 value and the first line 2, with commas between them"),
        (b'a,b\n"1\n1",2\n3,4,5\n', "t.csv, line 4: it has 3 values and the first line 2"),
        (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both called 'a'"),
        (b'a,b\n1,"2\n3,4\n', "t.csv, line 2: a quote is opened here and never closed"),
        (b'a,b\n1,2\n3,"4"5\n', "t.csv, line 3: there is text after a closing quote"),
        (b"a,b\n1,\x002\n", "t.csv, line 2: it has a null character"),
        (b"a,b\n1,\xff\x81\n", "t.csv, line 2: it is not UTF-8 text: if it is a table, set the encoding"),
        (
            "a,b\n1,\N{CYRILLIC SMALL LETTER YA}\n".encode("koi8-r") * 50 + bytes(range(192, 256)) * 90,
            "set the encoding",
        ),
        (b"PK\x03\x04 and so on", "a zip archive or a spreadsheet"),
        (b"SQLite format 3\x00", "use sqlite:///"),
        (b"BZh9", "decompress it, or use gzip"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "t.csv is a PDF document: save the table in it as CSV"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html>\n<p>", "t.csv is a web page: save the table in it as CSV"),
        ("<HTML>\n".encode("utf-16"), "t.csv is a web page"),
        (b"PAR1garbage", "the Parquet file cannot be read"),
        (gzip.compress(CSV.encode(), mtime=0)[:-12], "the compressed file is truncated"),
        (gzip.compress(CSV.encode(), mtime=0)[:-8] + b"\xff" * 8, "the compressed file is damaged"),
        (gzip.compress(gzip.compress(CSV.encode(), mtime=0), mtime=0), "compressed twice"),
        (b'{"a": 1}\n{"a": \n', "t.csv, line 2: it is not valid JSON"),
        (b'{"a": 1}\n[2]\n', "t.csv, line 2: it is a JSON list"),
        (b'{"a": ' + b"[" * 100_000 + b"\n", "t.csv, line 1: it is not valid JSON"),
    ],
)
def test_bad_files_give_one_sentence(tmp_path: Path, data: bytes, message: str) -> None:
    """Tests that each kind of bad file gives one sentence, with the line if there is one."""
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        read_bytes(tmp_path, data)
    assert message in str(caught.value)


def test_names_of_parquet_that_are_no_text_give_one_sentence(tmp_path: Path) -> None:
    """Tests a column whose name is not UTF-8, which is an error of DuckDB's binding."""
    pq.write_table(pa.table({"abcd": [1, 2]}), tmp_path / "t.parquet", store_schema=False)
    data = (tmp_path / "t.parquet").read_bytes().replace(b"abcd", b"a\xff\xfed")
    with pytest.raises(ValueError, match=r"^t.csv: the Parquet file cannot be read \([^\n]*\)$"):
        read_bytes(tmp_path, data)


def test_sources_that_are_not_files_give_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a missing file, a folder, a URL and an empty pipe."""
    (tmp_path / "days.csv").write_text(CSV)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*dais.csv: did you mean .*days.csv\?"):
        read(str(tmp_path / "dais.csv"))
    (tmp_path / "days.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match=r"is a folder, and its files are not parts of one table: days.jsonl has"):
        read(str(tmp_path))
    for url in ("https://example.org/t.csv", "s3://bucket/t.parquet", "file:///etc/passwd"):
        with pytest.raises(ValueError, match=r"is a URL, and paribus does not download tables"):
            read(url)
    with pytest.raises(ValueError, match=r"--sql needs the URL of a database"):
        read(str(tmp_path / "days.csv"), sql="days")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(ValueError, match=r"standard input is empty"):
        read("-")


def test_a_full_temporary_folder_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the message if the input from a pipe cannot be kept in a temporary file."""

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    monkeypatch.setattr("shutil.copyfileobj", fail)
    with pytest.raises(OSError, match=r"cannot write the temporary file .* \(no space left on device\): set TMPDIR"):
        read("-")


def test_text_among_numbers_is_found(tmp_path: Path) -> None:
    """Tests that the message has the line and the value, and what to do."""
    data = 'n,x\n"two\nlines",1\nb,2\nc,3\nd,oops\n'
    with pytest.raises(
        ValueError, match=r"t.csv, line 6: column 'x' has 'oops' where a number should be: .*--categorical"
    ):
        read_bytes(tmp_path, data, choose=strict)
    with pytest.raises(ValueError, match=r"t.csv, line 6: column 'x' has 'oops' where a number should be"):
        read_bytes(tmp_path, data, choose=lambda names: Wanted(numbers=frozenset({"x"})))
    with pytest.raises(ValueError, match=r"line 2: column 'n' has 'two lines', and no numbers at all"):
        read_bytes(tmp_path, data, choose=lambda names: Wanted(numbers=frozenset({"n"})))
    with pytest.raises(ValueError, match=r"line 2: column 'x' has 'inf' where a number should be"):
        read_bytes(tmp_path, "n,x\na,inf\nb,1\nc,2\n", choose=strict)
    # The column is text by default, with a note, and numeric if the text is named as a missing value.
    notes: list[str] = []
    assert read_bytes(tmp_path, data, note=notes.append).columns["x"].tolist() == ["1", "2", "3", "oops"]
    assert "line 6: column 'x' has 'oops' where a number should be, so it is read as text: fix it, or" in notes[0]
    there = read_bytes(tmp_path, data, choose=strict, text=TextOptions(missing=frozenset({"oops"})))
    assert plain(there)["x"] == [1.0, 2.0, 3.0, None]


def test_numbers_that_mark_missing_values(tmp_path: Path) -> None:
    """Tests that --missing means the same number in text, in JSON lines and in Parquet, including infinity."""
    missing = TextOptions(missing=frozenset({"-999", "inf"}))
    pq.write_table(pa.table({"x": [1.5, -999.0, float("inf")], "n": [1, -999, 3]}), tmp_path / "t.parquet")
    lines = '{"x": 1.5, "n": 1}\n{"x": -999.0, "n": -999}\n{"x": Infinity, "n": 3}\n'
    for table in (
        read_bytes(tmp_path, "x,n\n1.5,1\n-999,-999\ninf,3\n", choose=strict, text=missing),
        read_bytes(tmp_path, lines, "t.jsonl", choose=strict, text=missing),
        read(str(tmp_path / "t.parquet"), strict, text=missing),
    ):
        assert plain(table) == {"x": [1.5, None, None], "n": [1.0, None, 3.0]}
    with pytest.raises(ValueError, match=r"t.jsonl, line 3: column 'x' has 'inf' where .* add --missing 'inf' if it"):
        read_bytes(tmp_path, lines, "t.jsonl", choose=strict)


def test_numbers_that_mark_missing_values_may_be_spelled_in_any_way(tmp_path: Path) -> None:
    """Tests decimals, thousands, currencies and decimal commas; and that text that only looks alike stays."""
    missing = TextOptions(missing=frozenset({"-999", "1000000"}))
    table = read_bytes(tmp_path, "a;b;c\n1.5;1,5;0999\n-999.0;-999,00;x\n-9.99e2;2,5;-999.0\n", text=missing)
    assert plain(table) == {"a": [1.5, None, None], "b": [1.5, None, 2.5], "c": ["0999", "x", "-999.0"]}
    prices = 'price,n\n"$3,000.50",1\n"$1,000,000",2\n$7,3\n'
    table = read_bytes(tmp_path, prices, text=missing)
    assert plain(table)["price"] == [3000.5, None, 7.0]
    midnight = TextOptions(missing=frozenset({"0"}))
    assert plain(read_bytes(tmp_path, "t,n\n00:00,0\n08:30,1\n", text=midnight)) == {"t": [0.0, 8.5], "n": [None, 1.0]}


def test_nested_values_are_an_error(tmp_path: Path) -> None:
    """Tests that a nested value is an error that names the line."""
    with pytest.raises(ValueError, match="line 2: column 'a' holds a dict, which is neither a number nor text"):
        read_bytes(tmp_path, '{"a": 1}\n{"a": {"b": 1}}\n', choose=strict)


def test_spellings_of_missing_values(tmp_path: Path) -> None:
    """Tests that the usual spellings are missing values among numbers, and ordinary text among text."""
    table = read_bytes(tmp_path, "x,s\n1,NA\nNA,a\n?,b\n-,c\nnan,d\n n/a ,\n2,e\n")
    assert plain(table)["x"] == [1.0, None, None, None, None, None, 2.0]
    assert table.columns["s"].tolist() == ["NA", "a", "b", "c", "d", None, "e"]


def test_numbers_can_be_read_as_text(tmp_path: Path) -> None:
    """Tests that a column can be read as it is written, with leading zeros."""
    keep = lambda names: Wanted(["zip"], texts=frozenset({"zip"}))  # noqa: E731
    assert plain(read_bytes(tmp_path, "zip,x\n00123,1\n4567,2\n", choose=keep)) == {"zip": ["00123", "4567"]}


def test_the_first_line_may_be_data(tmp_path: Path) -> None:
    """Tests that a first line of numbers is a row, with a note, unless the caller says otherwise."""
    notes: list[str] = []
    assert plain(read_bytes(tmp_path, "1,2\n3,4\n", note=notes.append)) == {
        "column_1": [1.0, 3.0],
        "column_2": [2.0, 4.0],
    }
    assert "the first line holds numbers" in notes[0]
    assert plain(read_bytes(tmp_path, "a,2019\n3,4\n", text=TextOptions(has_header=True))) == {
        "a": [3.0],
        "2019": [4.0],
    }
    assert list(read_bytes(tmp_path, "a,b\nc,d\n", text=TextOptions(has_header=False)).columns["column_1"]) == [
        "a",
        "c",
    ]


def test_encodings_that_are_guessed_or_given(tmp_path: Path) -> None:
    """Tests that Western European text is read with a note, and other encodings if they are given."""
    notes: list[str] = []
    table = read_bytes(tmp_path, "city,x\nKöln,1\nMalmö,2\n".encode("latin-1"), note=notes.append)
    assert table.columns["city"].tolist() == ["Köln", "Malmö"]
    assert "line 2 is not UTF-8" in notes[0]
    greek = "\u03c0\u03cc\u03bb\u03b7,x\n\u0398\u03ae\u03b2\u03b1,1\n"
    table = read_bytes(tmp_path, greek.encode("iso8859-7"), text=TextOptions(encoding="iso8859-7"))
    assert table.columns["\u03c0\u03cc\u03bb\u03b7"].tolist() == ["\u0398\u03ae\u03b2\u03b1"]
    with pytest.raises(ValueError, match="there is no text encoding 'utf-9'"):
        read_bytes(tmp_path, CSV, text=TextOptions(encoding="utf-9"))
    with pytest.raises(ValueError, match=r"it is not ascii text"):
        read_bytes(tmp_path, "ö,x\n1,2\n", text=TextOptions(encoding="ascii"))


def test_the_share_of_non_ascii_letters(tmp_path: Path) -> None:
    """Tests that text with some non-ASCII letters is read as Western European, and text with more is an error."""
    for share, is_western in ((29, True), (31, False)):
        data = b"a,b\n" + b"\xe9" * share * 10 + b"x" * (996 - 10 * share - 3) + b",1\n"
        assert len(data) == 1000
        if is_western:
            assert read_bytes(tmp_path, data).columns["a"][0].startswith("é")
            continue
        with pytest.raises(ValueError, match="line 2: it is not UTF-8 text: if it is a table, set"):
            read_bytes(tmp_path, data)


def test_numbers_of_eight_digits_are_not_dates(tmp_path: Path) -> None:
    """Tests that numbers stay numbers although they could be dates without hyphens."""
    assert plain(read_bytes(tmp_path, "x\n20260131\n20260201\n")) == {"x": [20260131.0, 20260201.0]}


def test_decimal_commas(tmp_path: Path) -> None:
    """Tests that commas are decimal commas if they do not separate values, with a note, and thousands otherwise."""
    notes: list[str] = []
    assert plain(read_bytes(tmp_path, "a;b\n1,5;x\n-2;y\n", note=notes.append)) == {"a": [1.5, -2.0], "b": ["x", "y"]}
    assert len(notes) == 1
    assert read_bytes(tmp_path, 'a;b\n"1,5";x\n1.5;y\n').columns["a"].tolist() == ["1,5", "1.5"]
    assert read_bytes(tmp_path, 'a,b\n"1,500",x\n"2,500",y\n').columns["a"].tolist() == [1500.0, 2500.0]


def test_a_given_separator(tmp_path: Path) -> None:
    """Tests that any character can be the separator, and that it must be a single one."""
    assert plain(read_bytes(tmp_path, "a:b\n1:2\n", text=TextOptions(separator=":"))) == {"a": [1.0], "b": [2.0]}
    with pytest.raises(ValueError, match=r"it must be one character"):
        read_bytes(tmp_path, CSV, text=TextOptions(separator="::"))


def test_columns_are_chosen_before_the_rows_are_read(tmp_path: Path) -> None:
    """Tests that an unknown column is reported even if the rows have errors."""

    def refuse(names: list[str]) -> Wanted:
        raise ValueError(f"not among {names}")

    with pytest.raises(ValueError, match=r"not among \['a', 'b'\]"):
        read_bytes(tmp_path, "a,b\n1\n", choose=refuse)


@given(
    st.lists(
        st.tuples(st.text("ab,;\"'\n\r =\t", max_size=5), st.floats(-LARGEST_NUMBER, LARGEST_NUMBER)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(",;\t|"),
)
def test_files_written_by_python_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], separator: str
) -> None:
    """Tests that text with quotes, separators and line ends is read back, and numbers to the last bit."""
    import csv

    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator)
    writer.writerow(["name", "number"])
    writer.writerows((f"x{text}x", number) for text, number in rows)
    table = read_bytes(
        tmp_path_factory.getbasetemp(), stream.getvalue(), "h.csv", text=TextOptions(separator=separator)
    )
    assert table.columns["name"].tolist() == [f"x{text}x" for text, _ in rows]
    assert table.columns["number"].tolist() == [number for _, number in rows]


def test_separators_are_found() -> None:
    """Tests separators in lines that contain other candidates as well."""
    assert find_separator(["a b,c", "1 2,3", "4 5,6"]) == ","
    assert find_separator(["a;b", "1,5;2,5", "3,5;4,5"]) == ";"
    assert find_separator(["1,5;2,5", "3,5;4,5"]) == ";"
    assert find_separator(["x", "1", "2"]) == ","
    assert find_separator(["a,b", "1,2", "3"]) == ","
    assert find_separator(["a b", "1  2"]) == " "
    assert find_separator(["a,b", '"x;y;z",1', '"p;q",2']) == ","
    assert find_separator(["a,b", "x;y,1", "p;q,2"]) == ","
    assert find_separator(["tag;x,b", "a;1,2", "3,4", "5,6", "7,8"]) == ","
    assert find_separator(["a b", "1,5 2,5", "3,5 4,5"]) == " "
    assert find_separator(["a;b", "1", "2"]) == ";"


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
@pytest.mark.parametrize("n_short", [1, 4])
def test_words_and_decimal_commas_do_not_hide_a_ragged_row(tmp_path: Path, separator: str, n_short: int) -> None:
    """Tests that a line with too few values is an error, although spaces or commas would split all lines alike."""
    rows = [["full name", "the load"], *([f"John Smith{row}", "7.5"] for row in range(9))]
    lines = [separator.join(row) for row in rows]
    lines[5 : 5 + n_short] = ["Jane Doe"] * n_short
    with pytest.raises(ValueError, match=r"t.csv, line 6: it has 1 value and the first line 2"):
        read_bytes(tmp_path, "\n".join(lines))
    if separator != ",":
        lines = [line.replace(".", ",").replace("Jane Doe", "1,5") for line in lines]
        with pytest.raises(ValueError, match=r"t.csv, line 6: it has 1 value and the first line 2"):
            read_bytes(tmp_path, "\n".join(lines))


def test_a_file_name_that_stands_for_tabs(tmp_path: Path) -> None:
    """Tests that tabs are the separator if there are any, and that otherwise it is detected, with a note."""
    notes: list[str] = []
    check_small_table(read_bytes(tmp_path, CSV, "t.tsv", note=notes.append))
    assert notes == ["t.tsv: there are no tabs in it, so values are separated at commas"]
    table = read_bytes(tmp_path, "a,b\tc,d\n1,2\t3,4\n", "t.tab", note=lambda _: None)
    assert list(table.columns) == ["a,b", "c,d"]
    with pytest.raises(ValueError, match=r"t.tsv, line 3: it has 1 value and the first line 2, with tabs between"):
        read_bytes(tmp_path, "a,b\tc\n1,2\t3\n4,5\n6,7\n8,9", "t.tsv")
