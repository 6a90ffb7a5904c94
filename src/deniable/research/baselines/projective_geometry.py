"""Projective geometry response (PGR), which reports a point of a finite projective space.

The mechanism is from Feldman, Nelson, Nguyen, Talwar, *Private frequency estimation via projective geometry* (2022).
All points that are orthogonal to the point of a value form the *hyperplane* of this value. The reported point is likely
to lie on the hyperplane of the true value. Any two hyperplanes share the same number of points, so one formula
estimates every frequency. For many possible answers, the error is nearly as small as the error of subset selection. A
report takes log2 N bits.

The published C++ code spends more than epsilon. It draws all entries of a vector at random. Depending on the response,
the vector must be on the hyperplane of the true value or off this hyperplane, so the code then replaces one entry. If
the vector is zero *before* this replacement, the code starts again. Without this restart, the zero vector would become
one of the points off the hyperplane. Because of the restart, this point is too rare. For example, with 6 points and q =
5, the claimed epsilon is 1, and the actual epsilon is 1 + ln(6/5) = 1.182. In this implementation, each possible draw
gives a different point, and the code never starts again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, check_counters, checked_integer, checked_report_codes, code_dtype, settle
from deniable.core.kernels import worth_compiling
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import (
    BLOCK_WORDS,
    HALF_BOUNDS,
    Randomness,
    SimulationRandomness,
    draw,
    piece_blocks,
    uniform_below,
    uniform_below_by_halves,
)
from deniable.core.state import Counts, counts_sum_to
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exp_bounds, spent, threshold_down
from deniable.errors import InvalidParameterError
from deniable.oracles.pure import PureOracle
from deniable.oracles.sketch.families.prime import is_prime, smallest_prime
from deniable.research.baselines.projective import (
    draw_point,
    draw_points,
    incidence_counts,
    point_count,
    report_vectors,
    value_vectors,
)
from deniable.research.baselines.public_rows import histogram_of

MAX_PGR_DOMAIN = 1 << 31
MAX_POINTS = 1 << 32
"""Largest number of points, so that a report fits 32 bits."""


def best_field(k: int, epsilon: EpsilonLike) -> int:
    """Return the prime q of least variance at frequency 1/k among the primes next to e^epsilon + 1.

    From q = k - 1 on, PGR is GRR over q + 1 values. So the smallest prime >= k - 1 replaces larger candidates.

    Examples
    --------
    >>> [best_field(2**17, epsilon) for epsilon in (0.5, 1, 2, 4)]
    [3, 3, 7, 53]
    """
    k, budget = checked_integer("k", k, 2, MAX_PGR_DOMAIN), spent(checked_epsilon(epsilon))
    odds, _ = exp_bounds(budget)
    above = smallest_prime(math.ceil(odds + 1))
    below = math.floor(odds + 1)
    while not is_prime(below):
        below -= 1
    candidates = {min(prime, smallest_prime(k - 1)) for prime in (below, above)}
    practical = [prime for prime in sorted(candidates) if point_count(prime, dimension(k, prime)) <= MAX_POINTS]
    return min(practical or [smallest_prime(k - 1)], key=lambda prime: _noise(k, odds, prime))


def dimension(k: int, q: int) -> int:
    """Return the smallest t >= 2 such that F_q^t has at least k points."""
    t = 2
    while point_count(q, t) < k:
        t += 1
    return t


@final
@dataclass(frozen=True)
class PGR(PureOracle[Codes]):
    """Projective geometry response reports a point of a finite projective space.

    Take vectors with t entries from the field F_q of q elements. Every nonzero vector is a point. Two vectors are the
    same point if one is a multiple of the other. So there are N = (q^t - 1)/(q - 1) points. The number t of entries is
    the smallest number with t >= 2 and N >= k. Every code has a point of its own. Each point is orthogonal to s =
    (q^(t-1) - 1)/(q - 1) points.

    Write E = e^epsilon. With probability E s/(E s + N - s), the report is drawn uniformly from the s points that are
    orthogonal to the point of the true code. Otherwise it is drawn uniformly from the other N - s points.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^31. The collector keeps N counters. The number N is between k and
        about q k.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    q : int, optional
        Number q of elements of the field. It must be a prime for which N is at most 2^32. The default is the prime that
        the function `best_field` chooses. The object stores the prime in `q`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or q is not prime.

    Examples
    --------
    >>> from deniable.research.baselines.projective_geometry import PGR
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> response = PGR(k=1000, epsilon=1.5)
    >>> response, response.points
    (PGR(k=1000, epsilon=1.5, q=5), 3906)
    >>> reports = response.randomize(np.array([0, 999, 17]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint16'), (3,))
    >>> response.estimate(response.aggregate(reports)).k
    1000
    """

    k: int
    epsilon: float | Fraction
    q: int | None = None

    support_law = None
    state_is_histogram = True
    report_type = staticmethod(np.asarray)
    name = "PGR"
    card = Card(
        group="baselines",
        when="only for comparison; the Spread sketch (CMS[spread]) has about the same error and about the same size "
        "of reports, and its decoding is faster",
        aliases=("projective geometry response",),
        planned=False,
        instead="the mechanism is only for comparison; use CMS[spread] instead, which is the count-mean sketch with "
        'the hash family "spread"',
        decoding="transform",
        wire="one point of a projective space",
        page="theory/sketches.md",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_integer("k", self.k, 2, MAX_PGR_DOMAIN), epsilon=checked_epsilon(self.epsilon))
        q = best_field(self.k, self.epsilon) if self.q is None else checked_integer("q", self.q, 2, MAX_POINTS)
        if not is_prime(q):
            raise InvalidParameterError(f"q must be a prime number, got q={q}")
        settle(self, q=q)
        if self.points > MAX_POINTS:
            raise InvalidParameterError(
                f"q must be small enough for at most {MAX_POINTS} points, but q={q} gives {self.points} points"
            )

    @property
    def _q(self) -> int:
        assert self.q is not None
        return self.q

    @cached_property
    def dimension(self) -> int:
        """Dimension t of the vector space."""
        return dimension(self.k, self._q)

    @cached_property
    def points(self) -> int:
        """Number N of points, which are the possible reports."""
        return point_count(self._q, self.dimension)

    @cached_property
    def preferred(self) -> int:
        """Number s of points that are orthogonal to a given point."""
        return point_count(self._q, self.dimension - 1)

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        # One 64-bit word decides whether one of the s or of the N - s points is reported. The point is drawn uniformly
        # by rejection. For many contributors half a word is enough where it decides.
        reports = np.empty(len(codes), dtype=code_dtype(self.points))
        many, others = worth_compiling(len(codes)), self.points - self.preferred
        uniform = uniform_below_by_halves if many and self.points <= HALF_BOUNDS else uniform_below
        for start in range(0, len(codes), BLOCK_WORDS):
            rows = slice(start, min(start + BLOCK_WORDS, len(codes)))
            n = rows.stop - start
            included = below_by_halves(rng, self._inclusion, n) if many else draw(rng, n) < np.uint64(self._inclusion)
            preferred = int(np.count_nonzero(included))
            near, far = uniform(rng, self.preferred, preferred), uniform(rng, others, n - preferred)
            if many:
                draw_points.compiled(codes[rows], included, np.concatenate([near, far]), self._below, reports[rows])
                continue
            draws = {True: iter(near.tolist()), False: iter(far.tolist())}
            for row, (code, inside) in enumerate(zip(codes.tolist(), included.tolist(), strict=True)):
                reports[row] = draw_point(code, inside, next(draws[inside]), self._q, self.dimension)
        return reports

    @cached_property
    def _below(self) -> NDArray[np.float64]:
        """Numbers of points of every dimension up to this one."""
        return np.array([point_count(self._q, s) for s in range(self.dimension + 1)], dtype=np.float64)

    def _tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        check_counters(self.points)
        return histogram_of(reports, self.points)

    def _support(self, counts: NDArray[np.int64], n: int, codes: Codes | None) -> NDArray[np.int64]:
        support = incidence_counts(counts, n, self._q, self.dimension)[: self.k]
        return support if codes is None else support[codes]

    def supports(self, reports: ArrayLike, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the values that are orthogonal to the reported point, bool[n, len(values)]."""
        points = checked_report_codes(reports, self.points).astype(np.int64)
        chosen = report_vectors(self._q, self.dimension)[points]
        matrix: NDArray[np.bool_] = chosen @ value_vectors(values, self._q, self.dimension).T % self._q == 0
        return matrix

    # ---------------------------------------------------------------- guarantee and exact distribution

    @cached_property
    def _inclusion(self) -> int:
        """Threshold below which a 64-bit word means that a preferred point is reported.

        The probability is rounded down.
        """
        odds, _ = exp_bounds(spent(self.epsilon))
        return threshold_down(odds * self.preferred / (odds * self.preferred + self.points - self.preferred))

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, p0): probability that a report is orthogonal to v if the contributor holds v, and if not."""
        p = Fraction(self._inclusion, SCALE)
        return p, _other_support(self._q, self.dimension, p)

    def privacy(self) -> Guarantee:
        """Return the guarantee, which is epsilon against everybody, for one report."""
        return self._local_guarantee()

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio of the implemented threshold, exact.

        It is the ratio of a preferred point to another point.
        """
        p, _ = self.support_probabilities
        ratio = p * (self.points - self.preferred) / ((1 - p) * self.preferred)
        return max(ratio, 1 / ratio)

    def outputs(self) -> Codes:
        self._check_channel(self.k, self.points)
        return np.arange(self.points, dtype=code_dtype(self.points))

    def _channel(self) -> NDArray[Any]:
        self._check_channel(self.k, self.points)
        p, _ = self.support_probabilities
        values = value_vectors(np.arange(self.k), self._q, self.dimension)
        orthogonal = values @ report_vectors(self._q, self.dimension).T % self._q == 0
        matrix = np.full(orthogonal.shape, (1 - p) / (self.points - self.preferred), dtype=object)
        matrix[orthogonal] = p / self.preferred
        return matrix

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        return self._simulate_by_reports(counts, rng)

    @property
    def state_size(self) -> int:
        """Number of counters: one per point."""
        return self.points

    def check_state(self, counts: Counts, n: int) -> None:
        """Raise an error unless the state is a histogram of n reports."""
        counts_sum_to(counts, n)

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Fields of a report: one point."""
        return (ReportField("point", code_dtype(self.points).name),)

    @property
    def report_bits(self) -> float:
        """Number of bits per report, log2 N."""
        return math.log2(self.points)


def _other_support(q: int, t: int, p: Fraction) -> Fraction:
    """Return p0, the probability that a report is orthogonal to v if the contributor holds another value.

    Among the points that the other value prefers, v also prefers a share s2/s. Among all other points, it prefers a
    share (s - s2)/(N - s).
    """
    n, s, s2 = (point_count(q, t - less) for less in range(3))
    return p * Fraction(s2, s) + (1 - p) * Fraction(s - s2, n - s)


def _noise(k: int, odds: Fraction, q: int) -> Fraction:
    """Return the variance of one report at frequency 1/k."""
    t = dimension(k, q)
    n, s = point_count(q, t), point_count(q, t - 1)
    p = odds * s / (odds * s + n - s)
    p0 = _other_support(q, t, p)
    return (p * (1 - p) / k + p0 * (1 - p0) * (1 - Fraction(1, k))) / (p - p0) ** 2


def below_by_halves(rng: Randomness, threshold: int, size: int) -> NDArray[np.bool_]:
    """Return bool[size], each true with probability exactly threshold/2^64, from half a word each.

    If a half word equals the first half of the threshold, it does not decide. Then the other half of that word is also
    drawn.
    """
    first, rest = divmod(threshold, 1 << 32)
    result = np.empty(size, dtype=np.bool_)
    for rows, halves in piece_blocks(rng, size, np.uint32):
        part = result[rows]
        np.less(halves, np.uint32(first), out=part)
        tied = np.flatnonzero(halves == np.uint32(first))
        if tied.size:
            part[tied] = draw(rng, tied.size) >> np.uint64(32) < np.uint64(rest)
    return result
