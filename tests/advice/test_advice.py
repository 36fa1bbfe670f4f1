"""Tests of the advice on context."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus import datasets, suggest_context
from paribus.advice.columns import Nature, look_at_columns
from paribus.pictures.svg.gain_map import gain_map
from paribus.tables.table import Table

N = 600


@pytest.fixture(scope="module")
def days() -> dict[str, Any]:
    """One column that matters, one that does not, and everything that is neither context nor behavior."""
    rng = np.random.default_rng(0)
    zone = rng.choice(["north", "south", "east"], N)
    level = np.select([zone == "north", zone == "south"], [0.0, 5.0], 10.0)
    value = level + rng.normal(size=N)
    return {
        "row": np.arange(N),
        "station": np.array([f"S{place:05d}" for place in range(N)], dtype=object),
        "remark": np.array([f"it was the {place % 500}th day of a long and windy winter there" for place in range(N)]),
        "zone": zone,
        "coin": rng.choice(["heads", "tails"], N),
        "unit": np.array(["mm"] * N, dtype=object),
        "nothing": np.full(N, np.nan),
        "value": value,
        "copy": value * 2,
        "clock": (rng.integers(0, 24, N) * 100 + rng.integers(0, 60, N)).astype(float),
        "zip_code": rng.integers(10_000, 99_999, N),
    }


def natures(table: dict[str, Any]) -> dict[str, Nature]:
    return {look.name: look.nature for look in look_at_columns(Table(table))}


def test_columns_are_what_they_look_like(days: dict[str, Any]) -> None:
    """Tests that ids, free text, constants, codes and times of day are not circumstances or quantities."""
    assert natures(days) == {
        "row": Nature.ID,
        "station": Nature.ID,
        "remark": Nature.FREE_TEXT,
        "zone": Nature.CATEGORY,
        "coin": Nature.CATEGORY,
        "unit": Nature.CONSTANT,
        "nothing": Nature.EMPTY,
        "value": Nature.QUANTITY,
        "copy": Nature.QUANTITY,
        "clock": Nature.CLOCK,
        "zip_code": Nature.CODE,
    }


def test_every_column_is_accounted_for(days: dict[str, Any]) -> None:
    """Tests that each column is context, behavior or the id, or is left out with a reason."""
    advice = suggest_context(days)
    named = {*advice.contextual, *advice.behavioral, *advice.left_out, advice.id}
    assert named == set(days)
    assert not set(advice.contextual) & set(advice.behavioral)
    assert all(advice.left_out.values())


def test_what_matters_is_proposed(days: dict[str, Any]) -> None:
    """Tests that the column that matters is context, and that the one that does not is left out, with the reason."""
    advice = suggest_context(days, ["value"], contextual=["zone", "coin"])
    assert advice.contextual == ["zone"]
    assert advice.left_out["coin"] == "it predicts nothing"
    ((zone, coin),) = advice.alone
    assert zone.low > 1.0
    assert zone.low < zone.bits < zone.high
    assert coin.low < 0.02


def test_copies_raise_an_alarm(days: dict[str, Any]) -> None:
    """Tests that a context that contains the answer is named, and not proposed."""
    advice = suggest_context(days, ["value"], contextual=["zone", "copy"])
    assert "copy determines value" in " ".join(advice.alarms)
    assert advice.contextual == ["zone"]


def test_contexts_without_comparable_rows_raise_an_alarm() -> None:
    """Tests that there is a warning if two columns are proposed that leave each row alone."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 40, N), rng.integers(0, 40, N)
    table = {
        "first": np.array([f"a{each}" for each in first], dtype=object),
        "second": np.array([f"b{each}" for each in second], dtype=object),
        "value": first + second + rng.normal(size=N),
    }
    advice = suggest_context(table)
    assert sorted(advice.contextual) == ["first", "second"]
    assert "hardly any rows are comparable in" in " ".join(advice.alarms)


