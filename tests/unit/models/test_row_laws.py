"""Properties of rows: scores and information."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable.core.report_likelihood import ReportLikelihood
from deniable.models.problem import MixtureProblem, RowWeights
from deniable.models.row_laws import BothLaw, MultinomialLaw, OrderedLaw


@pytest.mark.parametrize("law", [MultinomialLaw(4), OrderedLaw(4), BothLaw(2, np.array([[0.0], [1.0]]))])
def test_the_middle_is_the_sum_of_squared_scores(law: Any) -> None:
    rng = np.random.default_rng(5)
    n = 53
    designs = [rng.normal(size=(n, 3)), np.ones((n, 1))]
    told = ReportLikelihood.of(rng.uniform(0.1, 1, (n, law.cells)))
    weights = RowWeights(rng.uniform(0.5, 2, n), rng.integers(1, 4, n).astype(float))
    problem = MixtureProblem(law, designs, told, weights=weights)
    theta = rng.normal(0, 0.3, problem.size)
    scores = problem.scores(theta, slice(0, n))
    assert weights.frequency is not None
    known = scores.T @ (scores * weights.frequency[:, None])
    np.testing.assert_allclose(problem.middle(theta), known, rtol=1e-11, atol=1e-11)
