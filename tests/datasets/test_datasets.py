"""The catalog of data sets, compared with tables 2 and 3 of the paper."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from paribus import QCAD, datasets

# Table 3: numeric and categorical features, rows, anomalies, contextual and behavioral features.
TABLE_3 = {
    "Abalone": (8, 1, 4177, 100, 4, 5),
    "AirFoil": (6, 0, 1503, 70, 5, 1),
    "BodyFat": (15, 0, 252, 20, 13, 2),
    "Boston": (12, 2, 506, 40, 13, 1),
    "Concrete": (9, 0, 1030, 50, 8, 1),
    "ElNino": (3, 8, 20000, 200, 6, 5),
    "Energy": (10, 0, 768, 50, 8, 2),
    "FishWeight": (6, 1, 157, 15, 6, 1),
    "ForestFires": (11, 2, 517, 50, 4, 9),
    "GasEmission": (11, 0, 7384, 100, 8, 3),
    "HeartFailure": (7, 5, 299, 30, 6, 6),
    "Hepatitis": (11, 2, 615, 30, 3, 10),
    "LiverPatient": (9, 2, 579, 30, 3, 8),
    "Maintenance": (18, 0, 11934, 100, 15, 3),
    "Parkinson": (21, 1, 5875, 100, 20, 2),
    "PowerPlant": (5, 0, 9568, 100, 4, 1),
    "QSRanking": (12, 1, 475, 40, 7, 6),
    "SynMachine": (5, 0, 557, 50, 4, 1),
    "Toxicity": (7, 0, 908, 50, 6, 1),
    "Yacht": (7, 0, 308, 30, 6, 1),
}
# Where the public files or plain logic contradict the paper. The notes of these data sets mention it.
OTHERWISE = {
    "ElNino": (8, 3, 19000, 200, 6, 5),
    "FishWeight": (6, 1, 159, 15, 6, 1),
    "Hepatitis": (11, 2, 589, 30, 3, 10),
}
PUBLIC = [*TABLE_3, "football", "weight-height"]


def counts(data: datasets.Summary) -> tuple[int, int, int, int | None, int, int]:
    n_features = len(data.contextual) + len(data.behavioral)
    n_categories = len(data.categorical)
    return (
        n_features - n_categories,
        n_categories,
        data.n_rows,
        data.n_anomalies,
        len(data.contextual),
        len(data.behavioral),
    )


def summary(name: str) -> datasets.Summary:
    return next(each for each in datasets.summaries() if each.name == name)


def n_rows(table: dict[str, list[object]]) -> int:
    (length,) = {len(column) for column in table.values()}
    return length


@pytest.mark.parametrize("name", TABLE_3)
def test_real_sets_have_the_counts_of_table_3(name: str) -> None:
    """Tests the numbers of rows, features, roles and anomalies, and that differences from the paper are noted."""
    assert counts(summary(name)) == OTHERWISE.get(name, TABLE_3[name])
    if name in OTHERWISE:
        assert f"{TABLE_3[name][2]:,}" in summary(name).notes


@pytest.mark.parametrize("number", range(1, 11))
def test_synthetic_sets_have_the_counts_of_table_2(number: int) -> None:
    """Tests features and roles, 2,000 rows and 2.5 % of anomalies."""
    expected = (8, 2, 2000, 50, 5, 5) if number <= 5 else (19, 6, 2000, 50, 20, 5)
    data = datasets.load(f"Syn{number}")
    assert counts(data) == expected
    assert n_rows(data.table) == 2000
    assert f"scheme S{(number - 1) % 5 + 1}" in data.description


@pytest.mark.parametrize("name", PUBLIC)
def test_public_files_match_the_catalog(name: str, paper_data: Path) -> None:
    """Tests that each file is read completely and as numbers, and that it can be a pandas table."""
    data = datasets.load(name)
    assert n_rows(data.table) == data.n_rows
    extra = ["Name"] if name == "football" else []
    assert list(data.table) == extra + data.contextual + data.behavioral
    assert set(data.categorical) <= set(data.contextual)
    frame = pd.DataFrame(data.table)
    assert not frame.isna().any().any()
    numeric = [column for column in data.contextual + data.behavioral if column not in data.categorical]
    assert all(pd.api.types.is_numeric_dtype(frame[column]) for column in numeric)


def test_el_nino_is_without_the_perturbed_rows(paper_data: Path) -> None:
    """Tests that behavioral values are within [0, 1], which holds only for rows without injected anomalies."""
    data = datasets.load("ElNino")
    behavior = np.array([data.table[name] for name in data.behavioral])
    assert behavior.min() == 0.0
    assert behavior.max() == pytest.approx(1.0, abs=1e-12)


def test_the_names_are_those_of_the_papers_results(paper_data: Path) -> None:
    """Tests that our results and those of the paper can be joined by name."""
    results = paper_data.parent / "paper" / "results.csv"
    if not results.is_file():
        pytest.skip("the paper's results are not here")
    with results.open(encoding="utf-8", newline="") as stream:
        theirs = {row["dataset"] for row in csv.DictReader(stream) if not row["dataset"].startswith("Ranking")}
    assert theirs == {each.name for each in datasets.summaries() if each.n_anomalies is not None}


@pytest.mark.parametrize("name", ["cities", "weather", "football", "Yacht", "Syn6"])
def test_a_detector_takes_the_table_and_the_roles(name: str, request: pytest.FixtureRequest) -> None:
    """Tests that the table, roles and categories of a data set can be passed to QCAD unchanged."""
    if name in PUBLIC:
        request.getfixturevalue("paper_data")
    data = datasets.load(name)
    detector = QCAD(data.contextual, data.behavioral, categorical=data.categorical, n_trees=2).fit(data.table)
    assert len(detector.anomaly_scores_) == data.n_rows


def test_names_are_found_in_any_case_and_typos_get_a_hint() -> None:
    """Tests names in any case, and the messages for unknown names."""
    assert datasets.load("CITIES").name == "cities"
    assert datasets.load("syn10").name == "Syn10"
    with pytest.raises(ValueError, match="no data set 'Abalon': did you mean 'Abalone'"):
        datasets.load("Abalon")
    with pytest.raises(ValueError, match="no data set 'xyzzy': choose one of cities, weather"):
        datasets.load("xyzzy")
    with pytest.raises(TypeError, match="name is 3: it must be the name of a data set"):
        datasets.load(3)  # type: ignore[arg-type]


def test_only_generated_sets_take_a_seed() -> None:
    """Tests that a seed gives another Syn1, the same one each time, and is an error for other tables."""
    assert datasets.load("Syn1", seed=3).table == datasets.load("Syn1", seed=3).table
    assert datasets.load("Syn1", seed=3).table != datasets.load("Syn1").table
    assert datasets.load("Syn1").table == datasets.load("Syn1").table
    for name in ("cities", "Abalone"):
        with pytest.raises(ValueError, match=f"'{name}' is not generated and takes no seed"):
            datasets.load(name, seed=3)
    with pytest.raises(ValueError, match="seed is -1"):
        datasets.load("Syn1", seed=-1)


def test_a_loaded_set_is_the_callers_own() -> None:
    """Tests that changes to a loaded data set do not change the catalog."""
    for name in ("cities", "Syn1"):
        datasets.load(name).contextual.clear()
        datasets.load(name).table.clear()
        assert datasets.load(name).contextual
        assert datasets.load(name).table


def test_a_set_does_not_print_its_table() -> None:
    """Tests that the representation of a data set is short."""
    assert len(repr(datasets.load("weather"))) < 500


# Appendix B of the paper, with the column names of the files.
BEHAVIOR_OF_THE_PAPER = {
    "Abalone": ["Whole weight", "Shucked weight", "Viscera weight", "Shell weight", "Rings"],
    "AirFoil": ["SSPL"],
    "BodyFat": ["Density", "BodyFat"],
    "Boston": ["MEDV"],
    "Concrete": ["Strength"],
    "ElNino": ["Zonal_Winds", "Meridional_Winds", "Humidity", "Air_Temp", "Sea_Surface_Temp"],
    "Energy": ["Y1", "Y2"],
    "FishWeight": ["Weight"],
    "ForestFires": ["FFMC", "DMC", "DC", "ISI", "temp", "RH", "wind", "rain", "area"],
    "GasEmission": ["TEY", "CO", "NOX"],
    "HeartFailure": [
        "creatinine_phosphokinase",
        "ejection_fraction",
        "platelets",
        "serum_creatinine",
        "serum_sodium",
        "time",
    ],
    "Hepatitis": ["ALB", "ALP", "ALT", "AST", "BIL", "CHE", "CHOL", "CREA", "GGT", "PROT"],
    "LiverPatient": [
        "Total_Bilirubin",
        "Direct_Bilirubin",
        "Alkaline_Phosphotase",
        "Alamine_Aminotransferase",
        "Aspartate_Aminotransferase",
        "Total_Protiens",
        "Albumin",
        "Albumin_and_Globulin_Ratio",
    ],
    "Maintenance": ["ShipSpeed", "CompressorDecay", "TurbineDecay"],
    "Parkinson": ["motor_UPDRS", "total_UPDRS"],
    "PowerPlant": ["PE"],
    "QSRanking": [
        "Academic Reputation",
        "Employer Reputation",
        "Faculty Student",
        "Citations per Faculty",
        "International Faculty",
        "International Students",
    ],
    "SynMachine": ["If"],
    "Toxicity": ["LC50"],
    "Yacht": ["resistance"],
}


def test_behavior_is_that_of_the_paper() -> None:
    """Tests the roles by name: numbers of columns would not reveal two that are swapped."""
    found = {
        summary.name: summary.behavioral for summary in datasets.summaries() if summary.name in BEHAVIOR_OF_THE_PAPER
    }
    assert {name: sorted(columns) for name, columns in found.items()} == {
        name: sorted(columns) for name, columns in BEHAVIOR_OF_THE_PAPER.items()
    }
