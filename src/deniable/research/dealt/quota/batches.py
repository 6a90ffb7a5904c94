"""Quota batches (QuotaBatches), for late joiners: a dealer deals batch after batch within one collection.

A single deal for everybody has two disadvantages. The dealer must know the number of contributors in advance, and each
share that nobody uses lowers the accuracy. Here the dealer deals batches of a fixed size instead. Contributors join the
batches in the order in which they come, and only the last batch is incomplete.

Every batch is a separate deal of `QuotaRR`, so the guarantee is the same as for `QuotaRR`, whatever the size of a
batch. The cost is accuracy: in a smaller batch, the number of forced answers varies more in relation to its mean. For a
very small batch the best quota is zero. A dealer with the quota zero does not improve the accuracy, but contributors
would still have to trust this dealer. So the class refuses such a small size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import log2
from typing import ClassVar, NamedTuple, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, Floats, Target, checked_integer, settle
from deniable.core.estimate import Estimate, OwnIntervals
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.thresholds import EpsilonLike
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.research.dealt.dealt import ROW_APART
from deniable.research.dealt.estimate import tangent_estimate
from deniable.research.dealt.interval import bounds, few
from deniable.research.dealt.quota.groups import QuotaGroups
from deniable.research.dealt.quota.interval import QuotaSupports
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.shares import Columns

MAX_BATCHES = 1 << 16
_LARGEST_SEARCHED = 1 << 20


class BatchReports(NamedTuple):
    """Batch of reports from contributors in batches of a deal.

    Parameters
    ----------
    batch : uint8 or uint16 [n]
        Number of the batch, in 0..batches-1.
    value : uint8 or uint16 [n]
        Reported code, in 0..k-1.
    """

    batch: Codes
    value: Codes


def smallest_batch(epsilon: EpsilonLike, k: int = 2, epsilon_aux: EpsilonLike | None = None) -> int:
    """Return the smallest batch in which a quota helps: the least size with a default quota above zero.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or no batch of at most 2^20 contributors is large enough.

    Examples
    --------
    >>> smallest_batch(0.5), smallest_batch(1.0), smallest_batch(1.0, k=20)
    (4, 6, 61)
    """

    def helps(size: int) -> bool:
        aux = None if epsilon_aux is None else cast("float", epsilon_aux)
        return QuotaRR(cast("float", epsilon), size, k=k, epsilon_aux=aux).a0 > 0

    high = 2
    while not helps(high):
        if high >= _LARGEST_SEARCHED:
            raise InvalidParameterError(
                f"no batch of up to {_LARGEST_SEARCHED} contributors is large enough for a quota to help, got "
                f"epsilon={epsilon} for k={k}"
            )
        high *= 2
    return bisect_left(range(high), True, high // 2 + 1, key=helps)


@final
@dataclass(frozen=True)
class QuotaBatches(QuotaGroups[BatchReports]):
    """Quota batches run quota randomised response separately in batches of a fixed number of contributors.

    For each batch, the dealer deals secret shares. A share says "tell the truth" or "say v" for a given code v. The
    instruction "say v" is called a *forced answer*. In each batch, the dealer forces every code on at least a fixed
    number of contributors. This number is called the *quota*. Quota randomised response (`QuotaRR`) works in the same
    way, with a single deal for everybody.

    Parameters
    ----------
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. The guarantee holds against everybody except the dealer.
    size : int
        Number of contributors in a batch. If `minimum` is left out, `size` must be at least the number that the
        function `smallest_batch` returns.
    batches : int
        Largest number of batches, from 1 to 65536. Any number of contributors up to `size` times `batches` may report.
    minimum : int, optional
        Quota of every batch: in each batch, every code is forced on at least this many contributors.
    k : int
        Number of possible answers k, from 2 to 65535.
    design : float, optional
        Frequency at which the estimate has the least variance with the default quota, as for `QuotaRR`.
    epsilon_aux : float, Fraction, Decimal or str, optional
        Privacy budget against a dealer who colludes with the collector, as for `QuotaRR`.
    deal_id : str
        Name of the deal, which covers all batches together.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds. If the batch is too small, the message names the smallest size.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> from deniable.research.dealt import QuotaBatches
    >>> import numpy as np
    >>> quota, rng = QuotaBatches(epsilon=0.5, size=200, batches=50), SimulationRandomness(1)
    >>> shares = quota.deal(quota.n, rng)
    >>> truth = np.arange(7_300) % 20 == 0
    >>> reports = quota.randomize(truth.astype(int), shares[:7_300], rng)
    >>> estimate = quota.estimate(quota.aggregate(reports))
    >>> estimate.n, estimate.frequencies.round(3), estimate.standard_errors.round(4)
    (7300, array([0.922, 0.078]), array([0.0113, 0.0113]))
    >>> round(GRR(2, 0.5).variance(0.05, 7_300) ** 0.5, 4)
    0.0232
    """

    epsilon: float | Fraction
    size: int
    batches: int
    minimum: int | None = None
    k: int = 2
    design: float | None = None
    epsilon_aux: float | Fraction | None = None
    deal_id: str = ""
    n: int = field(init=False, repr=False, compare=False)
    """Most contributors who get a share: size x batches."""

    records: ClassVar[bool] = False
    group = "batch"
    report_type = BatchReports
    deals_fewer: ClassVar[bool] = True

    name = "QuotaBatches"
    stated = ("minimum",)
    card = Card(
        group="dealt",
        when="if a dealer is trusted not to collude, and nobody knows how many contributors will come",
        aliases=("quota batches",),
        planned=False,
        instead=ROW_APART,
        wire="the number of a batch and a code",
        page="theory/quota_rr.md",
        note="epsilon holds against everyone except the dealer; smaller batches have larger errors",
    )

    def __post_init__(self) -> None:
        settle(self, batches=checked_integer("batches", self.batches, 1, MAX_BATCHES))
        settle(self, size=checked_integer("size", self.size, 2))
        settle(self, n=self.size * self.batches)
        self._check_deal(2, None)
        part = self.part
        if self.minimum is None and part.a0 == 0:
            least = smallest_batch(self.epsilon, self.k, self.epsilon_aux)
            raise InvalidParameterError(
                f"size must be >= {least}, got size={self.size}: with epsilon={self.epsilon} and k={self.k}, a quota "
                f"helps only in batches of at least {least} contributors"
            )
        for name in ("epsilon", "k", "design", "epsilon_aux", "minimum"):
            object.__setattr__(self, name, getattr(part, name))

    @cached_property
    def part(self) -> QuotaRR:
        """The mechanism of one batch. Its deal has the name of the first batch's deal."""
        deal = f"{self.deal_id}/0"
        return QuotaRR(self.epsilon, self.size, self.minimum, self.k, self.design, self.epsilon_aux, deal)

    @property
    def parts(self) -> tuple[QuotaRR, ...]:
        return (self.part,) * self.batches

    @property
    def group_sizes(self) -> tuple[int, ...]:
        return (self.k,) * self.batches

    @property
    def domain(self) -> tuple[int, ...]:
        return (self.k,)

    def _deal(self, n: int, rng: Randomness) -> Columns:
        # Whole batches are dealt whatever n is, and the shares of the first n contributors are returned. Contributors
        # who join later need another deal. Contributor i, in the order of joining, belongs to batch i // size.
        group, types = self._deal_within(np.repeat(np.arange(-(-n // self.size)), self.size), rng)
        return group[:n], types[:n]

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return unbiased frequencies among all reporters; each batch has its own coefficients.

        Standard errors use the exact variance at the clipped estimate over all batches. Intervals assume that the
        batches do not depend on the answers.
        """
        own = [part for part in self._part_aggregates(aggregate) if part.n]
        total = np.sum([part.n * self.part.frequencies(part) for part in own], axis=0)
        reported, n = [part.n for part in own], aggregate.n
        law = QuotaSupports(
            tuple((self.part.law, count, times) for count, times in sorted(Counter(reported).items())),
            *self.part.truthfulness,
            n,
        )
        supports = np.sum([part.counts for part in own], axis=0)

        def variance(f: float) -> float:
            return self._variance(f, reported)

        def found(tail: float, target: Target) -> tuple[Floats, Floats]:
            return bounds(law, supports, total / n, variance, self.part.support_step / n, tail, target)

        return tangent_estimate(
            total / n, n, variance, OwnIntervals(found), scarce=few(variance, self.part.support_step / n)
        )

    def variance(self, f: float, n: int | None = None) -> float:
        """Noise variance of an estimated frequency whose true value is f in every batch.

        Parameters
        ----------
        f : float
            True frequency.
        n : int, optional
            Number of reports, which fill whole batches and at most one incomplete batch. The default is size x batches.
        """
        count = self.n if n is None else checked_integer("n", n, 1, self.n)
        whole, rest = divmod(count, self.size)
        return self._variance(f, [self.size] * whole + [rest] * (rest > 0))

    def _variance(self, f: float, reported: list[int]) -> float:
        known = {count: self.part.variance(f, reporters=count) * count**2 for count in set(reported)}
        return sum(known[count] for count in reported) / sum(reported) ** 2

    # ---------------------------------------------------------------- guarantee

    def privacy(self) -> Guarantee:
        """Return the guarantee of one batch, with a row for each adversary and its view."""
        guarantee = self.part.privacy()
        remark = "the collector sees which batch a report is of, hence about when its contributor joined"
        return replace(guarantee, remarks=(*guarantee.remarks, remark))

    def implemented_ratio(self) -> Fraction:
        return self.part.implemented_ratio()

    # ---------------------------------------------------------------- reports and simulation

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate from true counts in every batch; its distribution is exact.

        Parameters
        ----------
        counts : int[batches, k]
            Number of contributors who hold each value, for every batch. The numbers of a batch sum to `size`.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts of a batch do not sum to its size.
        """
        held: NDArray[np.int64] = np.asarray(counts)
        if held.shape != (self.batches, self.k):
            raise InvalidInputError(
                f"counts must have shape ({self.batches}, {self.k}) (one row for each batch), got shape={held.shape}"
            )
        drawn = [self.part.simulate_aggregate(own, rng).counts for own in held]
        reported = np.full(self.batches, self.size, dtype=np.int64)
        return Aggregate(self, np.concatenate([*drawn, reported]), self.n)

    @property
    def report_bits(self) -> float:
        """Bits per report: log2 k for the code and log2 of the number of batches."""
        return log2(self.k) + log2(self.batches)
