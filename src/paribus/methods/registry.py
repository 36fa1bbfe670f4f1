"""The methods there are: one line each.

Modules are named, not imported: the shell's help must not wait for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paribus.methods.interface import Method


@dataclass(frozen=True)
class Entry:
    """Where a method is."""

    option: str
    """What users of the shell call it."""
    estimator_name: str
    """The class that users of Python import."""
    method_package: str
    """The package that has its `METHOD`."""
    estimator_module: str
    """The module that has its estimator."""
    summary: str
    """What it does, in a few words for the help."""

    @property
    def method(self) -> Method:
        """How its fitted state is used, stored and described."""
        found: Method = import_module(self.method_package).METHOD
        return found

    @property
    def estimator(self) -> Any:
        """The estimator's class."""
        return getattr(import_module(self.estimator_module), self.estimator_name)


REGISTRY = (
    Entry(
        "surprise",
        "ConditionalSurprise",
        "paribus.methods.surprise",
        "paribus.detectors.surprise",
        "how improbable values are, by forests over all rows",
    ),
    Entry("qcad", "QCAD", "paribus.methods.qcad", "paribus.detectors.qcad", "the published method"),
)
"""The first one is the default."""


def find_by_option(option: str) -> Entry:
    """The entry that the shell calls so."""
    return next(entry for entry in REGISTRY if entry.option == option)


def find_by_name(name: object) -> Entry | None:
    """The entry whose estimator is called so."""
    return next((entry for entry in REGISTRY if entry.estimator_name == name), None)
