"""True answers of the contributors: the same array in both environments, checked by its digest."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import Case


def true_answers(case: Case, contributors: int, seed: int) -> NDArray[np.int64]:
    """Return int64[n] codes for one attribute, int64[n, d] records for several; small codes are more frequent."""
    uniform = np.random.Generator(np.random.PCG64(seed)).random((contributors, len(case.sizes)))
    records: NDArray[np.int64] = (uniform * uniform * np.asarray(case.sizes)).astype(np.int64)
    return records[:, 0].copy() if len(case.sizes) == 1 else records


def true_frequencies(case: Case, answers: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Return the realised frequencies of every attribute."""
    columns = answers.reshape(len(answers), -1)
    return [np.bincount(columns[:, j], minlength=k) / len(answers) for j, k in enumerate(case.sizes)]


def mean_absolute_error(estimates: list[NDArray[np.float64]], truth: list[NDArray[np.float64]]) -> float:
    """Return the mean of |estimate - truth| over attributes and values, to show that both sides estimate alike."""
    return float(np.mean([np.mean(np.abs(found - true)) for found, true in zip(estimates, truth, strict=True)]))


def digest(answers: NDArray[np.int64]) -> str:
    """Return the SHA-256 of the array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(answers).tobytes()).hexdigest()
