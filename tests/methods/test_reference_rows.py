"""Reference rows and percentiles in blocks, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from paribus import ConditionalSurprise
from paribus.methods.interface import RowBatch
from paribus.methods.surprise.mixture import ConditionalColumn
from paribus.methods.surprise.model import N_QUANTILES, SurpriseModel
from paribus.methods.surprise.state import SurpriseSettings
from paribus.methods.surprise.views import Asked
from paribus.tables.encoded_table import encode_table
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.fixture(scope="module")
def model() -> SurpriseModel:
    table = encode_table(mixed_table(300), CONTEXT, BEHAVIOR, None).by_content()
    return SurpriseModel.fit(table, SurpriseSettings(16, 0.7, 4, 2**15, 0), 1)[0]


def test_reference_rows_are_those_that_share_most_leaves(model: SurpriseModel) -> None:
    """Tests rows, weights and order of reference groups against weights over all rows, sorted in Python."""
    columns = model._columns
    rows, fitted = columns.rows[:40], np.where(np.arange(40) % 2 == 0, np.arange(40), -1)
    positions, distances, weights = columns.groups.find(Asked(rows, fitted))
    for row in range(40):
        of_features = []
        for column in columns.given_context:
            parts = [share * forest.weights(rows[row], int(fitted[row])) for forest, share in column.counted_forests]
            of_features.append(np.sum(parts, axis=0))
        total = np.sum(of_features, axis=0)
        found = positions[row][positions[row] >= 0]
        assert len(found) == min((total > 0).sum(), columns.groups._size)
        assert total[found].min() >= np.sort(total)[-len(found)] - 1e-9
        near = distances[row, : len(found)]
        np.testing.assert_allclose(near, columns.groups.distances(rows[row, : columns.n_contextual], found))
        assert (np.diff(near) >= 0).all()
        for feature, each in enumerate(of_features):
            np.testing.assert_allclose(weights[row, feature, : len(found)], each[found] / each[found].sum(), atol=1e-12)


def test_percentiles_are_those_of_the_density(model: SurpriseModel) -> None:
    """Tests the compiled quantiles of smooth distributions against the plain ones, on any scale; and that those of a
    few levels, and those of atoms that were kept, are the same bits.
    """
    columns = model._columns
    rows, fitted = columns.rows[:50], np.where(np.arange(50) % 2 == 0, np.arange(50), -1)
    asked = Asked(rows, fitted)
    for column in columns.given_context:
        assert isinstance(column, ConditionalColumn)
        found = column.percentiles(asked, N_QUANTILES)
        distributions = column.find(asked, N_QUANTILES)
        np.testing.assert_array_equal(distributions.central, found[:, [5, 50, 95]])
        np.testing.assert_array_equal(distributions.has_one_value, found[:, 0] == found[:, -1])
        values = np.where(np.arange(50) % 7 == 0, np.nan, rows[:, column._column])
        judged, together = column.judge_and_find(asked, values, N_QUANTILES)
        np.testing.assert_array_equal(together.central, distributions.central)
        np.testing.assert_array_equal(together.percentiles(7), distributions.percentiles(7))
        np.testing.assert_array_equal(judged, column.judge(asked, values))
        for row in range(50):
            np.testing.assert_array_equal(distributions.percentiles(row), found[row])
            expected = distributions.density(row).percentiles(N_QUANTILES)
            np.testing.assert_allclose(found[row], expected, rtol=1e-3, atol=1e-3 * np.ptp(expected))


def test_blocks_threads_and_kernels_change_nothing(model: SurpriseModel) -> None:
    """Tests that percentiles and reference groups are the same bits for rows alone and together, on two threads."""
    columns = model._columns
    context, behavior = columns.rows[:60, : columns.n_contextual], columns.rows[:60, columns.n_contextual :]
    fitted = np.full(60, -1)
    batch = RowBatch(context, behavior, fitted, 2)
    together, (positions, distances) = model.percentiles(batch), model.neighbors(batch)
    for row in range(0, 60, 7):
        one = slice(row, row + 1)
        alone = RowBatch(context[one], behavior[one], fitted[one], 1)
        np.testing.assert_array_equal(model.percentiles(alone)[0], together[row])
        np.testing.assert_array_equal(model.neighbors(alone)[0][0], positions[row])
        np.testing.assert_array_equal(model.neighbors(alone)[1][0], distances[row])


def test_forests_that_are_kept_change_nothing(model: SurpriseModel) -> None:
    """Tests that reference groups and scores are the same bits with forests that are kept, for new rows and others."""
    columns = model._columns
    rows = columns.rows[:80]
    new, fitted = Asked(rows, np.full(80, -1)), Asked(rows, np.arange(80))
    batch = RowBatch(rows[:, : columns.n_contextual], rows[:, columns.n_contextual :], new.fitted, 2)
    expected = [*columns.groups.find(new), *columns.groups.find(fitted)]
    with model.keeping():
        judged = model.judge(batch)
        kept = [*columns.groups.find(new), *columns.groups.find(fitted)]
        for column in columns.all:
            column.judge(fitted, rows[:, 0].copy())
        kept_both = [*columns.groups.find(new), *columns.groups.find(fitted)]
    for found in (kept, kept_both, [*columns.groups.find(new), *columns.groups.find(fitted)]):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(model.judge(batch).partial, judged.partial)


def test_rows_of_leaves_are_found_by_their_place() -> None:
    """Tests fitted rows whose leaves only unpacked forests know yet, against leaves that are found row by row."""
    table = encode_table(mixed_table(300), CONTEXT, BEHAVIOR, None).by_content()
    _, state, _ = SurpriseModel.fit(table, SurpriseSettings(16, 0.7, 4, 2**15, 0), 1)
    one_by_one, unpacked = SurpriseModel.recall(table, state), SurpriseModel.recall(table, state)
    asked = Asked(table.rows, np.arange(300))
    with unpacked.keeping():
        for column in unpacked._columns.all:
            column.judge(asked, table.rows[:, 0].copy())
        found = unpacked._columns.groups.find(asked)
    for one, other in zip(found, one_by_one._columns.groups.find(asked), strict=True):
        np.testing.assert_array_equal(one, other)


def test_constant_behavior_is_compared_with_the_nearest_rows() -> None:
    """Tests that a table whose only behavior is constant still has reference rows."""
    table = mixed_table(40)
    table["pressure"] = 3.0
    with pytest.warns(UserWarning, match="scores 0"):
        detector = ConditionalSurprise(CONTEXT, ["pressure"], n_trees=4).fit(table)
    assert len(detector.explain(0).reference_positions) == 39
