"""Weighted estimating equations, against known answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.models.maximising import best_of_starts
from deniable.models.problem import RowWeights, inverse
from deniable.models.weighting import Copy, WeightedProblem
from tests.unit.models.cases import clusters_of, indicators_of, vectors


def _weighted(case: dict[str, Any], responses: Any, totals: Any, link: Any) -> WeightedProblem:
    x = np.array(case["X"])
    nothing = Copy(np.empty(0, dtype=np.int64), np.empty((1, 0)))
    return WeightedProblem(
        link, x.shape[1], np.arange(x.shape[1]), x, [nothing], totals, responses[:, None, :], RowWeights()
    )


def _sandwich(problem: WeightedProblem, theta: Any, clusters: Any = None) -> Any:
    bread = inverse(-problem.evaluate(theta).hessian)
    return np.sqrt(np.diag(bread @ problem.middle(theta, clusters) @ bread))


def test_linear_model_of_scores() -> None:
    case = vectors()["linear by unbiased scores"]
    scores = indicators_of(case).values @ np.array(case["scores"])
    np.testing.assert_allclose(scores[:5], case["score_first_rows"], rtol=1e-10)
    problem = _weighted(case, scores[:, None], np.ones((len(scores), 1)), "linear")
    theta = best_of_starts(problem, np.zeros(3), 1)[0].theta
    np.testing.assert_allclose(theta, case["fit"]["params"], rtol=1e-5)
    np.testing.assert_allclose(_sandwich(problem, theta), case["fit"]["bse"]["sandwich"], rtol=1e-5)
    clustered = _sandwich(problem, theta, clusters_of(case))
    np.testing.assert_allclose(clustered, case["fit"]["bse"]["clustered"], rtol=1e-5)


def test_corrected_score() -> None:
    case = vectors()["corrected score"]
    values = indicators_of(case).values
    problem = _weighted(case, values[:, 1:], np.ones((len(values), 1)), "logit")
    theta = best_of_starts(problem, np.zeros(problem.size))[0].theta
    np.testing.assert_allclose(theta, case["fit"]["params"], rtol=1e-5)
    np.testing.assert_allclose(_sandwich(problem, theta), case["fit"]["bse"]["sandwich"], rtol=1e-5)
