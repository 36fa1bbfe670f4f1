"""One file of JSON and numpy arrays that cannot run code, nor take more memory than it is long.

A zip archive that stores and does not compress: `header.json`, and each array as numpy writes it, without pickle. Any
program that knows zip and numpy can read it.
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
# Zip's first year: the same content is the same bytes, whenever it is written.
EPOCH = (1980, 1, 1, 0, 0, 0)
MOST_MEMBERS = 100_000
# JSON of brackets becomes twenty times as large in memory.
LONGEST_HEADER = 16 * 2**20
_NAME = re.compile(r"\w+(\.\w+)?\.npy", re.ASCII)
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>[<|](?:b1|[iu][1248]|f[248]|[mM]8\[us\]))', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:\d{1,18}(?:, ?)?){0,3})\), \} *\n",
    re.DOTALL,
)


class ForeignError(ValueError):
    """A file of another kind."""


def write_archive(file: BinaryIO, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Writes the header, with a digest of everything, and the arrays."""
    text = _as_json({**header, DIGEST: digest(header, arrays)})
    if len(text) > LONGEST_HEADER:
        raise ValueError("the names of columns and categories are too long to be saved: there must be less than 16 MB")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EPOCH), text)
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name + SUFFIX, EPOCH), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _little_endian(array), allow_pickle=False)


def digest(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """What changes whenever anything in an archive does: the SHA-256 of the header, without it, and of the arrays."""
    fields = {name: value for name, value in header.items() if name != DIGEST}
    hasher = hashlib.sha256(_as_json(fields, sort_keys=True))
    for name in sorted(arrays):
        array = _little_endian(arrays[name])
        hasher.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hasher.update(array.reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()


def read_archive(path: Path, what: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Reads the header and the arrays. `what`: how messages call such a file."""
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
                raise DamagedError("the header is no object")
            arrays = {
                member.filename.removesuffix(SUFFIX): _read_array(archive.read(member), member.filename)
                for member in members
                if member.filename != HEADER
            }
    return header, arrays


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Nothing that is compressed, encrypted, there twice, overlapping, or larger than the file."""
    if len(members) > MOST_MEMBERS or len({member.filename for member in members}) < len(members):
        raise DamagedError("a part is there twice")
    if sum(member.file_size for member in members) > size:
        raise DamagedError("the parts are larger than the file")
    for member in members:
        if member.filename == HEADER and member.file_size > LONGEST_HEADER:
            raise DamagedError("the header is too long")
        plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
        if not plain or member.file_size != member.compress_size:
            raise DamagedError(f"part {member.filename!r} is compressed or encrypted")
        if member.filename != HEADER and _NAME.fullmatch(member.filename) is None:
            raise DamagedError(f"part {member.filename!r} is unknown")


def _read_array(data: bytes, name: str) -> npt.NDArray[Any]:
    # numpy's own reader would let Python's parser look at the header. What it writes of plain arrays is always this.
    header = _NPY.match(data)
    if header is None or struct.unpack("<H", data[8:10])[0] != header.end() - 10:
        raise DamagedError(f"part {name!r} is not an array of numbers")
    dtype = np.dtype(header["type"].decode())
    shape = tuple(int(length) for length in header["shape"].split(b",") if length.strip())
    # Before any memory is set aside.
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
        # The last two are what zipfile says to methods that it does not know, and to encryption.
        raise DamagedError(f"{name} is damaged or cut off, or it is not {what} ({error})") from None
    except (ValueError, KeyError, OverflowError) as error:
        raise DamagedError(f"{name} is damaged ({type(error).__name__}: {str(error)[:80]})") from None


def _as_json(value: Any, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    # Lone surrogates, which Python allows in a text, stay what they are.
    return text.encode("utf-8", "surrogatepass")


def _little_endian(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
