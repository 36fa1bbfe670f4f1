"""Categories as behavior, and missing values as behavior."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import QCAD, ConditionalSurprise, load
from paribus._core import FeatureTable, Forest, Samples, Target
from paribus.methods.surprise.categories import MAX_CLASSES, Categories
from tests.oracles import classes

NAMES = ["red", "green", "blue", "gray"]


def make_table(n_rows: int = 1500, n_classes: int = 3, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    size, zone = random.normal(size=n_rows), random.integers(0, 3, size=n_rows)
    odds = np.exp(2.0 * size[:, None] * np.arange(n_classes) + 2.0 * (zone[:, None] == np.arange(n_classes)))
    color = (odds.cumsum(axis=1) / odds.sum(axis=1, keepdims=True) > random.random((n_rows, 1))).argmax(axis=1)
    weight = size + color + random.normal(size=n_rows)
    return {"size": size, "zone": np.array(list("abc"))[zone], "color": np.array(NAMES)[color], "weight": weight}


def fit(table: dict[str, Any], behavioral: list[str], **parameters: Any) -> ConditionalSurprise:
    return ConditionalSurprise(["size", "zone"], behavioral, n_trees=32, n_jobs=1, **parameters).fit(table)


def test_a_wrong_category_has_the_highest_score() -> None:
    """Tests that a category that no comparable row has is on top, and that the sentence says so."""
    table = make_table()
    table["color"] = np.array([{"a": "red", "b": "green", "c": "blue"}[zone] for zone in table["zone"]])
    row = int(np.flatnonzero(table["zone"] == "c")[5])
    table["color"][row] = "red"
    detector = fit(table, ["color"])
    assert int(np.argmax(detector.anomaly_scores_)) == row
    sentence = detector.explain(row).sentence
    assert sentence.startswith("color 'red' where")
    assert "of comparable rows have it, " in sentence
    assert "have 'blue'" in sentence


def test_ordinary_categories_are_seldom_flagged() -> None:
    """Tests that of clean tables no more than 3 in 1,000 rows are flagged where 1 is wanted."""
    flagged = [fit(make_table(seed=seed), ["color"]).labels_ == -1 for seed in range(3)]
    assert np.mean(flagged) <= 0.003


def test_labels_that_were_mixed_up_are_flagged() -> None:
    """Tests that a twentieth of wrong labels does not make wrong labels ordinary, nor right ones strange."""
    random = np.random.default_rng(0)
    table = {f"x{place}": random.normal(size=1000) for place in range(3)}
    label = np.select([table["x0"] + table["x1"] > 1.0, table["x2"] > 0.3], ["a", "b"], "c")
    wrong = random.random(1000) < 0.05
    others = {"a": "b", "b": "c", "c": "a"}
    given = table | {"label": np.where(wrong, [others[each] for each in label], label)}
    flagged = ConditionalSurprise(list(table), ["label"], n_jobs=1).fit(given).labels_ == -1
    assert (flagged & wrong).sum() >= 0.5 * wrong.sum()
    assert (flagged & ~wrong).sum() <= 5


def test_rare_categories_of_some_contexts_are_not_wrong() -> None:
    """Tests that where a category is rare in one context and common in another, no row is called wrong for it."""
    random = np.random.default_rng(0)
    zone = random.integers(0, 6, size=2000)
    is_late = random.random(2000) < np.array([0.03, 0.97, 0.1, 0.8, 0.05, 0.6])[zone]
    table = {"zone": np.array(list("abcdef"))[zone], "late": is_late}
    assert (ConditionalSurprise(["zone"], ["late"], n_jobs=1).fit(table).labels_ == -1).sum() <= 4


def test_a_boolean_that_is_likely_in_some_contexts_is_not_wrong_in_others() -> None:
    """Tests that ordinary values of a smooth relation, which trees only approximate, are not taken for wrong ones."""
    n_flagged = 0
    for seed in (0, 1, 8):
        random = np.random.default_rng(seed)
        x = random.normal(size=2000)
        table = {"x": x, "late": random.random(2000) < 1 / (1 + np.exp(-3 * x))}
        n_flagged += int((ConditionalSurprise(["x"], ["late"], n_trees=50, n_jobs=1).fit(table).labels_ == -1).sum())
    # Six are flagged by design.
    assert n_flagged <= 12


def test_stated_probabilities_hold() -> None:
    """Tests that categories with a stated probability of about p are there in a share p of the rows."""
    table = make_table(4000)
    detector = fit(table, ["color"])
    rows = np.arange(0, 4000, 2)
    places = detector.view().behavior_codes[0]
    assert places is not None
    explained = detector.explain_all(len(rows), rows={name: values[rows] for name, values in table.items()})
    found = {}
    for each in explained:
        verdict = each.behavior[0].verdict
        assert verdict is not None
        assert verdict.shares is not None
        found[int(str(each.row))] = verdict.shares.probabilities
    codes = np.array([places[color] for color in table["color"][rows]])
    stated = np.array([found[row] for row in range(len(rows))])
    actual = codes[:, None] == np.arange(stated.shape[1])
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 1.0)):
        inside = (stated >= low) & (stated < high)
        # Of more than 1,000 values, shares vary by 0.012 and 0.03 by chance (two standard errors).
        assert actual[inside].mean() == pytest.approx(stated[inside].mean(), abs=0.02 if high <= 0.1 else 0.04)


def test_reordered_rows_give_the_same_scores() -> None:
    """Tests that the order of rows does not change a bit."""
    table = make_table(600)
    order = np.random.default_rng(1).permutation(600)
    scores = fit(table, ["color", "weight"]).anomaly_scores_
    shuffled = fit({name: values[order] for name, values in table.items()}, ["color", "weight"]).anomaly_scores_
    assert np.array_equal(scores[order], shuffled)


def test_relabelled_categories_give_the_same_verdicts() -> None:
    """Tests that other names of categories do not change a bit, in context and in behavior."""
    table = make_table(600)
    names = dict(zip(NAMES, ["zz", "<b>", "0", "=1+1"], strict=True))
    zones = dict(zip("abc", "zxy", strict=True))
    relabelled = table | {
        "color": np.array([names[each] for each in table["color"]]),
        "zone": np.array([zones[each] for each in table["zone"]]),
    }
    for behavioral in (["color"], ["color", "weight"]):
        one, two = (fit(each, behavioral) for each in (table, relabelled))
        assert np.array_equal(one.anomaly_scores_, two.anomaly_scores_)
        assert np.array_equal(one.anomaly_score(table), two.anomaly_score(relabelled))
        assert two.categories_["color"] == sorted(two.categories_["color"], key=str)


def test_a_model_file_gives_the_same_scores(tmp_path: Path) -> None:
    """Tests that categories, missing values and new rows are judged alike by a model that was saved."""
    table = make_table(800)
    table["weight"] = np.where(np.arange(800) % 9 == 0, np.nan, table["weight"])
    detector = fit(table, ["color", "weight"])
    assert detector.behavioral_features_ == ["color", "weight", "weight (missing)"]
    detector.save(tmp_path / "colors.paribus")
    loaded = load(tmp_path / "colors.paribus")
    new = {name: values[:50] for name, values in make_table(seed=5).items()}
    new["color"] = np.where(np.arange(50) % 7 == 0, "never seen", new["color"])
    for rows in (table, new):
        assert np.array_equal(detector.anomaly_score(rows), loaded.anomaly_score(rows))
    assert np.array_equal(detector.anomaly_score(table), detector.anomaly_scores_)
    assert list(loaded.view().store.original.categories(2)) == list(table["color"])


def test_a_category_that_was_never_seen_is_rare() -> None:
    """Tests that a new category has the probability of one that n rows have not shown, and is named."""
    table = make_table()
    detector = fit(table, ["color"])
    new = {name: values[:1] for name, values in table.items()} | {"color": np.array(["mauve"])}
    assert detector.cell_p_values(new)["color"][0] <= 2 / 1500
    assert "a new category" in detector.explain_all(1, rows=new)[0].sentence


def test_missing_values_are_behavior_of_their_own() -> None:
    """Tests that a value that is missing where it never is stands out, and that the value's own score is missing."""
    table = make_table()
    table["weight"] = np.where(table["zone"] == "a", np.nan, table["weight"])
    row = int(np.flatnonzero(table["zone"] == "b")[0])
    table["weight"][row] = np.nan
    detector = fit(table, ["color", "weight"])
    parts = detector.partial_scores_
    assert np.isnan(parts["weight"][row])
    assert int(np.nanargmax(parts["weight (missing)"])) == row
    assert "weight is missing" in detector.explain(row).sentence
    assert "of comparable rows it is present" in detector.explain(row).sentence
    # Where it is always missing, that is nothing new.
    assert np.median(parts["weight (missing)"][table["zone"] == "a"]) < 0.1


