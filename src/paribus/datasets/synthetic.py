"""The paper's synthetic data: contexts from a Gaussian mixture, and behavior that depends on them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.validation import check_choice, check_seed, check_whole_number
from paribus.datasets.catalog import ColumnsByName, Dataset, Summary

N_CLUSTERS = 5
MAX_CODE = 10
NOISE = 0.05
SHARE_OF_ZEROS = 1 / 3
ANOMALY_RATE = 0.025

TERMS: dict[str, list[Callable[[Floats], Floats]]] = {
    "S1": [lambda c: c],
    "S2": [lambda c: c**3],
    "S3": [np.sin],
    "S4": [lambda c: np.log1p(np.abs(c))],
}
TERMS["S5"] = [term for terms in TERMS.values() for term in terms]
"""The terms that each scheme sums over the contextual features, each with its own coefficients."""

SHAPES = {"S1": "linear", "S2": "cubic", "S3": "a sine", "S4": "logarithmic", "S5": "a mixture of four shapes"}


def synthetic(
    scheme: str,
    n_contextual: int = 5,
    n_categorical: int = 2,
    n_behavioral: int = 5,
    n_rows: int = 2000,
    seed: int = 0,
) -> Dataset:
    """Generates contexts in five clusters, and behavior that depends on them in a known way, without anomalies.

    A row belongs to one of five equally probable Gaussian clusters. In each contextual feature, the centers are drawn
    uniformly from [0, 1], and the variance around them is a quarter of their mean distance from each other. For a
    categorical feature, the centers are drawn uniformly from 0, 1, ..., 10, and the values are rounded to integers.
    Each behavioral feature is a sum over all contextual features c, with coefficients that are zero with probability
    1/3 and otherwise uniform on [0, 1], plus noise that is uniform on [0, 0.05]:

    ====  ====================================
    S1    a c
    S2    a c^3
    S3    a sin(c)
    S4    a log(1 + abs(c))
    S5    all four, each with its own coefficients
    ====  ====================================

    The documentation of the data sets says where the paper leaves a choice, and how it was made.

    Parameters
    ----------
    scheme : str
        "S1" to "S5".
    n_contextual : int
        The number of contextual features, named c1, c2, ...
    n_categorical : int
        The number of categorical features among the contextual ones; they come last.
    n_behavioral : int
        The number of behavioral features, named b1, b2, ...
    n_rows : int
        The number of rows.
    seed : int
        The seed of the random draws.

    Returns
    -------
    Dataset
        The table, and the roles of its columns.

    Examples
    --------
    >>> data = synthetic("S3", n_contextual=3, n_categorical=1, n_behavioral=2, n_rows=100)
    >>> list(data.table), data.categorical
    (['c1', 'c2', 'c3', 'b1', 'b2'], ['c3'])
    """
    check_choice("scheme", scheme, TERMS)
    check_whole_number("n_contextual", n_contextual, 1)
    check_whole_number("n_categorical", n_categorical, 0, n_contextual)
    check_whole_number("n_behavioral", n_behavioral, 1)
    check_whole_number("n_rows", n_rows, 1)
    check_seed(seed)
    summary = _summarize(scheme, scheme, n_contextual, n_categorical, n_behavioral, n_rows)
    return Dataset.of(summary, _generate(scheme, summary, seed))


def load_synthetic(name: str, seed: int | None = None) -> Dataset:
    """Generates Syn1 to Syn10. The default seed is the number in the name."""
    if seed is not None:
        check_seed(seed)
    summary = SYNTHETIC_SETS[name]
    number = _number(name)
    return Dataset.of(summary, _generate(_scheme(number), summary, number if seed is None else seed))


def _number(name: str) -> int:
    return int(name.removeprefix("Syn"))


def _scheme(number: int) -> str:
    return f"S{(number - 1) % 5 + 1}"


def _summarize(
    name: str, scheme: str, n_contextual: int, n_categorical: int, n_behavioral: int, n_rows: int
) -> Summary:
    contextual = [f"c{p + 1}" for p in range(n_contextual)]
    return Summary(
        name=name,
        n_rows=n_rows,
        contextual=contextual,
        behavioral=[f"b{q + 1}" for q in range(n_behavioral)],
        categorical=contextual[n_contextual - n_categorical :],
        n_anomalies=round(ANOMALY_RATE * n_rows),
        description=f"Generated: behavior is {SHAPES[scheme]} in the context (scheme {scheme}).",
    )


def _generate(scheme: str, summary: Summary, seed: int) -> ColumnsByName:
    random = np.random.RandomState(seed)
    cluster = random.randint(N_CLUSTERS, size=summary.n_rows)
    context = {name: _draw_context(random, cluster, name in summary.categorical) for name in summary.contextual}
    behavior = {name: _draw_behavior(random, scheme, list(context.values())) for name in summary.behavioral}
    whole = {name: context[name].astype(np.int64) for name in summary.categorical}
    return {name: column.tolist() for name, column in (context | whole | behavior).items()}


def _draw_context(random: np.random.RandomState, cluster: npt.NDArray[np.int64], categorical: bool) -> Floats:
    if categorical:
        centers = random.randint(MAX_CODE + 1, size=N_CLUSTERS).astype(np.float64)
    else:
        centers = random.uniform(size=N_CLUSTERS)
    variance = np.mean([abs(one - other) for one, other in combinations(centers, 2)]) / 4
    values = random.normal(centers[cluster], np.sqrt(variance))
    return np.rint(values) if categorical else values


def _draw_behavior(random: np.random.RandomState, scheme: str, context: list[Floats]) -> Floats:
    total = random.uniform(0, NOISE, size=len(context[0]))
    for column in context:
        for term in TERMS[scheme]:
            coefficient, fate = random.uniform(size=2)
            total += (fate >= SHARE_OF_ZEROS) * coefficient * term(column)
    return total


SYNTHETIC_SETS = {
    name: _summarize(name, _scheme(_number(name)), *size, n_behavioral=5, n_rows=2000)
    for name, size in [(f"Syn{n}", (5, 2) if n <= 5 else (20, 6)) for n in range(1, 11)]
}
