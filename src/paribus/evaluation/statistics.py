"""Tests of differences between detectors over many data sets: Friedman's test, followed by Nemenyi's.

See Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, f, rankdata, studentized_range

from paribus._common.arrays import Floats
from paribus._common.validation import is_number


def ranks(results: npt.ArrayLike) -> Floats:
    """The rank of each method on each data set: 1 is the highest result, and ties share the mean of their ranks.

    Parameters
    ----------
    results : array of shape (data sets, methods)
        Higher is better; no missing values.

    Returns
    -------
    array of shape (data sets, methods)

    Examples
    --------
    >>> ranks([[0.9, 0.5, 0.7], [0.8, 0.8, 0.1]])
    array([[1. , 3. , 2. ],
           [1.5, 1.5, 3. ]])
    """
    table = np.asarray(results, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(f"results has shape {table.shape}: it must be data sets x methods, with at least 2 methods")
    if np.isnan(table).any():
        row, column = np.argwhere(np.isnan(table))[0]
        raise ValueError(f"results has no value for data set {row}, method {column}: leave that data set out")
    return np.asarray(rankdata(-table, axis=1))


@dataclass(frozen=True)
class Friedman:
    """The result of testing the hypothesis that all methods have the same average rank."""

    statistic: float
    """Friedman's chi-squared statistic, corrected for ties."""
    p_value: float
    """The p-value of Friedman's test."""
    f_statistic: float
    """Iman and Davenport's F statistic, which is less conservative."""
    f_p_value: float
    """The p-value of Iman and Davenport's test."""


def friedman(results: npt.ArrayLike) -> Friedman:
    """Friedman's test, and that of Iman and Davenport.

    Parameters
    ----------
    results : array of shape (data sets, methods)
        Higher is better; no missing values.

    Returns
    -------
    Friedman

    Examples
    --------
    >>> test = friedman([[0.9, 0.5, 0.7], [0.8, 0.6, 0.7], [0.7, 0.1, 0.2], [0.6, 0.3, 0.5]])
    >>> test.statistic, round(test.p_value, 4)
    (8.0, 0.0183)
    """
    table = ranks(results)
    n, k = table.shape
    ties = sum(float((counts**3 - counts).sum()) for counts in (np.unique(row, return_counts=True)[1] for row in table))
    # If all methods tie on every data set, there is no difference to test.
    correction = 1.0 - ties / (n * k * (k * k - 1))
    if correction <= 0:
        return Friedman(0.0, 1.0, 0.0, 1.0)
    spread = float(np.square(table.mean(axis=0) - (k + 1) / 2).sum())
    statistic = 12.0 * n / (k * (k + 1)) * spread / correction
    remaining = n * (k - 1) - statistic
    f_statistic = float("inf") if remaining <= 1e-12 else (n - 1) * statistic / remaining
    f_p_value = float(f.sf(f_statistic, k - 1, (k - 1) * (n - 1))) if n > 1 else 1.0
    return Friedman(statistic, float(chi2.sf(statistic, k - 1)), f_statistic, f_p_value)


def critical_difference(n_methods: int, n_datasets: int, significance: float = 0.05) -> float:
    """The critical difference of Nemenyi's test: average ranks that are farther apart differ significantly.

    Parameters
    ----------
    n_methods, n_datasets : int
        The numbers of methods and data sets.
    significance : float
        The significance level.

    Returns
    -------
    float

    Examples
    --------
    >>> round(critical_difference(n_methods=4, n_datasets=14), 2)
    1.25
    """
    if not (is_number(significance) and 0 < significance < 1):
        raise ValueError(f"significance is {significance!r}: it must be a probability between 0 and 1")
    q = float(studentized_range.isf(significance, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def nemenyi(results: npt.ArrayLike) -> Floats:
    """The p-values of Nemenyi's test.

    Parameters
    ----------
    results : array of shape (data sets, methods)
        Higher is better; no missing values.

    Returns
    -------
    array of shape (methods, methods)
        The p-value of each pair of methods.

    Examples
    --------
    >>> nemenyi([[0.9, 0.5, 0.7], [0.8, 0.6, 0.7], [0.7, 0.1, 0.2], [0.6, 0.3, 0.5]]).round(2)
    array([[1.  , 0.01, 0.33],
           [0.01, 1.  , 0.33],
           [0.33, 0.33, 1.  ]])
    """
    table = ranks(results)
    n, k = table.shape
    average = table.mean(axis=0)
    differences = np.abs(average[:, None] - average) / np.sqrt(k * (k + 1) / (6 * n))
    p_values = np.asarray(studentized_range.sf(differences * np.sqrt(2), k, np.inf), dtype=np.float64)
    np.fill_diagonal(p_values, 1.0)
    return np.minimum(p_values, 1.0)


def cliques(average_ranks: npt.ArrayLike, difference: float) -> list[list[int]]:
    """The maximal groups of methods, best first, in which no two differ by more than the critical difference.

    Parameters
    ----------
    average_ranks : array of shape (methods,)
        The average rank of each method.
    difference : float
        The critical difference.

    Returns
    -------
    list of lists of int
        The methods of each group, by position.

    Examples
    --------
    >>> cliques([1.0, 1.8, 2.6, 4.0], 1.0)
    [[0, 1], [1, 2]]
    """
    average = np.asarray(average_ranks, dtype=np.float64)
    order = np.argsort(average, kind="stable")
    found: list[list[int]] = []
    for start in range(len(order)):
        group = [int(m) for m in order[start:] if average[m] - average[order[start]] <= difference]
        # A subset of the previous group is not maximal.
        if len(group) > 1 and (not found or not set(group) <= set(found[-1])):
            found.append(group)
    return found
