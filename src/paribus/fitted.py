"""What a fit leaves behind: all that later questions are answered from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._core import Engine
from paribus.encoding import ContextEncoding
from paribus.forests import ForestPlan
from paribus.roles import Roles
from paribus.table import Floats, Table


@dataclass(frozen=True)
class Fitted:
    """The fitted table, as it was and as the engine has it, what was drawn at random, and the scores."""

    table: Table
    roles: Roles
    encoding: ContextEncoding
    context: Floats
    """Rows x contextual features."""
    behavior: Floats
    """Rows x behavioural features."""
    tie_order: npt.NDArray[np.uint32]
    plan: ForestPlan
    clip: float | None
    partial: Floats
    """Rows x behavioural features: the partial scores."""
    reach: Floats
    """[row][2]: the distances of the nearest and of the farthest neighbour."""
    threshold: float
    """The score above which a row is an anomaly."""
    seconds: float
    """How long the fit took."""


def make_engine(
    context: Floats,
    categorical: npt.NDArray[np.uint8],
    behavior: Floats,
    tie_order: npt.NDArray[np.uint32],
    plan: ForestPlan,
) -> Engine:
    """The engine for a fitted table; `categorical` says which contextual features are."""
    return Engine(
        np.ascontiguousarray(context.T),
        categorical,
        np.ascontiguousarray(behavior.T),
        tie_order,
        plan.multiplicities,
        plan.feature_order,
        plan.max_features,
        plan.min_samples_split,
        plan.n_quantiles,
        plan.scale_tails,
    )