def test_a_moment_stands_for_its_parts() -> None:
    """Tests that month and hour are left out where a column has the whole moment, which explains what they would."""
    rng = np.random.default_rng(0)
    when = pd.date_range("2024-01-01", periods=2000, freq="h")
    table = pd.DataFrame({"when": when, "month": when.month, "hour": when.hour})
    table["load"] = 5 * np.sin(when.hour / 24 * 2 * np.pi) + rng.normal(size=len(when))
    advice = suggest_context(table)
    assert advice.contextual == ["when"]
    assert advice.left_out == {"month": "when has it", "hour": "when has it"}


def test_order_and_names_do_not_matter(days: dict[str, Any]) -> None:
    """Tests that reordered rows and a change of units give the same gains."""
    chosen = {name: days[name] for name in ("zone", "coin", "value")}
    order = np.random.default_rng(1).permutation(N)
    shuffled = {name: values[order] for name, values in chosen.items()}
    assert suggest_context(chosen).alone == suggest_context(shuffled).alone
    assert suggest_context(chosen).contextual == suggest_context(dict(chosen, value=days["value"] * 1000)).contextual


def test_the_answer_is_plain(days: dict[str, Any]) -> None:
    """Tests that it can be written as JSON, printed and drawn, also with hostile names."""
    advice = suggest_context({f"<b>{name}&": values for name, values in days.items()})
    assert json.loads(json.dumps(advice.to_dict()))["contextual"] == advice.contextual
    assert "behavior: " in str(advice)
    drawing = str(gain_map(advice))
    assert "<b>" not in drawing
    assert drawing.startswith("<svg xmlns=")


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.sampled_from(["constant", "missing", "numbers", "text", "few", "dates", "booleans", "same"]),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 60),
)
def test_any_table_gets_an_answer(kinds: list[str], n: int) -> None:
    """Tests that odd columns and tiny tables are no error."""
    rng = np.random.default_rng(n)
    make: dict[str, Callable[[], Any]] = {
        "constant": lambda: np.ones(n),
        "missing": lambda: np.full(n, np.nan),
        "numbers": lambda: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        "text": lambda: np.array([str(each) for each in rng.random(n)], dtype=object),
        "few": lambda: rng.integers(0, 3, n),
        "dates": lambda: np.datetime64("2020-01-01") + rng.integers(0, 400, n).astype("m8[D]"),
        "booleans": lambda: rng.random(n) < 0.5,
        "same": lambda: np.arange(n) // 2 * 1e30,
    }
    advice = suggest_context({f"{kind} {place}": make[kind]() for place, kind in enumerate(kinds)})
    assert len(advice.looks) == len(kinds)
    assert str(advice)


def test_unknown_columns_and_text_are_refused(days: dict[str, Any]) -> None:
    """Tests that one sentence says what is wrong."""
    with pytest.raises(ValueError, match="did you mean 'value'"):
        suggest_context(days, ["valu"])
    with pytest.raises(TypeError, match="'zone' does not hold numbers"):
        suggest_context(days, ["zone"])
    with pytest.raises(ValueError, match="max_context"):
        suggest_context(days, max_context=0)


def test_the_bundled_table_gets_its_roles() -> None:
    """Tests that the proposal for the weather table is what its makers say."""
    weather = datasets.load("weather")
    advice = suggest_context(weather.table)
    assert sorted(advice.contextual) == sorted(weather.contextual)
    assert list(advice.behavioral) == weather.behavioral


def test_quantities_are_context_where_circumstances_say_little() -> None:
    """Tests that of quantities that say more about each other than a category does, the first becomes context."""
    rng = np.random.default_rng(0)
    carat = rng.lognormal(size=N)
    table = {
        "carat": carat,
        "cut": rng.choice(["fair", "good"], N),
        "width": carat ** (1 / 3) * rng.normal(1, 0.02, N),
        "price": carat**1.5 * rng.lognormal(0, 0.1, N),
    }
    advice = suggest_context(table)
    assert advice.contextual[0] == "carat"
    assert advice.behavioral == ("width", "price")


