"""The public files of the paper's authors: read from a folder or downloaded once, and always verified by checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from textwrap import shorten

ADDRESS = "https://raw.githubusercontent.com/ZhongLIFR/QCAD/f862cb8be34726c6b51d109a8243778c49c7815e/Data/"
VARIABLE = "PARIBUS_DATA"
"""The environment variable that names a folder with the files, in the same layout as below `ADDRESS`."""


def fetch(path: str, sha256: str) -> Path:
    """Returns the local path of a file, after downloading it if necessary."""
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
            f"downloading this data set needs pooch: pip install 'paribus[data]', "
            f"or set {VARIABLE} to a folder with the files"
        ) from None
    file = Path(pooch.os_cache("paribus")) / path
    try:
        pooch.retrieve(ADDRESS + path, f"sha256:{sha256}", fname=file.name, path=file.parent)
    except OSError as error:
        raise OSError(
            f"{ADDRESS}{path} could not be downloaded to '{file}': check the network, or set {VARIABLE} to a folder "
            f"with the files ({shorten(str(error), 100)})"
        ) from None
    except ValueError:
        # Pooch verifies the checksum before it moves the file into place, so there is nothing to clean up.
        raise ValueError(
            f"the download of {ADDRESS}{path} is damaged (its SHA-256 is not {sha256[:12]}...) and was not kept: "
            f"try again"
        ) from None
    return file
