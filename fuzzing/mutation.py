"""Changes of inputs: bits, bytes, numbers, tokens, and pieces that are cut, doubled, moved or spliced."""

from __future__ import annotations

from random import Random

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
MAX_SIZE = 20_000


def mutated(random: Random, seeds: list[bytes], tokens: tuple[bytes, ...]) -> bytes:
    """A seed with a few changes."""
    data = bytearray(random.choice(seeds))
    for _ in range(1 + int(random.expovariate(1.5))):
        _change(random, data, seeds, tokens or COMMON)
    return bytes(data[:MAX_SIZE])


def _change(random: Random, data: bytearray, seeds: list[bytes], tokens: tuple[bytes, ...]) -> None:
    size = len(data)
    place = random.randrange(size + 1)
    end = min(size, place + int(random.expovariate(0.1)) + 1)
    kind = random.randrange(9)
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
    else:
        width = random.choice((2, 4, 8))
        data[place : place + width] = random.choice((0, 1, 127, 2**15, 2**31 - 1, 2**31, 2**32 - 1)).to_bytes(
            8, "little"
        )[:width]
