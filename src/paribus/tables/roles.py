"""The roles of columns: contextual, behavioral, categorical."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paribus.tables.column import Kind, is_missing
from paribus.tables.table import ColumnKey, Columns, Contexts, Table, nearest_name

MAX_CONTEXTUAL = 65_535  # columns


@dataclass(frozen=True)
class Roles:
    """The positions of the columns in each role."""

    contextual: list[int]
    behavioral: list[int]
    categorical: frozenset[int]
    """The columns that hold categories."""
    by_name: bool
    """Whether all roles were given by name, so that later tables may have their columns in any order."""
    contexts: list[list[int]] | None = None
    """Of each behavioral column: where its own context is in `contextual`; None if that is all of it."""


def assign_context(
    table: Table, contextual: Contexts | None, categorical: Columns | None, behavioral: Columns | None = None
) -> tuple[list[int], frozenset[int]]:
    """The contextual columns (all if `contextual` is None), and which of them are categorical.

    `behavioral` has columns that may be named categorical, too.
    """
    if isinstance(contextual, Mapping):
        raise TypeError(
            "contextual has a context for each behavior, which is for ConditionalSurprise: give one list of columns"
        )
    if table.n_columns == 0:
        raise ValueError(f"Found 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 2 is required.")
    context = list(range(table.n_columns)) if contextual is None else _positions(table, contextual, "contextual")
    if not context:
        raise ValueError("no contextual column is named: give at least one, as in contextual=['age']")
    named = _positions(table, categorical, "categorical") if categorical is not None else []
    judged = [] if behavioral is None else _positions(table, behavioral, "behavioral")
    stray = [p for p in named if p not in context and p not in judged]
    if stray:
        roles = "contextual" if behavioral is None else "contextual or behavioral"
        raise ValueError(
            f"column {table.label(stray[0])} is named categorical but is not {roles}: "
            f"only {roles} columns can be categorical"
        )
    kinds = {p: Kind.CATEGORICAL if p in named else table.kind(p) for p in context}
    for p, kind in kinds.items():
        if kind is Kind.UNUSABLE:
            raise TypeError(
                f"contextual column {table.label(p)} cannot be used: each argument must be a string or a number, "
                f"all of one kind, and it holds {_kinds_of_values(table, p)}"
            )
    if len(context) > MAX_CONTEXTUAL:
        raise ValueError(f"{len(context):,} contextual columns are more than the {MAX_CONTEXTUAL:,} there can be")
    return context, frozenset(p for p, kind in kinds.items() if kind is Kind.CATEGORICAL)


def assign_roles(
    table: Table,
    contextual: Contexts,
    behavioral: Columns | None,
    categorical: Columns | None,
    *,
    judges_categories: bool = False,
) -> Roles:
    """Finds the columns of each role, and raises an error if one of them cannot be used.

    `judges_categories` says whether behavior may be categorical, and have a context for each.
    """
    if judges_categories and isinstance(contextual, Mapping):
        return _assign_contexts(table, contextual, behavioral, categorical)
    if contextual is None:
        raise ValueError("no contextual column is named: give at least one, as in contextual=['age']")
    context, categories = assign_context(table, contextual, categorical, behavioral if judges_categories else None)
    if behavioral is None:
        others = [p for p in range(table.n_columns) if p not in context]
        behavior = [p for p in others if table.kind(p) is Kind.NUMERIC and (table.n_rows == 0 or table.has_values(p))]
        if not behavior:
            raise ValueError(
                f"no numeric column is left to be behavioral: the table has {table.n_columns} feature(s), "
                f"and {len(context)} of them are contextual"
            )
    else:
        behavior = _positions(table, behavioral, "behavioral")
        if not behavior:
            raise ValueError("no behavioral column is named: give at least one, or None for all other numeric columns")
    both = [p for p in behavior if p in context]
    if both:
        raise ValueError(
            f"column {table.label(both[0])} is named both contextual and behavioral: it can only be one of them"
        )
    named = [] if categorical is None else _positions(table, categorical, "categorical")
    for p in behavior:
        is_category = table.kind(p) is Kind.CATEGORICAL or p in named
        if is_category and judges_categories:
            categories |= {p}
        elif table.kind(p) is not Kind.NUMERIC:
            ways = "convert it, or use it as a contextual column"
            if is_category:
                ways += ", or judge it with ConditionalSurprise"
            raise TypeError(f"behavioral column {table.label(p)} does not hold numbers{_first_text(table, p)}: {ways}")
    keys = [
        key for columns in (contextual, behavioral, categorical) if columns is not None for key in _as_list(columns)
    ]
    return Roles(
        context,
        behavior,
        categories,
        by_name=table.names is not None and all(isinstance(key, str) for key in keys),
    )


def _assign_contexts(
    table: Table, contextual: Mapping[Any, Columns], behavioral: Columns | None, categorical: Columns | None
) -> Roles:
    """The roles where each behavioral column has a context of its own."""
    if not contextual:
        raise ValueError("contextual names no behavior: give columns, as in contextual={'rain': ['month']}")
    chosen = list(contextual) if behavioral is None else _as_list(behavioral)
    own = dict(zip(_positions(table, list(contextual), "behavioral"), contextual.values(), strict=True))
    behavior = _positions(table, chosen, "behavioral")
    if without := [p for p in behavior if p not in own]:
        raise ValueError(f"behavioral column {table.label(without[0])} has no context: add it to contextual")
    if stray := [p for p in own if p not in behavior]:
        raise ValueError(f"column {table.label(stray[0])} has a context and is not behavioral: add it to behavioral")
    contexts = {p: _positions(table, columns, "contextual") for p, columns in own.items()}
    for p, columns in contexts.items():
        if not columns:
            raise ValueError(f"behavioral column {table.label(p)} has no contextual column: name at least one")
    # In the order in which they are first named.
    keys = list(dict.fromkeys(key for p in behavior for key in _as_list(own[p])))
    union = [_positions(table, [key], "contextual")[0] for key in keys]
    distinct = {position: key for key, position in zip(keys[::-1], union[::-1], strict=True)}
    roles = assign_roles(
        table, [distinct[p] for p in dict.fromkeys(union)], chosen, categorical, judges_categories=True
    )
    places = {position: place for place, position in enumerate(roles.contextual)}
    found = [[places[each] for each in contexts[p]] for p in roles.behavioral]
    everything = list(range(len(roles.contextual)))
    return replace(roles, contexts=None if all(sorted(each) == everything for each in found) else found)


def column_keys(columns: Iterable[Contexts | None]) -> list[ColumnKey]:
    """The names and positions by which columns are given.

    >>> column_keys([{"rain": ["month", "zone"]}, None, "rain"])
    ['rain', 'month', 'zone', 'rain']
    """
    found: list[ColumnKey] = []
    for each in columns:
        if isinstance(each, Mapping):
            found += [*each, *(key for own in each.values() for key in _as_list(own))]
        elif each is not None:
            found += _as_list(each)
    return found


def find_columns(table: Table, names: Iterable[str]) -> list[int]:
    """The positions of the columns that the detector was fitted with."""
    if table.names is None:
        raise ValueError("the detector was fitted by column names, and this table has none: pass a dataframe")
    positions = []
    for name in names:
        if name not in table.names:
            raise ValueError(f"column '{name}' was there at fit and is missing here{nearest_name(name, table.names)}")
        positions.append(table.names.index(name))
    return positions


def require_columns(table: Table, names: list[str]) -> None:
    """Raises an error if a table does not have exactly these columns, in this order."""
    if table.names != names:
        raise ValueError(f"the columns must be those of the fit, in the same order: {', '.join(names) or 'no names'}")


def find_like(table: Table, fitted: Table, positions: list[int]) -> list[int]:
    """The columns that correspond to columns of the fitted table: by name if both tables have names."""
    if table.names is not None and fitted.names is not None:
        return find_columns(table, [fitted.names[p] for p in positions])
    if table.n_columns != fitted.n_columns:
        raise ValueError(
            f"the rows have {table.n_columns} columns, and the table they are compared with {fitted.n_columns}"
        )
    return positions


def _as_list(columns: Contexts) -> list[Any]:
    if isinstance(columns, str | int | np.integer):
        return [columns]
    # An iterator would be exhausted at the next fit.
    if not isinstance(columns, Iterable) or isinstance(columns, Iterator):
        raise TypeError(f"columns are given as a list of names or positions, not as {type(columns).__name__}")
    return list(columns)


def _positions(table: Table, columns: Columns, role: str) -> list[int]:
    positions: list[int] = []
    for key in _as_list(columns):
        if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
            raise TypeError(f"{role} columns are named by text or by position, not by {type(key).__name__} ({key!r})")
        if isinstance(key, str):
            if table.names is None:
                raise ValueError(
                    f"{role} column '{key}' is given by name, and the table has no column names: "
                    "give its position, counted from 0, or pass a dataframe"
                )
            if key not in table.names:
                raise ValueError(f"{role} column '{key}' is not in the table{nearest_name(key, table.names)}")
            position = table.names.index(key)
        else:
            position = int(key)
            if not 0 <= position < table.n_columns:
                raise ValueError(
                    f"{role} column {position} is not in the table, "
                    f"which has {table.n_columns} columns, 0 to {table.n_columns - 1}"
                )
        if position in positions:
            raise ValueError(f"column {table.label(position)} is named twice among the {role} columns")
        positions.append(position)
    return positions


def _first_text(table: Table, position: int) -> str:
    if table.kind(position) is Kind.TIME:
        return " but timestamps"
    if table.kind(position) is Kind.UNUSABLE:
        return f" but {_kinds_of_values(table, position)}"
    values = (value for value in table.categories(position) if value is not None)
    first = next(values, None)
    return "" if first is None else f" (the first value is {str(first)[:40]!r})"


def _kinds_of_values(table: Table, position: int) -> str:
    types = sorted({type(value).__name__ for value in table.cells(position) if not is_missing(value)})
    return " and ".join(types[:4])
