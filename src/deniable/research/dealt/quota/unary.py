"""Quota unary encoding (QuotaUnary): optimised unary encoding with one dealt quota law per bit.

If there are many possible values, most of them are rare. The error of a rare value comes from the contributors who
report 1 for it without holding it. A bit of OUE follows one of three instructions, called types: say 1 with probability
q, say 0 with probability 1/2, and say the truth with probability 1/2 - q. Here the dealer deals these types for every
bit, independently of all other bits. The condition is that "say 1" and "say 0" are each dealt often enough. The vectors
of two values differ in two bits. The two likelihood ratios multiply to e^epsilon. The proof is in
docs/theory/quota_rr.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, checked_probability, settle
from deniable.core.mechanism import ReportField
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exp_bounds, spent
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.oracles.bits import Bits, packed_width
from deniable.records.layout import row_blocks
from deniable.research.dealt.dealt import ROW_APART, BitOracle
from deniable.research.dealt.quota.oracle import QuotaOracle
from deniable.research.dealt.quota.tables import deal_types
from deniable.research.dealt.quota.unary_law import (
    UnaryLaw,
    UnaryTables,
    best_minima,
    default_minima,
    unary_law,
    unary_tables,
)
from deniable.research.dealt.shares import Columns

SAY_ONE, SAY_ZERO, TRUTH = 0, 1, 2
MAX_VALUES = 1 << 16

_WEIGHT_SCALE = 1 << 128
_BLOCK = 1 << 22


@lru_cache(maxsize=256, typed=True)
def bit_weights(epsilon: EpsilonLike) -> tuple[Fraction, Fraction]:
    """Return the weights of a truth-teller relative to one told "say 1" and one told "say 0", rounded down.

    (e - 1)/2 and (e - 1)/(e + 1), e = e^epsilon: then (1 + one)(1 + zero) <= e.
    """
    lower, _ = exp_bounds(spent(epsilon))
    one, zero = (lower - 1) / 2, (lower - 1) / (lower + 1)
    return (
        Fraction(math.floor(one * _WEIGHT_SCALE), _WEIGHT_SCALE),
        Fraction(math.floor(zero * _WEIGHT_SCALE), _WEIGHT_SCALE),
    )


@final
@dataclass(frozen=True)
class QuotaUnary(QuotaOracle[Bits], BitOracle):
    """Quota unary encoding reports k bits, and a dealer tells enough contributors what to say for each bit.

    The device writes the answer as k bits: the bit of the true answer is 1, and all others are 0. The dealer deals
    secret shares once to n contributors. For each bit, a share says "say 1", "say 0" or "say the truth". At least a
    fixed number of contributors receive each of the first two instructions.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 65536. A report takes k bits, and a share takes k bytes.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats against everybody but the dealer, from 1e-6 to 32.
    n : int
        Number of contributors who receive a share, at least 2. Fewer may report.
    said, denied : int, optional
        Quotas of every bit: at least `said` contributors are told "say 1", and at least `denied` contributors are told
        "say 0". Their sum must be less than n. The default quotas have the least variance for a value of frequency 0.1,
        among those that are not worse than OUE at any frequency. With (0, 0) the mechanism is OUE.
    design : float, optional
        Frequency, from 0 to 1, of the value for which the default quotas have the least variance. If it is left out,
        this frequency is 0.1.
    deal_id : str
        Name of the deal. Every deal needs its own name.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import OUE, SimulationRandomness
    >>> import numpy as np
    >>> quota, rng = QuotaUnary(k=50, epsilon=1.0, n=10_000), SimulationRandomness(1)
    >>> truth = np.repeat(np.arange(50), 200)
    >>> reports = quota.randomize(truth, quota.deal(10_000, rng), rng)
    >>> reports.shape, quota.estimate(quota.aggregate(reports)).standard_errors[0].round(4)
    ((10000, 7), np.float64(0.0031))
    >>> round(OUE(50, 1.0).variance(0.02, 10_000) ** 0.5, 4)
    0.0192
    """

    k: int
    epsilon: float | Fraction
    n: int
    said: int | None = None
    denied: int | None = None
    design: float | None = None
    deal_id: str = ""

    truthfulness = (1.0, 0.0)

    name = "QuotaUnary"
    stated = ("said", "denied")
    card = Card(
        group="dealt",
        when="if there are many possible answers, most of them rare, and you trust a dealer not to collude",
        aliases=("quota unary encoding",),
        planned=False,
        instead=ROW_APART,
        wire="k bits",
        page="theory/quota_rr.md",
        note="epsilon holds against everyone except the dealer; there is no bound if the dealer colludes; a share "
        "takes k bytes",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_integer("k", self.k, 2, MAX_VALUES), epsilon=checked_epsilon(self.epsilon))
        self._check_deal()
        if self.design is not None:
            settle(self, design=checked_probability("design", self.design))
        if (self.said is None) != (self.denied is None):
            raise InvalidParameterError(
                f"said and denied must be given together, got said={self.said}, denied={self.denied}"
            )
        if self.said is None:
            one, zero = map(float, self.weights)
            minima = (
                default_minima(self.n, one, zero)
                if self.design is None
                else best_minima(self.n, one, zero, self.design)
            )
            settle(self, said=minima[0], denied=minima[1])
        said, denied = checked_integer("said", self.minima[0], 0), checked_integer("denied", self.minima[1], 0)
        if said + denied >= self.n:
            raise InvalidParameterError(f"said + denied must be < n={self.n}, got said={said}, denied={denied}")

    @property
    def minima(self) -> tuple[int, int]:
        """The quotas in use: (said, denied)."""
        return cast("tuple[int, int]", (self.said, self.denied))

    # ---------------------------------------------------------------- dealer and contributor

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type per bit; 0: say 1. 1: say 0. 2: say the truth."""
        return (ReportField("types", "uint8", self.k),)

    def _deal(self, n: int, rng: Randomness) -> Columns:
        types = np.empty((n, self.k), dtype=np.uint8)
        for v in range(self.k):
            types[:, v] = deal_types(self.tables.draw_counts(rng), rng)
        return (types,)

    def _check_types(self, columns: Columns) -> None:
        if columns[0].size and int(columns[0].max()) > TRUTH:
            raise InvalidInputError("types must be in 0..2, got another number")

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Bits:  # noqa: ARG002
        reports: Bits = np.empty((len(codes), packed_width(self.k)), dtype=np.uint8)
        for rows in row_blocks(len(codes), max(1, _BLOCK // self.k)):
            own, types = np.arange(self.k) == codes[rows, None], columns[0][rows]
            reports[rows] = np.packbits(np.where(types == TRUTH, own, types == SAY_ONE), axis=1, bitorder="little")
        return reports

    # ---------------------------------------------------------------- guarantee and exact law

    @property
    def weights(self) -> tuple[Fraction, Fraction]:
        """Implemented weights of a truth-teller relative to "say 1" and to "say 0" (`bit_weights`)."""
        return bit_weights(self.epsilon)

    @property
    def law(self) -> UnaryLaw:
        one, zero = map(float, self.weights)
        return unary_law(self.n, *self.minima, one, zero)

    @property
    def tables(self) -> UnaryTables:
        """The integer tables that one bit's type counts are drawn from."""
        return unary_tables(self.n, *self.minima, *self.weights)

    @property
    def _odds_alone(self) -> tuple[float, float]:
        present, absent = self.support_probabilities
        return present / absent * (1 - absent) / (1 - present), 1.0

    def implemented_ratio(self) -> Fraction:
        """Return (1 + one)(1 + zero), exact: no likelihood ratio of the implemented integer law exceeds it."""
        one, zero = self.weights
        return (1 + one) * (1 + zero)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        drawn = np.empty(self.k, dtype=np.int64)
        for v, holders in enumerate(counts.tolist()):
            a, _, b = self.tables.draw_counts(rng)
            split = rng.generator.multivariate_hypergeometric([holders, self.n - holders], b, method="marginals")
            drawn[v] = a + split[0]
        return drawn
