"""The base class of the baselines: the roles of columns, the encoding of rows, and the estimator interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from paribus._common.arrays import Floats
from paribus.tables.encoding import ContextEncoding, encode_behavior
from paribus.tables.roles import Roles, assign_roles
from paribus.tables.table import Columns, Table

# Categories of one column that are kept apart; rarer ones are merged.
MAX_CATEGORIES = 100


@dataclass(frozen=True)
class Rows:
    """A table for the baselines: numeric, and without missing values."""

    context: Floats
    """[row][contextual feature]: numbers as they are, categories as codes."""
    categorical: npt.NDArray[np.bool_]
    """Whether each contextual feature is categorical."""
    behavior: Floats
    """[row][behavioral feature], scaled to [0, 1]; a constant feature is 0."""

    def pooled(self, *, scale_context: bool) -> Floats:
        """Context and behavior side by side, with the context optionally scaled to [0, 1]."""
        return np.hstack([min_max(self.context) if scale_context else self.context, self.behavior])

    def design(self) -> Floats:
        """The design matrix of the context: standardized numbers, and an indicator for each common category."""
        columns = []
        for values, is_category in zip(self.context.T, self.categorical, strict=True):
            columns.append(indicators(merge_rare(values)) if is_category else standardize(values[:, None]))
        return np.hstack(columns)


class Baseline(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of the baselines. A subclass adds the parameters of its method and scores rows.

    Parameters
    ----------
    contextual : list of names or positions
        The contextual columns: numeric or categorical.
    behavioral : list of names or positions, optional
        The behavioral columns: numeric. By default every other numeric column.
    categorical : list of names or positions, optional
        Numeric contextual columns to treat as categorical. Text, categorical and boolean columns always are.
    random_state : int, RandomState or None
        The seed of the method's random draws.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The scores; higher is more anomalous. Their scale depends on the method.
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.contextual = contextual
        self.behavioral = behavioral
        self.categorical = categorical
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Scores the rows of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array
            The table, without missing values.
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> from paribus import baselines, datasets
        >>> cities = datasets.load("cities")
        >>> baselines.ROCOD(cities.contextual, cities.behavioral).fit(cities.table).anomaly_scores_.shape
        (16,)
        """
        self._check_parameters()
        table = Table(X)
        roles = assign_roles(table, self.contextual, self.behavioral, self.categorical)
        rows = self._read(table, roles)
        self.anomaly_scores_ = self._score(rows, check_random_state(self.random_state))
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raises an error if a parameter is out of range."""

    @abstractmethod
    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        """The score of each row."""

    def _min_rows(self) -> int:
        """The minimum number of rows that the method needs."""
        return 2

    def _read(self, table: Table, roles: Roles) -> Rows:
        name = type(self).__name__
        if table.n_rows < self._min_rows():
            raise ValueError(f"{name} needs at least {self._min_rows()} rows, but the table has {table.n_rows}")
        encoding = ContextEncoding.fit(table, roles.contextual, roles.categorical)
        context = encoding.encode(table, roles.contextual)
        behavior = encode_behavior(table, roles.behavioral)
        for values, position in zip(
            np.hstack([context, behavior]).T, [*roles.contextual, *roles.behavioral], strict=True
        ):
            missing = np.flatnonzero(np.isnan(values))
            if missing.size:
                raise ValueError(
                    f"{name} needs complete rows, but column {table.label(position)} has no value in row {missing[0]}: "
                    "fill it in or drop the row"
                )
        return Rows(context, encoding.categorical.astype(np.bool_), min_max(behavior))


def min_max(values: Floats) -> Floats:
    """Each column scaled to [0, 1]; a constant one is 0.

    >>> min_max(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[0., 0.],
           [1., 0.]])
    """
    lowest = values.min(axis=0)
    width = values.max(axis=0) - lowest
    return np.asarray((values - lowest) / np.where(width > 0, width, 1.0))


def standardize(values: Floats) -> Floats:
    """Each column with mean 0 and standard deviation 1; a constant one is 0.

    >>> standardize(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    # Scaled first, since squares of large numbers would overflow.
    centered = min_max(values)
    centered -= centered.mean(axis=0)
    spread = centered.std(axis=0)
    return np.asarray(centered / np.where(spread > 0, spread, 1.0))


def merge_rare(
    codes: npt.NDArray[Any], max_categories: int = MAX_CATEGORIES, min_rows: int = 1
) -> npt.NDArray[np.int64]:
    """Renumbers codes from 0 in the same order; categories that are not among the most frequent share the last code.

    This keeps a column with a different name in each row from becoming a matrix of rows x rows.

    >>> merge_rare(np.array([7, 7, 3, 3, 5, 9]), max_categories=2)
    array([1, 1, 0, 0, 2, 2])
    """
    _, category, n_rows = np.unique(codes, return_inverse=True, return_counts=True)
    common = n_rows >= min_rows
    common[np.argsort(-n_rows, kind="stable")[max_categories:]] = False
    return np.asarray(np.where(common, np.cumsum(common) - 1, common.sum())[category])


def indicators(codes: npt.NDArray[np.int64]) -> Floats:
    """One-hot encoding: a column of 0 and 1 for each code from 0 on.

    >>> indicators(np.array([1, 0, 1]))
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    return np.asarray(codes[:, None] == np.arange(codes.max() + 1), dtype=np.float64)
