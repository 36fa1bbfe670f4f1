"""The C++ kernels by their bindings: against plain implementations, and with arguments that make no sense."""

from __future__ import annotations

import random as rnd
import struct
from typing import Any

import numpy as np

from fuzzing.area import REFUSED, Area, expect
from paribus import _core
from tests.oracles import forest as forest_oracle
from tests.oracles import qcad as oracle
from tests.support.forests import grow_forest

ODD = [0.0, -0.0, 1.0, -1.0, 2.0, 1e-300, 1e300, -1e300, np.nan, np.inf, -np.inf, 2.0**53, 0.5, 99.0]

# Rounding decides which of several features makes a split that is worth less, where targets are about 10 apart.
MIN_GAIN = 1e-3


def seeds() -> list[bytes]:
    """Bytes that arguments are made of."""
    return [bytes(range(place, place + 40)) for place in range(0, 200, 20)]


def check_neighbors(data: bytes) -> bool:
    """Tests that nearest rows and distances of a small mixed table are those of the plain implementation."""
    random = np.random.default_rng(list(data[:64]) or [0])
    n, n_features = int(random.integers(2, 12)), int(random.integers(1, 4))
    context = random.choice(np.array([0.0, 1.0, 2.0, 2.5, -3.0, 7.0, np.nan]), (n, n_features))
    categorical = random.integers(0, 2, n_features).astype(np.uint8)
    context[:, categorical == 1] = np.abs(np.round(context[:, categorical == 1]))
    tie_order = random.permutation(n).astype(np.uint32)
    k = int(random.integers(1, n))
    engine = _core.QcadEngine(
        np.ascontiguousarray(context.T), categorical, np.empty((0, n)), tie_order, np.ones((k, 1), dtype=np.uint8)
    )
    rows = np.arange(n)
    found, distances = engine.neighbors(context, rows, 1 + n % 2)
    row = int(random.integers(n))
    group, expected = oracle.reference_group(context, context[row], row, k, categorical, tie_order)
    expect(found[row].tolist() == group, f"neighbors {found[row]} instead of {group}")
    expect(distances[row].tolist() == expected, f"distances {distances[row]} instead of {expected}")
    return True


def check_forest(data: bytes) -> bool:
    """Tests that the leaves of a tree are those of the plain implementation, for known and for new rows."""
    random = np.random.default_rng(list(data[:64]) or [0])
    n, n_features = int(random.integers(8, 24)), int(random.integers(1, 4))
    columns = random.choice(np.array([0.0, 1.0, 2.0, 2.5, -3.0, 7.0, 1e9, np.nan]), (n_features, n))
    categorical = random.integers(0, 2, n_features).astype(np.uint8)
    columns[categorical == 1] = np.minimum(np.abs(np.round(columns[categorical == 1])), 7.0)
    # No two splits are worth the same by chance.
    target = random.permutation(n) + random.integers(2**20, size=n) / 2.0**21
    smallest = int(random.integers(1, 4))
    features = np.arange(n_features, dtype=np.uint16)
    forest = grow_forest(
        columns, categorical, target, features, n_features, smallest, 1, n // 2, int(random.integers(99))
    )
    asked = np.vstack([columns.T, np.full((1, n_features), np.nan), np.full((1, n_features), 5.0)])
    found = np.array([forest.weights(row, -1) for row in np.ascontiguousarray(asked)])
    sample = np.flatnonzero(found.any(axis=0)).tolist()
    tree = forest_oracle.grow(sample, columns, categorical, target, smallest)
    if _least_gain(tree) < MIN_GAIN:
        return False
    for row, weights in zip(asked, found, strict=True):
        leaf, leaves = np.flatnonzero(weights).tolist(), forest_oracle.find(tree, row)
        expect(leaf in leaves, f"leaf {leaf} instead of one of {leaves}")
    return True


def _least_gain(node: Any) -> float:
    """The smallest gain of the splits of a tree."""
    return np.inf if isinstance(node, list) else min(float(node[0].gain), *(_least_gain(each) for each in node[1:]))


def _array(random: rnd.Random, dtype: Any, n_dimensions: int, usual: tuple[int, ...] = ()) -> Any:
    """An array that may have any size and values, also ones that do not fit its meaning; mostly of the usual shape."""
    shape = [random.choice((0, 1, 2, 3, 5, 9)) for _ in range(n_dimensions)]
    if usual and random.random() < 0.9:
        shape = list(usual)
    size = int(np.prod(shape))
    if np.dtype(dtype).kind == "f":
        values = [random.choice(ODD) for _ in range(size)]
    else:
        top = np.iinfo(dtype).max
        values = [random.choice((0, 0, 1, 1, 2, 3, top)) for _ in range(size)]
    return np.array(values, dtype=dtype).reshape(shape)


def check_arguments(data: bytes) -> bool:
    """Tests that arguments that make no sense are refused, and that those which make some give arrays."""
    random = rnd.Random(data[:64])
    try:
        _try(random)
    except (*REFUSED, RuntimeError, IndexError):
        return False
    return True


