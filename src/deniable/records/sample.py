"""SMP: sample one attribute and report it with the whole budget; SMP[ADP] chooses the oracle by its size.

Every contributor draws one of the d attributes uniformly, and reports the answer through the attribute's frequency
oracle with the whole epsilon. The report also names the attribute. Splitting the budget over all attributes (`SPL`) is
rarely better than sampling one attribute. The reason is that n/d reports at epsilon usually carry more information than
n reports at epsilon/d.

`SMP` uses the same oracle for every attribute. `AdaptiveSMP` uses for each attribute the oracle with the least expected
error for its size. For example, it may use GRR for a small domain, subset selection for a medium domain, and a sketch
for a dictionary. The literature calls this mechanism SMP[ADP] (Arcolezi, Couchot, Al Bouna, Xiao, *Random sampling plus
fake data*, 2021). The published mechanism chooses between GRR and OUE. `AdaptiveSMP` chooses among the oracles that the
function `best_oracle` compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log2, prod
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card, Variant
from deniable.core.checks import Codes, settle
from deniable.core.randomness import Randomness
from deniable.records.layout import Oracle as PlainOracle, make_layout
from deniable.records.mixed_reports import ByteColumn, CodeColumn, Column, ColumnRecords
from deniable.records.oracle_choice import OFFERED, Oracle, checked_oracles, oracles_for
from deniable.records.sampled_attribute import SAMPLED_ROWS, OneAttribute, sample_attributes, sampled_reports


class SampledReports(NamedTuple):
    """Reports with the code of one sampled attribute each.

    Parameters
    ----------
    attribute : uint8, uint16 or uint32 [n]
        The sampled attribute, in 0..d-1.
    value : uint8, uint16 or uint32 [n]
        Reported code of this attribute, in 0..k_attribute-1.
    """

    attribute: Codes
    value: Codes


class SampledBits(NamedTuple):
    """Reports with the packed bits of one sampled attribute each.

    Parameters
    ----------
    attribute : uint8, uint16 or uint32 [n]
        The sampled attribute, in 0..d-1.
    bits : uint8[n, max of ceil(k_j/8)]
        Packed bits of this attribute, little-endian, filled up with zeros.
    """

    attribute: Codes
    bits: NDArray[np.uint8]


class AdaptiveReports(NamedTuple):
    """Reports of one sampled attribute for each contributor.

    Parameters
    ----------
    attribute : uint8, uint16 or uint32 [n]
        The sampled attribute, in 0..d-1.
    payload : uint8[n, width]
        Report of the attribute's oracle: the bytes of its fields one after the other, little-endian, filled up with
        zeros.
    """

    attribute: Codes
    payload: NDArray[np.uint8]


class SampledRecords(OneAttribute[Any], ColumnRecords[Any]):
    """A mechanism whose report is the sampled attribute and the report of the attribute's oracle."""

    drawn = "attribute"

    def _randomize(self, codes: Codes, rng: Randomness) -> Any:
        attributes = sample_attributes(rng, len(codes), len(self.sizes))
        body = self.column.empty(len(codes))
        items = self.column.items(body)
        for start in range(0, len(codes), SAMPLED_ROWS):
            block = slice(start, start + SAMPLED_ROWS)
            part = items[block]
            for j, rows, reports in sampled_reports(self.oracles, codes[block], attributes[block], rng):
                part[rows] = self.column.rows(j, reports)
        return self.report_type(attributes, body)

    def reported_attribute(self, reports: Any) -> NDArray[np.int64]:
        return self.column.attributes(reports).astype(np.int64)

    def about(self, reports: Any, attribute: int) -> Any:
        return self.column.reports(attribute, np.asarray(reports[1])[np.asarray(reports[0]) == attribute])

    def _parts(self, counts: NDArray[Any]) -> list[tuple[NDArray[Any], int]]:
        return self.column.parts(counts)

    def _state(self, parts: Sequence[Aggregate]) -> NDArray[np.int64]:
        return self.column.joined(parts)

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), len(self.sizes))
        parts = [oracle.channel(exact=True) for oracle in self.oracles]
        self._check_channel(prod(self.sizes), sum(part.shape[1] for part in parts))
        records = np.indices(self.sizes).reshape(len(self.sizes), -1)
        joined = np.concatenate([part[held] for part, held in zip(parts, records, strict=True)], axis=1)
        matrix: NDArray[Any] = joined * Fraction(1, len(self.sizes))
        return matrix

    @property
    def report_bits(self) -> float:
        """Average bits per report: log2 d for the attribute, and the bits of its oracle's report."""
        return log2(len(self.sizes)) + sum(oracle.report_bits for oracle in self.oracles) / len(self.sizes)


