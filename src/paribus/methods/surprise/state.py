"""The state of a fitted ConditionalSurprise, and how it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.untrusted import DamagedError, Fields, floats_of, is_finite, is_whole
from paribus.methods.interface import Arrays
from paribus.methods.parameters import MAX_TREES, resolve_max_features, unpack_clip
from paribus.methods.surprise.mixture import Learned
from paribus.methods.surprise.trend import LinearTrend
from paribus.methods.surprise.views import ForestSettings, WholeColumn
from paribus.tables.encoded_table import EncodedTable

# Reference rows of an explanation: those that count most.
MAX_REFERENCES = 200
# Shares sum to 1 within this.
ROUNDING = 1e-9


@dataclass(frozen=True)
class SurpriseSettings:
    """What was set, and the seed of what is drawn at random."""

    n_trees: int
    max_features: int | float | str | None
    min_samples_leaf: int
    max_samples: int
    clip: float | None
    seed: int

    def of_forest(self, n_features: int) -> ForestSettings:
        """How a forest over so many features is grown."""
        return ForestSettings(
            -(-self.n_trees // 2),
            resolve_max_features(self.max_features, n_features),
            self.min_samples_leaf,
            self.max_samples,
        )


@dataclass(frozen=True)
class SurpriseState:
    """What a fit leaves behind, besides the table."""

    settings: SurpriseSettings
    n_rows: int
    learned: list[Learned]
    """Of each behavioural feature: given the context, and, if there are several, given all other features."""

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""
        return min(self.n_rows - 1, MAX_REFERENCES)


def pack(state: SurpriseState) -> tuple[dict[str, Any], Arrays]:
    """Fields of a header, and arrays."""
    settings = state.settings
    fields = {
        "n_trees": int(settings.n_trees),
        "max_features": _plain_number(settings.max_features),
        "min_samples_leaf": int(settings.min_samples_leaf),
        "max_samples": int(settings.max_samples),
        "clip": None if settings.clip is None else float(settings.clip),
        "seed": int(settings.seed),
        "learned": [_pack_learned(learned) for learned in state.learned],
    }
    arrays = {
        f"residuals_{place}": learned.residuals
        for place, learned in enumerate(state.learned)
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


def unpack(header: Fields, arrays: Arrays, table: EncodedTable) -> SurpriseState:
    """The state again, from parts that may have been tampered with."""
    categorical, behavior = table.encoding.categorical, table.all_behavior
    settings = SurpriseSettings(
        header.whole("n_trees", 1, MAX_TREES),
        header.get("max_features", _is_max_features),
        header.whole("min_samples_leaf", 1, 2**31 - 1),
        header.whole("max_samples", 1, 2**31 - 1),
        unpack_clip(header),
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
    return SurpriseState(settings, n_rows, learned)


def _unpack_learned(
    fields: Any, arrays: Arrays, place: int, categorical: npt.NDArray[np.uint8], target: Floats
) -> Learned:
    if not isinstance(fields, dict) or np.isnan(target).all():
        raise DamagedError("learned is not what it should be")
    part = Fields(fields)
    stored = part.get("trend", lambda value: value is None or isinstance(value, dict))
    trend, residuals = None, None
    if stored is not None:
        trend = _unpack_trend(Fields(stored), categorical)
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


def _unpack_trend(part: Fields, categorical: npt.NDArray[np.uint8]) -> LinearTrend:
    n = len(categorical)
    stored = part.get("amounts", lambda value: isinstance(value, list) and len(value) == n)
    amounts: list[Floats | None] = []
    for is_category, each in zip(categorical.tolist(), stored, strict=True):
        if (each is not None) != bool(is_category):
            raise DamagedError("amounts is not what it should be")
        amounts.append(None if each is None else _numbers(Fields({"amounts": each}), "amounts", 0, 10**6))
    return LinearTrend(
        float(part.get("constant", is_finite)), _numbers(part, "centers", n, n), _numbers(part, "slopes", n, n), amounts
    )


def _numbers(part: Fields, name: str, fewest: int, most: int) -> Floats:
    found = part.get(name, lambda value: isinstance(value, list) and fewest <= len(value) <= most)
    if not all(is_finite(value) for value in found):
        raise DamagedError(f"{name} is not what it should be")
    return np.array(found, dtype=np.float64)


def _is_max_features(value: Any) -> bool:
    if isinstance(value, float):
        return 0 < value <= 1
    return value is None or value == "sqrt" or (is_whole(value) and value >= 1)