def test_quantities_are_judged_where_circumstances_say_most() -> None:
    """Tests that no quantity is hidden as context if a category says what there is to say."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, N)
    table = {"kind": np.array(list("abc"))[kind]}
    table |= {name: 3.0 * kind + rng.normal(size=N) for name in ("first", "second", "third")}
    advice = suggest_context(table)
    assert advice.contextual == ["kind"]
    assert advice.behavioral == ("first", "second", "third")


def test_any_quantity_may_explain_what_is_named() -> None:
    """Tests that where behavior is named, other quantities are possible context."""
    rng = np.random.default_rng(0)
    weight = rng.normal(size=N)
    advice = suggest_context({"weight": weight, "price": weight + 0.3 * rng.normal(size=N)}, ["price"])
    assert advice.contextual == ["weight"]


def test_where_nothing_says_anything_circumstances_are_proposed() -> None:
    """Tests that there is always a command to try, and a warning that the context hardly matters."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=N) for name in ("first", "last")}
    advice = suggest_context({"sex": rng.choice(["f", "m"], N)} | numbers)
    assert advice.contextual == ["sex"]
    assert "the choice of context hardly matters" in advice.alarms[0]


def test_a_few_odd_numbers_are_no_circumstance() -> None:
    """Tests that rain which is nearly always 0 is a quantity, and a number of cylinders is not."""
    rain = np.zeros(N)
    rain[:6] = [0.2, 0.4, 6.4, 1.0, 0.8, 1.4]
    table = {"rain": rain, "cylinders": np.random.default_rng(0).choice([4, 6, 8], N)}
    assert natures(table) == {"rain": Nature.QUANTITY, "cylinders": Nature.FEW_NUMBERS}


def test_dimensions_that_follow_from_a_size_are_judged() -> None:
    """Tests that the size of a thing is context, and that what nearly follows from it is behavior, not a leak."""
    rng = np.random.default_rng(0)
    carat = rng.lognormal(size=N)
    table = {"x": carat ** (1 / 3) * rng.normal(1, 0.001, N), "carat": carat, "price": carat * rng.lognormal(0, 0.3, N)}
    advice = suggest_context(table)
    assert advice.contextual == ["carat"]
    assert advice.behavioral == ("x", "price")


def test_measurements_are_not_hidden_where_there_are_circumstances() -> None:
    """Tests that two measurements of one cause are judged, although the only circumstance says little."""
    rng = np.random.default_rng(0)
    cause, sex = rng.normal(size=N), rng.integers(0, 2, N)
    table: dict[str, Any] = {"sex": np.array(["f", "m"])[sex]}
    table |= {name: cause + 0.5 * sex + 0.3 * rng.normal(size=N) for name in ("albumin", "protein")}
    advice = suggest_context(table)
    assert advice.contextual == ["sex"]
    assert advice.behavioral == ("albumin", "protein")
    # Without any circumstance, the first quantity is one.
    del table["sex"]
    assert suggest_context(table).contextual == ["albumin"]


def test_what_is_derived_is_left_out() -> None:
    """Tests that ranges of a behavior and its logarithm are left out, and settings with a strong effect are not."""
    rng = np.random.default_rng(0)
    lever = rng.integers(1, 5, N)
    weight = rng.normal(7, 1, N)
    weight[3] = 2.0
    table = {
        "low": np.where(weight < 6, "low", "not low"),
        "lever": lever,
        "speed": 10.0 * lever + rng.normal(size=N),
        "weight": weight,
        "logweight": np.log(weight),
    }
    table["low"][3] = "not low"
    advice = suggest_context(table)
    assert advice.left_out == {
        "low": "it is derived from weight, and would hide its errors",
        "logweight": "it is weight on another scale",
    }
    assert advice.contextual == ["lever"]


