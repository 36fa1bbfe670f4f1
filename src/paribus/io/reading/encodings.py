"""Encodings that can be recognized by the first bytes of a text."""

from __future__ import annotations

import codecs

_MARKS = [
    (codecs.BOM_UTF8, "utf-8-sig"),
    # Before UTF-16, whose byte order mark is a prefix of it.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]


def evident_encoding(head: bytes) -> str | None:
    """The encoding of text that starts with a byte order mark, or has two bytes per character; None for other text.

    >>> evident_encoding(b"a,b"), evident_encoding("a,b".encode("utf-16-le"))
    (None, 'utf-16-le')
    """
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None) or _wide(head)


def _wide(head: bytes) -> str | None:
    """Recognizes UTF-16 without a byte order mark: every other byte of Western text is zero."""
    sample = head[: len(head) & ~1]
    if not sample:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) < 0.4 * len(sample) / 2:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"
