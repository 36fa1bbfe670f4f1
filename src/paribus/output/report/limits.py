"""Limits on what the page shows of each row, to keep it small for wide tables and long texts."""

from __future__ import annotations

from dataclasses import dataclass

# A page of up to this many explained rows stays below a megabyte; beyond that, the limit grows with the rows.
ROWS_PER_MEGABYTE = 50
# Bytes.
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """The limits of what is shown of one row."""

    behavior: int
    """Behavioral features with their partial score."""
    beans: int
    """Behavioral features with a beanplot."""
    profiles: int
    """Contextual features with a picture."""
    further: int
    """Contextual features in words only."""
    nearest: int
    """Rows in the table of the nearest rows."""
    nearest_context: int
    """Contextual columns in the table of the nearest rows."""
    nearest_behavior: int
    """Behavioral columns in the table of the nearest rows."""
    nearest_others: int
    """Columns without a role in the table of the nearest rows."""
    name: int
    """Characters of a name."""
    cell: int
    """Characters of a value in the table of the nearest rows."""
    sentence: int
    """Characters of a sentence or a warning; the data of the page have the whole sentence."""
    warnings: int
    """Warnings."""


# From the most detailed to what always fits: the first one that keeps the page small enough is used.
STEPS = (
    Limits(
        behavior=60,
        beans=12,
        profiles=6,
        further=10,
        nearest=10,
        nearest_context=6,
        nearest_behavior=6,
        nearest_others=2,
        name=40,
        cell=24,
        sentence=3000,
        warnings=10,
    ),
    Limits(
        behavior=60,
        beans=6,
        profiles=4,
        further=6,
        nearest=10,
        nearest_context=4,
        nearest_behavior=4,
        nearest_others=1,
        name=32,
        cell=18,
        sentence=3000,
        warnings=5,
    ),
    Limits(
        behavior=20,
        beans=3,
        profiles=2,
        further=2,
        nearest=6,
        nearest_context=2,
        nearest_behavior=3,
        nearest_others=1,
        name=24,
        cell=14,
        sentence=1000,
        warnings=2,
    ),
    Limits(
        behavior=4,
        beans=2,
        profiles=2,
        further=0,
        nearest=6,
        nearest_context=2,
        nearest_behavior=3,
        nearest_others=0,
        name=16,
        cell=10,
        sentence=400,
        warnings=2,
    ),
)


def max_page_bytes(n_rows: int) -> int:
    """The maximum size of a page with pictures of this many rows, without its data.

    >>> max_page_bytes(10), max_page_bytes(100)
    (900000, 1800000)
    """
    return MEGABYTE * 9 // 10 * max(n_rows, ROWS_PER_MEGABYTE) // ROWS_PER_MEGABYTE


def max_data_bytes(n_rows: int) -> int:
    """The maximum size of the data of a page that lists this many rows.

    >>> max_data_bytes(50), max_data_bytes(10_000)
    (100000, 4000000)
    """
    return MEGABYTE // 10 if n_rows <= ROWS_PER_MEGABYTE else 4 * MEGABYTE
