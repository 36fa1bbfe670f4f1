"""Detectors from files."""

from __future__ import annotations

from pathlib import Path

from paribus.detector import QCAD
from paribus.files import AnyPath
from paribus.frame import ContextualDetector
from paribus.model_file import load_model
from paribus.surprise import ConditionalSurprise


def load(path: AnyPath) -> ContextualDetector:
    """A fitted detector from a file that its `save` wrote, whichever detector it is.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from paribus import ConditionalSurprise, datasets, load
    >>> weather = datasets.load("weather")
    >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    >>> with TemporaryDirectory() as folder:
    ...     detector.save(f"{folder}/weather.paribus")
    ...     type(load(f"{folder}/weather.paribus")).__name__
    'ConditionalSurprise'
    """
    parameters, fitted = load_model(path)
    kinds: list[type[ContextualDetector]] = [ConditionalSurprise, QCAD]
    kind = next(kind for kind in kinds if isinstance(fitted.memory, kind._memory_type))
    return kind._restore(Path(path).name, parameters, fitted)
