"""Quota unary encoding (QuotaUnary): optimised unary encoding with one dealt quota law per bit.

Of many values most are rare, and their error is the noise of the ones that nobody meant. OUE's bit is a type in
disguise: say 1 with probability q, say 0 with 1/2, say the truth with 1/2 - q. Here the dealer deals these types for
every bit, independently of all other bits, conditioned on "say 1" and "say 0" each being dealt often enough. Two values
differ in two bits; the two likelihood ratios multiply to e^epsilon. Proof: docs/theory/quota_rr.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_codes, checked_counts, checked_integer, checked_probability
from deniable.errors import InvalidInputError, InvalidParameterError, MismatchError
from deniable.estimate import Estimate
from deniable.joint._quota_deal import deal_types
from deniable.joint._quota_estimate import tangent_estimate
from deniable.joint._quota_guarantee import quota_guarantee
from deniable.joint._quota_law import response_variance
from deniable.joint._quota_unary_law import (
    UnaryLaw,
    UnaryTables,
    best_minima,
    default_minima,
    unary_law,
    unary_tables,
)
from deniable.joint.quota_interval import inverted
from deniable.joint.shares import check_dealt
from deniable.mechanism import Mechanism, ReportField
from deniable.mechanisms._bits import Bits, bit_fields, bit_outputs, packed_width, support_counts
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, counts_between, dealt_to
from deniable.thresholds import EpsilonLike, checked_epsilon, exp_bounds, log_up, spent

SAY_ONE, SAY_ZERO, TRUTH = 0, 1, 2
MAX_VALUES = 1 << 16

_WEIGHT_SCALE = 1 << 128
_BLOCK = 1 << 22

Floats = NDArray[np.float64]


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


@dataclass(frozen=True, eq=False)
class UnaryShares:
    """The dealer's shares: row i, a type per bit, goes to contributor i and to nobody else.

    Parameters
    ----------
    deal_id : str
        The deal they belong to.
    types : uint8[n, k]
        0: say 1. 1: say 0. 2: say the truth.
    """

    deal_id: str
    types: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, rows: int | slice) -> UnaryShares:
        """Return the share of one contributor, or of a slice of them."""
        return UnaryShares(self.deal_id, np.atleast_2d(self.types[rows]))


@register("QuotaUnary", stated=("said", "denied"))
@dataclass(frozen=True)
class QuotaUnary:
    """Optimised unary encoding over {0, ..., k-1} for one deal to n contributors, with quotas of forced bits.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 65536. A report takes k bits, a share k bytes.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats against everybody but the dealer, in [1e-6, 32].
    n : int
        Number of contributors dealt to, >= 2. Fewer may report.
    said, denied : int, optional
        Quotas of every bit: at least so many are told "say 1", and "say 0"; said + denied < n. By default those of
        least variance for a value of frequency 0.1 that are at no frequency worse than OUE. (0, 0) is OUE itself.
    design : float, optional
        Frequency in [0, 1] at which default quotas have the least variance instead.
    deal_id : str
        Names the deal.

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
    >>> reports = quota.randomize(truth, quota.deal(10_000, rng))
    >>> reports.shape, quota.estimate(quota.aggregate(reports)).standard_errors[0].round(4)
    ((10000, 7), np.float64(0.0033))
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

    name = "QuotaUnary"
    report_type = staticmethod(np.asarray)
    share_type = UnaryShares

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_integer("k", self.k, 2, MAX_VALUES))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "n", checked_integer("n", self.n, 2, 1 << 32))
        if self.design is not None:
            object.__setattr__(self, "design", checked_probability("design", self.design))
        if not isinstance(self.deal_id, str):
            raise InvalidParameterError(f"deal_id must be a string, got deal_id={self.deal_id!r}")
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
            object.__setattr__(self, "said", minima[0])
            object.__setattr__(self, "denied", minima[1])
        said, denied = checked_integer("said", self.minima[0], 0), checked_integer("denied", self.minima[1], 0)
        if said + denied >= self.n:
            raise InvalidParameterError(f"said + denied must be < n={self.n}, got said={said}, denied={denied}")

    @property
    def minima(self) -> tuple[int, int]:
        """The quotas in use: (said, denied)."""
        return cast("tuple[int, int]", (self.said, self.denied))

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> UnaryShares:
        """Dealer: draw the types of all n contributors for every bit; sees no data and no reports.

        Parameters
        ----------
        n : int
            Number of contributors; must be the mechanism's n.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        UnaryShares
            One share per contributor, k bytes each.

        Raises
        ------
        InvalidParameterError
            If n is not the number that the quotas are meant for.
        """
        if n != self.n:
            raise InvalidParameterError(f"n must be {self.n}, the number that the quotas are meant for, got n={n}")
        types = np.empty((n, self.k), dtype=np.uint8)
        for v in range(self.k):
            types[:, v] = deal_types(self._tables.draw_counts(rng), rng)
        return UnaryShares(self.deal_id, types)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, shares: UnaryShares, rng: Randomness | None = None) -> Bits:  # noqa: ARG002
        """Contributor: say of every bit what the share tells, or the truth if it tells to.

        Parameters
        ----------
        inputs : int[m]
            True codes in 0..k-1.
        shares : UnaryShares
            One share per input, of this deal.
        rng : Randomness, optional
            Not needed.

        Returns
        -------
        uint8[m, ceil(k/8)]
            Packed bits, padding zero: value v is bit v % 8 of byte v // 8.

        Raises
        ------
        InvalidInputError
            If a code is out of range, or a share is missing or no type of this mechanism.
        MismatchError
            If the shares belong to another deal.
        """
        codes = checked_codes(inputs, self.k)
        self._check_shares(shares, len(codes))
        reports = np.empty((len(codes), packed_width(self.k)), dtype=np.uint8)
        step = max(1, _BLOCK // self.k)
        for start in range(0, len(codes), step):
            rows = slice(start, start + step)
            own = np.arange(self.k) == codes[rows, None]
            types = shares.types[rows]
            bits = np.where(types == TRUTH, own, types == SAY_ONE)
            reports[rows] = np.packbits(bits, axis=1, bitorder="little")
        return reports

    def _check_shares(self, shares: UnaryShares, rows: int) -> None:
        if not isinstance(shares, UnaryShares):
            raise InvalidInputError(f"shares must be UnaryShares from the dealer, got {type(shares).__name__}")
        if shares.deal_id != self.deal_id:
            raise MismatchError(f"the shares belong to deal {shares.deal_id!r}, not to deal {self.deal_id!r}")
        if not isinstance(shares.types, np.ndarray) or shares.types.dtype != np.uint8:
            found = getattr(shares.types, "dtype", type(shares.types).__name__)
            raise InvalidInputError(f"types must be an array of dtype uint8, got {found}")
        if shares.types.shape != (rows, self.k):
            raise InvalidInputError(
                f"every contributor needs one share of {self.k} types, got {rows} inputs and {shares.types.shape}"
            )
        check_dealt(rows, self.n)
        if shares.types.size and int(shares.types.max()) > TRUTH:
            raise InvalidInputError("types must be in 0..2, got another")

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each bit was set; never sees shares.

        Parameters
        ----------
        reports : uint8[m, ceil(k/8)]
            Packed bits.

        Raises
        ------
        InvalidReportError
            If the dtype or the shape is wrong, or a padding bit is set, naming its row.
        """
        return Aggregate(self._source, *support_counts(reports, self.k))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: unbiased frequencies among the reporters, f^ = (I_v/n' - E a/n)/(E b/n).

        Unbiased after drop-outs, too, if dropping out does not depend on the types. Intervals for these contributors
        invert the exact law of I_v; after drop-outs they are normal, with the variance at the clipped estimate.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism or deal.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self._source)
        present, absent = self.support_probabilities
        frequencies = (aggregate.counts / aggregate.n - absent) / (present - absent)

        def bounds(tail: float) -> tuple[Floats, Floats]:
            found = [inverted(self.law, 1.0, 0.0, int(count), tail) for count in aggregate.counts]
            lower, upper = np.array(found).T / self.n
            return lower, upper

        return tangent_estimate(
            frequencies,
            aggregate.n,
            lambda f: self.variance(f, reporters=aggregate.n),
            bounds if aggregate.n == self.n else None,
        )

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
        spread = response_variance(self.law, 1.0, 0.0, f * count, count)
        return spread / (count * (present - absent)) ** 2

    # ---------------------------------------------------------------- guarantee and exact law

    @property
    def weights(self) -> tuple[Fraction, Fraction]:
        """Implemented weights of a truth-teller relative to "say 1" and to "say 0" (`bit_weights`)."""
        return bit_weights(self.epsilon)

    @property
    def _source(self) -> Mechanism[Any, Any]:
        return cast("Mechanism[Any, Any]", self)

    @property
    def law(self) -> UnaryLaw:
        """The law of one bit's type counts, in floats, for estimators."""
        one, zero = map(float, self.weights)
        return unary_law(self.n, *self.minima, one, zero)

    @property
    def _tables(self) -> UnaryTables:
        return unary_tables(self.n, *self.minima, *self.weights)

    @cached_property
    def support_probabilities(self) -> tuple[float, float]:
        """Marginal probability that bit v is set for a contributor who holds v, and for one who does not."""
        moments = self.law.moments
        return (moments.a + moments.b) / self.n, moments.a / self.n

    def privacy(self) -> Guarantee:
        """Return the guarantee per adversary, each with its view."""
        (present, absent), epsilon = self.support_probabilities, float(self.epsilon)
        alone = present / absent * (1 - absent) / (1 - present)
        return quota_guarantee(epsilon, None, self.implemented_epsilon(), alone, 1.0)

    def implemented_ratio(self) -> Fraction:
        """Return (1 + one)(1 + zero), exact: no likelihood ratio of the implemented integer law exceeds it."""
        one, zero = self.weights
        return (1 + one) * (1 + zero)

    def implemented_epsilon(self) -> float:
        """Return ln of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

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
        drawn = np.empty(self.k, dtype=np.int64)
        for v, holders in enumerate(held.tolist()):
            a, _, b = self._tables.draw_counts(rng)
            split = rng.generator.multivariate_hypergeometric([holders, self.n - holders], b, method="marginals")
            drawn[v] = a + split[0]
        return Aggregate(self._source, drawn, self.n)

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse counts of bits outside 0..n, and more reports than contributors; quotas do not bind liars."""
        dealt_to(n, self.n)
        counts_between(counts, 0, n)

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type per bit."""
        return (ReportField("types", "uint8", self.k),)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """The packed bits."""
        return bit_fields(self.k)

    @property
    def report_bits(self) -> float:
        """Bits per report, k."""
        return float(self.k)
