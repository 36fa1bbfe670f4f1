"""Limits of the tables that are read: larger ones are rejected with a sentence that names the limit to raise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from paribus._common.memory import check_fits

# In bytes per value while it is read: each text is a Python object, and numbers of Parquet take eight bytes.
BYTES_PER_TEXT = 60
BYTES_PER_NUMBER = 9
# Files that expand to less are never rejected for it: in bytes, and in values.
SMALL_SIZE = 64 * 2**20
SMALL_TABLE = 5_000_000


@dataclass(frozen=True)
class Limits:
    """The largest table that is read; each number can be raised with `--limit NAME=NUMBER`."""

    columns: int = 10_000
    """The number of columns."""
    cell: int = 1_000_000
    """The length of a value, in characters."""
    line: int = 16_000_000
    """The length of a line of text, in characters."""
    nesting: int = 100
    """The depth of lists and objects in JSON."""
    expansion: int = 200
    """The maximum expansion of a gzipped file (from 64 MiB on), and the maximum number of values in a table of JSON
    lines for each value that occurs (from 5 million on)."""

    def check_columns(self, source: str, n_columns: int) -> None:
        """Raises an error if a table has too many columns."""
        if n_columns > self.columns:
            raise ValueError(
                f"{source}: it has more than {self.columns:,} columns: raise the limit with "
                f"--limit columns={rounded_up(n_columns)} if that is right"
            )

    def check_cell(self, place: str, length: int) -> None:
        """Raises an error if a value is too long; `place` is its place in messages."""
        if length > self.cell:
            raise ValueError(
                f"{place}: a value is longer than {self.cell:,} characters: raise the limit with "
                f"--limit cell={rounded_up(length)} if that is right"
            )

    def check_sparse(self, source: str, n_rows: int, n_columns: int, n_written: int) -> None:
        """Raises an error if nearly all values of a table are missing, and there are many of them."""
        n_values = n_rows * n_columns
        if n_values > max(SMALL_TABLE, self.expansion * n_written):
            raise ValueError(
                f"{source}: its {n_rows:,} rows have {n_columns:,} distinct keys, so only {n_written:,} of "
                f"{n_values:,} values would not be missing: name the columns to read with --context and --behavior, or "
                f"raise the limit with --limit expansion={rounded_up(n_values // max(1, n_written) + 1)}"
            )

    def max_decompressed(self, n_bytes: int) -> int:
        """How large a compressed file of this size may become, in bytes."""
        return max(SMALL_SIZE, self.expansion * n_bytes)


DEFAULT_LIMITS = Limits()


def parse_limits(texts: Sequence[str]) -> Limits:
    """The default limits, with those that are given as NAME=NUMBER changed.

    >>> parse_limits(["columns=20000", "cell=5_000_000"])
    Limits(columns=20000, cell=5000000, line=16000000, nesting=100, expansion=200)
    """
    names = [each.name for each in fields(Limits)]
    changed: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        name, value = name.strip().lower(), value.strip().replace("_", "")
        if name not in names or not value.isascii() or not value.isdecimal() or not 0 < int(value[:20]) <= 10**15:
            raise ValueError(f"--limit is {text!r}: it must be NAME=NUMBER, with one of the names {', '.join(names)}")
        changed[name] = int(value)
    return replace(DEFAULT_LIMITS, **changed)


def check_memory(source: str, n_rows: int, n_columns: int, n_bytes: float) -> None:
    """Raises an error if a table of this size cannot fit into memory, before it is read."""
    check_fits(
        f"{source}: reading {n_rows:,} rows of {n_columns:,} columns at once",
        n_bytes,
        "add --memory to read it in batches, or read fewer columns",
    )


def rounded_up(number: int) -> int:
    """A limit that is raised to a round number.

    >>> rounded_up(10_001), rounded_up(379)
    (20000, 400)
    """
    unit = int(10 ** (len(str(number)) - 1))
    return -(-number // unit) * unit
