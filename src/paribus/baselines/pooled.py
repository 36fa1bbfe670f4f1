"""Detectors that know no context: PyOD's, on contextual and behavioural features together.

Their settings are PyOD's defaults, as in the QCAD paper. PyOD comes with `pip install 'paribus[bench]'`.
"""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from typing import Any

import numpy as np

from paribus.arguments import check_whole_number
from paribus.baselines.base import Baseline, Rows
from paribus.table import Columns, Floats


class Pooled(Baseline):
    """A detector of PyOD's.

    Parameters
    ----------
    contextual, behavioral, categorical, random_state
        As for every rival; see `Baseline`. Categories are used by their codes.
    scale_context : bool
        Whether the context is scaled to [0, 1] as behaviour is. The paper leaves it as it comes, so that the feature
        with the largest numbers decides who is near. The default is what finds more anomalies of the paper's data.
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(contextual, behavioral, categorical=categorical, random_state=random_state)
        self.scale_context = scale_context

    def _check_parameters(self) -> None:
        if not isinstance(self.scale_context, bool | np.bool_):
            raise TypeError(f"scale_context is {self.scale_context!r}: it must be True or False")
        if hasattr(self, "n_neighbors"):
            check_whole_number("n_neighbors", self.n_neighbors, 1)

    def _smallest_table(self) -> int:
        return int(getattr(self, "n_neighbors", 1)) + 1

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        detector = self._detector(random)
        detector.fit(rows.pooled(scale_context=bool(self.scale_context)))
        return np.asarray(detector.decision_scores_, dtype=np.float64)

    @abstractmethod
    def _detector(self, random: np.random.RandomState) -> Any:
        """PyOD's detector, not fitted."""


class IForest(Pooled):
    """Isolation forest (Liu, Ting and Zhou, 2008): rows that few random cuts set apart.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_trees : int
        Trees of the forest.
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool = True,
        n_trees: int = 100,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(
            contextual, behavioral, categorical=categorical, scale_context=scale_context, random_state=random_state
        )
        self.n_trees = n_trees

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number("n_trees", self.n_trees, 1)

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("iforest", "IForest")(n_estimators=self.n_trees, random_state=random)


class _Neighbors(Pooled):
    """A detector that looks at a row's nearest neighbours."""

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool = True,
        n_neighbors: int = 20,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(
            contextual, behavioral, categorical=categorical, scale_context=scale_context, random_state=random_state
        )
        self.n_neighbors = n_neighbors


class LOF(_Neighbors):
    """Local outlier factor (Breunig et al., 2000): rows whose neighbours live in denser places.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_neighbors : int
        Neighbours.
    """

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("lof", "LOF")(n_neighbors=self.n_neighbors)


class SOD(_Neighbors):
    """Subspace outlier degree (Kriegel et al., 2009): rows off the axis-parallel subspace of their neighbours.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_neighbors : int
        Neighbours; half of them, those that share most neighbours with the row, make the subspace.
    """

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("sod", "SOD")(n_neighbors=self.n_neighbors, ref_set=max(1, self.n_neighbors // 2))


class KNN(_Neighbors):
    """Distance to the k-th nearest neighbour (Angiulli and Pizzuti, 2002).

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_neighbors : int
        k.
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool = True,
        n_neighbors: int = 5,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(
            contextual,
            behavioral,
            categorical=categorical,
            scale_context=scale_context,
            n_neighbors=n_neighbors,
            random_state=random_state,
        )

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("knn", "KNN")(n_neighbors=self.n_neighbors)


class HBOS(Pooled):
    """Histogram-based outlier score (Goldstein and Dengel, 2012): rows in the thin bins of many features.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
        The context stays as it comes by default: PyOD adds a constant to each bin's density, so that features with
        large numbers hardly count, and what counts is behaviour. That finds more.
    n_bins : int
        Bins of each feature's histogram.
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool = False,
        n_bins: int = 10,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(
            contextual, behavioral, categorical=categorical, scale_context=scale_context, random_state=random_state
        )
        self.n_bins = n_bins

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number("n_bins", self.n_bins, 2)

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("hbos", "HBOS")(n_bins=self.n_bins)


def _pyod(module: str, name: str) -> Any:
    try:
        return getattr(import_module(f"pyod.models.{module}"), name)
    except ImportError as error:
        raise ImportError(f"{name} needs PyOD: pip install 'paribus[bench]'") from error
