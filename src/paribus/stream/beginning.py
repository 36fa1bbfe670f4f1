"""What is known when a stream begins: rows that the model has not seen, and how long rows depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.statistics import evenly
from paribus.detectors.surprise import ConditionalSurprise
from paribus.methods.surprise.verdict import NATS_PER_DIGIT
from paribus.stream.dependence import TIMES, block_lengths, cycle_length, dependence_time, one_by_one, variance_bound
from paribus.stream.levels import Levels
from paribus.stream.refitting import refit
from paribus.stream.surroundings import representatives

# Fitted rows that ranks begin with. More would make the tests notice that fitted rows are never quite like new ones,
# and those of a small fit are not: then, the stream is compared with its own beginning.
N_FIRST, MIN_FITTED = 2_000, 1_000
# Successive fitted rows that tell how long rows depend on each other; the later half is held out if they do.
N_SUCCESSIVE = 16_384
# The number of blocks among the known rows, at least, if only contexts are slow.
N_SLOW = 16
# Rows from before the stream have negative numbers.
BEFORE = 2**40


@dataclass(frozen=True)
class Beginning:
    """Rows that are known not to have changed, and how to look at those that come."""

    levels: Levels
    """By the model that the stream is compared with."""
    known_context: Floats
    """Contexts, which no model needs to be known for: more rows than have levels."""
    context: Floats
    """The contexts of rows whose levels are known."""
    behavior_levels: Floats
    law_lengths: npt.NDArray[np.int64]
    """By behavior: the number of rows of a block; 1 to look at each row, 0 for never."""
    law_variances: Floats
    """By behavior: how many times as much sums of levels vary as if rows were independent, at most."""
    context_lengths: npt.NDArray[np.int64]
    """The same for what is watched of the context."""
    scores: Floats
    """What the detector would score rows that a model had not seen; none if rows are independent, or too few."""


def find_beginning(detector: ConditionalSurprise, seed: int) -> Beginning:
    """What is known of a stream by the rows that a detector was fitted to, which are taken to be in their order."""
    levels = Levels(detector, seed)
    n = levels.n_fitted
    successive = np.arange(max(0, n - N_SUCCESSIVE), n)
    all_context = levels.fitted_context(successive)
    context_levels = levels.of_context(all_context, 0)
    cycles = [cycle_length(context_levels[:, column]) for column in range(context_levels.shape[1])]
    # What comes again says nothing new, and would look like a shift if a row were left out.
    context_times = [inf if cycle else time for cycle, time in zip(cycles, _times(context_levels), strict=True)]
    # The combination of columns, the last of them, depends on each.
    context_times[-1] = max(context_times)
    cycle = max(cycles)
    # How long contexts, and with them what a model gets wrong, stay about the same.
    slowest = max(_times(context_levels, cycle))
    fitted_levels = levels.of_fitted(successive[len(successive) // 2 :])
    law_times = _times(fitted_levels, cycle)
    is_independent = max(*context_times, *law_times) <= 1.0
    held_out = None if is_independent or n < MIN_FITTED else _hold_out(detector, successive, seed)
    if held_out is not None:
        levels, all_context, context, known, scores = held_out
        law_times = _times(known, cycle)
    elif is_independent and n >= MIN_FITTED:
        first = evenly(np.arange(n), N_FIRST)
        all_context = context = levels.fitted_context(first)
        known = levels.of_fitted(first)
    else:
        all_context = context = levels.fitted_context(np.arange(0))
        known = fitted_levels[:0]
    if held_out is None or any(column.times is not None for column in detector.view().context):
        # With moments, the detector itself has calibrated its scores by blocks of time that trees had not seen.
        scores = np.empty(0)
    context_lengths = block_lengths(context_times, len(all_context) or n)
    # Where contexts hardly move, neither does what the model gets wrong there.
    n_known = len(known) or n
    at_least = min(slowest, n_known / N_SLOW / TIMES)
    law_lengths = block_lengths([max(time, at_least) for time in law_times], n_known)
    sample = known if len(known) else fitted_levels
    variances = np.array([variance_bound(sample[:, place], max(time, slowest)) for place, time in enumerate(law_times)])
    law_lengths = one_by_one(law_lengths, variances)
    return Beginning(levels, all_context, context, known, law_lengths, variances, context_lengths, scores)


def _times(levels: Floats, cycle: int = 0) -> list[float]:
    return [dependence_time(levels[:, column], cycle) for column in range(levels.shape[1])]


def _hold_out(
    detector: ConditionalSurprise, rows: npt.NDArray[np.int64], seed: int
) -> tuple[Levels, Floats, Floats, Floats, Floats] | None:
    """A model of the earlier half of some rows, and all contexts; contexts, levels and scores of the later half.

    A row is judged too well by a model that knows the rows right before and after it.
    """
    original = detector.view().store.original
    middle = len(rows) // 2
    found = refit(detector, original.take(rows[:middle]))
    if found is None:
        return None
    all_context, all_behavior = found.scorer().encode(original.take(rows))
    # The earlier half may be winter, and the other summer: both are known circumstances.
    levels = Levels(found, seed, representatives(all_context))
    context, behavior = all_context[middle:], all_behavior[middle:]
    scores = found.method.total(levels.scorer.judge(context, behavior).partial)
    # Odds of two models of the same rows can be compared; scores are probabilities among what each was fitted to.
    odds = levels.scorer.null.scores(scores * NATS_PER_DIGIT)
    scores = detector.scorer().null(odds) / NATS_PER_DIGIT
    return levels, all_context, context, levels.of_behavior(context, behavior, BEFORE), scores
