"""The pictures of an explanation, as files."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from pathlib import Path

from paribus._common.atomic_files import atomic_write
from paribus.explain.explanation import RowExplanation
from paribus.pictures.catalog import PICTURES

FORMATS = ("svg", "png", "pdf")
MAX_STEM_LENGTH = 40  # characters
# Enough digits that no two of a thousand names share them.
N_DIGITS = 10


def check_formats(formats: list[str]) -> list[str]:
    """The formats that were typed. Raises an error if one is unknown."""
    typed = [part.strip().lower().removeprefix(".") for value in formats for part in value.split(",") if part.strip()]
    for each in typed:
        if each not in FORMATS:
            raise ValueError(f"--format is {each!r}: it must be one of {', '.join(FORMATS)}")
    return list(dict.fromkeys(typed))


def require_matplotlib(extra: str = "plot") -> None:
    """Raises an error if matplotlib is not installed, and names the extra that installs it."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise ValueError(f"pictures need matplotlib: pip install 'paribus[{extra}]'") from None
    # A backend that opens no window, whatever the user's settings are.
    matplotlib.use("Agg")


def save_pictures(explanation: RowExplanation, folder: Path, name: str, formats: list[str]) -> list[Path]:
    """Draws the pictures of a row, and returns the paths of their files."""
    from matplotlib import pyplot as plt

    from paribus.pictures import matplotlib as displays

    stem = file_stem(name)
    drawn: dict[Path, bytes] = {}
    # Otherwise the identifiers in SVG files would be different each time.
    with plt.rc_context({"svg.hashsalt": "paribus"}):
        for picture in PICTURES:
            if picture.about != "row":
                continue
            figure = getattr(displays, picture.display).from_explanation(explanation).figure_
            for each in formats:
                buffer = io.BytesIO()
                metadata = None if each == "png" else {_date_field(each): None}
                figure.savefig(buffer, format=each, dpi=150, metadata=metadata)
                drawn[folder / f"{stem}-{picture.name}.{each}"] = buffer.getvalue()
            plt.close(figure)
    new = [path for path in drawn if not path.exists()]
    try:
        for path, data in drawn.items():
            with atomic_write(path) as file:
                file.write(data)
    except BaseException:
        # Either all files are written, or none of the new ones is left behind.
        for path in new:
            path.unlink(missing_ok=True)
        raise
    return list(drawn)


def file_stem(name: str) -> str:
    """A file name for a row that is valid on any system and different from those of other rows.

    If characters were removed, or if a system may not distinguish two names, digits of a digest are appended.

    >>> file_stem("s137"), file_stem("S 137"), file_stem("s/137")
    ('s137', 'S-137-243669dd19', 's-137-012f98a4d2')
    """
    letters = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", name)).strip(".-")[:MAX_STEM_LENGTH]
    if name and letters == name and name.isascii() and name == name.lower():
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:N_DIGITS]
    return f"{letters or 'row'}-{digest}"


def _date_field(picture_format: str) -> str:
    """The metadata field of the date, which is left out so that the same explanation gives the same file."""
    return "CreationDate" if picture_format == "pdf" else "Date"
