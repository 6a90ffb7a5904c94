"""Mixture problems: threads change no bit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

import deniable as dn
from deniable.models import problem as problems
from deniable.models.maximising import best_of_starts
from deniable.models.problem import MixtureProblem
from deniable.models.row_laws import MultinomialLaw

_FEW = 40_000

_SCRIPT = """
from tests.unit.models.test_problem import fitted
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
    """This is so for our own threads and for those of numpy's BLAS."""
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
