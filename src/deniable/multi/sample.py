"""SMP: sample one attribute, report it with the whole budget.

Every contributor draws one of the d attributes uniformly, reports it through its frequency oracle with epsilon, and
says which one it is. Splitting (`SPL`) rarely beats it: n/d reports at epsilon carry more than n at epsilon/d.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log2, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import Codes, checked_integer, checked_records, checked_sizes, code_dtype
from deniable.estimate import RecordEstimate, affine_estimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.multi._oracles import Oracle, checked_oracle, make_oracles, output_count, report_width, stretches
from deniable.multi._sampled import SAMPLED_ROWS, sample_attributes, sampled_reports, simulate_sampling
from deniable.multi._tally import tally_sampled
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, check_parts, counts_sum_to
from deniable.thresholds import checked_epsilon, log_up


class SampledReports(NamedTuple):
    """Reports of one sampled code each.

    Parameters
    ----------
    attribute : uint8, uint16 or uint32 [n]
        The sampled attribute, in 0..d-1.
    value : uint8, uint16 or uint32 [n]
        Its reported code, in 0..k_attribute-1.
    """

    attribute: Codes
    value: Codes


class SampledBits(NamedTuple):
    """Reports of one sampled attribute's packed bits each.

    Parameters
    ----------
    attribute : uint8, uint16 or uint32 [n]
        The sampled attribute, in 0..d-1.
    bits : uint8[n, max of ceil(k_j/8)]
        Its packed bits, little-endian, then zeros.
    """

    attribute: Codes
    bits: NDArray[np.uint8]


@register("SMP")
@dataclass(frozen=True)
class SMP:
    """One uniformly sampled attribute by a frequency oracle with the whole budget; the collector sees which.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32].
    oracle : {"GRR", "OUE"}
        Frequency oracle of every attribute.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SMP, SimulationRandomness
    >>> import numpy as np
    >>> smp = SMP(sizes=(2, 4), epsilon=1.0)
    >>> reports = smp.randomize(np.array([[0, 3], [1, 3], [1, 0], [0, 3]]), SimulationRandomness(1))
    >>> reports.attribute.shape, reports.value.dtype
    ((4,), dtype('uint8'))
    >>> estimates = smp.estimate(smp.aggregate(reports))
    >>> sum(estimate.n for estimate in estimates.values())
    4
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    oracle: str = "GRR"

    name = "SMP"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        make_oracles(checked_oracle(self.oracle), self.sizes, self.epsilon)  # refuses what an oracle refuses

    @cached_property
    def oracles(self) -> tuple[Oracle, ...]:
        """The frequency oracle of each attribute, with the whole epsilon."""
        return make_oracles(self.oracle, self.sizes, self.epsilon)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> SampledReports | SampledBits:
        """Contributor: draw an attribute, exactly uniformly, and report it through its oracle.

        Parameters
        ----------
        inputs : int[n, d]
            Records of true codes, column j in 0..k_j-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        SampledReports or SampledBits
            The attributes, and their reported codes (GRR) or packed bits (OUE).

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row and attribute.
        """
        codes = checked_records(inputs, self.sizes)
        attributes = sample_attributes(rng, len(codes), len(self.sizes))
        body = self._empty_body(len(codes))
        for start in range(0, len(codes), SAMPLED_ROWS):
            block = slice(start, start + SAMPLED_ROWS)
            part = body[block]
            for _, rows, reports in sampled_reports(self.oracles, codes[block], attributes[block], rng):
                place = rows if reports.ndim == 1 else np.s_[rows, : reports.shape[1]]
                part[place] = reports
        return self.report_type(attributes, body)

    def _empty_body(self, n: int) -> NDArray[Any]:
        body = self.report_fields[1]
        return np.zeros(n if body.width is None else (n, body.width), dtype=body.dtype)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: tuple[ArrayLike, ArrayLike]) -> Aggregate:
        """Collector: sum the support counts of every attribute, and count the reports of each.

        Parameters
        ----------
        reports : SampledReports or SampledBits
            As `randomize` returns them; any pair (attributes, values or bits) will do.

        Raises
        ------
        InvalidReportError
            If a report cannot have come from this mechanism, naming its row.
        """
        counts, n = tally_sampled(self.oracles, reports, self.report_fields[1].width)
        return Aggregate(self, counts, n)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: unbiased frequencies of every attribute from its own n_j reports.

        f^ = (count/n_j - q)/(p - q). Unbiased given n_j >= 1; where n_j = 0 frequencies are NaN, standard errors
        infinite, and there is no interval. Intervals for these contributors include the sampling of n_j among n.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self)
        d = len(self.sizes)
        rows = zip(stretches(self.sizes), aggregate.counts[-d:], self.support_probabilities, strict=True)
        return RecordEstimate(
            {
                j: affine_estimate(aggregate.counts[place], int(reported), float(p), float(q), aggregate.n)
                for j, (place, reported, (p, q)) in enumerate(rows)
            }
        )

    def variance(self, f: float, n: int, attribute: int) -> float:
        """Variance of an estimated frequency of one attribute whose true value is f among n contributors.

        With the expected n/d reports: the oracle's noise, and f (1-f) (d-1)/n for sampling the reports among these
        contributors without replacement.
        """
        d = len(self.sizes)
        oracle = self.oracles[checked_integer("attribute", attribute, 0, d - 1)]
        return oracle.variance(f, n) * d + f * (1 - f) * (d - 1) / n

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute: probability that its report supports a held value, and another."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record, and for one attribute: it may be the sampled one."""
        remark = (
            "the collector sees which attribute was sampled; the choice is uniform and does not depend on the record"
        )
        epsilon = float(self.epsilon)
        return local_guarantee(epsilon, self.implemented_epsilon(), (epsilon,) * len(self.sizes), (remark,))

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact: that of the attribute whose oracle has the largest."""
        return max(oracle.implemented_ratio() for oracle in self.oracles)

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only, exact."""
        return self.oracles[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)].implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> SampledReports | SampledBits:
        """Every possible report once, in the order of the columns of `channel`: by attribute, then by its report."""
        check_channel_size(1, self._output_count, repr(self))
        bodies = []
        for oracle in self.oracles:
            reports = oracle.outputs()
            body = self._empty_body(len(reports))
            body[... if reports.ndim == 1 else np.s_[:, : reports.shape[1]]] = reports
            bodies.append(body)
        attributes = np.repeat(np.arange(len(bodies)), [len(body) for body in bodies])
        return self.report_type(attributes.astype(self.report_fields[0].dtype), np.concatenate(bodies))

    @property
    def _output_count(self) -> int:
        return sum(output_count([oracle]) for oracle in self.oracles)

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), self._output_count, repr(self))
        records = np.indices(self.sizes).reshape(len(self.sizes), -1)
        share = Fraction(1, len(self.sizes))
        channels = [oracle.channel(exact=True)[held] for oracle, held in zip(self.oracles, records, strict=True)]
        matrix: NDArray[Any] = np.concatenate(channels, axis=1) * share
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution, without reports.

        The number of reports of one attribute and the counts of another depend on each other through the records, so
        marginal counts are not enough. Cost: O(r d) and one draw per attribute.

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
        sampled, n = simulate_sampling(records, counts, self.sizes, rng)
        drawn = [oracle.simulate_aggregate(held, rng) for oracle, held in zip(self.oracles, sampled, strict=True)]
        reported = np.array([part.n for part in drawn], dtype=np.int64)
        return Aggregate(self, np.concatenate([*(part.counts for part in drawn), reported]), n)

    @property
    def state_size(self) -> int:
        """One counter per value of every attribute, then one per attribute for the number of its reports."""
        return sum(self.sizes) + len(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse support counts that are not of as many reports as the attributes have, n in all."""
        counts, reported = counts[: -len(self.sizes)], counts[-len(self.sizes) :]
        counts_sum_to(reported, n, len(counts))
        check_parts(self.oracles, counts, reported)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """The sampled attribute, and its code or packed bits."""
        attribute = ReportField("attribute", code_dtype(len(self.sizes)).name)
        widths = [report_width(oracle) for oracle in self.oracles]
        if widths[0] is None:
            return attribute, ReportField("value", code_dtype(max(self.sizes)).name)
        return attribute, ReportField("bits", "uint8", max(width for width in widths if width is not None))

    @property
    def report_type(self) -> type[SampledReports] | type[SampledBits]:
        """`SampledReports` or `SampledBits`."""
        return SampledReports if report_width(self.oracles[0]) is None else SampledBits

    @property
    def report_bits(self) -> float:
        """Bits per report on average: log2 d for the attribute, and its oracle's."""
        return log2(len(self.sizes)) + sum(oracle.report_bits for oracle in self.oracles) / len(self.sizes)
