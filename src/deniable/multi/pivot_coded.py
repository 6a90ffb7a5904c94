"""The pivot code: one attribute with the whole budget, inside a message that is a full record.

Where a client must send a code for every attribute, as with `SPL` and Corr-RR, it can still report one attribute only:
the others are filled so that the collector can tell which one is true. Corr-RR's copies are drawn from the pivot's
report by a public law, so revealing the pivot costs no privacy; what is given up is that it stays hidden, which is a
policy and no part of local differential privacy. What is gained is that nothing is mixed: every estimate is unbiased,
with the variance of `SMP` over GRR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.aggregate import Aggregate
from deniable.card import Card
from deniable.checks import Codes, check_counters, checked_report_records
from deniable.errors import InvalidReportError
from deniable.mechanisms.grr import GRR
from deniable.multi._pivot_code import code_weights, decoded_pivots, randomize_coded, tally_coded
from deniable.multi.layout import CodeLayout, grr_oracles, starts_of, stretches
from deniable.multi.pivot_law import every_report
from deniable.multi.record import FullRecords
from deniable.multi.sampled_attribute import OneAttribute
from deniable.randomness import Randomness
from deniable.spec import register
from deniable.state import Counts, counts_sum_to


@final
@register("PivotCoded")
@dataclass(frozen=True)
class PivotCoded(OneAttribute[NDArray[Any]], FullRecords):
    """One uniformly sampled attribute by GRR with the whole budget, in the format of a full record.

    The collector reads off the record which attribute was sampled: the only s >= 1 whose code equals attribute 0's, and
    attribute 0 if there is none. Over domains that differ, codes are compared through public maps onto the smallest
    domain (contiguous groups of nearly equal size); any sizes have such a code.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32].

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.pivot_coded import PivotCoded
    >>> import numpy as np
    >>> coded = PivotCoded(sizes=(4, 4, 4), epsilon=1.0)
    >>> reports = coded.randomize(np.array([[0, 3, 1]] * 4), SimulationRandomness(1))
    >>> reports.dtype, coded.reported_attribute(reports).shape
    (dtype('uint8'), (4,))
    >>> coded.reported_attribute(np.array([[2, 2, 0], [2, 1, 2], [2, 0, 1]]))
    array([1, 2, 0])
    """

    remarks = (
        "the sampled attribute is visible to the collector: the record tells which one it is; the choice is uniform "
        "and does not depend on the record",
        "the codes of all other attributes are made up from the sampled one's noisy report and tell nothing else",
    )
    card = Card(
        shelf="records",
        when="one sampled attribute where clients must send a code of every attribute",
        wire="a code of every attribute",
        note="one sampled attribute, in the format of a full record; the collector sees which",
    )

    def _check_parameters(self) -> None:
        self.layout  # noqa: B018  refuses what GRR refuses

    @cached_property
    def layout(self) -> CodeLayout:
        """A column of codes per attribute."""
        return CodeLayout(grr_oracles(self.sizes, self.epsilon))

    @property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute, with the whole epsilon."""
        return self.layout.oracles

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        reports = self.layout.empty(len(codes))
        randomize_coded(self.oracles, codes, rng, reports)
        return reports

    # ---------------------------------------------------------------- collector

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        codes = checked_report_records(reports, self.sizes)
        check_counters(sum(self.sizes))
        counts = np.zeros(sum(self.sizes), dtype=np.int64)
        wrong = tally_coded(codes, np.array(self.sizes, dtype=np.uint64), starts_of(self.sizes), counts)
        if wrong >= 0:
            raise self._ambiguous(codes[wrong].tolist(), wrong + 1)
        return counts, len(codes)

    def reported_attribute(self, reports: Any) -> NDArray[np.int64]:
        codes = checked_report_records(reports, self.sizes).astype(np.int64)
        found = decoded_pivots(self.sizes, codes)
        if (found < 0).any():
            row = int((found < 0).argmax())
            raise self._ambiguous(codes[row].tolist(), row + 1)
        return found

    def about(self, reports: Any, attribute: int) -> NDArray[Any]:
        return self.layout.part(np.asarray(reports), attribute)[self.reported_attribute(reports) == attribute]

    def _ambiguous(self, report: list[int], row: int) -> InvalidReportError:
        groups = [code * min(self.sizes) // size for code, size in zip(report, self.sizes, strict=True)]
        claimed = [j for j, group in enumerate(groups) if j and group == groups[0]]
        return InvalidReportError(
            f"a report must be of one sampled attribute, got one of attributes {' and '.join(map(str, claimed))} "
            f"in row {row}"
        )

    def _numbers(self, counts: NDArray[Any]) -> list[int]:
        return [int(counts[place].sum()) for place in stretches(self.sizes)]

    def _state(self, parts: Sequence[Aggregate]) -> NDArray[np.int64]:
        return np.concatenate([part.counts for part in parts])

    @property
    def state_size(self) -> int:
        """One counter per value of every attribute; those of an attribute sum to the number of its reports."""
        return sum(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        counts_sum_to(counts, n)

    # ---------------------------------------------------------------- exact law

    def outputs(self) -> NDArray[Any]:
        return self._outputs()[0].astype(self.layout.field.dtype)

    def _outputs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return every possible report, and the pivot that it tells."""
        self._check_channel(1, prod(self.sizes))
        reports = every_report(self.sizes)
        pivots = decoded_pivots(self.sizes, reports)
        return reports[pivots >= 0], pivots[pivots >= 0]

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), prod(self.sizes))
        reports, pivots = self._outputs()
        records, told = every_report(self.sizes), np.arange(len(reports))
        weights = np.array(code_weights(self.sizes, pivots, reports), dtype=object) * Fraction(1, len(self.sizes))
        present, absent = (
            np.array([pair[i] for pair in self.support_probabilities], dtype=object)[pivots] * weights for i in (0, 1)
        )
        held = records[:, pivots] == reports[told, pivots]
        matrix: NDArray[Any] = np.where(held, present, absent)
        return matrix
