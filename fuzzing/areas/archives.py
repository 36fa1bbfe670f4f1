"""Model files: damaged ones, and ones that were changed by hand and sealed again, so that no checksum is in the way."""

from __future__ import annotations

import io
import zipfile
from functools import cache

import numpy as np

from fuzzing.area import REFUSED, Area, as_file, expect, scratch, sentence
from paribus import QCAD, ConditionalSurprise, load
from tests.support.models import members_of, sealed, wide_table
from tests.support.tables import BEHAVIOR, CONTEXT


@cache
def models() -> list[bytes]:
    """Small models of both detectors."""
    found = []
    table = wide_table(40).drop(columns=["when"])
    for detector in (
        QCAD([*CONTEXT, "weekend"], BEHAVIOR, n_trees=3, max_features=2, n_neighbors=8),
        ConditionalSurprise([*CONTEXT, "weekend"], BEHAVIOR, n_trees=3, max_features=2),
    ):
        detector.fit(table).save(scratch() / "seed.paribus")
        found.append((scratch() / "seed.paribus").read_bytes())
    return found


def check(data: bytes) -> bool:
    """Tests that a file is refused in one sentence, or gives scores that are numbers or missing."""
    path = as_file(data, "m.paribus")
    try:
        detector = load(path)
        scores = detector.set_params(n_jobs=1).anomaly_score(wide_table(40).drop(columns=["when"]).iloc[:3])
    except REFUSED as error:
        sentence(error)
        return False
    expect(scores.shape == (3,) and not np.isinf(scores).any(), f"scores {scores}")
    return True


def member_seeds() -> list[bytes]:
    """One part of a model each: the number of the model, the name of the part, and its content."""
    return [
        bytes([place]) + name.encode() + b"\n" + content
        for place, data in enumerate(models())
        for name, content in members_of(data).items()
        if len(content) < 20_000
    ]


def check_member(data: bytes) -> bool:
    """Tests a model of which one part was changed, with checksums that fit."""
    if not data:
        return False
    model = models()[data[0] % len(models())]
    name, _, content = data[1:].partition(b"\n")
    parts = members_of(model)
    found = name.decode("latin-1")
    parts = sealed(parts | {found if found in parts else "header.json": content})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for each, inside in parts.items():
            archive.writestr(each, inside)
    return check(stream.getvalue())


AREAS = [
    Area("model files", models, check, 0.02, (), "refused, or scores that are numbers"),
    Area("parts of models", member_seeds, check_member, 0.015, (), "refused, or scores that are numbers"),
]
