"""Groups of options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

Command = TypeVar("Command", bound=Callable[..., Any])


def takes(**groups: Callable[..., Any]) -> Callable[[Command], Callable[..., Any]]:
    """Replaces parameters of a command by groups of options.

    A group is a function whose parameters are options, and whose result is passed to the command.

    >>> def place(x: int = 0, y: int = 0) -> tuple[int, int]:
    ...     return x, y
    >>> @takes(at=place)
    ... def show(at: tuple[int, int], name: str = "here") -> str:
    ...     return f"{name} {at}"
    >>> show(x=1, y=2, name="there")
    'there (1, 2)'
    """

    def decorate(command: Command) -> Callable[..., Any]:
        own = _parameters(command)
        merged: list[inspect.Parameter] = []
        for parameter in own:
            merged += _parameters(groups[parameter.name]) if parameter.name in groups else [parameter]
        shares = {name: [each.name for each in _parameters(group)] for name, group in groups.items()}

        @functools.wraps(command)
        def run(**given: Any) -> Any:
            values = {
                name: group(**{each: given.pop(each) for each in shares[name] if each in given})
                for name, group in groups.items()
            }
            return command(**values, **given)

        run.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
        # Otherwise typer would read the signature of the original command.
        del run.__wrapped__
        return run

    return decorate


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function as keyword-only ones, so that those with a default may come first."""
    hints = get_type_hints(function, include_extras=True)
    return [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(function).parameters.values()
    ]
