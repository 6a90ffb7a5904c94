"""Joint randomised response (JRR): contributors lie by coins that a dealer has correlated in secret pairs.

Zheng, Seeam, Hu, Zhang, Zhang, *Locally differentially private frequency estimation via joint randomized response*
(PoPETs 2025(3)). A dealer, who sees neither data nor reports, deals opposite signs R to random pairs; a contributor
draws C and tells the truth if C + R > 0 (Theorem 5). Each report alone is randomised response; of two paired
contributors, if one lies the other rather does not, and the errors cancel where most answers are the same.

What it costs is in `privacy()`: the published epsilon holds for who looks at one report and ignores all others. Proofs,
errata and numbers: docs/theory/jrr.md. Quota randomised response (`QuotaRR`) has smaller errors under a pure guarantee.
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
    code_dtype,
)
from deniable.errors import InvalidInputError
from deniable.joint._coupled_common import (
    check_dealt_to,
    checked_deal_id,
    checked_number,
    score_bounds,
    support_frequencies,
)
from deniable.joint._jrr_coin import Coin, coin
from deniable.joint._jrr_laws import balanced_counts
from deniable.joint.dealt_estimate import DealtEstimate
from deniable.joint.jrr_parameters import MAX_CONTRIBUTORS, checked_colluders, optimal_parameters, pair_rate
from deniable.joint.jrr_privacy import everybody, jrr_guarantee
from deniable.joint.jrr_shares import SHARE_TYPES, JRRShares, deal_signs, most_signs
from deniable.joint.shares import check_shares
from deniable.kernels import kernel
from deniable.mechanism import Mechanism, ReportField
from deniable.mechanisms.grr import count_codes
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness, Words, blocks
from deniable.spec import register
from deniable.state import Counts, counts_sum_to, dealt_to
from deniable.thresholds import EpsilonLike


@register("JRR")
@dataclass(frozen=True)
class JRR:
    """Joint randomised response over {0, 1} for one deal to n contributors.

    Parameters
    ----------
    p : float, Fraction, Decimal or str
        Probability of a true report, in (1/2, 1); a float means its shortest decimal.
    rho : float, Fraction, Decimal or str
        Correlation of the truth coins of two paired contributors, in [1 - 1/p, 0]. 0 is randomised response. Within
        1e-12 (relative) of the end it means the end: then half of all contributors report the truth verbatim.
    n : int
        Number of contributors dealt to, 2 <= n <= 2^32. Fewer may report. With odd n, one contributor drawn by the
        dealer is left unpaired and reports by randomised response.
    colluders : int, optional
        Number of colluders that `privacy` states a row for, at most n - 1; 5 (the paper's) or n - 1 by default.
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
    >>> jrr = JRR.optimal(n=10_000, epsilon=1.0, colluders=5, count=500, epsilon_aux=2.0)
    >>> round(jrr.p, 4), round(jrr.rho, 4)
    (0.731, -0.1141)
    >>> rng = SimulationRandomness(1)
    >>> truth = np.repeat([0, 1], [9500, 500])
    >>> reports = jrr.randomize(truth, jrr.deal(10_000, rng), rng)
    >>> estimate = jrr.estimate(jrr.aggregate(reports))
    >>> estimate.frequencies.round(3), estimate.standard_errors.round(4)
    (array([0.957, 0.043]), array([0.0091, 0.0091]))
    """

    p: float | Fraction
    rho: float | Fraction
    n: int
    colluders: int | None = None
    deal_id: str = ""

    name = "JRR"
    report_type = staticmethod(np.asarray)
    share_type = JRRShares

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checked_number(self.p, "p"))
        object.__setattr__(self, "rho", checked_number(self.rho, "rho"))
        object.__setattr__(self, "n", checked_integer("n", self.n, 2, MAX_CONTRIBUTORS))
        revealing = min(5, self.n - 1) if self.colluders is None else checked_colluders(self.n, self.colluders)
        object.__setattr__(self, "colluders", revealing)
        checked_deal_id(self.deal_id)
        coin(self.p, self.rho)

    @classmethod
    def optimal(
        cls,
        n: int,
        epsilon: EpsilonLike,
        colluders: int,
        count: int | None = None,
        epsilon_aux: EpsilonLike | None = None,
        *,
        deal_id: str = "",
    ) -> Self:
        """Return the JRR of least variance under a nominal epsilon.

        Parameters
        ----------
        n : int
            Number of contributors, >= 2.
        epsilon : float, Fraction, Decimal or str
            Bound for who sees one report and the signs and lies of `colluders` others, and ignores all other reports.
            It bounds no collector who uses all reports: read `privacy()`.
        colluders : int
            M, at most n - 1.
        count : int, optional
            A guess of how many hold 1, 0..n, that the variance is minimised for; by default its mean over a flat prior.
            The answer is plain randomised response (rho = 0) if the count is near n/2 or the colluders are many.
        epsilon_aux : float, Fraction, Decimal or str, optional
            Cap, >= epsilon, on what anybody learns, a colluding dealer included. None: no cap, and where JRR is better
            than randomised response its best form is the extreme one, with no bound at all.
        deal_id : str
            Names the deal.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds, or epsilon_aux < epsilon, naming the nearest feasible value.

        Examples
        --------
        >>> jrr = JRR.optimal(n=10_000, epsilon=0.1, colluders=5, count=1000)
        >>> randomised_response = JRR.optimal(n=10_000, epsilon=0.1, colluders=5, count=5000)
        >>> round(jrr.count_variance(1000) / randomised_response.count_variance(1000), 3)
        0.429
        """
        p, rho = optimal_parameters(n, epsilon, colluders, count, epsilon_aux)
        return cls(p, rho, n, colluders, deal_id)

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> JRRShares:
        """Dealer: draw the signs of all n contributors; sees no data and no reports.

        A uniformly random balanced vector of signs: what random pairing with opposite signs amounts to. Deal once per
        `deal_id`: a pairing used twice can be found.

        Parameters
        ----------
        n : int
            Number of contributors; must be the mechanism's n.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        JRRShares
            One share per contributor, one byte each.

        Raises
        ------
        InvalidParameterError
            If n is not the number that the deal is meant for.
        """
        check_dealt_to(checked_integer("n", n, 1), self.n)
        return deal_signs(self.deal_id, n, rng)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, shares: JRRShares, rng: Randomness) -> Codes:
        """Contributor: report the truth if C + R > 0, else the other answer.

        One 64-bit word per report draws C; the share's sign is R (0 for the unpaired contributor). Apply the share
        silently: who refuses because of it gives it away.

        Parameters
        ----------
        inputs : int[m]
            True answers, 0 or 1.
        shares : JRRShares
            One share per input, of this deal.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8[m]
            Reported answers.

        Raises
        ------
        InvalidInputError
            If an answer is out of range, or a share is missing, duplicated (more of a sign than were dealt) or no type
            of this mechanism.
        MismatchError
            If the shares belong to another deal.
        """
        codes = checked_codes(inputs, 2)
        check_shares(shares, JRRShares, self.deal_id, self.n, most_signs(self.n), len(codes))
        lies = np.array([self.coin.minus, self.coin.plus, self.coin.unpaired], dtype=np.uint64)
        reports = np.empty(len(codes), dtype=code_dtype(2))
        for rows, words in blocks(rng, len(codes)):
            _answer(codes[rows], shares.types[rows], words, lies, reports[rows])
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count both answers; never sees shares.

        Parameters
        ----------
        reports : int[m]
            Reported answers.

        Raises
        ------
        InvalidReportError
            If a report is neither 0 nor 1.
        """
        codes = checked_report_codes(reports, 2)
        return Aggregate(self._source, count_codes(codes, 2), len(codes))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> DealtEstimate:
        """Analyst: unbiased frequencies among the n' reporters, f^ = (I_v/n' - q)/(p - q), eq. (18), implemented p, q.

        Unbiased after drop-outs, too, if dropping out depends on neither the share nor the coin.

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
        """Analyst: return score bounds for `DealtEstimate.interval`, each failing with about the probability `tail`.

        All frequencies that a z-test with Theorem 3's variance *at that frequency* does not reject; not clipped.
        The sum of the reports is taken to be normal (docs/theory/jrr.md has the coverage).
        """
        return score_bounds(self, aggregate, tail)

    def variance(self, f: float, n: int | None = None, *, reporters: int | None = None) -> float:
        """Variance of an estimated frequency whose true value among the reporters is f, noise only (Theorem 3).

        Parameters
        ----------
        f : float
            True frequency.
        n : int, optional
            The mechanism's n if given: the law depends on it.
        reporters : int, optional
            How many of the n report, all by default.
        """
        check_dealt_to(n, self.n)
        level, bend = self._spread(self.n if reporters is None else checked_integer("reporters", reporters, 1, self.n))
        return level - bend * (2 * f - 1) ** 2

    def count_variance(self, count: float, *, reporters: int | None = None) -> float:
        """Variance of the estimated number n1 of holders, as Theorem 3 has it.

        pq/(p - q)^2 [n' + rho ((2 n1' - n')^2 - n')/(n - 1)] for n' reporters, n1' of whom hold 1; for odd n with n in
        place of n - 1.

        Examples
        --------
        >>> round(JRR(p=0.8, rho=-0.1875, n=2).count_variance(2), 4)  # Example 2 of the paper
        0.7222
        """
        reporting = self.n if reporters is None else checked_integer("reporters", reporters, 1, self.n)
        return self.variance(count / reporting, reporters=reporting) * reporting**2

    def _spread(self, reporters: int) -> tuple[float, float]:
        """Return (level, bend): the variance of a frequency is level - bend (2 f - 1)^2."""
        q, s, rate = self.coin.q, self.coin.s, pair_rate(self.n)
        level = (q * (1 - q) + s * s * rate) / (reporters * self.coin.gain**2)
        return float(level), float(s * s * rate / self.coin.gain**2)

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def coin(self) -> Coin:
        """The implemented coin: integer thresholds, and exact q and s."""
        return coin(self.p, self.rho)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q), exact."""
        return 1 - self.coin.q, self.coin.q

    @property
    def _source(self) -> Mechanism[Any, Any]:
        # The verbs of the collector and the analyst are every mechanism's; the contributor's also takes shares.
        return cast("Mechanism[Any, Any]", self)

    @property
    def epsilon(self) -> float:
        """ln((p + s)/(q - s)): what holds whoever colludes, infinite at the extreme correlation."""
        return everybody(self.coin)

    def privacy(self, *, theta: float = 0.05, colluders: int | None = None, delta: float = 1e-6) -> Guarantee:
        """Return the guarantee per adversary, each with its view, from the implemented integers.

        The first number is what holds whoever is trusted, and for the view that QuotaRR's first number is for: all
        reports, everybody else's data, everybody else's share. It is infinite at the extreme correlation. The paper's
        nominal epsilon is the row of colluders who ignore all reports but one.

        Parameters
        ----------
        theta : float
            Base rate in [0, 1] that the collector knows, in the rows that say so. JRR gains where it is far from 1/2,
            and there the collector learns most.
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
        return jrr_guarantee(
            self.coin,
            self.n,
            checked_probability("theta", theta),
            revealing,
            checked_probability("delta", delta, open_interval=True),
        )

    def implemented_ratio(self) -> Fraction | float:
        """Return (p + s)/(q - s), exact: no likelihood ratio of any view exceeds it; infinite at the extreme."""
        lie = self.coin.lie_plus
        return (1 - lie) / lie if lie else math.inf

    def implemented_epsilon(self) -> float:
        """Return ln of `implemented_ratio`, rounded up."""
        return everybody(self.coin)

    def outputs(self) -> Codes:
        """Every possible report once."""
        return np.arange(2, dtype=code_dtype(2))

    # ---------------------------------------------------------------- simulation and files

    def simulate_counts(self, counts: ArrayLike, runs: int, rng: SimulationRandomness) -> NDArray[np.int64]:
        """Draw the counts of `runs` independent deals to n contributors, exactly in distribution: int64[runs, 2].

        Given how many holders of each answer were dealt each sign, reports are independent.

        Parameters
        ----------
        counts : int[2]
            Number of contributors who hold each answer, n in all.
        runs : int
            Number of deals.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        true_counts = checked_counts(counts, 2)
        if int(true_counts.sum()) != self.n:
            raise InvalidInputError(f"counts must sum to n={self.n}, got {int(true_counts.sum())}")
        pool = [self.n // 2, self.n // 2, self.n % 2]
        lies = np.array([float(lie) for lie in (self.coin.lie_minus, self.coin.lie_plus, self.coin.q)])
        one = balanced_counts(pool, int(true_counts[1]), checked_integer("runs", runs, 1), rng.generator)
        draw = rng.generator.binomial
        ones = draw(one, 1 - lies).sum(axis=1) + draw(np.array(pool) - one, lies).sum(axis=1)
        return np.stack([self.n - ones, ones], axis=1).astype(np.int64)

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these true counts, exactly in distribution, in constant time.

        Parameters and errors are those of `simulate_counts`.
        """
        return Aggregate(self._source, self.simulate_counts(counts, 1, rng)[0], self.n)

    @property
    def k(self) -> int:
        """Domain size, 2."""
        return 2

    @property
    def state_size(self) -> int:
        """One counter per answer."""
        return 2

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n reports, as many as contributors at most."""
        dealt_to(n, self.n)
        counts_sum_to(counts, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One code per report."""
        return (ReportField("value", code_dtype(2).name),)

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type per share."""
        return (ReportField("types", code_dtype(SHARE_TYPES).name),)

    @property
    def report_bits(self) -> float:
        """Bits per report."""
        return 1.0


@kernel
def _answer(codes: Codes, types: NDArray[Any], words: Words, lies: Words, reports: Codes) -> None:
    """Report the other answer where the word is below the lie threshold of the share's type."""
    for i in range(codes.shape[0]):
        reports[i] = np.int64(codes[i]) ^ np.int64(words[i] < lies[types[i]])
