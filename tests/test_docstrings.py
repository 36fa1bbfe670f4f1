"""The docstrings of everything public: parameters, results and an example, which runs as a doctest."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

MODULES = (
    "paribus",
    "paribus.baselines",
    "paribus.dask",
    "paribus.datasets",
    "paribus.evaluation",
    "paribus.pictures.matplotlib",
    "paribus.spark",
)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the public modules, and the methods of their classes, also those that these inherit."""
    found: dict[Callable[..., Any], str] = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                found.setdefault(value, f"{module.__name__}.{name}")
            for member in dir(value) if inspect.isclass(value) else ():
                method = inspect.unwrap(getattr(value, member))
                method = getattr(method, "__func__", method)
                is_own = str(getattr(method, "__module__", "")).startswith("paribus.")
                if not member.startswith("_") and inspect.isfunction(method) and is_own:
                    found.setdefault(method, f"{module.__name__}.{name}.{member}")
    return ((name, function) for function, name in found.items())


def missing_parts(function: Callable[..., Any]) -> list[str]:
    """What the docstring of a function lacks."""
    text = inspect.getdoc(function) or ""
    sections = dict(re.findall(r"^(Parameters|Returns|Examples)\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}|\Z)", text, re.M | re.S))
    signature = inspect.signature(function)
    missing = [
        name
        for name in signature.parameters
        if name not in ("self", "cls") and not re.search(rf"^[*\w, ]*\b{name}\b", sections.get("Parameters", ""), re.M)
    ]
    if signature.return_annotation not in ("None", None) and "Returns" not in sections:
        missing.append("Returns")
    if ">>> " not in sections.get("Examples", ""):
        missing.append("Examples")
    return missing


def test_docstrings_are_complete() -> None:
    """Tests that each parameter is described, and the result, and that there is an example."""
    missing = {name: missing_parts(function) for name, function in public_functions()}
    assert len(missing) > 50
    assert {name: parts for name, parts in missing.items() if parts} == {}


def test_what_a_docstring_lacks_is_noticed() -> None:
    """Tests that the check finds a parameter, a result and an example that are missing."""

    def incomplete(first: int, second: int) -> int:
        """Adds.

        Parameters
        ----------
        first : int
            A number.
        """
        return first + second

    assert missing_parts(incomplete) == ["second", "Returns", "Examples"]
