"""The fitted parameters of columns, as they are stored, apart from their forests."""

from __future__ import annotations

from dataclasses import dataclass

from paribus._common.arrays import Floats
from paribus.methods.density import RangeMap
from paribus.methods.surprise.calibration import CellCalibration, TailMap
from paribus.methods.surprise.smoothing import ColumnSmoothing
from paribus.methods.surprise.trend_target import TrendTarget


@dataclass(frozen=True)
class Learned:
    """The fitted parameters of a conditional column, apart from its forests."""

    shares: Floats
    """The weights of the whole column and of each forest in the surprise."""
    usual: float
    """The median surprise of the fitted values."""
    min_deviations: list[float]
    """By forest."""
    smoothing: ColumnSmoothing | None
    """None for a constant column."""
    calibration: CellCalibration | None
    ranges: RangeMap
    trend: TrendTarget | None


@dataclass(frozen=True)
class LearnedCategories:
    """The fitted parameters of a column of categories, apart from its forest."""

    strength: float
    """The number of rows of the whole column that is added to each leaf."""
    power: float
    """The power of probabilities: forests average over trees, and are underconfident."""
    wrong_share: float
    """The share of arbitrary values; 0 if the table has no evidence of them."""
    tail: TailMap
