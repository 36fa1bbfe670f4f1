"""A file format of JSON and numpy arrays: reading it cannot run code, nor use more memory than the file is long.

The file is an uncompressed zip archive of `header.json` and of one `.npy` file for each array, without pickle. Any
program that reads zip and numpy files can read it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from paribus._common.untrusted import DamagedError

HEADER = "header.json"
DIGEST = "digest"
SUFFIX = ".npy"
# The first date that zip can represent: the same content gives the same bytes, whenever it is written.
EPOCH = (1980, 1, 1, 0, 0, 0)
MAX_MEMBERS = 100_000
# In bytes: JSON that consists of brackets becomes twenty times as large in memory.
MAX_HEADER_SIZE = 16 * 2**20
_NAME = re.compile(r"\w+(\.\w+)?\.npy", re.ASCII)
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>[<|](?:b1|[iu][1248]|f[248]|[mM]8\[us\]))', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:\d{1,18}(?:, ?)?){0,3})\), \} *\n",
    re.DOTALL,
)


class ForeignError(ValueError):
    """Raised for a file of another kind."""


def write_archive(file: BinaryIO, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Writes the header, with a digest of all content, and the arrays."""
    text = _as_json({**header, DIGEST: digest(header, arrays)})
    if len(text) > MAX_HEADER_SIZE:
        raise ValueError(
            "the names of columns and categories are too long to be saved: together they must be shorter than 16 MB"
        )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EPOCH), text)
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name + SUFFIX, EPOCH), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _little_endian(array), allow_pickle=False)


def digest(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """The SHA-256 of the header, except for the digest itself, and of the arrays."""
    fields = {name: value for name, value in header.items() if name != DIGEST}
    hasher = hashlib.sha256(_as_json(fields, sort_keys=True))
    for name in sorted(arrays):
        array = _little_endian(arrays[name])
        hasher.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hasher.update(array.reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()


def read_archive(path: Path, what: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Reads the header and the arrays. `what` describes such a file in messages."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
            raise ForeignError(f"{path.name} is not {what}")
        with _damage_explained(path.name, what), zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if HEADER not in archive.NameToInfo:
                raise ForeignError(f"{path.name} is not {what}")
            _check_members(members, size)
            header = json.loads(archive.read(HEADER).decode("utf-8", "surrogatepass"))
            if not isinstance(header, dict):
                raise DamagedError("the header is not a JSON object")
            arrays = {
                member.filename.removesuffix(SUFFIX): _read_array(archive.read(member), member.filename)
                for member in members
                if member.filename != HEADER
            }
    return header, arrays


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Raises an error if a part is compressed, encrypted, duplicated, overlapping, or larger than the file."""
    if len(members) > MAX_MEMBERS or len({member.filename for member in members}) < len(members):
        raise DamagedError("a part is there twice")
    if sum(member.file_size for member in members) > size:
        raise DamagedError("the parts are larger than the file")
    for member in members:
        # A damaged directory can place a part before the file, where seeking raises an OSError.
        if not 0 <= member.header_offset < size:
            raise DamagedError(f"part {member.filename!r} is outside of the file")
        if member.filename == HEADER and member.file_size > MAX_HEADER_SIZE:
            raise DamagedError("the header is too long")
        plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
        if not plain or member.file_size != member.compress_size:
            raise DamagedError(f"part {member.filename!r} is compressed or encrypted")
        if member.filename != HEADER and _NAME.fullmatch(member.filename) is None:
            raise DamagedError(f"part {member.filename!r} is unknown")


def _read_array(data: bytes, name: str) -> npt.NDArray[Any]:
    # numpy's own reader would pass the header to Python's parser. Headers of plain arrays always have this form.
    header = _NPY.match(data)
    if header is None or struct.unpack("<H", data[8:10])[0] != header.end() - 10:
        raise DamagedError(f"part {name!r} is not an array of numbers")
    dtype = np.dtype(header["type"].decode())
    shape = tuple(int(length) for length in header["shape"].split(b",") if length.strip())
    # Checked before any memory is allocated.
    if math.prod(shape) * dtype.itemsize != len(data) - header.end():
        raise DamagedError(f"part {name!r} is not as long as it says")
    if len(data) == header.end():
        return np.empty(shape, dtype)
    return np.frombuffer(data, dtype, offset=header.end()).reshape(shape).astype(dtype.newbyteorder("="))


@contextmanager
def _damage_explained(name: str, what: str) -> Iterator[None]:
    try:
        yield
    except ForeignError:
        raise
    except DamagedError as error:
        raise DamagedError(f"{name} is damaged: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        # zipfile raises the last two for unknown compression methods and for encryption.
        raise DamagedError(f"{name} is damaged or cut off, or it is not {what} ({error})") from None
    except (ValueError, KeyError, OverflowError) as error:
        raise DamagedError(f"{name} is damaged ({type(error).__name__}: {str(error)[:80]})") from None


def _as_json(value: Any, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    # Python allows lone surrogates in text: they are preserved.
    return text.encode("utf-8", "surrogatepass")


def _little_endian(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
