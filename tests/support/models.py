"""Saved models for tests, and their parts."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from paribus.persistence.archive import _read_array, describe, digest
from tests.support.tables import mixed_table

Members = dict[str, bytes]


def wide_table(n: int = 150) -> pd.DataFrame:
    """A table with a timestamp and a boolean as context, columns without a role, and an index."""
    frame = mixed_table(n)
    frame["when"] = pd.date_range("2026-01-01", periods=n, freq="h")
    frame["weekend"] = [bool(row % 7 < 2) for row in range(n)]
    frame["note"] = [None if row % 10 == 0 else f"n\u00f6te {row}\n" for row in range(n)]
    frame["count"] = range(n)
    return frame.set_index(pd.Index([f"r{row}" for row in range(n)]))


def same(first: Any, second: Any) -> bool:
    return bool(np.array_equal(np.asarray(first), np.asarray(second), equal_nan=True))


def members_of(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(members: Members) -> Members:
    """The parts with matching checksums and a matching digest, as if they had been saved like this."""
    try:
        header = json.loads(members["header.json"])
        arrays = {
            name.removesuffix(".npy"): _read_array(data, 0, len(data), name)
            for name, data in members.items()
            if name[-4:] == ".npy"
        }
        header["arrays"] = describe(arrays, lambda name: name.startswith("forest_"))
        header["digest"] = digest(header)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return members
    return members | {"header.json": json.dumps(header).encode()}


def write_members(path: Path, members: Members, compression: int = zipfile.ZIP_STORED) -> None:
    write_unsealed(path, sealed(members), compression)


def write_unsealed(path: Path, members: Members, compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def with_header(members: Members, **changes: Any) -> Members:
    header = json.loads(members["header.json"]) | changes
    return members | {"header.json": json.dumps(header).encode()}
