"""Fast Walsh-Hadamard transform of integers in place: F(x) = sum_w (-1)^<w, x> v(w).

The transform takes two stages at a time (radix 4), which halves the passes over memory. It runs all stages that fit
into a core's second-level cache on one block before it touches the next block. Sums are exact as long as the sum of |v|
fits the dtype.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from deniable.core.kernels import kernel

BLOCK = 1 << 15
"""Entries whose stages are finished before the next entries are read (128 or 256 KiB)."""


def walsh_hadamard(values: NDArray[Any]) -> None:
    """Transform an array of 2^b integers in place.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([5, 1, 0, 2])
    >>> walsh_hadamard(values)
    >>> values  # 5+1+0+2, 5-1+0-2, 5+1-0-2, 5-1-0+2
    array([8, 2, 4, 6])
    """
    walsh_rows(values, len(values))


def walsh_rows(values: NDArray[Any], size: int) -> None:
    """Transform every `size` consecutive entries of an array in place; `size` is a power of two that divides it."""
    inside = min(size, BLOCK)
    for start in range(0, len(values), BLOCK):
        _stages(values[start : start + BLOCK], 1, inside)
    _stages(values, inside, size)


def _stages(values: NDArray[Any], h: int, size: int) -> None:
    """Run the stages of distances h, 2h, ..., size/2."""
    if h == 1 and size >= 4:
        neighbours4(values)
        h = 4
    elif h == 1 and size == 2:
        neighbours2(values)
        h = 2
    while 4 * h <= size:
        radix4(values, h)
        h *= 4
    if h < size:
        radix2(values, h)


@kernel
def neighbours2(values: NDArray[Any]) -> None:
    """Run the stage of distance 1 in place."""
    for i in range(0, values.shape[0], 2):
        pair = values[i : i + 2]
        a, b = pair[0], pair[1]
        pair[0] = a + b
        pair[1] = a - b


@kernel
def neighbours4(values: NDArray[Any]) -> None:
    """Run the stages of distances 1 and 2 in place."""
    for i in range(0, values.shape[0], 4):
        four = values[i : i + 4]
        a, b, c, d = four[0], four[1], four[2], four[3]
        p, q, r, s = a + b, a - b, c + d, c - d
        four[0] = p + r
        four[1] = q + s
        four[2] = p - r
        four[3] = q - s


@kernel
def radix2(values: NDArray[Any], h: int) -> None:
    """Run the stage of distance h in place."""
    for start in range(0, values.shape[0], 2 * h):
        first, second = values[start : start + h], values[start + h : start + 2 * h]
        for j in range(h):
            a, b = first[j], second[j]
            first[j] = a + b
            second[j] = a - b


@kernel
def radix4(values: NDArray[Any], h: int) -> None:
    """Run the stages of distances h and 2h in place."""
    for start in range(0, values.shape[0], 4 * h):
        first, second = values[start : start + h], values[start + h : start + 2 * h]
        third, fourth = values[start + 2 * h : start + 3 * h], values[start + 3 * h : start + 4 * h]
        for j in range(h):
            a, b, c, d = first[j], second[j], third[j], fourth[j]
            p, q, r, s = a + b, a - b, c + d, c - d
            first[j] = p + r
            second[j] = q + s
            third[j] = p - r
            fourth[j] = q - s
