"""P-values in two bytes each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paribus.methods.cell_codes import MISSING, decode, encode

EVERY = np.arange(MISSING + 1).astype(np.uint16)


@given(st.lists(st.floats(0.0, 1e6), min_size=1))
def test_codes_ascend_with_evidence(nats: list[float]) -> None:
    """Tests that of two values, the one with more evidence never has the higher p-value, which is above 0."""
    evidence = np.sort(nats)
    p_values = decode(encode(evidence))
    assert (np.diff(p_values) <= 0).all()
    assert ((p_values > 0) & (p_values <= 1)).all()


@given(st.floats(0.0, 68.0))
def test_three_digits_are_kept(nats: float) -> None:
    """Tests the rounding error of p-values down to 1e-29."""
    p_value = np.exp(-nats)
    assert abs(decode(encode(np.array([nats])))[0] / p_value - 1.0) < 0.00055


def test_each_code_is_that_of_its_p_value() -> None:
    """Tests all codes, and that what is missing stays missing."""
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(encode(-np.log(decode(EVERY))), EVERY)
    assert np.isnan(decode(EVERY[-1:])).all()
    assert not np.isnan(decode(EVERY[:-1])).any()


def test_common_limits_are_p_values() -> None:
    """Tests that a p-value of a half, a tenth or 5 % is not pushed over a limit of as much."""
    limits = np.array([1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001])
    found = decode(encode(-np.log(limits)))
    assert (found <= limits).all()
    np.testing.assert_allclose(found, limits, rtol=1e-6)
    np.testing.assert_array_equal(found[:3], limits[:3])
