"""Held-out tables, which were not used in the design of the detectors: generated ones, and those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from paribus._common.arrays import Floats
from paribus.datasets import Dataset

N_ROWS = 1000
SEED = 20_261
SCHEMES = ("perturb", "swap", "shift", "single", "small", "common", "scale")
"""The injection schemes; see `datasets.inject`."""
RATES = {"1 %": 0.01, "4 %": 0.04, "10 %": 0.1}
"""The shares of anomalies, by their names."""
USUAL_RATE = "4 %"
"""The share of anomalies that names do not mention."""
BETWEEN = " / "
"""The separator between the name of a table, the name of a scheme and an unusual rate."""


def heldout_sets(rate: str = USUAL_RATE) -> list[str]:
    """The names of all combinations of a table and an injection scheme at a rate.

    >>> heldout_sets()[0], heldout_sets("1 %")[0]
    ('uneven noise / perturb', 'uneven noise / perturb / 1 %')
    """
    end = "" if rate == USUAL_RATE else f"{BETWEEN}{rate}"
    return [f"{name}{BETWEEN}{scheme}{end}" for name in (*GENERATED, *SHIPPED) for scheme in SCHEMES]


def load_heldout(name: str) -> tuple[Dataset, str]:
    """Loads a table, and returns it with its injection scheme.

    >>> data, scheme = load_heldout("two branches / swap / 1 %")
    >>> data.n_rows, data.n_anomalies, scheme
    (1000, 10, 'swap')
    """
    table, scheme, *rest = name.split(BETWEEN)
    rate = rest[0] if rest else USUAL_RATE
    data = _generated(table) if table in GENERATED else _shipped(table)
    return replace(data, n_anomalies=round(RATES[rate] * data.n_rows)), scheme


def _dataset(name: str, context: dict[str, Floats], behavior: dict[str, Floats], categorical: list[str]) -> Dataset:
    n_rows = len(next(iter(context.values())))
    return Dataset(
        name=name,
        n_rows=n_rows,
        contextual=list(context),
        behavioral=list(behavior),
        categorical=categorical,
        n_anomalies=round(RATES[USUAL_RATE] * n_rows),
        description="held out",
        table={column: values.tolist() for column, values in (context | behavior).items()},
    )


def _generated(name: str) -> Dataset:
    return _dataset(name, *GENERATED[name](np.random.default_rng(SEED)))


Generated = tuple[dict[str, Floats], dict[str, Floats], list[str]]


def _uneven_noise(random: np.random.Generator) -> Generated:
    """Noise that grows elevenfold with one contextual feature, around a curve along two others."""
    x, y, z = random.uniform(size=(3, N_ROWS))
    noise = (0.05 + 0.5 * x) * random.normal(size=(3, N_ROWS))
    level = np.sin(6 * y) + z**2
    behavior = {f"b{i}": level * (i + 1) + noise[i] for i in range(3)}
    return {"x": x, "y": y, "z": z}, behavior, []


def _two_branches(random: np.random.Generator) -> Generated:
    """Behavior on one of two curves, both of them ordinary, with nothing in between."""
    x, y = random.uniform(size=(2, N_ROWS))
    branch = random.choice([-1.0, 1.0], N_ROWS)
    first = branch * (1 + 2 * x) + 0.1 * random.normal(size=N_ROWS)
    second = branch * np.cos(3 * y) + x + 0.1 * random.normal(size=N_ROWS)
    return {"x": x, "y": y}, {"first": first, "second": second}, []


def _heavy_tails(random: np.random.Generator) -> Generated:
    """Noise from Student's t with 2 degrees of freedom, so that distant values are ordinary."""
    context = random.normal(size=(4, N_ROWS))
    level = context[0] * context[1] + np.abs(context[2])
    behavior = {f"b{i}": level * 2 + 0.2 * random.standard_t(2, size=N_ROWS) for i in range(3)}
    return {f"c{i}": column for i, column in enumerate(context)}, behavior, []


def _interactions(random: np.random.Generator) -> Generated:
    """Levels that depend on the combination of three categories, and a slope that depends on one of them."""
    codes = random.integers([[6], [4], [3]], size=(3, N_ROWS))
    levels, slopes = random.normal(size=(2, 6, 4, 3)), random.normal(size=(2, 6))
    x = random.normal(size=N_ROWS)
    behavior = {
        f"b{i}": 2 * levels[i, codes[0], codes[1], codes[2]]
        + slopes[i, codes[0]] * x
        + 0.3 * random.normal(size=N_ROWS)
        for i in range(2)
    }
    names = ["shop", "season", "shift"]
    return dict(zip(names, codes.astype(float), strict=True)) | {"x": x}, behavior, names


def _many_idle(random: np.random.Generator) -> Generated:
    """Twenty contextual features of which three matter, and behavioral features that mostly follow each other."""
    context = random.normal(size=(20, N_ROWS))
    shared = random.normal(size=N_ROWS)
    level = np.tanh(context[0]) + 0.5 * context[1] * (context[2] > 0)
    behavior = {f"b{i}": (i - 1.5) * level + shared + 0.2 * random.normal(size=N_ROWS) for i in range(4)}
    return {f"c{i}": column for i, column in enumerate(context)}, behavior, []


GENERATED: dict[str, Callable[[np.random.Generator], Generated]] = {
    "uneven noise": _uneven_noise,
    "two branches": _two_branches,
    "heavy tails": _heavy_tails,
    "interactions": _interactions,
    "many idle": _many_idle,
}
# The contextual features of the tables from scikit-learn; all other features are behavioral.
SHIPPED = {
    "diabetes": ["age", "sex", "bmi", "bp"],
    "iris": ["target", "petal length (cm)", "petal width (cm)"],
    "wine": ["target", "alcohol", "ash", "magnesium", "color_intensity"],
    "breast cancer": ["target", "mean radius", "mean texture", "mean smoothness", "mean symmetry"],
}
# Categorical columns that are coded as numbers.
CATEGORIES = {"sex", "target"}


def _shipped(name: str) -> Dataset:
    from sklearn import datasets as shipped

    bunch = getattr(shipped, f"load_{name.replace(' ', '_')}")()
    columns = dict(zip([str(each) for each in bunch.feature_names], bunch.data.T.astype(float), strict=True))
    if "target" in SHIPPED[name]:
        columns["target"] = bunch.target.astype(float)
    context = {column: columns[column] for column in SHIPPED[name]}
    behavior = {column: values for column, values in columns.items() if column not in context}
    return _dataset(name, context, behavior, [column for column in context if column in CATEGORIES])
