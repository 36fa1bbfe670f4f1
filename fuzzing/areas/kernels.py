"""The C++ kernels by their bindings: against plain implementations, and with arguments that make no sense."""

from __future__ import annotations

import random as rnd
from typing import Any

import numpy as np

from fuzzing.area import REFUSED, Area, expect
from paribus import _core
from tests.oracles import qcad as oracle

ODD = [0.0, -0.0, 1.0, -1.0, 2.0, 1e-300, 1e300, -1e300, np.nan, np.inf, -np.inf, 2.0**53, 0.5, 99.0]


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


def _array(random: rnd.Random, dtype: Any, n_dimensions: int) -> Any:
    """An array that may have any size and values, also ones that do not fit its meaning."""
    shape = [random.choice((0, 1, 2, 3, 5, 9)) for _ in range(n_dimensions)]
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
    def floats(n: int) -> Any:
        return _array(random, np.float64, n)

    def flags(n: int) -> Any:
        return _array(random, np.uint8, n)

    kind = random.randrange(6)
    if kind == 0:
        n = random.choice((1, 2, 5))
        engine = _core.QcadEngine(
            floats(2), flags(1), floats(2), np.arange(n, dtype=np.uint32), flags(2), None, 0,
            random.choice((0, 2, 10)), random.choice((0, 1, 100)), True,
        )  # fmt: skip
        engine.score(floats(2), floats(2), _array(random, np.int64, 1), True)
    elif kind == 1:
        index = _core.RowIndex(floats(2), None if random.random() < 0.5 else _array(random, np.uint32, 1))
        index.find(floats(2))
        index.find_all()
    elif kind == 2:
        table = _core.FeatureTable(floats(2), flags(1))
        samples = _core.Samples(flags(1), None, random.choice((0, 1, 3)), random.choice((0, 1, 2, 9)), 1)
        target = _core.Target(floats(2), random.choice((0, 1, 7)), random.choice(ODD), random.choice(ODD))
        forest = _core.Forest(
            table, samples, target, _array(random, np.uint16, 1), random.choice((0, 1, 5)), random.choice((0, 1, 3)), 1
        )
        forest.quantiles(floats(2), _array(random, np.int64, 1), random.choice((0, 1, 5)))
    elif kind == 3:
        _core.column_surprises(floats(1), random.choice(ODD), floats(1), flags(1))
    elif kind == 4:
        smoothing = _core.Smoothing(
            random.choice(("plain", "asinh", "log", "x")), *(random.choice(ODD) for _ in range(6))
        )
        smoothing.transformed(floats(1))
        smoothing.slopes(floats(1))
    else:
        _core.check_rows(floats(2), flags(1), floats(1), random.choice(ODD))
        _core.checksum(flags(1))


def check_packed(data: bytes) -> bool:
    """Tests that bytes that are no forest are refused, and that a forest that passes does not crash or hang."""
    rows = np.column_stack([np.arange(12.0), np.arange(12) % 3])
    table = _core.FeatureTable(rows, np.array([0, 1], dtype=np.uint8))
    samples = _core.Samples(np.ones(12, dtype=np.uint8), None, 2, 6, 1)
    target = _core.Target(rows, 0, 0.0, 11.0)
    try:
        forest = _core.Forest(table.kinds(), samples, target, np.frombuffer(data, dtype=np.uint8))
        forest.quantiles(rows, np.full(12, -1, dtype=np.int64), 5)
    except (*REFUSED, RuntimeError):
        return False
    return True


def packed_seeds() -> list[bytes]:
    """A small forest as it is stored."""
    rows = np.column_stack([np.arange(12.0), np.arange(12) % 3])
    table = _core.FeatureTable(rows, np.array([0, 1], dtype=np.uint8))
    samples = _core.Samples(np.ones(12, dtype=np.uint8), None, 2, 6, 1)
    forest = _core.Forest(table, samples, _core.Target(rows, 0, 0.0, 11.0), np.array([1], dtype=np.uint16), 1, 1, 1)
    return [forest.packed().tobytes()]


AREAS = [
    Area("nearest rows", seeds, check_neighbors, 0.02, (), "distances and order in plain Python"),
    Area("arguments of kernels", seeds, check_arguments, 0.02),
    Area("stored forests", packed_seeds, check_packed, 0.015),
]
