"""What writers need to know besides the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class WriteOptions:
    """How columns are written."""

    types: Mapping[str, str] = field(default_factory=dict)
    """The types that columns had in their source, as DuckDB calls them, where their arrays do not show it."""
    table: str = "scores"
    """The name of the table in a database."""
