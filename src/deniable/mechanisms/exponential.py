"""Exponential mechanism with utility 1[y = x], which is generalised randomised response at half the budget.

McSherry, Talwar, *Mechanism design via differential privacy* (2007). One contributor's answer is the whole database:
the utility has sensitivity 1 and the weight of reporting y is e^(epsilon u(x, y)/2), hence e^(epsilon/2) for the truth
and 1 for every other value. Those are the weights of GRR(epsilon/2), and GRR is what runs here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import Codes, checked_domain
from deniable.errors import InvalidParameterError
from deniable.estimate import Estimate
from deniable.mechanism import ReportField
from deniable.mechanisms.grr import GRR
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, counts_sum_to
from deniable.thresholds import EPSILON_MIN, BudgetShare, checked_epsilon, exact, spent


@register("Exponential")
@dataclass(frozen=True)
class Exponential:
    """Exponential mechanism over {0, ..., k-1} with utility 1[y = x]: equal to ``GRR(k, epsilon/2)``.

    The textbook factor 1/2 pays for a normalising constant that depends on the data. Here it does not, so half of the
    declared budget is never spent: prefer `GRR` at the same epsilon, and use this one to compare with the literature.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    epsilon : float, Fraction, Decimal or str
        Declared privacy budget in nats, in [2e-6, 32]; a float means its shortest decimal. The tight value that
        `privacy` states is epsilon/2.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.mechanisms.exponential import Exponential
    >>> mechanism = Exponential(k=4, epsilon=2.0)
    >>> bool((mechanism.channel() == GRR(k=4, epsilon=1.0).channel()).all())
    True
    >>> mechanism.privacy().epsilon
    1.0
    """

    k: int
    epsilon: float | Fraction

    name = "Exponential"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if exact(self.epsilon) < 2 * EPSILON_MIN:
            raise InvalidParameterError(
                f"epsilon must be >= {float(2 * EPSILON_MIN)} for GRR at epsilon/2, got epsilon={self.epsilon}"
            )
        GRR(self.k, BudgetShare(spent(self.epsilon) / 2))  # refuses what GRR refuses

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Codes:
        """Contributor: report y with probability proportional to e^(epsilon 1[y = x]/2).

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8, uint16 or uint32 [n]
            Reported codes.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row.
        """
        return self._grr.randomize(inputs, rng)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each code was reported.

        Parameters
        ----------
        reports : int[n]
            Reported codes.

        Raises
        ------
        InvalidReportError
            If a report is no code in 0..k-1.
        """
        return self._own(self._grr.aggregate(reports))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: unbiased frequencies, those of ``GRR(k, epsilon/2)``.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism, also from the GRR it equals.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self)
        return self._grr.estimate(Aggregate(self._grr, aggregate.counts, aggregate.n))

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency whose true value is f, noise only, n contributors."""
        return self._grr.variance(f, n)

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def _grr(self) -> GRR:
        return GRR(self.k, BudgetShare(spent(self.epsilon) / 2))

    def _own(self, aggregate: Aggregate) -> Aggregate:
        return Aggregate(self, aggregate.counts, aggregate.n)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that a report equals v if the contributor holds v, and if not."""
        return self._grr.support_probabilities

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon/2 against everybody, for one report."""
        return local_guarantee(
            float(self.epsilon) / 2,
            self.implemented_epsilon(),
            remarks=(
                f"declared budget {float(self.epsilon):g}; the exponential mechanism with utility 1[y = x] equals "
                "GRR at half of it and spends no more",
            ),
        )

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio of the implemented thresholds, exact; at most e^(epsilon/2)."""
        return self._grr.implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return self._grr.implemented_epsilon()

    def outputs(self) -> Codes:
        """Every possible report once, in the order of the columns of `channel`."""
        return self._grr.outputs()

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | code), shape (k, k); Fractions that sum to exactly one per row if `exact`."""
        return self._grr.channel(exact=exact)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these true counts, exactly in distribution, in O(k) time.

        Parameters
        ----------
        counts : int[k]
            Number of contributors who hold each value.
        rng : SimulationRandomness
            Source of the draw.
        """
        return self._own(self._grr.simulate_aggregate(counts, rng))

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n reports."""
        counts_sum_to(counts, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One code per report."""
        return self._grr.report_fields

    @property
    def report_bits(self) -> float:
        """Bits per report, log2 k."""
        return self._grr.report_bits
