"""How much the page says of each row, so that it stays small however wide the table and however long its texts."""

from __future__ import annotations

from dataclasses import dataclass

# A page of this many explained rows, or fewer, is below a megabyte. More rows may take as much each.
ROWS_IN_A_MEGABYTE = 50
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """What is shown of one row at most."""

    behavior: int
    """Behavioral features with their partial score."""
    profiles: int
    """Contextual features with a picture, ..."""
    further: int
    """... and those in words."""
    nearest: int
    """The nearest rows, and the columns of their table."""
    nearest_context: int
    nearest_behavior: int
    nearest_others: int
    name: int
    """Letters of a name, ..."""
    cell: int
    """... of a value in the table of the nearest rows, ..."""
    sentence: int
    """... and of a sentence or a warning."""
    warnings: int


# From all that is useful down to what always fits. The first that keeps the page small is taken.
STEPS = (
    Limits(12, 6, 10, 10, 6, 6, 2, name=40, cell=24, sentence=3000, warnings=10),
    Limits(6, 4, 6, 10, 4, 4, 1, name=32, cell=18, sentence=1500, warnings=5),
    Limits(3, 2, 0, 6, 2, 3, 0, name=16, cell=10, sentence=400, warnings=2),
)


def most_bytes(n_rows: int) -> int:
    """How large the page may be.

    >>> most_bytes(10), most_bytes(100)
    (1000000, 2000000)
    """
    return MEGABYTE * max(n_rows, ROWS_IN_A_MEGABYTE) // ROWS_IN_A_MEGABYTE
