"""k-ary joint randomised response: GRR whose truth coins are negatively correlated within secret random pairs.

Zheng, Seeam, Hu, Zhang, Zhang, *Locally Differentially Private Frequency Estimation via Joint Randomized Response*,
PoPETs 2025(3), eq. (27). That table is the law of two truth coins with Pr[T] = p and *liars uniform over the other
values, independently*. Errata: the correlation of the coins is rho/(k-1), not rho; the table is a law for
-min(p/q, (k-1)^2 q/p) <= rho <= k-1; "consistently outperforms GRR" is false near f = 1/k.

Given the dealt sign R the contributor tells the truth with probability p + R s, s^2 = -rho p q. This realises eq. (27)
on its whole negative range (docs/theory/coupling.md).
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
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.joint._coupled_common import (
    check_dealt_to,
    checked_deal_id,
    checked_number,
    score_bounds,
    support_frequencies,
)
from deniable.joint._jrr_coin import Coin
from deniable.joint._kary_coin import kary_coin, lie_by_share, rho_range
from deniable.joint._kary_guarantee import kary_guarantee, lie_tells_more, revealed_lies, revealed_shares, worst_ratio
from deniable.joint._kary_optimum import KaryTask, Reveal, best_truthfulness
from deniable.joint.dealt_estimate import DealtEstimate
from deniable.joint.jrr_parameters import MAX_CONTRIBUTORS, checked_colluders, pair_rate, peer_posterior
from deniable.joint.jrr_shares import SHARE_TYPES, JRRShares, deal_signs, most_signs
from deniable.joint.shares import check_shares
from deniable.mechanism import Mechanism, ReportField
from deniable.mechanisms.grr import count_codes
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness, blocks, uniform_below
from deniable.spec import register
from deniable.state import Counts, counts_sum_to, dealt_to
from deniable.thresholds import SCALE, EpsilonLike, checked_epsilon, exact

MAX_VALUES = (1 << 16) - 1


@register("KaryJRR")
@dataclass(frozen=True)
class KaryJRR:
    """k-ary JRR over {0, ..., k-1} for one deal to n contributors; k = 2 is `JRR`.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 65535.
    p : float, Fraction, Decimal or str
        Probability of a true report, in (1/k, 1); a float means its shortest decimal.
    rho : float, Fraction, Decimal or str
        The rho of eq. (27), from -min(p/q, (k-1)^2 q/p) to 0; 0 is GRR. Within 1e-12 (relative) of the end it means
        the end. Positive rho is a distribution up to k - 1, but saves less than one report's variance: it is not dealt.
    n : int
        Number of contributors dealt to, 2 <= n <= 2^32. Fewer may report. With odd n, one contributor drawn by the
        dealer is left unpaired and reports by GRR.
    colluders : int, optional
        Number of colluders that `privacy` states a row for, at most n - 1; 5 (the paper's) or n - 1 by default.
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
    >>> jrr = KaryJRR.optimal(k=4, n=10_000, epsilon=1.0, colluders=5)
    >>> round(jrr.p, 4), round(jrr.correlation, 4)
    (0.4751, -0.9052)
    >>> rng = SimulationRandomness(1)
    >>> truth = np.repeat([0, 1], [9000, 1000])
    >>> reports = jrr.randomize(truth, jrr.deal(10_000, rng), rng)
    >>> jrr.estimate(jrr.aggregate(reports)).frequencies.round(2)
    array([ 0.89,  0.11,  0.01, -0.01])
    """

    k: int
    p: float | Fraction
    rho: float | Fraction
    n: int
    colluders: int | None = None
    deal_id: str = ""

    name = "KaryJRR"
    report_type = staticmethod(np.asarray)
    share_type = JRRShares

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_integer("k", self.k, 2, MAX_VALUES))
        object.__setattr__(self, "p", checked_number(self.p, "p"))
        object.__setattr__(self, "rho", checked_number(self.rho, "rho"))
        object.__setattr__(self, "n", checked_integer("n", self.n, 2, MAX_CONTRIBUTORS))
        revealing = min(5, self.n - 1) if self.colluders is None else checked_colluders(self.n, self.colluders)
        object.__setattr__(self, "colluders", revealing)
        checked_deal_id(self.deal_id)
        kary_coin(self.k, self.p, self.rho)

    @classmethod
    def optimal(
        cls,
        k: int,
        n: int,
        epsilon: EpsilonLike,
        colluders: int,
        count: int | None = None,
        epsilon_aux: EpsilonLike | None = None,
        *,
        reveal: Reveal = "shares",
        deal_id: str = "",
    ) -> Self:
        """Return the KaryJRR of least variance of one value's frequency under a nominal epsilon.

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
            M, at most n - 1.
        count : int, optional
            A guess of how many hold the value of interest; 0, a rare value, by default. The answer is GRR (rho = 0)
            if the count is near n/k or the colluders are many.
        epsilon_aux : float, Fraction, Decimal or str, optional
            Cap, >= epsilon, on what anybody learns, a colluding dealer included.
        reveal : {"shares", "truths"}
            What the colluders reveal. "truths" (whether they reported the truth, as in the paper) permits slightly
            more where p < 1/2; but nothing keeps who was dealt a share from revealing it.
        deal_id : str
            Names the deal.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds, or epsilon_aux < epsilon.

        Examples
        --------
        >>> KaryJRR.optimal(k=10, n=10_000, epsilon=1.0, colluders=5, count=1000).rho  # f = 1/k
        0.0
        """
        size, budget = checked_integer("k", k, 2, MAX_VALUES), checked_epsilon(epsilon)
        mu = peer_posterior(n, colluders)
        if reveal not in ("shares", "truths"):
            raise InvalidParameterError(f'reveal must be "shares" or "truths", got reveal={reveal!r}')
        cap = None if epsilon_aux is None else checked_epsilon(epsilon_aux, "epsilon_aux")
        if cap is not None and exact(cap) < exact(budget):
            raise InvalidParameterError(
                f"epsilon_aux must be >= epsilon={budget}, got epsilon_aux={epsilon_aux} (the nearest feasible values: "
                f"epsilon_aux={budget} or epsilon={epsilon_aux})"
            )
        held = 0 if count is None else checked_integer("count", count, 0, n)
        task = KaryTask(size, n, held, float(budget), float(mu), float(pair_rate(n)), reveal, float(cap or math.inf))
        p, s = best_truthfulness(task)
        # Crossings are known to about 1e-9: an optimum that near to the end of the range is the end of the range. Under
        # a cap it never is: there my share tells all.
        extreme = cap is None and s >= min(p, 1 - p) * (1 - 1e-7)
        s, step = (0.0 if s < 1e-9 else s), 2.0**-53
        while True:
            end = rho_range(size, p)[0]
            rho = end if extreme else max(end, -(s**2) * (size - 1) / (p * (1 - p)) + 0.0)
            coin = kary_coin(size, p, rho)
            known = revealed_shares if reveal == "shares" else revealed_lies
            told = known(size, coin, mu) > budget
            if not told and (cap is None or revealed_shares(size, coin, Fraction(1)) <= cap):
                return cls(size, p, rho, n, colluders, deal_id)
            # What tells too much is the truth, or else a lie: then less of s alone will do.
            lies = bool(s) and not extreme and lie_tells_more(size, coin, mu if told else Fraction(1))
            p, s, step = (p if lies else p - step), (max(s - 2 * step, 0.0) if s else 0.0), 2 * step

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> JRRShares:
        """Dealer: draw the signs of all n contributors; sees no data and no reports. Deal once per `deal_id`.

        Raises
        ------
        InvalidParameterError
            If n is not the number that the deal is meant for.
        """
        check_dealt_to(checked_integer("n", n, 1), self.n)
        return deal_signs(self.deal_id, n, rng)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, shares: JRRShares, rng: Randomness) -> Codes:
        """Contributor: tell the truth with probability p + R s, p without a peer; else lie, uniformly.

        Parameters
        ----------
        inputs : int[m]
            True codes in 0..k-1.
        shares : JRRShares
            One share per input, of this deal.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8 or uint16 [m]
            Reported codes.

        Raises
        ------
        InvalidInputError
            If a code is out of range, or a share is missing, duplicated (more of a sign than were dealt) or no share of
            this mechanism.
        MismatchError
            If the shares belong to another deal.
        """
        codes = checked_codes(inputs, self.k)
        check_shares(shares, JRRShares, self.deal_id, self.n, most_signs(self.n), len(codes))
        lies = [self.coin.minus, self.coin.plus, self.coin.unpaired]
        # A sure lie needs 2^64, which no word holds: a flag says so.
        limits = np.array([min(lie, SCALE - 1) for lie in lies], dtype=np.uint64)
        certain = np.array([lie == SCALE for lie in lies])
        reports = np.empty(len(codes), dtype=code_dtype(self.k))
        for rows, words in blocks(rng, len(codes)):
            steps = uniform_below(rng, self.k - 1, len(words))
            lie_by_share(codes[rows], shares.types[rows], words, steps, limits, certain, self.k, reports[rows])
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each code was reported; never sees shares.

        Raises
        ------
        InvalidReportError
            If a report is no code in 0..k-1.
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
        task = KaryTask(self.k, count, f * count, 0.0, 0.0, float(pair_rate(self.n)))
        return task.variance(1 - float(self.coin.q), float(self.coin.s) ** 2) / count**2

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def coin(self) -> Coin:
        """The implemented coin: integer thresholds of a lie by share; its q is the probability of any lie, 1 - p."""
        return kary_coin(self.k, self.p, self.rho)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that a report equals v if the contributor holds v, and if not."""
        return 1 - self.coin.q, self.coin.q / (self.k - 1)

    @property
    def correlation(self) -> float:
        """Correlation of two peers' truth coins, -s^2/(p(1-p)) = rho/(k-1)."""
        return -float(self.coin.s**2 / (self.coin.q * (1 - self.coin.q)))

    @property
    def epsilon(self) -> float:
        """What holds whoever colludes: the bound of who knows the share; infinite at the end of the range of rho."""
        return self.implemented_epsilon()

    def privacy(self, *, colluders: int | None = None, delta: float = 1e-6) -> Guarantee:
        """Return the guarantee per adversary, each with its view, from the implemented integers.

        The first number is what holds whoever is trusted; the nominal epsilon of `optimal` is the row of colluders.

        Parameters
        ----------
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
        checked = checked_probability("delta", delta, open_interval=True)
        return kary_guarantee(self.k, self.coin, self.n, revealing, checked)

    def implemented_ratio(self) -> Fraction | float:
        """Return the largest likelihood ratio of who knows the share, exact; no view's exceeds it."""
        ratio = worst_ratio(self.k, self.coin.lie_plus, self.coin.lie_minus)
        return math.inf if ratio is None else ratio

    def implemented_epsilon(self) -> float:
        """Return ln of `implemented_ratio`, rounded up."""
        return revealed_shares(self.k, self.coin, Fraction(1))

    def outputs(self) -> Codes:
        """Every possible report once."""
        return np.arange(self.k, dtype=code_dtype(self.k))

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these true counts int[k], exactly in distribution, in O(k^2) time.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        held = checked_counts(counts, self.k)
        if int(held.sum()) != self.n:
            raise InvalidInputError(f"counts must sum to n={self.n}, got {int(held.sum())}")
        draw = rng.generator
        pool = [(self.n // 2, self.coin.minus), (self.n // 2, self.coin.plus), (self.n % 2, self.coin.unpaired)]
        rest, liars = held, np.zeros_like(held)
        for size, lie in pool:
            part = draw.multivariate_hypergeometric(rest, size, method="marginals")
            liars = liars + draw.binomial(part, lie / SCALE)
            rest = rest - part
        total = held - liars
        uniform = np.full(self.k - 1, 1 / (self.k - 1))
        for v in np.flatnonzero(liars):
            total[np.arange(self.k) != v] += draw.multinomial(liars[v], uniform)
        return Aggregate(self._source, total, self.n)

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
        """One type per share."""
        return (ReportField("types", code_dtype(SHARE_TYPES).name),)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One code per report."""
        return (ReportField("value", code_dtype(self.k).name),)

    @property
    def report_bits(self) -> float:
        """Bits per report, log2 k."""
        return float(np.log2(self.k))
