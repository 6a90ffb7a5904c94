"""k-ary joint randomised response: GRR whose lies are negatively correlated within secret random pairs.

k-ary JRR is from Zheng, Seeam, Hu, Zhang, Zhang, *Locally Differentially Private Frequency Estimation via Joint
Randomized Response*, PoPETs 2025(3), equation (27). The table of this equation is the joint distribution of the two
reports of a pair of contributors. Each contributor reports the true code with probability p. *A contributor who lies
draws one of the other codes uniformly, independently of the partner.* So each of the other codes has
probability q = (1 - p)/(k - 1).

The paper needs three corrections:

* The correlation between the events that two partners tell the truth is rho/(k-1), not rho.
* The table is a probability distribution only for rho from -min(p/q, (k-1)^2 q/p) to k-1.
* The claim "consistently outperforms GRR" is false for frequencies near 1/k.

For rare answers, the gain over GRR falls as k grows. For example, take epsilon 1 (nominal), 10,000 contributors and
five colluders. The variance of `KaryJRR` is then 63% of the variance of GRR for k = 2, 83% for k = 4, and nearly 100%
for k = 16.

The dealer gives one contributor of a pair the sign R = +1, and the other contributor R = -1. A contributor with the
sign R tells the truth with probability p + R s, where s^2 = -rho p q. The reports then have the distribution of
equation (27), for every possible negative rho (proof: docs/theory/coupling.md).

The method `optimal` finds the best p and s exactly, although it compares only a short list of candidates. The list is
complete for these reasons. At a given p, the variance is a linear function of s^2, so the best s^2 is either 0 or the
largest value that is allowed. A few upper limits decide which s^2 is allowed, and each limit is a quadratic function of
p. If s^2 equals one of the limits, the variance is a quadratic function of 1/(p - q). So the best p is of one of three
kinds:

* a p at which two limits are equal;
* the p of least variance along one limit;
* the largest p that is allowed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, Self, final

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, code_dtype, settle
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, blocks, uniform_below
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exact
from deniable.errors import InvalidParameterError, quoted
from deniable.research.dealt.coupling.coin_guarantee import (
    kary_guarantee,
    lie_tells_more,
    revealed_lies,
    revealed_shares,
)
from deniable.research.dealt.coupling.coins import Coin, kary_coin, lie_by_share, rho_range
from deniable.research.dealt.coupling.coupled import SignedCoins, sign_counts
from deniable.research.dealt.coupling.parameters import pair_rate, peer_posterior
from deniable.research.dealt.dealt import ROW_APART, CodeOracle
from deniable.research.dealt.shares import Columns

Reveal = Literal["shares", "truths"]

_P = Polynomial([0.0, 1.0])


@dataclass(frozen=True)
class KaryTask:
    """Problem to optimise: domain size, contributors, holders of the value of interest, and the constraints.

    `known` is the probability mu that the peer is a colluder. `reveal` names what colluders reveal: their shares, or
    only whether they reported the truth. `epsilon_aux` limits what a colluding dealer learns; an infinite value
    sets no limit.
    """

    k: int
    n: int
    count: float
    epsilon: float
    known: float
    density: float
    reveal: Reveal = "shares"
    epsilon_aux: float = math.inf

    def truth_range(self, epsilon: float) -> tuple[float, float]:
        """Return the least and the largest probability of the truth that keep likelihood ratios within e^epsilon."""
        rest = (self.k - 1) * math.exp(-epsilon) if math.isfinite(epsilon) else 0.0
        least = math.exp(-epsilon) / (math.exp(-epsilon) + self.k - 1) if math.isfinite(epsilon) else 0.0
        return least, 1 / (1 + rest)

    @property
    def bounds(self) -> list[Polynomial]:
        """Return upper bounds of s^2, each a polynomial in p."""
        bounds = [_P**2, (1 - _P) ** 2]
        least, largest = self.truth_range(self.epsilon)
        if self.known > 0:
            if self.reveal == "shares":
                bounds += [((largest - _P) / self.known) ** 2, ((_P - least) / self.known) ** 2]
            else:
                bounds += [(largest - _P) * (1 - _P) / self.known, (_P - least) * _P / self.known]
        if math.isfinite(self.epsilon_aux):
            least, largest = self.truth_range(self.epsilon_aux)
            bounds += [(largest - _P) ** 2, (_P - least) ** 2]
        return bounds

    @property
    def top(self) -> float:
        """Largest allowed p, which is the p of plain GRR."""
        return self.truth_range(self.epsilon)[1]

    @property
    def independent(self) -> Polynomial:
        """Variance of the count without coupling, as a polynomial in p."""
        q = (1 - _P) / (self.k - 1)
        return self.count * _P * (1 - _P) + (self.n - self.count) * q * (1 - q)

    @property
    def coupling(self) -> float:
        """Return by how much s^2 lowers the variance of the count."""
        absent = (self.n - self.count) / (self.k - 1)
        return self.density * ((self.count - absent) ** 2 - self.count - absent / (self.k - 1))

    def variance(self, p: float, square: float) -> float:
        """Variance of the estimated count."""
        gain = (self.k * p - 1) / (self.k - 1)
        return float(self.independent(p) - square * self.coupling) / gain**2


def best_truthfulness(task: KaryTask) -> tuple[float, float]:
    """Return the p and s of least variance; s is 0 (plain GRR) if coupling does not lower the variance."""
    if task.coupling <= 0:
        return task.top, 0.0
    bounds, floor = task.bounds, 1 / task.k
    candidates = [task.top]
    for first, second in itertools.combinations(bounds, 2):
        candidates += _inside(np.asarray((first - second).trim(1e-300).roots()), floor, task.top)
    for bound in bounds:
        # In z = p - 1/k the variance is (c0 + c1 z + c2 z^2)/z^2, which is stationary at z = -2 c0/c1.
        edge = (task.independent - bound * task.coupling)(Polynomial([floor, 1.0])).coef
        if len(edge) > 1 and edge[1] != 0:
            candidates += _inside(np.array([floor - 2 * edge[0] / edge[1]]), floor, task.top)
    scored = [(p, max(min(float(bound(p)) for bound in bounds), 0.0)) for p in candidates]
    best = min(scored, key=lambda point: task.variance(*point))
    if task.variance(*best) >= task.variance(task.top, 0.0):
        return task.top, 0.0
    return best[0], math.sqrt(best[1])


def _inside(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]], low: float, high: float) -> list[float]:
    real = [complex(value) for value in values]
    return [value.real for value in real if abs(value.imag) < 1e-12 and low < value.real <= high]


MAX_VALUES = (1 << 16) - 1


@final
@dataclass(frozen=True)
class KaryJRR(SignedCoins[Codes], CodeOracle):
    """k-ary joint randomised response reports one code, and the noise of two paired contributors partly cancels.

    Each contributor reports the true code or *lies*, which means that the device reports one of the other codes. A
    dealer deals secret shares once to n contributors, in random pairs. The shares make it less likely that both
    contributors of a pair lie. For k = 2 the mechanism is `JRR`.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 65535.
    p : float, Fraction, Decimal or str
        Probability of a true report, greater than 1/k and less than 1. A float is read as the decimal that Python
        prints for it, so 0.1 is read as 1/10.
    rho : float, Fraction, Decimal or str
        The number rho of equation (27) in the paper on JRR, from -min(p/q, (k-1)^2 q/p) to 0, where q = (1 - p)/(k -
        1). With rho = 0 the mechanism is GRR. A value within 1e-12 (relative) of the lower end is replaced by the lower
        end. The equation also allows positive values up to k - 1. This class refuses positive values, because they
        hardly lower the error. Take the variance of a count of n reports. A positive value lowers this variance by less
        than one of the n reports adds to it.
    n : int
        Number of contributors who receive a share, from 2 to 2^32. Fewer contributors may report. If n is odd, the
        dealer draws one contributor who is left unpaired and reports by GRR.
    colluders : int, optional
        Number of colluders for which `privacy` states a bound, at most n - 1. The default is 5, as in the paper, or n -
        1 if that is less.
    deal_id : str
        Name of the deal. Every deal needs its own name.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import KaryJRR
    >>> import numpy as np
    >>> jrr = KaryJRR.optimal(k=4, n=10_000, epsilon=1.0, colluders=5)
    >>> round(jrr.p, 4), round(jrr.correlation, 4)
    (0.4751, -0.9052)
    >>> rng = SimulationRandomness(1)
    >>> truth = np.repeat([0, 1], [9000, 1000])
    >>> reports = jrr.randomize(truth, jrr.deal(10_000, rng), rng)
    >>> jrr.estimate(jrr.aggregate(reports)).frequencies.round(2)
    array([ 0.9 ,  0.1 ,  0.02, -0.01])
    """

    k: int
    p: float | Fraction
    rho: float | Fraction
    n: int
    colluders: int | None = None
    deal_id: str = ""
    epsilon: float = field(init=False, repr=False, compare=False)
    """Bound under any collusion, for anyone who knows the share; infinite at the end of the range of rho."""

    name = "KaryJRR"
    constructor = "optimal"
    card = Card(
        group="dealt",
        when="to compare k-ary joint randomised response, as published, with QuotaRR",
        planned=False,
        instead=ROW_APART,
        wire="one code",
        page="theory/coupling.md",
        note="the nominal epsilon is for an adversary who ignores all reports except one; it does not hold against a "
        "collector who uses all reports",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_integer("k", self.k, 2, MAX_VALUES))
        self._check_coins()

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
        """Return the KaryJRR with the least variance for one value's frequency that meets a nominal epsilon.

        Parameters
        ----------
        k : int
            Domain size.
        n : int
            Number of contributors, >= 2.
        epsilon : float, Fraction, Decimal or str
            Bound in nats for an adversary who sees one report and what `colluders` other contributors reveal, and
            ignores all other reports. It does not hold against a collector who uses all reports; see `privacy()`.
        colluders : int
            Number of colluders, at most n - 1.
        count : int, optional
            Guess of the number of contributors who hold this value. The default 0 is for a rare value. If the guess is
            near n/k or there are many colluders, the result is GRR (rho = 0).
        epsilon_aux : float, Fraction, Decimal or str, optional
            Bound, at least epsilon, that must hold against everybody, even a colluding dealer.
        reveal : {"shares", "truths"}
            What the colluders reveal: their shares, or only whether they reported the truth ("truths", as in the
            paper). With "truths", slightly better parameters meet epsilon if p < 1/2. But nothing stops colluders from
            revealing their shares.
        deal_id : str
            Name of the deal.

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
            raise InvalidParameterError(f'reveal must be "shares" or "truths", got reveal={quoted(reveal)}')
        cap = None if epsilon_aux is None else checked_epsilon(epsilon_aux, "epsilon_aux")
        if cap is not None and exact(cap) < exact(budget):
            raise InvalidParameterError(
                f"epsilon_aux must be >= epsilon={budget}, got epsilon_aux={epsilon_aux}: raise epsilon_aux to "
                f"{budget}, or lower epsilon to {epsilon_aux}"
            )
        held = 0 if count is None else checked_integer("count", count, 0, n)
        task = KaryTask(size, n, held, float(budget), float(mu), float(pair_rate(n)), reveal, float(cap or math.inf))
        p, s = best_truthfulness(task)
        # Crossings are known to about 1e-9, so an optimum this near to the end of the range is the end of the range.
        # With a cap it never is, because at the end my share tells all.
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
            # Either the truth tells too much, or a lie does. If a lie does, a smaller s alone is enough.
            lies = bool(s) and not extreme and lie_tells_more(size, coin, mu if told else Fraction(1))
            p, s, step = (p if lies else p - step), (max(s - 2 * step, 0.0) if s else 0.0), 2 * step

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Codes:
        # The truth is reported with probability p + R s, or p without a peer. Otherwise a lie is drawn uniformly.
        lies = [self.coin.minus, self.coin.plus, self.coin.unpaired]
        # A certain lie needs 2^64, which no word holds, so a flag says so.
        limits = np.array([min(lie, SCALE - 1) for lie in lies], dtype=np.uint64)
        certain = np.array([lie == SCALE for lie in lies])
        reports = np.empty(len(codes), dtype=code_dtype(self.k))
        for rows, words in blocks(rng, len(codes)):
            steps = uniform_below(rng, self.k - 1, len(words))
            lie_by_share(codes[rows], columns[0][rows], words, steps, limits, certain, self.k, reports[rows])
        return reports

    @property
    def cells(self) -> int:
        return self.k

    @property
    def _pull(self) -> float:
        return -1 / (self.k - 1)

    @cached_property
    def coin(self) -> Coin:
        return kary_coin(self.k, self.p, self.rho)

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        return 1 - self.coin.q, self.coin.q / (self.k - 1)

    def _guarantee(self, theta: float, colluders: int, delta: float) -> Guarantee:  # noqa: ARG002
        return kary_guarantee(self.k, self.coin, self.n, colluders, delta)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # The time is O(k^2).
        draw, lies = rng.generator, (self.coin.minus, self.coin.plus, self.coin.unpaired)
        rest, liars = counts, np.zeros_like(counts)
        for size, lie in zip(sign_counts(self.n), lies, strict=True):
            part = draw.multivariate_hypergeometric(rest, size, method="marginals")
            liars = liars + draw.binomial(part, lie / SCALE)
            rest = rest - part
        total = counts - liars
        uniform = np.full(self.k - 1, 1 / (self.k - 1))
        for v in np.flatnonzero(liars):
            total[np.arange(self.k) != v] += draw.multinomial(liars[v], uniform)
        return total
