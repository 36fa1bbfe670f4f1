"""Contextual anomalies put into a table, so that it is known where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from paribus.datasets.catalog import Dataset
from paribus.encoding import encode_behavior
from paribus.parameters import check_whole_number
from paribus.table import Columns, Floats, Table, assign_roles

# What the paper adds or takes away, in ranges of the feature.
LEAST_PERTURBATION, MOST_PERTURBATION = 0.1, 0.5
# Kuo et al. scale the feature to [18, 30], and add up to 50.
MOST_SHIFT = 50 / (30 - 18)
# Song et al. take the farthest of so many others, or of a quarter of the rows if that is less.
SWAP_CANDIDATES = 50

Change: TypeAlias = Callable[[np.random.RandomState, Floats, npt.NDArray[np.int64]], Floats]


def inject(
    table: Any,
    contextual: Columns | None = None,
    behavioral: Columns | None = None,
    *,
    n: int | None = None,
    seed: int = 0,
    scheme: str = "perturb",
) -> tuple[Any, npt.NDArray[np.int64]]:
    """Changes the behaviour of some rows, drawn at random, and says which.

    "perturb" is the scheme of Li and van Leeuwen (2023): in each behavioural feature, a number that is uniform on
    [-0.5, -0.1] and [0.1, 0.5] is added to the value scaled to [0, 1]. "swap" is that of Song et al. (2007): the row
    gets the behaviour of another, the one of 50 random rows (of a quarter of the table if that is less) whose scaled
    behaviour is farthest from its own. "shift" is that of Kuo et al. (2018): a number that is uniform on [0, 50 / 12]
    is added to the scaled value, which is their [0, 50] on the scale from 18 to 30; here to each behavioural feature.

    Rows are replaced, as in the paper, never added. Nothing is cut at the ends of a feature's range. The result is in
    the units of the table: all other values stay the same to the last bit. A missing value stays missing, and so does
    a feature that is constant; a row without any other behaviour is not drawn.

    Parameters
    ----------
    table : Dataset, dataframe, dict of columns or array
        Any table that `QCAD` takes. A `Dataset` brings its roles, and its number of anomalies.
    contextual, behavioral : list of names or positions
        The roles of the columns, as for `QCAD`.
    n : int
        How many rows.
    seed : int
        The same seed gives the same injection.
    scheme : str
        "perturb", "swap" or "shift".

    Returns
    -------
    table
        The changed table, of the same type as the given one (which is never changed); for a `Dataset` its table.
    labels : array of shape (rows,)
        1 for an injected row, 0 for all others.

    Examples
    --------
    >>> from paribus import datasets
    >>> weather = datasets.load("weather")
    >>> table, labels = inject(weather, n=20, seed=1)
    >>> labels.sum(), table["month"] == weather.table["month"]
    (np.int64(20), True)
    """
    if isinstance(table, Dataset):
        if contextual is not None or behavioral is not None:
            raise ValueError("a data set brings its own roles: pass its table to give other ones")
        n = table.n_anomalies if n is None else n
        table, contextual, behavioral = table.table, table.contextual, table.behavioral
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}: it must be one of {', '.join(SCHEMES)}")
    check_whole_number("seed", seed, 0, 2**32 - 1)
    read = Table(table)
    positions = assign_roles(read, contextual, behavioral, None).behavioral  # type: ignore[arg-type]
    behavior = encode_behavior(read, positions) if read.n_rows else np.empty((0, len(positions)))
    scaled, ranges = _scale(behavior)
    eligible = np.flatnonzero((~np.isnan(scaled) & (ranges > 0)).any(axis=1))
    if n is None:
        raise ValueError("n is not given: say how many rows to change, as in n=20")
    check_whole_number("n", n, 0, len(eligible))

    random = np.random.RandomState(seed)
    chosen = random.choice(eligible, size=n, replace=False) if n else np.empty(0, dtype=np.int64)
    changed = behavior.copy()
    changed[chosen] += SCHEMES[scheme](random, scaled, chosen) * ranges
    labels = np.zeros(read.n_rows, dtype=np.int64)
    labels[chosen] = 1
    return _replace(table, positions, changed), labels


def _scale(behavior: Floats) -> tuple[Floats, Floats]:
    """Each feature on [0, 1], and the length of its range: 0 for one that is constant or empty."""
    missing = np.isnan(behavior)
    lowest = np.where(missing, np.inf, behavior).min(axis=0, initial=np.inf)
    highest = np.where(missing, -np.inf, behavior).max(axis=0, initial=-np.inf)
    varies = highest > lowest
    lowest, ranges = np.where(varies, lowest, 0.0), np.where(varies, highest - lowest, 0.0)
    return np.where(varies, (behavior - lowest) / np.where(varies, ranges, 1.0), behavior * 0.0), ranges


def _perturb(random: np.random.RandomState, scaled: Floats, chosen: npt.NDArray[np.int64]) -> Floats:
    shape = (len(chosen), scaled.shape[1])
    size = random.uniform(LEAST_PERTURBATION, MOST_PERTURBATION, size=shape)
    return np.where(random.randint(2, size=shape) == 1, size, -size)


def _shift(random: np.random.RandomState, scaled: Floats, chosen: npt.NDArray[np.int64]) -> Floats:
    return random.uniform(0.0, MOST_SHIFT, size=(len(chosen), scaled.shape[1]))


def _swap(random: np.random.RandomState, scaled: Floats, chosen: npt.NDArray[np.int64]) -> Floats:
    n_rows = len(scaled)
    n_candidates = max(1, min(SWAP_CANDIDATES, n_rows // 4))
    changes = np.empty((len(chosen), scaled.shape[1]))
    for place, row in enumerate(chosen):
        others = random.choice(n_rows - 1, size=min(n_candidates, n_rows - 1), replace=False)
        others += others >= row
        # What one of the two does not have tells nothing, and stays as it is.
        differences = np.nan_to_num(scaled[others] - scaled[row], nan=0.0)
        changes[place] = differences[np.argmax((differences**2).sum(axis=1))]
    return changes


SCHEMES: dict[str, Change] = {"perturb": _perturb, "swap": _swap, "shift": _shift}


def _replace(data: Any, positions: list[int], behavior: Floats) -> Any:
    """The caller's table with other behaviour."""
    if isinstance(data, Mapping):
        names = list(data)
        new = {names[p]: values.tolist() for p, values in zip(positions, behavior.T, strict=True)}
        arrays = {name: np.asarray(new[name]) for name in new if isinstance(data[name], np.ndarray)}
        return dict(data) | new | arrays
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        new_series = [
            nw.new_series(frame.columns[p], _with_none(values), nw.Float64(), backend=frame.implementation)
            for p, values in zip(positions, behavior.T, strict=True)
        ]
        changed = frame.with_columns(*new_series)
        return changed if isinstance(data, nw.DataFrame) else changed.to_native()
    array = np.array(data)
    if array.dtype.kind != "f":
        # Text beside numbers keeps each value as it is; whole numbers get room for what is behind the point.
        array = np.array(data, dtype=np.float64 if array.dtype.kind in "biu" else object)
    array[:, positions] = behavior
    return array


def _with_none(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
