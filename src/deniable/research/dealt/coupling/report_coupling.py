"""Report-coupled randomised response: the peers of a secret random pair use U and 1 - U, so forced reports cancel.

Joint randomised response (JRR) also pairs contributors. In JRR, each of two paired contributors tells the truth or
lies, and whether one lies depends on whether the other lies. This dependence cancels noise only if both contributors
hold the same value. In report-coupled randomised response, the *reports* of two paired contributors depend on each
other. This dependence always cancels noise. Let p be the probability of a true report, and q = 1 - p. In a coupled
pair, both contributors tell the truth with probability p - q. Otherwise one contributor is told to say 1, and the other
contributor is told to say 0.

At the same p, the variance of report coupling is lower than the variance of randomised response at every frequency. At
every frequency between 0 and 1, the variance of report coupling is also lower than the variance of JRR
(docs/theory/coupling.md). At the frequencies 0 and 1, the variances of report coupling and JRR are equal. Compared with
report coupling, quota randomised response (`QuotaRR`) has a stronger guarantee and, for rare answers, an even lower
variance. The idea of a dealer and of random pairs is from Zheng, Seeam, Hu, Zhang, Zhang, PoPETs 2025(3). The coupling
is our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, settle
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exact, exp_bounds, spent, threshold_up
from deniable.errors import out_of_range
from deniable.research.dealt.coupling.coins import checked_number
from deniable.research.dealt.coupling.coupled import CoupledReports
from deniable.research.dealt.coupling.parameters import peer_posterior
from deniable.research.dealt.coupling.report_guarantee import report_coupling_guarantee, revealed_types
from deniable.research.dealt.coupling.threshold_coupling import SAY_1, TRUTH, ThresholdCoupling, checked_weight
from deniable.research.dealt.dealt import NO_ROW, CodeOracle
from deniable.research.dealt.quota.tables import deal_types
from deniable.research.dealt.shares import Columns, check_types, follow


@final
@dataclass(frozen=True)
class ReportCoupledRR(CoupledReports[Codes], CodeOracle):
    """Report-coupled randomised response reports one bit, and noise partly cancels within secret pairs.

    The question has two possible answers, coded 0 and 1. A dealer divides n contributors into random pairs in secret,
    and deals one secret share to every contributor. A share says "say 1", "say 0" or "say the truth". The parameter
    `weight` is the fraction of pairs that are *coupled*. In a coupled pair, one contributor is told to say 1 whenever
    the other contributor is told to say 0.

    Parameters
    ----------
    p : float, Fraction, Decimal or str
        Probability of a true report, greater than 1/2 and less than 1. A float is read as the decimal that Python
        prints for it, so 0.1 is read as 1/10.
    n : int
        Number of contributors who receive a share, from 2 to 2^32. Fewer contributors may report. If n is odd, the
        dealer draws one contributor who is left unpaired.
    weight : float, Fraction, Decimal or str
        Fraction of pairs that are coupled, from 0 to 1. In a pair that is not coupled, the two shares are independent.
        With weight 0, the mechanism is randomised response.
    colluders : int, optional
        Number of colluders for which `privacy` states a bound, at most n - 1. The default is 5, or n - 1 if that is
        less.
    deal_id : str
        Name of the deal. Every deal needs its own name.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import ReportCoupledRR
    >>> import numpy as np
    >>> coupled = ReportCoupledRR.optimal(n=10_000, epsilon=0.5, colluders=5)
    >>> round(coupled.p, 4), coupled.weight
    (0.6223, 1.0)
    >>> truth, rng = np.repeat([0, 1], [9500, 500]), SimulationRandomness(1)
    >>> reports = coupled.randomize(truth, coupled.deal(10_000, rng), rng)
    >>> coupled.estimate(coupled.aggregate(reports)).frequencies.round(3)
    array([0.934, 0.066])
    """

    p: float | Fraction
    n: int
    weight: float | Fraction = 1.0
    colluders: int | None = None
    deal_id: str = ""

    k = 2

    name = "ReportCoupledRR"
    constructor = "optimal"
    card = Card(
        group="dealt",
        when="if the dealer pairs contributors instead of dealing quotas as in QuotaRR; with the same probability of a "
        "true report, its error is smaller than the error of joint randomised response (JRR) at every frequency "
        "between 0 and 1; against a collector who knows everybody else's data, JRR has a finite epsilon with a delta, "
        "and ReportCoupledRR has no finite epsilon",
        planned=False,
        instead=NO_ROW,
        wire="one bit",
        page="theory/coupling.md",
        note="there is no bound on what a report reveals if the dealer colludes with the collector",
    )

    def __post_init__(self) -> None:
        settle(self, p=checked_number(self.p, "p"), weight=checked_weight(self.weight))
        self._check_pairs()
        if not Fraction(1, 2) < exact(self.p) < 1 or 2 * self.coupling.q >= SCALE:
            raise out_of_range("p", "in (0.5, 1)", self.p)

    @classmethod
    def optimal(cls, n: int, epsilon: EpsilonLike, colluders: int, count: int = 0, *, deal_id: str = "") -> Self:
        """Return the mechanism with less variance that meets a nominal epsilon: fully coupled, or randomised response.

        Parameters
        ----------
        n : int
            Number of contributors, >= 2.
        epsilon : float, Fraction, Decimal or str
            Bound in nats for an adversary who sees one report and what `colluders` other contributors reveal, and
            ignores all other reports. It does not hold against a collector who uses all reports; see `privacy()`.
        colluders : int
            Number of colluders, at most n - 1.
        count : int
            Guess of the number of contributors who hold 1. The default is 0.
        deal_id : str
            Name of the deal.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds.
        """
        budget, held = checked_epsilon(epsilon), checked_integer("count", count, 0, n)
        found = []
        for weight in (1, 0):
            # This solves (p + x q)/(q (1 - x)) = e^epsilon at x = mu weight.
            x = peer_posterior(n, colluders) * weight
            q = 1 / ((1 - x) * (1 + exp_bounds(spent(budget))[0])) if x < 1 else Fraction(1)
            p = float(1 - q) - 2.0**-52  # p is two units lower, because a float means its shortest decimal
            if p > 0.5:
                found.append(cls(p, n, float(weight), colluders, deal_id))
        return min(found, key=lambda mechanism: mechanism.variance(held / n))

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type for each share: 0 or 1 means to report this bit, 2 means to report the truth."""
        return (ReportField("types", "uint8"),)

    def _deal(self, n: int, rng: Randomness) -> Columns:
        return (deal_types(self.coupling.draw_counts(n, rng), rng),)

    def _check_types(self, columns: Columns) -> None:
        check_types(columns[0], self.n, [self.n] * 3)

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Codes:  # noqa: ARG002
        reports = np.empty(len(codes), dtype=np.uint8)
        follow(columns[0], codes, self.k, reports)
        return reports

    @cached_property
    def coupling(self) -> ThresholdCoupling:
        q = threshold_up(1 - exact(self.p))
        return ThresholdCoupling(q, SCALE - q, math.floor(exact(self.weight) * SCALE))

    def _revealed(self, mu: Fraction) -> float:
        return revealed_types(self.coupling, mu)

    def _guarantee(self, theta: float, colluders: int, delta: float) -> Guarantee:
        return report_coupling_guarantee(self.coupling, self.n, theta, colluders, delta)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        told = self.coupling.simulate_counts(self.n, 1, rng)[0]
        truthful = rng.generator.multivariate_hypergeometric(counts, int(told[TRUTH]), method="marginals")
        ones = int(told[SAY_1] + truthful[1])
        return np.array([self.n - ones, ones])
