"""Files that a command writes: looked at before the work starts."""

from __future__ import annotations

import os
from pathlib import Path

from paribus.files import check_writable


def check_outputs(source: str, outputs: dict[str, Path | None]) -> None:
    """Says so if a file cannot be written, or would replace the table or another of them. By option."""
    targets: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        target = check_writable(path)
        if os.path.exists(source) and target == Path(source).resolve():
            raise ValueError(f"{option} {path} would replace the table itself: choose another name")
        if target in targets:
            raise ValueError(f"{targets[target]} and {option} are the same file: choose another name")
        targets[target] = option


def check_folder(path: Path) -> Path:
    """A folder to write to, made if it is not there."""
    try:
        path.mkdir(exist_ok=True)
    except FileExistsError:
        raise ValueError(f"{path} is a file, and a folder is needed") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no folder {path.parent}") from None
    check_writable(path / "picture.svg")
    return path
