"""The state of a fitted ConditionalSurprise, from header fields and arrays that are not trusted."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.untrusted import DamagedError, Fields, array_of, is_finite, is_whole
from paribus._core import Samples
from paribus.methods.density import ColumnShape, ColumnSupport, RangeMap
from paribus.methods.interface import StoredArrays
from paribus.methods.null import ScoreNull
from paribus.methods.parameters import MAX_TREES
from paribus.methods.surprise.calibration import CellCalibration, TailMap
from paribus.methods.surprise.categories import Categories
from paribus.methods.surprise.forests import StoredForests
from paribus.methods.surprise.learned import Learned, LearnedCategories
from paribus.methods.surprise.smoothing import ColumnSmoothing
from paribus.methods.surprise.state import FOREST, Summary, SurpriseSettings, SurpriseState
from paribus.methods.surprise.tails import ColumnTails
from paribus.methods.surprise.trend import Leverage, LinearTrend
from paribus.methods.surprise.trend_target import TrendTarget
from paribus.methods.surprise.verdict import KINDS, ValueMap, Verdict
from paribus.methods.surprise.views import MAX_COLUMN_ATOMS, Bytes, WholeColumn
from paribus.tables.encoded_table import EncodedTable

# The tolerance for shares, which sum to 1.
ROUNDING = 1e-9
# The maximum power of a probability.
MAX_POWER = 100.0
# The maximum number of knots of a map.
MAX_KNOTS = 1_000
SHAPES = ("plain", "asinh", "log")


def unpack(header: Fields, arrays: StoredArrays, table: EncodedTable) -> SurpriseState:
    """The state again, from parts that may have been tampered with."""
    categorical, n_rows = table.encoding.feature_kinds, table.n_rows
    all_categorical = table.feature_kinds
    if table.order is None:
        raise DamagedError("order is missing")
    settings = SurpriseSettings(
        header.whole("n_trees", 1, MAX_TREES),
        header.get("max_features", _is_max_features),
        header.whole("min_samples_leaf", 1, 2**31 - 1),
        header.whole("max_samples", 1, 2**31 - 1),
        header.whole("seed", 0, 2**31 - 1),
        header.flag("by_past"),
    )
    if settings.by_past and not any(table.encoding.times):
        raise DamagedError("by_past is invalid")
    n_behavioral, n_values = table.n_behavioral, len(table.behavior_encoding.codes)
    n_columns = n_behavioral * (2 if n_values > 1 else 1)
    chosen = header.get("others", lambda value: _are_others(value, table.behavior_encoding.sources, n_values))
    ranges = _numbers(header, "ranges", len(categorical), len(categorical))
    stored = header.get("summaries", lambda value: isinstance(value, list) and len(value) == n_behavioral)
    summaries: list[Summary] = []
    for place, (each, codes) in enumerate(zip(stored, table.behavior_encoding.feature_codes, strict=True)):
        if codes is None:
            summaries.append(_unpack_summary(each, arrays, place))
        else:
            summaries.append(_unpack_categories(each, table.rows[:, table.n_contextual + place], len(codes)))
    stored = header.get("learned", lambda value: isinstance(value, list) and len(value) == n_columns)
    learned: list[Learned | LearnedCategories] = []
    n_views = []
    for place, fields in enumerate(stored):
        summary = summaries[place % n_behavioral]
        if isinstance(summary, Categories):
            learned.append(_unpack_learned_categories(fields))
            n_views.append(0 if summary.is_constant else 1)
            continue
        others = [] if place < n_behavioral else [len(categorical) + other for other in chosen[place - n_behavioral]]
        own = categorical[table.feature_contexts[place % n_behavioral]]
        found = _unpack_learned(fields, arrays, place, n_rows, np.append(own, all_categorical[others]), summary[0])
        learned.append(found)
        n_views.append(len(found.min_deviations))
    verdict = _unpack_verdict(_part(header, "verdict"), n_behavioral)
    forests = _unpack_forests(header, arrays, table, n_views)
    return SurpriseState(settings, n_rows, chosen, learned, verdict, ranges, summaries, forests)


def _unpack_forests(header: Fields, arrays: StoredArrays, table: EncodedTable, n_views: list[int]) -> StoredForests:
    # What is in these arrays is checked by the compiled part, which uses them.
    bins: list[Bytes] = []
    for feature, is_category in enumerate(table.feature_kinds):
        bins.append(_list_of(arrays, f"bins_{feature}", np.uint8) if is_category else np.empty(0, dtype=np.uint8))
    sample_of = header.get("samples", lambda value: isinstance(value, list) and len(value) == len(n_views))
    if not all(is_whole(each) and 0 <= each < len(n_views) for each in sample_of):
        raise DamagedError("samples is invalid")
    samples = []
    for place in range(max(sample_of) + 1):
        ends = _list_of(arrays, f"sample_ends_{place}", np.uint32)
        samples.append((_unpack_rows(arrays, f"sample_gaps_{place}", ends), ends))
    packed = [
        [_list_of(arrays, f"{FOREST}{place}_{view}", np.uint8) for view in range(n)] for place, n in enumerate(n_views)
    ]
    return StoredForests(array_of(arrays, "index", np.uint32, (table.n_rows,)), bins, samples, sample_of, packed)


def _unpack_rows(arrays: StoredArrays, name: str, ends: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Lists of rows, from the differences between them."""
    try:
        return Samples.unpack(_list_of(arrays, name, np.uint8), ends)
    except ValueError:
        raise DamagedError(f"{name} is invalid") from None


