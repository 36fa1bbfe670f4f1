"""The parameters of a detector, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paribus.arguments import LARGEST_SEED, MAX_NEIGHBORS, check_n_jobs, check_whole_number, is_number
from paribus.progress import check_progress

MAX_TREES = 10_000
# The lowest and the highest, of those detectors that have them.
WHOLE_NUMBERS = {
    "n_trees": (1, MAX_TREES),
    "min_samples_split": (2, 2**31 - 1),
    "min_samples_leaf": (1, 2**31 - 1),
    "max_samples": (1, 2**31 - 1),
    "n_quantiles": (2, 10_000),
}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Says which parameter is out of range, and what it may be; those that are not there are not looked at."""
    for name, (lowest, highest) in WHOLE_NUMBERS.items():
        if name in parameters:
            check_whole_number(name, parameters[name], lowest, highest)
    if parameters.get("n_neighbors") is not None:
        check_whole_number("n_neighbors", parameters["n_neighbors"], 1, MAX_NEIGHBORS)
    for name in ("bootstrap", "scale_tails"):
        if name in parameters and not isinstance(parameters[name], bool | np.bool_):
            raise TypeError(f"{name} is {parameters[name]!r}: it must be True or False")
    clip = parameters.get("clip")
    if clip is not None and not (is_number(clip) and 1e-9 <= clip <= 1e9):
        raise ValueError(f"clip is {clip!r}: it must be a number from 1e-9 to 1e9, or None for no cap")
    contamination = parameters.get("contamination", "auto")
    automatic = isinstance(contamination, str) and contamination == "auto"
    if not automatic and not (is_number(contamination) and 0 < contamination <= 0.5):
        raise ValueError(f"contamination is {contamination!r}: it must be a share above 0 and up to 0.5, or 'auto'")
    max_features = parameters.get("max_features")
    if isinstance(max_features, float) and not 0 < max_features <= 1:
        raise ValueError(f"max_features is {max_features!r}: a share must be above 0 and at most 1")
    if isinstance(max_features, str) and max_features != "sqrt":
        raise ValueError(f"max_features is {max_features!r}: give a number, a share, 'sqrt', or None for all features")
    if max_features is not None and not isinstance(max_features, float | str):
        check_whole_number("max_features", max_features, 1, None)
    random_state = parameters.get("random_state")
    if isinstance(random_state, int | float | np.number | str):
        check_whole_number("random_state", random_state, 0, LARGEST_SEED)
    if parameters.get("n_jobs") is not None:
        check_n_jobs(parameters["n_jobs"])
    check_progress(parameters.get("progress", False))
