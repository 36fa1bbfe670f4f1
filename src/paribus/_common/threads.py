"""The number of threads."""

from __future__ import annotations

from paribus._common.validation import check_n_jobs

# Each thread has scratch memory of its own.
MAX_THREADS = 256


def resolve_n_jobs(n_jobs: int | None) -> int:
    """The number of threads: -1 (or None) means all cores that this process may use, -2 all but one, and so on."""
    if n_jobs is None:
        n_jobs = -1
    check_n_jobs(n_jobs)
    if n_jobs > 0:
        return min(int(n_jobs), MAX_THREADS)
    # Takes a while to import.
    from joblib import cpu_count

    return max(1, int(cpu_count()) + 1 + int(n_jobs))
