"""Corr-RR, phase two: one privatised pivot, and copies of it.

Seam, Zheng, Hu, *Frequency estimation of correlated multi-attribute data under local differential privacy* (PoPETs).
Phase one is `SPL` on some of the contributors. From its marginals the collector learns the matrix P and publishes it.
Every contributor of phase two draws a pivot attribute, reports it through GRR with the whole budget, and reports of
every other one a copy of *that report*: the same code with probability P[target, pivot], else a uniform other code.

Errata: see `deniable.multi.copy_probabilities`. 3.3.1 is no amplification: between records that differ anywhere the
ratio is e^epsilon, whatever P is. Between records that differ in one attribute it may be smaller; that is shown as the
per-attribute figure, and not spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_integer, checked_records, checked_sizes
from deniable.estimate import RecordEstimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.multi._copies import CopyLaw
from deniable.multi._oracles import affine_estimates, empty_reports, record_field
from deniable.multi._pivot_law import one_attribute_ratio, pivot_channel, possible_reports, whole_record_ratio
from deniable.multi._tally import tally_columns
from deniable.multi.alignment import Alignment, check_table_size, checked_alignment
from deniable.multi.copy_probabilities import checked_copy_probabilities, learn_copy_probabilities
from deniable.multi.copy_probabilities import joint_copy_probabilities as joint_copy_probabilities
from deniable.multi.copy_probabilities import pairwise_copy_probabilities as pairwise_copy_probabilities
from deniable.multi.split import SPL
from deniable.multi.two_phase import phase_one_marginals
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, stretches_sum_to
from deniable.thresholds import EpsilonLike, checked_epsilon, log_up

BIASED = "Corr-RR (biased: copies pull every attribute towards the others)"
SINGULAR = "Corr-RR unmixed (biased: copies leave some difference between attributes undetermined)"
REMARKS = (
    "P is public and costs nothing here; the contributors of phase one, from whose reports it was learned, spent their "
    "own budget",
    "per attribute: between records that differ in that attribute only; no larger budget may be spent for its sake",
    "the pivot is not sent, but copies may show which attribute it was; copy probabilities of 0 and 1 can for certain",
)


@register("Corr-RR")
@dataclass(frozen=True)
class CorrRR:
    """One uniformly drawn pivot attribute by GRR with the whole budget; copies of its report for all others.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32. The papers' are equal; others are aligned, up to 2^18
        pairs of codes of different attributes.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32], spent on the pivot.
    copy_probabilities : float[d, d]
        P, rows = target, columns = pivot, diagonal one; for instance from `learn`. Any probabilities keep epsilon.
    alignment : sequence of (larger, smaller, map), optional
        Public maps between pairs of attributes, contiguous where not given; see `deniable.multi.alignment`.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or domains that differ are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.corr_rr import CorrRR
    >>> import numpy as np
    >>> rng = SimulationRandomness(1)
    >>> spl = CorrRR.phase_one(sizes=(3, 3), epsilon=2.0)
    >>> first = spl.aggregate(spl.randomize(np.tile([[0, 0], [0, 1], [2, 2]], (100, 1)), rng))
    >>> corr_rr = CorrRR.learn(first, n2=900)
    >>> second = corr_rr.aggregate(corr_rr.randomize(np.tile([[0, 0], [0, 1], [2, 2]], (300, 1)), rng))
    >>> [estimate.k for estimate in corr_rr.estimate(second).values()]
    [3, 3]
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    copy_probabilities: tuple[tuple[float | Fraction, ...], ...]
    alignment: Alignment = ()

    name = "Corr-RR"
    estimators = ("debiased", "unmixed")
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        for size in set(self.sizes):
            GRR(size, self.epsilon)  # refuses what GRR refuses
        checked = checked_copy_probabilities(self.copy_probabilities, len(self.sizes))
        object.__setattr__(self, "copy_probabilities", checked)
        object.__setattr__(self, "alignment", checked_alignment(self.alignment, self.sizes))
        check_table_size(self.sizes, self.alignment)

    # ---------------------------------------------------------------- two phases

    @staticmethod
    def phase_one(sizes: Sequence[int], epsilon: EpsilonLike) -> SPL:
        """Return the mechanism of phase one: every attribute by GRR with epsilon/d."""
        return SPL(tuple(sizes), checked_epsilon(epsilon))

    @classmethod
    def learn(
        cls,
        aggregate: Aggregate,
        n2: int,
        method: str = "pairwise",
        *,
        as_printed: bool = False,
        alignment: Sequence[Any] = (),
    ) -> CorrRR:
        """Collector: learn P from phase one and return the mechanism of phase two; a pure function.

        Parameters
        ----------
        aggregate : Aggregate
            Of phase one: `SPL`, or any record mechanism whose estimates are unbiased.
        n2 : int
            Number of contributors who are expected in phase two, >= 2.
        method : {"pairwise", "joint"}
            How P is found; see `deniable.multi.copy_probabilities`.
        as_printed : bool
            Exchange target and pivot as Algorithm 1 does (erratum), for comparisons.
        alignment : sequence of (larger, smaller, map)
            Maps between domains that differ.

        Returns
        -------
        CorrRR
            With phase one's sizes and epsilon. To use a given P, construct `CorrRR` itself.

        Raises
        ------
        InvalidParameterError
            If n2, the method or the alignment is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is not of a record mechanism, or has no reports of some attribute.
        """
        first, marginals = phase_one_marginals(aggregate)
        found = learn_copy_probabilities(marginals, n2, method, as_printed=as_printed, alignment=alignment)
        return cls(first.sizes, first.epsilon, tuple(map(tuple, found.tolist())), tuple(alignment))

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute as the pivot, with the whole epsilon."""
        return tuple(GRR(k=size, epsilon=self.epsilon) for size in self.sizes)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: draw a pivot, exactly uniformly, report it through GRR, and copies of that report.

        Parameters
        ----------
        inputs : int[n, d]
            Records of true codes, column j in 0..k_j-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8, uint16 or uint32 [n, d]
            Reported codes, in the dtype of the largest domain.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row and attribute.
        """
        codes = checked_records(inputs, self.sizes)
        reports = empty_reports(self.oracles, len(codes))
        self.law.randomize(codes, rng, reports)
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each code was reported, one attribute after the other.

        Raises
        ------
        InvalidReportError
            If `reports` is not int[n, d], or a code is out of range, naming its row and attribute.
        """
        counts, n = tally_columns(self.oracles, reports)
        return Aggregate(self, counts, n)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: `debiased` where all domains are alike, as in the papers; `unmixed` where they differ.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        return self.debiased(aggregate) if self.law.alike else self.unmixed(aggregate)

    def debiased(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: the papers' f^ = (count/n - q)/(p - q), as if every report were its own attribute's GRR report.

        Biased if d > 1, with E f^_j = 1/k + 1/d [g_j + sum_s a_js g_s] (see `deniable.multi.corr_rr_error`): no
        standard errors, no intervals.
        """
        check_aggregate(aggregate, self)
        estimates = affine_estimates(aggregate.counts, self.sizes, aggregate.n, self.support_probabilities)
        steps = (BIASED,) if len(self.sizes) > 1 else ()
        return RecordEstimate({j: replace(estimate, processing=steps) for j, estimate in estimates.items()})

    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: frequencies that solve the induced linear channel, which takes the copies into account.

        Unbiased, with intervals, for every attribute whose frequencies the counts determine; nearly undetermined ones
        have large standard errors. Elsewhere (all of P one, say) biased, the solution of least norm, with the reason.

        Raises
        ------
        TooLargeError
            If the attributes have more than 4096 values together.
        """
        check_aggregate(aggregate, self)
        return self.law.induced.estimate(aggregate.counts, aggregate.n, SINGULAR)

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def law(self) -> CopyLaw:
        """How the copies are drawn, with their exact probabilities and the induced channel."""
        return CopyLaw(self.oracles, self.copy_probabilities, self.alignment)

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute as the pivot."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record; per attribute, what is left of 3.3.1."""
        epsilon, d = float(self.epsilon), len(self.sizes)
        per_attribute = tuple(min(epsilon, log_up(self.implemented_attribute_ratio(j))) for j in range(d))
        return local_guarantee(epsilon, self.implemented_epsilon(), per_attribute, REMARKS)

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact.

        p/q over equal domains. Over others, between the oracles' ratios, which differ by the rounding of thresholds;
        beyond 8192 reports the largest of those is returned, an upper bound.
        """
        if not self.law.alike and self.law.weights is not None:
            return whole_record_ratio(self.oracles, self.law.weights)
        return max(oracle.implemented_ratio() for oracle in self.oracles)

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only.

        Exact up to 8192 kinds of reports (equal domains: 8 attributes); beyond, its oracle's ratio, an upper bound.
        """
        j = checked_integer("attribute", attribute, 0, len(self.sizes) - 1)
        if self.law.weights is None:
            return self.oracles[j].implemented_ratio()
        return one_attribute_ratio(self.oracles, self.law.weights, j)

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        check_channel_size(1, prod(self.sizes), repr(self))
        reports, _ = possible_reports(self.law.transfers(), self.sizes)
        return reports.astype(record_field(self.oracles).dtype)

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), prod(self.sizes), repr(self))
        matrix = pivot_channel(self.oracles, self.law.transfers())
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution, without reports.

        Cost: O(r d) for who draws which pivot, and a few draws per pair of attributes.

        Parameters
        ----------
        records, counts : int[r, d], int[r]
            Records, and the number of contributors who hold each of them.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If a record or a count is out of range.
        """
        total, n = self.law.simulate(records, counts, rng)
        return Aggregate(self, total, n)

    @property
    def state_size(self) -> int:
        """One counter per value of every attribute."""
        return sum(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n codes for every attribute."""
        stretches_sum_to(counts, self.sizes, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One row of codes per report."""
        return (record_field(self.oracles),)

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return sum(oracle.report_bits for oracle in self.oracles)
