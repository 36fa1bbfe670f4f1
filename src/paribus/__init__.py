"""Rows that are unusual given their context, and why.

>>> from paribus import QCAD
>>> detector = QCAD(contextual=["age", "sex"], behavioral=["blood pressure"])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paribus.detector import QCAD
    from paribus.reference import gower_neighbors

    __version__: str

__all__ = ["QCAD", "__version__", "gower_neighbors"]

# Imported when first used: the shell's help, or a data set, need not wait for all of scikit-learn.
_HOMES = {"QCAD": "paribus.detector", "gower_neighbors": "paribus.reference"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
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
