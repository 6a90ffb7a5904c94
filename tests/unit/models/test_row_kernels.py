"""Compiled sums over rows against matrix products; results do not depend on the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.models.problem import gram
from deniable.models.row_kernels import weigh_across, weighted_grams


@pytest.mark.parametrize("n", [1, 3, 17, 42, 300])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_weighted_grams_are_matrix_products(n: int, m: int) -> None:
    """Rows are added up 128 at a time, pairs four at a time or one by one: none is left out, and none twice."""
    rng = np.random.default_rng([n, m])
    x, hessian = rng.normal(size=(n, 4)), rng.normal(size=(n, m, m))
    first, second = np.triu_indices(m)
    found = weighted_grams(x, hessian, first, second)
    for place, (a, b) in enumerate(zip(first, second, strict=True)):
        np.testing.assert_allclose(found[place], x.T @ (hessian[:, a, b, None] * x), rtol=1e-12, atol=1e-12)
    across = np.zeros((len(first), 4, 1))
    weigh_across(x, np.ones((n, 1)), hessian, first, second, across)
    np.testing.assert_allclose(across[:, :, 0], hessian[:, first, second].T @ x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gram(x), x.T @ x, rtol=1e-12)
