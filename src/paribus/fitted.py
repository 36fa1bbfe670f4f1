"""What a fit leaves behind: all that later questions are answered from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from paribus.encoding import ContextEncoding
from paribus.roles import Roles
from paribus.table import Floats, Table


@dataclass(frozen=True)
class Encoded:
    """A table with its roles, as it was and as an engine has it."""

    table: Table
    roles: Roles
    encoding: ContextEncoding
    context: Floats
    """Rows x contextual features."""
    behavior: Floats
    """Rows x behavioural features."""


class Memory(Protocol):
    """What a method of detection remembers of a fit, besides the table."""

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""


@dataclass(frozen=True)
class Fitted(Encoded):
    """The fitted table, what the method remembers, and the scores."""

    memory: Memory
    partial: Floats
    """Rows x behavioural features: the partial scores."""
    reach: Floats
    """[row][2]: the distances of the nearest and of the farthest reference row; of all fitted rows, or of some."""
    threshold: float
    """The score above which a row is an anomaly."""
    seconds: float
    """How long the fit took."""
