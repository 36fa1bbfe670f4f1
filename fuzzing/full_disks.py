"""Writes every kind of file where there is no space, no quota, or no permission: python -m fuzzing.full_disks.

The disk is a small one in memory (tmpfs) with a little more space left each time, so that writing stops at another
place. The quota is that of a Btrfs volume in a file. Both need Linux and root, who mounts them, and becomes another
user for the read-only folder. Each write must succeed, or end with one sentence that names the file, with the old file
as it was and nothing beside it. `--write` adds the counts to results.json.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from fuzzing.kills import check_all, forked, writers
from fuzzing.record import FAULTS, add_counts

DISK_SIZE = 2 * 2**20
STEP, N_STEPS = 4 * 2**10, 48
# The smallest file that holds a Btrfs volume, and by how much its quota grows each time.
VOLUME_SIZE = 128 * 2**20
QUOTA_STEP, N_QUOTA_STEPS = 64 * 2**10, 12
NOBODY = 65534
DATABASES = (".sqlite", ".duckdb")


def fill(path: Path, n_left: int) -> None:
    """Writes a file that leaves about this many bytes of the disk."""
    state = os.statvfs(path.parent)
    path.write_bytes(bytes(max(0, state.f_bavail * state.f_frsize - n_left)))


def names(path: Path) -> set[str]:
    """The files beside a file, but for the journal of a database, from which its library restores the old rows."""
    return {each for each in os.listdir(path.parent) if not each.startswith((f"{path.name}.", f"{path.name}-"))}


def fails_well(path: Path, write: Callable[[], object], reason: str = "") -> bool:
    """Whether a write failed; raises an error if it did not fail as it should, and for this reason."""
    before = names(path)
    old = path.read_bytes()
    try:
        write()
    except (OSError, ValueError) as error:
        text = str(error)
        assert path.name in text, text
        assert "\n" not in text, text
        # Databases have messages of their own.
        assert path.suffix in DATABASES or reason in text, text
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


def try_quotas(disk: Path, image: Path) -> int | None:
    """Writes all files with a larger and larger quota, and returns how often it was exceeded; None without Btrfs."""
    if shutil.which("mkfs.btrfs") is None:
        return None
    with image.open("wb") as file:
        file.truncate(VOLUME_SIZE)
    _run("mkfs.btrfs", "-q", image)
    if subprocess.run(["mount", "-o", "loop", image, disk], check=False).returncode != 0:
        return None
    folder, n_failed = disk / "folder", 0
    try:
        _run("btrfs", "subvolume", "create", folder)
        _run("btrfs", "quota", "enable", disk)
        _run("btrfs", "quota", "rescan", "-w", disk)
        for write in writers(folder, 0).values():
            write()
        for n_left in range(0, N_QUOTA_STEPS * QUOTA_STEP, QUOTA_STEP):
            for name, write in writers(folder, n_left + 1).items():
                _run("btrfs", "filesystem", "sync", disk)
                group, used = _usage(folder)
                _run("btrfs", "qgroup", "limit", str(used + n_left), group, disk)
                n_failed += fails_well(folder / name, write, os.strerror(errno.EDQUOT).lower())
                _run("btrfs", "qgroup", "limit", "none", group, disk)
            check_all(folder)
    finally:
        _run("umount", disk)
    return n_failed


def _usage(folder: Path) -> tuple[str, int]:
    """The group that the quota of a volume is for, and the number of bytes that count."""
    shown = _run("btrfs", "qgroup", "show", "--raw", "-f", folder)
    group, used = next(line.split()[:2] for line in shown.splitlines() if line.startswith("0/"))
    return group, int(used)


def _run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


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
    """Mounts the disks, and tries all."""
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
        n_quotas = try_quotas(disk, Path(place) / "volume")
        n_read_only = try_read_only(folder)
    print(f"{n_full:,} writes to a full disk and {n_read_only:,} to a read-only folder ended as they should")
    if n_quotas is None:
        print("quotas were skipped: they need Btrfs and its programs (Debian's btrfs-progs)")
    else:
        print(f"{n_quotas:,} writes beyond a quota ended as they should")
    if given.write:
        add_counts(FAULTS, "a disk is full", {"times": n_full, "wrong": 0})
        if n_quotas is not None:
            add_counts(FAULTS, "a quota is exceeded", {"times": n_quotas, "wrong": 0})
        add_counts(FAULTS, "a folder is read-only", {"times": n_read_only, "wrong": 0})
    return 0


if __name__ == "__main__":
    sys.exit(main())
