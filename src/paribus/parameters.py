"""The parameters of a detector, checked before any work."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus.arguments import LARGEST_SEED, MAX_NEIGHBORS, check_n_jobs, check_whole_number, is_number
from paribus.progress import check_progress

MAX_TREES = 10_000


def check_parameters(detector: Any) -> None:
    """Says which parameter is out of range, and what it may be."""
    _whole_number(detector, "n_trees", 1, MAX_TREES)
    _whole_number(detector, "min_samples_split", 2, 2**31 - 1)
    _whole_number(detector, "n_quantiles", 2, 10_000)
    if detector.n_neighbors is not None:
        _whole_number(detector, "n_neighbors", 1, MAX_NEIGHBORS)
    for name in ("bootstrap", "scale_tails"):
        if not isinstance(getattr(detector, name), bool | np.bool_):
            raise TypeError(f"{name} is {getattr(detector, name)!r}: it must be True or False")
    if detector.clip is not None and not (is_number(detector.clip) and 1e-9 <= detector.clip <= 1e9):
        raise ValueError(f"clip is {detector.clip!r}: it must be a number from 1e-9 to 1e9, or None for no cap")
    contamination = detector.contamination
    automatic = isinstance(contamination, str) and contamination == "auto"
    if not automatic and not (is_number(contamination) and 0 < contamination <= 0.5):
        raise ValueError(f"contamination is {contamination!r}: it must be a share above 0 and up to 0.5, or 'auto'")
    max_features = detector.max_features
    if isinstance(max_features, float) and not 0 < max_features <= 1:
        raise ValueError(f"max_features is {max_features!r}: a share must be above 0 and at most 1")
    if isinstance(max_features, str) and max_features != "sqrt":
        raise ValueError(f"max_features is {max_features!r}: give a number, a share, 'sqrt', or None for all features")
    if max_features is not None and not isinstance(max_features, float | str):
        _whole_number(detector, "max_features", 1, None)
    if isinstance(detector.random_state, int | float | np.number | str):
        check_whole_number("random_state", detector.random_state, 0, LARGEST_SEED)
    if detector.n_jobs is not None:
        check_n_jobs(detector.n_jobs)
    check_progress(detector.progress)


def _whole_number(detector: Any, name: str, lowest: int, highest: int | None) -> None:
    check_whole_number(name, getattr(detector, name), lowest, highest)
