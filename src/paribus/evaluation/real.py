"""The experiment "real": how many of the known errors of real tables a detector finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from paribus._common.arrays import Floats
from paribus.evaluation.metrics import precision_at_n
from paribus.evaluation.real_tables import RealTable

TOP = 50
"""The number of highest-ranking rows that an analyst would look at."""
MAX_ROWS = {"QCAD, 100 trees": 10_000, "RIF": 20_000}
"""The maximum number of rows for methods that take too long on more.

Of a larger table, these rank a random sample with all wrong and doubtful rows. That favors them: there are as many
errors among fewer other rows.
"""


@dataclass(frozen=True)
class Found:
    """How the wrong and the doubtful rows of a table rank, and which of them are flagged."""

    n_rows: int
    """The number of ranked rows."""
    n_wrong: int
    n_doubtful: int
    top_wrong: float
    """The number of wrong rows in the top 50; of tied rows, the mean over all orders."""
    top_doubtful: float
    """The number of doubtful rows in the top 50."""
    n_flagged: int | None
    """The number of rows that are flagged by default; None if the method flags none."""
    flagged_wrong: int | None
    flagged_doubtful: int | None
    n_obvious: int
    """The number of wrong rows that any detector should find; 0 if the table has no such list."""
    top_obvious: float
    flagged_obvious: int | None
    ranks: list[float]
    """The ranks of the wrong rows, in the order of the table; 1 is the highest."""

    @property
    def recall_in_top(self) -> float:
        """The share of wrong rows that are in the top 50."""
        return self.top_wrong / self.n_wrong

    @property
    def precision_in_top(self) -> float:
        """The share of wrong rows in the top 50, without doubtful rows."""
        n_sure = min(TOP, self.n_rows) - self.top_doubtful
        return self.top_wrong / n_sure if n_sure > 0 else 0.0

    @property
    def recall_of_flags(self) -> float | None:
        """The share of wrong rows that are flagged."""
        return None if self.flagged_wrong is None else self.flagged_wrong / self.n_wrong

    def to_dict(self) -> dict[str, Any]:
        """The fields, for a result file."""
        return asdict(self)


def find_errors(table: RealTable, scores: Floats, labels: npt.NDArray[Any] | None) -> Found:
    """Compares scores and labels (-1 for a flagged row) with the known errors.

    A row without a score ranks last.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    groups = (table.wrong, table.doubtful, table.obvious)
    wrong, doubtful, obvious = (_is_one_of(rows, len(scores)) for rows in groups)
    flagged = None if labels is None else labels == -1
    ranks = rankdata(-scores, method="average")
    return Found(
        n_rows=len(scores),
        n_wrong=int(wrong.sum()),
        n_doubtful=int(doubtful.sum()),
        top_wrong=_in_top(wrong, scores),
        top_doubtful=_in_top(doubtful, scores),
        n_flagged=None if flagged is None else int(flagged.sum()),
        flagged_wrong=None if flagged is None else int((flagged & wrong).sum()),
        flagged_doubtful=None if flagged is None else int((flagged & doubtful).sum()),
        n_obvious=int(obvious.sum()),
        top_obvious=_in_top(obvious, scores),
        flagged_obvious=None if flagged is None else int((flagged & obvious).sum()),
        ranks=[float(rank) for rank in ranks[wrong]],
    )


def sample_rows(table: RealTable, max_rows: int | None, seed: int) -> RealTable:
    """A random sample of a large table with all its wrong and doubtful rows."""
    n_rows = len(table.frame)
    if max_rows is None or n_rows <= max_rows:
        return table
    special = np.array([*table.wrong, *table.doubtful])
    others = np.setdiff1d(np.arange(n_rows), special)
    sample = np.random.default_rng(seed).choice(others, max_rows - len(special), replace=False)
    kept = np.sort(np.concatenate([special, sample]))
    new = {int(old): place for place, old in enumerate(kept)}
    return RealTable(
        table.frame.iloc[kept].reset_index(drop=True),
        table.contextual,
        table.behavioral,
        {new[row]: reason for row, reason in table.wrong.items()},
        {new[row]: reason for row, reason in table.doubtful.items()},
        frozenset(new[row] for row in table.obvious),
    )


def fill_missing(frame: Any) -> Any:
    """The table with missing values filled in, for methods that need complete rows: medians, a category of its own."""
    import pandas as pd

    filled = frame.copy()
    for name, column in frame.items():
        if column.isna().any():
            if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
                filled[name] = column.fillna(column.median())
            else:
                filled[name] = column.astype(object).where(column.notna(), "missing").astype(str)
    return filled


def _is_one_of(rows: Iterable[int], n_rows: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(n_rows, dtype=np.bool_)
    found[list(rows)] = True
    return found


def _in_top(rows: npt.NDArray[np.bool_], scores: Floats) -> float:
    n = min(TOP, len(scores))
    return precision_at_n(rows, scores, n) * n if rows.any() else 0.0
