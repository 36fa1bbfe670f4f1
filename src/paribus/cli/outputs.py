"""Files that a command writes: looked at before the work starts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paribus._common.atomic_files import check_writable


def check_outputs(inputs: list[str], outputs: dict[str, Path | None]) -> None:
    """Says so if a file cannot be written, or would replace one that is read, or another of them. By option."""
    taken = {_file(each): f"{each}, which is read" for each in inputs}
    for option, path in outputs.items():
        if path is None:
            continue
        target = check_writable(path)
        if "-" in inputs and _is_standard_input(target):
            raise ValueError(f"{option} {path} would replace the table that is read: choose another name")
        if target in taken:
            raise ValueError(f"{option} {path} would replace {taken[target]}: choose another name")
        taken[target] = f"the file of {option}"


def _file(source: str) -> Path:
    """The file behind a path or the address of an SQLite database."""
    return Path(re.sub(r"^sqlite[^:]*:///([^?]*).*", r"\1", source)).resolve()


def _is_standard_input(path: Path) -> bool:
    """Whether standard input comes from this file."""
    try:
        return os.path.samestat(os.fstat(0), path.stat())
    except OSError:
        # There is no such file yet, or no standard input.
        return False


def check_report(path: Path) -> None:
    """Says so if the name of a report is not that of a web page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"cannot write '{path}': the report is a web page, so its name must end in .html or .htm")


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """A folder to write to. If it is a new one and nothing gets into it, it goes away again."""
    is_new = not path.exists()
    try:
        yield check_folder(path)
    except BaseException:
        if is_new:
            with suppress(OSError):
                path.rmdir()
        raise


def check_folder(path: Path, *, parents: bool = False) -> Path:
    """A folder to write to, made if it is not there, and with `parents` those above it too."""
    try:
        path.mkdir(exist_ok=True, parents=parents)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{path} is a file, and a folder is needed") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no folder {path.parent}") from None
    check_writable(path / "picture.svg")
    return path
