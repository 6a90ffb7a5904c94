"""All known answers, to their tolerances: 1e-8 for functions, 1e-5 for fits and errors, 1e-4 for interval ends."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.models.groups import group_means
from deniable.models.intervals import HeldFixed
from deniable.models.maximising import best_of_starts
from deniable.models.problem import inverse
from tests.unit.models.cases import clusters_of, indicators_of, likelihood_of, listed_of, problem_of, vectors

CRITICAL = 3.841458820694124
FITTED = [name for name, case in vectors().items() if "at" in case]


@pytest.mark.parametrize("name", FITTED)
def test_functions(name: str) -> None:
    case = vectors()[name]
    first = np.array(case["likelihood_first_rows"])
    np.testing.assert_allclose(likelihood_of(case).relative[: len(first)], first, rtol=1e-11)
    found = problem_of(case).evaluate(np.array(case["at"]["theta"]))
    np.testing.assert_allclose(found.value, case["at"]["llf"], rtol=1e-8)
    for mine, known in ((found.gradient, case["at"]["gradient"]), (found.hessian, case["at"]["hessian"])):
        np.testing.assert_allclose(mine, known, rtol=0, atol=1e-8 * np.abs(known).max())


@pytest.mark.parametrize("name", FITTED)
def test_fits_and_errors(name: str) -> None:
    case = vectors()[name]
    problem, known, clusters = problem_of(case), case["fit"], clusters_of(case)
    solution, starts = best_of_starts(problem, np.zeros(problem.size))
    assert solution.converged
    assert starts.agree >= 1
    np.testing.assert_allclose(solution.theta, known["params"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(solution.evaluation.value, known["llf"], rtol=1e-8)
    bread = inverse(-solution.evaluation.hessian)
    errors = {
        "observed": bread,
        "sandwich": bread @ problem.middle(solution.theta, clusters) @ bread,
    }
    listed = listed_of(case) if "expected" in known["bse"] else None
    if "weights" not in case:
        errors["opg"] = inverse(problem.middle(solution.theta))
    if listed is not None:
        errors["expected"] = inverse(problem.expected(solution.theta, listed))
    for kind, matrix in errors.items():
        np.testing.assert_allclose(np.sqrt(np.diag(matrix)), known["bse"][kind], rtol=1e-5, err_msg=kind)


@pytest.mark.parametrize("kind", ["profile", "score_interval"])
@pytest.mark.parametrize("name", FITTED)
def test_intervals(name: str, kind: str) -> None:
    case = vectors()[name]
    known = case["fit"].get(kind)
    if known is None:
        assert kind == "score_interval"
        return
    problem = problem_of(case)
    theta = best_of_starts(problem, np.zeros(problem.size))[0].theta
    listed = listed_of(case) if kind == "score_interval" else None
    held = HeldFixed(
        problem,
        np.eye(problem.size)[known["parameter"]],
        theta,
        case["fit"]["bse"]["observed"][known["parameter"]],
        30.0,
        np.ones(problem.size),
        lambda at: problem.middle(at, clusters_of(case)),
        lambda at, middle: middle if listed is None else problem.expected(at, listed),
    )
    ends = [held.end(side, CRITICAL, "score" if listed is not None else "profile") for side in (-1, 1)]
    np.testing.assert_allclose(ends, known["interval"], atol=1e-4)


def test_means_by_randomised_group() -> None:
    case = vectors()["mean by randomised group"]
    found = group_means(indicators_of(case).values, np.array(case["outcome"]))
    mine = np.stack([found.values, found.standard_errors, found.lower, found.upper], axis=1)
    np.testing.assert_allclose(mine, case["fit"]["means"], rtol=1e-5)
