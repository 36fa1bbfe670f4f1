"""Delimited text, such as CSV: detects the separator and the header, and checks that all rows have the same length."""

from __future__ import annotations

import csv
import itertools
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from paribus.io.reading import raw
from paribus.io.reading.columns import number, timestamp
from paribus.io.reading.limits import BYTES_PER_TEXT, Limits, check_memory
from paribus.io.reading.raw import Choose, Note, RawStream, RawTable, Wanted, check_names, pick
from paribus.io.reading.source import Source
from paribus.io.reading.text import TextOptions, decoded, find_encoding

NAME = "delimited text"

# In order of preference: commas come last, because they may be decimal commas.
SEPARATORS = ["\t", ";", "|", ","]
# The share of lines that a separator must split.
MIN_SPLIT_SHARE = 0.5
# How much larger the share of lines with the same number of values must be for a separator to win over a preferred one.
CLEAR_LEAD = 0.25
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
SAMPLE_LINES = 500
SAMPLE_SIZE = 2**20  # characters
# In bytes: files that fit into memory anywhere.
SMALL_FILE = 10 * 2**20


def recognizes(head: bytes, name: str) -> bool:
    """Accepts any file."""
    return True


def read(source: Source, choose: Choose, text: TextOptions, note: Note, stack: ExitStack) -> RawTable:
    """Reads a file of delimited text."""
    opened = _open(source, text, note, None)
    wanted = choose(opened.names)
    _check_memory(source, opened, wanted, text)
    return next(opened.batches(wanted))


def stream(source: Source, text: TextOptions, note: Note, stack: ExitStack) -> RawStream:
    """Opens a file of delimited text, to read it in batches."""
    return _open(source, text, note, raw.BATCH_SIZE)


def _check_memory(source: Source, opened: RawStream, wanted: Wanted, text: TextOptions) -> None:
    """Raises an error if the file cannot fit into memory, by its size and the length of its first lines."""
    size = source.size()
    if size is None or size < SMALL_FILE:
        return
    encoding = find_encoding(source, text.encoding, lambda _: None)
    sample = _sample(decoded(source, encoding, text.limits))
    n_rows = int(size / max(1, sum(len(line.encode(encoding, "replace")) for line in sample)) * len(sample))
    n_columns = len(pick(opened.names, wanted)[0])
    check_memory(source.name, n_rows, n_columns, float(n_rows) * n_columns * BYTES_PER_TEXT)


def _open(source: Source, text: TextOptions, note: Note, batch_size: int | None) -> RawStream:
    """Opens a file to read this many rows at a time; all at once if None."""
    encoding = find_encoding(source, text.encoding, note)
    layout = _Layout.of(source.name, _sample(decoded(source, encoding, text.limits)), text, note)

    def batches(wanted: Wanted) -> Iterator[RawTable]:
        lines = decoded(source, encoding, text.limits)
        return _batches(source.name, lines, layout, wanted, batch_size, text.limits)

    return RawStream(source.name, layout.names, batches, decimal_commas=layout.decimal_commas)


@dataclass(frozen=True)
class _Layout:
    """The layout of a file."""

    separator: str
    has_header: bool
    names: list[str]

    @property
    def decimal_commas(self) -> bool:
        """Whether commas may be decimal commas."""
        return self.separator != ","

    @classmethod
    def of(cls, name: str, sample: list[str], text: TextOptions, note: Note) -> _Layout:
        """Detects what the options leave open, from the first lines."""
        if not any(line.strip() for line in sample):
            raise ValueError(f"{name} is empty")
        separator, has_header = text.separator, text.has_header
        if separator is None:
            is_tabbed = not {"tsv", "tab"}.isdisjoint(name.lower().split(".")[-2:])
            has_tabs = any("\t" in line for line in sample)
            separator = "\t" if is_tabbed and has_tabs else find_separator(sample)
            if is_tabbed and not has_tabs:
                note(f"{name}: there are no tabs in it, so values are separated at {_shown(separator)}")
        _, first = next(_records(name, iter(sample), separator, text.limits), (0, []))
        if not first:
            # Lines of nothing but quotes and spaces.
            raise ValueError(f"{name} is empty")
        text.limits.check_columns(name, len(first))
        if has_header is None:
            has_header = looks_like_names(first)
            if not has_header:
                note(
                    f"{name}: the first line holds numbers, so the columns are named column_1 to column_{len(first)}; "
                    "use --header if it holds names"
                )
        names = [cell.strip() if has_header else "" for cell in first]
        names = [cell or f"column_{place}" for place, cell in enumerate(names, 1)]
        check_names(name, names)
        return cls(separator, has_header, names)


