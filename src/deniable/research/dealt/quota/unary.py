"""Quota unary encoding (QuotaUnary): optimised unary encoding with dealt quotas for each bit.

If there are many possible values, most of them are rare. The error of a rare value comes from the contributors who
report 1 for it without holding it. A bit of OUE follows one of three instructions, which are called types. Let q be
1/(e^epsilon + 1). The types are: say 1 with probability q, say 0 with probability 1/2, and say the truth with
probability 1/2 - q. In quota unary encoding, the dealer deals these types for every bit, independently of all other
bits. For each bit, the types have the same distribution as in the following procedure. The dealer draws the types as in
OUE, and draws all of them again until the quotas `said` and `denied` are reached.

Before randomisation, the bits of two different answers differ in two places. The *likelihood ratio* of a reported bit
is its probability under one answer, divided by its probability under the other answer. Each of the two bits has a
largest likelihood ratio. The product of these two numbers is e^epsilon. The proof is in docs/theory/quota_rr.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
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
from deniable.research.dealt.quota.law import CountLaw, Moments, Window, least_nearby, poisson_window, response_variance
from deniable.research.dealt.quota.oracle import QuotaOracle
from deniable.research.dealt.quota.tables import (
    QuotaWeights,
    TruthWeights,
    deal_types,
    integer_below,
    quota_weights,
    truth_weights,
)
from deniable.research.dealt.shares import Columns

SAY_ONE, SAY_ZERO, TRUTH = 0, 1, 2
MAX_VALUES = 1 << 16

_WEIGHT_SCALE = 1 << 128
_BLOCK = 1 << 22


@lru_cache(maxsize=256, typed=True)
def bit_weights(epsilon: EpsilonLike) -> tuple[Fraction, Fraction]:
    """Return the weights of a truth-teller relative to one told "say 1" and one told "say 0", rounded down.

    They are (e - 1)/2 and (e - 1)/(e + 1), where e = e^epsilon. Then (1 + one)(1 + zero) <= e.
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
    """Quota unary encoding reports k bits, and a dealer decides who must say 1 or 0 for each bit.

    The device writes the answer as k bits: the bit of the true answer is 1, and all others are 0. The dealer deals
    secret shares once to n contributors. For each bit, a share says "say 1", "say 0" or "say the truth". For every bit,
    at least `said` contributors are told "say 1", and at least `denied` contributors are told "say 0". Both numbers are
    fixed in advance.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 65536. A report takes k bits, and a share takes k bytes.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. The guarantee holds against everybody except the dealer.
    n : int
        Number of contributors who receive a share, at least 2. Fewer contributors may report.
    said, denied : int, optional
        Quotas of every bit: at least `said` contributors are told "say 1", and at least `denied` contributors are told
        "say 0". Their sum must be less than n. With (0, 0) the mechanism is OUE. The default is the pair of quotas with
        the least variance at frequency 0.1. If this pair has a larger variance than OUE at some frequency, the default
        is the pair with the least variance at frequency 0.5. If this second pair also has a larger variance than OUE at
        some frequency, the default is (0, 0). So the default quotas never have a larger variance than OUE.
    design : float, optional
        Frequency, from 0 to 1. If it is given, the default quotas have the least variance at this frequency, without a
        comparison with OUE at other frequencies.
    deal_id : str
        Name of the deal. Every deal needs its own name.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import OUE, SimulationRandomness
    >>> from deniable.research.dealt import QuotaUnary
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
        note="epsilon holds against everyone except the dealer; there is no bound on what a report reveals if the "
        "dealer colludes with the collector; a share takes k bytes",
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
            raise InvalidParameterError(
                f"said and denied together must be below n={self.n}, got said={said}, denied={denied}"
            )

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
            raise InvalidInputError("types must be 0, 1 or 2, got another number")

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Bits:  # noqa: ARG002
        reports: Bits = np.empty((len(codes), packed_width(self.k)), dtype=np.uint8)
        for rows in row_blocks(len(codes), max(1, _BLOCK // self.k)):
            own, types = np.arange(self.k) == codes[rows, None], columns[0][rows]
            reports[rows] = np.packbits(np.where(types == TRUTH, own, types == SAY_ONE), axis=1, bitorder="little")
        return reports

    # ---------------------------------------------------------------- guarantee and exact distribution

    @property
    def weights(self) -> tuple[Fraction, Fraction]:
        """Implemented weights of "say the truth" relative to "say 1" and to "say 0" (`bit_weights`)."""
        return bit_weights(self.epsilon)

    @property
    def law(self) -> UnaryLaw:
        one, zero = map(float, self.weights)
        return unary_law(self.n, *self.minima, one, zero)

    @property
    def tables(self) -> UnaryTables:
        """Integer tables for drawing the numbers of shares of each type for one bit."""
        return unary_tables(self.n, *self.minima, *self.weights)

    @property
    def _odds_alone(self) -> tuple[float, float]:
        present, absent = self.support_probabilities
        return present / absent * (1 - absent) / (1 - present), 1.0

    def implemented_ratio(self) -> Fraction:
        """Return the exact bound (1 + w_1)(1 + w_0) on every likelihood ratio; w_1 and w_0 are the `weights`."""
        one, zero = self.weights
        return (1 + one) * (1 + zero)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        drawn = np.empty(self.k, dtype=np.int64)
        for v, holders in enumerate(counts.tolist()):
            a, _, b = self.tables.draw_counts(rng)
            split = rng.generator.multivariate_hypergeometric([holders, self.n - holders], b, method="marginals")
            drawn[v] = a + split[0]
        return drawn


# This part has the distribution of a dealt bit: its counts of "say 1", "say 0" and "say the truth", in floats and in
# integers.
#
#     P(a, c, b) ~ one^-a zero^-c / (a! c! b!)   on  a >= a0,  c >= c0,  a + c + b = n,
#
# up to a factor. `one` and `zero` are the weights of a truth-teller relative to one contributor told "say 1" and one
# told "say 0". This is the distribution of `law` with two quotas that differ, and is drawn from integer tables in the
# same way.


@dataclass(frozen=True)
class UnaryLaw(CountLaw):
    """Distribution of one bit's counts for n contributors, with a >= `said` ("say 1") and c >= `denied` ("say 0")."""

    n: int
    said: int
    denied: int
    one: float
    zero: float

    def _windows(self, rate: float) -> tuple[Window, Window, Window]:
        """Return the Poisson weights of a, c and b at a rate of "say 1", before conditioning on the sum."""
        free = self.n - self.said - self.denied
        return (
            poisson_window(rate, self.said, self.n - self.denied),
            poisson_window(rate * self.one / self.zero, self.denied, self.n - self.said),
            poisson_window(rate * self.one, 0, free),
        )

    @cached_property
    def tilt(self) -> float:
        """Rate of "say 1" under which the truncated Poisson counts sum to n on average."""

        def excess(rate: float) -> float:
            # The means are added one by one: `sum` compensates from Python 3.12 on, and everybody's tables must be the
            # same.
            said, denied, truth = self._windows(rate)
            return said.mean + denied.mean + truth.mean - self.n

        high = self.n / (1 + self.one / self.zero + self.one)
        low = high / 2
        while excess(low) >= 0:
            low /= 2
        while excess(high) <= 0:
            high *= 2
        from scipy.optimize import brentq  # this import takes longer than all of this package

        return float(brentq(excess, low, high, rtol=1e-9))

    @cached_property
    def _tilted(self) -> tuple[Window, Window, Window]:
        return self._windows(self.tilt)

    @property
    def quotas(self) -> list[tuple[Window, int]]:
        return [(told, 1) for told in self._tilted[:2]]

    @property
    def truth(self) -> Window:
        return self._tilted[2]

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of a and b.

        The covariance follows from a + b = n - c.
        """
        one, zero, truth = self._tilted
        var_a, var_b, var_c = self.a.variance, self.b.variance, self.given_sum(zero, [(one, 1), (truth, 1)]).variance
        return Moments(self.a.mean, self.b.mean, var_a, var_b, (var_c - var_a - var_b) / 2)


unary_law = lru_cache(maxsize=64)(UnaryLaw)
"""The distribution, with everything that it has computed so far."""


DESIGN = 0.1
"""Default frequency of a design. Unary encodings are for many values, most of them rare."""


@lru_cache(maxsize=256)
def default_minima(n: int, one: float, zero: float) -> tuple[int, int]:
    """Return minima (a0, c0) for rare values under which no frequency is estimated worse than without a dealer."""

    def variances(minima: tuple[int, int]) -> list[float]:
        law = UnaryLaw(n, *minima, one, zero)
        return [response_variance(law, 1.0, 0.0, f * n, n) / law.moments.b**2 for f in np.linspace(0, 1, 41).tolist()]

    plain = variances((0, 0))
    for design in (DESIGN, 0.5):
        minima = best_minima(n, one, zero, design)
        if all(mine <= theirs for mine, theirs in zip(variances(minima), plain, strict=True)):
            return minima
    return 0, 0


@lru_cache(maxsize=256)
def best_minima(n: int, one: float, zero: float, design: float) -> tuple[int, int]:
    """Return the (a0, c0) of least variance at frequency `design`.

    The search has two starts. It moves each minimum in turn until neither moves.
    """

    @cache
    def loss(said: int, denied: int) -> float:
        law = UnaryLaw(n, said, denied, one, zero)
        return response_variance(law, 1.0, 0.0, design * n, n) / law.moments.b**2

    total = 1 + one / zero + one
    means = (n / total, n * one / zero / total)

    def moved(said: int, denied: int) -> tuple[int, int]:
        said = _best(lambda x: loss(x, denied), means[0], n - 1 - denied, said)
        return said, _best(lambda x: loss(said, x), means[1], n - 1 - said, denied)

    found = [(0, 0)]
    for start in ((0, 0), (int(means[0]), int(means[1]))):
        minima, before = start, (-1, -1)
        for _ in range(6):
            if minima != before:
                minima, before = moved(*minima), minima
        found.append(minima)
    return min(found, key=lambda pair: (loss(*pair), pair))


def _best(loss: Callable[[int], float], mean: float, limit: int, current: int) -> int:
    """Return the argument of least loss near the mean of a count, or the current argument."""
    spread = 4 * math.sqrt(mean) + 2
    low, high = max(0, int(mean - spread)), max(0, min(limit, int(mean + 3 * spread)))
    return min([current, *(least_nearby(loss, low, high, 8) if low < high else [])], key=loss)


@dataclass(frozen=True, eq=False)
class UnaryTables:
    """Integer weights of the numbers of contributors who are told "say 1", "say 0" and the truth."""

    n: int
    quotas: tuple[QuotaWeights, QuotaWeights]
    truth: TruthWeights

    def draw_counts(self, rng: Randomness) -> list[int]:
        """Return (a, c, b) with probability exactly proportional to the product of their weights."""
        while True:
            a, c = (quota.count_at(integer_below(rng, quota.total)) for quota in self.quotas)
            b = self.n - a - c
            if integer_below(rng, self.truth.largest) < self.truth.weight(b):
                return [a, c, b]


@lru_cache(maxsize=16)
def unary_tables(n: int, said: int, denied: int, one: Fraction, zero: Fraction) -> UnaryTables:
    """Return the tables for n contributors.

    The weights `one` and `zero` are exact. The rate is a float that is taken exactly.
    """
    rate = Fraction(unary_law(n, said, denied, float(one), float(zero)).tilt)
    quotas = quota_weights(rate, said, n - denied), quota_weights(rate * one / zero, denied, n - said)
    return UnaryTables(n, quotas, truth_weights(rate * one, n - said - denied))
