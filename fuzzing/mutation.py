"""Changes of inputs: bits, bytes, numbers, words, tokens, values in JSON, pieces that are cut, doubled or spliced."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from random import Random
from typing import Any

COMMON = (
    b"\x00",
    b"\xff",
    b"\n",
    b"\r\n",
    b'"',
    b",",
    b";",
    b"\t",
    b"-1",
    b"0",
    b"1e999",
    b"nan",
    b"4294967296",
    b"\xef\xbb\xbf",
)
# Values that programs that read JSON seldom expect.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, float("inf"), float("nan"), 2**31, 2**53 + 1, 2**64, -(2**63),
    10**400, "", "0", "x", "\x00", "\ud800", "=1+1", "2026-01-31", "x" * 3_000, [], {}, [[]], [None], {"": 1},
)  # fmt: skip
MAX_SIZE = 20_000
WORD = re.compile(rb"[\w.+-]+")


def mutated(random: Random, seeds: list[bytes], tokens: tuple[bytes, ...]) -> bytes:
    """A seed with a few changes."""
    seed = random.choice(seeds)
    data = bytearray(seed)
    if b"{" in seed and random.random() < 0.4:
        data = _changed_json(random, data)
        if random.random() < 0.7:
            return bytes(data)
    for _ in range(1 + int(random.expovariate(1.5))):
        _change(random, data, seeds, tokens or COMMON)
    return bytes(data[: max(MAX_SIZE, len(seed))])


def _changed_json(random: Random, data: bytearray) -> bytearray:
    """Changes values of the JSON in one line, or in all lines, after whatever comes before it."""
    start = data.find(b"\n", random.randrange(len(data))) + 1
    start = data.find(b"{", start if random.random() < 0.5 else 0)
    for end in (data.find(b"\n", start), len(data)):
        try:
            found = json.loads(data[start:end])
        except ValueError:
            continue
        for _ in range(1 + int(random.expovariate(1.0))):
            found = _changed_value(random, found)
        return data[:start] + json.dumps(found).encode() + data[end:]
    return data


def _changed_value(random: Random, value: Any) -> Any:
    """The value, with one value somewhere inside of it replaced, left out, doubled or moved."""
    if not isinstance(value, list | dict) or not value or random.random() < 0.1:
        return deepcopy(random.choice(ODD_VALUES))
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key, other = random.choice(keys), random.choice(keys)
    kind = random.randrange(8)
    if kind == 0:
        del value[key]
    elif kind == 1:
        value[key] = deepcopy(value[other])
    elif kind == 2 and isinstance(value, list):
        value.insert(key, deepcopy(value[other]))
    elif kind == 3 and isinstance(value, dict):
        value[random.choice(("", "x", "a b", f"{key}2"))] = value.pop(key)
    else:
        value[key] = _changed_value(random, value[key])
    return value


def _change(random: Random, data: bytearray, seeds: list[bytes], tokens: tuple[bytes, ...]) -> None:
    size = len(data)
    place = random.randrange(size + 1)
    end = min(size, place + int(random.expovariate(0.1)) + 1)
    kind = random.randrange(10)
    if kind == 0 and size:
        data[min(place, size - 1)] ^= 1 << random.randrange(8)
    elif kind == 1 and size:
        data[min(place, size - 1)] = random.randrange(256)
    elif kind == 2:
        data[place:place] = random.choice(tokens if random.random() < 0.7 else COMMON)
    elif kind == 3:
        data[place:end] = random.choice(tokens)
    elif kind == 4:
        del data[place:end]
    elif kind == 5:
        data[place:place] = data[place:end] * random.randrange(1, 8)
    elif kind == 6:
        other = random.choice(seeds)
        start = random.randrange(len(other) + 1)
        data[place:] = other[start : start + 400]
    elif kind == 7:
        del data[place:]
    elif kind == 8:
        # A word becomes another one, which leaves the structure as it is.
        found = WORD.search(data, place) or WORD.search(data)
        if found is not None:
            words = WORD.findall(random.choice(seeds))
            data[found.start() : found.end()] = random.choice(words if words and random.random() < 0.5 else tokens)
    else:
        width = random.choice((2, 4, 8))
        data[place : place + width] = random.choice((0, 1, 127, 2**15, 2**31 - 1, 2**31, 2**32 - 1)).to_bytes(
            8, "little"
        )[:width]
