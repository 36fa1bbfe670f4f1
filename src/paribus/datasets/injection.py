"""Injects contextual anomalies into a table, so that it is known where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.statistics import column_ranges
from paribus._common.validation import check_choice, check_seed, check_whole_number
from paribus.datasets.catalog import Dataset
from paribus.tables.encoding import encode_behavior
from paribus.tables.roles import assign_roles
from paribus.tables.table import Columns, Table

# What the paper adds or subtracts, in units of the feature's range.
MIN_PERTURBATION, MAX_PERTURBATION = 0.1, 0.5
SMALL_PERTURBATION = 0.05, 0.15
# Kuo et al. scale the feature to [18, 30] and add up to 50.
MAX_SHIFT = 50 / (30 - 18)
# The unit mistakes: a decimal place too far, and inches instead of centimeters.
SCALE_FACTORS = 10.0, 1 / 2.54
# Song et al. take the farthest of this many other rows, or of a quarter of the rows if that is less.
SWAP_CANDIDATES = 50

Rows: TypeAlias = npt.NDArray[np.int64]


def inject(
    table: Any,
    contextual: Columns | None = None,
    behavioral: Columns | None = None,
    *,
    n: int | None = None,
    seed: int = 0,
    scheme: str = "perturb",
) -> tuple[Any, Rows]:
    """Changes the behavior of randomly drawn rows, and labels them.

    "perturb" is the scheme of Li and van Leeuwen (2023): a number drawn uniformly from [-0.5, -0.1] and [0.1, 0.5] is
    added to each behavioral value scaled to [0, 1]. "swap" is that of Song et al. (2007): of 50 random rows (or a
    quarter of the table if that is less), the row gets the behavior of the one whose scaled behavior is farthest from
    its own. "shift" is that of Kuo et al. (2018): a number drawn uniformly from [0, 50 / 12] is added to each scaled
    value, which corresponds to their [0, 50] on a scale from 18 to 30. "single" perturbs one randomly drawn behavioral
    feature of each row. "small" perturbs all of them by 0.05 to 0.15. "common" adds one number, drawn as for "perturb",
    to all scaled values of a row. "scale" is a unit mistake: one randomly drawn value of each row that is not 0 is
    multiplied by 10 or divided by 2.54.

    As in the paper, rows are replaced rather than added, and values are not clipped to the original range. The result
    is in the units of the table; scaled to [0, 1] by the original range, it is that of the paper. Missing values stay
    missing, constant features stay constant, and rows without a value that the scheme can change are not drawn.

    Parameters
    ----------
    table : Dataset, dataframe, dict of columns or array
        Any table that a detector takes. A `Dataset` has its own roles and its own number of anomalies.
    contextual, behavioral : list of names or positions
        The roles of the columns, as for a detector.
    n : int
        The number of rows to change.
    seed : int
        The seed of the random draws.
    scheme : str
        "perturb", "swap", "shift", "single", "small", "common" or "scale".

    Returns
    -------
    table
        The changed table, in the type of the given one, which stays as it is; for a `Dataset`, its changed table.
    labels : array of shape (rows,)
        1 for an injected row, 0 for all others.

    Examples
    --------
    >>> from paribus import datasets
    >>> weather = datasets.load("weather")
    >>> table, labels = inject(weather, n=20, seed=1)
    >>> int(labels.sum()), table["month"] == weather.table["month"]
    (20, True)
    """
    if isinstance(table, Dataset):
        if contextual is not None or behavioral is not None:
            raise ValueError("a data set has its own roles: pass its table to use other ones")
        n = table.n_anomalies if n is None else n
        table, contextual, behavioral = table.table, table.contextual, table.behavioral
    check_choice("scheme", scheme, SCHEMES)
    check_seed(seed)
    read = Table(table)
    positions = assign_roles(read, contextual, behavioral, None).behavioral  # type: ignore[arg-type]  # refuses None
    behavior = encode_behavior(read, positions)
    ranges = column_ranges(behavior)
    changeable = ~np.isnan(behavior) & (ranges > 0)
    if scheme == "scale":
        changeable &= behavior != 0
    eligible = np.flatnonzero(changeable.any(axis=1))
    if n is None:
        raise ValueError("n is not given: set it to the number of rows to change, as in n=20")
    check_whole_number("n", n, 0, len(eligible))

    random = np.random.RandomState(seed)
    chosen = random.permutation(eligible)[:n]
    behavior[chosen] = SCHEMES[scheme](random, behavior, ranges, chosen)
    labels = np.zeros(read.n_rows, dtype=np.int64)
    labels[chosen] = 1
    return _replace(table, positions, behavior), labels


def _perturb(
    random: np.random.RandomState,
    behavior: Floats,
    ranges: Floats,
    chosen: Rows,
    lowest: float = MIN_PERTURBATION,
    highest: float = MAX_PERTURBATION,
) -> Floats:
    shape = (len(chosen), len(ranges))
    size = random.uniform(lowest, highest, size=shape)
    return behavior[chosen] + np.where(random.randint(2, size=shape) == 1, size, -size) * ranges


def _small(random: np.random.RandomState, behavior: Floats, ranges: Floats, chosen: Rows) -> Floats:
    return _perturb(random, behavior, ranges, chosen, *SMALL_PERTURBATION)


def _single(random: np.random.RandomState, behavior: Floats, ranges: Floats, chosen: Rows) -> Floats:
    perturbed = _perturb(random, behavior, ranges, chosen)
    is_drawn = _draw_one(random, ~np.isnan(perturbed) & (ranges > 0))
    return np.where(is_drawn, perturbed, behavior[chosen])


def _draw_one(random: np.random.RandomState, changeable: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """A random one of the features of each row that can be changed."""
    wish = np.where(changeable, random.uniform(size=changeable.shape), -1.0)
    return np.asarray(wish == wish.max(axis=1, keepdims=True))


def _common(random: np.random.RandomState, behavior: Floats, ranges: Floats, chosen: Rows) -> Floats:
    size = random.uniform(MIN_PERTURBATION, MAX_PERTURBATION, size=(len(chosen), 1))
    return behavior[chosen] + np.where(random.randint(2, size=size.shape) == 1, size, -size) * ranges


def _scale(random: np.random.RandomState, behavior: Floats, ranges: Floats, chosen: Rows) -> Floats:
    old = behavior[chosen]
    is_drawn = _draw_one(random, ~np.isnan(old) & (ranges > 0) & (old != 0))
    return np.where(is_drawn, old * random.choice(SCALE_FACTORS, size=(len(chosen), 1)), old)


def _shift(random: np.random.RandomState, behavior: Floats, ranges: Floats, chosen: Rows) -> Floats:
    return behavior[chosen] + random.uniform(0.0, MAX_SHIFT, size=(len(chosen), len(ranges))) * ranges


def _swap(random: np.random.RandomState, behavior: Floats, ranges: Floats, chosen: Rows) -> Floats:
    n_rows = len(behavior)
    n_candidates = max(1, min(SWAP_CANDIDATES, n_rows // 4))
    scale = np.where(ranges > 0, ranges, 1.0)
    swapped = behavior[chosen]
    for place, row in enumerate(chosen):
        others = random.permutation(n_rows - 1)[:n_candidates]
        others += others >= row
        # A feature that is missing in either row does not count toward the distance and is not swapped.
        differences = np.nan_to_num((behavior[others] - behavior[row]) / scale, nan=0.0)
        farthest = behavior[others[np.argmax((differences**2).sum(axis=1))]]
        known = ~np.isnan(farthest) & ~np.isnan(behavior[row])
        swapped[place, known] = farthest[known]
    return swapped


SCHEMES: dict[str, Callable[[np.random.RandomState, Floats, Floats, Rows], Floats]] = {
    "perturb": _perturb,
    "swap": _swap,
    "shift": _shift,
    "single": _single,
    "small": _small,
    "common": _common,
    "scale": _scale,
}


def _replace(data: Any, positions: list[int], behavior: Floats) -> Any:
    """The caller's table with new behavior."""
    new = dict(zip(positions, behavior.T, strict=True))
    if isinstance(data, Mapping):
        return {name: _like(values, new[p]) if p in new else values for p, (name, values) in enumerate(data.items())}
    if type(data).__name__ == "RecordBatch":
        import pyarrow

        data = pyarrow.Table.from_batches([data])
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        series = [
            nw.new_series(frame.columns[p], _with_none(values), nw.Float64(), backend=frame.implementation)
            for p, values in new.items()
        ]
        changed = frame.with_columns(*series)
        return changed if isinstance(data, nw.DataFrame) else changed.to_native()
    if isinstance(data, np.ma.MaskedArray):
        data = np.where(np.ma.getmaskarray(data), np.array(None), data.data)
    array = np.array(data)
    if array.dtype.kind != "f":
        # Integers become floats; an array that mixes text and numbers keeps each value as an object.
        array = np.array(data, dtype=np.float64 if array.dtype.kind in "biu" else object)
    array[:, positions] = behavior
    return array


def _like(old: Any, values: Floats) -> Any:
    return np.array(values) if isinstance(old, np.ndarray) else values.tolist()


def _with_none(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
