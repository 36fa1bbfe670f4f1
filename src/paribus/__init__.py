"""Rows that are unusual given their context, and why.

>>> from paribus import QCAD
>>> detector = QCAD(contextual=["age", "sex"], behavioral=["blood pressure"])
"""

from importlib.metadata import version

from paribus.detector import QCAD
from paribus.reference import gower_neighbors

__version__ = version("paribus")
__all__ = ["QCAD", "__version__", "gower_neighbors"]
