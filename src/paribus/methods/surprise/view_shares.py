"""How much each view of a column counts in the mixture of them."""

from __future__ import annotations

import numpy as np

from paribus._common.arrays import Floats

N_ROUNDS = 50


def fit_shares(surprises: Floats) -> Floats:
    """The shares of views, [view][row], with the maximum likelihood.

    >>> fit_shares(np.array([[1.0, 1.0, 1.0], [4.0, 4.0, -2.0]])).round(2)
    array([0.68, 0.32])
    """
    likelihoods = np.exp(surprises.min(axis=0) - surprises)
    shares = np.full(len(surprises), 1.0 / len(surprises))
    for _ in range(N_ROUNDS):
        belief = shares[:, None] * likelihoods
        shares = (belief / belief.sum(axis=0)).mean(axis=1)
    return shares


def mix(surprises: Floats, shares: Floats) -> Floats:
    """The surprise of a mixture of views: [view][row] -> [row].

    >>> mix(np.array([[1.0, 2.0], [1.0, 50.0]]), np.array([0.5, 0.5])).round(2)
    array([1.  , 2.69])
    """
    least = surprises.min(axis=0)
    # View by view, so that a row's mixture does not depend on the rows around it.
    likelihood = np.zeros(surprises.shape[1])
    for each, share in zip(surprises, shares, strict=True):
        likelihood += share * np.exp(least - each)
    return np.asarray(least - np.log(likelihood))