def _list_of(arrays: StoredArrays, name: str, dtype: Any) -> npt.NDArray[Any]:
    found = arrays.get(name)
    return array_of(arrays, name, dtype, (0,) if found is None or found.ndim != 1 else found.shape)


def _unpack_summary(stored: Any, arrays: StoredArrays, place: int) -> tuple[WholeColumn, ColumnSupport]:
    if not isinstance(stored, dict):
        raise DamagedError("summaries is invalid")
    part = Fields(stored)
    (low, high), limits = _numbers(part, "range", 2, 2), _numbers(part, "limits", 2, 2)
    lowest, highest, resolution = _numbers(part, "support", 3, 3)
    atoms = _numbers(part, "atoms", 1, MAX_COLUMN_ATOMS)
    if low > high or limits[0] > limits[1] or lowest > highest or resolution < 0:
        raise DamagedError("summaries is invalid")
    whole = WholeColumn(
        (float(low), float(high)),
        atoms,
        _above_zero(part, "scale"),
        part.flag("has_all"),
        (float(limits[0]), float(limits[1])),
        _unpack_tails(part),
    )
    if not whole.is_constant and len(atoms) < 2:
        raise DamagedError("atoms is invalid")
    values = None
    if part.flag("listed"):
        values = _list_of(arrays, f"values_{place}", np.float64)
        if len(values) < 2 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise DamagedError("values is invalid")
    decimals = part.get("decimals", lambda value: value is None or (is_whole(value) and 0 <= value <= 20))
    return whole, ColumnSupport(float(lowest), float(highest), float(resolution), values, decimals)


def _unpack_tails(part: Fields) -> ColumnTails:
    middle, low, high, low_power, high_power, start, least = _numbers(part, "tails", 7, 7).tolist()
    if min(low, high, low_power, high_power, start, least) < 0:
        raise DamagedError("tails is invalid")
    ends, placeholders = _unpack_bounds(part, "ends"), _unpack_bounds(part, "placeholders")
    return ColumnTails(middle, (low, high), (low_power, high_power), start, least, ends, placeholders)


def _unpack_bounds(part: Fields, name: str) -> tuple[float, float]:
    lower, upper = part.get(name, _are_bounds)
    bounds = -np.inf if lower is None else float(lower), np.inf if upper is None else float(upper)
    if bounds[0] > bounds[1]:
        raise DamagedError(f"{name} is invalid")
    return bounds


