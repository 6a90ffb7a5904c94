"""Points and hyperplanes of the projective space of F_q^t: numbering, drawing, and counting incidences.

A *point* is a nonzero vector up to a factor. Values and reports are both points, written by different representatives,
which spares every division in F_q:

* a value's vector x has first nonzero entry 1; x = (y, d) with y such a vector has number 1 + q number(y) + d, and
  (0, ..., 0, 1) has number 0;
* a report's vector u has last nonzero entry 1; u = (a, 1, 0, ..., 0) with a in F_q^L has number (q^L - 1)/(q - 1) plus
  the integer with the digits a, the first one most significant.

A value v and a report u are *incident* if <u, v> = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.errors import DamagedStateError, TooLargeError
from deniable.oracles.sketch.families._walsh import walsh_hadamard
from deniable.oracles.sketch.families.family import check_counts

Counts = NDArray[np.int64]

MAX_REPORTS = 10**13
"""The transforms' rounding errors are near 10^-16 times n, and must stay well below 1/2."""

LINE_ENTRIES = 1 << 18
"""Transform entries gathered at a time."""


def point_count(q: int, t: int) -> int:
    """Return the number (q^t - 1)/(q - 1) of points of the projective space of F_q^t; 0 for t = 0."""
    return int((q**t - 1) // (q - 1))


def value_vectors(numbers: NDArray[np.int64], q: int, t: int) -> NDArray[np.int64]:
    """Return the vectors int64[n, t] of values by their numbers: first nonzero entry 1."""
    vectors = np.zeros((len(numbers), t), dtype=np.int64)
    left = numbers.copy()
    leading = np.ones(len(numbers), dtype=np.bool_)
    for j in range(t - 1, -1, -1):
        last = leading & (left == 0)
        vectors[last, j] = 1
        leading &= ~last
        vectors[leading, j] = (left[leading] - 1) % q
        left[leading] = (left[leading] - 1) // q
    return vectors


def report_vectors(q: int, t: int) -> NDArray[np.int64]:
    """Return the vectors int64[points, t] of all reports in order: last nonzero entry 1."""
    vectors = np.zeros((point_count(q, t), t), dtype=np.int64)
    for length in range(t):
        rows = slice(point_count(q, length), point_count(q, length + 1))
        digits = np.arange(q**length)
        for j in range(length):
            vectors[rows, j] = digits // q ** (length - 1 - j) % q
        vectors[rows, length] = 1
    return vectors


@kernel
def draw_points(
    codes: Codes, included: NDArray[np.bool_], draws: Counts, q: int, t: int, vectors: Counts, reports: Codes
) -> None:
    """Write the report of every row: a point incident to the row's value if included, any other point if not.

    Parameters
    ----------
    codes : int[n]
        Numbers of the values.
    included : bool[n]
        Whether the report is incident to the value.
    draws : int64[n]
        Uniform in 0..N(t-1)-1 where included, in 0..q^(t-1)-1 where not; N(s) = (q^s - 1)/(q - 1). Both ways the map
        from draws to points is one to one.
    q, t : int
        Field and dimension.
    vectors : int64[2, t]
        Scratch.
    reports : unsigned int[n]
        Numbers of the reports.
    """
    field, dimension = np.int64(q), np.int64(t)
    x, u = vectors[0], vectors[1]
    # A quotient a // q is floor((a + 1/2)/q) in doubles: (a + 1/2)/q is at least 1/(2q) away from any integer, and the
    # rounding error is less since a lies below 2^32.
    reciprocal, shorter = 1.0 / float(q), 1.0 / float(max(q - 1, 1))
    for i in range(codes.shape[0]):
        # The value's vector; its first nonzero entry, at `first`, is 1.
        left, first = np.int64(codes[i]), dimension - 1
        while left > 0:
            rest = np.int64((float(left - 1) + 0.5) * reciprocal)
            x[first] = left - 1 - rest * field
            left = rest
            first -= 1
        # Entry `first` of the report is determined by its other entries, which `draw` says, and by the product <u, x>.
        draw, product = draws[i], np.int64(0)
        if not included[i]:
            # Either u is zero after `first`, and then u[first] = 1 and anything may precede it; or it is not, and
            # u[first] takes one of the q - 1 values that make the product nonzero.
            points, before = np.int64(0), np.int64(1)
            for _ in range(first):
                points += before
                before *= field
            if draw < before:
                reports[i] = points + draw
                continue
            draw -= before
            rest = np.int64((float(draw) + 0.5) * shorter)
            product = draw - rest * (field - 1) + 1
            draw = points + rest
        # The other entries are a point of t - 1 dimensions: `length` digits, then 1, then zeros.
        length, power = np.int64(0), np.int64(1)
        while draw >= power:
            draw -= power
            power *= field
            length += 1
        last = length if length < first else length + 1
        number = np.int64(0)
        total = product
        for j in range(last - 1, -1, -1):
            if j != first:
                rest = np.int64((float(draw) + 0.5) * reciprocal)
                u[j] = draw - rest * field
                draw = rest
                if j > first:
                    # Below 2^32 each: with three dimensions or more, q < 2^16.
                    total -= x[j] * u[j]
        if last > first:
            total -= x[last]
            u[first] = total % field
        points, power = np.int64(0), np.int64(1)
        for j in range(last):
            number = number * field + u[j]
            points += power
            power *= field
        reports[i] = points + number


def incidence_counts(histogram: Counts, n: int, q: int, t: int) -> Counts:
    """Return how many of the reports in a histogram are incident to each value, int64[points].

    Dimension by dimension: u = (a, c) and x = (y, d) are incident if c = 0 and <a, y> = 0, or c = 1 and <a, y> = -d.
    The first part is the answer of one dimension less. The second needs the sums T(y, z) of the histogram over all a in
    F_q^s with <a, y> = z: the inverse Fourier transform, along the multiples of y, of its transform over F_q^s. Time
    O(points log points) and memory O(points), against O(points^2/q) for comparing. Transforms are in floating point
    and rounded, which is exact for any number of reports there will ever be, and checked.

    Raises
    ------
    DamagedStateError
        If the result contradicts itself: no histogram of n reports gives it.
    TooLargeError
        If there are more than 10^13 reports, or a sum is too far from an integer to round safely.
    """
    if n > MAX_REPORTS:
        raise TooLargeError(f"n must be <= {MAX_REPORTS} to be decoded in floating point, got n={n}")
    counts = np.zeros(1, dtype=np.int64)
    for s in range(1, t):
        before = point_count(q, s)
        ends_in_one = histogram[before : before + q**s]
        sums = ends_in_one[None, :] if s == 1 else _line_sums(ends_in_one, q, s)
        extended = np.empty((before, q), dtype=np.int64)
        extended[:, 0] = sums[:, 0]
        extended[:, 1:] = sums[:, :0:-1]
        extended += counts[:, None]
        counts = np.concatenate([histogram[:before].sum(keepdims=True), extended.ravel()])
    check_counts(counts, n)
    # Modulo 2^64, which the sum of many large counts may exceed.
    if int(histogram.min()) < 0 or (int(counts.sum()) - n * point_count(q, t - 1)) % (1 << 64):
        raise DamagedStateError(f"every report must be counted once for each incident value, got n={n}")
    return counts


def _line_sums(function: Counts, q: int, s: int) -> Counts:
    """Return T(y, z) = sum of function(a) over <a, y> = z, int64[points of F_q^s, q]; `function` has q^s entries."""
    transform: NDArray[Any] = function.astype(np.float64)
    if q == 2:
        walsh_hadamard(transform)
    else:
        transform = fft.fftn(transform.reshape((q,) * s)).ravel()
    points = point_count(q, s)
    # The function is real: half of the multiples of y suffice.
    multiples = np.arange(q // 2 + 1)
    result = np.empty((points, q), dtype=np.int64)
    step = max(1, LINE_ENTRIES // len(multiples))
    for start in range(0, points, step):
        rows = slice(start, min(start + step, points))
        position = np.zeros((rows.stop - start, len(multiples)), dtype=np.int64)
        for entry in value_vectors(np.arange(start, rows.stop), q, s).T:
            position = position * q + entry[:, None] * multiples % q
        sums = fft.irfft(transform[position], n=q, axis=1)
        whole = np.rint(sums)
        if float(np.abs(sums - whole).max()) > 0.25:
            raise TooLargeError("the counters are too large for a transform in floating point")
        result[rows] = whole.astype(np.int64)
    return result
