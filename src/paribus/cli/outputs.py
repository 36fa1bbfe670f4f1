"""Validation of output files before the work starts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paribus._common.atomic_files import check_writable


def check_outputs(inputs: list[str], outputs: dict[str, Path | None]) -> None:
    """Raises an error if an output cannot be written, or would overwrite an input or another output.

    `outputs` are paths by the option that names them.
    """
    taken = {_file(each): f"the input {each}" for each in inputs}
    for option, path in outputs.items():
        if path is None:
            continue
        target = check_writable(path)
        if "-" in inputs and _is_standard_input(target):
            raise ValueError(f"{option} {path} would overwrite the input: choose another name")
        if folder := next((each for each in taken if each.is_dir() and each in target.parents), None):
            raise ValueError(f"{option} {path} is in the folder that is read, {folder}: choose another folder")
        if target in taken:
            raise ValueError(f"{option} {path} would overwrite {taken[target]}: choose another name")
        taken[target] = f"the file of {option}"


def _file(source: str) -> Path:
    """The file of a path or of the URL of an SQLite database."""
    return Path(re.sub(r"^sqlite[^:]*:///([^?]*).*", r"\1", source)).resolve()


def _is_standard_input(path: Path) -> bool:
    """Whether standard input comes from this file."""
    try:
        return os.path.samestat(os.fstat(0), path.stat())
    except OSError:
        # The file does not exist yet, or there is no standard input.
        return False


def check_report(path: Path) -> None:
    """Raises an error if the file name of a report does not end in .html or .htm."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"cannot write '{path}': the report is an HTML page, so its name must end in .html or .htm")


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """Yields a folder to write to. If it is new and an error occurs before anything is written, it is removed again."""
    is_new = not path.exists()
    try:
        yield check_folder(path)
    except BaseException:
        if is_new:
            with suppress(OSError):
                path.rmdir()
        raise


def check_folder(path: Path, *, parents: bool = False) -> Path:
    """Creates a folder if it does not exist, and raises an error if it is not writable."""
    try:
        path.mkdir(exist_ok=True, parents=parents)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{path} is a file, not a folder") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no folder {path.parent}") from None
    check_writable(path / "picture.svg")
    return path
