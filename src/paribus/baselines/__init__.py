"""Baseline detectors with a common interface.

CAD, ROCOD and RIF are contextual; LoPAD predicts every variable from the others; IForest, LOF, KNN, SOD and HBOS treat
contextual and behavioral features alike.

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
    baseline.__name__: baseline for baseline in (CAD, ROCOD, LoPAD, RIF, IForest, LOF, KNN, SOD, HBOS)
}


def names() -> list[str]:
    """The names of all baselines, contextual ones first.

    Returns
    -------
    list of str

    Examples
    --------
    >>> names()[:3]
    ['CAD', 'ROCOD', 'LoPAD']
    """
    return list(_REGISTRY)


def get(name: str) -> type[Baseline]:
    """The class of a baseline.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    type

    Examples
    --------
    >>> get("ROCOD").__name__
    'ROCOD'
    """
    if name not in _REGISTRY:
        close = difflib.get_close_matches(name, _REGISTRY, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(_REGISTRY)}"
        raise ValueError(f"there is no baseline '{name}': {hint}")
    return _REGISTRY[name]
