"""What the analyst reads of dealt coins: frequencies, standard errors and intervals, over one deal or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from deniable.aggregate import Aggregate
from deniable.errors import InvalidParameterError, MismatchError
from deniable.estimate import Estimate
from deniable.joint._quota_estimate import tangent_slopes

Floats = NDArray[np.float64]


class DealtLaw(Protocol):
    """What a mechanism with dealt shares (QuotaRR, JRR, ...) tells the analyst about one deal."""

    @property
    def n(self) -> int:
        """Number of contributors dealt to."""

    @property
    def deal_id(self) -> str:
        """Name of the deal."""

    def frequencies(self, aggregate: Aggregate) -> Floats:
        """Return unbiased frequencies."""

    def variance(self, f: float, n: int | None = None, *, reporters: int | None = None) -> float:
        """Return the variance of an estimated frequency whose true value is f."""

    def frequency_bounds(self, aggregate: Aggregate, tail: float) -> tuple[Floats, Floats] | None:
        """Return bounds that each fail with probability `tail`; None where the normal interval is used."""


def _mechanism(aggregate: Aggregate) -> DealtLaw:
    return cast("DealtLaw", aggregate.mechanism)


@dataclass(frozen=True, eq=False)
class DealtEstimate:
    """Estimated frequencies of the k values among the reporters of one or several deals.

    Analysts get one from ``QuotaRR.estimate``, ``JRR.estimate`` or `combine_deals`. Estimates are unbiased and never
    clipped.

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
            mechanism = _mechanism(aggregate)
            f = np.clip(mechanism.frequencies(aggregate), 0.0, 1.0)
            variances = [mechanism.variance(value, reporters=aggregate.n) for value in f.tolist()]
            total += np.array(variances) * aggregate.n**2
        return np.sqrt(total) / self.n

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Return (lower, upper) bounds of the frequencies among the reporters, each float64[k].

        Over one deal: the mechanism's own interval where it has one (`frequency_bounds` says which). Otherwise, and
        over several deals: the normal interval with the exact variance at the clipped estimate; not clipped.

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
        return self._bounds(outside / 2)

    def _bounds(self, tail: float) -> tuple[Floats, Floats]:
        bounds = None
        if len(self.deals) == 1:
            bounds = _mechanism(self.deals[0]).frequency_bounds(self.deals[0], tail)
        if bounds is not None:
            return bounds
        z = NormalDist().inv_cdf(1 - tail)
        return self.frequencies - z * self.standard_errors, self.frequencies + z * self.standard_errors

    def to_estimate(self) -> Estimate:
        """Return an `Estimate` for post-processing and tables.

        Its variance is the tangent, at the clipped estimate, to the exact one, which is quadratic in the frequency;
        so its standard errors are those of one deal with all reports at hand. Of several deals or after drop-outs the
        standard error is taken as constant. Its intervals for these contributors are those of `interval`.
        """
        errors = self.standard_errors**2 * self.n
        mechanism = _mechanism(self.deals[0])
        slopes = np.zeros(self.k)
        f = np.clip(self.frequencies, 0.0, 1.0)
        if len(self.deals) == 1 and self.n == mechanism.n:
            slopes = tangent_slopes(mechanism.variance, f) * self.n
        absent = errors - slopes * f
        return Estimate(self.frequencies, self.n, absent, absent + slopes, bounds=self._bounds)


def combine_deals(aggregates: Sequence[Aggregate]) -> DealtEstimate:
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
        If an aggregate is not of dealt coins or of a mechanism that keeps sums per group or per bit of its own
        (`QuotaBatches`, `QuotaRecords`, `QuotaUnary`), domain sizes differ, or two aggregates belong to one deal.
    EmptyAggregateError
        If an aggregate contains no reports: leave that deal out.

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
    deals: list[DealtLaw] = []
    total = np.zeros(aggregates[0].mechanism.state_size)
    for aggregate in aggregates:
        mechanism = _mechanism(aggregate)
        if not (hasattr(mechanism, "deal_id") and hasattr(mechanism, "frequency_bounds")):
            raise MismatchError(
                f"aggregates must come from a mechanism with dealt shares whose deals can be combined, "
                f"got one from {mechanism!r}"
            )
        if aggregate.mechanism.state_size != len(total):
            raise MismatchError(
                f"deals must share one domain size, got k={len(total)} and k={aggregate.mechanism.state_size}"
            )
        if mechanism in deals:
            raise MismatchError(f"two aggregates belong to one deal, {mechanism!r}: add them up first")
        total += mechanism.frequencies(aggregate) * aggregate.n
        deals.append(mechanism)
    n = sum(aggregate.n for aggregate in aggregates)
    return DealtEstimate(total / n, n, tuple(aggregates))
