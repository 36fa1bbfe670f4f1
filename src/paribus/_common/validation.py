"""Validation of single arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_SEED = 2**32 - 1


def is_number(value: Any) -> bool:
    """Whether a value is a number and not a boolean."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def check_whole_number(name: str, value: Any, lowest: int, highest: int | None = None) -> None:
    """Raises an error if a value is not a whole number in a range."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < lowest or (highest is not None and value > highest):
        upper = "up" if highest is None else f"to {highest:,}"
        raise ValueError(f"{name} is {value!r}: it must be a whole number from {lowest} {upper}")


def check_seed(seed: Any) -> None:
    """Raises an error if a value cannot seed a random number generator."""
    check_whole_number("seed", seed, 0, MAX_SEED)


def check_n_jobs(n_jobs: Any) -> None:
    """Raises an error if a value is not a number of threads."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}: it must be a number of threads, or -1 for all cores")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raises an error if a value is not one of the given choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(choices)}")
