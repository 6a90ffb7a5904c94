"""What the analyst reads of dealt quotas: frequencies, exact standard errors, intervals from the exact law.

The number of reports v is I_v = a_v + H: those told to say v, and those told the truth who hold v. Near f = 0 it has
the law of a_v, which is cut off at the minimum and nothing like a normal: an interval must invert the law itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.aggregate import Aggregate
from deniable.errors import InvalidParameterError, MismatchError
from deniable.estimate import Estimate
from deniable.joint._quota_law import QuotaLaw

if TYPE_CHECKING:
    from deniable.joint.quota import QuotaRR

Floats = NDArray[np.float64]

_COLUMNS = 256
_NORMAL_FROM = 400.0


@dataclass(frozen=True, eq=False)
class QuotaEstimate:
    """Estimated frequencies of the k values among the reporters of one or several deals.

    Analysts get one from ``QuotaRR.estimate`` or `combine_deals`. Estimates are unbiased and never clipped.

    Parameters
    ----------
    frequencies : float64[k]
        Estimated frequencies among the reporters.
    n : int
        Number of reports.
    deals : tuple of Aggregate
        The sums of each deal, kept apart: coefficients and variances belong to a deal.

    Examples
    --------
    >>> from deniable.joint.quota import QuotaRR
    >>> from deniable import SimulationRandomness
    >>> quota = QuotaRR(epsilon=1.0, n=1000)
    >>> aggregate = quota.simulate_aggregate([900, 100], SimulationRandomness(1))
    >>> estimate = quota.estimate(aggregate)
    >>> estimate.n, estimate.standard_errors.round(4)
    (1000, array([0.0149, 0.0149]))
    """

    frequencies: Floats
    n: int
    deals: tuple[Aggregate, ...]

    @property
    def k(self) -> int:
        """Domain size."""
        return len(self.frequencies)

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard errors among the reporters, noise only, float64[k], from the exact variance at the clipped estimate.

        The deals are independent: their variances add.
        """
        total = np.zeros(self.k)
        for aggregate in self.deals:
            mechanism = cast("QuotaRR", aggregate.mechanism)
            f = np.clip(mechanism.frequencies(aggregate), 0.0, 1.0)
            variances = [mechanism.variance(value, reporters=aggregate.n) for value in f.tolist()]
            total += np.array(variances) * aggregate.n**2
        return np.sqrt(total) / self.n

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Return (lower, upper) bounds of the frequencies among the reporters, each float64[k].

        With all reports of one deal: every number of holders n_v under which neither tail of I_v, as the mechanism
        draws it, is rarer than (1 - confidence)/2; so the bounds are in [0, 1]. The sum over the number of
        truth-tellers runs over at most 256 of its values, and the hypergeometric law of the truthful reports is
        replaced, where its variance exceeds 400, by its normal with a skewness term (tails agree to 1e-3). In the
        capped form the noise of the truth-tellers is normal. After drop-outs, or over several deals: the normal
        interval with the exact variance at the clipped estimate; not clipped.

        Parameters
        ----------
        confidence : float
            Coverage in (0, 1).
        simultaneous : bool
            All k intervals hold together with at least `confidence` (Bonferroni).

        Raises
        ------
        InvalidParameterError
            If confidence is not in (0, 1).
        """
        if not 0 < confidence < 1:
            raise InvalidParameterError(f"confidence must be in (0, 1), got confidence={confidence}")
        outside = (1 - confidence) / (self.k if simultaneous else 1)
        mechanism = cast("QuotaRR", self.deals[0].mechanism)
        if len(self.deals) == 1 and self.n == mechanism.n:
            bounds = [_inverted(mechanism, int(count), outside / 2) for count in self.deals[0].counts]
            lower, upper = np.array(bounds).T / self.n
            return lower, upper
        z = NormalDist().inv_cdf(1 - outside / 2)
        return self.frequencies - z * self.standard_errors, self.frequencies + z * self.standard_errors

    def to_estimate(self) -> Estimate:
        """Return an `Estimate` for post-processing and tables.

        Its variance is the tangent, at the clipped estimate, to the exact one, which is quadratic in the frequency;
        so its standard errors are those of one deal with all reports at hand, and its intervals are approximate.
        Of several deals or after drop-outs the standard error is taken as constant.
        """
        errors = self.standard_errors**2 * self.n
        mechanism = cast("QuotaRR", self.deals[0].mechanism)
        slopes = np.zeros(self.k)
        f = np.clip(self.frequencies, 0.0, 1.0)
        if len(self.deals) == 1 and self.n == mechanism.n:
            step = 1e-3
            # The variance is quadratic: a central difference is its slope.
            rise = [mechanism.variance(v + step) - mechanism.variance(v - step) for v in f.tolist()]
            slopes = np.array(rise) / (2 * step) * self.n
        absent = errors - slopes * f
        return Estimate(self.frequencies, self.n, absent, absent + slopes)


def combine_deals(aggregates: Sequence[Aggregate]) -> QuotaEstimate:
    """Analyst: estimate the frequencies among the reporters of several deals, each with its own coefficients.

    Parameters
    ----------
    aggregates : sequence of Aggregate
        One per deal; add the parts of one deal up first.

    Raises
    ------
    InvalidParameterError
        If there is no aggregate.
    MismatchError
        If domain sizes differ, or two aggregates belong to one deal.

    Examples
    --------
    >>> from deniable.joint.quota import QuotaRR
    >>> from deniable import SimulationRandomness
    >>> rng = SimulationRandomness(3)
    >>> monday = QuotaRR(1.0, 1000, deal_id="monday").simulate_aggregate([900, 100], rng)
    >>> tuesday = QuotaRR(1.0, 4000, deal_id="tuesday").simulate_aggregate([3600, 400], rng)
    >>> combine_deals([monday, tuesday]).n
    5000
    """
    if not aggregates:
        raise InvalidParameterError("aggregates must hold at least one deal, got none")
    deals: list[QuotaRR] = []
    total = np.zeros(aggregates[0].mechanism.state_size)
    for aggregate in aggregates:
        if aggregate.mechanism.name != "QuotaRR":
            raise MismatchError(f"aggregates must come from QuotaRR, got one from {aggregate.mechanism!r}")
        mechanism = cast("QuotaRR", aggregate.mechanism)
        if mechanism.k != len(total):
            raise MismatchError(f"deals must share one domain size, got k={len(total)} and k={mechanism.k}")
        if mechanism in deals:
            raise MismatchError(f"two aggregates belong to one deal, {mechanism!r}: add them up first")
        total += mechanism.frequencies(aggregate) * aggregate.n
        deals.append(mechanism)
    n = sum(aggregate.n for aggregate in aggregates)
    return QuotaEstimate(total / n, n, tuple(aggregates))


def response_tails(law: QuotaLaw, truth: float, lie: float, holders: int, count: int) -> tuple[float, float]:
    """Return P(I_v <= count) and P(I_v >= count) when `holders` of the n contributors hold v and all report."""
    below = _at_most(law, truth, lie, holders, count)
    return below, 1.0 - _at_most(law, truth, lie, holders, count - 1)


def _at_most(law: QuotaLaw, truth: float, lie: float, holders: int, count: int) -> float:
    step = -(-len(law.b.weights) // _COLUMNS)
    values = law.b.values[step // 2 :: step]
    # Each column stands for `step` neighbouring numbers of truth-tellers.
    padded = np.append(law.b.weights, np.zeros(-len(law.b.weights) % step))
    masses = padded.reshape(-1, step).sum(axis=1)[: len(values)]
    masses = masses / masses.sum()
    rest = count - law.a.values
    total = 0.0
    for b, mass in zip(values.tolist(), masses.tolist(), strict=True):
        if mass > 1e-13:
            total += mass * float(law.a_given_b(b) @ _truthful_at_most(rest, law.n, holders, b, truth, lie))
    return min(total, 1.0)


def _truthful_at_most(x: NDArray[np.int64], n: int, holders: int, b: int, truth: float, lie: float) -> Floats:
    """P(truth-tellers' reports v <= x), given their number b."""
    theta = holders / n
    held = b * theta * (1 - theta) * (n - b) / (n - 1)
    variance = (truth - lie) ** 2 * held + b * (theta * truth * (1 - truth) + (1 - theta) * lie * (1 - lie))
    if (truth, lie) == (1.0, 0.0) and variance < _NORMAL_FROM:
        return _hypergeometric_at_most(x, n, holders, b)
    mean = b * (lie + (truth - lie) * theta)
    if variance == 0:
        return (x >= mean).astype(np.float64)
    deviation = np.sqrt(variance)
    z = (x + 0.5 - mean) / deviation
    skewness = (n - 2 * holders) * (n - 2 * b) / (n * n * deviation) if (truth, lie) == (1.0, 0.0) else 0.0
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    result: Floats = np.clip(special.ndtr(z) - skewness * (z**2 - 1) * density / 6, 0.0, 1.0)
    return result


def _hypergeometric_at_most(x: NDArray[np.int64], n: int, holders: int, b: int) -> Floats:
    first, last = max(0, holders + b - n), min(holders, b)
    mode = min(max((holders + 1) * (b + 1) // (n + 2), first), last)
    # Variance below 400: what lies 20 deviations from the mode is negligible, up or down.
    low, high = max(first, mode - 500), min(last, mode + 500)
    h = np.arange(low, high)
    logs = np.concatenate([[0.0], np.cumsum(np.log((holders - h) * (b - h) / ((h + 1) * (n - holders - b + h + 1))))])
    cumulative = np.append(np.exp(logs - logs.max()).cumsum(), 0.0)
    result: Floats = cumulative[np.where(x < low, -1, np.minimum(x - low, high - low))] / cumulative[-2]
    return result


def _inverted(mechanism: QuotaRR, count: int, tail: float) -> tuple[int, int]:
    """Return the least and the largest number of holders whose law puts more than `tail` on either side of count."""
    law, (truth, lie) = mechanism.law, mechanism.truthfulness
    low, high = 0, mechanism.n
    while low < high:  # P(I >= count) grows with the number of holders
        middle = (low + high) // 2
        if 1 - _at_most(law, truth, lie, middle, count - 1) > tail:
            high = middle
        else:
            low = middle + 1
    lower = low
    low, high = 0, mechanism.n
    while low < high:  # P(I <= count) falls with it
        middle = (low + high + 1) // 2
        if _at_most(law, truth, lie, middle, count) > tail:
            low = middle
        else:
            high = middle - 1
    return min(lower, low), max(lower, low)
