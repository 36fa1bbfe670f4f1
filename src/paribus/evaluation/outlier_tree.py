"""The package outliertree with the interface of a baseline; installed by `pip install 'paribus[bench]'`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator


class OutlierTree(BaseEstimator):  # type: ignore[misc]
    """Explainable outliers in single columns, given conditions on other columns (Cortes 2020).

    Only behavioral columns can be outlying; all columns can be conditions. It does not score rows, but lists those that
    it finds, in this order: without conditions on missing values first, then fewer conditions, then the lower
    probability. All other rows share the last rank.

    Parameters
    ----------
    contextual, behavioral : list of str
        The roles of the columns of a pandas DataFrame, or of another table that pandas can read.
    categorical : list of str
        Numeric columns to treat as categorical. Text columns and those with fewer than three values always are.
    random_state : ignored
        There is no randomness.
    n_jobs : int
        The number of threads.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The number of rows after it in the order; 0 for rows that are not listed.
    labels_ : array of shape (rows,)
        -1 for the listed rows, 1 for all others.
    """

    def __init__(
        self,
        contextual: list[str],
        behavioral: list[str],
        *,
        categorical: list[str] | None = None,
        random_state: int | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.contextual = contextual
        self.behavioral = behavioral
        self.categorical = categorical
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: None = None) -> Self:
        """Lists the outlying rows of a table."""
        import outliertree
        import pandas as pd

        frame = pd.DataFrame(X)[[*self.contextual, *self.behavioral]].reset_index(drop=True)
        for name, column in frame.items():
            if name in (self.categorical or []) or column.nunique() < 3 or not pd.api.types.is_numeric_dtype(column):
                frame[name] = column.astype("category")
        model = outliertree.OutlierTree(nthreads=self.n_jobs)
        found = model.fit(frame, cols_ignore=self.contextual, outliers_print=0, return_outliers=True)
        listed = found[found["outlier_score"].notna()]
        order = listed.sort_values(["uses_NA_branch", "tree_depth", "outlier_score"], kind="stable").index.to_numpy()
        self.anomaly_scores_ = np.zeros(len(frame))
        self.anomaly_scores_[order] = np.arange(len(order), 0, -1)
        self.labels_ = np.where(self.anomaly_scores_ > 0, -1, 1)
        return self
