"""Quota randomised response (QuotaRR): the dealer hands out "say v" and "say the truth" in nearly fixed numbers.

Plain randomised response tells each contributor alone whether to lie, so the number of lies varies and hides the
answer. Here a dealer, who sees neither data nor reports, deals the types of all n contributors together: the law of
randomised response, conditioned on every forced answer being dealt at least a0 times. The variance of rare answers
falls to a few percent, and the guarantee stays pure: it holds against a collector who knows everybody else's data and
everybody else's type. The dealer is trusted not to collude, or is capped (`epsilon_aux`). Proofs: the page on quota
randomised response, docs/theory/quota_rr.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import (
    Codes,
    checked_codes,
    checked_counts,
    checked_integer,
    checked_probability,
    checked_report_codes,
    code_dtype,
)
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.joint._quota_deal import QuotaTables, deal_types, quota_tables
from deniable.joint._quota_guarantee import quota_guarantee, truth_weight
from deniable.joint._quota_law import QuotaLaw, best_minimum, never_worse, quota_law, response_variance
from deniable.joint.dealt_estimate import DealtEstimate
from deniable.joint.quota_interval import inverted
from deniable.joint.quota_shares import QuotaShares, follow
from deniable.joint.shares import check_shares
from deniable.mechanism import Mechanism, ReportField
from deniable.mechanisms.grr import count_codes, lie_threshold, randomize_codes
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness, blocks
from deniable.spec import register
from deniable.state import Counts, counts_sum_to, dealt_to
from deniable.thresholds import EPSILON_MAX, SCALE, checked_epsilon, exact, log_up

MAX_VALUES = (1 << 16) - 1
MAX_CONTRIBUTORS = 1 << 32


@lru_cache(maxsize=256)
def _minimum(n: int, k: int, weight: Fraction, truth: Fraction, lie: Fraction, design: float | None) -> int:
    law = (n, k, float(weight), float(truth), float(lie))
    return never_worse(*law, best_minimum(*law, 0.5)) if design is None else best_minimum(*law, design)


@register("QuotaRR", stated=("minimum",))
@dataclass(frozen=True)
class QuotaRR:
    """Quota randomised response over {0, ..., k-1} for one deal to n contributors.

    Parameters
    ----------
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats against everybody but the dealer, in [1e-6, 32]; a float means its shortest decimal.
    n : int
        Number of contributors dealt to, 2 <= n <= 2^32. Fewer may report.
    minimum : int, optional
        Quota a0: each value is forced on at least this many contributors; k a0 < n. 0 is plain randomised response.
        By default it follows from `design`; the attribute then holds the number.
    k : int
        Domain size, 2 <= k <= 65535.
    design : float, optional
        Frequency in [0, 1] at which the default minimum has the least variance. Without it, the default minimum has the
        least variance at 1/2 and, at every frequency, no more than plain randomised response, whatever k. Chosen for
        rare values, a minimum is worse for common ones.
    epsilon_aux : float, Fraction, Decimal or str, optional
        Cap on what a colluding dealer learns, > epsilon: truth-tellers randomise with this budget. None: no cap, and
        whoever obtains a share saying "truth" reads the answer off the report.
    deal_id : str
        Names the deal. Every deal needs its own: aggregates of different deals are not added but combined
        (`combine_deals`).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, naming the nearest feasible value.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> quota = QuotaRR(epsilon=1.0, n=10_000)
    >>> quota.minimum
    2809
    >>> rng = SimulationRandomness(1)
    >>> truth = np.repeat([0, 1], [9500, 500])
    >>> reports = quota.randomize(truth, quota.deal(10_000, rng), rng)
    >>> estimate = quota.estimate(quota.aggregate(reports))
    >>> estimate.frequencies.round(3), estimate.standard_errors.round(4)
    (array([0.939, 0.061]), array([0.0033, 0.0033]))
    """

    epsilon: float | Fraction
    n: int
    minimum: int | None = None
    k: int = 2
    design: float | None = None
    epsilon_aux: float | Fraction | None = None
    deal_id: str = ""

    name = "QuotaRR"
    report_type = staticmethod(np.asarray)
    share_type = QuotaShares

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "k", checked_integer("k", self.k, 2, MAX_VALUES))
        object.__setattr__(self, "n", checked_integer("n", self.n, 2, MAX_CONTRIBUTORS))
        if self.design is not None:
            object.__setattr__(self, "design", checked_probability("design", self.design))
        if not isinstance(self.deal_id, str):
            raise InvalidParameterError(f"deal_id must be a string, got deal_id={self.deal_id!r}")
        if self.epsilon_aux is not None:
            cap, got = exact(self.epsilon_aux, "epsilon_aux"), f"got epsilon_aux={self.epsilon_aux}"
            if cap <= exact(self.epsilon):
                raise InvalidParameterError(f"epsilon_aux must be > epsilon={self.epsilon}, {got}")
            if cap > EPSILON_MAX:
                raise InvalidParameterError(f"epsilon_aux must be <= {EPSILON_MAX}, {got}")
            object.__setattr__(self, "epsilon_aux", checked_epsilon(self.epsilon_aux, "epsilon_aux"))
        truth, lie = self._truthfulness
        weight = truth_weight(self.k, self.epsilon, lie)
        if self.minimum is None:
            object.__setattr__(self, "minimum", _minimum(self.n, self.k, weight, truth, lie, self.design))
        largest = (self.n - 1) // self.k
        if checked_integer("minimum", self.a0, 0) > largest:
            raise InvalidParameterError(
                f"minimum must be <= {largest} so that k minimum < n for k={self.k}, n={self.n}, "
                f"got minimum={self.minimum}"
            )

    @property
    def a0(self) -> int:
        """The minimum in use."""
        assert self.minimum is not None
        return self.minimum

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> QuotaShares:
        """Dealer: draw the types of all n contributors; sees no data and no reports.

        The counts come from integer tables, exactly, and are assigned by a uniform permutation. Deal once per
        `deal_id`, and use a share once: two answers to one share are one answer seen through the same coin.

        Parameters
        ----------
        n : int
            Number of contributors; must be the mechanism's n.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        QuotaShares
            One share per contributor, one byte each for k < 256.

        Raises
        ------
        InvalidParameterError
            If n is not the number that the quotas are meant for.
        """
        if n != self.n:
            raise InvalidParameterError(f"n must be {self.n}, the number that the quotas are meant for, got n={n}")
        return QuotaShares(self.deal_id, deal_types(self._tables.draw_counts(rng), rng))

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, shares: QuotaShares, rng: Randomness | None = None) -> Codes:
        """Contributor: say what the share tells, or the truth if it tells to.

        Apply the share silently: who refuses when told to say the truth gives the type away.

        Parameters
        ----------
        inputs : int[m]
            True codes in 0..k-1.
        shares : QuotaShares
            One share per input, of this deal.
        rng : Randomness, optional
            Needed in the capped form only, where truth-tellers randomise with epsilon_aux.

        Returns
        -------
        uint8 or uint16 [m]
            Reported codes.

        Raises
        ------
        InvalidInputError
            If a code is out of range, or a share is missing, duplicated (more than were dealt, or more of a type than
            any deal has) or no type of this mechanism.
        MismatchError
            If the shares belong to another deal.
        InvalidParameterError
            If the mechanism is capped and rng is missing.
        """
        codes = checked_codes(inputs, self.k)
        spare = self.n - self.k * self.a0
        most = [self.a0 + spare] * self.k + [spare]
        check_shares(shares, QuotaShares, self.deal_id, self.n, most, len(codes))
        reports = np.empty(len(codes), dtype=code_dtype(self.k))
        if self.epsilon_aux is None:
            follow(shares.types, codes, self.k, reports)
            return reports
        if rng is None:
            raise InvalidParameterError("rng must be given: truth-tellers randomise under epsilon_aux")
        lie = np.uint64(lie_threshold(self.k, self.epsilon_aux))
        for rows, words in blocks(rng, len(codes)):
            randomize_codes(codes[rows], words, lie, self.k, reports[rows])
            follow(shares.types[rows], reports[rows], self.k, reports[rows])
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each code was reported; never sees shares.

        Parameters
        ----------
        reports : int[m]
            Reported codes.

        Raises
        ------
        InvalidReportError
            If a report is no code in 0..k-1.
        """
        codes = checked_report_codes(reports, self.k)
        return Aggregate(self._source, count_codes(codes, self.k), len(codes))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> DealtEstimate:
        """Analyst: unbiased frequencies among the reporters, f^ = (I_v/n' - s0)/(s1 - s0).

        s1 = (E a + p E b)/n and s0 = (E a + lie E b)/n are the marginal probabilities of reporting v with and without
        holding it, also after drop-outs (n' < n reporters) if dropping out does not depend on the type.

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
        check_aggregate(aggregate, self._source)
        present, absent = self.support_probabilities
        result: NDArray[np.float64] = (aggregate.counts / aggregate.n - absent) / (present - absent)
        return result

    def frequency_bounds(
        self, aggregate: Aggregate, tail: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Analyst: return bounds by inverting the exact law, for `DealtEstimate.interval`; None after drop-outs.

        Every number of holders n_v under which neither tail of I_v, as the mechanism draws it, is rarer than `tail`; so
        the bounds are in [0, 1]. The sum over the number of truth-tellers runs over at most 256 of its values, and the
        hypergeometric law of the truthful reports is replaced, where its variance exceeds 400, by its normal with a
        skewness term (tails agree to 1e-3). In the capped form the noise of the truth-tellers is normal.
        """
        if aggregate.n != self.n:
            return None
        law, counts = self.law, aggregate.counts.tolist()
        lower, upper = np.array([inverted(law, *self.truthfulness, count, tail) for count in counts]).T / self.n
        return lower, upper

    def variance(self, f: float, n: int | None = None, *, reporters: int | None = None) -> float:
        """Variance of an estimated frequency whose true value among the reporters is f, noise only, exact.

        Parameters
        ----------
        f : float
            True frequency.
        n : int, optional
            The mechanism's n if given: the law depends on it.
        reporters : int, optional
            How many of the n report, all by default.
        """
        if n is not None and n != self.n:
            raise InvalidParameterError(f"n must be {self.n}, the number that the quotas are meant for, got n={n}")
        count = self.n if reporters is None else checked_integer("reporters", reporters, 1, self.n)
        present, absent = self.support_probabilities
        spread = response_variance(self.law, *self.truthfulness, f * count, count)
        return spread / (count * (present - absent)) ** 2

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def _truthfulness(self) -> tuple[Fraction, Fraction]:
        if self.epsilon_aux is None:
            return Fraction(1), Fraction(0)
        lie = Fraction(lie_threshold(self.k, self.epsilon_aux), SCALE)
        return 1 - (self.k - 1) * lie, lie

    @property
    def truthfulness(self) -> tuple[float, float]:
        """Probability that a truth-teller reports v holding it, and not holding it: (1, 0) without a cap."""
        truth, lie = self._truthfulness
        return float(truth), float(lie)

    @cached_property
    def weight(self) -> Fraction:
        """R, the implemented weight of a truth-teller relative to one forced answer (`truth_weight`)."""
        return truth_weight(self.k, self.epsilon, self._truthfulness[1])

    @property
    def _source(self) -> Mechanism[Any, Any]:
        # The verbs of the collector and the analyst are every mechanism's; the contributor's also takes shares.
        return cast("Mechanism[Any, Any]", self)

    @property
    def law(self) -> QuotaLaw:
        """The law of the type counts, in floats, for estimators."""
        return quota_law(self.n, self.k, self.a0, float(self.weight))

    @property
    def _tables(self) -> QuotaTables:
        return quota_tables(self.n, self.k, self.a0, self.weight)

    @property
    def support_probabilities(self) -> tuple[float, float]:
        """Marginal probability of reporting v for a contributor who holds it, and for one who does not."""
        moments, (truth, lie) = self.law.moments, self.truthfulness
        return (moments.a + truth * moments.b) / self.n, (moments.a + lie * moments.b) / self.n

    def privacy(self) -> Guarantee:
        """Return the guarantee per adversary, each with its view.

        The rows of the dealer and of an intercepted share are as much part of it as the small epsilon.
        """
        return quota_guarantee(
            float(self.epsilon),
            None if self.epsilon_aux is None else float(self.epsilon_aux),
            self.implemented_epsilon(),
            *self.support_probabilities,
        )

    def implemented_ratio(self) -> Fraction:
        """Return (1 + p R)/(1 + lie R), exact: no likelihood ratio of the implemented integer law exceeds it.

        It is reached up to the rounding of the tables, a relative 2^-90 or less.
        """
        truth, lie = self._truthfulness
        return (1 + truth * self.weight) / (1 + lie * self.weight)

    def implemented_epsilon(self) -> float:
        """Return ln of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> Codes:
        """Every possible report once."""
        return np.arange(self.k, dtype=code_dtype(self.k))

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these true counts, exactly in distribution, in O(k) time.

        Parameters
        ----------
        counts : int[k]
            Number of contributors who hold each value, n in all.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        true_counts = checked_counts(counts, self.k)
        if int(true_counts.sum()) != self.n:
            raise InvalidInputError(f"counts must sum to n={self.n}, got {int(true_counts.sum())}")
        *forced, b = self._tables.draw_counts(rng)
        # The marginals method has no limit on the population.
        truthful = rng.generator.multivariate_hypergeometric(true_counts, b, method="marginals")
        if self.epsilon_aux is not None:
            uniform = rng.generator.binomial(truthful, self.k * self.truthfulness[1])
            truthful = truthful - uniform + rng.generator.multinomial(uniform.sum(), np.full(self.k, 1 / self.k))
        return Aggregate(self._source, np.array(forced, dtype=np.int64) + truthful, self.n)

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n reports, as many as contributors at most.

        Quotas do not bind: a contributor may report what they were not told, and must not make all others unreadable.
        """
        dealt_to(n, self.n)
        counts_sum_to(counts, n)

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type per share."""
        return (ReportField("types", code_dtype(self.k + 1).name),)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One code per report."""
        return (ReportField("value", code_dtype(self.k).name),)

    @property
    def report_bits(self) -> float:
        """Bits per report, log2 k."""
        return float(np.log2(self.k))
