"""Pictures of explanations, drawn with matplotlib (extra `plot`).

Each is a display object as in scikit-learn: created by `from_explanation` or `from_estimator`, drawn into given or new
axes, and open to changes afterwards through `figure_` and `axes_`.
"""

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise ImportError("pictures need matplotlib: pip install 'paribus[plot]'") from None

from paribus.pictures.matplotlib.beanplot import BeanplotDisplay
from paribus.pictures.matplotlib.context_profile import ContextProfileDisplay
from paribus.pictures.matplotlib.gain_map import GainMapDisplay
from paribus.pictures.matplotlib.quantile_curves import QuantileCurvesDisplay
from paribus.pictures.matplotlib.score_map import ScoreMapDisplay
from paribus.pictures.matplotlib.stream_timeline import StreamTimelineDisplay

__all__ = [
    "BeanplotDisplay",
    "ContextProfileDisplay",
    "GainMapDisplay",
    "QuantileCurvesDisplay",
    "ScoreMapDisplay",
    "StreamTimelineDisplay",
]
