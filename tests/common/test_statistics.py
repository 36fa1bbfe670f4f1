"""Small statistics beside plain or independent ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from paribus._common.statistics import average_ranks


@given(st.lists(st.sampled_from([-1.5, 0.0, 2.0, 7.0]) | st.floats(-1e300, 1e300), max_size=40))
def test_ranks_of_equal_values_are_shared(values: list[float]) -> None:
    """Tests that ranks are those of SciPy, whose import takes longer than the advice on a small table."""
    assert average_ranks(np.array(values)).tolist() == rankdata(np.array(values)).tolist()
