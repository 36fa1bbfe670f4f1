"""ConditionalSurprise: how improbable each value is given the context, and given everything else in the row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paribus._common.arrays import Floats
from paribus._common.untrusted import DamagedError
from paribus.methods.interface import FittedMethod, Method
from paribus.methods.scores import share_threshold, sum_score
from paribus.methods.surprise.model import SurpriseModel
from paribus.methods.surprise.packing import pack
from paribus.methods.surprise.past import PastModel
from paribus.methods.surprise.state import FOREST, SurpriseState
from paribus.methods.surprise.unpacking import unpack
from paribus.tables.encoded_table import EncodedTable

# Beyond 1 in a million, the exact value does not matter to a reader.
FULL_PARTIAL_SCORE = 6.0


def _restore(table: EncodedTable, state: SurpriseState, n_threads: int) -> FittedMethod:
    try:
        model = SurpriseModel.recall(table, state)
        return PastModel(table, state.settings, model, n_threads) if state.settings.by_past else model
    except ValueError as error:
        # The compiled part rejects inconsistent parts.
        raise DamagedError(f"the forests are inconsistent with the table ({error})") from None


def _threshold(scores: Floats, contamination: float | str, false_alarms: float) -> float:
    if not isinstance(contamination, str):
        return share_threshold(scores, contamination)
    return float(-np.log10(false_alarms))


def _p_values(scores: Floats, get_fitted: Callable[[], Floats]) -> Floats:
    # A score is minus the decimal logarithm of this.
    return np.asarray(10.0**-scores)


def _compared_with(noun: str, n_reference: int) -> str:
    return f"the {noun}s like it"


def _full_score(state: SurpriseState, n_behavioral: int) -> str:
    return (
        "3 means that 1 in 1,000 ordinary rows would be as strange, 6 that 1 in a million would be; "
        "it is the sum of one partial score per behavioral column"
    )


def _is_forest(name: str) -> bool:
    return name.startswith(FOREST)


METHOD = Method(
    name="ConditionalSurprise",
    restore=_restore,
    pack=pack,
    unpack=unpack,
    total=sum_score,
    threshold=_threshold,
    p_values=_p_values,
    compared_with=_compared_with,
    full_partial_score=FULL_PARTIAL_SCORE,
    full_score=_full_score,
    verifies_itself=_is_forest,
    citation="The method is conditional surprise, by quantile regression forests over the whole table.",
)