def test_names_say_what_numbers_do_not() -> None:
    """Tests that coordinates, education and distances are circumstances, and that money is not, however few values."""
    rng = np.random.default_rng(0)
    table: dict[str, Any] = {name: rng.normal(size=N) for name in ("pickup_x", "pickup_y", "x", "y", "trip_distance")}
    table |= {"pid": rng.permutation(N) + 1, "hour": 24 * rng.random(N)}
    table |= {"hr": rng.integers(0, 24, N), "mnth": rng.integers(1, 13, N), "rest_hr": rng.integers(48, 99, N)}
    table |= {
        "educ": rng.integers(0, 20, N),
        "tolls_amount": rng.choice([0.0, 5.33], N),
        "payment_type": rng.integers(1, 5, N),
    }
    assert natures(table) == {
        "pickup_x": Nature.PLACE,
        "pickup_y": Nature.PLACE,
        "x": Nature.QUANTITY,
        "y": Nature.QUANTITY,
        "trip_distance": Nature.SIZE,
        "pid": Nature.ID,
        "hour": Nature.TIME_PART,
        "hr": Nature.TIME_PART,
        "mnth": Nature.TIME_PART,
        "rest_hr": Nature.QUANTITY,
        "educ": Nature.PERSONAL,
        "tolls_amount": Nature.QUANTITY,
        "payment_type": Nature.FEW_NUMBERS,
    }


def test_redundant_circumstances_are_kept() -> None:
    """Tests that a circumstance which says what another one does is context, too, with its gain by itself."""
    rng = np.random.default_rng(0)
    model = rng.integers(0, 6, N)
    table = {
        "model": np.array([f"m{each}" for each in model], dtype=object),
        "maker": np.array([f"a{each // 2}" for each in model], dtype=object),
        "mpg": 5.0 * model + rng.normal(size=N),
    }
    first, second = suggest_context(table).steps
    assert (first.name, first.adds) == ("model", True)
    assert (second.name, second.adds) == ("maker", False)
    assert "bits by itself" in str(second)


def test_a_name_is_a_better_id_than_the_number_of_the_row() -> None:
    """Tests which of several columns that identify the rows is offered."""
    table: dict[str, Any] = {"rownames": np.arange(N), "patient_id": np.arange(N) * 7, "value": np.arange(N) / 7}
    assert suggest_context(table).id == "patient_id"
    assert suggest_context(table | {"label": [f"p{each}" for each in range(N)]}).id == "label"
    assert suggest_context({"rownames": table["rownames"], "value": table["value"]}).id == "rownames"


def test_two_measurements_of_the_same_thing_are_judged() -> None:
    """Tests that a length does not become context of what is nearly its copy, where a circumstance says a little."""
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, N)
    length = 0.8 * sex + rng.normal(size=N)
    table = {"sex": np.array(["f", "m"])[sex], "length": length, "again": length + 0.05 * rng.normal(size=N)}
    advice = suggest_context(table)
    assert advice.contextual == ["sex"]
    assert advice.behavioral == ("length", "again")


def test_outcomes_are_judged_wherever_they_stand() -> None:
    """Tests that without circumstances, a price in the first column does not become context of what follows it."""
    rng = np.random.default_rng(0)
    speed = rng.normal(size=N)
    advice = suggest_context({"price": speed + 0.5 * rng.normal(size=N), "speed": speed, "watts": speed**2})
    assert advice.contextual == ["speed"]
    assert "price" in advice.behavioral


def test_what_hardly_varies_does_not_decide() -> None:
    """Tests that a fee that is nearly always the same is behavior, and does not count in the advice."""
    rng = np.random.default_rng(0)
    vendor = rng.integers(1, 3, N)
    table = {"vendor": vendor, "fare": vendor + rng.normal(size=N), "mta_tax": np.where(rng.random(N) < 0.002, 0, 0.5)}
    advice = suggest_context(table)
    assert advice.contextual == ["vendor"]
    assert advice.behavioral == ("fare", "mta_tax")
    assert advice.measured == ("fare",)
