"""Detectors of PyOD that do not distinguish context from behavior.

Their settings are PyOD's defaults, as in the QCAD paper. PyOD is installed by `pip install 'paribus[bench]'`.
"""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus._common.validation import check_whole_number
from paribus.baselines.base import Baseline, Rows
from paribus.tables.table import Columns


class Pooled(Baseline):
    """Base class of PyOD's detectors, on contextual and behavioral features together.

    Parameters
    ----------
    contextual, behavioral, categorical, random_state
        See `Baseline`. Categories are used by their codes.
    scale_context : bool, optional
        Whether the context is scaled to [0, 1], as behavior is. The paper does not scale it, so that the feature with
        the largest numbers dominates all distances. The default suits the detector: True for all except for HBOS.
    """

    _scales_context = True

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(contextual, behavioral, categorical=categorical, random_state=random_state)
        self.scale_context = scale_context

    def _check_parameters(self) -> None:
        if not (self.scale_context is None or isinstance(self.scale_context, bool | np.bool_)):
            raise TypeError(f"scale_context is {self.scale_context!r}: it must be True, False or None")

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        detector = self._detector(random)
        scaled = self._scales_context if self.scale_context is None else bool(self.scale_context)
        detector.fit(rows.pooled(scale_context=scaled))
        return np.asarray(detector.decision_scores_, dtype=np.float64)

    @abstractmethod
    def _detector(self, random: np.random.RandomState) -> Any:
        """The unfitted PyOD detector."""


class IForest(Pooled):
    """Isolation forest (Liu, Ting and Zhou, 2008): rows that few random splits isolate.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_trees : int
        The number of trees.
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool | None = None,
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
    """Base class of detectors that use the nearest neighbors of a row."""

    _default_neighbors = 20

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool | None = None,
        n_neighbors: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(
            contextual, behavioral, categorical=categorical, scale_context=scale_context, random_state=random_state
        )
        self.n_neighbors = n_neighbors

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number("n_neighbors", self._neighbors(), 1)

    def _min_rows(self) -> int:
        return self._neighbors() + 1

    def _neighbors(self) -> int:
        return self._default_neighbors if self.n_neighbors is None else self.n_neighbors


class LOF(_Neighbors):
    """Local outlier factor (Breunig et al., 2000): rows whose neighbors are in denser regions.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_neighbors : int, optional
        The number of neighbors; by default 20.
    """

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("lof", "LOF")(n_neighbors=self._neighbors())


class SOD(_Neighbors):
    """Subspace outlier degree (Kriegel et al., 2009): rows outside the axis-parallel subspace of their neighbors.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_neighbors : int, optional
        The number of neighbors; by default 20. The half that shares most neighbors with the row spans the subspace.
    """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        # Half of fewer neighbors does not span a subspace.
        check_whole_number("n_neighbors", self._neighbors(), 4)

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("sod", "SOD")(n_neighbors=self._neighbors(), ref_set=max(1, self._neighbors() // 2))


class KNN(_Neighbors):
    """k nearest neighbors (Angiulli and Pizzuti, 2002): rows that are far from their k-th nearest neighbor.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`.
    n_neighbors : int, optional
        The number of neighbors, k; by default 5.
    """

    _default_neighbors = 5

    def _detector(self, random: np.random.RandomState) -> Any:
        return _pyod("knn", "KNN")(n_neighbors=self._neighbors())


class HBOS(Pooled):
    """Histogram-based outlier score (Goldstein and Dengel, 2012): rows in sparse bins of many features.

    Parameters
    ----------
    contextual, behavioral, categorical, scale_context, random_state
        See `Pooled`. By default the context is not scaled: PyOD adds a constant to the density of each bin, so that
        features with large numbers hardly count, and behavior dominates. This finds more anomalies.
    n_bins : int
        The number of bins of each histogram.
    """

    _scales_context = False

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        scale_context: bool | None = None,
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
