"""Finds the rows of a table that are unusual given their context, and explains why.

>>> from paribus import QCAD
>>> detector = QCAD(contextual=["age", "sex"], behavioral=["blood pressure"])
"""

from __future__ import annotations

__all__ = [
    "QCAD",
    "ConditionalSurprise",
    "Monitor",
    "__version__",
    "gower_neighbors",
    "load",
    "sample_rows",
    "suggest_context",
]

# Nothing is imported here before it is needed, not even `typing`: until the command line has installed its signal
# handlers, an interrupt shows a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from paribus.detectors.context_advice import suggest_context
    from paribus.detectors.load import load
    from paribus.detectors.neighbors import gower_neighbors
    from paribus.detectors.qcad import QCAD
    from paribus.detectors.surprise import ConditionalSurprise
    from paribus.stream.monitor import Monitor
    from paribus.tables.row_sample import sample_rows

    __version__: str
else:
    # Public names are imported on first use: the command line's help, for example, does not wait for scikit-learn. Type
    # checkers must not see `__getattr__`, because they would accept any name.
    _HOMES = {
        "Monitor": "paribus.stream.monitor",
        "gower_neighbors": "paribus.detectors.neighbors",
        "load": "paribus.detectors.load",
        "sample_rows": "paribus.tables.row_sample",
        "suggest_context": "paribus.detectors.context_advice",
    }

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        _refuse_subinterpreter()
        from paribus.methods.registry import find_by_name

        if (entry := find_by_name(name)) is not None:
            value = entry.estimator
        elif name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        elif name == "__version__":
            value = import_module("importlib.metadata").version("paribus")
        else:
            raise AttributeError(f"module 'paribus' has no attribute '{name}'")
        # Later uses do not call this function again.
        globals()[name] = value
        return value


def _refuse_subinterpreter() -> None:
    """Raises an error in a subinterpreter, where numpy would fail in ways that differ between versions of Python."""
    try:
        import _interpreters as interpreters  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:
        try:
            import _xxsubinterpreters as interpreters  # type: ignore[import-not-found, unused-ignore]
        except ModuleNotFoundError:
            return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError("paribus cannot be used in a subinterpreter: use threads or processes")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
