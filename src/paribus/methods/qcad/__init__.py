"""QCAD, the published method: a forest for each row, grown on its nearest rows."""

from __future__ import annotations

from paribus._common.text import counted
from paribus.methods.interface import FittedMethod, Method
from paribus.methods.qcad.model import QcadModel
from paribus.methods.qcad.state import QcadState, pack, unpack
from paribus.methods.scores import FULL_SCORE, mean_score, ranked_p_values, tukey_threshold
from paribus.tables.encoded_table import EncodedTable


def _restore(table: EncodedTable, state: QcadState, n_threads: int) -> FittedMethod:
    return QcadModel(table, state)


def _compared_with(noun: str, n_reference: int) -> str:
    return f"the {noun if n_reference == 1 else counted(n_reference, noun)} most like it"


def _full_score(state: QcadState, n_behavioral: int) -> str:
    is_capped = n_behavioral > 1 and state.clip is not None
    far = "100, the maximum," if is_capped else "100 or more"
    return (
        f"0 is as expected, and {far} is far outside what comparable rows show; "
        "it is the mean of one partial score per behavioral column"
    )


METHOD = Method(
    name="QCAD",
    restore=_restore,
    pack=pack,
    unpack=unpack,
    total=mean_score,
    threshold=tukey_threshold,
    p_values=ranked_p_values,
    compared_with=_compared_with,
    full_partial_score=FULL_SCORE,
    full_score=_full_score,
    citation=(
        "The method is QCAD: Zhong Li and Matthijs van Leeuwen, “Explainable contextual anomaly detection using "
        "quantile regression forests”, Data Mining and Knowledge Discovery 37, 2023."
    ),
)
