"""Count-mean sketch (CMS): report a noisy cell of a public random hash; local hashing is its special case.

Pan, *Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator for Large
Dictionaries*. Local hashing: Bassily, Smith (2015) for m = 2; Wang, Blocki, Li, Jha, *Locally differentially private
protocols for frequency estimation* (2017) for m = e^epsilon + 1.

Every contributor draws a hash h from a public family, and reports h and z = GRR_m(h(x)). If any two values collide
with the same probability c, one formula serves every family and every m: a report supports v (z = h(v)) with
probability p1 = p if its contributor holds v, and p0 = c p + (1-c) q if not, p and q being GRR's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_codes, checked_counts, checked_domain, code_dtype
from deniable.errors import InvalidParameterError
from deniable.estimate import Estimate, affine_estimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.mechanisms.hash_families.hash_range import optimal_hash_range
from deniable.mechanisms.hash_families.prime import HashedReports, PrimeFamily
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import BLOCK_WORDS, Randomness, SimulationRandomness
from deniable.spec import register, register_special_case
from deniable.thresholds import EpsilonLike, checked_epsilon, exact, exp_bounds

FAMILIES = ("prime",)


@register("CMS")
@dataclass(frozen=True)
class CountMeanSketch:
    """Count-mean sketch over {0, ..., k-1} with m cells per hash function.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32. The collector keeps k counters and decodes all k values in O(n k) time, so this is
        for moderate domains; `count_support` decodes chosen values of a larger one.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32]; a float means its shortest decimal.
    m : int, optional
        Number of cells, 2 <= m <= 2^32. By default the m of least variance at f = 1/k, that is of least mean squared
        error over all values (`optimal_hash_range`); it is stored, so that client and server cannot choose twice.
    family : {"prime"}
        The hash family: ((a0 + a1 x) mod P) mod m, P the smallest prime >= max(k, 7m).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.mechanisms.count_mean_sketch import CountMeanSketch
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> sketch = CountMeanSketch(k=1000, epsilon=1.0)
    >>> sketch
    CountMeanSketch(k=1000, epsilon=1.0, m=4, family='prime')
    >>> reports = sketch.randomize(np.array([17, 999, 17]), SimulationRandomness(1))
    >>> reports.a0.dtype, reports.value.dtype, reports.value.shape
    (dtype('uint32'), dtype('uint8'), (3,))
    >>> sketch.estimate(sketch.aggregate(reports)).k
    1000
    """

    k: int
    epsilon: float | Fraction
    m: int | None = None
    family: str = "prime"

    name = "CMS"
    report_type = HashedReports

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if self.family not in FAMILIES:
            raise InvalidParameterError(f"family must be one of {', '.join(FAMILIES)}, got family={self.family!r}")
        m = optimal_hash_range(self.k, self.epsilon) if self.m is None else self.m
        object.__setattr__(self, "m", PrimeFamily.smallest(self.k, m).m)

    @cached_property
    def hashes(self) -> PrimeFamily:
        """The family of public hash functions."""
        assert self.m is not None
        return PrimeFamily.smallest(self.k, self.m)

    @cached_property
    def response(self) -> GRR:
        """The randomised response that cells go through: GRR over m values."""
        return GRR(self.hashes.m, self.epsilon)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> HashedReports:
        """Contributor: draw a public hash function, and report it with the noisy cell of the true code.

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        HashedReports
            a0, a1: uint32[n] (uint64[n] if P > 2^32) in 0..P-1; value: uint8, uint16 or uint32 [n] in 0..m-1.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row.
        """
        codes = checked_codes(inputs, self.k)
        a0, a1 = (np.empty(len(codes), dtype=self.hashes.parameter_dtype) for _ in range(2))
        value = np.empty(len(codes), dtype=code_dtype(self.hashes.m))
        for start in range(0, len(codes), BLOCK_WORDS):
            rows = slice(start, start + BLOCK_WORDS)
            a0[rows], a1[rows] = self.hashes.draw_parameters(rng, len(codes[rows]))
            value[rows] = self.response.randomize(self.hashes.hash(codes[rows], a0[rows], a1[rows]), rng)
        return HashedReports(a0, a1, value)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: HashedReports) -> Aggregate:
        """Collector: count the reports that support each value, C(v) = #{i: value_i = h_i(v)}; O(n k) time.

        Parameters
        ----------
        reports : HashedReports
            Reported hash parameters and noisy cells, n rows.

        Raises
        ------
        InvalidReportError
            If a parameter is outside 0..P-1 or a cell outside 0..m-1, naming its row.
        """
        checked = self.hashes.checked(reports)
        return Aggregate(self, self.hashes.count_all(checked), len(checked.value))

    def count_support(self, reports: HashedReports, queries: ArrayLike) -> NDArray[np.int64]:
        """Collector: count the reports that support each of the chosen values; O(n len(queries)) time.

        Parameters
        ----------
        reports : HashedReports
            Reported hash parameters and noisy cells, n rows.
        queries : int[q]
            Codes in 0..k-1, in any order.

        Returns
        -------
        int64[q]
            Support counts; ``(count/n - p0)/(p1 - p0)`` with `support_probabilities` is the unbiased frequency.

        Raises
        ------
        InvalidReportError, InvalidInputError
            If a report or a query is out of range, naming its row.
        """
        return self.hashes.count_queries(self.hashes.checked(reports), checked_codes(queries, self.k))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: unbiased frequencies f^ = (C/n - p0)/(p1 - p0) with the implemented p1 and p0.

        Pan, Theorem 3.4, with its c the family's constant. Erratum: eq. (9) means E[g(x)] = f(x).

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self)
        p1, p0 = self.support_probabilities
        return affine_estimate(aggregate.counts, aggregate.n, float(p1), float(p0))

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency whose true value is f, noise only, n contributors (Pan, eq. (10))."""
        p1, p0 = map(float, self.support_probabilities)
        return (f * p1 * (1 - p1) + (1 - f) * p0 * (1 - p0)) / (n * (p1 - p0) ** 2)

    # ---------------------------------------------------------------- guarantee and exact law

    @property
    def collision_probability(self) -> Fraction:
        """Probability c that v and v' share a cell, exact and the same for every v != v'."""
        return self.hashes.collision_probability

    def response_channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(reported cell | true cell), shape (m, m), Fractions if `exact`.

        The hash is drawn before the answer is looked at, so this small matrix carries the whole likelihood ratio; with
        `collision_probability` it is the exact law of the estimator where `channel` is too large to list.
        """
        return self.response.channel(exact=exact)

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, p0): probability that a report supports v if the contributor holds v, and if not."""
        p, q = self.response.support_probabilities
        c = self.collision_probability
        return p, c * p + (1 - c) * q

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return local_guarantee(
            float(self.epsilon),
            self.implemented_epsilon(),
            remarks=("the hash function in a report is public and independent of the answer",),
        )

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p/q of the implemented thresholds, exact."""
        return self.response.implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return self.response.implemented_epsilon()

    def outputs(self) -> HashedReports:
        """Every possible report once, in the order of the columns of `channel`: a0, then a1, then value varies fastest.

        Raises
        ------
        TooLargeError
            If the channel would have more than 2^22 cells.
        """
        shape = (self.hashes.prime, self.hashes.prime, self.hashes.m)
        check_channel_size(self.k, math.prod(shape), repr(self))
        a0, a1, value = (axis.ravel() for axis in np.indices(shape))
        dtype = self.hashes.parameter_dtype
        return HashedReports(a0.astype(dtype), a1.astype(dtype), value.astype(code_dtype(self.hashes.m)))

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | code), shape (k, P^2 m); Fractions that sum to exactly one per row if `exact`.

        Raises
        ------
        TooLargeError
            If it would have more than 2^22 cells; `response_channel` and `collision_probability` then say the same.
        """
        outputs = self.outputs()
        p, q = (probability / self.hashes.prime**2 for probability in self.response.support_probabilities)
        matrix = np.full((self.k, len(outputs.value)), q, dtype=object)
        for v in range(self.k):
            cells = self.hashes.hash(np.full(len(outputs.value), v), outputs.a0, outputs.a1)
            matrix[v, cells == outputs.value] = p
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these true counts, exactly in distribution, in O(n k) time.

        Support counts of different values share the contributors' hashes, so no product law replaces the reports: they
        are made and summed a block at a time, in memory that does not grow with n.

        Parameters
        ----------
        counts : int[k]
            Number of contributors who hold each value.
        rng : SimulationRandomness
            Source of the draw.
        """
        last = np.cumsum(checked_counts(counts, self.k))
        n = int(last[-1])
        total = np.zeros(self.k, dtype=np.int64)
        for start in range(0, n, BLOCK_WORDS):
            codes = np.searchsorted(last, np.arange(start, min(start + BLOCK_WORDS, n)), side="right")
            total += self.hashes.count_all(self.randomize(codes, rng))
        return Aggregate(self, total, n)

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Two hash parameters and a cell per report."""
        parameter, cell = self.hashes.parameter_dtype.name, code_dtype(self.hashes.m).name
        return (ReportField("a0", parameter), ReportField("a1", parameter), ReportField("value", cell))

    @property
    def report_bits(self) -> float:
        """Bits per report, 2 log2 P + log2 m."""
        return 2 * math.log2(self.hashes.prime) + math.log2(self.hashes.m)


