"""What methods remember of a fit, as the parts of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paribus.archive import DamagedError
from paribus.arguments import MAX_NEIGHBORS
from paribus.checked import Header, array_of, floats_of, is_finite, is_permutation, is_whole
from paribus.conditional import Learned, WholeColumn
from paribus.fitted import Memory
from paribus.forests import N_DEPTHS, ForestPlan
from paribus.parameters import MAX_TREES
from paribus.quantiles import QuantileMemory
from paribus.surprises import SurpriseMemory, SurpriseSettings
from paribus.trend import LinearTrend
from paribus.values import Floats

Arrays = dict[str, npt.NDArray[Any]]

QUANTILES, SURPRISE = "QCAD", "ConditionalSurprise"
# Shares add up to 1 but for this.
ROUNDING = 1e-9


def pack_memory(memory: Memory) -> tuple[dict[str, Any], Arrays]:
    """Fields of a header, and arrays."""
    if isinstance(memory, QuantileMemory):
        return _pack_quantiles(memory)
    assert isinstance(memory, SurpriseMemory)
    return _pack_surprise(memory)


def unpack_memory(header: Header, arrays: Arrays, categorical: npt.NDArray[np.uint8], behavior: Floats) -> Memory:
    """The memory that fields and arrays hold; `categorical` has one element for each contextual feature."""
    method = header.get("method", lambda value: value in (QUANTILES, SURPRISE))
    if method == QUANTILES:
        return _unpack_quantiles(header, arrays, len(behavior), len(categorical))
    return _unpack_surprise(header, arrays, categorical, behavior)


def _pack_quantiles(memory: QuantileMemory) -> tuple[dict[str, Any], Arrays]:
    plan = memory.plan
    arrays: Arrays = {"tie_order": memory.tie_order, "multiplicities": plan.multiplicities}
    if plan.feature_order is not None:
        arrays["feature_order"] = plan.feature_order
    fields = {
        "method": QUANTILES,
        "max_features": int(plan.max_features),
        "min_samples_split": int(plan.min_samples_split),
        "n_quantiles": int(plan.n_quantiles),
        "scale_tails": bool(plan.scale_tails),
        "clip": None if memory.clip is None else float(memory.clip),
    }
    return fields, arrays


def _unpack_quantiles(header: Header, arrays: Arrays, n_rows: int, n_contextual: int) -> QuantileMemory:
    tie_order = array_of(arrays, "tie_order", np.uint32, (n_rows,))
    if not is_permutation(tie_order[None, :]):
        raise DamagedError("tie_order is no order")
    return QuantileMemory(tie_order, _plan(header, arrays, n_rows, n_contextual), _clip(header))


def _plan(header: Header, arrays: dict[str, npt.NDArray[Any]], n_rows: int, n_features: int) -> ForestPlan:
    multiplicities = arrays.get("multiplicities", np.empty(0))
    if multiplicities.ndim != 2:
        raise DamagedError("multiplicities is not what it should be")
    n_neighbors, n_trees = multiplicities.shape
    multiplicities = array_of(arrays, "multiplicities", np.uint8, (n_neighbors, n_trees))
    if not (1 <= n_neighbors <= min(n_rows - 1, MAX_NEIGHBORS) and 1 <= n_trees <= MAX_TREES):
        raise DamagedError("the reference groups are not what they should be")
    if (multiplicities.sum(axis=0, dtype=np.int64) != n_neighbors).any():
        raise DamagedError("a tree does not have as many rows as it should")
    feature_order = None
    max_features = header.whole("max_features", 1, n_features)
    if "feature_order" in arrays:
        feature_order = array_of(arrays, "feature_order", np.uint16, (n_trees, N_DEPTHS, n_features))
        if not is_permutation(feature_order.reshape(-1, n_features)):
            raise DamagedError("feature_order is no order")
    elif max_features < n_features:
        raise DamagedError("feature_order is missing")
    return ForestPlan(
        multiplicities,
        max_features,
        feature_order,
        header.whole("min_samples_split", 2, 2**31 - 1),
        header.whole("n_quantiles", 2, 10_000),
        header.flag("scale_tails"),
    )


def _clip(header: Header) -> float | None:
    clip: float | None = header.get("clip", lambda value: value is None or (is_finite(value) and 1e-9 <= value <= 1e9))
    return clip


def _pack_surprise(memory: SurpriseMemory) -> tuple[dict[str, Any], Arrays]:
    settings = memory.settings
    fields = {
        "method": SURPRISE,
        "n_trees": int(settings.n_trees),
        "max_features": _plain_number(settings.max_features),
        "min_samples_leaf": int(settings.min_samples_leaf),
        "max_samples": int(settings.max_samples),
        "clip": None if settings.clip is None else float(settings.clip),
        "seed": int(settings.seed),
        "learned": [_pack_learned(learned) for learned in memory.learned],
    }
    arrays = {
        f"residuals_{place}": learned.residuals
        for place, learned in enumerate(memory.learned)
        if learned.residuals is not None
    }
    return fields, arrays


def _plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _pack_learned(learned: Learned) -> dict[str, Any]:
    trend = learned.trend
    return {
        "shares": learned.shares.tolist(),
        "usual": learned.usual,
        "least": learned.least,
        "trend": None
        if trend is None
        else {
            "constant": trend.constant,
            "centers": trend.centers.tolist(),
            "slopes": trend.slopes.tolist(),
            "amounts": [None if amounts is None else amounts.tolist() for amounts in trend.amounts],
        },
    }


def _unpack_surprise(
    header: Header, arrays: Arrays, categorical: npt.NDArray[np.uint8], behavior: Floats
) -> SurpriseMemory:
    settings = SurpriseSettings(
        header.whole("n_trees", 1, MAX_TREES),
        header.get("max_features", _is_max_features),
        header.whole("min_samples_leaf", 1, 2**31 - 1),
        header.whole("max_samples", 1, 2**31 - 1),
        _clip(header),
        header.whole("seed", 0, 2**31 - 1),
    )
    n_rows, n_behavioral = behavior.shape
    n_columns = n_behavioral * (2 if n_behavioral > 1 else 1)
    stored = header.get("learned", lambda value: isinstance(value, list) and len(value) == n_columns)
    learned = []
    for place, fields in enumerate(stored):
        others = 0 if place < n_behavioral else n_behavioral - 1
        kinds = np.append(categorical, np.zeros(others, dtype=np.uint8))
        learned.append(_unpack_learned(fields, arrays, place, kinds, behavior[:, place % n_behavioral]))
    return SurpriseMemory(settings, n_rows, learned)


def _unpack_learned(
    fields: Any, arrays: Arrays, place: int, categorical: npt.NDArray[np.uint8], target: Floats
) -> Learned:
    if not isinstance(fields, dict) or np.isnan(target).all():
        raise DamagedError("learned is not what it should be")
    part = Header(fields)
    stored = part.get("trend", lambda value: value is None or isinstance(value, dict))
    trend, residuals = None, None
    if stored is not None:
        trend = _unpack_trend(Header(stored), categorical)
        residuals = floats_of(arrays, f"residuals_{place}", target.shape)
        if (np.isnan(residuals) != np.isnan(target)).any():
            raise DamagedError(f"residuals_{place} is not what it should be")
    shares = _numbers(part, "shares", 1, 3)
    least = _numbers(part, "least", 0, 2)
    n_views = 0 if WholeColumn(target).is_constant else 1 if trend is None else 2
    is_whole_share = (shares >= 0).all() and abs(shares.sum() - 1.0) < ROUNDING
    if not is_whole_share or len(least) != n_views or len(shares) != n_views + 1 or (least <= 0).any():
        raise DamagedError("learned is not what it should be")
    return Learned(shares, float(part.get("usual", is_finite)), least.tolist(), trend, residuals)


def _unpack_trend(part: Header, categorical: npt.NDArray[np.uint8]) -> LinearTrend:
    n = len(categorical)
    stored = part.get("amounts", lambda value: isinstance(value, list) and len(value) == n)
    amounts: list[Floats | None] = []
    for is_category, each in zip(categorical.tolist(), stored, strict=True):
        if (each is not None) != bool(is_category):
            raise DamagedError("amounts is not what it should be")
        amounts.append(None if each is None else _numbers(Header({"amounts": each}), "amounts", 0, 10**6))
    return LinearTrend(
        float(part.get("constant", is_finite)), _numbers(part, "centers", n, n), _numbers(part, "slopes", n, n), amounts
    )


def _numbers(part: Header, name: str, fewest: int, most: int) -> Floats:
    found = part.get(name, lambda value: isinstance(value, list) and fewest <= len(value) <= most)
    if not all(is_finite(value) for value in found):
        raise DamagedError(f"{name} is not what it should be")
    return np.array(found, dtype=np.float64)


def _is_max_features(value: Any) -> bool:
    if isinstance(value, float):
        return 0 < value <= 1
    return value is None or value == "sqrt" or (is_whole(value) and value >= 1)
