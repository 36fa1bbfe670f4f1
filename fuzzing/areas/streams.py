"""Streams: lines that are watched, and checkpoints that a watch goes on from."""

from __future__ import annotations

import io
import json
from datetime import datetime
from functools import cache

import numpy as np

from fuzzing.area import REFUSED, Area, as_file, expect, scratch, sentence
from paribus import ConditionalSurprise, Monitor
from paribus.stream.watching import Wanted, Watch
from tests.support.models import members_of, npy, write_members

FIELDS, MODEL = "fields.npy", "model_"
ROW = {"x": 0.5, "kind": "a", "when": datetime(2026, 1, 31, 12), "y": 1.0}
LINES = [
    b'{"x": 1.5, "kind": "a", "when": "2026-01-31", "y": 3}\n{"x": null, "kind": "b", "when": 5, "y": -1}\n',
    b'{"x": "1e3", "kind": null, "when": "2026-01-31T14:30:00Z", "y": true, "z": [{}]}\n[1]\n\n',
    b"x;kind;when;y\n1.5;a;2026-01-31 14:30;2\n;b;;-1e300\n",
    b'\xef\xbb\xbfx,kind,when,y\n"1",a,2026-01-31,"2"\n1,2\n',
]
TOKENS = (
    b'{"x": 1, "kind": "a", "when": "2026-01-31", "y": 1}\n', b"{", b"}", b"[" * 3_000, b'"', b"\n", b"\r", b"NaN",
    b"-Infinity", b"1e999", b"9" * 5_000, b"\\ud800", b"x;kind", b"\x00", b"0001-01-01", b"9999-12-31T23:59:59-12:00",
)  # fmt: skip


@cache
def monitor() -> Monitor:
    """A small monitor that has seen some rows and does not learn, so that all inputs meet the same one."""
    random = np.random.default_rng(0)
    x = random.normal(size=60)
    days = np.datetime64("2026-01-01") + np.arange(60)
    table = {"x": x, "kind": random.choice(np.array(["a", "b"]), 60), "when": days, "y": x + random.normal(size=60)}
    detector = ConditionalSurprise(["x", "kind", "when"], ["y"], n_trees=4, n_jobs=1).fit(table)
    found = Monitor(detector, learn=False, window=256, fdr_period=50)
    found.update_many({name: values[:20] for name, values in table.items()})
    return found


@cache
def checkpoint() -> bytes:
    """A checkpoint of it."""
    path = scratch() / "seed.state"
    monitor().save(path, extra={"offset": 12, "written": 5, "header": None, "keys": [1, "x"]})
    return path.read_bytes()


def check_lines(data: bytes) -> bool:
    """Tests that broken lines are reported, and that all others have a verdict with numbers."""
    out = scratch() / "verdicts.jsonl"
    out.write_bytes(b"")
    wanted = Wanted(str(as_file(data, "lines.txt")), out=out, as_json=True, key="x" if sum(data) % 3 == 0 else None)
    notes: list[str] = []
    try:
        watch = Watch(monitor(), wanted, notes.append)
        watch.run()
    except REFUSED as error:
        sentence(error)
        return False
    expect(all(notes), "a note is empty")
    verdicts = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    for verdict in verdicts:
        expect(verdict["score"] is None or np.isfinite(verdict["score"]), f"the score is {verdict['score']}")
    n_lines = data.count(b"\n") + 1
    expect(len(verdicts) + watch.counts.n_broken <= n_lines, "more verdicts than lines")
    return bool(verdicts)


def check_checkpoint(data: bytes) -> bool:
    """Tests that a checkpoint is refused in one sentence, or goes on with scores that are numbers."""
    path = as_file(data, "watch.state")
    try:
        found = Monitor.load(path)
        score = found.score_one(ROW)
        found.update_one(ROW)
        # What the command takes from it.
        Watch(found, Wanted(str(as_file(b"", "lines.txt")), out=scratch() / "cut.jsonl"), lambda _: None).run()
        found.save(path)
    except REFUSED as error:
        sentence(error)
        return False
    expect(np.isfinite(score), f"the score is {score}")
    return True


def part_seeds() -> list[bytes]:
    """One part of a checkpoint each: its name and its content."""
    return [
        name.encode() + b"\n" + (content if name != FIELDS else _content(content))
        for name, content in members_of(checkpoint()).items()
        if not name.startswith(MODEL)
    ]


def _content(part: bytes) -> bytes:
    """The bytes of an array."""
    return bytes(np.load(io.BytesIO(part)))


def check_part(data: bytes) -> bool:
    """Tests a checkpoint of which one part was changed, with checksums that fit."""
    name, _, content = data.partition(b"\n")
    parts = members_of(checkpoint())
    found = name.decode("latin-1")
    if found not in parts or found == FIELDS:
        parts[FIELDS] = npy(np.frombuffer(content, dtype=np.uint8))
    else:
        parts[found] = content
    path = scratch() / "part.state"
    write_members(path, parts)
    return check_checkpoint(path.read_bytes())


AREAS = [
    Area("watched lines", lambda: LINES, check_lines, 0.02, TOKENS, "broken lines reported, scores that are numbers"),
    Area("checkpoints", lambda: [checkpoint()], check_checkpoint, 0.005, (), "refused, or scores that are numbers"),
    Area("parts of checkpoints", part_seeds, check_part, 0.006, (), "refused, or scores that are numbers"),
]