@register_special_case("BLH")
def BLH(k: int, epsilon: EpsilonLike) -> CountMeanSketch:  # noqa: N802 (the field's name)
    """Binary local hashing: the count-mean sketch with m = 2 cells (Bassily, Smith 2015).

    The same as `OLH` below epsilon = ln 1.5; above, rare values have more variance.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32].

    Returns
    -------
    CountMeanSketch
        ``CountMeanSketch(k, epsilon, m=2)``; its name in specifications is "CMS".

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> BLH(k=100, epsilon=1.0)
    CountMeanSketch(k=100, epsilon=1.0, m=2, family='prime')
    """
    return CountMeanSketch(k, checked_epsilon(epsilon), 2)


@register_special_case("OLH")
def OLH(k: int, epsilon: EpsilonLike) -> CountMeanSketch:  # noqa: N802 (the field's name)
    """Optimised local hashing: the count-mean sketch with m = round(e^epsilon) + 1 cells (Wang et al. 2017).

    This m suits rare values: it has the least variance at f = 0, up to rounding. The least on average over a domain of
    k values is ``CountMeanSketch(k, epsilon)``; they part where e^epsilon is not small against k.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 22.18, where m reaches its limit of 2^32.

    Returns
    -------
    CountMeanSketch
        With its m stored; its name in specifications is "CMS".

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds, or m would exceed 2^32.

    Examples
    --------
    >>> OLH(k=100, epsilon=1.0), OLH(k=100, epsilon=4.0).m
    (CountMeanSketch(k=100, epsilon=1.0, m=4, family='prime'), 56)
    """
    budget = checked_epsilon(epsilon)
    # e^epsilon is irrational for rational epsilon > 0, so the bound's 55 digits settle on which side of a half it lies.
    m = math.floor(exp_bounds(exact(budget))[0] + Fraction(1, 2)) + 1
    return CountMeanSketch(k, budget, m)
