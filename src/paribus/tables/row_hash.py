"""A hash of the values of a row, and the order of rows by it, which does not depend on their original order."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from decimal import Decimal
from numbers import Real

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions

Hashes = npt.NDArray[np.uint64]

# The constants of splitmix64 (Steele, Lea and Flood, 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# Instead of the bits of a number; no number has these.
_MISSING = np.uint64(0x7FF8000000000001)
# The number of rows that are compared at a time, to limit memory.
_BLOCK_SIZE = 65_536
# The number of rounds in which categories of the same content are distinguished by the categories of other columns.
_N_REFINEMENTS = 3


def mix(values: Hashes) -> Hashes:
    """Random bits that are a function of the given ones: the output function of splitmix64.

    >>> mix(np.zeros(1, dtype=np.uint64))
    array([16294208416658607535], dtype=uint64)
    """
    mixed = values + _STEP
    mixed ^= mixed >> np.uint64(30)
    mixed *= _FACTORS[0]
    mixed ^= mixed >> np.uint64(27)
    mixed *= _FACTORS[1]
    mixed ^= mixed >> np.uint64(31)
    return mixed


def hash_rows(columns: Sequence[Floats], categories: Sequence[Hashes | None]) -> Hashes:
    """A hash of each row, the same for equal rows on every machine.

    Parameters
    ----------
    columns : sequence of arrays
        Numbers, or codes of categories; NaN where a value is missing.
    categories : sequence
        By column: the hash of each code, as of `hash_names` or `hash_contents`; None for numbers.

    Returns
    -------
    array of uint64

    Examples
    --------
    >>> names = hash_names(["dry", "wet"])
    >>> first = hash_rows([np.array([0.0, 1.5]), np.array([1.0, np.nan])], [None, names])
    >>> second = hash_rows([np.array([1.5, -0.0]), np.array([np.nan, 0.0])], [None, names[1:]])
    >>> bool((first == second[::-1]).all())
    True
    """
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, of_codes in zip(columns, categories, strict=True):
        # Chained, so that it matters which column holds a value.
        hashes = mix(hashes ^ (_number_bits(column) if of_codes is None else _category_bits(column, of_codes)))
    return hashes


def hash_names(categories: Sequence[Hashable]) -> Hashes:
    """A hash of each category that depends on its name alone."""
    return np.array([_hash_category(each) for each in categories], dtype=np.uint64)


def hash_contents(columns: Sequence[Floats], categories: Sequence[Sequence[Hashable] | None]) -> list[Hashes | None]:
    """For each column, a hash of each category that depends on the rows that have it, and not on its name.

    It is the lowest hash that the other values of these rows have, so that a changed row hardly ever changes it. Of
    categories that have the same lowest one, all of their rows decide. Only if these are the same in number and values,
    so that two categories differ in nothing but their names, do the names.

    Parameters
    ----------
    columns : sequence of arrays
        Numbers, or codes of categories; NaN where a value is missing.
    categories : sequence
        By column: what each code stands for; None for numbers.

    Returns
    -------
    list
        By column: the hash of each code; None for numbers.

    Examples
    --------
    >>> numbers, codes = np.array([0.0, 1.5, 2.5]), np.array([1.0, 0.0, 1.0])
    >>> _, first = hash_contents([numbers, codes], [None, ["dry", "wet"]])
    >>> _, second = hash_contents([numbers, 1.0 - codes], [None, ["humid", "arid"]])
    >>> bool((first == second[::-1]).all())
    True
    """
    found: list[Hashes | None] = [
        None if names is None else np.zeros(len(names), dtype=np.uint64) for names in categories
    ]
    if all(names is None for names in categories):
        return found
    for _ in range(_N_REFINEMENTS):
        rows = hash_rows(columns, found)
        refined = [
            hashes if hashes is None else _refine(hashes, column, rows)
            for column, hashes in zip(columns, found, strict=True)
        ]
        found = refined
        if not any(_is_shared(hashes).any() for hashes in found if hashes is not None):
            return found
    for names, hashes in zip(categories, found, strict=True):
        if names is not None and hashes is not None and (shared := _is_shared(hashes)).any():
            hashes[shared] = mix(hashes[shared] ^ hash_names(names)[shared])
    return found


def row_keys(hashes: Hashes) -> Hashes:
    """Random numbers by which rows are drawn: they depend on the row's hash, and for equal rows on their number.

    >>> keys = row_keys(np.array([7, 3, 7], dtype=np.uint64))
    >>> len(set(keys.tolist())), keys[1] == row_keys(np.array([3, 5], dtype=np.uint64))[0]
    (3, np.True_)
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    numbers = np.arange(len(hashes))
    is_new = np.append(True, ordered[1:] != ordered[:-1])
    occurrences = numbers - np.maximum.accumulate(np.where(is_new, numbers, 0))
    keys = np.empty_like(hashes)
    keys[order] = mix(ordered ^ mix(occurrences.astype(np.uint64)))
    return keys


