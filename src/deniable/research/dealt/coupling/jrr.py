"""Joint randomised response (JRR), whose lies a dealer has correlated within secret random pairs of contributors.

JRR is from Zheng, Seeam, Hu, Zhang, Zhang, *Locally differentially private frequency estimation via joint randomized
response* (PoPETs 2025(3)). The dealer sees neither data nor reports. The dealer forms random pairs of contributors and
deals the signs R = +1 and R = -1 to the two contributors of each pair. Each contributor draws a random number C and
tells the truth if C + R > 0 (Theorem 5 of the paper).

Each report alone has the distribution of randomised response. But if one of two paired contributors lies, the other
contributor is less likely to lie. So the errors of the two contributors tend to cancel if most answers are the same.

The pairing lowers the error, and it costs privacy. The method `privacy` states the cost. The published epsilon holds
against an adversary who looks at one report and ignores all others. The page docs/theory/jrr.md has proofs, errata and
numbers. Quota randomised response (`QuotaRR`) has smaller errors than JRR, and its guarantee is pure: delta is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, blocks
from deniable.core.thresholds import EpsilonLike
from deniable.research.dealt.coupling.coin_guarantee import jrr_guarantee
from deniable.research.dealt.coupling.coins import Coin, coin, flip_by_share
from deniable.research.dealt.coupling.coupled import SignedCoins, sign_counts
from deniable.research.dealt.coupling.parameters import optimal_parameters
from deniable.research.dealt.dealt import ROW_APART, CodeOracle
from deniable.research.dealt.shares import Columns


@final
@dataclass(frozen=True)
class JRR(SignedCoins[Codes], CodeOracle):
    """Joint randomised response reports one bit, which is the truth or a lie, for a question with two possible answers.

    The answers are coded 0 and 1. A dealer deals secret shares once to n contributors, in random pairs. The shares make
    it less likely that both contributors of a pair lie.

    The parameter p is the probability of a true report. The parameter rho, which is at most 0, is the correlation
    between the events that two paired contributors tell the truth. The class method `optimal` chooses p and rho for a
    nominal epsilon. Its argument `count` is a guess of the number of contributors with the answer 1. Its argument
    `epsilon_aux` is a bound against everybody, even a colluding dealer.

    Parameters
    ----------
    p : float, Fraction, Decimal or str
        Probability of a true report, greater than 1/2 and less than 1. A float is read as the decimal that Python
        prints for it, so 0.1 is read as 1/10.
    rho : float, Fraction, Decimal or str
        Correlation between the events that two paired contributors tell the truth, from 1 - 1/p to 0. With rho = 0 the
        mechanism is randomised response. A value within 1e-12 (relative) of 1 - 1/p is replaced by 1 - 1/p. At rho = 1
        - 1/p, at least one contributor of each pair is certain to tell the truth.
    n : int
        Number of contributors who receive a share, from 2 to 2^32. Fewer contributors may report. If n is odd, the
        dealer draws one contributor who is left unpaired and reports by randomised response.
    colluders : int, optional
        Number of colluders for which `privacy` states a bound, at most n - 1. The default is 5, as in the paper, or n -
        1 if that is less.
    deal_id : str
        Name of the deal. Every deal needs its own name. Aggregates of different deals are not added up. The function
        `combine_deals` combines their estimates.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds. The message names the nearest feasible value.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import JRR
    >>> import numpy as np
    >>> jrr = JRR.optimal(n=10_000, epsilon=1.0, colluders=5, count=500, epsilon_aux=2.0)
    >>> round(jrr.p, 4), round(jrr.rho, 4)
    (0.731, -0.1141)
    >>> rng = SimulationRandomness(1)
    >>> truth = np.repeat([0, 1], [9500, 500])
    >>> reports = jrr.randomize(truth, jrr.deal(10_000, rng), rng)
    >>> estimate = jrr.estimate(jrr.aggregate(reports))
    >>> estimate.frequencies.round(3), estimate.standard_errors.round(4)
    (array([0.96, 0.04]), array([0.0091, 0.0091]))
    """

    p: float | Fraction
    rho: float | Fraction
    n: int
    colluders: int | None = None
    deal_id: str = ""
    epsilon: float = field(init=False, repr=False, compare=False)
    """ln((p + s)/(q - s)): bound against anyone who knows or learns my sign, whatever else they know; infinite at the
    end of the range of rho."""

    k = cells = 2
    _pull = -1.0

    name = "JRR"
    constructor = "optimal"
    card = Card(
        group="dealt",
        when="to compare joint randomised response, as published, with QuotaRR",
        planned=False,
        instead=ROW_APART,
        wire="one bit",
        page="theory/jrr.md",
        note="the nominal epsilon is for an adversary who ignores all reports except one; it does not hold against a "
        "collector who uses all reports",
    )

    def __post_init__(self) -> None:
        self._check_coins()

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
        """Return the JRR with least variance that meets a nominal epsilon.

        Parameters
        ----------
        n : int
            Number of contributors, >= 2.
        epsilon : float, Fraction, Decimal or str
            Bound in nats for an adversary who sees one report and the signs and lies of `colluders` other contributors,
            and ignores all other reports. It does not hold against a collector who uses all reports; see `privacy()`.
        colluders : int
            Number of colluders, at most n - 1.
        count : int, optional
            Guess of the number of contributors who hold 1, from 0 to n, for which the variance is minimised. By default
            the mean variance over all numbers is minimised. If the guess is near n/2 or there are many colluders, the
            result is plain randomised response (rho = 0).
        epsilon_aux : float, Fraction, Decimal or str, optional
            Bound, at least epsilon, that must hold against everybody, even a colluding dealer. By default there is no
            such bound. If JRR is then better than randomised response, its best form is the extreme one, which has no
            bound against a colluding dealer.
        deal_id : str
            Name of the deal.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds, or epsilon_aux < epsilon. The message names the nearest feasible value.

        Examples
        --------
        >>> jrr = JRR.optimal(n=10_000, epsilon=0.1, colluders=5, count=1000)
        >>> randomised_response = JRR.optimal(n=10_000, epsilon=0.1, colluders=5, count=5000)
        >>> round(jrr.count_variance(1000) / randomised_response.count_variance(1000), 3)
        0.429
        """
        p, rho = optimal_parameters(n, epsilon, colluders, count, epsilon_aux)
        return cls(p, rho, n, colluders, deal_id)

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Codes:
        # The truth is reported if C + R > 0. One 64-bit word per report draws C. R is the share's sign, and 0 for the
        # unpaired contributor.
        lies = np.array([self.coin.minus, self.coin.plus, self.coin.unpaired], dtype=np.uint64)
        reports = np.empty(len(codes), dtype=np.uint8)
        for rows, words in blocks(rng, len(codes)):
            flip_by_share(codes[rows], columns[0][rows], words, lies, reports[rows])
        return reports

    def count_variance(self, count: float, *, reporters: int | None = None) -> float:
        """Variance of the estimated number of contributors who hold 1, by Theorem 3.

        With n' reporters, of whom n1' hold 1, it is pq/(p - q)^2 [n' + rho ((2 n1' - n')^2 - n')/(n - 1)]. For odd n,
        the divisor is n instead of n - 1.

        Examples
        --------
        >>> round(JRR(p=0.8, rho=-0.1875, n=2).count_variance(2), 4)  # Example 2 of the paper
        0.7222
        """
        reporting = self.n if reporters is None else checked_integer("reporters", reporters, 1, self.n)
        return self.variance(count / reporting, reporters=reporting) * reporting**2

    @cached_property
    def coin(self) -> Coin:
        return coin(self.p, self.rho)

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        return 1 - self.coin.q, self.coin.q

    def _guarantee(self, theta: float, colluders: int, delta: float) -> Guarantee:
        return jrr_guarantee(self.coin, self.n, theta, colluders, delta)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        drawn: NDArray[np.int64] = self.simulate_counts(counts, 1, rng)[0]
        return drawn

    def simulate_counts(self, counts: ArrayLike, runs: int, rng: SimulationRandomness) -> NDArray[np.int64]:
        """Draw the counts of `runs` independent deals to n contributors, exactly in distribution: int64[runs, 2].

        Reports are independent, given how many holders of each answer were dealt each sign.

        Parameters
        ----------
        counts : int[2]
            Number of contributors who hold each answer. The two numbers sum to n.
        runs : int
            Number of deals.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        true_counts, pool = self._checked_counts(counts, 2), sign_counts(self.n)
        lies = np.array([float(lie) for lie in (self.coin.lie_minus, self.coin.lie_plus, self.coin.q)])
        size, draw = checked_integer("runs", runs, 1), rng.generator.binomial
        # The marginals method does not limit the population.
        one = rng.generator.multivariate_hypergeometric(pool, int(true_counts[1]), size=size, method="marginals")
        ones = draw(one, 1 - lies).sum(axis=1) + draw(np.array(pool) - one, lies).sum(axis=1)
        return np.stack([self.n - ones, ones], axis=1).astype(np.int64)
