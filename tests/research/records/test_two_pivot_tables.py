"""Tables of two pivots."""

from __future__ import annotations

import numpy as np
import pytest

from deniable import GRR
from deniable.research.records.two_pivot_tables import _least_norm


@pytest.mark.parametrize("law", [(0.6, 0.2, 0.2), (0.4, 0.35, 0.15, 0.1)])
def test_least_norm_tables_keep_their_mean_where_they_would_be_negative(law: tuple[float, ...]) -> None:
    """They move towards the constant table just far enough; uniform pivots have the constant table."""
    own, oracle, pivots = np.array([0.45, 0.5, 0.05]), GRR(3, 6.0), np.array(law)
    constant = _least_norm(own, oracle, [np.full(len(law), 1 / len(law))], 1000, 3)[0][0]
    table = _least_norm(own, oracle, [pivots], 1000, 3)[0]
    assert np.ptp(table, axis=0).min() > 0.05
    assert pivots @ table == pytest.approx(constant, abs=1e-12)
    assert table.min() == pytest.approx(0, abs=1e-12)
