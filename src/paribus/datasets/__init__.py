"""Data to try things on."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Dataset:
    """A table and the roles of its columns."""

    table: dict[str, list[str | float]]
    contextual: list[str]
    behavioral: list[str]
    description: str


def load(name: str) -> Dataset:
    """A data set by its name.

    Examples
    --------
    >>> cities = load("cities")
    >>> len(cities.table["City"]), cities.behavioral
    (16, ['Temperature', 'Rain', 'Wind'])
    """
    if name != "cities":
        raise ValueError(f"there is no data set '{name}': the bundled one is 'cities'")
    with files("paribus.datasets").joinpath("cities.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    text = {"City", "Season"}
    return Dataset(
        table={key: [row[key] if key in text else float(row[key]) for row in rows] for key in rows[0]},
        contextual=["Latitude", "Longitude", "Season"],
        behavioral=["Temperature", "Rain", "Wind"],
        description="Fictional climate of 16 Dutch cities: table 1 of Li and van Leeuwen (2023).",
    )
