"""Report-coupled randomised response: peers use U and 1 - U, so that forced reports cancel within secret random pairs.

JRR couples whether peers tell the truth, which cancels noise where both hold the same value. Coupling the *reports*
cancels it always: of every pair, both tell the truth (probability p - q), or one is told to say 1 and the other to say
0. At the same p it has less variance than randomised response at any frequency, and than JRR
(docs/theory/coupling.md). The idea of a dealer and of random pairs is that of Zheng, Seeam, Hu, Zhang, Zhang, PoPETs
2025(3); the coupling is ours. Quota randomised response (`QuotaRR`) has still less variance and a stronger guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate
from deniable.checks import (
    Codes,
    checked_codes,
    checked_counts,
    checked_integer,
    checked_probability,
    checked_report_codes,
)
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.joint._coupled_common import (
    check_dealt_to,
    checked_deal_id,
    checked_number,
    score_bounds,
    support_frequencies,
)
from deniable.joint._coupling_guarantee import report_coupling_guarantee, revealed_types
from deniable.joint._quota_deal import deal_types
from deniable.joint._threshold_coupling import SAY_1, TRUTH, ThresholdCoupling, checked_weight
from deniable.joint.dealt_estimate import DealtEstimate
from deniable.joint.jrr_parameters import MAX_CONTRIBUTORS, checked_colluders, peer_posterior
from deniable.joint.quota_shares import QuotaShares, follow
from deniable.joint.shares import check_shares
from deniable.mechanism import Mechanism, ReportField
from deniable.mechanisms.grr import count_codes
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, counts_sum_to, dealt_to
from deniable.thresholds import SCALE, EpsilonLike, checked_epsilon, exact, exp_bounds, spent, threshold_up


@register("ReportCoupledRR")
@dataclass(frozen=True)
class ReportCoupledRR:
    """Report-coupled randomised response over {0, 1} for one deal to n contributors.

    Parameters
    ----------
    p : float, Fraction, Decimal or str
        Probability of a true report, in (1/2, 1); a float means its shortest decimal.
    n : int
        Number of contributors dealt to, 2 <= n <= 2^32. Fewer may report. With odd n, one contributor drawn by the
        dealer is left unpaired.
    weight : float, Fraction, Decimal or str
        Share lambda in [0, 1] of pairs that are coupled; the others draw independently. 0 is randomised response.
    colluders : int, optional
        Number of colluders that `privacy` states a row for, at most n - 1; 5 or n - 1 by default.
    deal_id : str
        Names the deal; every deal needs its own.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> coupled = ReportCoupledRR.optimal(n=10_000, epsilon=0.5, colluders=5)
    >>> round(coupled.p, 4), coupled.weight
    (0.6223, 1.0)
    >>> truth = np.repeat([0, 1], [9500, 500])
    >>> reports = coupled.randomize(truth, coupled.deal(10_000, SimulationRandomness(1)))
    >>> coupled.estimate(coupled.aggregate(reports)).frequencies.round(3)
    array([0.933, 0.067])
    """

    p: float | Fraction
    n: int
    weight: float | Fraction = 1.0
    colluders: int | None = None
    deal_id: str = ""

    name = "ReportCoupledRR"
    k = 2
    epsilon = math.inf
    report_type = staticmethod(np.asarray)
    share_type = QuotaShares

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checked_number(self.p, "p"))
        object.__setattr__(self, "n", checked_integer("n", self.n, 2, MAX_CONTRIBUTORS))
        object.__setattr__(self, "weight", checked_weight(self.weight))
        revealing = min(5, self.n - 1) if self.colluders is None else checked_colluders(self.n, self.colluders)
        object.__setattr__(self, "colluders", revealing)
        checked_deal_id(self.deal_id)
        if not Fraction(1, 2) < exact(self.p) < 1 or 2 * self.coupling.q >= SCALE:
            raise InvalidParameterError(f"p must be in (0.5, 1), got p={self.p}")

    @classmethod
    def optimal(cls, n: int, epsilon: EpsilonLike, colluders: int, count: int = 0, *, deal_id: str = "") -> Self:
        """Return the mechanism of less variance under a nominal epsilon: fully coupled, or randomised response.

        Parameters
        ----------
        n : int
            Number of contributors, >= 2.
        epsilon : float, Fraction, Decimal or str
            Bound for who sees one report and what `colluders` others reveal, and ignores all other reports. It bounds
            no collector who uses all reports: read `privacy()`.
        colluders : int
            m, at most n - 1.
        count : int
            A guess of how many hold 1; 0 by default.
        deal_id : str
            Names the deal.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds.
        """
        budget, held = checked_epsilon(epsilon), checked_integer("count", count, 0, n)
        found = []
        for weight in (1, 0):
            # (p + x q)/(q (1 - x)) = e^epsilon at x = mu weight.
            x = peer_posterior(n, colluders) * weight
            q = 1 / ((1 - x) * (1 + exp_bounds(spent(budget))[0])) if x < 1 else Fraction(1)
            p = float(1 - q) - 2.0**-52  # two units below: a float stands for its shortest decimal
            if p > 0.5:
                found.append(cls(p, n, float(weight), colluders, deal_id))
        return min(found, key=lambda mechanism: mechanism.variance(held / n))

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> QuotaShares:
        """Dealer: draw the types of all n contributors; sees no data and no reports.

        A share says "report 0", "report 1" or "report the truth": what U says of one's threshold, and no more of it.

        Raises
        ------
        InvalidParameterError
            If n is not the mechanism's.
        """
        check_dealt_to(checked_integer("n", n, 1), self.n)
        return QuotaShares(self.deal_id, deal_types(self.coupling.draw_counts(n, rng), rng))

    # ---------------------------------------------------------------- contributor

    def randomize(
        self,
        inputs: ArrayLike,
        shares: QuotaShares,
        rng: Randomness | None = None,  # noqa: ARG002
    ) -> Codes:
        """Contributor: say what the share tells, or the truth if it tells to; silently, and needing no coins.

        Parameters
        ----------
        inputs : int[m]
            True codes, 0 or 1.
        shares : QuotaShares
            One share per input, of this deal.
        rng : Randomness, optional
            Not used: the share holds all the chance there is.

        Returns
        -------
        uint8[m]
            Reported codes.

        Raises
        ------
        InvalidInputError
            If a code is out of range, or a share is missing, duplicated (more shares than were dealt) or no type.
        MismatchError
            If the shares belong to another deal.
        """
        codes = checked_codes(inputs, self.k)
        check_shares(shares, QuotaShares, self.deal_id, self.n, [self.n] * (self.k + 1), len(codes))
        reports = np.empty(len(codes), dtype=np.uint8)
        follow(shares.types, codes, self.k, reports)
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each code was reported; never sees shares.

        Raises
        ------
        InvalidReportError
            If a report is neither 0 nor 1.
        """
        codes = checked_report_codes(reports, self.k)
        return Aggregate(self._source, count_codes(codes, self.k), len(codes))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> DealtEstimate:
        """Analyst: unbiased frequencies f^ = (I_v/n' - q)/(p - q) among the n' reporters.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism or deal.
        EmptyAggregateError
            If it contains no reports.
        """
        return DealtEstimate(self.frequencies(aggregate), aggregate.n, (aggregate,))

    def frequencies(self, aggregate: Aggregate) -> NDArray[np.float64]:
        """Analyst: return the estimated frequencies alone, float64[2]; raises as `estimate` does."""
        return support_frequencies(self, aggregate)

    def frequency_bounds(self, aggregate: Aggregate, tail: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Analyst: return score bounds for `DealtEstimate.interval`, each failing with about the probability `tail`."""
        return score_bounds(self, aggregate, tail)

    def variance(self, f: float, n: int | None = None, *, reporters: int | None = None) -> float:
        """Variance of an estimated frequency whose true value among the reporters is f, noise only, exact.

        Parameters
        ----------
        f : float
            True frequency.
        n : int, optional
            The mechanism's n if given.
        reporters : int, optional
            How many of the n report, all by default; who drops out must not depend on the share.
        """
        check_dealt_to(n, self.n)
        count = self.n if reporters is None else checked_integer("reporters", reporters, 1, self.n)
        p, q = map(float, self.support_probabilities)
        return self.coupling.count_variance(f * count, count, self.n) / (count * (p - q)) ** 2

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def coupling(self) -> ThresholdCoupling:
        """The implemented thresholds: q and the weight as integers, q rounded up, p = 1 - q."""
        q = threshold_up(1 - exact(self.p))
        return ThresholdCoupling(q, SCALE - q, math.floor(exact(self.weight) * SCALE))

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability of reporting v for a contributor who holds it, and who does not."""
        return Fraction(self.coupling.p, SCALE), Fraction(self.coupling.q, SCALE)

    def privacy(self, *, theta: float = 0.05, colluders: int | None = None, delta: float = 1e-6) -> Guarantee:
        """Return the guarantee per adversary, each with its view, from the implemented integers.

        The first number is what holds whoever is trusted: infinite, because who is told to report the truth does so
        verbatim. The nominal epsilon of `optimal` is the row of colluders.

        Parameters
        ----------
        theta : float
            Base rate in [0, 1] that the collector knows, in the row that says so.
        colluders : int, optional
            Number of colluders; the mechanism's by default.
        delta : float
            In (0, 1), for the rows that have one.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds.
        """
        revealing = self.colluders if colluders is None else checked_colluders(self.n, colluders)
        assert revealing is not None
        return report_coupling_guarantee(
            self.coupling,
            self.n,
            checked_probability("theta", theta),
            revealing,
            checked_probability("delta", delta, open_interval=True),
        )

    def epsilon_against(self, colluders: int) -> float:
        """Return the bound of who sees my report and the shares of m colluders, ignoring other reports, in nats."""
        return revealed_types(self.coupling, peer_posterior(self.n, colluders))

    def implemented_ratio(self) -> float:
        """Return the largest likelihood ratio of who knows the share: infinite."""
        return math.inf

    def implemented_epsilon(self) -> float:
        """Return ln of `implemented_ratio`."""
        return math.inf

    def outputs(self) -> Codes:
        """Every possible report once."""
        return np.arange(2, dtype=np.uint8)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these true counts int[2], exactly in distribution, at once.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        held = checked_counts(counts, self.k)
        if int(held.sum()) != self.n:
            raise InvalidInputError(f"counts must sum to n={self.n}, got {int(held.sum())}")
        told = self.coupling.simulate_counts(self.n, 1, rng)[0]
        truthful = rng.generator.multivariate_hypergeometric(held, int(told[TRUTH]), method="marginals")
        ones = int(told[SAY_1] + truthful[1])
        return Aggregate(self._source, np.array([self.n - ones, ones]), self.n)

    @property
    def _source(self) -> Mechanism[Any, Any]:
        # The verbs of the collector and the analyst are every mechanism's; the contributor's also takes shares.
        return cast("Mechanism[Any, Any]", self)

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n reports, as many as contributors at most."""
        dealt_to(n, self.n)
        counts_sum_to(counts, n)

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One byte per share."""
        return (ReportField("types", "uint8"),)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One code per report."""
        return (ReportField("value", "uint8"),)

    @property
    def report_bits(self) -> float:
        """One bit per report."""
        return 1.0
