"""Markov blankets by Fast-IAMB (Yaramakala and Margaritis, 2005).

A variable's Markov blanket is the smallest set of others that makes all the rest irrelevant to it. Fast-IAMB grows a
candidate set by many variables at a time, strongest first, and shrinks it again, until nothing is left to add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import erfc, gammaincc

from paribus._common.arrays import Floats
from paribus.baselines.base import indicators, merge_rare, standardize

# A category has an indicator of its own if it is among this many commonest ones and not rare; the others share one.
MAX_INDICATORS = 40
MIN_CATEGORY_ROWS = 5
# A direction with less variance than this is one that the variables given already determine.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class Dependence:
    """A test of whether two variables are independent given others, from the correlations of a table.

    Numbers are taken as jointly Gaussian: Fisher's z of the partial correlation. A category is a group of indicators,
    so that the order of its codes does not matter: Bartlett's test of canonical correlations, which is that of the
    partial correlation for groups of one.
    """

    correlations: Floats
    groups: list[npt.NDArray[np.int64]]
    """The columns of the correlations that belong to each variable."""
    n_rows: int

    @classmethod
    def of(cls, table: Floats, categorical: npt.NDArray[np.bool_]) -> Dependence:
        """The test for the columns of a table."""
        parts = [
            # The last indicator is implied by the others: left out, it costs the test no rows.
            indicators(merge_rare(column, MAX_INDICATORS, MIN_CATEGORY_ROWS))[:, :-1] if is_category else column[:, None]
            for column, is_category in zip(table.T, categorical, strict=True)
        ]
        columns = standardize(np.hstack(parts))
        edges = np.cumsum([0] + [part.shape[1] for part in parts])
        groups = [np.arange(edges[i], edges[i + 1]) for i in range(len(parts))]
        return cls(columns.T @ columns / len(table), groups, len(table))

    def p_values(self, target: int, others: list[int], given: list[int]) -> Floats:
        """The probability, for each other variable, of so strong a dependence by chance."""
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
        """Whether there are enough rows to condition on so many columns."""
        return self.n_rows - sum(len(self.groups[g]) for g in given) > 3

    def _without(self, given: list[int]) -> Floats:
        """The covariances that are left when the given variables are known."""
        if not given:
            return self.correlations
        known = np.concatenate([self.groups[g] for g in given])
        cross = self.correlations[:, known]
        inverse = np.linalg.pinv(self.correlations[np.ix_(known, known)], rcond=NEGLIGIBLE, hermitian=True)
        return np.asarray(self.correlations - cross @ inverse @ cross.T)

    def _whiten(self, covariances: Floats, variable: int) -> tuple[npt.NDArray[np.int64], Floats]:
        """A variable's columns, and combinations of them with variance 1."""
        columns = self.groups[variable]
        values, vectors = np.linalg.eigh(covariances[np.ix_(columns, columns)])
        kept = values > NEGLIGIBLE
        return columns, vectors[:, kept] / np.sqrt(values[kept])


def fast_iamb(test: Dependence, target: int, significance: float = 0.05) -> list[int]:
    """The Markov blanket of a variable, in ascending order.

    Parameters
    ----------
    test : Dependence
        The test of independence.
    target : int
        The variable.
    significance : float
        Variables whose dependence is more probable than this by chance are independent.

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
        # Tests that contradict each other could go on for ever.
        seen.add(frozenset(blanket))
        blanket = _shrink(test, target, _grow(test, target, blanket, variables, significance), significance)
    return sorted(blanket)


def _grow(test: Dependence, target: int, blanket: list[int], variables: list[int], significance: float) -> list[int]:
    outside = [v for v in variables if v not in blanket]
    p_values = test.p_values(target, outside, blanket)
    grown = list(blanket)
    # A stable sort: among equals, the first column.
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
