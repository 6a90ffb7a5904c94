"""Adaptive SMP: sample one attribute, report it with the whole budget through the oracle that suits its size.

`SMP` reports every attribute through the same oracle; here a small domain may go through GRR, a middling one through
subset selection and a dictionary through a sketch, each with the least expected error for its size. Called SMP[ADP] in
the literature (Arcolezi, Couchot, Al Bouna, Xiao, *Random sampling plus fake data*, 2021), where it chooses between GRR
and OUE; the oracles compared here are those of `best_oracle`.

A report is the sampled attribute and a payload of fixed width: the bytes of that attribute's report, then zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import log2, prod
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import Codes, checked_integer, checked_records, checked_sizes, code_dtype
from deniable.errors import InvalidParameterError
from deniable.estimate import Estimate, RecordEstimate, affine_estimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.count_mean_sketch import CountMeanSketch
from deniable.mechanisms.grr import GRR
from deniable.mechanisms.subset import SubsetSelection
from deniable.mechanisms.unary import OUE
from deniable.multi._oracles import stretches
from deniable.multi._payload import as_items, packed, report_bytes, tally_payloads
from deniable.multi._sampled import SAMPLED_ROWS, sample_attributes, sampled_reports, simulate_sampling
from deniable.multi.best_oracle import Oracle, best_oracle
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, check_parts, counts_sum_to
from deniable.thresholds import checked_epsilon, exact, log_up

REMARK = (
    "the sampled attribute is visible to the collector; the choice is uniform and does not depend on the record, and "
    "neither do the oracles"
)


class AdaptiveReports(NamedTuple):
    """Reports of one sampled attribute each.

    Parameters
    ----------
    attribute : uint8, uint16 or uint32 [n]
        The sampled attribute, in 0..d-1.
    payload : uint8[n, width]
        The report of its oracle: the fields' bytes one after the other, little-endian, then zeros.
    """

    attribute: Codes
    payload: NDArray[np.uint8]


@register("SMP[ADP]", stated=("oracles",))
@dataclass(frozen=True)
class AdaptiveSMP:
    """One uniformly sampled attribute, through its own oracle with the whole budget; the collector sees which.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32].
    oracles : sequence of GRR, OUE, SubsetSelection or CountMeanSketch, optional
        Of every attribute, over its domain and with the whole epsilon. By default, and stored in the field, the oracle
        of least expected error for its size, `best_oracle`: client and server cannot choose twice.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or an oracle is not for its attribute.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.adaptive_sample import AdaptiveSMP
    >>> import numpy as np
    >>> adaptive = AdaptiveSMP(sizes=(2, 40, 5000), epsilon=1.0)
    >>> [oracle.name for oracle in adaptive.oracles]
    ['GRR', 'SubsetSelection', 'CMS']
    >>> records = np.array([[0, 39, 4999], [1, 7, 0]] * 50)
    >>> reports = adaptive.randomize(records, SimulationRandomness(1))
    >>> reports.attribute.shape, reports.payload.shape
    ((100,), (100, 11))
    >>> sum(estimate.n for estimate in adaptive.estimate(adaptive.aggregate(reports)).values())
    100
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    oracles: tuple[Oracle, ...] = ()

    name = "SMP[ADP]"
    report_type = AdaptiveReports

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "oracles", _checked_oracles(self.oracles, self.sizes, self.epsilon))

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> AdaptiveReports:
        """Contributor: draw an attribute, exactly uniformly, and report it through its oracle.

        Parameters
        ----------
        inputs : int[n, d]
            Records of true codes, column j in 0..k_j-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row and attribute.
        """
        codes = checked_records(inputs, self.sizes)
        attributes = sample_attributes(rng, len(codes), len(self.sizes))
        payload = np.empty((len(codes), self._width), dtype=np.uint8)
        items = as_items(payload)
        # Only `randomize` and `k` are asked of an oracle there.
        oracles = cast(Any, self.oracles)
        for start in range(0, len(codes), SAMPLED_ROWS):
            block = slice(start, start + SAMPLED_ROWS)
            part = items[block]
            for j, rows, reports in sampled_reports(oracles, codes[block], attributes[block], rng):
                part[rows] = as_items(packed(self.oracles[j], reports, self._width))
        return AdaptiveReports(attributes, payload)

    @cached_property
    def _width(self) -> int:
        return max(report_bytes(oracle) for oracle in self.oracles)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: tuple[ArrayLike, ArrayLike]) -> Aggregate:
        """Collector: add every report to the state of its attribute's oracle, and count the reports of each.

        Parameters
        ----------
        reports : AdaptiveReports
            As `randomize` returns them; any pair (attributes, payloads) will do.

        Raises
        ------
        InvalidReportError
            If a report cannot have come from this mechanism, naming its row and attribute.
        TooLargeError
            If the state would be too large to set up.
        """
        counts, n = tally_payloads(self.oracles, reports, self._width)
        return Aggregate(self, counts, n)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: unbiased frequencies of every attribute from its own n_j reports, by its oracle's estimator.

        Unbiased given n_j >= 1; where n_j = 0 frequencies are NaN, standard errors infinite, and there is no interval.
        Intervals for these contributors include the sampling of n_j among n.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        DamagedStateError
            If decoding a sketch finds that no reports have its state.
        """
        check_aggregate(aggregate, self)
        d = len(self.sizes)
        rows = zip(self.oracles, stretches([oracle.state_size for oracle in self.oracles]), strict=True)
        return RecordEstimate(
            {
                j: _estimate(oracle, aggregate.counts[place], int(aggregate.counts[j - d]), aggregate.n)
                for j, (oracle, place) in enumerate(rows)
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
        epsilon = float(self.epsilon)
        return local_guarantee(epsilon, self.implemented_epsilon(), (epsilon,) * len(self.sizes), (REMARK,))

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact: that of the attribute whose oracle has the largest."""
        return max(oracle.implemented_ratio() for oracle in self.oracles)

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only, exact."""
        return self.oracles[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)].implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> AdaptiveReports:
        """Every possible report once, in the order of the columns of `channel`: by attribute, then by its report."""
        parts = [packed(oracle, oracle.outputs(), self._width) for oracle in self.oracles]
        attributes = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return AdaptiveReports(attributes.astype(code_dtype(len(self.sizes))), np.concatenate(parts))

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.

        Raises
        ------
        TooLargeError
            If it, or an oracle's own channel, has more than 2^22 cells.
        """
        check_channel_size(prod(self.sizes), len(self.sizes), repr(self))
        parts = [oracle.channel(exact=True) for oracle in self.oracles]
        check_channel_size(prod(self.sizes), sum(part.shape[1] for part in parts), repr(self))
        records = np.indices(self.sizes).reshape(len(self.sizes), -1)
        joined = np.concatenate([part[held] for part, held in zip(parts, records, strict=True)], axis=1)
        matrix: NDArray[Any] = joined * Fraction(1, len(self.sizes))
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution.

        Who samples what is drawn from the joint counts; then every oracle draws its own state.

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
        sampled, n = simulate_sampling(records, counts, self.sizes, rng)
        drawn = [oracle.simulate_aggregate(held, rng) for oracle, held in zip(self.oracles, sampled, strict=True)]
        reported = np.array([part.n for part in drawn], dtype=np.int64)
        return Aggregate(self, np.concatenate([*(part.counts for part in drawn), reported]), n)

    @property
    def state_size(self) -> int:
        """The state of every oracle, then one counter per attribute for the number of its reports."""
        return sum(oracle.state_size for oracle in self.oracles) + len(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse states of attributes that are not of as many reports as these have, n in all."""
        counts, reported = counts[: -len(self.sizes)], counts[-len(self.sizes) :]
        counts_sum_to(reported, n, len(counts))
        check_parts(self.oracles, counts, reported)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """The sampled attribute, and its payload."""
        attribute = ReportField("attribute", code_dtype(len(self.sizes)).name)
        return attribute, ReportField("payload", "uint8", self._width)

    @property
    def report_bits(self) -> float:
        """Bits per report on average: log2 d for the attribute, and its oracle's."""
        return log2(len(self.sizes)) + sum(oracle.report_bits for oracle in self.oracles) / len(self.sizes)


def _checked_oracles(oracles: Sequence[Any], sizes: tuple[int, ...], epsilon: float | Fraction) -> tuple[Oracle, ...]:
    if isinstance(oracles, (str, bytes)) or not isinstance(oracles, Sequence):
        raise InvalidParameterError(f"oracles must be a sequence of frequency oracles, got oracles={oracles!r}")
    if not len(oracles):
        chosen = {size: best_oracle(size, epsilon) for size in set(sizes)}
        return tuple(chosen[size] for size in sizes)
    if len(oracles) != len(sizes):
        raise InvalidParameterError(f"oracles must be one per attribute ({len(sizes)}), got {len(oracles)}")
    for j, (oracle, size) in enumerate(zip(oracles, sizes, strict=True)):
        if not isinstance(oracle, (GRR, OUE, SubsetSelection, CountMeanSketch)):
            raise InvalidParameterError(
                f"oracles[{j}] must be GRR, OUE, SubsetSelection or CountMeanSketch, got {oracle!r}"
            )
        if oracle.k != size or exact(oracle.epsilon) != exact(epsilon):
            raise InvalidParameterError(f"oracles[{j}] must have k={size} and epsilon={epsilon}, got {oracle!r}")
    return tuple(oracles)


def _estimate(oracle: Oracle, counts: NDArray[Any], n: int, contributors: int) -> Estimate:
    if n == 0:
        p, q = map(float, oracle.support_probabilities)
        return affine_estimate(np.zeros(oracle.k), 0, p, q, contributors)
    return replace(oracle.estimate(Aggregate(oracle, counts, n)), contributors=contributors)
