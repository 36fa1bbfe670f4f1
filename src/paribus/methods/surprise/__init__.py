"""ConditionalSurprise: how improbable each value is given the context, and given everything else in the row."""

from __future__ import annotations

from paribus._common.text import times
from paribus.methods.interface import FittedMethod, Method
from paribus.methods.surprise.model import DEFAULT_CLIP, SurpriseModel
from paribus.methods.surprise.state import SurpriseState, pack, unpack
from paribus.tables.encoded_table import EncodedTable


def _restore(table: EncodedTable, state: SurpriseState, n_threads: int) -> FittedMethod:
    model = SurpriseModel(table, state.settings)
    model.recall(state.learned, n_threads)
    return model


def _compared_with(noun: str, n_reference: int) -> str:
    return f"the {noun}s like it"


def _full_score(state: SurpriseState, n_behavioral: int) -> str:
    clip = state.settings.clip
    words = f"{times(clip or DEFAULT_CLIP)} less likely than usual, given the circumstances"
    if n_behavioral > 1:
        words += ", and again given the other behavior too"
    is_capped = n_behavioral > 1 and clip is not None
    return f"a partial score comes near its end, 100, at {words}" if is_capped else f"100 and more is {words}"


METHOD = Method(
    name="ConditionalSurprise",
    restore=_restore,
    pack=pack,
    unpack=unpack,
    compared_with=_compared_with,
    full_score=_full_score,
    citation="The method is conditional surprise, by quantile regression forests over the whole table.",
)
