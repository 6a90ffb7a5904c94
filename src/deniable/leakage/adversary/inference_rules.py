"""Inference rules: the candidates that one report leaves, and a guess among them.

All rules are one: a report leaves a set of candidate values, and the guess is uniform among them, or among all values
if there is none. Source: *The Hidden Cost of Correlation* (2025), appendix C, reconstructed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.randomness import Randomness, draw
from deniable.oracles.oracle import FrequencyOracle, checked_oracle

BLOCK_CELLS = 1 << 20
"""Reports are attacked in blocks of at most about this many (report, value) pairs."""


def candidates(mechanism: FrequencyOracle[Any], reports: Any) -> NDArray[np.bool_]:
    """Return which values a report leaves as candidates, bool[n, k]: those it supports; a row may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE
    >>> candidates(OUE(k=3, epsilon=1.0), np.array([[0b101], [0b000]], dtype=np.uint8))
    array([[ True, False,  True],
           [False, False, False]])
    """
    return mechanism.supports(reports, np.arange(mechanism.k))


def attack(mechanism: FrequencyOracle[Any], reports: Any, rng: Randomness) -> NDArray[np.int64]:
    """Adversary: guess the true value behind every report.

    Parameters
    ----------
    mechanism : FrequencyOracle
        Where the reports came from.
    reports : batch of n reports
        As ``mechanism.randomize`` returns them.
    rng : Randomness
        Breaks ties between candidates.

    Returns
    -------
    int64[n]
        Guesses in 0..k-1.

    Raises
    ------
    InvalidReportError
        If the reports are not the mechanism's.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE, SimulationRandomness
    >>> from deniable.leakage.adversary.attacks import attack_success
    >>> rng = SimulationRandomness(1)
    >>> oue = OUE(k=5, epsilon=3.0)
    >>> guesses = attack(oue, oue.randomize(np.full(10_000, 2), rng), rng)
    >>> round(float((guesses == 2).mean()), 2), round(attack_success(oue), 2)
    (0.54, 0.54)
    """
    batch: Callable[..., Any] = checked_oracle(mechanism).report_type
    several = isinstance(reports, tuple) and len(reports) == len(mechanism.report_fields)
    fields = reports if several else (np.asarray(reports),)
    n = len(fields[0])
    step = max(1, BLOCK_CELLS // mechanism.k)
    guesses = np.empty(n, dtype=np.int64)
    for start in range(0, n, step):
        block = [field[start : start + step] for field in fields]
        allowed = candidates(mechanism, batch(*block) if several else block[0])
        guesses[start : start + step] = allowed.argmax(axis=1) if says_one(mechanism) else _choose(allowed, rng)
    if n == 0:
        candidates(mechanism, reports)  # refuses reports of another type also where there are none
    return guesses


def _filled(allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return allowed | ~allowed.any(axis=1, keepdims=True)


def _choose(allowed: NDArray[np.bool_], rng: Randomness) -> NDArray[np.int64]:
    filled = _filled(allowed)
    sizes = filled.sum(axis=1, dtype=np.uint64)
    # Uniform up to k/2^32: guesses protect nobody, so they need no rejection.
    rank = ((draw(rng, len(filled)) >> np.uint64(32)) * sizes) >> np.uint64(32)
    chosen: NDArray[np.int64] = (filled.cumsum(axis=1, dtype=np.uint64) > rank[:, None]).argmax(axis=1)
    return chosen


def says_one(mechanism: FrequencyOracle[Any]) -> bool:
    """Tell whether a report is the one value that it supports: then it is its own label, and no guess is needed."""
    law = mechanism.support_law
    return law is not None and law.reachable == 1 and mechanism.report_fields[0].width is None
