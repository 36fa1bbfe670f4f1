"""Python objects in files whose arrays are mapped into memory: processes that read the same file share them.

Such a file is written and read by the processes of one cluster, like the tasks themselves, and is temporary.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
from functools import lru_cache
from typing import Any

ALIGNMENT = 64
_SIZE = struct.Struct("<Q")


def write_payload(path: str, value: Any) -> None:
    """Writes an object, with its arrays in a separate part that can be mapped."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts: list[bytes | memoryview] = [body, *(buffer.raw() for buffer in buffers)]
    with open(path, "wb") as file:
        file.write(_SIZE.pack(len(buffers)))
        file.write(b"".join(_SIZE.pack(len(each)) for each in parts))
        for each in parts:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(each)


@lru_cache(maxsize=2)
def read_payload(path: str) -> Any:
    """Reads an object, only once per process, because a worker does several tasks.

    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_payload(f"{folder}/p", {"a": np.arange(3.0)})
    ...     read_payload(f"{folder}/p")
    {'a': array([0., 1., 2.])}
    """
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), os.fstat(file.fileno()).st_size, access=mmap.ACCESS_READ)
    (n_buffers,) = _SIZE.unpack_from(data, 0)
    sizes = [_SIZE.unpack_from(data, _SIZE.size * (1 + place))[0] for place in range(n_buffers + 1)]
    parts: list[memoryview] = []
    begin, view = _SIZE.size * (2 + n_buffers), memoryview(data)
    for size in sizes:
        begin += -begin % ALIGNMENT
        parts.append(view[begin : begin + size])
        begin += size
    return pickle.loads(parts[0], buffers=parts[1:])
