"""Conditional anomaly detection (Song, Wu, Jermaine and Ranka, 2007): GMM-CAD-Full.

Contexts come from Gaussian components U, behavior from Gaussian components V, and a context from U_i goes with behavior
from V_j with probability p(V_j | U_i). Everything is learned together, by expectation maximization of the joint density

    f(x, y) = sum_i p(U_i) N(x; U_i) sum_j p(V_j | U_i) N(y; V_j),

and the score of a row is -log f(y | x): how improbable its behavior is given its context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.cluster import kmeans_plusplus
from threadpoolctl import threadpool_limits

from paribus._common.arrays import Floats
from paribus._common.validation import check_whole_number, is_number
from paribus.baselines.base import Baseline, Rows, standardize
from paribus.tables.table import Columns

# A sum of products below this may have lost all of its precision.
VANISHING = 1e-200


class CAD(Baseline):
    """Conditional anomaly detection: Gaussian mixtures of context and behavior, and a mapping between them.

    Parameters
    ----------
    contextual, behavioral, categorical, random_state
        See `Baseline`. Categories are used by their codes.
    n_components : int
        The number of Gaussian components of the contexts, and of the behavior. The QCAD paper uses 5, Song et al. 30.
    n_restarts : int
        The number of searches, each from other centers; the model with the highest likelihood is kept.
    max_iterations : int
        The maximum number of iterations of one search.
    tolerance : float
        A search ends when the mean log likelihood of a row grows by less than this.
    regularization : float
        Keeps covariances from collapsing: the variance that a prior adds to a component of average size (features have
        variance 1).

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The negative log density of the behavior given the context.
    model_ : Model
        The fitted model, in standardized units: `weights`, `contexts`, `behaviors`, and `mapping`, p(V_j | U_i).
    log_likelihoods_ : list of float
        The penalized log likelihood at each iteration of the best search; it never decreases.

    Examples
    --------
    >>> from paribus import datasets
    >>> weather = datasets.load("weather")
    >>> detector = CAD(weather.contextual, weather.behavioral).fit(weather.table)
    >>> detector.anomaly_scores_.shape
    (2000,)
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        n_components: int = 5,
        n_restarts: int = 5,
        max_iterations: int = 200,
        tolerance: float = 1e-4,
        regularization: float = 1e-2,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(contextual, behavioral, categorical=categorical, random_state=random_state)
        self.n_components = n_components
        self.n_restarts = n_restarts
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.regularization = regularization

    def _check_parameters(self) -> None:
        for name in ("n_components", "n_restarts", "max_iterations"):
            check_whole_number(name, getattr(self, name), 1)
        for name in ("tolerance", "regularization"):
            value = getattr(self, name)
            if not (is_number(value) and 0 < value < np.inf):
                raise ValueError(f"{name} is {value!r}: it must be a number above 0")

    def _min_rows(self) -> int:
        return max(2, self.n_components)

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        x, y = standardize(rows.context), standardize(rows.behavior)
        prior = self.regularization * len(x) / self.n_components
        best = -np.inf
        # The matrices are so thin that threads would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            for _ in range(self.n_restarts):
                model, path = self._search(Model.start(x, y, self.n_components, prior, random), x, y)
                if path[-1] > best:
                    best, self.model_, self.log_likelihoods_ = path[-1], model, path
            return -self.model_.log_conditional(x, y)

    def _search(self, model: Model, x: Floats, y: Floats) -> tuple[Model, list[float]]:
        """Iterates from a model; returns the last model, and the objective at each iteration."""
        path: list[float] = []
        for _ in range(self.max_iterations):
            improved, objective = model.step(x, y)
            path.append(objective)
            if len(path) > 1 and path[-1] - path[-2] < self.tolerance * len(x):
                break
            model = improved
        return model, path


@dataclass(frozen=True)
class Gaussians:
    """Gaussian components, one per row of the means."""

    means: Floats
    covariances: Floats

    @classmethod
    def estimate(cls, rows: Floats, shares: Floats, prior: float) -> Gaussians:
        """The components with the highest likelihood, given each row's share in each of them."""
        means, covariances = [], []
        for share in shares.T:
            # A component without rows gets the covariance of the prior.
            size = max(share.sum(), 1e-8)
            mean = share @ rows / size
            centered = rows - mean
            scatter = (centered * share[:, None]).T @ centered
            means.append(mean)
            covariances.append((scatter + prior * np.eye(rows.shape[1])) / size)
        return cls(np.array(means), np.array(covariances))

    def log_density(self, rows: Floats) -> Floats:
        """The log density of rows x components."""
        result = np.empty((len(rows), len(self.means)))
        for j, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            root = np.linalg.cholesky(covariance)
            whitened = solve_triangular(root, (rows - mean).T, lower=True)
            result[:, j] = -0.5 * np.square(whitened).sum(axis=0) - np.log(np.diag(root)).sum()
        return np.asarray(result - 0.5 * rows.shape[1] * np.log(2 * np.pi))

    def log_prior(self, prior: float) -> float:
        """The log density of the prior, which penalizes small covariances."""
        return -0.5 * prior * float(sum(np.trace(np.linalg.inv(covariance)) for covariance in self.covariances))


