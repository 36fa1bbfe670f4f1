"""What QCAD is compared with, all through one interface.

CAD, ROCOD and RIF know context; LoPAD predicts every variable from the others; IForest, LOF, KNN, SOD and HBOS see one
table of features.

>>> from paribus import baselines
>>> baselines.names()
['CAD', 'ROCOD', 'LoPAD', 'RIF', 'IForest', 'LOF', 'KNN', 'SOD', 'HBOS']
>>> detector = baselines.get("ROCOD")(contextual=["age", "sex"], behavioral=["blood pressure"])
"""

from __future__ import annotations

import difflib

from paribus.baselines.base import Baseline
from paribus.baselines.cad import CAD
from paribus.baselines.lopad import LoPAD
from paribus.baselines.pooled import HBOS, KNN, LOF, SOD, IForest
from paribus.baselines.rif import RIF
from paribus.baselines.rocod import ROCOD

__all__ = ["CAD", "HBOS", "KNN", "LOF", "RIF", "ROCOD", "SOD", "Baseline", "IForest", "LoPAD", "get", "names"]

_REGISTRY: dict[str, type[Baseline]] = {
    rival.__name__: rival for rival in (CAD, ROCOD, LoPAD, RIF, IForest, LOF, KNN, SOD, HBOS)
}


def names() -> list[str]:
    """The rivals, those that know context first."""
    return list(_REGISTRY)


def get(name: str) -> type[Baseline]:
    """A rival by its name."""
    if name not in _REGISTRY:
        close = difflib.get_close_matches(name, _REGISTRY, n=1, cutoff=0.4)
        raise ValueError(
            f"there is no rival '{name}': {f'did you mean {close[0]!r}, or' if close else 'choose'} one of "
            f"{', '.join(_REGISTRY)}?"
        )
    return _REGISTRY[name]
