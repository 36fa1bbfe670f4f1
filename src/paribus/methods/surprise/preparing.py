"""What is known of a table before its forests grow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.methods.surprise.categories import Categories
from paribus.methods.surprise.screening import choose_others
from paribus.methods.surprise.smoothing import find_support
from paribus.methods.surprise.state import Summary
from paribus.methods.surprise.views import WholeColumn
from paribus.tables.encoded_table import EncodedTable


def summarize(table: EncodedTable, some: npt.NDArray[np.bool_]) -> list[Summary]:
    """The whole of each behavioral feature: numbers of some rows, categories of all."""
    summaries: list[Summary] = []
    for feature, codes in enumerate(table.behavior_encoding.feature_codes):
        target = np.ascontiguousarray(table.rows[:, table.n_contextual + feature])
        if codes is None:
            values = target[some & ~np.isnan(target)]
            if values.size == 0:
                raise ValueError("a behavioral column has no recent values")
            summaries.append((WholeColumn.of(values), find_support(values)))
        else:
            summaries.append(Categories.of(target, len(codes)))
    return summaries


def in_parts(table: EncodedTable) -> Floats:
    """The rows of a table with timestamps split into parts; the array itself if there are none."""
    if not table.encoding.times:
        return table.rows
    context = table.encoding.expand(table.rows[:, : table.n_contextual])
    return np.ascontiguousarray(np.hstack([context, table.rows[:, table.n_contextual :]]))


def choose_for_features(table: EncodedTable, context: Floats, summaries: list[Summary]) -> list[list[int]]:
    """By behavioral feature: the other values that it is judged by."""
    n_values = len(table.behavior_encoding.codes)
    behavior = table.rows[:, table.n_contextual : table.n_contextual + n_values].copy()
    for feature, summary in enumerate(summaries[:n_values]):
        if isinstance(summary, Categories):
            # An order that does not depend on names: the most common category comes first.
            ranks = np.argsort(np.argsort(-summary.counts, kind="stable"), kind="stable")
            known = ~np.isnan(behavior[:, feature])
            behavior[known, feature] = ranks[behavior[known, feature].astype(np.int64)]
    chosen = [each.tolist() for each in choose_others(context, table.encoding.feature_kinds, behavior)]
    # The value itself would reveal whether it is missing.
    return [chosen[source] for source in table.behavior_encoding.sources]
