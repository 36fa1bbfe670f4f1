"""Writes every kind of file to disks that are full, and to folders that are read-only: python -m fuzzing.full_disks.

The disk is a small one in memory (tmpfs) with a little more space left each time, so that writing stops at another
place. It needs Linux and root, who mounts it, and becomes another user for the read-only folder. Each write must
succeed, or end with one sentence that names the file, with the old file as it was and nothing beside it. `--write` adds
the counts to results.json.
"""

from __future__ import annotations

import argparse
import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from fuzzing.kills import check_all, forked, writers
from fuzzing.record import FAULTS, add_counts

DISK_SIZE = 2 * 2**20
STEP, N_STEPS = 4 * 2**10, 48
NOBODY = 65534
DATABASES = (".sqlite", ".duckdb")


def fill(path: Path, n_left: int) -> None:
    """Writes a file that leaves about this many bytes of the disk."""
    state = os.statvfs(path.parent)
    path.write_bytes(bytes(max(0, state.f_bavail * state.f_frsize - n_left)))


def names(path: Path) -> set[str]:
    """The files beside a file, but for the journal of a database, which belongs to it."""
    return {each for each in os.listdir(path.parent) if not each.startswith(f"{path.name}.")}


def fails_well(path: Path, write: Callable[[], object]) -> bool:
    """Whether a write failed; raises an error if it did not fail as it should."""
    before = names(path)
    old = path.read_bytes()
    try:
        write()
    except (OSError, ValueError) as error:
        text = str(error)
        assert path.name in text, text
        assert "\n" not in text, text
        # Databases are changed in place: what is in them is checked below.
        assert path.suffix in DATABASES or path.read_bytes() == old, f"{path.name} has changed"
        assert names(path) <= before, f"left behind: {names(path) - before}"
        return True
    return False


def try_full_disks(folder: Path) -> int:
    """Writes all files with more and more space, and returns how often it was not enough."""
    for write in writers(folder, 0).values():
        write()
    n_failed, ballast = 0, folder / "last.txt"
    for n_left in range(0, N_STEPS * STEP, STEP):
        for name, write in writers(folder, n_left).items():
            fill(ballast, n_left)
            n_failed += fails_well(folder / name, write)
            ballast.unlink()
        check_all(folder)
    return n_failed


def try_read_only(folder: Path) -> int:
    """Writes all files to a folder that belongs to somebody else."""
    for write in writers(folder, 0).values():
        write()
    for path in (folder, *folder.iterdir()):
        path.chmod(path.stat().st_mode & ~0o222)

    def as_nobody() -> None:
        os.setuid(NOBODY)
        for name, write in writers(folder, 1).items():
            assert fails_well(folder / name, write), f"{name} was written"

    folder.parent.chmod(0o755)
    _, status = os.waitpid(forked(as_nobody), 0)
    assert status == 0, "a read-only folder"
    return len(writers(folder, 1))


def main() -> int:
    """Mounts the disk, and tries both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="add the counts to results.json")
    given = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() != 0:
        print(f"skipped: {os.strerror(errno.EPERM)}: a disk can be mounted by root, on Linux")
        return 0
    with tempfile.TemporaryDirectory() as place:
        disk, folder = Path(place) / "disk", Path(place) / "folder"
        disk.mkdir()
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", str(disk)], check=True)
        try:
            n_full = try_full_disks(disk)
        finally:
            subprocess.run(["umount", str(disk)], check=True)
        n_read_only = try_read_only(folder)
    print(f"{n_full:,} writes to a full disk and {n_read_only:,} to a read-only folder ended as they should")
    if given.write:
        add_counts(FAULTS, "a disk is full", {"times": n_full, "wrong": 0})
        add_counts(FAULTS, "a folder is read-only", {"times": n_read_only, "wrong": 0})
    return 0


if __name__ == "__main__":
    sys.exit(main())
