"""The state of a fitted ConditionalSurprise as header fields and arrays of a model file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paribus._core import Samples
from paribus.methods.density import ColumnSupport
from paribus.methods.interface import Arrays
from paribus.methods.surprise.calibration import CellCalibration, TailMap
from paribus.methods.surprise.categories import Categories
from paribus.methods.surprise.learned import Learned, LearnedCategories
from paribus.methods.surprise.state import FOREST, SurpriseState
from paribus.methods.surprise.views import WholeColumn


def pack(state: SurpriseState) -> tuple[dict[str, Any], Arrays]:
    """Fields of a header, and arrays."""
    settings, verdict = state.settings, state.verdict
    fields = {
        "n_trees": int(settings.n_trees),
        "max_features": _plain_number(settings.max_features),
        "min_samples_leaf": int(settings.min_samples_leaf),
        "max_samples": int(settings.max_samples),
        "seed": int(settings.seed),
        "by_past": settings.by_past,
        "others": state.others,
        "learned": [_pack_learned(learned) for learned in state.learned],
        "ranges": state.ranges.tolist(),
        "summaries": [
            {"counts": each.counts.tolist()} if isinstance(each, Categories) else _pack_summary(*each)
            for each in state.summaries
        ],
        "samples": state.forests.sample_of,
        "verdict": {
            "sums": {
                name: {"map": _pack_tail(each), "fills": verdict.fills[name].tolist()}
                for name, each in verdict.sum_maps.items()
            },
            "values": {
                name: [{"surprise": _pack_tail(each.surprise), "mean": _pack_tail(each.mean)} for each in maps]
                for name, maps in verdict.value_maps.items()
            },
            "shares": verdict.shares.tolist(),
            "rates": verdict.rates.tolist(),
            "null": {
                "knots": verdict.null.knots.tolist(),
                "evidence": verdict.null.evidence.tolist(),
                "scale": verdict.null.scale,
            },
        },
    }
    return fields, _pack_forests(state)


def _pack_forests(state: SurpriseState) -> Arrays:
    forests = state.forests
    arrays: Arrays = {"index": forests.index}
    for place, summary in enumerate(state.summaries):
        if not isinstance(summary, Categories) and summary[1].values is not None:
            arrays[f"values_{place}"] = summary[1].values
    for feature, bins in enumerate(forests.bins):
        if len(bins):
            arrays[f"bins_{feature}"] = bins
    for place, (rows, ends) in enumerate(forests.samples):
        arrays |= {f"sample_gaps_{place}": Samples.pack(rows, ends), f"sample_ends_{place}": ends}
    for place, (learned, packed) in enumerate(zip(state.learned, forests.packed, strict=True)):
        if isinstance(learned, Learned) and learned.trend is not None:
            leverage = learned.trend.leverage
            gaps = Samples.pack(leverage.rows, np.array([len(leverage.rows)], dtype=np.uint32))
            arrays |= {f"leverage_gaps_{place}": gaps, f"leverage_{place}": leverage.divisors}
        if isinstance(learned, Learned) and learned.calibration is not None:
            arrays[f"levels_{place}"] = learned.calibration.levels
        for view, each in enumerate(packed):
            arrays[f"{FOREST}{place}_{view}"] = each
    return arrays


def _pack_summary(whole: WholeColumn, support: ColumnSupport) -> dict[str, Any]:
    return {
        "range": list(whole.range),
        "atoms": whole.atoms.tolist(),
        "scale": whole.scale,
        "has_all": whole.has_all,
        "limits": list(whole.limits),
        "tails": [
            whole.tails.middle,
            *whole.tails.distances,
            *whole.tails.powers,
            whole.tails.start,
            whole.tails.least,
        ],
        "ends": _pack_bounds(whole.tails.ends),
        "placeholders": _pack_bounds(whole.tails.placeholders),
        "support": [support.lowest, support.highest, support.resolution],
        "listed": support.values is not None,
        "decimals": support.decimals,
    }


def _pack_bounds(bounds: tuple[float, float]) -> list[float | None]:
    return [bound if math.isfinite(bound) else None for bound in bounds]


def _plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _pack_learned(learned: Learned | LearnedCategories) -> dict[str, Any]:
    if isinstance(learned, LearnedCategories):
        return {
            "strength": learned.strength,
            "power": learned.power,
            "wrong_share": learned.wrong_share,
            "tail": _pack_tail(learned.tail),
        }
    trend, smoothing = None if learned.trend is None else learned.trend.trend, learned.smoothing
    return {
        "shares": learned.shares.tolist(),
        "usual": learned.usual,
        "min_deviations": learned.min_deviations,
        "smoothing": None
        if smoothing is None
        else {
            "shape": smoothing.shape.kind,
            "center": smoothing.shape.center,
            "unit": smoothing.shape.unit,
            "width": smoothing.width,
            "resolution": smoothing.resolution,
            "shares": list(smoothing.shares),
            "min_widths": list(smoothing.min_widths),
        },
        "calibration": None if learned.calibration is None else _pack_calibration(learned.calibration),
        "ranges": {
            "probabilities": learned.ranges.probabilities.tolist(),
            "levels": learned.ranges.levels.tolist(),
        },
        "trend": None
        if trend is None
        else {
            "constant": trend.constant,
            "centers": trend.centers.tolist(),
            "lowest": trend.lowest.tolist(),
            "highest": trend.highest.tolist(),
            "slopes": trend.slopes.tolist(),
            "amounts": [None if amounts is None else amounts.tolist() for amounts in trend.amounts],
        },
        "distances": None if learned.trend is None else list(learned.trend.limits),
    }


def _pack_calibration(calibration: CellCalibration) -> dict[str, Any]:
    return {
        "overall": _pack_tail(calibration.overall),
        "usual": calibration.usual,
        "trust": calibration.trust,
        "final": _pack_tail(calibration.final),
    }


def _pack_tail(tail: TailMap) -> dict[str, Any]:
    return {
        "knots": tail.knots.tolist(),
        "evidence": tail.evidence.tolist(),
        "scale": tail.scale,
        "limit": tail.limit,
    }
