"""What this process is."""

from __future__ import annotations

is_command = False
"""Whether it is the `paribus` command, which nobody else imports from: it can leave out what only Python users need."""
