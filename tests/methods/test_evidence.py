"""The evidence of values, and what it is made of, against plain oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus import _core
from paribus._core import (
    Forest,
    FoundLeaves,
    Samples,
    Smoothing,
    column_distributions,
    column_evidence,
    column_quantiles,
    quantiles_of_atoms,
    second_means,
)
from paribus.methods.density import ColumnShape
from tests.oracles import evidence as oracle
from tests.support.forests import grow_forest

Array = np.ndarray[Any, Any]

N_PAIRS = 7
SURPRISE_WIDTH, TAIL_PROBABILITY = 0.6, 0.1
SHAPES = ("plain", "asinh", "log")


class Case:
    """A table with a column to be judged, and two forests: of the column, and of its distances from a trend."""

    def __init__(self, seed: int, n_rows: int, kind: str) -> None:
        random = np.random.default_rng(seed)
        columns = random.normal(size=(3, n_rows))
        columns[1, random.random(n_rows) < 0.2] = np.nan
        columns[2] = random.integers(4, size=n_rows)
        target = {
            "normal": columns[0] + random.normal(size=n_rows),
            "ties": random.integers(5, size=n_rows).astype(float),
            "huge": 1e200 * random.normal(size=n_rows),
            "gross": np.where(np.arange(n_rows) == 0, 1e9, random.normal(size=n_rows)),
            "constant": np.full(n_rows, 3.0),
            "skewed": np.exp(2 * random.normal(size=n_rows)),
        }[kind]
        target[random.random(n_rows) < 0.1] = np.nan
        target[-1] = 1.0
        if n_rows > 20 and seed % 2:
            columns[:, 4], target[4] = columns[:, 3], target[3]
        self.target = target
        self.columns, self.categorical = columns, np.array([0, 0, 1], dtype=np.uint8)
        self.rows = np.ascontiguousarray(columns.T)
        self.trend = np.nan_to_num(0.5 * columns[0]) if kind != "huge" else 1e200 * columns[0]
        self.fitted = np.where(np.arange(n_rows) % 3 == 0, -1, np.arange(n_rows))
        self.seed = seed % 1000
        # As a share of the largest value, so that squares stay numbers.
        largest = float(np.nanmax(np.abs(target)))
        self.unit = float(np.nanstd(target / largest)) * largest or 1.0

    def forest(self, target: Array, n_pairs: int, n_threads: int = 1) -> Forest:
        n_sample = max(1, int((~np.isnan(target)).sum()) // 2)
        features = np.arange(3, dtype=np.uint16)
        return grow_forest(
            self.columns, self.categorical, target, features, 3, 2, n_pairs, n_sample, self.seed, None, n_threads
        )

    def atoms(self, target: Array, row: int) -> list[float]:
        """What the oracle takes from each tree: pairs do not depend on how many there are, so forests differ by one."""
        found, before = [], np.zeros(len(target))
        for pair in range(N_PAIRS):
            after = self.forest(target, pair + 1).weights(self.rows[row], int(self.fitted[row])) * (pair + 1)
            leaf = np.flatnonzero(after - before > 1e-9)
            before = after
            # A row counts as often in its leaf as any other.
            found.append(oracle.atom(target[leaf].tolist(), pair, N_PAIRS))
        return found


cases = st.builds(
    Case,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(8, 40),
    kind=st.sampled_from(["normal", "ties", "huge", "gross", "constant", "skewed"]),
)


@settings(max_examples=40)
@given(case=cases)
def test_atoms_are_the_oracles(case: Case) -> None:
    """Tests that each tree gives the order statistic of its leaf at its own level, for known and for new rows."""
    found = case.forest(case.target, N_PAIRS).atoms(case.rows, case.fitted)
    assert found.shape == (len(case.rows), N_PAIRS)
    spread = np.nanmax(case.target) - np.nanmin(case.target)
    for row in range(0, len(case.rows), 5):
        np.testing.assert_allclose(found[row], case.atoms(case.target, row), rtol=1e-9, atol=1e-8 * max(spread, 1e-300))


@settings(max_examples=60)
@given(
    case=cases,
    shape=st.sampled_from(SHAPES),
    width=st.sampled_from([0.12, 0.45, 0.7]),
    resolution=st.sampled_from([0.0, 0.3]),
    share=st.sampled_from([0.0, 0.25, 0.7]),
    away=st.sampled_from([0.0, 1.0, 1e6]),
)
def test_evidence_is_the_oracles(
    case: Case, shape: str, width: float, resolution: float, share: float, away: float
) -> None:
    """Tests evidence against densities at every other atom, ranked: ties, gaps, constants, huge and gross values."""
    forests = [case.forest(case.target, N_PAIRS), case.forest(case.target - case.trend, N_PAIRS)]
    unit, center = 0.5 * case.unit, float(np.nanmedian(case.target))
    smoothing = Smoothing(shape, center, unit, width, SURPRISE_WIDTH, resolution * case.unit, TAIL_PROBABILITY)
    min_width = 0.05 * (case.unit if shape == "plain" else 1.0)
    views = [
        (forests[0], None, 1.0 - share, min_width, 0.1 * case.unit),
        (forests[1], case.trend, share, 2 * min_width, 0.1 * case.unit),
    ]
    values = case.target + away * case.unit * np.where(np.arange(len(case.target)) % 2, 1.0, -1.0)
    found, surprises, _ = column_evidence(views, smoothing, case.rows, case.fitted, values)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    for view, (forest, centers, _, _, min_deviation) in enumerate(views):
        around = values if centers is None else values - centers
        expected = forest.surprises(case.rows, case.fitted, around, SURPRISE_WIDTH, min_deviation)
        np.testing.assert_array_equal(surprises[:, view], expected)
    atoms = [forest.atoms(case.rows, case.fitted) for forest in forests]
    plain = oracle.Shape(shape, center, unit)
    for row in np.flatnonzero(~np.isnan(values)).tolist():
        given_atoms = [atoms[0][row].tolist(), (atoms[1][row] + case.trend[row]).tolist()]
        looks = [oracle.View(each, view[2], view[3]) for each, view in zip(given_atoms, views, strict=True)]
        low, high = oracle.evidence(looks, plain, width, resolution * case.unit, TAIL_PROBABILITY, float(values[row]))
        assert low - 1e-4 * (1 + abs(low)) <= found[row] <= high + 1e-4 * (1 + abs(high))


@given(case=cases, scale=st.sampled_from([0, 1, 255]))
def test_the_mean_of_a_second_target_is_the_oracles(case: Case, scale: int) -> None:
    """Tests the mean over the leaves of a row against the weights of the rows there."""
    forests = [case.forest(case.target, N_PAIRS), case.forest(case.target - case.trend, N_PAIRS)]
    random = np.random.default_rng(case.seed)
    second = random.integers(0, scale, size=len(case.target), endpoint=True).astype(np.uint8)
    assert not second_means(forests, case.rows, case.fitted).any()
    for forest in forests:
        forest.set_second_target(second)
    found = second_means(forests, case.rows, case.fitted)
    weights = [[forest.weights(*each) for each in zip(case.rows, case.fitted, strict=True)] for forest in forests]
    np.testing.assert_allclose(found, np.mean(weights, axis=0) @ second, atol=0.5 / 256)
    smoothing = Smoothing("plain", 0.0, 1.0, 0.5, SURPRISE_WIDTH, 0.0, TAIL_PROBABILITY)
    views = [(forest, None, 0.5, 1.0, 1.0) for forest in forests]
    _, _, around = column_evidence(views, smoothing, case.rows, case.fitted, case.target)
    np.testing.assert_array_equal(around, np.where(np.isnan(case.target), np.nan, found))


@given(case=cases, is_close=st.booleans(), n_threads=st.sampled_from([1, 3]))
def test_leaves_that_were_stored_give_the_mean_of_a_second_target(case: Case, is_close: bool, n_threads: int) -> None:
    """Tests that stored leaves give the same bits as the trees, with thresholds of 32 bits and with longer ones."""
    if is_close:
        case.columns[0] = 1.0 + 1e-12 * case.columns[0]
        case.rows = np.ascontiguousarray(case.columns.T)
    forests = [case.forest(case.target, N_PAIRS), case.forest(case.target - case.trend, N_PAIRS)]
    smoothing = Smoothing("plain", 0.0, 1.0, 0.5, SURPRISE_WIDTH, 0.0, TAIL_PROBABILITY)
    views = [(forest, None, 0.5, 1.0, 1.0) for forest in forests]
    leaves = FoundLeaves(forests, len(case.rows))
    assert leaves.can_store()
    column_evidence(views, smoothing, case.rows, case.fitted, case.target, n_threads, None, leaves)
    second = np.random.default_rng(case.seed).integers(256, size=len(case.target)).astype(np.uint8)
    for forest in forests:
        forest.set_second_target(second)
    expected = second_means(forests, case.rows, case.fitted)
    np.testing.assert_array_equal(leaves.second_means(second, n_threads), expected)


def test_leaves_are_stored_only_where_they_can_be() -> None:
    """Tests that forests with large samples, or that were opened, store none; and that other forests are refused."""
    random = np.random.default_rng(0)
    one, numbers = np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint8)
    # Leaves of up to 256 rows are kept whole: two samples of 33,000 have more members than 16 bits can tell apart.
    large = grow_forest(random.normal(size=(1, 70_000)), numbers, random.normal(size=70_000), one, 1, 4, 1, 33_000, 0)
    assert not FoundLeaves([large], 10).can_store()
    case = Case(3, 40, "normal")
    forest, other = case.forest(case.target, N_PAIRS), case.forest(case.target, N_PAIRS)
    smoothing = Smoothing("plain", 0.0, 1.0, 0.5, SURPRISE_WIDTH, 0.0, TAIL_PROBABILITY)
    leaves = FoundLeaves([forest], len(case.rows))
    with pytest.raises(ValueError, match="none were stored"):
        leaves.second_means(np.zeros(40, dtype=np.uint8))
    with pytest.raises(ValueError, match="of the same forests"):
        column_evidence([(other, None, 1.0, 1.0, 1.0)], smoothing, case.rows, case.fitted, case.target, leaves=leaves)
    forest.release()
    assert not FoundLeaves([forest], len(case.rows)).can_store()


def test_a_value_that_nearly_all_comparable_rows_have_has_no_evidence() -> None:
    """Tests a column of one value and few others, whatever the value and the width: it is as dense as can be."""
    random = np.random.default_rng(0)
    for common, width in random.uniform([-100, 0.5], [100, 2.0], (50, 2)).tolist():
        target = np.where(np.arange(100) < 95, common, common + 10.0)
        one, numbers = np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint8)
        forest = grow_forest(random.normal(size=(1, 100)), numbers, target, one, 1, 30, 16, 50, 0)
        smoothing = Smoothing("plain", 0.0, 1.0, 0.25, SURPRISE_WIDTH, 1.0, TAIL_PROBABILITY)
        rows, fitted = np.zeros((1, 1)), np.array([-1])
        found, *_ = column_evidence([(forest, None, 1.0, width, 0.5)], smoothing, rows, fitted, np.array([common]))
        assert found[0] < 0.3


def big_case(kind: str) -> tuple[Case, list[Any], Smoothing]:
    case = Case(3, 3000, kind)
    forests = [case.forest(case.target, N_PAIRS), case.forest(case.target - case.trend, N_PAIRS)]
    views = [(forests[0], None, 0.4, 0.05, 0.1), (forests[1], case.trend, 0.6, 0.05, 0.1)]
    return case, views, Smoothing("asinh", 0.0, 1.0, 0.25, SURPRISE_WIDTH, 0.0, TAIL_PROBABILITY)


@pytest.mark.parametrize("kind", ["normal", "ties", "gross"])
def test_evidence_is_the_same_with_every_kernel_thread_and_batch(kind: str) -> None:
    """Tests that the bits of evidence and atoms depend neither on the build, nor on threads, nor on other rows."""
    case, views, smoothing = big_case(kind)
    found = column_evidence(views, smoothing, case.rows, case.fitted, case.target)
    atoms = views[0][0].atoms(case.rows, case.fitted)
    before = _core.kernel()
    try:
        for name in _core.kernels():
            _core.use_kernel(name)
            for first, second in zip(
                column_evidence(views, smoothing, case.rows, case.fitted, case.target, 2), found, strict=True
            ):
                np.testing.assert_array_equal(first, second)
            np.testing.assert_array_equal(views[0][0].atoms(case.rows, case.fitted, 2), atoms)
    finally:
        _core.use_kernel(before)
    order = np.random.default_rng(0).permutation(3000)[:500]
    some = [(forest, None if each is None else each[order], *rest) for forest, each, *rest in views]
    rows, fitted = np.ascontiguousarray(case.rows[order]), case.fitted[order]
    for first, second in zip(column_evidence(some, smoothing, rows, fitted, case.target[order]), found, strict=True):
        np.testing.assert_array_equal(first, second[order])


@settings(max_examples=60)
@given(
    case=cases,
    shape=st.sampled_from(SHAPES),
    width=st.sampled_from([1e-9, 0.12, 0.7, 50.0]),
    resolution=st.sampled_from([0.0, 0.3]),
    chosen=st.lists(st.integers(0, 200), min_size=1, max_size=12, unique=True),
)
def test_quantiles_that_are_searched_for_are_those_of_all_points(
    case: Case, shape: str, width: float, resolution: float, chosen: list[int]
) -> None:
    """Tests that a few quantiles, which are searched for, are the same bits as those among many, which are not; and
    that atoms which were kept give them again.
    """
    forests = [case.forest(case.target, N_PAIRS), case.forest(case.target - case.trend, N_PAIRS)]
    smoothing = Smoothing(shape, 0.0, 0.5 * case.unit, width, SURPRISE_WIDTH, resolution * case.unit, TAIL_PROBABILITY)
    min_width = 1e-3 * (case.unit if shape == "plain" else 1.0)
    views = [(forests[0], None, 0.4, min_width, case.unit), (forests[1], case.trend, 0.6, 3.0 * min_width, case.unit)]
    levels, places = np.linspace(0.0, 1.0, 201), sorted(chosen)
    expected = column_quantiles(views, smoothing, case.rows, case.fitted, levels)
    before = _core.kernel()
    try:
        for name in _core.kernels():
            _core.use_kernel(name)
            found, atoms = column_distributions(views, smoothing, case.rows, case.fitted, levels[places], 2)
            np.testing.assert_array_equal(found, expected[:, places])
            for some in (levels[places], levels):
                again = quantiles_of_atoms(views, smoothing, atoms, some)
                np.testing.assert_array_equal(again, expected[:, places] if len(some) < len(levels) else expected)
    finally:
        _core.use_kernel(before)
    for (forest, *_), of_view in zip(views, atoms, strict=True):
        np.testing.assert_array_equal(of_view, forest.atoms(case.rows, case.fitted))


def test_forests_are_the_same_on_two_threads() -> None:
    """Tests that a forest that grows on two threads has the same atoms."""
    case = Case(3, 3000, "normal")
    alone, together = (case.forest(case.target, N_PAIRS, n_threads) for n_threads in (1, 2))
    np.testing.assert_array_equal(alone.atoms(case.rows, case.fitted), together.atoms(case.rows, case.fitted))


@given(
    kind=st.sampled_from(SHAPES),
    center=st.floats(-1e6, 1e6),
    unit=st.floats(1e-6, 1e6),
    values=st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20),
)
def test_the_scale_of_a_column_is_the_same_in_python_and_in_the_compiled_part(
    kind: Any, center: float, unit: float, values: list[float]
) -> None:
    """Tests both against each other and the oracle, that values come back, and that slopes are derivatives."""
    given_values = np.array(values)
    shape = ColumnShape(kind, center, unit)
    core = Smoothing(kind, center, unit, 0.25, SURPRISE_WIDTH, 0.0, TAIL_PROBABILITY)
    plain = oracle.Shape(kind, center, unit)
    transformed = shape.transformed(given_values)
    np.testing.assert_allclose(core.transformed(given_values), transformed, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(core.slopes(given_values), shape.slopes(given_values), rtol=1e-12)
    np.testing.assert_allclose([plain.transformed(value) for value in values], transformed, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([plain.slope(value) for value in values], shape.slopes(given_values), rtol=1e-9)
    size = np.abs(given_values) + (unit if kind == "log" else unit + abs(center))
    assert (np.abs(shape.inverse(transformed) - given_values) <= 1e-9 * size).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share": -0.1}, "share"),
        ({"min_width": 0.0}, "least widths"),
        ({"min_deviation": 0.0}, "least widths"),
        ({"centers": np.zeros(3)}, "centers"),
        ({"values": np.zeros(3)}, "values"),
        ({"fitted": np.full(30, 30)}, "unknown fitted row"),
    ],
)
def test_wrong_arguments_are_refused(changes: Any, message: str) -> None:
    """Tests that the compiled part does not trust its caller with memory."""
    case = Case(0, 30, "normal")
    forest = case.forest(case.target, 2)
    usual: dict[str, Any] = {"centers": None, "share": 1.0, "min_width": 0.1, "min_deviation": 0.1}
    view = (forest, *(usual | {name: value for name, value in changes.items() if name in usual}).values())
    smoothing = Smoothing("plain", 0.0, 1.0, 0.25, SURPRISE_WIDTH, 0.0, TAIL_PROBABILITY)
    fitted, values = changes.get("fitted", case.fitted), changes.get("values", case.target)
    with pytest.raises(ValueError, match=message):
        column_evidence([view], smoothing, case.rows, fitted, values)
    with pytest.raises(ValueError, match="one view or more"):
        column_evidence([], smoothing, case.rows, case.fitted, case.target)


@pytest.mark.parametrize(
    "changes", [{"shape": "sqrt"}, {"unit": 0.0}, {"width": 0.0}, {"resolution": -1.0}, {"tail_probability": 1.0}]
)
def test_wrong_smoothing_is_refused(changes: Any) -> None:
    """Tests the settings that would divide by zero or mean nothing."""
    usual: dict[str, Any] = {
        "shape": "plain",
        "center": 0.0,
        "unit": 1.0,
        "width": 0.25,
        "surprise_width": 0.5,
        "resolution": 0.0,
        "tail_probability": 0.1,
    }
    with pytest.raises(ValueError, match=next(iter(changes)) if "shape" in changes else "above 0|between"):
        Smoothing(**(usual | changes))


def test_originals_come_before_their_copies() -> None:
    """Tests that a forest refuses originals that are not rows, or follow their copies."""
    for wrong in (np.arange(30) + 1, np.arange(29), np.arange(30) - 1):
        with pytest.raises(ValueError, match="originals"):
            Samples(np.ones(30, dtype=np.uint8), wrong, 2, 5, 0)


def test_no_tree_that_is_asked_about_a_row_has_seen_a_copy_of_it() -> None:
    """Tests that copies are in the same trees, and that each row is judged by trees without any of them."""
    case = Case(0, 60, "normal")
    target = np.nan_to_num(case.target)
    originals = np.arange(60)
    originals[[10, 20, 30]] = 5
    originals[41] = 40
    features = np.arange(3, dtype=np.uint16)
    forest = grow_forest(case.columns, case.categorical, target, features, 3, 2, 8, 30, 0, originals)
    for group in ([5, 10, 20, 30], [40, 41]):
        for row in group:
            weights = forest.weights(case.rows[row], row)
            assert (weights[group] == 0).all()
            assert weights.sum() == pytest.approx(1.0)