def test_values_that_are_missing_together_count_once() -> None:
    """Tests that a second value that is missing in the same rows has no feature of its own."""
    table = make_table(600)
    absent = np.arange(600) % 10 == 0
    for name in ("weight", "height"):
        table[name] = np.where(absent, np.nan, table["weight"])
    names = ["weight", "height", "color"]
    assert fit(table, names).behavioral_features_ == [*names, "weight (missing)"]
    assert fit(table, names, missing=False).behavioral_features_ == names


def test_a_constant_column_leaves_the_score() -> None:
    """Tests that a constant behavioral column gives a warning, and changes nothing."""
    table = make_table(400) | {"same": np.full(400, 7.0)}
    with pytest.warns(UserWarning, match="behavioral column 'same' is 7 in every row, so it is left out"):
        detector = fit(table, ["weight", "same"])
    assert detector.behavioral_features_ == ["weight"]
    assert np.array_equal(detector.anomaly_scores_, fit(table, ["weight"]).anomaly_scores_)


def test_a_column_of_names_is_refused() -> None:
    """Tests that a column with a different text in every row is refused in a sentence."""
    table = make_table(100) | {"name": np.array([f"row {row}" for row in range(100)])}
    with pytest.raises(ValueError, match="'name' has 100 distinct values in 100 rows"):
        fit(table, ["name"])


