"""Calibration at a glance: which share of the fitted values lies in the range that should hold 90 % of them."""

from __future__ import annotations

import numpy as np

from paribus._common.statistics import evenly
from paribus.explain.view import FittedView

# The number of fitted rows, enough to estimate a share to about one percent.
SAMPLE_SIZE = 1_000
MIN_ROWS = 20


def measure_coverage(view: FittedView) -> dict[str, float]:
    """The share of values in their own 90 % range, by behavioral feature, each judged out of sample.

    Features with few values are left out.
    """
    rows = evenly(np.arange(view.store.n_rows), SAMPLE_SIZE)
    values = view.store.behavior(rows)
    lower, upper = view.usual_ranges(rows)
    shares = {}
    for feature, name in enumerate(view.behavior_names):
        known = ~np.isnan(values[:, feature]) & ~np.isnan(lower[:, feature])
        if known.sum() >= MIN_ROWS:
            inside = (values[:, feature] >= lower[:, feature]) & (values[:, feature] <= upper[:, feature])
            shares[name] = float(inside[known].mean())
    return shares