def canonical_order(hashes: Hashes, *parts: Floats) -> Positions:
    """The order of rows by their keys, which is random but depends only on their values.

    The first rows in it are a sample, which hardly changes with a single row of the table. Of unequal rows with equal
    hashes, the values decide which has which key.

    Parameters
    ----------
    hashes : array
        One per row.
    *parts : arrays
        The rows, in one or more parts: [row][column].

    Returns
    -------
    array
        The position of each row in this order.

    Examples
    --------
    >>> rows = np.array([[2.0], [1.0], [5.0]])
    >>> order = canonical_order(np.array([7, 7, 3], dtype=np.uint64), rows)
    >>> again = canonical_order(np.array([3, 7, 7], dtype=np.uint64), rows[::-1])
    >>> bool((rows[order] == rows[::-1][again]).all())
    True
    """

    def take(positions: Positions) -> Floats:
        return np.hstack([part[positions] for part in parts])

    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    same_hash = np.flatnonzero(ordered[1:] == ordered[:-1])
    mistaken = [
        places[~_equal(take(order[places]), take(order[places + 1]))]
        for begin in range(0, len(same_hash), _BLOCK_SIZE)
        for places in [same_hash[begin : begin + _BLOCK_SIZE]]
    ]
    for shared in np.unique(ordered[np.concatenate(mistaken)]) if mistaken else ():
        begin, end = np.searchsorted(ordered, shared, "left"), np.searchsorted(ordered, shared, "right")
        some = order[begin:end]
        order[begin:end] = some[np.lexsort(take(some).T[::-1])]
    return order[np.argsort(row_keys(ordered), kind="stable")]


def _equal(some: Floats, others: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(((some == others) | (np.isnan(some) & np.isnan(others))).all(axis=1))


def _number_bits(values: Floats) -> Hashes:
    # Minus zero plus zero is zero.
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return np.where(np.isnan(values), _MISSING, bits)


def _category_bits(codes: Floats, of_codes: Hashes) -> Hashes:
    known = np.append(of_codes, _MISSING)
    return known[np.where(np.isnan(codes), len(of_codes), codes).astype(np.int64)]


def _refine(hashes: Hashes, codes: Floats, rows: Hashes) -> Hashes:
    """Distinguishes categories with the same hash by the hashes of the rows that have them."""
    shared = _is_shared(hashes)
    if not shared.any():
        return hashes
    present = ~np.isnan(codes)
    places, own = codes[present].astype(np.int64), rows[present]
    lowest = np.full(len(hashes), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(lowest, places, own)
    refined = np.where(shared, mix(hashes ^ lowest), hashes)
    if not (shared := _is_shared(refined)).any():
        return refined
    total = np.zeros(len(hashes), dtype=np.uint64)
    np.add.at(total, places, mix(own))
    return np.where(shared, mix(refined ^ total), refined)


def _is_shared(hashes: Hashes) -> npt.NDArray[np.bool_]:
    """Whether another category has the same hash."""
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] > 1)


def _hash_category(value: Hashable) -> np.uint64:
    text = value if isinstance(value, str) else _as_text(value)
    return np.uint64(
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    )


def _as_text(value: Hashable) -> str:
    """Numbers that are equal are one category, whatever their type."""
    if isinstance(value, bool | np.bool_ | Real | Decimal):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)
