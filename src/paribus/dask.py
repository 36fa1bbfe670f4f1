"""Detectors on Dask: fit to a Dask DataFrame in its cluster, score its rows there, and explain the highest ones.

Needs the extra `dask`: `pip install 'paribus[dask]'`, here and on the workers.
"""

from __future__ import annotations

from paribus.detectors.cluster import HighestRows, explain, fit, groups, highest, report, score

__all__ = ["HighestRows", "explain", "fit", "groups", "highest", "report", "score"]
