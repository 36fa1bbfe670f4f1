"""Markov blankets by Fast-IAMB (Yaramakala and Margaritis, 2005).

The Markov blanket of a variable is the smallest set of other variables given which it is independent of all the rest.
Fast-IAMB grows a candidate set by several variables at a time, strongest first, and shrinks it again, until nothing is
left to add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import erfc, gammaincc

from paribus._common.arrays import Floats
from paribus.baselines.base import indicators, merge_rare, standardize

# The most frequent categories that get their own indicator; the others share one.
MAX_INDICATORS = 40
# The number of rows that a category needs for its own indicator.
MIN_CATEGORY_ROWS = 5
# A direction with less variance than this is determined by the variables that are conditioned on.
NEGLIGIBLE_VARIANCE = 1e-8


@dataclass(frozen=True)
class Dependence:
    """A test of conditional independence of two variables given others, from the correlations of a table.

    For numbers, which are assumed to be jointly Gaussian, it is Fisher's z test of the partial correlation. A
    categorical variable is a group of indicators, so that the order of its codes does not matter; the test is then
    Bartlett's test of canonical correlations, which for groups of one column tests the partial correlation.
    """

    correlations: Floats
    """The correlations of all columns, including indicators."""
    groups: list[npt.NDArray[np.int64]]
    """The columns of each variable."""
    n_rows: int
    """The number of rows behind the correlations."""

    @classmethod
    def of(cls, table: Floats, categorical: npt.NDArray[np.bool_]) -> Dependence:
        """The test for the columns of a table."""
        parts = [
            _indicators(column) if is_category else column[:, None]
            for column, is_category in zip(table.T, categorical, strict=True)
        ]
        columns = standardize(np.hstack(parts))
        edges = np.cumsum([0] + [part.shape[1] for part in parts])
        groups = [np.arange(edges[i], edges[i + 1]) for i in range(len(parts))]
        return cls(columns.T @ columns / len(table), groups, len(table))

    def p_values(self, target: int, others: list[int], given: list[int]) -> Floats:
        """For each other variable, the p-value of its dependence on the target given some variables."""
        n_given = sum(len(self.groups[g]) for g in given)
        left = self._without(given)
        result = np.ones(len(others))
        own, own_root = self._whiten(left, target)
        for i, other in enumerate(others):
            its, its_root = self._whiten(left, other)
            p, q = own_root.shape[1], its_root.shape[1]
            if p == 0 or q == 0:
                continue
            canonical = np.linalg.svd(own_root.T @ left[np.ix_(own, its)] @ its_root, compute_uv=False)
            canonical = np.minimum(canonical, 1 - 1e-12)
            if p == q == 1:
                degrees = self.n_rows - n_given - 3
                if degrees > 0:
                    result[i] = erfc(np.sqrt(degrees) * np.arctanh(canonical[0]) / np.sqrt(2))
            else:
                degrees = self.n_rows - 1 - n_given - (p + q + 1) / 2
                if degrees > 0:
                    statistic = -degrees * np.log1p(-np.square(canonical)).sum()
                    result[i] = gammaincc(p * q / 2, statistic / 2)
        return result

    def can_test(self, given: list[int]) -> bool:
        """Whether there are enough rows to condition on these variables."""
        return self.n_rows - sum(len(self.groups[g]) for g in given) > 3

    def _without(self, given: list[int]) -> Floats:
        """The conditional covariances of all columns given some variables."""
        if not given:
            return self.correlations
        known = np.concatenate([self.groups[g] for g in given])
        cross = self.correlations[:, known]
        inverse = np.linalg.pinv(self.correlations[np.ix_(known, known)], rcond=NEGLIGIBLE_VARIANCE, hermitian=True)
        return np.asarray(self.correlations - cross @ inverse @ cross.T)

    def _whiten(self, covariances: Floats, variable: int) -> tuple[npt.NDArray[np.int64], Floats]:
        """The columns of a variable, and uncorrelated combinations of them with variance 1."""
        columns = self.groups[variable]
        values, vectors = np.linalg.eigh(covariances[np.ix_(columns, columns)])
        kept = values > NEGLIGIBLE_VARIANCE
        return columns, vectors[:, kept] / np.sqrt(values[kept])


def _indicators(codes: Floats) -> Floats:
    # The last indicator is implied by the others; leaving it out saves a degree of freedom.
    return indicators(merge_rare(codes, MAX_INDICATORS, MIN_CATEGORY_ROWS))[:, :-1]


def fast_iamb(test: Dependence, target: int, significance: float = 0.05) -> list[int]:
    """Finds the Markov blanket of a variable.

    Parameters
    ----------
    test : Dependence
        The test of conditional independence.
    target : int
        The variable.
    significance : float
        The significance level of the tests.

    Returns
    -------
    list of int
        The variables of the blanket, in ascending order.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> cause = random.normal(size=1000)
    >>> effect = cause + random.normal(size=1000)
    >>> later = effect + random.normal(size=1000)
    >>> test = Dependence.of(np.column_stack([cause, effect, later]), np.zeros(3, dtype=bool))
    >>> fast_iamb(test, 0), fast_iamb(test, 1)
    ([1], [0, 2])
    """
    variables = [v for v in range(len(test.groups)) if v != target]
    blanket: list[int] = []
    seen: set[frozenset[int]] = set()
    while frozenset(blanket) not in seen:
        # Contradictory tests could alternate forever, so the loop ends when a set recurs.
        seen.add(frozenset(blanket))
        blanket = _shrink(test, target, _grow(test, target, blanket, variables, significance), significance)
    return sorted(blanket)


def _grow(test: Dependence, target: int, blanket: list[int], variables: list[int], significance: float) -> list[int]:
    outside = [v for v in variables if v not in blanket]
    p_values = test.p_values(target, outside, blanket)
    grown = list(blanket)
    # The sort is stable: among equal p-values, the first column comes first.
    for i in np.argsort(p_values, kind="stable"):
        if p_values[i] > significance or not test.can_test([*grown, outside[i]]):
            break
        grown.append(outside[i])
    return grown


def _shrink(test: Dependence, target: int, blanket: list[int], significance: float) -> list[int]:
    kept = list(blanket)
    for variable in blanket:
        rest = [v for v in kept if v != variable]
        if test.p_values(target, [variable], rest)[0] > significance:
            kept = rest
    return kept
