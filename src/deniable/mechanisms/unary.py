"""Unary encodings: send k noisy bits of which one is the contributor's own.

SUE is the basic one-time RAPPOR of Erlingsson, Pihur, Korolova, *RAPPOR: Randomized aggregatable privacy-preserving
ordinal response* (2014); OUE is from Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency
estimation* (2017). Their error does not depend on k; their reports take k bits.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from deniable.thresholds import SCALE, EpsilonLike, checked_epsilon, exp_bounds, log_up, spent, threshold_up


def symmetric_thresholds(epsilon: EpsilonLike) -> tuple[int, int]:
    """Return (P, Q) of SUE: q = 1/(s + 1) rounded up, s = e^(epsilon/2), and p = 1 - q exactly."""
    lower, _ = exp_bounds(spent(epsilon) / 2)
    q = threshold_up(1 / (lower + 1))
    return SCALE - q, q


def optimised_thresholds(epsilon: EpsilonLike) -> tuple[int, int]:
    """Return (P, Q) of OUE: p = 1/2 and q = 1/(e^epsilon + 1) rounded up."""
    lower, _ = exp_bounds(spent(epsilon))
    return SCALE // 2, threshold_up(1 / (lower + 1))


@register("SUE")
@dataclass(frozen=True)
class SUE:
    """Symmetric unary encoding (basic one-time RAPPOR) over {0, ..., k-1}.

    Every bit of the one-hot encoding is kept with probability p = s/(s + 1), s = e^(epsilon/2), and flipped otherwise.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32. A report takes k bits.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32]; a float means its shortest decimal.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable.mechanisms.unary import SUE
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> sue = SUE(k=10, epsilon=2.0)
    >>> reports = sue.randomize(np.array([0, 9, 9]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> sue.estimate(sue.aggregate(reports)).n
    3
    """

    k: int
    epsilon: float | Fraction

    name = "SUE"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Bits:
        """Contributor: report k noisy bits, packed: value v is bit v % 8 of byte v // 8.

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
        """Collector: count how often each bit was set.

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
    def thresholds(self) -> tuple[int, int]:
        """(P, Q) of `symmetric_thresholds`: the own bit is set with probability P/2^64, any other with Q/2^64."""
        return symmetric_thresholds(self.epsilon)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that bit v is set if the contributor holds v, and if not."""
        return unary.probabilities(self.thresholds)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return local_guarantee(float(self.epsilon), self.implemented_epsilon())

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p(1-q)/(q(1-p)) = (p/q)^2 of the implemented thresholds, exact."""
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


@register("OUE")
@dataclass(frozen=True)
class OUE:
    """Optimised unary encoding over {0, ..., k-1}: p = 1/2, q = 1/(e^epsilon + 1).

    Of all unary encodings it has the least variance at f -> 0: 4 e^epsilon/(n (e^epsilon - 1)^2).

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32. A report takes k bits.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32]; a float means its shortest decimal.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable.mechanisms.unary import OUE
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> oue = OUE(k=10, epsilon=2.0)
    >>> reports = oue.randomize(np.array([0, 9, 9]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> oue.estimate(oue.aggregate(reports)).n
    3
    """

    k: int
    epsilon: float | Fraction

    name = "OUE"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Bits:
        """Contributor: report k noisy bits, packed: value v is bit v % 8 of byte v // 8.

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
        """Collector: count how often each bit was set.

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
    def thresholds(self) -> tuple[int, int]:
        """(P, Q) of `optimised_thresholds`: the own bit is set with probability P/2^64, any other with Q/2^64."""
        return optimised_thresholds(self.epsilon)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that bit v is set if the contributor holds v, and if not."""
        return unary.probabilities(self.thresholds)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return local_guarantee(float(self.epsilon), self.implemented_epsilon())

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p(1-q)/(q(1-p)) = (1-q)/q of the implemented thresholds, exact."""
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
