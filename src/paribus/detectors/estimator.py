"""What detectors have in common with all estimators of scikit-learn.

Importing scikit-learn takes a second, since it imports pandas and much of SciPy. The `paribus` command does not use
detectors as estimators, so there a small base class stands in for scikit-learn's.
"""

from __future__ import annotations

import inspect
import sys
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from paribus._common import process

if TYPE_CHECKING or not process.is_command or "sklearn" in sys.modules:
    from sklearn.base import BaseEstimator, OutlierMixin
else:

    class BaseEstimator:
        """Parameters by name, as in scikit-learn."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """The parameters."""
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> Self:
            """Changes some of the parameters."""
            for name, value in params.items():
                setattr(self, name, value)
            return self

        def __getstate__(self) -> dict[str, Any]:
            return self.__dict__.copy()

    class OutlierMixin:
        """A placeholder: detectors define all of its methods themselves."""


__all__ = ["BaseEstimator", "OutlierMixin", "random_numbers", "require_fitted", "validate_columns"]


def require_fitted(detector: Any) -> None:
    """Raises scikit-learn's error if a detector is not fitted."""
    if "_fitted" not in vars(detector):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(detector)


def validate_columns(detector: Any, rows: Any) -> None:
    """Raises scikit-learn's error if the columns are not those of the fit, in the same order."""
    from sklearn.utils.validation import validate_data

    validate_data(detector, rows, reset=False, skip_check_array=True)


def random_numbers(random_state: Any) -> np.random.RandomState:
    """The random number generator for a parameter `random_state`.

    >>> int(random_numbers(0).randint(100))
    44
    """
    if not isinstance(random_state, bool) and isinstance(random_state, Integral):
        return np.random.RandomState(int(random_state))
    from sklearn.utils import check_random_state

    found: np.random.RandomState = check_random_state(random_state)
    return found
