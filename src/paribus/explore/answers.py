"""Answers about rows: a file of known rows that is complete after each decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paribus.explain.known import KnownEntry, read_known, write_known

# The maximum number of decisions that can be undone.
MAX_UNDO = 200


class AnswerBook:
    """The list of known rows of a table, in a file.

    The file is written as a whole after each decision. If it was changed in between, such as by another program
    or a colleague, the decision is added to its new contents.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: bytes | None = None
        self._entries: tuple[KnownEntry, ...] = ()
        self._history: list[tuple[KnownEntry, ...]] = []
        self.refresh()

    @property
    def entries(self) -> tuple[KnownEntry, ...]:
        """The answers, the latest first."""
        return self._entries

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to undo."""
        return bool(self._history)

    def refresh(self) -> bool:
        """Reads the file if it has changed since it was last read or written. Returns whether it had."""
        now = self._content()
        if now == self._seen:
            return False
        self._entries = read_known(self.path) if now is not None else ()
        self._seen = now
        self._history.clear()
        return True

    def add(self, entry: KnownEntry) -> None:
        """Adds a decision. It replaces an earlier one about the same row or rule."""
        self.refresh()
        before = self._entries
        kept = tuple(each for each in before if not _is_same(each, entry))
        # The first entry that matches a row applies, so a later decision comes first, and one about a row before all
        # rules.
        rows = tuple(each for each in kept if each.rule is None)
        rules = tuple(each for each in kept if each.rule is not None)
        self._write((entry, *rows, *rules) if entry.rule is None else (*rows, entry, *rules))
        self._history = [*self._history[-MAX_UNDO:], before]

    def remove(self, entry: KnownEntry) -> None:
        """Removes a decision."""
        self.refresh()
        before = self._entries
        self._write(tuple(each for each in before if not _is_same(each, entry)))
        self._history = [*self._history[-MAX_UNDO:], before]

    def undo(self) -> bool:
        """Undoes the last decision. Returns whether there was one."""
        if self.refresh() or not self._history:
            return False
        *rest, before = self._history
        self._write(before)
        self._history = rest
        return True

    def _write(self, entries: Sequence[KnownEntry]) -> None:
        write_known(self.path, entries)
        self._entries, self._seen = tuple(entries), self._content()

    def _content(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None


def _is_same(one: KnownEntry, other: KnownEntry) -> bool:
    """Whether two entries are about the same row or rule."""
    if one.rule is None or other.rule is None:
        return one.rule is other.rule and one.row == other.row
    return one.rule.conditions == other.rule.conditions
