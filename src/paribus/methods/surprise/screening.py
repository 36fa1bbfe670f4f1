"""Which other behavioral features a feature is judged by, if there are too many to use all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from paribus._common.arrays import SMALLEST_RANGE, Floats
from paribus.methods.surprise.trend import fit_trend
from paribus.methods.surprise.views import pull_in

# With no more other features, all of them are used.
MAX_OTHERS = 24
# This many are chosen greedily for what they add to each other, the rest by themselves.
N_TOGETHER = 12
# The number of rows from which related features are found.
MAX_ROWS = 4_000
N_BINS = 16
# A feature of which others leave less than this share of the variance is nearly a copy of them.
MIN_VARIANCE = 0.05


def choose_others(
    context: Floats, categorical: npt.NDArray[np.uint8], behavior: Floats, max_others: int = MAX_OTHERS
) -> list[npt.NDArray[np.int64]]:
    """For each behavioral feature, the most informative others, ascending.

    The linear effect of the context is removed first. Then everything is done in ranks, which
    gross values do not affect. A feature can predict the level of another one, linearly or not, or how widely it is
    spread.

    Parameters
    ----------
    context, behavior : arrays
        [row][feature]; the first rows represent all of them.
    categorical : array
        By contextual feature: 1 if it is categorical.
    max_others : int
        The maximum number of others.

    Returns
    -------
    list of arrays
        By behavioral feature: positions of other behavioral features; all of them if there are no more.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> behavior = random.normal(size=(500, 6))
    >>> behavior[:, 0] = np.abs(behavior[:, 4]) + behavior[:, 5] + 0.1 * random.normal(size=500)
    >>> choose_others(np.zeros((500, 1)), np.zeros(1, dtype=np.uint8), behavior, max_others=2)[0]
    array([4, 5])
    """
    n_features = behavior.shape[1]
    if n_features - 1 <= max_others:
        return [np.delete(np.arange(n_features), feature) for feature in range(n_features)]
    from scipy.stats import rankdata

    ranks = _residual_ranks(context[:MAX_ROWS], categorical, behavior[:MAX_ROWS])
    # One thread and whole numbers: the same sums on every machine.
    with threadpool_limits(1):
        sums = ranks.T @ ranks
        merits = _explained(ranks)
        spreads = _center(rankdata(np.abs(ranks), axis=0))
        spreads[ranks == 0.0] = 0.0
        merits = np.maximum(merits, _explained(ranks, spreads))
    scales = np.sqrt(np.maximum(np.diag(sums), 1.0))
    correlations = sums / scales[:, None] / scales
    merits = np.maximum(merits, correlations**2)
    return [
        _choose(feature, correlations, merits[feature], max_others, min(N_TOGETHER, max_others))
        for feature in range(n_features)
    ]


def _residual_ranks(context: Floats, categorical: npt.NDArray[np.uint8], behavior: Floats) -> Floats:
    """Ranks of the distances from the trend, as whole numbers around 0; 0 where a value is missing."""
    from scipy.stats import rankdata

    ranks = np.zeros(behavior.shape)
    for feature in range(behavior.shape[1]):
        target = behavior[:, feature]
        known = ~np.isnan(target)
        if known.sum() < 2 or np.ptp(target[known]) <= SMALLEST_RANGE:
            continue
        near = pull_in(target)
        trend, _ = fit_trend(context, categorical, near)
        ranks[known, feature] = _center(rankdata((near - trend.predict(context))[known]))
    return ranks


def _center(ranks: Floats) -> Floats:
    """Twice the ranks, whole numbers even with ties, around 0."""
    return np.asarray(2.0 * ranks - (len(ranks) + 1))


def _explained(ranks: Floats, targets: Floats | None = None) -> Floats:
    """[target][feature]: the share of the variance of targets between bins of a feature, beyond what chance gives."""
    from scipy.stats import rankdata

    targets = ranks if targets is None else targets
    n_rows, n_features = ranks.shape
    squares = np.maximum((targets**2).sum(axis=0), 1.0)
    found = np.zeros((n_features, n_features))
    for feature in range(n_features):
        # Missing values have a bin of their own; so has each value of a feature with few.
        order = rankdata(ranks[:, feature], method="min")
        bins = ((order - 1) * N_BINS // n_rows).astype(np.int64)
        _, bins = np.unique(np.where(ranks[:, feature] == 0.0, -1, bins), return_inverse=True)
        counts = np.bincount(bins)
        members = np.zeros((len(counts), n_rows))
        members[bins, np.arange(n_rows)] = 1.0
        sums = members @ targets
        between = (sums**2 / counts[:, None]).sum(axis=0) - targets.sum(axis=0) ** 2 / n_rows
        found[:, feature] = between / squares - (len(counts) - 1) / n_rows
    return found


def _choose(feature: int, correlations: Floats, merits: Floats, n: int, n_together: int) -> npt.NDArray[np.int64]:
    """Features one by one, each for what it adds to those before; then the best of the rest by themselves."""
    n_features = len(correlations)
    usable = np.arange(n_features) != feature
    chosen: list[int] = []
    left = np.diag(correlations).copy()
    shared = correlations[feature].copy()
    steps = np.zeros((n_together, n_features))
    for step in range(n_together):
        gains = np.where(usable & (left > MIN_VARIANCE), shared**2 / np.maximum(left, MIN_VARIANCE), -1.0)
        best = int(np.argmax(gains))
        if gains[best] <= 0.0:
            break
        # A step of the Cholesky decomposition: the part of all others that this feature explains and no earlier one
        # has.
        along = correlations[best] - (steps[:step] * steps[:step, best, None]).sum(axis=0)
        steps[step] = along / np.sqrt(left[best])
        left -= steps[step] ** 2
        shared -= steps[step] * steps[step, feature]
        usable[best] = False
        chosen.append(best)
    rest = np.argsort(-np.where(usable, merits, -np.inf), kind="stable")[: n - len(chosen)]
    return np.sort(np.append(np.array(chosen, dtype=np.int64), rest))
