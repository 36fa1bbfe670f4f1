"""Data sets for examples and experiments.

>>> from paribus import datasets
>>> datasets.names()[:6]
['cities', 'weather', 'football', 'weight-height', 'Abalone', 'AirFoil']
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files

from paribus.datasets import weather
from paribus.datasets.catalog import Dataset, Summary, paper_sets, read_columns
from paribus.datasets.download import fetch
from paribus.datasets.injection import inject
from paribus.datasets.synthetic import SYNTHETIC_SETS, load_synthetic, synthetic

__all__ = ["Dataset", "Summary", "inject", "load", "names", "summaries", "synthetic"]

BUNDLED = {
    "cities": Summary(
        name="cities",
        n_rows=16,
        contextual=["Latitude", "Longitude", "Season"],
        behavioral=["Temperature", "Rain", "Wind"],
        categorical=["Season"],
        n_anomalies=None,
        description="Fictional climate of 16 Dutch cities: table 1 of Li and van Leeuwen (2023).",
    ),
    "weather": Summary(
        name="weather",
        n_rows=weather.N_DAYS,
        contextual=["month", "elevation", "zone"],
        behavioral=["temperature", "rain", "wind"],
        categorical=["month", "zone"],
        n_anomalies=None,
        description="2,000 days of weather in a fictional mountain country, five of them unusual in their context.",
    ),
}


def names() -> list[str]:
    """The names of all data sets.

    Returns
    -------
    list of str

    Examples
    --------
    >>> names()[:2]
    ['cities', 'weather']
    """
    return [summary.name for summary in summaries()]


def summaries() -> list[Summary]:
    """Summaries of all data sets, without reading them.

    Returns
    -------
    list of Summary

    Examples
    --------
    >>> summaries()[0].n_rows
    16
    """
    return [*BUNDLED.values(), *(summary for summary, _ in paper_sets().values()), *SYNTHETIC_SETS.values()]


def load(name: str, *, seed: int | None = None) -> Dataset:
    """Loads a data set.

    "cities" and "weather" come with the package, Syn1 to Syn10 are generated. The others are public files of the
    paper's authors, which are downloaded on first use (pip install 'paribus[data]') or read from the folder that the
    environment variable PARIBUS_DATA names.

    Parameters
    ----------
    name : str
        One of `names()`, in upper or lower case.
    seed : int, optional
        The seed of a generated data set, for another draw than the default.

    Returns
    -------
    Dataset
        The table, and the roles of its columns.

    Examples
    --------
    >>> cities = load("cities")
    >>> len(cities.table["City"]), cities.behavioral
    (16, ['Temperature', 'Rain', 'Wind'])
    >>> load("Syn2").contextual, load("Syn2").n_anomalies
    (['c1', 'c2', 'c3', 'c4', 'c5'], 50)
    """
    name = _resolve(name)
    if name in SYNTHETIC_SETS:
        return load_synthetic(name, seed)
    if seed is not None:
        raise ValueError(f"'{name}' is not generated and takes no seed: only Syn1 to Syn10 do")
    if name == "cities":
        lines = files("paribus.datasets").joinpath("cities.csv").read_text(encoding="utf-8").splitlines()
        return Dataset.of(BUNDLED[name], read_columns(lines))
    if name == "weather":
        return Dataset.of(BUNDLED[name], weather.generate())
    summary, file = paper_sets()[name]
    with fetch(file.path, file.sha256).open(encoding="utf-8", newline="") as stream:
        return Dataset.of(summary, read_columns(stream, file.columns, file.only))


def _resolve(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}: it must be the name of a data set")
    known = {each.lower(): each for each in names()}
    if name.lower() not in known:
        close = get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean '{known[close[0]]}'?" if close else f"choose one of {', '.join(known.values())}"
        raise ValueError(f"there is no data set '{name}': {hint}")
    return known[name.lower()]
