"""The list of methods, with one entry each.

Entries name modules instead of importing them, so that the help of the command line starts fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paribus.methods.interface import Method


@dataclass(frozen=True)
class Entry:
    """Where the parts of a method are."""

    option: str
    """The name of the method on the command line."""
    estimator_name: str
    """The name of the estimator class."""
    method_package: str
    """The package that defines `METHOD`."""
    estimator_module: str
    """The module that defines the estimator class."""
    summary: str
    """What the method does, in a few words for the help."""
    judges_categories: bool = False
    """Whether behavior may be categorical."""

    @property
    def method(self) -> Method:
        """How the fitted state is used, stored and described."""
        found: Method = import_module(self.method_package).METHOD
        return found

    @property
    def estimator(self) -> Any:
        """The estimator class."""
        return getattr(import_module(self.estimator_module), self.estimator_name)


REGISTRY = (
    Entry(
        "surprise",
        "ConditionalSurprise",
        "paribus.methods.surprise",
        "paribus.detectors.surprise",
        "how improbable values are, by forests over all rows",
        judges_categories=True,
    ),
    Entry("qcad", "QCAD", "paribus.methods.qcad", "paribus.detectors.qcad", "the published method"),
)
"""All methods; the first one is the default."""


def find_by_option(option: str) -> Entry:
    """The entry with this name on the command line."""
    return next(entry for entry in REGISTRY if entry.option == option)


def find_by_name(name: object) -> Entry | None:
    """The entry of the estimator with this name; None if there is none."""
    return next((entry for entry in REGISTRY if entry.estimator_name == name), None)