def _are_bounds(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(bound is None or is_finite(bound) for bound in value)


def _unpack_categories(stored: Any, codes: Floats, n_codes: int) -> Categories:
    # The counts follow from the rows; they are stored for whoever reads the file.
    found = Categories.of(codes, n_codes)
    if not isinstance(stored, dict) or stored.get("counts") != found.counts.tolist() or not found.counts.any():
        raise DamagedError("summaries is invalid")
    return found


def _unpack_learned_categories(stored: Any) -> LearnedCategories:
    if not isinstance(stored, dict):
        raise DamagedError("learned is invalid")
    part = Fields(stored)
    power = part.get("power", lambda value: is_finite(value) and 0 < value <= MAX_POWER)
    wrong_share = part.get("wrong_share", lambda value: is_finite(value) and 0 <= value < 1)
    tail = _unpack_tail(_part(part, "tail"))
    return LearnedCategories(_above_zero(part, "strength"), float(power), float(wrong_share), tail)


def _unpack_learned(
    fields: Any,
    arrays: StoredArrays,
    place: int,
    n_rows: int,
    categorical: npt.NDArray[np.uint8],
    whole: WholeColumn,
) -> Learned:
    if not isinstance(fields, dict):
        raise DamagedError("learned is invalid")
    part = Fields(fields)
    if whole.is_constant:
        return Learned(np.ones(1), 0.0, [], None, None, RangeMap.exact(), None)
    stored = part.get("trend", lambda value: value is None or isinstance(value, dict))
    trend = None
    if stored is not None:
        low, high = _numbers(part, "distances", 2, 2)
        divisors = _list_of(arrays, f"leverage_{place}", np.float64)
        rows = _unpack_rows(arrays, f"leverage_gaps_{place}", np.array([len(divisors)], dtype=np.uint32))
        if low > high or not ((divisors > 0) & (divisors <= 2)).all():
            raise DamagedError("leverage is invalid")
        line = _unpack_trend(Fields(stored), categorical)
        trend = TrendTarget(line, Leverage(rows, divisors), (float(low), float(high)))
    n_views = 1 if trend is None else 2
    smoothing = _unpack_smoothing(_part(part, "smoothing"), n_views)
    ranges = _part(part, "ranges")
    probabilities = _ascending(ranges, "probabilities")
    levels = _ascending(ranges, "levels", strictly=False)
    if len(levels) != len(probabilities) or probabilities[0] < 0 or probabilities[-1] > 1:
        raise DamagedError("ranges is invalid")
    return Learned(
        _unpack_shares(part, n_views + 1),
        float(part.get("usual", is_finite)),
        _positive(part, "min_deviations", n_views).tolist(),
        smoothing,
        _unpack_calibration(_part(part, "calibration"), arrays, place, n_rows),
        RangeMap(probabilities, levels),
        trend,
    )


def _unpack_calibration(part: Fields, arrays: StoredArrays, place: int, n_rows: int) -> CellCalibration:
    levels = array_of(arrays, f"levels_{place}", np.uint8, (n_rows,))
    overall, final = _unpack_tail(_part(part, "overall")), _unpack_tail(_part(part, "final"))
    trust = part.get("trust", lambda value: is_finite(value) and 0 <= value <= 1)
    return CellCalibration(overall, _above_zero(part, "usual"), float(trust), final, levels)


def _unpack_smoothing(part: Fields, n_views: int) -> ColumnSmoothing:
    shape = ColumnShape(
        part.get("shape", lambda value: value in SHAPES),
        float(part.get("center", is_finite)),
        _above_zero(part, "unit"),
    )
    resolution = float(part.get("resolution", lambda value: is_finite(value) and 0 <= value < 1e250))
    shares = _unpack_shares(part, n_views)
    min_widths = _positive(part, "min_widths", n_views)
    return ColumnSmoothing(
        shape, _above_zero(part, "width"), resolution, tuple(shares.tolist()), tuple(min_widths.tolist())
    )


def _unpack_verdict(part: Fields, n_behavioral: int) -> Verdict:
    names = {kind.statistic for kind in KINDS if not kind.statistic.startswith("value")}
    expected = names if n_behavioral > 1 else {"surprise_context"}
    sums = part.get("sums", lambda value: isinstance(value, dict) and set(value) == expected)
    sum_maps, fills = {}, {}
    for kind in KINDS:
        name = kind.statistic
        if name not in expected:
            continue
        if not isinstance(sums[name], dict):
            raise DamagedError("sums is invalid")
        each = Fields(sums[name])
        sum_maps[name] = _unpack_tail(_part(each, "map"))
        fills[name] = _numbers(each, "fills", n_behavioral, n_behavioral)
    value_names = {kind.statistic for kind in KINDS} - names if n_behavioral > 1 else set()
    stored = part.get("values", lambda value: isinstance(value, dict) and set(value) == value_names)
    value_maps = {}
    for name in (kind.statistic for kind in KINDS if kind.statistic in value_names):
        if not isinstance(stored[name], list) or len(stored[name]) != n_behavioral:
            raise DamagedError("values is invalid")
        value_maps[name] = tuple(_unpack_value_map(each) for each in stored[name])
    n_kinds = len(KINDS) if n_behavioral > 1 else len(expected)
    rates = _positive(part, "rates", n_kinds)
    null = _part(part, "null")
    knots, evidence = _ascending(null, "knots"), _ascending(null, "evidence", strictly=False)
    shares = _unpack_shares(part, n_kinds + 1)
    if (rates >= 1).any() or len(evidence) != len(knots) or (shares <= 0).any():
        raise DamagedError("verdict is invalid")
    return Verdict(sum_maps, value_maps, fills, shares, rates, ScoreNull(knots, evidence, _above_zero(null, "scale")))


def _unpack_value_map(stored: Any) -> ValueMap:
    if not isinstance(stored, dict):
        raise DamagedError("values is invalid")
    return ValueMap(_unpack_tail(_part(Fields(stored), "surprise")), _unpack_tail(_part(Fields(stored), "mean")))


def _unpack_tail(part: Fields) -> TailMap:
    knots, evidence = _ascending(part, "knots"), _ascending(part, "evidence", strictly=False)
    if len(evidence) != len(knots):
        raise DamagedError("a map is invalid")
    return TailMap(knots, evidence, _above_zero(part, "scale"), _above_zero(part, "limit"))


def _part(fields: Fields, name: str) -> Fields:
    return Fields(fields.get(name, lambda value: isinstance(value, dict)))


def _ascending(part: Fields, name: str, *, strictly: bool = True) -> Floats:
    found = _numbers(part, name, 1, MAX_KNOTS)
    steps = np.diff(found)
    if (steps < 0).any() or (strictly and (steps == 0).any()):
        raise DamagedError(f"{name} is not in order")
    return found


def _unpack_shares(part: Fields, n: int) -> Floats:
    shares = _numbers(part, "shares", n, n)
    if (shares < 0).any() or abs(shares.sum() - 1.0) > ROUNDING:
        raise DamagedError("shares is invalid")
    return shares


def _positive(part: Fields, name: str, n: int) -> Floats:
    found = _numbers(part, name, n, n)
    if (found <= 0).any():
        raise DamagedError(f"{name} is invalid")
    return found


def _above_zero(part: Fields, name: str) -> float:
    return float(part.get(name, lambda value: is_finite(value) and 0 < value < 1e250))


def _unpack_trend(part: Fields, categorical: npt.NDArray[np.uint8]) -> LinearTrend:
    n = len(categorical)
    stored = part.get("amounts", lambda value: isinstance(value, list) and len(value) == n)
    amounts: list[Floats | None] = []
    for is_category, each in zip(categorical.tolist(), stored, strict=True):
        if (each is not None) != bool(is_category):
            raise DamagedError("amounts is invalid")
        amounts.append(None if each is None else _numbers(Fields({"amounts": each}), "amounts", 0, 10**6))
    lowest, highest = _numbers(part, "lowest", n, n), _numbers(part, "highest", n, n)
    if (lowest > highest).any():
        raise DamagedError("lowest is invalid")
    return LinearTrend(
        float(part.get("constant", is_finite)),
        _numbers(part, "centers", n, n),
        lowest,
        highest,
        _numbers(part, "slopes", n, n),
        amounts,
    )


def _numbers(part: Fields, name: str, fewest: int, most: int) -> Floats:
    found = part.get(name, lambda value: isinstance(value, list) and fewest <= len(value) <= most)
    if not all(is_finite(value) for value in found):
        raise DamagedError(f"{name} is invalid")
    return np.array(found, dtype=np.float64)


def _are_others(value: Any, sources: list[int], n_values: int) -> bool:
    """Whether there are other values for each feature, ascending; at least one, if there are any."""
    return (
        isinstance(value, list)
        and len(value) == len(sources)
        and all(
            isinstance(each, list)
            and all(is_whole(other) and 0 <= other < n_values and other != source for other in each)
            and all(first < second for first, second in pairwise(each))
            and bool(each) == (n_values > 1)
            for source, each in zip(sources, value, strict=True)
        )
    )


def _is_max_features(value: Any) -> bool:
    if isinstance(value, float):
        return 0 < value <= 1
    return value is None or value == "sqrt" or (is_whole(value) and value >= 1)