def test_qcad_refuses_categories() -> None:
    """Tests that QCAD says which detector judges categories."""
    with pytest.raises(TypeError, match=r"'color' does not hold numbers .* or judge it with ConditionalSurprise"):
        QCAD(["size"], ["color"]).fit(make_table(50))


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=100),
    st.integers(0, 2**32 - 1),
)
def test_tails_are_those_of_plain_code(counts: list[int], seed: int) -> None:
    """Tests that the probability of a category at most as probable is the sum over all categories."""
    categories = Categories(np.array(counts))
    random = np.random.default_rng(seed)
    n_classes = min(len(counts), MAX_CLASSES)
    of_classes = random.dirichlet(np.ones(n_classes), size=1)
    whole = [*categories.probabilities(np.repeat(of_classes, len(counts), axis=0), np.arange(len(counts)))]
    for code in (0, len(counts) - 1, len(counts)):
        own = categories.probabilities(of_classes, np.array([code]))
        expected = classes.tail([*whole, categories.unseen], float(own[0]))
        assert categories.tails(of_classes, own)[0] == pytest.approx(expected, abs=1e-9)


def test_class_shares_are_those_of_the_rows_in_the_leaves() -> None:
    """Tests that class frequencies are those of the rows that share leaves with a row."""
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=200), random.integers(0, 5, size=200)]).astype(np.float64)
    class_of_code = np.array([0, 1, 2, 2, 2], dtype=np.uint8)
    table, target = FeatureTable(rows, np.array([0, 1], dtype=np.uint8)), Target(rows, 1, class_of_code)
    samples = Samples(np.ones(200, dtype=np.uint8), np.arange(200), 1, 100, 3)
    forest = Forest(table, samples, target, np.array([0], dtype=np.uint16), 1, 4, 0)
    fitted = np.arange(200)
    found = forest.class_shares(rows, fitted, 2.0)
    for row in range(0, 200, 20):
        leaf = np.flatnonzero(forest.weights(rows[row], row))
        codes = class_of_code[rows[leaf, 1].astype(np.int64)].tolist()
        assert found[row] == pytest.approx(classes.class_shares([codes], 3, 2.0))
    forest.release()
    assert np.array_equal(forest.class_shares(rows, fitted, 2.0), found)
    assert np.array_equal(forest.class_shares(rows[:7], fitted[:7], 2.0, 2), found[:7])
