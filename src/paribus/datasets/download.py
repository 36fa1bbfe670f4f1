"""The public files of the paper's authors: from a folder, or downloaded once; never without a check of their sums."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from textwrap import shorten

ADDRESS = "https://raw.githubusercontent.com/ZhongLIFR/QCAD/f862cb8be34726c6b51d109a8243778c49c7815e/Data/"
VARIABLE = "PARIBUS_DATA"
"""The environment variable that names a folder of the files, laid out as below `ADDRESS`."""


def fetch(path: str, sha256: str) -> Path:
    """Where a file is on this machine, after a download if need be."""
    folder = os.environ.get(VARIABLE)
    return _find(Path(folder).expanduser(), path, sha256) if folder else _download(path, sha256)


def _find(folder: Path, path: str, sha256: str) -> Path:
    file = folder / path
    if not file.is_file():
        what = f"there is no '{path}' in it" if folder.is_dir() else "there is no such folder"
        raise FileNotFoundError(f"{VARIABLE} names '{folder}', but {what}: correct or unset {VARIABLE}")
    with file.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != sha256:
        raise ValueError(
            f"'{file}' is not the file that the paper's authors published (its SHA-256 is {actual[:12]}..., "
            f"not {sha256[:12]}...): replace it by {ADDRESS}{path}"
        )
    return file


def _download(path: str, sha256: str) -> Path:
    try:
        import pooch
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"this data set is downloaded with pooch, which is not installed: pip install 'paribus[data]', "
            f"or name a folder with the files in {VARIABLE}"
        ) from None
    file = Path(pooch.os_cache("paribus")) / path
    try:
        pooch.retrieve(ADDRESS + path, f"sha256:{sha256}", fname=file.name, path=file.parent)
    except OSError as error:
        raise OSError(
            f"{ADDRESS}{path} could not be downloaded to '{file}': check the network, or name a folder with the files "
            f"in {VARIABLE} ({shorten(str(error), 100)})"
        ) from None
    except ValueError:
        # Pooch has checked the sum before the file came to its place, so there is nothing to clear away.
        raise ValueError(
            f"what came from {ADDRESS}{path} is damaged (its SHA-256 is not {sha256[:12]}...), and was not kept: "
            f"try again"
        ) from None
    return file
