"""The control groups of Linux that this process is in: what a container may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


def settings(controller: str, newer: str, *older: str) -> Iterator[list[str]]:
    """The words of a setting of a controller, from each group that has it, the enclosing groups included.

    `newer` is its file in the second version of the interface, `older` are the files in the first one, which may have
    the words one by one.
    """
    try:
        lines = OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, place = line.split(":", 2)
        if kinds == "":
            root, files = CONTROL_GROUPS, [newer]
        elif controller in kinds.split(","):
            root, files = CONTROL_GROUPS / controller, list(older)
        else:
            continue
        own = root / place.lstrip("/")
        # A container may see only its own part of the tree, as the root of it.
        for folder in {own, *own.parents, root}:
            if folder == root or root in folder.parents:
                try:
                    yield " ".join((folder / name).read_text() for name in files).split()
                except OSError:
                    continue
