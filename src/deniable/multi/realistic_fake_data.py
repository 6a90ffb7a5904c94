"""RS+RFD: report one attribute truly and all others as realistic fakes, drawn from public priors.

Arcolezi, Gambs, Couchot, Palamidessi, *On the risks of collecting multidimensional data under local differential
privacy* (PVLDB 2023). As RS+FD over GRR, but the fake of attribute j is drawn from a prior pi_j instead of uniformly:
the closer the priors, the harder it is to tell which attribute was sampled.

As for RS+FD, the sampled attribute spends epsilon itself, not the "amplified" ln(d (e^epsilon - 1) + 1): see `RSFD`.
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
from deniable.estimate import RecordEstimate, affine_variance
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.multi._exact import Evidence, one_attribute_ratio, product_rows, sampled
from deniable.multi._oracles import affine_estimates, empty_reports, make_oracles, record_field
from deniable.multi._priors import (
    PriorTables,
    checked_priors,
    cumulative_thresholds,
    draw_from_priors,
    implemented_prior,
    prior_tables,
)
from deniable.multi._sampled import SAMPLED_ROWS, overwrite_sampled, simulate_sampling
from deniable.multi._tally import tally_columns
from deniable.multi.fake_data import REMARK
from deniable.multi.split import SPL
from deniable.multi.two_phase import clipped, phase_one_marginals
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, stretches_sum_to
from deniable.thresholds import EpsilonLike, checked_epsilon, log_up

PRIORS_REMARK = "the priors are public; learning them from private answers needs a budget of its own"
CLIPPED = "RS+RFD clipped and renormalised (biased)"
ZERO_REMARK = "a reported value whose prior is zero shows that its attribute was sampled"


@register("RS+RFD")
@dataclass(frozen=True)
class RSRFD:
    """One uniformly sampled attribute by GRR, hidden among fakes of the others that follow public priors.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32], spent on the sampled attribute.
    priors : sequence of d sequences of k_j probabilities
        Distribution of each attribute's fakes, for instance learned from other contributors. Each sums to 1 within 1e-9
        and is normalised exactly. Zeros are allowed: epsilon holds, but see `implemented_attribute_ratio`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import RSRFD, SimulationRandomness
    >>> import numpy as np
    >>> rsrfd = RSRFD(sizes=(2, 3), epsilon=1.0, priors=((0.9, 0.1), (0.2, 0.3, 0.5)))
    >>> reports = rsrfd.randomize(np.array([[0, 2], [1, 2], [1, 0]]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> estimates = rsrfd.estimate(rsrfd.aggregate(reports))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 3]
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    priors: tuple[tuple[float | Fraction, ...], ...]

    name = "RS+RFD"
    estimators = ("clipped",)
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "priors", checked_priors(self.priors, self.sizes))
        make_oracles("GRR", self.sizes, self.epsilon)  # refuses what GRR refuses

    # ---------------------------------------------------------------- two phases

    @staticmethod
    def phase_one(sizes: Sequence[int], epsilon: EpsilonLike) -> SPL:
        """Return the mechanism of phase one: every attribute by GRR with epsilon/d."""
        return SPL(tuple(sizes), checked_epsilon(epsilon))

    @classmethod
    def learn(cls, aggregate: Aggregate, n2: int) -> RSRFD:
        """Collector: the priors are phase one's frequencies, clipped to [0, 1] and renormalised; a pure function.

        The two-phase variant of Seeam, Zheng, Hu (Corr-RR), 4.2.2. `two_phase.combine` weighs the phases by counts.

        Parameters
        ----------
        aggregate : Aggregate
            Of phase one: `SPL`, or any record mechanism whose estimates are unbiased.
        n2 : int
            Number of contributors who are expected in phase two, >= 1; the priors do not depend on it.

        Raises
        ------
        InvalidParameterError
            If n2 is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is not of a record mechanism, or has no reports of some attribute.
        """
        checked_integer("n2", n2, 1)
        first, marginals = phase_one_marginals(aggregate)
        return cls(first.sizes, first.epsilon, tuple(tuple(clipped(one).tolist()) for one in marginals))

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute, with the whole epsilon."""
        return tuple(GRR(k=size, epsilon=self.epsilon) for size in self.sizes)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: report one attribute, exactly uniformly drawn, through GRR, and fakes of the others.

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
        for start in range(0, len(codes), SAMPLED_ROWS):
            rows = slice(start, start + SAMPLED_ROWS)
            draw_from_priors(self._tables, rng, reports[rows])
            overwrite_sampled(self.oracles, codes[rows], rng, reports[rows])
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each code was reported, one attribute after the other.

        Parameters
        ----------
        reports : int[n, d]
            Reported codes.

        Raises
        ------
        InvalidReportError
            If a code is out of range, naming its row and attribute.
        """
        counts, n = tally_columns(self.oracles, reports)
        return Aggregate(self, counts, n)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: unbiased frequencies of every attribute, f^ = (d count/n - q - (d-1) pi)/(p - q).

        All of p, q and pi are the implemented ones.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self)
        return affine_estimates(aggregate.counts, self.sizes, aggregate.n, self.support_probabilities)

    def clipped(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: `estimate`, every attribute clipped to [0, 1] and renormalised *before* phases are combined.

        Biased, without intervals. The numbers that the Corr-RR paper prints for its two-phase variant are reproduced
        by this estimate of phase two only; what `estimate` returns may be post-processed after combining, too.
        """
        return RecordEstimate(
            {
                j: replace(one, frequencies=clipped(one.frequencies), processing=(CLIPPED,))
                for j, one in self.estimate(aggregate).items()
            }
        )

    def variance(self, f: float, n: int, attribute: int, value: int | None = None) -> float:
        """Variance of an estimated frequency of one attribute whose true value is f among n contributors.

        Noise only; the drawing of the attribute is part of the noise. It depends on the value's prior: of one value, or
        (None) the mean over the attribute's values.
        """
        k = self.sizes[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)]
        values = range(k) if value is None else [checked_integer("value", value, 0, k - 1)]
        present, absent = self.support_probabilities[attribute]
        return sum(affine_variance(float(present[v]), float(absent[v]), f, n) for v in values) / len(values)

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def _thresholds(self) -> tuple[tuple[int, ...], ...]:
        return tuple(cumulative_thresholds(prior) for prior in self.priors)

    @cached_property
    def _tables(self) -> PriorTables:
        return prior_tables(self._thresholds)

    @cached_property
    def implemented_priors(self) -> tuple[tuple[Fraction, ...], ...]:
        """The priors with which fakes are drawn, exact: multiples of 2^-64 that sum to one."""
        return tuple(implemented_prior(thresholds) for thresholds in self._thresholds)

    @cached_property
    def support_probabilities(self) -> tuple[tuple[tuple[Fraction, ...], tuple[Fraction, ...]], ...]:
        """Implemented (P, Q) of each attribute, one per value: probability that a report equals v if held, and if not.

        P(v) = (p + (d-1) pi(v))/d and Q(v) = (q + (d-1) pi(v))/d.
        """
        d = len(self.sizes)
        result = []
        for oracle, prior in zip(self.oracles, self.implemented_priors, strict=True):
            present, absent = (tuple((c + (d - 1) * pi) / d for pi in prior) for c in oracle.support_probabilities)
            result.append((present, absent))
        return tuple(result)

    @cached_property
    def _evidence(self) -> tuple[Evidence, ...]:
        result = []
        for oracle, prior in zip(self.oracles, self.implemented_priors, strict=True):
            (p, q), rarest = oracle.support_probabilities, min(pi for pi in prior if pi)
            result.append(Evidence(p / rarest, q / rarest, q / max(prior)))
        return tuple(result)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record; less between records that differ in one attribute."""
        zero = (ZERO_REMARK,) if any(0 in prior for prior in self.implemented_priors) else ()
        epsilon, d = float(self.epsilon), len(self.sizes)
        per_attribute = tuple(min(epsilon, log_up(self.implemented_attribute_ratio(j))) for j in range(d))
        return local_guarantee(epsilon, self.implemented_epsilon(), per_attribute, (REMARK, PRIORS_REMARK, *zero))

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact.

        Sum of w_j p_j over sum of w_j q_j, w_j = 1/pi_j of the values reported. All p_j/q_j are e^epsilon up to the
        rounding of thresholds, so this is too; the largest is where attributes with the larger p_j/q_j report their
        rarest value and the others their commonest. A value of prior zero leaves p_j/q_j alone.
        """
        pairs = [oracle.support_probabilities for oracle in self.oracles]
        order = sorted(range(len(pairs)), key=lambda j: pairs[j][0] / pairs[j][1], reverse=True)
        weights = [(1 / min(pi for pi in prior if pi), 1 / max(prior)) for prior in self.implemented_priors]
        ratios = [p / q for (p, q), prior in zip(pairs, self.implemented_priors, strict=True) if 0 in prior]
        for rare in range(1, len(order) + 1):
            chosen = [(j, weights[j][0 if place < rare else 1]) for place, j in enumerate(order)]
            likely = sum((weight * pairs[j][0] for j, weight in chosen), start=Fraction(0))
            ratios.append(likely / sum((weight * pairs[j][1] for j, weight in chosen), start=Fraction(0)))
        return max(ratios)

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only, exact.

        That of GRR itself if a value of the attribute has prior zero: a report of it must be true or a lie, not a fake.
        """
        j = checked_integer("attribute", attribute, 0, len(self.sizes) - 1)
        if 0 in self.implemented_priors[j]:
            return self.oracles[j].implemented_ratio()
        return one_attribute_ratio(self._evidence, j)

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def _possible(self) -> NDArray[np.bool_]:
        """Whether each combination of codes can be reported: at most one of them, the sampled one, has prior zero."""
        zeros = [np.array([pi == 0 for pi in prior], dtype=np.int64) for prior in self.implemented_priors]
        possible: NDArray[np.bool_] = product_rows(zeros, np.int64).sum(axis=1) <= 1
        return possible

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        check_channel_size(1, prod(self.sizes), repr(self))
        combinations = product_rows([oracle.outputs() for oracle in self.oracles], record_field(self.oracles).dtype)
        return combinations[self._possible()]

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), prod(self.sizes), repr(self))
        fakes = [np.array(prior, dtype=object) for prior in self.implemented_priors]
        matrix = sampled([oracle.channel(exact=True) for oracle in self.oracles], fakes)[:, self._possible()]
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution, without reports.

        As for `RSFD`, marginal counts are not enough. Cost: O(r d) and a few draws per attribute.

        Parameters
        ----------
        records : int[r, d]
            Records.
        counts : int[r]
            Number of contributors who hold each record.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If a record or a count is out of range.
        """
        sampled_counts, n = simulate_sampling(records, counts, self.sizes, rng)
        parts = []
        for oracle, held, prior in zip(self.oracles, sampled_counts, self.implemented_priors, strict=True):
            weights = np.array(prior, dtype=np.float64)
            fakes = rng.generator.multinomial(n - held.sum(), weights / weights.sum())
            parts.append(oracle.simulate_aggregate(held, rng).counts + fakes)
        return Aggregate(self, np.concatenate(parts), n)

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
