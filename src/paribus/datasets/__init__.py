"""Data to try things on."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

from paribus.datasets import weather


@dataclass(frozen=True)
class Dataset:
    """A table and the roles of its columns."""

    table: dict[str, list[str | float]]
    contextual: list[str]
    behavioral: list[str]
    description: str


def load(name: str) -> Dataset:
    """A data set by its name: "cities" or "weather".

    Examples
    --------
    >>> cities = load("cities")
    >>> len(cities.table["City"]), cities.behavioral
    (16, ['Temperature', 'Rain', 'Wind'])
    """
    if name == "cities":
        return Dataset(
            table=_read_cities(),
            contextual=["Latitude", "Longitude", "Season"],
            behavioral=["Temperature", "Rain", "Wind"],
            description="Fictional climate of 16 Dutch cities: table 1 of Li and van Leeuwen (2023).",
        )
    if name == "weather":
        return Dataset(
            table=weather.generate(),
            contextual=["month", "elevation", "zone"],
            behavioral=["temperature", "rain", "wind"],
            description="2,000 days of weather in a made-up mountain country, five of them strange for their place.",
        )
    raise ValueError(f"there is no data set '{name}': choose 'cities' or 'weather'")


def _read_cities() -> dict[str, list[str | float]]:
    text = files("paribus.datasets").joinpath("cities.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    words = {"City", "Season"}
    return {key: [row[key] if key in words else float(row[key]) for row in rows] for key in rows[0]}
