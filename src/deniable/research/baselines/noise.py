"""Clamped discrete Laplace noise as an integer table: its weights, its inverse, its kernels.

A component is `resolution` times a bit plus noise P(z) proportional to a^|z|, a = e^(-epsilon/(2 resolution)), clamped
to -clamp..resolution+clamp. Reflecting the range turns the law for bit 0 into the law for bit 1, so one table of
integer weights over 2^64 is all there is. Two answers differ in two components, so each of these may change its
probability by a factor e^(epsilon/2).
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import Words
from deniable.core.thresholds import SCALE, exp_bounds
from deniable.errors import InvalidParameterError

Components = NDArray[np.signedinteger[Any]]

_FRACTION_BITS = 256
_GUIDE_BITS = 12
_GUIDE_SHIFT = np.uint64(64 - _GUIDE_BITS)


@functools.lru_cache(maxsize=64)
def noise_weights(epsilon: Fraction, resolution: int, clamp: int) -> tuple[int, ...]:
    """Return the weights of the levels -clamp..resolution+clamp of a component that is 0; they sum to 2^64.

    Levels y and resolution - y are a pair: the bit swaps their probabilities. The larger weight of a pair is rounded
    down and the smaller one up, so their ratio is at most the ideal one, which is at most e^(epsilon/2). What is left
    of 2^64 is shared by the middle pair, which also brings its weights closer.

    Raises
    ------
    InvalidParameterError
        If the squared ratio of these very integers is not proved to be at most e^epsilon.
    """
    levels = resolution + 2 * clamp + 1
    middle = levels // 2
    # The weights of all levels are at most one unit above their share of this mass, so something is always left.
    mass = SCALE - levels
    low, high = exp_bounds(-epsilon / (2 * resolution))
    powers_low, powers_high = _power_bounds(low, high, resolution + clamp + 1)
    # P(z) = (1-a)/(1+a) a^|z|; all noise beyond -clamp, or beyond clamp + resolution, has a^distance/(1+a).
    inner_low, inner_high = _floor(mass * (1 - high) / (1 + high)), _ceil(mass * (1 - low) / (1 + low))
    outer_low, outer_high = _floor(mass / (1 + high)), _ceil(mass / (1 + low))
    weights = [0] * levels
    for i in range(middle):
        y = i - clamp
        larger = (outer_low if i == 0 else inner_low) * powers_low[abs(y)]
        smaller = (outer_high if i == 0 else inner_high) * powers_high[resolution - y]
        weights[levels - 1 - i] = -(-smaller >> 2 * _FRACTION_BITS)
        weights[i] = max(larger >> 2 * _FRACTION_BITS, weights[levels - 1 - i])
    spare = SCALE - sum(weights)
    weights[(levels - 1) // 2] += spare // 2  # the middle one itself, if there is one
    weights[middle] += spare - spare // 2
    if min(weights) < 1 or half_ratio(weights) ** 2 > exp_bounds(epsilon)[0]:
        raise InvalidParameterError(
            f"resolution and clamp must leave weights that 64 bits can hold at epsilon={float(epsilon)}, "
            f"got resolution={resolution}, clamp={clamp}"
        )
    return tuple(weights)


def half_ratio(weights: tuple[int, ...] | list[int]) -> Fraction:
    """Return the largest ratio of a level's probabilities under the two bits, in either direction."""
    best = (1, 1)
    for a, b in zip(weights, reversed(weights), strict=True):
        if a * best[1] > b * best[0]:
            best = (a, b)
    return Fraction(*best)


def _power_bounds(low: Fraction, high: Fraction, size: int) -> tuple[list[int], list[int]]:
    """Return fixed-point bounds of a^0, ..., a^(size-1) for any a between low and high."""
    base_low, base_high = _floor(low), _ceil(high)
    lower, upper = [1 << _FRACTION_BITS], [1 << _FRACTION_BITS]
    for _ in range(size - 1):
        lower.append(lower[-1] * base_low >> _FRACTION_BITS)
        upper.append(-(-upper[-1] * base_high >> _FRACTION_BITS))
    return lower, upper


def _floor(value: Fraction) -> int:
    return math.floor(value * (1 << _FRACTION_BITS))


def _ceil(value: Fraction) -> int:
    return math.ceil(value * (1 << _FRACTION_BITS))


def inverse_table(weights: tuple[int, ...]) -> tuple[Words, NDArray[np.uint16]]:
    """Return (last, guide) for looking a word up: level i is last[i-1] < word <= last[i].

    `last` is uint64[levels], the largest word of each level. `guide` is uint16[4096]: where to start looking for a
    word with these twelve leading bits.
    """
    table = np.array([total - 1 for total in itertools.accumulate(weights)], dtype=np.uint64)
    starts = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << _GUIDE_SHIFT
    return table, np.searchsorted(table, starts, side="left").astype(np.uint16)


@kernel
def randomize_components(
    codes: Codes,
    words: Words,
    last: Words,
    guide: NDArray[np.uint16],
    resolution: int,
    clamp: int,
    reports: Components,
) -> None:
    """Noisy one-hot vectors of codes[n] by words uint64[n, k] into reports[n, k]; tables of `inverse_table`."""
    for r in range(codes.shape[0]):
        for v in range(words.shape[1]):
            word = words[r, v]
            level = np.int64(guide[word >> _GUIDE_SHIFT])
            while word > last[level]:
                level += 1
            reports[r, v] = level - clamp
        x = codes[r]
        reports[r, x] = resolution - np.int64(reports[r, x])


@randomize_components.for_few
def _randomize_few(
    codes: Codes,
    words: Words,
    last: Words,
    guide: NDArray[np.uint16],  # noqa: ARG001
    resolution: int,
    clamp: int,
    reports: Components,
) -> None:
    # Interpreted, the loop would look up a thousand components one by one, which numpy does at once.
    reports[:] = np.searchsorted(last, words, side="left") - clamp
    for r, x in enumerate(codes.tolist()):
        reports[r, x] = resolution - int(reports[r, x])


@kernel
def sum_components(reports: Components, low: int, high: int, totals: NDArray[np.int64]) -> int:
    """Add reports[n, k] to totals[k]; return the first row with a component outside low..high, or -1."""
    for r in range(reports.shape[0]):
        inside = True
        for v in range(reports.shape[1]):
            value = int(reports[r, v])
            inside &= (low <= value) & (value <= high)
            totals[v] += value
        if not inside:
            return r
    return -1
