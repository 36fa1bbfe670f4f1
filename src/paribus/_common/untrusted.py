"""Validation of parts of a file that may be damaged or tampered with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER, Floats


class DamagedError(ValueError):
    """Raised for a file that was changed after it was written."""


class Fields:
    """Fields of a header, each validated when it is read."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def get(self, name: str, is_right: Callable[[Any], bool]) -> Any:
        """A field that satisfies a condition."""
        if name not in self._fields or not is_right(self._fields[name]):
            raise DamagedError(f"{name} is invalid")
        return self._fields[name]

    def whole(self, name: str, lowest: int, highest: int) -> int:
        """A field that is a whole number from `lowest` to `highest`."""
        return int(self.get(name, lambda value: is_whole(value) and lowest <= value <= highest))

    def flag(self, name: str) -> bool:
        """A field that is a boolean."""
        return bool(self.get(name, lambda value: isinstance(value, bool)))

    def positions(self, name: str, n: int) -> list[int]:
        """A field that is a list of distinct positions from 0 to n - 1."""
        found: list[int] = self.get(name, lambda value: isinstance(value, list) and 0 < len(value) <= n)
        if not all(is_whole(p) and 0 <= p < n for p in found) or len(set(found)) < len(found):
            raise DamagedError(f"{name} is invalid")
        return found


def array_of(arrays: Mapping[str, npt.NDArray[Any]], name: str, dtype: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array with this name, which must have this data type and shape."""
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.shape != shape:
        raise DamagedError(f"{name} is invalid")
    return array


def with_quiet_nan(array: Floats) -> Floats:
    """The same numbers, with one kind of NaN: computing with signaling NaNs, such as R's, causes warnings."""
    return np.where(np.isnan(array), np.nan, array)


def floats_of(arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...]) -> Floats:
    """The array of floats with this name and shape, whose numbers must be within range."""
    array = with_quiet_nan(array_of(arrays, name, np.float64, shape))
    if (np.abs(array) > LARGEST_NUMBER).any():
        raise DamagedError(f"{name} has a number out of range")
    return array


def is_permutation(orders: npt.NDArray[Any]) -> bool:
    """Whether each row is a permutation of 0, 1, 2, ..."""
    return bool((np.sort(orders, axis=1) == np.arange(orders.shape[1])).all())


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number and not a boolean."""
    # Python's whole numbers can be larger than any float.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
