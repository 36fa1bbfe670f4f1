"""What reference groups have in common, and facts that are made when they are asked for, against plain code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import ConditionalSurprise
from paribus._core import describe_groups
from paribus.explain.build import FoundFacts, _oddness
from tests.oracles import groups as oracle
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

Array = np.ndarray[Any, Any]

KINDS = ("normal", "ties", "few", "equal", "zeros", "skewed", "huge", "tiny", "missing")
WEIGHTS = ("even", "leaves", "steep", "one", "none for some")


def make_values(random: np.random.Generator, kind: str, n: int) -> Array:
    """Values of a group that are hard in one way."""
    normal = random.normal(size=n)
    return {
        "normal": normal,
        "ties": np.round(normal),
        "few": random.integers(2, size=n).astype(float),
        "equal": np.full(n, 2.5),
        "zeros": random.choice([0.0, -0.0], size=n),
        "skewed": np.exp(9.0 * normal),
        "huge": np.where(normal > 0, 1.7e308, -1.7e308),
        "tiny": 5e-324 * random.integers(3, size=n),
        "missing": np.where(np.arange(n) == random.integers(n), np.nan, normal),
    }[kind]


def make_weights(random: np.random.Generator, kind: str, n: int) -> Array:
    """Weights that sum to 1, as shares of leaves do."""
    weights = {
        "even": np.ones(n),
        "leaves": random.integers(1, 5, size=n) / 4.0,
        "steep": np.exp(5.0 * random.normal(size=n)),
        "one": np.where(np.arange(n) == n // 2, 1.0, 0.0),
        "none for some": np.where(np.arange(n) % 3 == 1, 0.0, random.uniform(size=n) + 1e-9),
    }[kind]
    return np.asarray(weights / weights.sum())


@given(
    seed=st.integers(0, 2**20),
    sizes=st.lists(st.integers(1, 20) | st.integers(100, 300), min_size=1, max_size=6),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    weighted=st.sampled_from(WEIGHTS),
)
def test_groups_are_described_as_by_numpy(seed: int, sizes: list[int], kinds: list[str], weighted: str) -> None:
    """Tests ranges, shares and numbers of members against NumPy, bit by bit, for groups of any size."""
    random = np.random.default_rng(seed)
    width = max(sizes)
    # What is beyond a group must not be looked at.
    groups, weights = np.full((len(sizes), width, len(kinds) + 1), np.nan), np.full((len(sizes), width), np.nan)
    for row, n in enumerate(sizes):
        weights[row, :n] = make_weights(random, weighted, n)
        for feature, kind in enumerate(kinds):
            groups[row, :n, feature + 1] = make_values(random, kind, n)
    features = np.arange(len(kinds), 0, -1)
    for n_threads in (1, 2):
        ranges, n_counting, squares = describe_groups(groups, np.array(sizes), weights, features, n_threads)
        for row, n in enumerate(sizes):
            own = weights[row, :n]
            assert n_counting[row] == oracle.n_counting(own)
            assert squares[row] == np.sum(own**2)
            for place, feature in enumerate(features.tolist()):
                expected = oracle.describe(groups[row, :n, feature], own)
                np.testing.assert_array_equal(ranges[place, row], expected)


def test_unusable_groups_are_refused() -> None:
    """Tests that sizes and features that do not fit the groups are errors."""
    groups, weights, one = np.zeros((1, 3, 2)), np.ones((1, 3)), np.array([0])
    for size, feature, message in ((4, 0, "sizes"), (-1, 0, "sizes"), (3, 2, "features"), (3, -1, "features")):
        with pytest.raises(ValueError, match=message):
            describe_groups(groups, np.array([size]), weights, np.array([feature]))
    with pytest.raises(ValueError, match="weights"):
        describe_groups(groups, one, np.ones((1, 2)), one)


@pytest.fixture(scope="module")
def detector() -> ConditionalSurprise:
    return ConditionalSurprise(CONTEXT, BEHAVIOR, n_trees=16).fit(mixed_table(300))


def test_facts_are_ordered_by_oddness(detector: ConditionalSurprise) -> None:
    """Tests the order of features, which is found for all rows at once, against that of the facts themselves."""
    for explanation in detector.explain_all(150):
        keys = [
            (np.isnan(each.partial_score), not each.share > 0.0, -each.oddness, -np.nan_to_num(each.partial_score))
            for each in explanation.behavior
        ]
        assert keys == sorted(keys)
        facts = explanation._facts
        assert isinstance(facts, FoundFacts)
        odd = _oddness(facts._findings.partial_scores, facts._findings)[explanation._place]
        assert sorted(odd.tolist()) == sorted(each.oddness for each in explanation.behavior)


def test_texts_are_those_of_all_facts(detector: ConditionalSurprise) -> None:
    """Tests that an explanation says the same before and after its facts have been looked at, and with those alone."""
    for explanation in detector.explain_all(40):
        before = str(explanation), explanation.sentence, explanation.warnings, explanation.group
        assert explanation.behavior is explanation.behavior
        assert explanation.behavior[0].percentiles is explanation.leading.percentiles
        with pytest.raises(ValueError, match="read-only"):
            explanation.reference_positions[0] = 0
        with pytest.raises(ValueError, match="read-only"):
            explanation.leading.percentiles[0] = 0
        assert before == (str(explanation), explanation.sentence, explanation.warnings, explanation.group)


def test_rows_that_were_scored_are_explained_as_others(detector: ConditionalSurprise) -> None:
    """Tests that rows are explained in the same way whether they have just been scored, together or alone."""
    new = mixed_table(60, seed=5)
    together = {each.row: each.to_dict() for each in detector.explain_all(60, rows=new)}
    for row in range(0, 60, 9):
        alone = detector.explain(new.iloc[[row]]).to_dict()
        assert alone | {"row": row} == together[row]


def test_rows_that_are_all_explained_are_explained_as_some_of_them(detector: ConditionalSurprise) -> None:
    """Tests that all rows of a table get the explanations and the order that they get if one row too many is asked for,
    and that rows without a score are left out.
    """
    new = mixed_table(60, seed=5)
    every = [each.to_dict() for each in detector.explain_all(60, rows=new)]
    assert every[:59] == [each.to_dict() for each in detector.explain_all(59, rows=new)]
    new.loc[7, BEHAVIOR] = np.nan
    some = [each.to_dict() for each in detector.explain_all(60, rows=new)]
    assert some == [each for each in every if each["row"] != 7]
