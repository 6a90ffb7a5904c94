"""Thresholding with histogram encoding (THE): add Laplace noise to the one-hot encoding, report what exceeds theta.

Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation* (2017). The threshold is
applied by the contributor, so a report is k bits, and each bit's law is known in closed form: THE is a unary encoding
with p = P(Lap > theta - 1) = 1 - e^((theta-1) epsilon/2)/2 and q = P(Lap > theta) = e^(-theta epsilon/2)/2. No noise is
ever drawn as a real number.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_codes, checked_domain
from deniable.estimate import Estimate, affine_estimate
from deniable.mechanism import ReportField
from deniable.mechanisms import _unary_common as unary
from deniable.mechanisms._bits import Bits, randomize_one_hot
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, counts_between
from deniable.thresholds import (
    EpsilonLike,
    checked_epsilon,
    exact,
    exp_bounds,
    log_up,
    spent,
    threshold_down,
    threshold_up,
)


def optimal_theta(epsilon: EpsilonLike) -> float:
    """Return the theta in (1/2, 1] of least variance q(1-q)/(p-q)^2 at f -> 0, to four decimals.

    The variance is flat around its minimum, so more digits would change nothing; decimal arithmetic makes the result
    the same on every platform. As epsilon -> 0 the optimum tends to the excluded 1/2: 0.5001 is the least value.

    Examples
    --------
    >>> optimal_theta(1.0), optimal_theta(4.0)
    (0.6186, 0.8157)
    """
    context = Context(prec=50)
    number = exact(checked_epsilon(epsilon)) / 2
    a = context.divide(Decimal(number.numerator), Decimal(number.denominator))

    def noise(theta: Decimal) -> Decimal:
        q = context.divide(context.exp(context.multiply(-a, theta)), Decimal(2))
        lost = context.divide(context.exp(context.multiply(-a, 1 - theta)), Decimal(2))
        return context.divide(context.multiply(q, 1 - q), context.power(1 - lost - q, 2))

    low, high = Decimal("0.5"), Decimal(1)
    while high - low > Decimal("1e-7"):
        third = context.divide(high - low, Decimal(3))
        left, right = context.add(low, third), context.subtract(high, third)
        low, high = (low, right) if noise(left) < noise(right) else (left, high)
    return max(0.5001, float(round(low, 4)))


@register("THE")
@dataclass(frozen=True)
class THE:
    """Thresholding with histogram encoding over {0, ..., k-1}.

    Its tight epsilon is below the declared one, because thresholding hides part of what the noisy histogram shows: at
    the same declared epsilon OUE is more accurate. `privacy` states the tight value.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32. A report takes k bits.
    epsilon : float, Fraction, Decimal or str
        Declared privacy budget in nats, in [1e-6, 32], which scales the Laplace noise (2/epsilon); a float means its
        shortest decimal.
    theta : float, Fraction, Decimal or str, optional
        Threshold in (1/2, 1]; by default the one of least variance at f -> 0 (`optimal_theta`). It is stored, so that
        client and server cannot choose twice.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.mechanisms.histogram_threshold import THE
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> the = THE(k=10, epsilon=1.0)
    >>> the
    THE(k=10, epsilon=1.0, theta=0.6186)
    >>> reports = the.randomize(np.array([0, 9, 9]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> round(the.privacy().epsilon, 4)
    0.896
    """

    k: int
    epsilon: float | Fraction
    theta: float | Fraction | None = None

    name = "THE"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        theta = optimal_theta(self.epsilon) if self.theta is None else self.theta
        checked = unary.checked_decimal("theta", theta, Fraction(1, 2), Fraction(1), "(0.5, 1]")
        object.__setattr__(self, "theta", checked)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Bits:
        """Contributor: report which noisy components exceed theta, packed: value v is bit v % 8 of byte v // 8.

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8[n, ceil(k/8)]
            Packed bits, padding zero.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row.
        """
        return randomize_one_hot(checked_codes(inputs, self.k), self.k, self.thresholds, rng)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each component exceeded theta.

        Parameters
        ----------
        reports : uint8[n, ceil(k/8)]
            Packed bits.

        Raises
        ------
        InvalidReportError
            If the dtype or the shape is wrong, or a padding bit is set, naming its row.
        """
        return Aggregate(self, *unary.support_counts(reports, self.k))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: unbiased frequencies f^ = (count/n - q)/(p - q) with the implemented p and q.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self)
        p, q = self.support_probabilities
        return affine_estimate(aggregate.counts, aggregate.n, float(p), float(q))

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency whose true value is f, noise only, n contributors."""
        return unary.variance(*self.support_probabilities, f, n)

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def _tails(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """(lower, upper) bounds of 1 - p = e^((theta-1) epsilon/2)/2 and of q = e^(-theta epsilon/2)/2."""
        assert self.theta is not None
        theta, half = exact(self.theta), spent(self.epsilon) / 2
        missed, false = exp_bounds((theta - 1) * half), exp_bounds(-theta * half)
        return (missed[0] / 2, missed[1] / 2), (false[0] / 2, false[1] / 2)

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """(P, Q): the own bit is set with probability P/2^64 (rounded down), any other with Q/2^64 (rounded up)."""
        (_, missed), (_, false) = self._tails
        return threshold_down(1 - missed), threshold_up(false)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that bit v is set if the contributor holds v, and if not."""
        return unary.probabilities(self.thresholds)

    def tight_epsilon(self) -> float:
        """ln[p(1-q)/(q(1-p))] of the design, in nats, rounded up; below the declared epsilon."""
        (missed, _), (false, _) = self._tails
        return log_up(unary.likelihood_ratio(1 - missed, false))

    def privacy(self) -> Guarantee:
        """Return the guarantee: the tight epsilon against everybody, for one report."""
        tight = self.tight_epsilon()
        remark = (
            f"the declared budget of {float(self.epsilon):g} is not used up: thresholding the noisy histogram leaves "
            f"a tight epsilon of {tight:.6g}"
        )
        return local_guarantee(tight, self.implemented_epsilon(), remarks=(remark,))

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p(1-q)/(q(1-p)) of the implemented thresholds, exact."""
        return unary.likelihood_ratio(*self.support_probabilities)

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> Bits:
        """Every possible report once, in the order of the columns of `channel`: report y has the bits of integer y."""
        return unary.outputs(self.k, repr(self))

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | code), shape (k, 2^k); Fractions that sum to exactly one per row if `exact`."""
        return unary.channel(self.k, *self.support_probabilities, repr(self), exact=exact)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these true counts int[k], exactly in distribution, in O(k) time."""
        return Aggregate(self, *unary.simulate_support_counts(counts, self.k, *self.support_probabilities, rng))

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse counts of bits outside 0..n."""
        counts_between(counts, 0, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """The packed bits."""
        return unary.report_fields(self.k)

    @property
    def report_bits(self) -> float:
        """Bits per report, k."""
        return float(self.k)
