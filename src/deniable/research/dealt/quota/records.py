"""Quota records (QuotaRecords), whose dealer also deals each attribute to exactly the same number of contributors.

The mechanism is `SMP` with a dealer. In `SMP`, each contributor draws one attribute at random and reports it. Here the
dealer chooses the attribute. A contributor's share names the attribute and a type. The type is an instruction to tell
the truth or to say a given code. For each attribute, the dealer deals the types as in `QuotaRR`.

In `SMP`, two numbers vary by chance: the number of reports about each attribute, and the number of forced answers. Here
the first number is fixed, and the second number hardly varies. So the noise is smaller than in `SMP`. A contributor
reports only one attribute, with the whole epsilon. So epsilon protects the whole record. The proof is in
docs/theory/quota_rr.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import log2
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, Floats, Target, checked_entries, checked_integer, checked_sizes, settle
from deniable.core.estimate import Estimate, OwnIntervals, RecordEstimate
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.thresholds import checked_epsilon
from deniable.errors import TooLargeError
from deniable.research.dealt.dealt import ROW_APART, DealtRecordMechanism
from deniable.research.dealt.estimate import tangent_estimate
from deniable.research.dealt.interval import few
from deniable.research.dealt.quota.groups import QuotaGroups
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.tables import deal_types
from deniable.research.dealt.shares import Columns


class DealtAttribute(NamedTuple):
    """Batch of reports about one dealt attribute each.

    Parameters
    ----------
    attribute : uint8, uint16 or uint32 [n]
        Dealt attribute, in 0..d-1.
    value : uint8 or uint16 [n]
        Reported code of this attribute, in 0..k_attribute-1.
    """

    attribute: Codes
    value: Codes


MAX_ATTRIBUTES = 1 << 8
MAX_WORK = 1 << 32
"""Most attributes times contributors. The distributions of all deals together take as long as the root of this
number."""


@final
@dataclass(frozen=True)
class QuotaRecords(QuotaGroups[DealtAttribute], DealtRecordMechanism[DealtAttribute]):
    """A dealer tells each contributor which attribute to report, and tells some contributors which code.

    The dealer deals secret shares once to n contributors. A share names an attribute. It also says "tell the truth", or
    "say v" for a given code v of this attribute. The instruction "say v" is called a *forced answer*. For each
    attribute, the dealer forces every code on at least a fixed number of contributors. This number is called the
    *quota* of the attribute.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 65535.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats. The guarantee holds against everybody except the dealer.
    n : int
        Number of contributors who receive a share, at least 2 d. Each of the first n mod d attributes is dealt to
        floor(n/d) + 1 contributors. Each of the other attributes is dealt to floor(n/d) contributors. Fewer
        contributors may report.
    minima : sequence of int, optional
        Quota of each attribute: every code of the attribute is forced on at least this many contributors. By default,
        each quota is chosen as in `QuotaRR`.
    design : float, optional
        Frequency at which the default quotas have the least variance, as for `QuotaRR`.
    epsilon_aux : float, Fraction, Decimal or str, optional
        Privacy budget against a dealer who colludes with the collector, as for `QuotaRR`.
    deal_id : str
        Name of the deal. Every deal needs its own name.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SMP, SimulationRandomness
    >>> from deniable.research.dealt import QuotaRecords
    >>> import numpy as np
    >>> quota, rng = QuotaRecords(sizes=(2, 3), epsilon=1.0, n=10_000), SimulationRandomness(1)
    >>> truth = np.tile([[0, 2], [0, 1], [0, 0], [1, 0]], (2500, 1))
    >>> reports = quota.randomize(truth, quota.deal(10_000, rng), rng)
    >>> estimates = quota.estimate(quota.aggregate(reports))
    >>> estimates[0].n, estimates[0].standard_errors.round(4)
    (5000, array([0.0086, 0.0086]))
    >>> round(SMP((2, 3), 1.0).variance(0.25, 10_000, 0) ** 0.5, 4)
    0.0142
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    n: int
    minima: tuple[int, ...] | None = None
    design: float | None = None
    epsilon_aux: float | Fraction | None = None
    deal_id: str = ""

    group = "attribute"
    report_type = DealtAttribute

    name = "QuotaRecords"
    stated = ("minima",)
    card = Card(
        group="dealt",
        when="if a dealer is trusted not to collude, and a record has several attributes",
        aliases=("quota records",),
        planned=False,
        instead=ROW_APART,
        wire="an attribute and its code",
        page="theory/quota_rr.md",
        note="epsilon holds against everyone except the dealer",
    )

    def __post_init__(self) -> None:
        settle(self, sizes=checked_sizes(self.sizes), epsilon=checked_epsilon(self.epsilon))
        d = len(self.sizes)
        self._check_deal(2 * d)
        if d > MAX_ATTRIBUTES or d * self.n > MAX_WORK:
            raise TooLargeError(
                f"a deal of records must have at most {MAX_ATTRIBUTES} attributes, and at most 2^32 shares of single "
                f"attributes, got {d} attributes for n={self.n}"
            )
        if self.minima is not None:
            checked_entries(self.minima, d, f"minima must name a quota for each of {d} attributes")
        parts = self.parts
        settle(self, minima=tuple(part.a0 for part in parts), epsilon_aux=parts[0].epsilon_aux, design=parts[0].design)

    @cached_property
    def parts(self) -> tuple[QuotaRR, ...]:
        d = len(self.sizes)
        minima = self.minima or (None,) * d
        return tuple(
            QuotaRR(
                self.epsilon,
                self.n // d + (j < self.n % d),
                minimum,
                k,
                self.design,
                self.epsilon_aux,
                f"{self.deal_id}/{j}",
            )
            for j, (k, minimum) in enumerate(zip(self.sizes, minima, strict=True))
        )

    @property
    def group_sizes(self) -> tuple[int, ...]:
        return self.sizes

    def _deal(self, n: int, rng: Randomness) -> Columns:  # noqa: ARG002
        return self._deal_within(deal_types([part.n for part in self.parts], rng), rng)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return unbiased frequencies of every attribute from its own reports.

        The reporters of an attribute are a sample of all contributors. Standard errors and intervals allow for this
        sampling.
        """
        parts = zip(self.parts, self._part_aggregates(aggregate), strict=True)
        return RecordEstimate({j: _estimate(part, own, aggregate.n) for j, (part, own) in enumerate(parts)})

    def variance(self, f: float, n: int | None = None, attribute: int = 0) -> float:
        self._check_dealt_to(n)
        part = self.parts[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)]
        sampling = f * (1 - f) * (self.n - part.n) / (part.n * (self.n - 1))
        # The variance is the quota deal's noise, averaged over samples, plus f (1-f) (n - n_j)/(n_j (n-1)) for the
        # sampling. The noise is quadratic in the sample's frequency, whose mean is f. So its average adds the quadratic
        # coefficient, `bend`, times the sampling variance.
        bend = 2 * (part.variance(0.0) - 2 * part.variance(0.5) + part.variance(1.0))
        return part.variance(f) + (bend + 1) * sampling

    # ---------------------------------------------------------------- guarantee

    def privacy(self) -> Guarantee:
        """Return the guarantee for the whole record, with a row for each adversary and its view."""
        guarantees = [part.privacy() for part in self.parts]
        worst = guarantees[0]
        # My report alone says more about an attribute with more values or fewer contributors. So every row has its own
        # worst attribute.
        rows = zip(*(guarantee.trust_models for guarantee in guarantees), strict=True)
        remark = "the collector sees which attribute was dealt; that does not depend on the record"
        return replace(
            worst,
            per_attribute=worst.per_attribute * len(self.sizes),
            trust_models=tuple(max(row, key=lambda model: model.epsilon) for row in rows),
            implemented_epsilon=self.implemented_epsilon(),
            remarks=(*worst.remarks, remark),
        )

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio between two records, which is the largest ratio of all attributes' deals."""
        return max(part.implemented_ratio() for part in self.parts)

    # ---------------------------------------------------------------- reports and simulation

    def _simulate(self, records: Codes, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        drawn, left = [], counts
        for j, part in enumerate(self.parts):
            sampled = rng.generator.multivariate_hypergeometric(left, part.n, method="marginals")
            left = left - sampled
            held = np.bincount(records[:, j], weights=sampled, minlength=part.k).round().astype(np.int64)
            drawn.append(part._simulate(held, rng))
        return np.concatenate([*drawn, [part.n for part in self.parts]])

    @property
    def report_bits(self) -> float:
        """Bits per report on average: log2 d for the attribute, and log2 k_j for its code."""
        return log2(len(self.sizes)) + sum(map(log2, self.sizes)) / len(self.sizes)


def _estimate(part: QuotaRR, own: Aggregate, contributors: int) -> Estimate:
    if own.n == 0:
        nothing = np.full(part.k, np.nan)
        return Estimate(nothing, 0, nothing, nothing, contributors)

    def variance(f: float) -> float:
        return part.variance(f, reporters=own.n)

    def bounds(tail: float, target: Target) -> tuple[Floats, Floats]:
        return part.frequency_bounds(own, tail, target, contributors)

    scarce = few(variance, part.support_step / own.n)
    return tangent_estimate(part.frequencies(own), own.n, variance, OwnIntervals(bounds), contributors, scarce=scarce)