def _batches(
    name: str, lines: Iterator[str], layout: _Layout, wanted: Wanted, batch_size: int | None, limits: Limits
) -> Iterator[RawTable]:
    records = _records(name, lines, layout.separator, limits)
    if layout.has_header:
        # There was a header when the layout was detected; the file may have been truncated since.
        next(records, None)
    n_values = len(layout.names)
    kept, places = pick(layout.names, wanted)
    n_done = 0
    while True:
        columns: list[list[str]] = [[] for _ in kept]
        numbers = array("Q")
        append = [(column.append, place) for column, place in zip(columns, places, strict=True)]
        for line, record in itertools.islice(records, batch_size):
            if len(record) != n_values:
                raise ValueError(_ragged(name, line, len(record), n_values, layout.separator))
            numbers.append(line)
            for add, place in append:
                add(record[place])
        if numbers or batch_size is None:
            named: dict[str, Any] = dict(zip(kept, columns, strict=True))
            yield RawTable(name, kept, named, wanted, numbers, layout.decimal_commas, n_done)
        if batch_size is None or len(numbers) < batch_size:
            return
        n_done += len(numbers)


@dataclass(frozen=True)
class _Look:
    """How consistently a separator splits the lines of a sample."""

    separator: str
    splits_first: bool
    """Whether the first line is split into several values."""
    split: float
    """The share of lines that are split into several values."""
    alike: float
    """The share of lines that are split into the most frequent number of values."""

    @classmethod
    def of(cls, sample: list[str], separator: str) -> _Look:
        reader = csv.reader(sample, delimiter=separator, skipinitialspace=separator == " ")
        try:
            counts = [len(record) for record in reader if any(cell.strip() for cell in record)]
        except csv.Error:
            counts = []
        several = Counter(n for n in counts if n > 1)
        n_lines = max(1, len(counts))
        return cls(separator, counts[:1] > [1], several.total() / n_lines, max(several.values(), default=0) / n_lines)


def find_separator(sample: list[str]) -> str:
    """Finds the separator that splits the first line and most others, most of them into the same number of values.

    A space is a separator only if nothing else is: otherwise words would hide a line with too few values.

    >>> find_separator(["a;b", "1,5;2,5"])
    ';'
    >>> find_separator(["full name,age", "Ada Byron,36", "Alan Turing"])
    ','
    """
    if "," not in next(line for line in sample if line.strip()):
        sample = [_DECIMAL_COMMA.sub(".", line) for line in sample]
    looks = [_Look.of(sample, separator) for separator in SEPARATORS]
    splitting = [look for look in looks if look.split > MIN_SPLIT_SHARE]
    likely = [look for look in splitting if look.splits_first] or splitting
    if not likely:
        spaces = _Look.of(sample, " ")
        if spaces.splits_first and spaces.split > MIN_SPLIT_SHARE:
            return " "
        return next((look.separator for look in looks if look.splits_first), ",")
    best = likely[0]
    for look in likely[1:]:
        if look.alike > best.alike + CLEAR_LEAD:
            best = look
    return best.separator


def looks_like_names(record: list[str]) -> bool:
    """Whether a first line holds names: none of its values is a number or a timestamp."""
    return any(cell.strip() for cell in record) and all(
        number(cell) is None and timestamp(cell) is None for cell in record if cell.strip()
    )


def _sample(lines: Iterator[str]) -> list[str]:
    sample: list[str] = []
    length = 0
    for line in lines:
        sample.append(line)
        length += len(line)
        if len(sample) >= SAMPLE_LINES or length >= SAMPLE_SIZE:
            break
    return sample


def _records(name: str, lines: Iterator[str], separator: str, limits: Limits) -> Iterator[tuple[int, list[str]]]:
    """The number of the line that each record starts on, and its values. Blank lines are skipped."""
    try:
        reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=separator == " ")
    except TypeError:
        raise ValueError(f"the separator is {separator!r}: it must be one character, or 'tab'") from None
    start = 1
    while True:
        # It is global to the process, and is read for each value.
        csv.field_size_limit(limits.cell)
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"{name}, line {start}: {_reason(error, limits)}") from None
        if record is None:
            return
        if record and (len(record) > 1 or record[0].strip()):
            yield start, record
        start = reader.line_num + 1


def _reason(error: csv.Error, limits: Limits) -> str:
    text = str(error)
    if "unexpected end" in text:
        return "a quote is opened here and never closed"
    if "field larger" in text:
        return (
            f"a value is longer than {limits.cell:,} characters: close the quote if one is not closed, or raise the "
            f"limit with --limit cell={10 * limits.cell}"
        )
    if "expected after" in text:
        return "there is text after a closing quote: quotes inside a value must be doubled"
    return text


def _ragged(name: str, line: int, found: int, expected: int, separator: str) -> str:
    values = "1 value" if found == 1 else f"{found} values"
    return f"{name}, line {line}: it has {values} and the first line {expected}, with {_shown(separator)} between them"


def _shown(separator: str) -> str:
    names = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"}
    return names.get(separator, f"'{separator}'")
