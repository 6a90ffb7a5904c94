"""Report coupling inside optimised unary encoding: every bit has its own secret pairs.

Zheng, Seeam, Hu, Zhang, Zhang, PoPETs 2025(3), section 4.6.2, propose JRR inside OUE (Wang, Blocki, Li, Jha 2017):
peers perturb their vectors jointly. Departures: *reports* are coupled rather than truthfulness (a bit is y = 1{U < t},
the peer uses 1 - U), which is what takes variance off rare values; and each bit is dealt with pairs of its own: one
pairing for all bits betrays who is paired with whom (docs/theory/coupling.md). For rare values the variance is that of
OUE times 1 - e^-epsilon.
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
from deniable.checks import checked_codes, checked_counts, checked_domain, checked_integer, checked_probability
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.joint._coupled_common import (
    check_dealt_to,
    checked_deal_id,
    checked_number,
    score_bounds,
    support_frequencies,
)
from deniable.joint._coupling_guarantee import coupled_unary_guarantee, revealed_bit_types
from deniable.joint._quota_deal import deal_types
from deniable.joint._threshold_coupling import SAY_1, TRUTH, ThresholdCoupling, checked_weight
from deniable.joint.bit_shares import BitShares, check_bit_shares, empty_bits, packed
from deniable.joint.dealt_estimate import DealtEstimate
from deniable.joint.jrr_parameters import MAX_CONTRIBUTORS, checked_colluders, peer_posterior
from deniable.joint.shares import check_dealt
from deniable.mechanism import Mechanism, ReportField
from deniable.mechanisms._bits import Bits, bit_fields, bit_outputs, packed_width, support_counts
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, counts_between, dealt_to
from deniable.thresholds import SCALE, EpsilonLike, checked_epsilon, exact, exp_bounds, spent, threshold_up


@register("CoupledOUE")
@dataclass(frozen=True)
class CoupledOUE:
    """Report-coupled optimised unary encoding over {0, ..., k-1} for one deal to n contributors.

    The contributor's own bit is reported with probability 1/2, every other bit with q. Per bit and pair, exactly one of
    the two is told to report 0 (if coupled); the other reports 1 with probability 2 q, else the truth.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32. A report takes k bits, a share 2 k.
    q : float, Fraction, Decimal or str
        Probability of reporting a bit that is not the contributor's, in (0, 1/2).
    n : int
        Number of contributors dealt to, 2 <= n <= 2^32. Fewer may report.
    weight : float, Fraction, Decimal or str
        Share lambda in [0, 1] of pairs that are coupled. 0 is OUE.
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
    >>> from deniable import OUE, SimulationRandomness
    >>> import numpy as np
    >>> coupled = CoupledOUE.optimal(k=20, n=10_000, epsilon=0.5, colluders=5)
    >>> round(coupled.variance(0.0) / OUE(20, 0.5).variance(0.0, 10_000), 3)
    0.394
    >>> truth = np.arange(10_000) % 20
    >>> reports = coupled.randomize(truth, coupled.deal(10_000, SimulationRandomness(1)))
    >>> reports.shape, coupled.estimate(coupled.aggregate(reports)).k
    ((10000, 3), 20)
    """

    k: int
    q: float | Fraction
    n: int
    weight: float | Fraction = 1.0
    colluders: int | None = None
    deal_id: str = ""

    name = "CoupledOUE"
    epsilon = math.inf
    report_type = staticmethod(np.asarray)
    share_type = BitShares

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "q", checked_number(self.q, "q"))
        object.__setattr__(self, "n", checked_integer("n", self.n, 2, MAX_CONTRIBUTORS))
        object.__setattr__(self, "weight", checked_weight(self.weight))
        revealing = min(5, self.n - 1) if self.colluders is None else checked_colluders(self.n, self.colluders)
        object.__setattr__(self, "colluders", revealing)
        checked_deal_id(self.deal_id)
        if not 0 < exact(self.q) < Fraction(1, 2) or 2 * self.coupling.q >= SCALE:
            raise InvalidParameterError(f"q must be in (0, 0.5), got q={self.q}")

    @classmethod
    def optimal(
        cls, k: int, n: int, epsilon: EpsilonLike, colluders: int, weight: float | Fraction = 1.0, *, deal_id: str = ""
    ) -> Self:
        """Return the mechanism with the least q under a nominal epsilon.

        Parameters
        ----------
        k : int
            Domain size.
        n : int
            Number of contributors, >= 2.
        epsilon : float, Fraction, Decimal or str
            Bound for who sees one report and what `colluders` others reveal, and ignores all other reports. It bounds
            no collector who uses all reports: read `privacy()`.
        colluders : int
            m, at most n - 1; fewer than n/2 if all pairs are coupled.
        weight : float
            Share of coupled pairs.
        deal_id : str
            Names the deal.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds, or the colluders are so many that one of them is surely the peer.
        """
        budget = checked_epsilon(epsilon)
        lower, _ = exp_bounds(spent(budget))
        # (1 - q (1 + x))/(q (1 - x)) = e^epsilon at x = mu weight.
        x = peer_posterior(n, colluders) * exact(checked_weight(weight))
        if x >= 1:
            raise InvalidParameterError(
                f"colluders must be <= {(n - 1) // 2} for n={n}, so that the peer may be somebody else, "
                f"got colluders={colluders}"
            )
        q = float(1 / (1 + x + lower * (1 - x))) * (1 + 2.0**-51)  # a float stands for its shortest decimal
        return cls(k, q, n, weight, colluders, deal_id)

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> BitShares:
        """Dealer: draw the types of all n contributors, for every bit anew; sees no data and no reports.

        Takes O(n k) time and n k/4 bytes. Deal once per `deal_id`.

        Raises
        ------
        InvalidParameterError
            If n is not the number that the deal is meant for.
        """
        check_dealt_to(checked_integer("n", n, 1), self.n)
        ones, truth = empty_bits(n, self.k), empty_bits(n, self.k)
        for v in range(self.k):
            types = deal_types(self.coupling.draw_counts(n, rng), rng)
            ones[:, v >> 3] |= packed(types, SAY_1, v)
            truth[:, v >> 3] |= packed(types, TRUTH, v)
        return BitShares(self.deal_id, ones, truth)

    # ---------------------------------------------------------------- contributor

    def randomize(
        self,
        inputs: ArrayLike,
        shares: BitShares,
        rng: Randomness | None = None,  # noqa: ARG002
    ) -> Bits:
        """Contributor: report each bit as the share tells, silently, and needing no coins.

        Parameters
        ----------
        inputs : int[m]
            True codes in 0..k-1.
        shares : BitShares
            One share per input, of this deal.
        rng : Randomness, optional
            Not used: the share holds all the chance there is.

        Returns
        -------
        uint8[m, ceil(k/8)]
            Packed bits, padding zero.

        Raises
        ------
        InvalidInputError
            If a code is out of range, or a share is missing or malformed.
        MismatchError
            If the shares belong to another deal.
        """
        codes = checked_codes(inputs, self.k)
        check_bit_shares(shares, self.deal_id, self.k, len(codes))
        check_dealt(len(codes), self.n)
        reports = shares.ones.copy()
        rows, bytes_ = np.arange(len(codes)), (codes >> 3).astype(np.int64)
        reports[rows, bytes_] |= shares.truth[rows, bytes_] & np.left_shift(1, codes & 7).astype(np.uint8)
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each bit was set; never sees shares.

        Raises
        ------
        InvalidReportError
            If the dtype or the shape is wrong, or a padding bit is set, naming its row.
        """
        return Aggregate(self._source, *support_counts(reports, self.k))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> DealtEstimate:
        """Analyst: unbiased frequencies f^ = (I_v/n' - q)/(1/2 - q) among the n' reporters.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism or deal.
        EmptyAggregateError
            If it contains no reports.
        """
        return DealtEstimate(self.frequencies(aggregate), aggregate.n, (aggregate,))

    def frequencies(self, aggregate: Aggregate) -> NDArray[np.float64]:
        """Analyst: return the estimated frequencies alone, float64[k]; raises as `estimate` does."""
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
            The mechanism's n if given: the law depends on it.
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
        """The implemented thresholds of one bit: q rounded up, 1/2, and the weight."""
        return ThresholdCoupling(threshold_up(exact(self.q)), SCALE // 2, math.floor(exact(self.weight) * SCALE))

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that bit v is set if the contributor holds v, and if not."""
        return Fraction(self.coupling.p, SCALE), Fraction(self.coupling.q, SCALE)

    def privacy(self, *, colluders: int | None = None, delta: float = 1e-6) -> Guarantee:
        """Return the guarantee per adversary, each with its view, from the implemented integers.

        The first number is what holds whoever is trusted: infinite, because bits told to be true are. The nominal
        epsilon of `optimal` is the row of colluders.

        Parameters
        ----------
        colluders : int, optional
            Number of colluders; the mechanism's by default.
        delta : float
            In (0, 1), for the row that has one.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds.
        """
        revealing = self.colluders if colluders is None else checked_colluders(self.n, colluders)
        assert revealing is not None
        checked = checked_probability("delta", delta, open_interval=True)
        return coupled_unary_guarantee(self.coupling, self.n, revealing, checked)

    def epsilon_against(self, colluders: int) -> float:
        """Return the bound of who sees my report and the shares of m colluders, ignoring other reports, in nats."""
        return revealed_bit_types(self.coupling, peer_posterior(self.n, colluders))

    def implemented_ratio(self) -> float:
        """Return the largest likelihood ratio of who knows the share: infinite."""
        return math.inf

    def implemented_epsilon(self) -> float:
        """Return ln of `implemented_ratio`."""
        return math.inf

    def outputs(self) -> Bits:
        """Every possible report once: report y has the bits of integer y."""
        return bit_outputs(self.k, repr(self))

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these true counts int[k], exactly in distribution, in O(k) time.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        held = checked_counts(counts, self.k)
        if int(held.sum()) != self.n:
            raise InvalidInputError(f"counts must sum to n={self.n}, got {int(held.sum())}")
        told = self.coupling.simulate_counts(self.n, self.k, rng)
        ones = told[:, SAY_1].copy()
        for v, (holders, truthful) in enumerate(zip(held.tolist(), told[:, TRUTH].tolist(), strict=True)):
            # The marginals method has no limit on the population.
            pool = [holders, self.n - holders]
            ones[v] += rng.generator.multivariate_hypergeometric(pool, truthful, method="marginals")[0]
        return Aggregate(self._source, ones, self.n)

    @property
    def _source(self) -> Mechanism[Any, Any]:
        # The verbs of the collector and the analyst are every mechanism's; the contributor's also takes shares.
        return cast("Mechanism[Any, Any]", self)

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse counts of bits outside 0..n, and more reports than contributors."""
        dealt_to(n, self.n)
        counts_between(counts, 0, n)

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """Two packed bits per contributor and value."""
        width = packed_width(self.k)
        return ReportField("ones", "uint8", width), ReportField("truth", "uint8", width)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """The packed bits."""
        return bit_fields(self.k)

    @property
    def report_bits(self) -> float:
        """Bits per report, k."""
        return float(self.k)
