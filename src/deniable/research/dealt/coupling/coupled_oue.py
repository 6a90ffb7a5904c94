"""Report coupling inside optimised unary encoding, with separate secret pairs for every bit.

Zheng, Seeam, Hu, Zhang, Zhang, PoPETs 2025(3), section 4.6.2, propose joint randomised response (JRR) inside OUE (Wang,
Blocki, Li, Jha 2017). In their proposal, paired contributors randomise their vectors of bits jointly. This class
differs in two ways:

* JRR couples the decisions of paired contributors to tell the truth. This class couples their *reports*: a contributor
  reports 1 for a bit if a uniform number U is less than a threshold t. The threshold is 1/2 for the bit of the
  contributor's answer, and q for every other bit. The paired contributor uses 1 - U in place of U. This coupling lowers
  the variance of rare values below the variance of OUE.
* Each bit has random pairs of its own. A single pairing for all bits would betray who is paired with whom
  (docs/theory/coupling.md).

If all pairs are coupled, the variance for rare values is 1 - e^-epsilon times the variance of OUE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_domain, settle
from deniable.core.kernels import kernel
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exact, exp_bounds, spent, threshold_up
from deniable.errors import InvalidInputError, InvalidParameterError, out_of_range
from deniable.oracles.bits import Bits, check_padding, packed_width
from deniable.research.dealt.coupling.coins import checked_number
from deniable.research.dealt.coupling.coupled import CoupledReports
from deniable.research.dealt.coupling.parameters import peer_posterior
from deniable.research.dealt.coupling.report_guarantee import coupled_unary_guarantee, revealed_bit_types
from deniable.research.dealt.coupling.threshold_coupling import SAY_1, TRUTH, ThresholdCoupling, checked_weight
from deniable.research.dealt.dealt import NO_ROW, BitOracle
from deniable.research.dealt.quota.tables import deal_types
from deniable.research.dealt.shares import Columns


@final
@dataclass(frozen=True)
class CoupledOUE(CoupledReports[Bits], BitOracle):
    """Report-coupled optimised unary encoding reports k bits, and the noise of paired contributors partly cancels.

    The bit of the contributor's answer is reported as 1 with probability 1/2, and every other bit with probability q. A
    dealer deals secret shares once to n contributors. For every bit, the dealer forms new random pairs of contributors.
    Some of these pairs are *coupled*, and the parameter `weight` is their fraction. In a coupled pair, the shares tell
    exactly one of the two contributors to report 0. The other contributor reports 1 with probability 2 q, and the truth
    otherwise.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32. A report takes k bits, and a share takes 2 k bits.
    q : float, Fraction, Decimal or str
        Probability of reporting 1 for a bit that is not the contributor's, greater than 0 and less than 1/2.
    n : int
        Number of contributors who receive a share, from 2 to 2^32. Fewer contributors may report.
    weight : float, Fraction, Decimal or str
        Fraction of pairs that are coupled, from 0 to 1. With weight 0 the mechanism is OUE.
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
    >>> from deniable import OUE, SimulationRandomness
    >>> from deniable.research.dealt import CoupledOUE
    >>> import numpy as np
    >>> coupled = CoupledOUE.optimal(k=20, n=10_000, epsilon=0.5, colluders=5)
    >>> round(coupled.variance(0.0) / OUE(20, 0.5).variance(0.0, 10_000), 3)
    0.394
    >>> truth, rng = np.arange(10_000) % 20, SimulationRandomness(1)
    >>> reports = coupled.randomize(truth, coupled.deal(10_000, rng), rng)
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
    constructor = "optimal"
    card = Card(
        group="dealt",
        when="if there are many possible answers and most of them are rare; use QuotaUnary instead if contributors "
        "can receive a secret share of k bytes",
        planned=False,
        instead=NO_ROW,
        wire="k bits",
        page="theory/coupling.md",
        note="there is no bound on what a report reveals if the dealer colludes with the collector",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k), q=checked_number(self.q, "q"), weight=checked_weight(self.weight))
        self._check_pairs()
        if not 0 < exact(self.q) < Fraction(1, 2) or 2 * self.coupling.q >= SCALE:
            raise out_of_range("q", "in (0, 0.5)", self.q)

    @classmethod
    def optimal(
        cls, k: int, n: int, epsilon: EpsilonLike, colluders: int, weight: float | Fraction = 1.0, *, deal_id: str = ""
    ) -> Self:
        """Return the mechanism with the smallest q that meets a nominal epsilon.

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
            Number of colluders, at most n - 1. It must be less than n/2 if all pairs are coupled.
        weight : float
            Fraction of coupled pairs.
        deal_id : str
            Name of the deal.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds, or if, with this number of colluders, one of them is certainly the
            contributor's partner.
        """
        budget = checked_epsilon(epsilon)
        lower, _ = exp_bounds(spent(budget))
        # This solves (1 - q (1 + x))/(q (1 - x)) = e^epsilon at x = mu weight.
        x = peer_posterior(n, colluders) * exact(checked_weight(weight))
        if x >= 1:
            raise InvalidParameterError(
                f"colluders must be <= {(n - 1) // 2} for n={n}, got colluders={colluders}: with more colluders, it "
                "can be certain that the peer of a contributor is a colluder"
            )
        q = float(1 / (1 + x + lower * (1 - x))) * (1 + 2.0**-51)  # a float means its shortest decimal
        return cls(k, q, n, weight, colluders, deal_id)

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """Two rows of packed bits: "always report 1" and "report the truth". If neither bit is set, report 0."""
        width = packed_width(self.k)
        return ReportField("ones", "uint8", width), ReportField("truth", "uint8", width)

    def _deal(self, n: int, rng: Randomness) -> Columns:
        # Every bit is paired anew, because one pairing for all bits would betray who is paired with whom.
        ones, truth = (np.zeros((n, packed_width(self.k)), dtype=np.uint8) for _ in range(2))
        for v in range(self.k):
            types = deal_types(self.coupling.draw_counts(n, rng), rng)
            tell(types, v & 7, ones[:, v >> 3], truth[:, v >> 3])
        return ones, truth

    def _check_types(self, columns: Columns) -> None:
        ones, truth = columns
        for bits in columns:
            check_padding(bits, self.k, InvalidInputError)
        both = (ones & truth).any(axis=1)
        if both.any():
            raise InvalidInputError(f"every bit must have one type, but a bit in row {both.argmax() + 1} has two types")

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Bits:  # noqa: ARG002
        ones, truth = columns
        reports: Bits = ones.copy()
        rows, bytes_ = np.arange(len(codes)), (codes >> 3).astype(np.int64)
        reports[rows, bytes_] |= truth[rows, bytes_] & np.left_shift(1, codes & 7).astype(np.uint8)
        return reports

    @cached_property
    def coupling(self) -> ThresholdCoupling:
        return ThresholdCoupling(threshold_up(exact(self.q)), SCALE // 2, math.floor(exact(self.weight) * SCALE))

    def _revealed(self, mu: Fraction) -> float:
        return revealed_bit_types(self.coupling, mu)

    def _guarantee(self, theta: float, colluders: int, delta: float) -> Guarantee:  # noqa: ARG002
        return coupled_unary_guarantee(self.coupling, self.n, colluders, delta)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        told = self.coupling.simulate_counts(self.n, self.k, rng)
        ones = told[:, SAY_1].copy()
        for v, (holders, truthful) in enumerate(zip(counts.tolist(), told[:, TRUTH].tolist(), strict=True)):
            # The marginals method does not limit the population.
            pool = [holders, self.n - holders]
            ones[v] += rng.generator.multivariate_hypergeometric(pool, truthful, method="marginals")[0]
        return ones


@kernel
def tell(types: NDArray[Any], place: int, ones: NDArray[np.uint8], truth: NDArray[np.uint8]) -> None:
    """Set bit `place` of ones[n] where the type says 1, and bit `place` of truth[n] where the type says the truth."""
    for i in range(types.shape[0]):
        ones[i] |= np.uint8(types[i] == SAY_1) << place
        truth[i] |= np.uint8(types[i] == TRUTH) << place
