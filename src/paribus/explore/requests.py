"""Parses requests: a value of the wrong type is an error in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

MAX_TEXT = 20_000


def text(fields: Mapping[str, Any], name: str, otherwise: str | None = None) -> str:
    """A text.

    >>> text({"rule": "z = 0"}, "rule")
    'z = 0'
    """
    value = fields.get(name, otherwise)
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ValueError(f"{name} must be a text")
    return value


def choice(fields: Mapping[str, Any], name: str, choices: Sequence[str], otherwise: str | None = None) -> str:
    """One of several texts; the first one by default."""
    value = fields.get(name, choices[0] if otherwise is None else otherwise)
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(filter(None, choices))}")
    return str(value)


def number(fields: Mapping[str, Any], name: str, otherwise: float | None = None) -> float:
    """A finite number.

    >>> number({"n": "many"}, "n")
    Traceback (most recent call last):
    ...
    ValueError: n must be a number
    """
    value = fields.get(name, otherwise)
    # Whole numbers of any length are compared exactly; NaN is not below the limit.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
        raise ValueError(f"{name} must be a number")
    return value


def optional_number(fields: Mapping[str, Any], name: str) -> float | None:
    """A finite number, or None."""
    return None if fields.get(name) is None else float(number(fields, name))


def plain_json(value: Any) -> Any:
    """A value without numbers that JSON does not have.

    >>> plain_json({"a": [1.0, float("nan")]})
    {'a': [1.0, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(each) for each in value]
    return value
