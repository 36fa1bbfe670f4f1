"""Delimited text: the separator, the header, and rows that all have the same length."""

from __future__ import annotations

import csv
import itertools
from array import array
from collections import Counter
from collections.abc import Iterator

from paribus.reading.columns import Choose, Note, RawTable, check_names, moment, number, pick

# In the order in which they are preferred: a comma may be a decimal one, a space may be anything.
SEPARATORS = ["\t", ";", "|", ",", " "]
SAMPLE_LINES = 500
SAMPLE_CHARACTERS = 2**20
LONGEST_VALUE = 16 * 2**20


def read_delimited(
    name: str,
    lines: Iterator[str],
    choose: Choose,
    separator: str | None,
    has_header: bool | None,
    note: Note,
) -> RawTable:
    """Reads delimited text. `has_header` is None where the first line has to tell."""
    sample = _sample(lines)
    if not any(line.strip() for line in sample):
        raise ValueError(f"{name} is empty")
    separator = separator or find_separator(sample)
    records = _records(name, itertools.chain(sample, lines), separator)
    line, first = next(records)
    if has_header is None:
        has_header = looks_like_names(first)
        if not has_header:
            note(
                f"{name}: the first line holds numbers, so the columns are called column_1 to column_{len(first)}; "
                "--header says that it holds names"
            )
    names = [cell.strip() if has_header else "" for cell in first]
    names = [cell or f"column_{place}" for place, cell in enumerate(names, 1)]
    check_names(name, names)
    if not has_header:
        records = itertools.chain([(line, first)], records)
    wanted = choose(names)
    kept, places = pick(names, wanted)
    columns: list[list[str]] = [[] for _ in kept]
    numbers = array("Q")
    append = [(column.append, place) for column, place in zip(columns, places, strict=True)]
    for line, record in records:
        if len(record) != len(names):
            raise ValueError(_ragged(name, line, len(record), len(names), separator))
        numbers.append(line)
        for add, place in append:
            add(record[place])
    return RawTable(name, kept, dict(zip(kept, columns, strict=True)), wanted, numbers, decimal_commas=separator != ",")


def find_separator(sample: list[str]) -> str:
    """The separator with which most lines have the same number of values, and more than one.

    >>> find_separator(["a;b", "1,5;2,5"])
    ';'
    """
    best, best_share = ",", 0.0
    for separator in SEPARATORS:
        reader = csv.reader(sample, delimiter=separator, skipinitialspace=separator == " ")
        try:
            counts = Counter(len(record) for record in reader if record)
        except csv.Error:
            continue
        several = {n: count for n, count in counts.items() if n > 1}
        if not several:
            continue
        share = max(several.values()) / sum(counts.values())
        if share > best_share:
            best, best_share = separator, share
    return best


def looks_like_names(record: list[str]) -> bool:
    """Whether a first line holds names: nothing in it is a number or a moment."""
    return any(cell.strip() for cell in record) and all(
        number(cell) is None and moment(cell) is None for cell in record if cell.strip()
    )


def _sample(lines: Iterator[str]) -> list[str]:
    sample: list[str] = []
    length = 0
    for line in lines:
        sample.append(line)
        length += len(line)
        if len(sample) >= SAMPLE_LINES or length >= SAMPLE_CHARACTERS:
            break
    return sample


def _records(name: str, lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the line that each record starts on, and its values. Blank lines are left out."""
    csv.field_size_limit(LONGEST_VALUE)
    try:
        reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=separator == " ")
    except TypeError:
        raise ValueError(f"the separator is {separator!r}: it must be one character, or 'tab'") from None
    start = 1
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"{name}, line {start}: {_reason(error)}") from None
        if record is None:
            return
        if record and (len(record) > 1 or record[0].strip()):
            yield start, record
        start = reader.line_num + 1


def _reason(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text:
        return "a quote is opened here and never closed"
    if "field larger" in text:
        return f"a value is longer than {LONGEST_VALUE // 2**20} MB: is there a quote that is not closed?"
    if "expected after" in text:
        return "something stands behind a closing quote: quotes inside of a value are doubled"
    return text


def _ragged(name: str, line: int, found: int, expected: int, separator: str) -> str:
    shown = {"\t": "tabs", " ": "spaces"}.get(separator, f"'{separator}'")
    values = "1 value" if found == 1 else f"{found} values"
    return f"{name}, line {line}: it has {values} and the first line {expected}, with {shown} between them"
