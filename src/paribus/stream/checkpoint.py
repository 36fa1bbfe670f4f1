"""Checkpoints of a monitor: one file, written completely or not at all, without pickle."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.atomic_files import AnyPath, atomic_path
from paribus._common.untrusted import DamagedError
from paribus.detectors.load import load
from paribus.detectors.surprise import ConditionalSurprise

VERSION = 1
# The maximum size of a part of a checkpoint, whatever its header states.
MAX_BYTES = 4_000_000_000


@dataclass
class Checkpoint:
    """The contents of a checkpoint file."""

    fields: dict[str, Any]
    """Plain values."""
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    detectors: dict[str, ConditionalSurprise] = field(default_factory=dict)


class DetectorBytes:
    """Detectors as bytes, each serialized only once: they rarely change, and checkpoints are written often."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[ConditionalSurprise, bytes]] = {}

    def of(self, name: str, detector: ConditionalSurprise) -> bytes:
        """The model file of a detector."""
        if name not in self._made or self._made[name][0] is not detector:
            with TemporaryDirectory() as folder:
                detector.save(Path(folder) / "model.paribus")
                self._made[name] = detector, (Path(folder) / "model.paribus").read_bytes()
        return self._made[name][1]


def write_checkpoint(path: AnyPath, checkpoint: Checkpoint, stored: DetectorBytes) -> None:
    """Writes a checkpoint. If the process is killed, the old one is unchanged."""
    with atomic_path(path) as draft, zipfile.ZipFile(draft, "w") as archive:
        archive.writestr("state.json", json.dumps({"version": VERSION, **checkpoint.fields}, default=_plain))
        for name, array in checkpoint.arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())
        for name, detector in checkpoint.detectors.items():
            archive.writestr(f"{name}.paribus", stored.of(name, detector))


def read_checkpoint(path: AnyPath) -> Checkpoint:
    """Reads a checkpoint. Raises a ValueError if it is damaged."""
    name = Path(path).name
    try:
        with zipfile.ZipFile(path) as archive:
            if any(info.file_size > MAX_BYTES for info in archive.infolist()):
                raise DamagedError("too large")
            fields = json.loads(archive.read("state.json"), object_hook=_restored)
            if fields.get("version") != VERSION:
                raise ValueError(f"{name} was written by another version of paribus: start again without it")
            arrays = {
                info.filename[:-4]: np.load(io.BytesIO(archive.read(info)), allow_pickle=False)
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            detectors = {}
            for info in archive.infolist():
                if info.filename.endswith(".paribus"):
                    detectors[info.filename[:-8]] = _load(archive.read(info))
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError, EOFError) as error:
        raise ValueError(f"{name} is not a checkpoint, or it is damaged ({error})") from None
    return Checkpoint(fields, arrays, detectors)


def _load(model: bytes) -> ConditionalSurprise:
    with TemporaryDirectory() as folder:
        (Path(folder) / "model.paribus").write_bytes(model)
        found = load(Path(folder) / "model.paribus")
        if not isinstance(found, ConditionalSurprise):
            raise ValueError("the checkpoint holds a detector other than ConditionalSurprise")
        # A model read from a file may be mapped: everything is copied into memory before the file is removed.
        found.view()
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item() if not isinstance(value, np.datetime64) else {"moment": str(value)}
    if isinstance(value, datetime | date):
        return {"moment": value.isoformat()}
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    raise TypeError(f"a {type(value).__name__} cannot be part of a checkpoint")


def _restored(value: Mapping[str, Any]) -> Any:
    if value.keys() == {"moment"}:
        return datetime.fromisoformat(value["moment"])
    if value.keys() == {"seconds"}:
        return timedelta(seconds=value["seconds"])
    return value
