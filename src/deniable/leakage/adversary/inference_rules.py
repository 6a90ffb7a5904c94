"""Inference rules: the candidates that one report leaves, and a guess among them.

All rules are one: a report leaves a set of candidate values, and the guess is uniform among them, or among all values
if there is none. Source: *The Hidden Cost of Correlation* (2025), appendix C, reconstructed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import checked_report_codes, checked_report_records
from deniable.errors import InvalidParameterError, InvalidReportError
from deniable.mechanisms._bits import check_padding, checked_bits
from deniable.mechanisms.count_mean_sketch import CountMeanSketch
from deniable.mechanisms.exponential import Exponential
from deniable.mechanisms.grr import GRR
from deniable.mechanisms.histogram import SHE
from deniable.mechanisms.histogram_threshold import THE
from deniable.mechanisms.rappor import RAPPOR
from deniable.mechanisms.subset import SubsetSelection
from deniable.mechanisms.unary import OUE, SUE
from deniable.randomness import Randomness, draw

UnaryEncoding = SUE | OUE | THE | RAPPOR
Attackable = GRR | Exponential | UnaryEncoding | SubsetSelection | SHE | CountMeanSketch
"""Mechanisms with a known inference rule."""

BLOCK_CELLS = 1 << 20
"""Reports are attacked in blocks of at most about this many (report, value) pairs."""


def candidates(mechanism: Attackable, reports: Any) -> NDArray[np.bool_]:
    """Return which values a report leaves as candidates, bool[n, k]; a row may be empty.

    GRR, exponential: the reported value. Unary encodings (SUE, OUE, THE, RAPPOR): the set bits. Local hashing, count-
    mean sketches: {v: h(v) = z}. Subset selection: the subset. SHE: the largest component, several if they tie.

    Parameters
    ----------
    mechanism : Attackable
        Where the reports came from.
    reports : batch of n reports
        As ``mechanism.randomize`` returns them.

    Raises
    ------
    InvalidReportError
        If the reports are not the mechanism's.
    InvalidParameterError
        If no inference rule is known for the mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE
    >>> candidates(OUE(k=3, epsilon=1.0), np.array([[0b101], [0b000]], dtype=np.uint8))
    array([[ True, False,  True],
           [False, False, False]])
    """
    check_attackable(mechanism)
    k = mechanism.k
    if isinstance(mechanism, GRR | Exponential):
        return np.asarray(checked_report_codes(reports, k)[:, None] == np.arange(k), dtype=np.bool_)
    if isinstance(mechanism, UnaryEncoding):
        bits = checked_bits(reports, k)
        check_padding(bits, k)
        return np.unpackbits(bits, axis=1, count=k, bitorder="little").astype(np.bool_)
    if isinstance(mechanism, CountMeanSketch):
        hashes = mechanism.hashes
        parameters, reported = hashes.split(hashes.checked(reports))
        codes = np.tile(np.arange(k), len(reported))
        cells = hashes.hash(codes, *(np.repeat(column, k) for column in parameters)).reshape(-1, k)
        return np.asarray(cells == reported[:, None], dtype=np.bool_)
    if isinstance(mechanism, SubsetSelection):
        subsets = checked_report_records(reports, (k,) * int(mechanism.omega or 0))
        inside = np.zeros((len(subsets), k), dtype=np.bool_)
        inside[np.arange(len(subsets))[:, None], subsets] = True
        return inside
    components = checked_components(reports, k)
    return np.asarray(components == components.max(axis=1, keepdims=True), dtype=np.bool_)


def attack(mechanism: Attackable, reports: Any, rng: Randomness) -> NDArray[np.int64]:
    """Adversary: guess the true value behind every report.

    Parameters
    ----------
    mechanism : Attackable
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
    InvalidParameterError
        If no inference rule is known for the mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE, SimulationRandomness
    >>> from deniable.leakage.adversary.attacks import attack_success
    >>> rng = SimulationRandomness(1)
    >>> oue = OUE(k=5, epsilon=3.0)
    >>> guesses = attack(oue, oue.randomize(np.full(10_000, 2), rng), rng)
    >>> round(float((guesses == 2).mean()), 2), round(attack_success(oue), 2)
    (0.53, 0.54)
    """
    check_attackable(mechanism)
    if isinstance(mechanism, GRR | Exponential):
        return checked_report_codes(reports, mechanism.k).astype(np.int64)
    batch: Callable[..., Any] = mechanism.report_type
    several = isinstance(reports, tuple) and len(reports) == len(mechanism.report_fields)
    fields = reports if several else (np.asarray(reports),)
    n = len(fields[0])
    step = max(1, BLOCK_CELLS // mechanism.k)
    guesses = np.empty(n, dtype=np.int64)
    for start in range(0, n, step):
        block = [field[start : start + step] for field in fields]
        allowed = candidates(mechanism, batch(*block) if several else block[0])
        guesses[start : start + step] = _choose(allowed, rng)
    if n == 0:
        candidates(mechanism, reports)  # refuses reports of another type also where there are none
    return guesses


def guess_probabilities(mechanism: Attackable, reports: Any) -> NDArray[np.float64]:
    """Return P(guess = v | report), float64[n, k]: uniform among the candidates, or among all values if none.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE
    >>> guess_probabilities(OUE(k=2, epsilon=1.0), np.array([[0b11], [0b10], [0b00]], dtype=np.uint8))
    array([[0.5, 0.5],
           [0. , 1. ],
           [0.5, 0.5]])
    """
    filled = _filled(candidates(mechanism, reports))
    probabilities: NDArray[np.float64] = filled / filled.sum(axis=1, keepdims=True)
    return probabilities


def _filled(allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return allowed | ~allowed.any(axis=1, keepdims=True)


def _choose(allowed: NDArray[np.bool_], rng: Randomness) -> NDArray[np.int64]:
    filled = _filled(allowed)
    sizes = filled.sum(axis=1, dtype=np.uint64)
    # Uniform up to k/2^32: guesses protect nobody, so they need no rejection.
    rank = ((draw(rng, len(filled)) >> np.uint64(32)) * sizes) >> np.uint64(32)
    chosen: NDArray[np.int64] = (filled.cumsum(axis=1, dtype=np.uint64) > rank[:, None]).argmax(axis=1)
    return chosen


def check_attackable(mechanism: Attackable) -> None:
    """Raise InvalidParameterError if no inference rule is known for the mechanism."""
    if not isinstance(mechanism, Attackable):
        known = "GRR, Exponential, SUE, OUE, THE, RAPPOR, SubsetSelection, SHE, CountMeanSketch (BLH, OLH)"
        raise InvalidParameterError(f"mechanism must be one of {known}, got {type(mechanism).__name__}")


def checked_components(reports: ArrayLike, k: int) -> NDArray[Any]:
    """Return SHE reports as an integer array of shape (n, k), or raise InvalidReportError."""
    components = np.asarray(reports)
    if not np.issubdtype(components.dtype, np.integer) or components.ndim != 2 or components.shape[1] != k:
        raise InvalidReportError(
            f"reports must be integers of shape (n, {k}), got dtype={components.dtype}, shape={components.shape}"
        )
    return components
