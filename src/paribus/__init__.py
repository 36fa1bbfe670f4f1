"""Rows that are unusual given their context, and why.

>>> from paribus import QCAD
>>> detector = QCAD(contextual=["age", "sex"], behavioral=["blood pressure"])
"""

from __future__ import annotations

__all__ = ["QCAD", "ConditionalSurprise", "__version__", "gower_neighbors", "load"]

# Nothing is imported for the type checker's sake, nor before it is needed: until the shell's command has taken over, an
# interrupt is Python's own, with a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from paribus.detectors.load import load
    from paribus.detectors.neighbors import gower_neighbors
    from paribus.detectors.qcad import QCAD
    from paribus.detectors.surprise import ConditionalSurprise

    __version__: str
else:
    # Imported when first used: the shell's help, or a data set, need not wait for all of scikit-learn. Type checkers do
    # not see this function, or they would believe that any name is here.
    _HOMES = {"gower_neighbors": "paribus.detectors.neighbors", "load": "paribus.detectors.load"}

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        from paribus.methods.registry import find_by_name

        if (entry := find_by_name(name)) is not None:
            value = entry.estimator
        elif name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        elif name == "__version__":
            value = import_module("importlib.metadata").version("paribus")
        else:
            raise AttributeError(f"module 'paribus' has no attribute '{name}'")
        # So that it is found at once from now on.
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
