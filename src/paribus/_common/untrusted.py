"""Parts of a file that may have been tampered with: each is checked when it is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER, Floats


class DamagedError(ValueError):
    """A file that is not what it was when it was written."""


class Fields:
    """Fields of a header, each checked when it is asked for."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def get(self, name: str, is_right: Callable[[Any], bool]) -> Any:
        """A field that fulfils a condition."""
        if name not in self._fields or not is_right(self._fields[name]):
            raise DamagedError(f"{name} is not what it should be")
        return self._fields[name]

    def whole(self, name: str, lowest: int, highest: int) -> int:
        """A whole number."""
        return int(self.get(name, lambda value: is_whole(value) and lowest <= value <= highest))

    def flag(self, name: str) -> bool:
        """A truth value."""
        return bool(self.get(name, lambda value: isinstance(value, bool)))

    def positions(self, name: str, n: int) -> list[int]:
        """Some of the first n whole numbers, each once."""
        found: list[int] = self.get(name, lambda value: isinstance(value, list) and 0 < len(value) <= n)
        if not all(is_whole(p) and 0 <= p < n for p in found) or len(set(found)) < len(found):
            raise DamagedError(f"{name} is not what it should be")
        return found


def array_of(arrays: Mapping[str, npt.NDArray[Any]], name: str, dtype: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array of that name, type and shape."""
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.shape != shape:
        raise DamagedError(f"{name} is not what it should be")
    return array


def with_quiet_nan(array: Floats) -> Floats:
    """The same numbers, and one kind of NaN: some, such as R's, make noise when they are computed with."""
    return np.where(np.isnan(array), np.nan, array)


def floats_of(arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...]) -> Floats:
    """The array of that name and shape, of numbers within range."""
    array = with_quiet_nan(array_of(arrays, name, np.float64, shape))
    if (np.abs(array) > LARGEST_NUMBER).any():
        raise DamagedError(f"{name} has a number that is out of range")
    return array


def is_permutation(orders: npt.NDArray[Any]) -> bool:
    """Whether each row is some order of the first whole numbers."""
    return bool((np.sort(orders, axis=1) == np.arange(orders.shape[1])).all())


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether it is a number, and no truth value."""
    # Whole numbers can be larger than any of the others.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
