"""Points and hyperplanes of the projective space of F_q^t: numbering, drawing and counting of incidences.

A *point* is a nonzero vector up to a factor. Values and reports are both points. They are written by different
representatives, so that no division in F_q is needed:

* The vector x of a value has first nonzero entry 1. If y is such a vector, x = (y, d) has number 1 + q number(y) + d.
  The vector (0, ..., 0, 1) has number 0.
* The vector u of a report has last nonzero entry 1. The vector u = (a, 1, 0, ..., 0) with a in F_q^L has number (q^L -
  1)/(q - 1) plus the integer with the digits a, the first digit being the most significant.

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
"""Most reports, because the transforms' rounding errors are near 10^-16 times n and must stay well below 1/2."""

STRIP = 512
"""Reports that are drawn side by side."""

LINE_ENTRIES = 1 << 18
"""Transform entries that are gathered at a time."""


def point_count(q: int, t: int) -> int:
    """Return the number (q^t - 1)/(q - 1) of points of the projective space of F_q^t, which is 0 for t = 0."""
    return int((q**t - 1) // (q - 1))


def value_vectors(numbers: NDArray[np.int64], q: int, t: int) -> NDArray[np.int64]:
    """Return the vectors int64[n, t] of values by their numbers, with first nonzero entry 1."""
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
    """Return the vectors int64[points, t] of all reports in order, with last nonzero entry 1."""
    vectors = np.zeros((point_count(q, t), t), dtype=np.int64)
    for length in range(t):
        rows = slice(point_count(q, length), point_count(q, length + 1))
        digits = np.arange(q**length)
        for j in range(length):
            vectors[rows, j] = digits // q ** (length - 1 - j) % q
        vectors[rows, length] = 1
    return vectors


def draw_point(code: int, included: bool, draw: int, q: int, t: int) -> int:
    """Return the number of one report: a point incident to the value if `included`, and any other point if not.

    Parameters
    ----------
    code : int
        Number of the value.
    included : bool
        True if the report is incident to the value.
    draw : int
        Uniform number in 0..N(t-1)-1 if included, and in 0..q^(t-1)-1 if not, where N(s) = (q^s - 1)/(q - 1). In both
        cases the map from draws to points is one to one.
    q, t : int
        Number of elements of the field, and dimension.
    """
    # This is the value's vector. Its first nonzero entry, at `first`, is 1.
    x, first = [0] * t, t - 1
    while code > 0:
        code, x[first] = divmod(code - 1, q)
        first -= 1
    # Entry `first` of the report follows from the product <u, x> and from the other entries, which `draw` determines.
    total = 0
    if not included:
        # Either u is zero after `first`. Then u[first] = 1, and anything may precede it. Or u is not zero there. Then
        # u[first] takes one of the q - 1 values that make the product nonzero.
        if draw < q**first:
            return point_count(q, first) + draw
        rest, nonzero = divmod(draw - q**first, q - 1)
        draw, total = point_count(q, first) + rest, nonzero + 1
    # The other entries are a point of t - 1 dimensions: `length` digits, then 1, then zeros.
    length = 0
    while draw >= q**length:
        draw -= q**length
        length += 1
    last = length if length < first else length + 1
    u = [0] * last
    for j in range(last - 1, -1, -1):
        if j != first:
            draw, u[j] = divmod(draw, q)
            if j > first:
                total -= x[j] * u[j]
    if last > first:
        u[first] = (total - x[last]) % q
    number = 0
    for digit in u:
        number = number * q + digit
    return point_count(q, last) + number


@kernel
def draw_points(
    codes: Codes,
    included: NDArray[np.bool_],
    draws: Counts,
    points: NDArray[np.float64],
    reports: Codes,
) -> None:
    """Write the report of every row, by the rule of `draw_point`.

    Parameters
    ----------
    codes : int[n]
        Numbers of the values.
    included : bool[n]
        True where the report is incident to the value.
    draws : int64[n]
        Draws for `draw_point`: first for all rows that are included, then for all others, each in their order.
    points : float64[t + 1]
        N(0), ..., N(t).
    reports : unsigned int[n]
        Numbers of the reports.

    Notes
    -----
    The terms are those of `draw_point`. Let X be the digits of x after `first`, read as an integer, and B the same for
    the draw. The e = last - 1 - first digits of u between `first` and `last` are lo = B mod q^e, and the digits before
    `first` are hi = floor(B/q^e). The entry u[first] is multiplied by 1. So it is the product less <X', q lo + 1>,
    where X' is the leading e + 1 digits of X. The number of u is lo + q^e (u[first] + q hi).
    """
    # All numbers are whole and exact in doubles. A quotient of a by b is floor((a + 1/2)/b). This is exact:
    # (a + 1/2)/b is at least 1/(2b) away from any integer, and the rounding error is smaller because a < 2^36. Powers
    # are computed, because tables take longer: q = N(2) - 1 and q^s = (q - 1) N(s) + 1. Quotients of powers are exact.
    zero, one, half, t = 0.0, 1.0, 0.5, points.shape[0] - 1
    field, top = points[2] - 1.0, points[t] - points[t - 1]
    units, reciprocal, scale = field - 1.0, 1.0 / field, field / top
    shorter = 1.0 / units
    inside, other = np.int64(0), np.int64(0)
    for i in range(codes.shape[0]):
        other += np.int64(included[i])
    # The loops go step by step over the rows of a strip, without branches that nobody can foresee, so that they
    # vectorise. Eight arrays are used, not rows of one array, so that the compiler sees that they do not overlap.
    strip = min(STRIP, codes.shape[0])
    draw, base = np.empty(strip, np.float64), np.empty(strip, np.float64)
    first, x = np.empty(strip, np.float64), np.empty(strip, np.float64)
    number, total = np.empty(strip, np.float64), np.empty(strip, np.float64)
    u, done = np.empty(strip, np.float64), np.empty(strip, np.float64)
    for start in range(0, codes.shape[0], STRIP):
        code, near, result = (
            codes[start : start + STRIP],
            included[start : start + STRIP],
            reports[start : start + STRIP],
        )
        n = code.shape[0]
        for i in range(n):
            yes = np.int64(near[i])
            draw[i] = draws[np.uint64(inside if yes else other)]
            inside += yes
            other += 1 - yes
        for i in range(n):
            x[i] = code[i]
            base[i] = zero
        for s in range(1, t):
            bound = points[s]
            for i in range(n):
                base[i] = bound if x[i] >= bound else base[i]
        for i in range(n):
            x[i] -= base[i]
            power = np.divide(top, base[i] * units + one)  # q^first; np.divide does not check for a divisor of zero
            before = np.floor((power - half) * shorter)
            beyond = draw[i] - power
            rest = np.floor((beyond + half) * shorter)
            yes = near[i]
            number[i] = draw[i] if yes else before + rest
            total[i] = zero if yes else beyond - rest * units + one
            done[i] = -one if yes or beyond >= zero else before + draw[i]
            first[i] = power
            base[i] = zero
        for s in range(1, t - 1):
            bound = points[s]
            for i in range(n):
                base[i] = bound if number[i] >= bound else base[i]
        for i in range(n):
            power = base[i] * units + one  # q^length
            between = max(np.divide(power, first[i]), one)
            digits = number[i] - base[i]
            high = np.floor((digits + half) / between)
            low = digits - high * between
            u[i] = low * field + one
            x[i] = np.floor((x[i] + half) * power * scale)
            done[i] = number[i] if done[i] < zero and power < first[i] else done[i]
            number[i] = base[i] * field + one + low + between * field * high
            first[i] = between
        for _ in range(t - 1):
            for i in range(n):
                left_u, left_x = np.floor((u[i] + half) * reciprocal), np.floor((x[i] + half) * reciprocal)
                total[i] -= (u[i] - left_u * field) * (x[i] - left_x * field)
                u[i], x[i] = left_u, left_x
        for i in range(n):
            # The quotient is rounded towards minus infinity, because the remainder must not be negative.
            own = total[i] - np.floor((total[i] + half) * reciprocal) * field
            found = number[i] + first[i] * own
            result[i] = np.int64(found if done[i] < zero else done[i])


def incidence_counts(histogram: Counts, n: int, q: int, t: int) -> Counts:
    """Return how many of the reports in a histogram are incident to each value, int64[points].

    The counts are computed dimension by dimension. u = (a, c) and x = (y, d) are incident if c = 0 and <a, y> = 0, or c
    = 1 and <a, y> = -d. The first part is the answer for one dimension less. The second part needs the sums T(y, z) of
    the histogram over all a in F_q^s with <a, y> = z. They are the inverse Fourier transform, along the multiples of y,
    of the histogram's transform over F_q^s. This takes O(points log points) time and O(points) memory, while comparing
    would take O(points^2/q) time. The transforms are in floating point and rounded. This is exact for any number of
    reports there will ever be, and it is checked.

    Raises
    ------
    DamagedStateError
        If the result contradicts itself, so that no histogram of n reports gives it.
    TooLargeError
        If there are more than 10^13 reports, or a sum is too far from an integer to round safely.
    """
    if n > MAX_REPORTS:
        raise TooLargeError(f"n must be <= {MAX_REPORTS} to decode the reports in floating point, got n={n}")
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
    # The comparison is modulo 2^64, because the sum of many large counts may exceed it.
    if int(histogram.min()) < 0 or (int(counts.sum()) - n * point_count(q, t - 1)) % (1 << 64):
        raise DamagedStateError(
            f"each of the n={n} reports must be counted exactly once for each value that the report supports, but "
            "these counts differ"
        )
    return counts


def _line_sums(function: Counts, q: int, s: int) -> Counts:
    """Return T(y, z) = sum of function(a) over <a, y> = z, int64[points of F_q^s, q].

    The argument `function` has q^s entries.
    """
    transform: NDArray[Any] = function.astype(np.float64)
    if q == 2:
        walsh_hadamard(transform)
    else:
        transform = fft.fftn(transform.reshape((q,) * s)).ravel()
    points = point_count(q, s)
    # The function is real, so half of the multiples of y suffice.
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
            raise TooLargeError("the counters are too large to be transformed in floating point: use fewer reports")
        result[rows] = whole.astype(np.int64)
    return result
