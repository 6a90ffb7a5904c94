"""Prior distributions as 64-bit cumulative thresholds, and draws of codes from them.

One random word u draws a code: the first v whose cumulative threshold exceeds u. The code's probability is exactly the
difference of two integers divided by 2^64. Estimators and guarantees use this implemented prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_entries
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, Words, blocks
from deniable.core.thresholds import SCALE, exact
from deniable.errors import InvalidParameterError, TooLargeError
from deniable.records.layout import starts_of

SUM_TOLERANCE = Fraction(1, 10**9)
GUIDE_BITS = 16
"""At most this many leading bits of a word index the guide. Four bits more than a code has settle most draws."""

MAX_DENOMINATOR_BITS = 1 << 15
"""Most bits of a prior's common denominator. Fractions with larger denominators would take for ever to add up."""

Distribution = tuple[float | Fraction, ...]


def checked_priors(priors: Sequence[Any], sizes: Sequence[int]) -> tuple[Distribution, ...]:
    """Return each attribute's distribution over its domain; see `checked_distribution`."""
    checked_entries(priors, len(sizes), f"priors must have one distribution per attribute ({len(sizes)})")
    return tuple(
        checked_distribution(f"priors[{j}]", prior, size)
        for j, (prior, size) in enumerate(zip(priors, sizes, strict=True))
    )


def checked_distribution(name: str, given: Any, k: int) -> Distribution:
    """Return k probabilities that sum to 1 within 1e-9, as floats, or as Fractions if no float is written the same."""
    checked_entries(given, k, f"{name} must have {k} probabilities")
    if all(type(value) is float and value >= 0 for value in given) and abs(math.fsum(given) - 1) < SUM_TOLERANCE / 2:
        # Learned tables have floats, which are checked here without slow fractions. Adding zero turns -0.0 into zero.
        return tuple(value + 0.0 for value in given)
    numbers = [exact(value, f"{name}[{v}]") for v, value in enumerate(given)]
    for v, number in enumerate(numbers):
        if number < 0:
            raise InvalidParameterError(f"{name}[{v}] must be >= 0, got {float(number)}")
    total = Fraction(0)
    for number in numbers:
        total += number
        if total.denominator.bit_length() > MAX_DENOMINATOR_BITS:
            raise TooLargeError(
                f"the probabilities of {name} must have a common denominator below 2^{MAX_DENOMINATOR_BITS}: round "
                "these probabilities"
            )
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidParameterError(f"{name} must sum to 1 within 1e-09, got sum={float(total)}")
    return tuple(float(number) if exact(float(number)) == number else number for number in numbers)


def cumulative_thresholds(prior: Sequence[float | Fraction]) -> tuple[int, ...]:
    """Return C_0 <= ... <= C_{k-1} = 2^64: a word u with C_{v-1} <= u < C_v draws v. A zero prior stays zero."""
    sums = list(accumulate(exact(value) for value in prior))
    # Only whole numbers are used: the sums are normalised and rounded down in one step.
    scale, total = SCALE * sums[-1].denominator, sums[-1].numerator
    return tuple(scale * part.numerator // (total * part.denominator) for part in sums)


def implemented_prior(thresholds: Sequence[int]) -> tuple[Fraction, ...]:
    """Return the exact probabilities with which the thresholds draw each code."""
    return tuple(Fraction(high - low, SCALE) for low, high in pairwise((0, *thresholds)))


class PriorTables(NamedTuple):
    """Arrays that `draw_from_priors` reads, with one part for each attribute in order.

    Parameters
    ----------
    limits : uint64[k_1 + ... + k_d]
        Cumulative thresholds below 2^64. They are not read from an attribute's last possible code on.
    starts, lasts : int64[d]
        Start of each attribute's limits, and its last possible code.
    guide : int64
        Smallest code that a word with given leading bits can draw. The search starts at this code.
    guide_starts : int64[d]
        Start of each attribute's guide.
    shifts : uint64[d]
        Number of bits by which a word is shifted so that its leading bits remain.
    """

    limits: Words
    starts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    guide: NDArray[np.int64]
    guide_starts: NDArray[np.int64]
    shifts: Words


def prior_tables(thresholds: Sequence[Sequence[int]]) -> PriorTables:
    """Return the tables of the attributes' cumulative thresholds."""
    limits, lasts, guides, shifts = [], [], [], []
    for own in thresholds:
        last = next(v for v, threshold in enumerate(own) if threshold == SCALE)
        below = np.array(own[:last], dtype=np.uint64)
        bits = min(GUIDE_BITS, (len(own) - 1).bit_length() + 4)
        edges = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
        limits.append(np.concatenate([below, np.zeros(len(own) - last, dtype=np.uint64)]))
        lasts.append(last)
        guides.append(np.searchsorted(below, edges, side="right"))
        shifts.append(64 - bits)
    return PriorTables(
        np.concatenate(limits),
        starts_of([len(part) for part in limits]),
        np.array(lasts, dtype=np.int64),
        np.concatenate(guides).astype(np.int64),
        starts_of([len(part) for part in guides]),
        np.array(shifts, dtype=np.uint64),
    )


def draw_from_priors(tables: PriorTables, rng: Randomness, reports: NDArray[Any]) -> None:
    """Overwrite reports[n, d] with independent codes, column j from the prior of attribute j."""
    d = reports.shape[1]
    for rows, words in blocks(rng, len(reports), d):
        _draw(words.reshape(-1, d), *tables, reports[rows])


@kernel
def _draw(
    words: Words,
    limits: Words,
    starts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    guide: NDArray[np.int64],
    guide_starts: NDArray[np.int64],
    shifts: Words,
    reports: NDArray[Any],
) -> None:
    for i in range(words.shape[0]):
        for j in range(starts.shape[0]):
            word = words[i, j]
            code = guide[guide_starts[j] + np.int64(word >> shifts[j])]
            while code < lasts[j] and word >= limits[starts[j] + code]:
                code += 1
            reports[i, j] = code