@dataclass(frozen=True)
class Model:
    """The joint density of contexts x and behavior y."""

    weights: Floats
    contexts: Gaussians
    behaviors: Gaussians
    mapping: Floats
    prior: float

    @classmethod
    def start(cls, x: Floats, y: Floats, n_components: int, prior: float, random: np.random.RandomState) -> Model:
        """The initial model, in which every row belongs to the nearest of the centers that k-means++ draws."""
        u, v = (_nearest_center(rows, n_components, random) for rows in (x, y))
        return cls.estimate(x, y, u, v, u.T @ v, prior)

    @classmethod
    def estimate(cls, x: Floats, y: Floats, u: Floats, v: Floats, pairs: Floats, prior: float) -> Model:
        """The model with the highest likelihood, given the shares of rows in U and V, and the sums for each pair."""
        # The tiny constant keeps the mapping of an empty component defined.
        mapping = (pairs + 1e-300) / (pairs + 1e-300).sum(axis=1, keepdims=True)
        return cls(
            pairs.sum(axis=1) / len(x),
            Gaussians.estimate(x, u, prior),
            Gaussians.estimate(y, v, prior),
            mapping,
            prior,
        )

    def step(self, x: Floats, y: Floats) -> tuple[Model, float]:
        """One iteration of expectation maximization: the next model, and the objective of this one."""
        log_x, log_y = self._log_context(x), self.behaviors.log_density(y)
        log_joint, u, v, pairs = _shares(log_x, log_y, self.mapping)
        penalty = self.contexts.log_prior(self.prior) + self.behaviors.log_prior(self.prior)
        return self.estimate(x, y, u, v, pairs, self.prior), float(log_joint.sum()) + penalty

    def log_conditional(self, x: Floats, y: Floats) -> Floats:
        """The logarithm of f(y | x) for each row."""
        log_x = self._log_context(x)
        log_joint, _, _, _ = _shares(log_x, self.behaviors.log_density(y), self.mapping)
        return log_joint - _log_sum(log_x)

    def _log_context(self, x: Floats) -> Floats:
        # A component without rows has weight 0, whose logarithm is minus infinity.
        with np.errstate(divide="ignore"):
            return self.contexts.log_density(x) + np.log(self.weights)


def _nearest_center(rows: Floats, n_centers: int, random: np.random.RandomState) -> Floats:
    centers, _ = kmeans_plusplus(rows, n_centers, random_state=random)
    distances = np.square(rows[:, None, :] - centers).sum(axis=2)
    return np.asarray(np.eye(n_centers)[distances.argmin(axis=1)])


def _shares(log_x: Floats, log_y: Floats, mapping: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The logarithm of f(x, y) for each row, its shares in the components U and V, and the sums of shares in pairs.

    The sum over pairs is a matrix product once both factors are scaled to a maximum of 1. For a row whose likely U and
    V do not go together, that sum may underflow; such rows are computed pair by pair in logarithms.
    """
    highest_x, highest_y = log_x.max(axis=1, keepdims=True), log_y.max(axis=1, keepdims=True)
    from_x, from_y = np.exp(log_x - highest_x), np.exp(log_y - highest_y)
    through = from_y @ mapping.T
    joint = (from_x * through).sum(axis=1, keepdims=True)
    vanishing = joint[:, 0] < VANISHING
    joint[vanishing] = 1.0
    scaled_x = from_x / joint
    scaled_x[vanishing] = 0.0
    log_joint = (np.log(joint) + highest_x + highest_y)[:, 0]
    u, v = scaled_x * through, from_y * (scaled_x @ mapping)
    pairs = (scaled_x.T @ from_y) * mapping
    for row in np.flatnonzero(vanishing):
        logs = log_x[row, :, None] + np.log(mapping) + log_y[row]
        log_joint[row] = _log_sum(logs.reshape(1, -1))[0]
        share = np.exp(logs - log_joint[row])
        u[row], v[row] = share.sum(axis=1), share.sum(axis=0)
        pairs += share
    return log_joint, u, v, pairs


def _log_sum(logs: Floats) -> Floats:
    """The logarithm of the sum of exponentials of each row."""
    highest = logs.max(axis=1)
    return np.asarray(highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1)))
