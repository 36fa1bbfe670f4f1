"""The catalog of data sets, and how they are read."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

ColumnsByName: TypeAlias = dict[str, list[Any]]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The description of a data set, which is available without reading it."""

    name: str
    n_rows: int
    contextual: list[str]
    """The contextual columns."""
    behavioral: list[str]
    """The behavioral columns, which are numeric."""
    categorical: list[str]
    """The categorical columns among the contextual ones, including those coded as numbers."""
    n_anomalies: int | None
    """The number of anomalies that the paper injects; None if it injects none."""
    description: str
    notes: str = ""
    """Where the paper and the public file differ, or where they leave a choice."""


@dataclass(frozen=True, kw_only=True)
class Dataset(Summary):
    """A table and the roles of its columns."""

    table: ColumnsByName = field(repr=False)

    @classmethod
    def of(cls, summary: Summary, table: ColumnsByName) -> Dataset:
        """Combines a summary and a table. The lists are copied, so that changes to them do not affect the catalog.

        Parameters
        ----------
        summary : Summary
            The description.
        table : dict of columns
            The table.

        Returns
        -------
        Dataset
            Both together.

        Examples
        --------
        >>> from paribus import datasets
        >>> summary = datasets.summaries()[0]
        >>> Dataset.of(summary, {"City": ["Utrecht"]}).table
        {'City': ['Utrecht']}
        """
        return cls(table=table, **deepcopy(vars(summary)))


@dataclass(frozen=True)
class PublicFile:
    """A file of the paper's authors, and the part of it that makes up the data set."""

    path: str
    sha256: str
    columns: list[str]
    only: tuple[str, str] | None
    """A column and the value that a row must have in it; None for all rows."""


@cache
def paper_sets() -> dict[str, tuple[Summary, PublicFile]]:
    """The paper's real-world data sets, by name."""
    text = files("paribus.datasets").joinpath("paper.toml").read_text(encoding="utf-8")
    return {entry["name"]: _read_entry(entry) for entry in tomllib.loads(text)["set"]}


def read_columns(
    lines: Iterable[str], names: list[str] | None = None, only: tuple[str, str] | None = None
) -> ColumnsByName:
    """Reads the columns of a CSV file: integers, floats, or text if a value is neither."""
    rows = [row for row in csv.DictReader(lines) if only is None or row[only[0]] == only[1]]
    return {name: _as_numbers([row[name] for row in rows]) for name in names or rows[0]}


def _as_numbers(texts: list[str]) -> list[Any]:
    for number in (int, float):
        try:
            return [number(text) for text in texts]
        except ValueError:
            continue
    return list(texts)


def _read_entry(entry: dict[str, Any]) -> tuple[Summary, PublicFile]:
    file, sha256 = entry.pop("file"), entry.pop("sha256")
    extra, only = entry.pop("extra", []), entry.pop("only", None)
    summary = Summary(n_anomalies=entry.pop("n_anomalies", None), **entry)
    columns = extra + summary.contextual + summary.behavioral
    return summary, PublicFile(file, sha256, columns, (only["column"], only["value"]) if only else None)
