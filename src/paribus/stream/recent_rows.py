"""The last rows of a stream, from which a monitor learns: a number of rows, or those of a period of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.stream.randomness import uniform_rows

# The maximum number of rows in a window of time.
MAX_ROWS = 65_536
# The current time is the median over this many rows: one clock that jumps does not empty the window.
N_FOR_NOW = 31
MICROSECOND = timedelta(microseconds=1)
# Rows from before the stream have negative numbers.
OFFSET = 2**40


class RecentRows:
    """Rows with their number, their time, and whether they are withheld.

    Parameters
    ----------
    names : list of str
        The columns.
    window : int or timedelta
        The number of rows, or the period of time.
    """

    def __init__(self, names: Sequence[str], window: int | timedelta) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in names}
        self.numbers: list[int] = []
        self.times: list[float] = []
        self.withheld: list[bool] = []
        self._window = window

    @property
    def n_most(self) -> int:
        """The maximum number of rows that are kept."""
        return self._window if isinstance(self._window, int) else MAX_ROWS

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, columns: Mapping[str, list[Any]], first: int, times: Floats, withheld: npt.NDArray[np.bool_]) -> None:
        """Adds successive rows, the first of which has a number."""
        for name, values in self.columns.items():
            values.extend(columns[name])
        self.numbers.extend(range(first, first + len(times)))
        self.times.extend(times.tolist())
        self.withheld.extend(withheld.tolist())
        # Now and then, since it takes as long as there are rows.
        if len(self.numbers) > self.n_most + max(self.n_most // 4, 1_024):
            self._cut(len(self.numbers) - self.n_most)

    def _cut(self, n: int) -> None:
        for values in (*self.columns.values(), self.numbers, self.times, self.withheld):
            del values[:n]

    def trim(self) -> None:
        """Forgets rows that are outside of the window."""
        self._cut(max(0, len(self.numbers) - self.n_most))
        if isinstance(self._window, timedelta) and self.numbers:
            times = np.array(self.times)
            last = times[-N_FOR_NOW:][~np.isnan(times[-N_FOR_NOW:])]
            if last.size:
                # Rows may come late: one is forgotten when all before it are, too. Without a time it goes with these.
                stays = times >= float(np.median(last)) - self._window / MICROSECOND
                self._cut(int(np.argmax(stays)) if stays.any() else len(times))

    def release(self, since: int) -> None:
        """Withholds no row from a number on any longer."""
        for place in range(len(self.numbers) - 1, -1, -1):
            if self.numbers[place] < since:
                break
            self.withheld[place] = False

    def count(self, since: int) -> int:
        """How many rows there are from a number on."""
        return len(self.numbers) - int(np.searchsorted(self.numbers, since))

    def share_withheld(self, since: int) -> float:
        """The share of the rows from a number on that are withheld."""
        part = self.withheld[len(self.withheld) - self.count(since) :]
        return float(np.mean(part)) if part else 0.0

    def places(self, since: int | None = None, half_life: float | None = None, seed: int = 0) -> npt.NDArray[np.int64]:
        """The places of rows to learn from, oldest first; all of them, or those from a number on.

        With a `half_life`, in rows, older rows are drawn less often: half as often per half-life.
        """
        numbers = np.array(self.numbers, dtype=np.int64)
        chosen = ~np.array(self.withheld, dtype=bool)
        if since is not None:
            chosen &= numbers >= since
        if half_life is not None and numbers.size:
            # The same number is drawn for a row each time, so that it goes once and for all.
            drawn = uniform_rows(seed, int(numbers[0]) + OFFSET, int(numbers[-1] - numbers[0]) + 1, 1)[:, 0]
            chosen &= drawn[numbers - numbers[0]] <= 0.5 ** ((numbers[-1] - numbers) / half_life)
        return np.flatnonzero(chosen)

    def table(self, places: npt.NDArray[np.int64]) -> dict[str, list[Any]]:
        """Some rows as a dict of columns."""
        return {name: [values[place] for place in places] for name, values in self.columns.items()}
