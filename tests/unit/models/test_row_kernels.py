"""Compiled sums over rows against matrix products, and results that do not depend on any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import deniable as dn
from deniable.core.report_likelihood import ReportLikelihood
from deniable.models import problem as problems
from deniable.models.maximising import best_of_starts
from deniable.models.problem import MixtureProblem, RowWeights, gram
from deniable.models.row_kernels import weigh_across, weighted_grams
from deniable.models.row_laws import BothLaw, MultinomialLaw, OrderedLaw


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


_FEW = 40_000
_SCRIPT = """
from tests.unit.models.test_row_kernels import fitted
print(fitted().tobytes().hex())
"""


def fitted() -> NDArray[np.float64]:
    """Return parameters, Hessian and middle of a model with enough rows for several threads."""
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(_FEW), rng.normal(size=(_FEW, 4))])
    grr = dn.GRR(3, 1.5)
    reports = grr.randomize(rng.integers(0, 3, _FEW), dn.SimulationRandomness(2))
    problem = MixtureProblem(MultinomialLaw(3), [x], grr.likelihood(reports))
    found = best_of_starts(problem, np.zeros(problem.size), 1)[0]
    return np.concatenate([found.theta, found.evaluation.hessian.ravel(), problem.middle(found.theta).ravel()])


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither our own threads nor those of numpy's BLAS."""
    results = []
    for threads in (1, 3):
        monkeypatch.setattr(problems, "available_threads", lambda threads=threads: threads)
        results.append(fitted().tobytes())
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env={**os.environ, **one}, check=True, capture_output=True, text=True
    )
    assert results[0] == results[1]
    assert results[0].hex() == told.stdout.strip()
