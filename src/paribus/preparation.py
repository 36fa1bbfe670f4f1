"""From what a user calls a table to what an engine takes, with a word on whatever is odd about it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from paribus.encoding import ContextEncoding, encode_behavior
from paribus.fitted import Encoded
from paribus.roles import assign_roles
from paribus.table import Columns, Floats, Table
from paribus.values import SMALLEST_RANGE


def encode_table(table: Any, contextual: Columns, behavioral: Columns | None, categorical: Columns | None) -> Encoded:
    """Reads a table to be fitted. The caller may go on to change it: what is kept is a copy."""
    table = Table(table)
    roles = assign_roles(table, contextual, behavioral, categorical)
    encoding = ContextEncoding.fit(table, roles.contextual, roles.categorical)
    context = encoding.encode(table, roles.contextual)
    behavior = encode_behavior(table, roles.behavioral)
    _warn_missing(table, context, roles.contextual)
    _check_behavior(behavior, [table.name(position) for position in roles.behavioral])
    return Encoded(table.copy(), roles, encoding, context, behavior)


def _warn_missing(table: Table, context: Floats, positions: list[int]) -> None:
    """Says which contextual columns have no values."""
    for column, position in enumerate(positions):
        if table.n_rows and np.isnan(context[:, column]).all():
            warnings.warn(
                f"contextual column {table.label(position)} has no values at all, so no row is compared by it",
                UserWarning,
                stacklevel=4,
            )


def _check_behavior(behavior: Floats, names: list[str]) -> None:
    """Says what is wrong with behavioural columns, or odd."""
    present = ~np.isnan(behavior)
    n_usable = int(present.any(axis=1).sum())
    if n_usable < 2:
        raise ValueError(
            f"a row needs others to be compared with: the table has n_samples = {len(behavior)}, "
            f"and {n_usable} of them with a behavioural value"
        )
    for column, name in enumerate(names):
        values = behavior[present[:, column], column]
        if values.size == 0:
            raise ValueError(f"behavioural column '{name}' has no values at all: leave it out")
        if values.max() - values.min() <= SMALLEST_RANGE:
            warnings.warn(
                f"behavioural column '{name}' is {values[0]:g} in every row, so it scores 0", UserWarning, stacklevel=4
            )
