"""The role of this process."""

from __future__ import annotations

is_command = False
"""Whether it is the `paribus` command, which can skip what only users of the library need."""
