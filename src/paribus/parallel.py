"""How many threads."""

from __future__ import annotations

import numpy as np
from joblib import cpu_count

MAX_THREADS = 256


def resolve_n_jobs(n_jobs: int | None) -> int:
    """The number of threads: -1 (or None) is every core that this process may use, -2 all but one, and so on.

    More than 256 are not started: each has scratch memory of its own.
    """
    if n_jobs is None:
        n_jobs = -1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}: it must be a number of threads, or -1 for all cores")
    return min(int(n_jobs), MAX_THREADS) if n_jobs > 0 else max(1, int(cpu_count()) + 1 + int(n_jobs))
