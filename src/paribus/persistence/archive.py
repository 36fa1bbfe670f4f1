"""A file format of JSON and numpy arrays: reading it cannot run code, nor use more memory than the file is long.

The file is an uncompressed zip archive of `header.json` and of one `.npy` file for each array, without pickle. Any
program that reads zip and numpy files can read it. A large file is mapped into memory: what is not used is not read,
and processes that use the same file share it.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from paribus._common.untrusted import DamagedError
from paribus._core import checksum

HEADER = "header.json"
DIGEST = "digest"
ARRAYS = "arrays"
SUFFIX = ".npy"
# The first date that zip can represent: the same content gives the same bytes, whenever it is written.
EPOCH = (1980, 1, 1, 0, 0, 0)
MAX_MEMBERS = 100_000
# In bytes: JSON that consists of brackets becomes twenty times as large in memory.
MAX_HEADER_SIZE = 16 * 2**20
MAX_NPY_HEADER = 256
# In bytes: smaller files are read, larger ones are mapped into memory.
MIN_MAPPED_SIZE = 16 * 2**20
# Data begin at multiples of this, so that arrays are aligned in memory.
ALIGNMENT = 64
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
ZIP64_FIELD_SIZE = 20
# The identifier that Android's zipalign uses for such a field.
PADDING_FIELD = 0xD935
_NAME = re.compile(r"\w+(\.\w+)?\.npy", re.ASCII)
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>[<|](?:b1|[iu][1248]|f[248]|[mM]8\[us\]))', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:\d{1,18}(?:, ?)?){0,3})\), \} *\n",
    re.DOTALL,
)


class ForeignError(ValueError):
    """Raised for a file of another kind."""


class StoredArrays(Mapping[str, npt.NDArray[Any]]):
    """Arrays of a file. Each is verified when it is first used, so that a large file need not be read to be opened.

    Parameters
    ----------
    arrays : dict
        The arrays; those of a large file are mapped into memory.
    checksums : dict
        By name.
    verify_themselves : set of str
        Arrays that are verified by what reads them, part by part.
    """

    def __init__(
        self, arrays: dict[str, npt.NDArray[Any]], checksums: dict[str, int], verify_themselves: set[str]
    ) -> None:
        self._arrays = arrays
        self._unverified = checksums
        self._verify_themselves = verify_themselves

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._verify_themselves:
            self._verify(name)
        return self._arrays[name]

    def verify_all(self) -> None:
        """Verifies all arrays, which takes as long as reading them."""
        for name in self._arrays:
            self._verify(name)

    def _verify(self, name: str) -> None:
        if name in self._unverified:
            if checksum(_as_bytes(self._arrays[name])) != self._unverified[name]:
                raise DamagedError(f"{name} was changed after it was saved")
            del self._unverified[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def write_archive(
    file: BinaryIO,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    verifies_itself: Callable[[str], bool],
) -> None:
    """Writes the header, with a digest of itself and checksums of the arrays, and the arrays.

    Arrays are aligned, so that a file can be mapped into memory. `verifies_itself` says which are verified part by
    part when they are used.
    """
    stored = {name: _little_endian(array) for name, array in arrays.items()}
    described = describe(stored, verifies_itself)
    header = {**header, ARRAYS: described}
    text = _as_json({**header, DIGEST: digest(header)})
    if len(text) > MAX_HEADER_SIZE:
        raise ValueError(
            "the names of columns and categories are too long to be saved: together they must be shorter than 16 MB"
        )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EPOCH), text)
        for name, array in stored.items():
            info = zipfile.ZipInfo(name + SUFFIX, EPOCH)
            # Padding after the local header, in a field of its own: the sizes of large files come after it.
            start = file.tell() + LOCAL_HEADER.size + len(info.filename) + ZIP64_FIELD_SIZE
            info.extra = struct.pack("<HH", PADDING_FIELD, -(start + 4) % ALIGNMENT) + bytes(-(start + 4) % ALIGNMENT)
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def describe(arrays: Mapping[str, npt.NDArray[Any]], verifies_itself: Callable[[str], bool]) -> dict[str, Any]:
    """The type, the shape and the checksum of each array, and whether what reads it verifies it."""
    return {
        name: [array.dtype.str, list(array.shape), checksum(_as_bytes(array)), verifies_itself(name)]
        for name, array in arrays.items()
    }


def digest(header: Mapping[str, Any]) -> str:
    """The SHA-256 of the header, except for the digest itself."""
    fields = {name: value for name, value in header.items() if name != DIGEST}
    return hashlib.sha256(_as_json(fields, sort_keys=True)).hexdigest()


def read_archive(path: Path, what: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], bool]:
    """The header, the arrays, and whether these are mapped into memory. `what` describes such a file in messages."""
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
            file.seek(0)
            # If a mapped file is truncated, the process that uses it is killed: only files too large to be read are
            # mapped.
            is_mapped = size >= MIN_MAPPED_SIZE
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_mapped else file.read()
            arrays = {
                member.filename.removesuffix(SUFFIX): _find_array(data, member)
                for member in members
                if member.filename != HEADER
            }
    return header, arrays, is_mapped


def verified(header: Mapping[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> StoredArrays:
    """The arrays, after the header has been verified."""
    if header.get(DIGEST) != digest(header):
        raise DamagedError("it was changed after it was saved")
    described = header.get(ARRAYS)
    if not isinstance(described, dict) or described.keys() != arrays.keys():
        raise DamagedError("the arrays are not those that were saved")
    checksums: dict[str, int] = {}
    for name, entry in described.items():
        array = _little_endian(arrays[name]) if arrays[name].dtype.byteorder == ">" else arrays[name]
        if not isinstance(entry, list) or len(entry) != 4 or entry[:2] != [array.dtype.str, list(array.shape)]:
            raise DamagedError(f"{name} is not as it was saved")
        checksums[name] = entry[2]
    return StoredArrays(arrays, checksums, {name for name, entry in described.items() if entry[3] is True})


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Raises an error if a part is compressed, encrypted, duplicated, overlapping, or larger than the file."""
    if len(members) > MAX_MEMBERS or len({member.filename for member in members}) < len(members):
        raise DamagedError("a part occurs twice")
    if sum(member.file_size for member in members) > size:
        raise DamagedError("the parts are larger than the file")
    for member in members:
        # A damaged directory can place a part before the file, where seeking raises an OSError.
        if not 0 <= member.header_offset < size:
            raise DamagedError(f"part {member.filename!r} is outside the file")
        if member.filename == HEADER and member.file_size > MAX_HEADER_SIZE:
            raise DamagedError("the header is too long")
        plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
        if not plain or member.file_size != member.compress_size:
            raise DamagedError(f"part {member.filename!r} is compressed or encrypted")
        if member.filename != HEADER and _NAME.fullmatch(member.filename) is None:
            raise DamagedError(f"part {member.filename!r} is unknown")


