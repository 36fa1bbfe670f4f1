"""The limits of detector parameters, and their validation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from paribus._common.progress import check_progress
from paribus._common.untrusted import Fields, is_finite
from paribus._common.validation import MAX_SEED, check_n_jobs, check_whole_number, is_number
from paribus.tables.time_parts import AUTO, check_time_parts

MAX_TREES = 10_000
# The rows that each row is judged by.
ALL, PAST = "all", "past"
# QCAD's engine counts positions in a reference group in 16 bits.
MAX_NEIGHBORS = 65_535
# The minimum and the maximum of each integer parameter.
INTEGER_LIMITS = {
    "n_trees": (1, MAX_TREES),
    "min_samples_split": (2, 2**31 - 1),
    "min_samples_leaf": (1, 2**31 - 1),
    "max_samples": (1, 2**31 - 1),
    "n_quantiles": (2, 10_000),
}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raises an error if a parameter is out of range; absent parameters are not checked."""
    for name, (lowest, highest) in INTEGER_LIMITS.items():
        if name in parameters:
            check_whole_number(name, parameters[name], lowest, highest)
    if parameters.get("n_neighbors") is not None:
        check_whole_number("n_neighbors", parameters["n_neighbors"], 1, MAX_NEIGHBORS)
    for name in ("bootstrap", "scale_tails"):
        if name in parameters and not isinstance(parameters[name], bool | np.bool_):
            raise TypeError(f"{name} is {parameters[name]!r}: it must be True or False")
    missing = parameters.get("missing", "auto")
    if not isinstance(missing, bool | np.bool_) and not (isinstance(missing, str) and missing == "auto"):
        raise ValueError(f"missing is {missing!r}: it must be True, False or 'auto'")
    clip = parameters.get("clip")
    if clip is not None and not (is_number(clip) and 1e-9 <= clip <= 1e9):
        raise ValueError(f"clip is {clip!r}: it must be a number from 1e-9 to 1e9, or None for no cap")
    contamination = parameters.get("contamination", "auto")
    automatic = isinstance(contamination, str) and contamination == "auto"
    if not automatic and not (is_number(contamination) and 0 < contamination <= 0.5):
        raise ValueError(f"contamination is {contamination!r}: it must be a share above 0 and at most 0.5, or 'auto'")
    false_alarms = parameters.get("false_alarms", 0.001)
    if not (is_number(false_alarms) and 0 < false_alarms < 1):
        raise ValueError(f"false_alarms is {false_alarms!r}: it must be a share above 0 and below 1")
    max_features = parameters.get("max_features")
    if isinstance(max_features, float) and not 0 < max_features <= 1:
        raise ValueError(f"max_features is {max_features!r}: a share must be above 0 and at most 1")
    if isinstance(max_features, str) and max_features != "sqrt":
        raise ValueError(f"max_features is {max_features!r}: it must be a number, a share, 'sqrt', or None for all")
    if max_features is not None and not isinstance(max_features, float | str):
        check_whole_number("max_features", max_features, 1, None)
    random_state = parameters.get("random_state")
    if isinstance(random_state, int | float | np.number | str):
        check_whole_number("random_state", random_state, 0, MAX_SEED)
    if parameters.get("n_jobs") is not None:
        check_n_jobs(parameters["n_jobs"])
    check_progress(parameters.get("progress", False))
    if parameters.get("reference", ALL) not in (ALL, PAST):
        raise ValueError(f"reference is {parameters['reference']!r}: it must be '{ALL}' or '{PAST}'")
    check_time_parts(parameters.get("time_parts", AUTO), parameters.get("holidays"))


def resolve_max_features(max_features: int | float | str | None, n_features: int) -> int:
    """The number of features that a split considers.

    >>> resolve_max_features(None, 9), resolve_max_features("sqrt", 9), resolve_max_features(0.5, 9)
    (9, 3, 4)
    """
    if max_features is None:
        return n_features
    if isinstance(max_features, str):  # always "sqrt" after `check_parameters`
        return max(1, math.isqrt(n_features))
    if isinstance(max_features, float):
        return max(1, int(max_features * n_features))
    return min(max_features, n_features)


def unpack_clip(header: Fields) -> float | None:
    """The clip in the header of a model file."""
    clip: float | None = header.get("clip", lambda value: value is None or (is_finite(value) and 1e-9 <= value <= 1e9))
    return clip