def _try(random: rnd.Random) -> None:
    n, n_features = random.choice((1, 2, 5, 9)), random.choice((1, 2, 3))

    def floats(*usual: int) -> Any:
        return _array(random, np.float64, len(usual), usual)

    def flags(*usual: int) -> Any:
        return _array(random, np.uint8, len(usual), usual)

    def positions(*usual: int) -> Any:
        found = _array(random, np.int64, len(usual), usual)
        return np.where(found > n, random.choice((-1, n, n - 1, 2**62)), found)

    kind = random.randrange(8)
    if kind == 0:
        n_behavior = random.choice((0, 1, 2))
        engine = _core.QcadEngine(
            floats(n_features, n), flags(n_features), floats(n_behavior, n), np.arange(n, dtype=np.uint32),
            flags(random.choice((1, n)), n_features), None, 0, random.choice((0, 2, 10)), random.choice((0, 1, 100)),
            True,
        )  # fmt: skip
        engine.match(floats(3, n_features), floats(3, n_behavior))
        engine.score(floats(3, n_features), floats(3, n_behavior), positions(3), True)
        engine.explain(floats(3, n_features), floats(3, n_behavior), positions(3))
    elif kind == 1:
        index = _core.RowIndex(floats(n, 2), None if random.random() < 0.8 else _array(random, np.uint32, 1, (n,)))
        index.find(floats(3, 2))
        index.find_all()
    elif kind in (2, 3):
        table = _core.FeatureTable(floats(n, n_features), flags(n_features))
        samples = _core.Samples(np.ones(n, dtype=np.uint8), None, random.choice((0, 1, 3)), random.choice((0, 1, n)), 1)
        target = _core.Target(
            floats(n, n_features), random.choice((0, 0, 0, 1, 7)), random.choice(ODD), random.choice(ODD)
        )
        features = _array(random, np.uint16, 1, (n_features,)) % random.choice((n_features, 7))
        forest = _core.Forest(table, samples, target, features, random.choice((0, 1, 5)), random.choice((0, 1, 3)), 1)
        rows, fitted = floats(3, n_features), positions(3)
        forest.quantiles(rows, fitted, random.choice((0, 1, 5)))
        forest.atoms(rows, fitted)
        forest.deviations(rows, fitted)
        forest.surprises(rows, fitted, floats(3), random.choice(ODD), random.choice(ODD))
        forest.class_shares(rows, fitted, random.choice(ODD))
        forest.weights(floats(n_features), random.choice((-1, 0, n, 2**62)))
    elif kind == 4:
        _core.column_surprises(floats(n), random.choice(ODD), floats(n), flags(n))
    elif kind == 5:
        smoothing = _core.Smoothing(
            random.choice(("plain", "asinh", "log", "x")), *(random.choice(ODD) for _ in range(6))
        )
        smoothing.transformed(floats(n))
        smoothing.slopes(floats(n))
    elif kind == 6:
        _core.Samples.stored(n, _array(random, np.uint32, 1, (n,)), _array(random, np.uint32, 1, (2,)))
        _core.splice_forests(flags(9), random.choice((0, 1, 2)), flags(9))
    else:
        _core.check_rows(floats(n, n_features), flags(n_features), floats(n_features), random.choice(ODD))
        _core.checksum(flags(n))


def sealed_forest(data: bytes) -> bytes:
    """The bytes of a forest with checksums that match, so that what comes after them is reached."""
    if len(data) < 40:
        return data
    n_trees, n_features = struct.unpack_from("<II", data, 12)
    directory = 40 + (2 * n_features + 7) // 8 * 8
    end = directory + 24 * n_trees
    if end > len(data):
        return data
    sealed = bytearray(data)
    for place in range(directory, end, 24):
        begin, size = struct.unpack_from("<QQ", sealed, place)
        if begin + size <= len(data):
            struct.pack_into("<Q", sealed, place + 16, _checksum(sealed[begin : begin + size]))
    struct.pack_into("<Q", sealed, 0, _checksum(sealed[8:end]))
    return bytes(sealed)


def _checksum(data: bytearray) -> int:
    return _core.checksum(np.frombuffer(bytes(data), dtype=np.uint8))


def check_packed(data: bytes) -> bool:
    """Tests that bytes that are no forest are refused, and that a forest that passes does not crash or hang."""
    if sum(data) % 4:
        data = sealed_forest(data)
    rows, table, samples, target = _small_table()
    try:
        forest = _core.Forest(table.kinds(), samples, target, rows, np.frombuffer(data, dtype=np.uint8))
        forest.quantiles(rows, np.full(len(rows), -1, dtype=np.int64), 5)
        forest.hold()
        forest.deviations(rows, np.arange(len(rows), dtype=np.int64))
    except (*REFUSED, RuntimeError):
        return False
    return True


def _small_table() -> tuple[Any, ...]:
    """Rows of a number and a category, and what forests over them are made of."""
    rows = np.column_stack([np.arange(30.0) % 11, np.arange(30) % 3])
    table = _core.FeatureTable(rows, np.array([0, 1], dtype=np.uint8))
    samples = _core.Samples(np.ones(len(rows), dtype=np.uint8), None, 2, len(rows) // 2, 1)
    return rows, table, samples, _core.Target(rows, 0, 0.0, 11.0)


def packed_seeds() -> list[bytes]:
    """A small forest as it is stored."""
    _, table, samples, target = _small_table()
    return [_core.Forest(table, samples, target, np.array([0, 1], dtype=np.uint16), 2, 1, 1).packed().tobytes()]


AREAS = [
    Area("nearest rows", seeds, check_neighbors, 0.03, (), "distances and order in plain Python"),
    Area("trees", seeds, check_forest, 0.02, (), "trees in plain Python, with exact fractions"),
    Area("arguments of kernels", seeds, check_arguments, 0.03),
    Area("stored forests", packed_seeds, check_packed, 0.03),
]
