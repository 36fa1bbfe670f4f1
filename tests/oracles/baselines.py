"""Baselines, slow and plain: one row, one component and one pair at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from paribus.baselines.cad import Gaussians, Model
from tests.oracles import qcad as oracles

Array = np.ndarray[Any, Any]


def pair_densities(model: Model, x: Array, y: Array) -> Array:
    """p(U_i) N(x; U_i) p(V_j | U_i) N(y; V_j) for one row and each pair."""
    k = len(model.weights)
    result = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            result[i, j] = (
                model.weights[i]
                * multivariate_normal.pdf(x, model.contexts.means[i], model.contexts.covariances[i])
                * model.mapping[i, j]
                * multivariate_normal.pdf(y, model.behaviors.means[j], model.behaviors.covariances[j])
            )
    return result


def cad_step(model: Model, xs: Array, ys: Array) -> Model:
    """One step of expectation maximization."""
    k = len(model.weights)
    shares = [pair_densities(model, x, y) for x, y in zip(xs, ys, strict=True)]
    shares = [share / share.sum() for share in shares]
    mapping, weights = np.empty((k, k)), np.empty(k)
    for i in range(k):
        of_i = sum(share[i, j] for share in shares for j in range(k))
        weights[i] = of_i / len(xs)
        for j in range(k):
            mapping[i, j] = sum(share[i, j] for share in shares) / of_i
    contexts = _weighted(xs, [[share[i].sum() for share in shares] for i in range(k)], model.prior)
    behaviors = _weighted(ys, [[share[:, j].sum() for share in shares] for j in range(k)], model.prior)
    return Model(weights, contexts, behaviors, mapping, model.prior)


def _weighted(rows: Array, weights: list[list[float]], prior: float) -> Gaussians:
    means, covariances = [], []
    for weight in weights:
        mean = sum(w * row for w, row in zip(weight, rows, strict=True)) / sum(weight)
        scatter = sum(w * np.outer(row - mean, row - mean) for w, row in zip(weight, rows, strict=True))
        means.append(mean)
        covariances.append((scatter + prior * np.eye(rows.shape[1])) / sum(weight))
    return Gaussians(np.array(means), np.array(covariances))


def cad_score(model: Model, x: Array, y: Array) -> float:
    """-log f(y | x)."""
    k = len(model.weights)
    context = [
        model.weights[i] * multivariate_normal.pdf(x, model.contexts.means[i], model.contexts.covariances[i])
        for i in range(k)
    ]
    return -math.log(pair_densities(model, x, y).sum() / sum(context))


def neighbor_means(context: Array, categorical: Array, behavior: Array, distance: float) -> tuple[list[int], Array]:
    """The number of other rows nearby, and their mean behavior."""
    ranges = oracles.column_ranges(context)
    counts, means = [], np.zeros(behavior.shape)
    for row in range(len(context)):
        near = [
            other
            for other in range(len(context))
            if other != row and oracles.gower(context[row], context[other], categorical, ranges) <= distance + 1e-12
        ]
        counts.append(len(near))
        if near:
            means[row] = sum(behavior[other] for other in near) / len(near)
    return counts, means


def partial_correlation(table: Array, a: int, b: int, given: list[int]) -> float:
    """The correlation of the residuals of two regressions on the same variables."""
    design = np.column_stack([np.ones(len(table)), table[:, given]])
    left = [table[:, v] - design @ np.linalg.lstsq(design, table[:, v], rcond=None)[0] for v in (a, b)]
    return float(np.corrcoef(left[0], left[1])[0, 1])
