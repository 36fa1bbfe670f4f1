"""Checkpoints of a monitor: one file, written completely or not at all, without pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.atomic_files import AnyPath, atomic_write
from paribus._common.text import clipped
from paribus._common.untrusted import DamagedError
from paribus.detectors.load import load
from paribus.detectors.surprise import ConditionalSurprise
from paribus.persistence.archive import ForeignError, read_archive, verified, write_archive

FORMAT, VERSION, WHAT = "paribus checkpoint", 5, "a checkpoint of a monitor"
# Names of parts.
FIELDS, MODEL = "fields", "model_"


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
    parts = dict(checkpoint.arrays)
    # Not in the header of the archive, whose size is limited.
    parts[FIELDS] = np.frombuffer(json.dumps(checkpoint.fields, default=_plain).encode(), dtype=np.uint8)
    for name, detector in checkpoint.detectors.items():
        parts[MODEL + name] = np.frombuffer(stored.of(name, detector), dtype=np.uint8)
    with atomic_write(path) as file:
        write_archive(file, {"format": FORMAT, "version": VERSION}, parts, lambda _: False)


def read_checkpoint(path: AnyPath) -> Checkpoint:
    """Reads a checkpoint. Raises a ValueError if it is not a checkpoint, or damaged."""
    path = Path(path)
    header, arrays, _ = read_archive(path, WHAT)
    if header.get("format") != FORMAT:
        raise ForeignError(f"{path.name} is not {WHAT}")
    if header.get("version") != VERSION:
        raise ValueError(f"{path.name} was written by another version of paribus: start again without it")
    with damage_explained(path):
        stored = verified(header, arrays)
        stored.verify_all()
        fields = json.loads(stored[FIELDS].tobytes(), object_hook=_restored)
        others = {name: array for name, array in stored.items() if name != FIELDS and not name.startswith(MODEL)}
        models = [name for name in stored if name.startswith(MODEL)]
        return Checkpoint(fields, others, {name[len(MODEL) :]: _load(stored[name].tobytes()) for name in models})


@contextmanager
def damage_explained(path: AnyPath) -> Iterator[None]:
    """Turns errors about what a file holds into one sentence."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = clipped(str(error) or type(error).__name__, 200)
        raise DamagedError(f"{Path(path).name} is not {WHAT}, or it is damaged ({reason})") from None


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
    if isinstance(value, np.datetime64 | datetime) and value != value:
        # A missing timestamp of NumPy or pandas.
        return None
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
