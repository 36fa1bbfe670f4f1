"""A monitor as an anomaly detector of river: `pip install river`."""

from __future__ import annotations

from typing import Any

try:
    from river import base
except ModuleNotFoundError:
    raise ImportError("the adapter for river needs river: pip install river") from None

from paribus.detectors.surprise import ConditionalSurprise
from paribus.stream.monitor import Monitor


class ContextualAnomalyDetector(base.AnomalyDetector):
    """Scores how improbable the behavior of a row is given its context, and follows slow changes.

    The features of the first row are the columns. Features that a later row lacks are missing values, and additional
    ones are left out.

    Parameters
    ----------
    contextual
        The features that are circumstances; by default the first one by name.
    start_rows
        The number of rows that are learned before any is scored.
    window
        The number of rows to learn from.
    n_trees
        The number of trees per forest.
    protect
        Whether to withhold anomalies from learning.
    seed
        The seed of the random numbers.

    Examples
    --------
    >>> from river import compose
    >>> detector = ContextualAnomalyDetector(contextual=("hour",), start_rows=100)
    >>> for hour in range(200):
    ...     detector.learn_one({"hour": hour % 24, "load": 10.0 * (hour % 24) + hour % 7})
    >>> odd, usual = detector.score_one({"hour": 3, "load": 200.0}), detector.score_one({"hour": 3, "load": 33.0})
    >>> odd > usual
    True

    """

    def __init__(
        self,
        contextual: tuple[str, ...] | None = None,
        start_rows: int = 500,
        window: int = 2_048,
        n_trees: int = 32,
        protect: bool = True,
        seed: int = 0,
    ) -> None:
        self.contextual = contextual
        self.start_rows = start_rows
        self.window = window
        self.n_trees = n_trees
        self.protect = protect
        self.seed = seed
        self._monitor: Monitor | None = None
        self._names: tuple[Any, ...] = ()

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"start_rows": 100, "window": 256, "n_trees": 4}

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learns from a row.

        Parameters
        ----------
        x
            The features of the row.

        """
        if not x:
            return
        if self._monitor is None:
            self._names = tuple(sorted(x, key=str))
            named = [str(name) for name in self.contextual or self._names[:1]]
            behavioral = [str(name) for name in self._names if str(name) not in named]
            detector = ConditionalSurprise(
                named, behavioral, n_trees=self.n_trees, random_state=self.seed, missing=False, n_jobs=1
            )
            self._monitor = Monitor(
                detector,
                start_rows=self.start_rows,
                window=self.window,
                protect=self.protect,
                random_state=self.seed,
            )
        self._monitor.learn_one(self._row(x))

    def score_one(self, x: dict[Any, Any]) -> float:
        """Scores a row: 3 means that 1 in 1,000 ordinary rows is at least as strange.

        Parameters
        ----------
        x
            The features of the row.

        Returns
        -------
        float
            The score; 0 before there is anything to compare with.

        """
        return 0.0 if self._monitor is None else self._monitor.score_one(self._row(x))

    def _row(self, x: dict[Any, Any]) -> dict[str, Any]:
        return {str(name): x.get(name) for name in self._names}