def _find_array(data: bytes | mmap.mmap, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    begin = member.header_offset
    fields = LOCAL_HEADER.unpack_from(data, begin) if begin + LOCAL_HEADER.size <= len(data) else (b"",)
    if fields[0] != b"PK\x03\x04":
        raise DamagedError(f"part {member.filename!r} does not begin where it should")
    begin += LOCAL_HEADER.size + fields[-2] + fields[-1]
    if begin + member.file_size > len(data):
        raise DamagedError(f"part {member.filename!r} is outside the file")
    return _read_array(data, begin, member.file_size, member.filename)


def _read_array(data: bytes | mmap.mmap, begin: int, size: int, name: str) -> npt.NDArray[Any]:
    # numpy's own reader would pass the header to Python's parser. Headers of plain arrays always have this form.
    header = _NPY.match(data[begin : begin + min(size, MAX_NPY_HEADER)])
    if header is None or struct.unpack_from("<H", data, begin + 8)[0] != header.end() - 10:
        raise DamagedError(f"part {name!r} is not an array of numbers")
    dtype = np.dtype(header["type"].decode())
    shape = tuple(int(length) for length in header["shape"].split(b",") if length.strip())
    # Checked before any memory is allocated.
    if math.prod(shape) * dtype.itemsize != size - header.end():
        raise DamagedError(f"part {name!r} is not as long as its header states")
    if size == header.end():
        return np.empty(shape, dtype)
    array = np.frombuffer(data, dtype, math.prod(shape), begin + header.end()).reshape(shape)
    # Written by another program, or on a machine with the other byte order: it has to be copied.
    is_plain = array.flags.aligned and array.ctypes.data % np.dtype(np.uint64).itemsize == 0 and dtype.isnative
    return array if is_plain else array.astype(dtype.newbyteorder("="))


def _as_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


@contextmanager
def _damage_explained(name: str, what: str) -> Iterator[None]:
    try:
        yield
    except ForeignError:
        raise
    except DamagedError as error:
        raise DamagedError(f"{name} is damaged: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        # zipfile raises the last two for unknown compression methods and for encryption.
        raise DamagedError(f"{name} is damaged or truncated, or it is not {what}") from None
    except (ValueError, KeyError, OverflowError) as error:
        raise DamagedError(f"{name} is damaged ({type(error).__name__}: {str(error)[:80]})") from None


def _as_json(value: Any, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    # Python allows lone surrogates in text: they are preserved.
    return text.encode("utf-8", "surrogatepass")


def _little_endian(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
