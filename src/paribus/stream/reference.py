"""What a stream is compared with: a model that stays as it is, and tests that watch for changes against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.detectors.surprise import ConditionalSurprise
from paribus.stream.alarms import CIRCUMSTANCES, LAW, Alarm, say_circumstances, say_law
from paribus.stream.beginning import find_beginning
from paribus.stream.change import Change, ChangeTests
from paribus.stream.dependence import MAX_VARIANCE
from paribus.stream.levels import Levels

# Seeds of the tests; those of levels are below.
OF_LAW, OF_CIRCUMSTANCES = 4, 5
# The evidence is noted after so many rows, for the timeline.
ROWS_AT_A_TIME = 32
# A cell with so many times its share of the reference is one of new circumstances.
CROWDED = 2.0
# How fast the shares of cells are forgotten, in rows.
MEMORY_OF_CELLS = 200.0


@dataclass(frozen=True)
class Evidence:
    """What the tests say after some rows."""

    rows: slice
    law: Floats
    """By behavior."""
    circumstances: Floats


class Reference:
    """Watches for changes against a model that stays as it is. `begin` makes one.

    Parameters
    ----------
    levels : Levels
        Where rows lie in what the model expects.
    alpha : float
        The probability of a false alarm of each of the two kinds, ever.
    seed : int
        The seed of what is drawn at random.
    law_lengths, context_lengths : array
        The number of rows of a block, by behavior, and by what is watched of the context.
    law_variances : array
        By behavior: how many times as much sums of levels vary as if rows were independent.
    """

    def __init__(
        self,
        levels: Levels,
        alpha: float,
        seed: int,
        law_lengths: npt.NDArray[np.int64],
        law_variances: Floats,
        context_lengths: npt.NDArray[np.int64],
    ) -> None:
        self.levels, self.surroundings, self.names = levels, levels.surroundings, levels.names
        if len(law_lengths) != len(self.names) or len(context_lengths) != len(self.surroundings.watched) + 1:
            raise ValueError("the stored tests are not those of this model")
        if len(law_variances) != len(law_lengths) or not (law_variances >= 1.0).all():
            raise ValueError("the stored variances are not those of levels")
        n_groups = 1 + len(self.surroundings.strata)
        n_cells = self.surroundings.n_cells
        self.law = ChangeTests(alpha, law_lengths, law_variances, n_cells, n_groups, seed + OF_LAW)
        ones = np.ones(len(context_lengths))
        self.circumstances = ChangeTests(alpha, context_lengths, ones, 1, 1, seed + OF_CIRCUMSTANCES)
        self.cell_shares = self.surroundings.cell_shares.copy()
        """The recent shares of cells."""
        self.shifted: Alarm | None = None
        """The alarm that circumstances have shifted, if there is one."""
        self.first_scores = np.empty(0)
        """The scores of known rows, by a model that had not seen them; none where they would say nothing new."""

    @classmethod
    def begin(
        cls, detector: ConditionalSurprise, alpha: float, seed: int, previous: Reference | None = None
    ) -> Reference:
        """Begins with what the fitted rows of a detector say, and what was known before of how long rows depend."""
        found = find_beginning(detector, seed)
        law_lengths, variances, context_lengths = found.law_lengths, found.law_variances, found.context_lengths
        if previous is not None:
            # A new beginning may have few rows, which show less.
            context_lengths = _longer(context_lengths, previous.circumstances.lengths)
            if len(variances) == len(previous.law.variances):
                variances = np.maximum(variances, previous.law.variances)
                is_row_by_row = np.minimum(law_lengths, previous.law.lengths) == 1
                law_lengths = _longer(law_lengths, previous.law.lengths)
                law_lengths[is_row_by_row & (variances <= MAX_VARIANCE)] = 1
        reference = cls(found.levels, alpha, seed, law_lengths, variances, context_lengths)
        context = found.context
        around = reference.surroundings
        reference.law.begin(found.behavior_levels, around.cells(context), around.groups(context))
        everywhere = np.zeros((len(found.known_context), 1), dtype=np.int64)
        reference.circumstances.begin(found.levels.of_context(found.known_context, 0), everywhere[:, 0], everywhere)
        reference.first_scores = found.scores
        return reference

    @property
    def is_dependent(self) -> bool:
        """Whether successive rows depend on each other."""
        return bool(((self.law.lengths != 1) | (self.law.variances > 1.0)).any())

    @property
    def detector(self) -> ConditionalSurprise:
        """The model."""
        return self.levels.detector

    @property
    def unwatched(self) -> list[str]:
        """Columns that cannot be tested: successive rows are too much alike."""
        of_context = [self.surroundings.name(each) for each in range(len(self.surroundings.watched))]
        lengths = [*self.law.lengths.tolist(), *self.circumstances.lengths[:-1].tolist()]
        return [name for name, length in zip([*self.names, *of_context], lengths, strict=True) if length == 0]

    def update(
        self, context: Floats, behavior: Floats, first: int, times: list[str | None]
    ) -> tuple[list[tuple[int, Alarm]], npt.NDArray[np.bool_], list[Evidence]]:
        """Tests successive rows, the first of which has a number.

        Returns the alarms by row, whether the circumstances of each row are those of the reference, and the evidence
        after some rows at a time.
        """
        n_rows = len(context)
        levels = self.levels.of_behavior(context, behavior, first)
        is_unfamiliar = self.surroundings.is_unfamiliar(context)
        # What the model has never seen the like of says nothing about a change of what it knows.
        levels[is_unfamiliar] = np.nan
        cells, groups = self.surroundings.cells(context), self.surroundings.groups(context)
        everywhere = np.zeros((n_rows, 1), dtype=np.int64)
        of_context = self.levels.of_context(context, first)
        alarms: list[tuple[int, Alarm]] = []
        shifts: list[tuple[int, Change]] = []
        evidence: list[Evidence] = []
        for start in range(0, n_rows, ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            for row, change in self.law.update(levels[part], cells[part], groups[part], first + start):
                alarms.append((start + row, self._law_alarm(change, first + start + row, times, first)))
            found = self.circumstances.update(of_context[part], everywhere[part, 0], everywhere[part], first + start)
            shifts += [(start + row, change) for row, change in found]
            evidence.append(Evidence(part, self.law.evidence, self.circumstances.evidence))
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
        return alarms, is_certain, evidence

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
        if self.levels.other_context is not None:
            arrays["known_context"] = self.levels.other_context
        return {"shifted": None if self.shifted is None else self.shifted.to_dict()}, arrays

    def go_on(self, fields: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Takes over what `state` gave."""
        for prefix, tests in (("law_", self.law), ("circumstances_", self.circumstances)):
            tests.go_on({name[len(prefix) :]: each for name, each in arrays.items() if name.startswith(prefix)})
        self.cell_shares = arrays["cell_shares"].astype(np.float64)
        self.shifted = None if fields["shifted"] is None else Alarm(**fields["shifted"])


def _longer(lengths: npt.NDArray[np.int64], previous: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The longer blocks, by column; 0 where either is not tested."""
    if len(lengths) != len(previous):
        return lengths
    return np.where((lengths > 0) & (previous > 0), np.maximum(lengths, previous), 0)


def _time_of(number: int, times: list[str | None], first: int) -> str | None:
    """The time of a row; `times` are those of known rows, the last of which are the ones that begin with `first`."""
    place = number - first
    return times[place] if 0 <= place < len(times) else None
