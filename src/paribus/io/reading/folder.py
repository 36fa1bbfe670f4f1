"""Folders of files with the same columns, including Hive partitions such as year=2026/month=1."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from paribus.io.reading.raw import Note, RawStream, RawTable, Wanted, check_names

Open = Callable[[str, Note, ExitStack], RawStream]
# Hive's name for the folder of rows with a missing value.
NOTHING = "__HIVE_DEFAULT_PARTITION__"


def stream_folder(folder: str, open_file: Open, note: Note) -> RawStream:
    """Opens all files of a folder and of the folders in it, in the order of their names, as one table.

    Names that start with a dot or an underscore are skipped, as by other programs.
    """
    name = os.path.basename(os.path.abspath(folder))
    paths = list_files(folder)
    if not paths:
        raise ValueError(f"{folder} is a folder without files")
    parts: list[tuple[str, dict[str, str | None], int | None]] = []
    first: RawStream | None = None
    for path in paths:
        with ExitStack() as stack:
            opened = open_file(os.path.join(folder, path), note if first is None else lambda _: None, stack)
        values = _values(path)
        if first is None:
            first, keys = opened, list(values)
        if set(opened.names) != set(first.names) or list(values) != keys:
            raise ValueError(
                f"{folder} is a folder, and its files are not parts of one table: {path} has other columns than "
                f"{paths[0]}; name a file, or a folder of files with the same columns"
            )
        if opened.decimal_commas != first.decimal_commas:
            raise ValueError(f"{folder} is a folder, and its file {path} has a different separator than {paths[0]}")
        parts.append((path, values, opened.n_rows))
    assert first is not None
    # A column in the files takes precedence over the name of a folder.
    keys = [key for key in keys if key not in first.names]
    names = [*first.names, *keys]
    check_names(name, names)

    def batches(wanted: Wanted) -> Iterator[RawTable]:
        chosen = [each for each in names if wanted.names is None or each in wanted.names]
        in_files = [each for each in chosen if each not in keys]
        # Without any column there would be no rows to count.
        read = replace(wanted, names=in_files or first.names[:1])
        for path, values, _ in parts:
            with ExitStack() as stack:
                for batch in open_file(os.path.join(folder, path), lambda _: None, stack).batches(read):
                    columns: dict[str, Any] = {
                        each: [values[each]] * batch.n_rows if each in keys else batch.columns[each] for each in chosen
                    }
                    source = os.path.join(name, path)
                    yield replace(batch, source=source, names=chosen, columns=columns, wanted=wanted)

    counts = [n_rows for *_, n_rows in parts]
    n_rows = None if None in counts else sum(count or 0 for count in counts)
    return RawStream(name, names, batches, first.decimal_commas, n_rows, has_parts=True)


def list_files(folder: str) -> list[str]:
    """The files of a folder and of the folders in it, relative to it, in the order of their names."""
    return sorted(_files(folder))


def _files(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "_"))]
        for file in files:
            if not file.startswith((".", "_")):
                yield os.path.relpath(os.path.join(place, file), folder)


def _values(path: str) -> dict[str, str | None]:
    """The values in the names of folders.

    >>> _values("year=2026/city=S%C3%A3o Paulo/part-0.parquet")
    {'year': '2026', 'city': 'São Paulo'}
    """
    pairs = [part.split("=", 1) for part in path.split(os.sep)[:-1] if "=" in part]
    return {key: None if value == NOTHING else unquote(value) for key, value in pairs}
