"""The state of a fitted QCAD, and how it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.untrusted import DamagedError, Fields, array_of, is_permutation
from paribus.methods.interface import Arrays, StoredArrays
from paribus.methods.parameters import MAX_NEIGHBORS, MAX_TREES, unpack_clip
from paribus.methods.qcad.forest_plan import N_DEPTHS, ForestPlan
from paribus.tables.encoded_table import EncodedTable


@dataclass(frozen=True)
class QcadState:
    """The random draws and the parameters of a fit."""

    tie_order: npt.NDArray[np.uint32]
    """A random permutation of the rows, which orders neighbors at the same distance."""
    plan: ForestPlan
    """The plan of the forests."""
    clip: float | None
    """The cap on partial scores; None for no cap."""

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""
        return len(self.plan.multiplicities)


def pack(state: QcadState) -> tuple[dict[str, Any], Arrays]:
    """The state as header fields and arrays."""
    plan = state.plan
    arrays: Arrays = {"tie_order": state.tie_order, "multiplicities": plan.multiplicities}
    if plan.feature_order is not None:
        arrays["feature_order"] = plan.feature_order
    fields = {
        "max_features": int(plan.max_features),
        "min_samples_split": int(plan.min_samples_split),
        "n_quantiles": int(plan.n_quantiles),
        "scale_tails": bool(plan.scale_tails),
        "clip": None if state.clip is None else float(state.clip),
    }
    return fields, arrays


def unpack(header: Fields, arrays: StoredArrays, table: EncodedTable) -> QcadState:
    """The state, from header fields and arrays that are not trusted."""
    n_rows, n_contextual = table.n_rows, table.n_contextual
    tie_order = array_of(arrays, "tie_order", np.uint32, (n_rows,))
    if not is_permutation(tie_order[None, :]):
        raise DamagedError("tie_order is not a permutation")
    return QcadState(tie_order, _plan(header, arrays, n_rows, n_contextual), unpack_clip(header))


def _plan(header: Fields, arrays: StoredArrays, n_rows: int, n_features: int) -> ForestPlan:
    multiplicities = arrays.get("multiplicities", np.empty(0))
    if multiplicities.ndim != 2:
        raise DamagedError("multiplicities is invalid")
    n_neighbors, n_trees = multiplicities.shape
    multiplicities = array_of(arrays, "multiplicities", np.uint8, (n_neighbors, n_trees))
    if not (1 <= n_neighbors <= min(n_rows - 1, MAX_NEIGHBORS) and 1 <= n_trees <= MAX_TREES):
        raise DamagedError("the reference groups are invalid")
    if (multiplicities.sum(axis=0, dtype=np.int64) != n_neighbors).any():
        raise DamagedError("a tree has the wrong number of rows")
    feature_order = None
    max_features = header.whole("max_features", 1, n_features)
    if "feature_order" in arrays:
        feature_order = array_of(arrays, "feature_order", np.uint16, (n_trees, N_DEPTHS, n_features))
        if not is_permutation(feature_order.reshape(-1, n_features)):
            raise DamagedError("feature_order is not a permutation")
    elif max_features < n_features:
        raise DamagedError("feature_order is missing")
    return ForestPlan(
        multiplicities,
        max_features,
        feature_order,
        header.whole("min_samples_split", 2, 2**31 - 1),
        header.whole("n_quantiles", 2, 10_000),
        header.flag("scale_tails"),
    )
