"""What a stream is compared with: a model that stays as it is, and tests that watch for changes against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.statistics import evenly
from paribus.detectors.row_scorer import RowScorer
from paribus.detectors.surprise import ConditionalSurprise
from paribus.stream.alarms import CIRCUMSTANCES, LAW, Alarm, say_circumstances, say_law
from paribus.stream.change import Change, ChangeTests, find_strides
from paribus.stream.randomness import uniform_rows
from paribus.stream.surroundings import Surroundings

# Fitted rows that ranks begin with. More would make the tests notice that fitted rows are never quite like new ones,
# and those of a small fit are not: then, the stream is compared with its own beginning.
N_FIRST, MIN_FITTED = 2_000, 1_000
# Successive fitted rows that tell how far apart rows are independent.
N_SUCCESSIVE = 4_096
# Seeds of what is drawn at random, so that nothing is drawn twice.
OF_FIRST, OF_LEVELS, OF_CONTEXT, OF_LAW, OF_CIRCUMSTANCES = range(1, 6)
# A cell with so many times its share of the reference is one of new circumstances.
CROWDED = 2.0
# How fast the shares of cells are forgotten, in rows.
MEMORY_OF_CELLS = 200.0


class Reference:
    """Watches for changes against a fitted detector.

    Parameters
    ----------
    detector : ConditionalSurprise
        What the stream is compared with.
    alpha : float
        The probability of a false alarm of each of the two kinds, ever.
    seed : int
        The seed of what is drawn at random.
    """

    def __init__(self, detector: ConditionalSurprise, alpha: float, seed: int) -> None:
        self.detector = detector
        self.scorer: RowScorer = detector.scorer()
        self._seed = seed
        view = detector.view()
        store = view.store
        self.surroundings = Surroundings(store.context(slice(None)), view.context)
        self.names = view.behavior_names
        first = evenly(np.arange(store.n_rows), N_FIRST)
        if store.n_rows < MIN_FITTED:
            first = first[:0]
        successive = np.arange(max(0, store.n_rows - N_SUCCESSIVE), store.n_rows)
        context = store.context(first)
        of_context = self._context_levels(context, OF_FIRST)
        of_law = self._fitted_levels(first)
        law_strides = find_strides(self._fitted_levels(successive))
        context_strides = find_strides(self._context_levels(store.context(successive), OF_FIRST))
        self.unwatched = [name for name, stride in zip(self.names, law_strides, strict=True) if stride == 0]
        """Behavior that cannot be tested: successive rows are too much alike."""
        n_groups = 1 + len(self.surroundings.strata)
        self.law = ChangeTests(alpha, law_strides, self.surroundings.n_cells, n_groups, seed + OF_LAW)
        self.law.begin(of_law, self.surroundings.cells(context))
        self.circumstances = ChangeTests(alpha, context_strides, 1, 1, seed + OF_CIRCUMSTANCES)
        self.circumstances.begin(of_context, np.zeros(len(first), dtype=np.int64))
        self.cell_shares = self.surroundings.cell_shares.copy()
        """The shares of cells of late."""
        self.shifted: Alarm | None = None
        """The alarm that circumstances have shifted, if there is one."""

    def __getstate__(self) -> dict[str, Any]:
        # It is made again from the detector.
        return {name: value for name, value in self.__dict__.items() if name != "scorer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.scorer = self.detector.scorer()

    def _fitted_levels(self, rows: npt.NDArray[np.int64]) -> Floats:
        return self.scorer.fitted_levels(rows, uniform_rows(self._seed + OF_LEVELS, 0, len(rows), len(self.names)))

    def _context_levels(self, context: Floats, what: int, first: int = 0) -> Floats:
        n = len(self.surroundings.watched) + 1
        return self.surroundings.levels(context, uniform_rows(self._seed + what, first, len(context), n))

    def update(
        self, context: Floats, behavior: Floats, first: int, times: list[str | None]
    ) -> tuple[list[tuple[int, Alarm]], npt.NDArray[np.bool_]]:
        """Looks at successive rows, the first of which has a number.

        Returns the alarms by row, and whether the circumstances of each row are those of the reference.
        """
        n_rows = len(context)
        share = uniform_rows(self._seed + OF_LEVELS, first, n_rows, len(self.names))
        levels = self.scorer.levels(context, behavior, share)
        is_unfamiliar = self.surroundings.is_unfamiliar(context)
        # What the model has never seen the like of says nothing about a change of what it knows.
        levels[is_unfamiliar] = np.nan
        cells, groups = self.surroundings.cells(context), self.surroundings.groups(context)
        alarms = [
            (row, self._law_alarm(change, first + row, times, first))
            for row, change in self.law.update(levels, cells, groups, first)
        ]
        everywhere = np.zeros((n_rows, 1), dtype=np.int64)
        of_context = self._context_levels(context, OF_CONTEXT, first)
        shifts = self.circumstances.update(of_context, everywhere[:, 0], everywhere, first)
        begin = n_rows
        for row, change in shifts:
            alarm = self._circumstances_alarm(change, first + row, times, first)
            alarms.append((row, alarm))
            if self.shifted is None:
                self.shifted, begin = alarm, row
        is_certain = ~is_unfamiliar
        start = 0 if self.shifted is not None and begin == n_rows else begin
        for row, cell in enumerate(cells.tolist()):
            self.cell_shares *= 1.0 - 1.0 / MEMORY_OF_CELLS
            self.cell_shares[cell] += 1.0 / MEMORY_OF_CELLS
            if self.shifted is not None and row >= start:
                usual = self.surroundings.cell_shares[cell]
                is_certain[row] &= self.cell_shares[cell] <= CROWDED * usual
        return alarms, is_certain

    def _law_alarm(self, change: Change, number: int, times: list[str | None], first: int) -> Alarm:
        name = self.names[change.column]
        region = self.surroundings.strata[change.group - 1].text if change.group else None
        time, since_time = _time_of(number, times, first), _time_of(change.since, times, first)
        sentence = say_law(change, name, region, since_time)
        return Alarm(
            LAW, number, change.since, sentence, name, change.how, region, change.evidence, time, since_time
        )  # fmt: skip

    def _circumstances_alarm(self, change: Change, number: int, times: list[str | None], first: int) -> Alarm:
        name = self.surroundings.name(change.column)
        time, since_time = _time_of(number, times, first), _time_of(change.since, times, first)
        has_order = self.surroundings.has_order(change.column)
        sentence = say_circumstances(change, name, has_order, since_time)
        return Alarm(
            CIRCUMSTANCES, number, change.since, sentence, name, change.how, None, change.evidence, time, since_time
        )  # fmt: skip

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """What changes with rows: plain values, and arrays."""
        arrays = {f"law_{name}": each for name, each in self.law.state().items()}
        arrays |= {f"circumstances_{name}": each for name, each in self.circumstances.state().items()}
        arrays["cell_shares"] = self.cell_shares
        return {"shifted": None if self.shifted is None else self.shifted.to_dict()}, arrays

    def go_on(self, fields: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Takes over what `state` gave."""
        for prefix, tests in (("law_", self.law), ("circumstances_", self.circumstances)):
            tests.go_on({name[len(prefix) :]: each for name, each in arrays.items() if name.startswith(prefix)})
        self.cell_shares = arrays["cell_shares"].astype(np.float64)
        self.shifted = None if fields["shifted"] is None else Alarm(**fields["shifted"])


def _time_of(number: int, times: list[str | None], first: int) -> str | None:
    """The time of a row; `times` are those of known rows, the last of which are the ones that begin with `first`."""
    place = number - first
    return times[place] if 0 <= place < len(times) else None