@final
@dataclass(frozen=True)
class SMP(SampledRecords):
    """Each contributor reports one uniformly sampled attribute through a frequency oracle with the whole budget.

    The collector sees which attribute was sampled.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. The sizes may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32.
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

    oracle: str = "GRR"

    remarks = (
        "the collector sees which attribute was sampled; the choice is uniform and does not depend on the record",
    )
    name = "SMP"
    card = Card(
        group="records",
        when="for several attributes with similar numbers of possible answers, if the collector may see which "
        "attribute was sampled",
        recommended=True,
        wire="the sampled attribute and its randomised answer: a code (GRR) or one bit per possible answer (OUE)",
        note="the collector sees which attribute was sampled",
        variants=(
            Variant("SMP[GRR]", (("oracle", "GRR"),), recommended=True),
            Variant("SMP[OUE]", (("oracle", "OUE"),)),
        ),
    )

    def _check_parameters(self) -> None:
        self.oracles  # noqa: B018  refuses what an oracle refuses

    @property
    def report_type(self) -> type[SampledReports] | type[SampledBits]:
        """`SampledReports` or `SampledBits`."""
        return SampledReports if self.oracle == "GRR" else SampledBits

    @cached_property
    def oracles(self) -> tuple[PlainOracle, ...]:
        """The frequency oracle of each attribute, with the whole epsilon."""
        return make_layout(self.oracle, self.sizes, self.epsilon).oracles

    @property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute: a report supports the true value with p, and any other value with q."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    @cached_property
    def column(self) -> Column:
        """Column of codes or of packed bits."""
        return CodeColumn(self.oracles) if self.oracle == "GRR" else ByteColumn(self.oracles, "bits")


@final
@dataclass(frozen=True)
class AdaptiveSMP(SampledRecords):
    """Each contributor reports one uniformly sampled attribute through the attribute's oracle with the whole budget.

    The collector sees which attribute was sampled.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. The sizes may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32.
    oracles : sequence of GRR, OUE, SubsetSelection, CountMeanSketch or SquareWave, optional
        One oracle for each attribute. Each oracle must have the size of its attribute and the whole epsilon. By
        default, `best_oracle` chooses the oracle with the least expected error for the attribute's size. The object and
        its specification state the sequence in `oracles`, so that client and server use the same oracles. To estimate
        means or quantiles of ordered attributes, make the sequence with `oracles_for(sizes, epsilon, means=...)`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or an oracle is not for its attribute.

    Examples
    --------
    >>> from deniable import AdaptiveSMP, SimulationRandomness
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

    oracles: tuple[Oracle, ...] = ()

    report_type = AdaptiveReports
    remarks = (
        "the sampled attribute is visible to the collector; the choice is uniform and does not depend on the record, "
        "and neither do the oracles",
    )
    name = "SMP[ADP]"
    stated = ("oracles",)
    card = Card(
        group="records",
        when="for several attributes with any numbers of possible answers, if the collector may see which "
        "attribute was sampled",
        recommended=True,
        wire="the sampled attribute and the report of its oracle",
        note="the collector sees which attribute was sampled; each attribute has the oracle with the "
        "least error for its size",
    )

    def _check_parameters(self) -> None:
        given = checked_oracles(self.oracles, self.sizes, self.epsilon, OFFERED)
        settle(self, oracles=given or oracles_for(self.sizes, self.epsilon))

    @cached_property
    def column(self) -> Column:
        """Column of bytes."""
        return ByteColumn(self.oracles, "payload")
