"""Loads fitted detectors from files."""

from __future__ import annotations

from pathlib import Path

from paribus._common.atomic_files import AnyPath
from paribus.detectors.base import ContextualDetector
from paribus.methods.registry import find_by_name
from paribus.persistence.model import load_model


def load(path: AnyPath) -> ContextualDetector:
    """Reads a fitted detector of any kind from a file that its `save` method wrote.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    detector
        The fitted detector: a `ConditionalSurprise` or a `QCAD`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from paribus import ConditionalSurprise, datasets, load
    >>> weather = datasets.load("weather")
    >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
    >>> with TemporaryDirectory() as folder:
    ...     detector.save(f"{folder}/weather.paribus")
    ...     type(load(f"{folder}/weather.paribus")).__name__
    'ConditionalSurprise'
    """
    parameters, fitted = load_model(path)
    entry = find_by_name(fitted.method.name)
    assert entry is not None
    detector: ContextualDetector = entry.estimator.restore(Path(path).name, parameters, fitted)
    return detector
