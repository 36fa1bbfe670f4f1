"""ConditionalSurprise: how improbable each value is, given the context and given the other behaviours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from paribus import scoring
from paribus.detector import check_behavior, warn_missing
from paribus.encoding import ContextEncoding, encode_behavior
from paribus.fitted import Encoded, Fitted
from paribus.frame import ContextualDetector, warn_unscored
from paribus.judge import Judge
from paribus.parallel import resolve_n_jobs
from paribus.parameters import check_parameters
from paribus.progress import Progress, reporter
from paribus.roles import assign_roles
from paribus.surprises import DEFAULT_CLIP, SurpriseJudge, SurpriseMemory, SurpriseSettings
from paribus.table import Columns, Table


class ConditionalSurprise(ContextualDetector):
    """Finds rows that are improbable given their context."""

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        n_trees: int = 64,
        max_features: int | float | str | None = 0.7,
        min_samples_leaf: int = 4,
        max_samples: int = 2**15,
        clip: float | None = DEFAULT_CLIP,
        contamination: float | str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: Progress = False,
    ) -> None:
        self.contextual = contextual
        self.behavioral = behavioral
        self.categorical = categorical
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.clip = clip
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: None = None) -> ConditionalSurprise:
        """Learns the table and scores its rows, each by trees that have not seen it.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array
            The table.
        y : ignored
        """
        start = time.perf_counter()
        check_parameters(self.get_params(deep=False))
        n_threads = resolve_n_jobs(self.n_jobs)
        table = Table(X)
        roles = assign_roles(table, self.contextual, self.behavioral, self.categorical)
        encoding = ContextEncoding.fit(table, roles.contextual, roles.categorical)
        context = encoding.encode(table, roles.contextual)
        behavior = encode_behavior(table, roles.behavioral)
        warn_missing(table, context, roles.contextual)
        check_behavior(behavior, [table.name(p) for p in roles.behavioral])
        seed = int(check_random_state(self.random_state).randint(2**31))
        settings = SurpriseSettings(
            self.n_trees, self.max_features, self.min_samples_leaf, self.max_samples, self.clip, seed
        )
        encoded = Encoded(table.copy(), roles, encoding, context, behavior)
        judge = SurpriseJudge(encoded, settings)
        with reporter(self.progress, table.n_rows, "Learning") as tick:
            partial = judge.fit(n_threads, tick)
        scores = scoring.total(partial)
        warn_unscored(scores)
        fitted = Fitted(
            encoded.table,
            roles,
            encoding,
            context,
            behavior,
            memory=SurpriseMemory(settings, table.n_rows, judge.learned),
            partial=partial,
            reach=judge.reach(),
            threshold=scoring.threshold(scores, self.contamination),
            seconds=time.perf_counter() - start,
        )
        self._remember(fitted, judge)
        return self

    def _compared_with(self, plural: str = "") -> str:
        return f"the {plural or 'rows'} like it"

    _memory_type = SurpriseMemory

    @staticmethod
    def _make_judge(fitted: Fitted) -> Judge:
        assert isinstance(fitted.memory, SurpriseMemory)
        judge = SurpriseJudge(fitted, fitted.memory.settings)
        judge.recall(fitted.memory.learned, resolve_n_jobs(-1))
        return judge
