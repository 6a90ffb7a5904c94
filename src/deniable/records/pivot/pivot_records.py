"""Base classes of mechanisms in which one or two privatised pivots per contributor decide the whole report."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes
from deniable.core.estimate import RecordEstimate
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.oracles.grr import GRR
from deniable.records.layout import CodeLayout
from deniable.records.phases.second_phase import SecondPhase
from deniable.records.pivot.pivot_law import PivotLaw
from deniable.records.record import CountedRecords, HiddenRecords, SimulatedByRecord


class PivotRecords(SecondPhase[NDArray[Any]], HiddenRecords, SimulatedByRecord[NDArray[Any]]):
    """Base class for uniformly drawn pivots through GRR, and other codes drawn from their reports by a public rule.

    Reports are codes, uint8, uint16 or uint32 [n, d], in the dtype of the largest domain.

    Attributes
    ----------
    biased : str
        Note that `debiased` adds to its estimate if there are attributes besides the pivots.
    singular : str
        Note that `unmixed` adds to its estimate if the counts do not determine an attribute's frequencies.
    """

    reveals = "copies"
    untold = "one report mixes several attributes; fit the reports of phase one"
    biased: ClassVar[str]
    singular: ClassVar[str]

    @property
    @abstractmethod
    def law(self) -> PivotLaw:
        """Draws of pivots and targets, with their exact probabilities."""

    @property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR oracle of each attribute as a pivot."""
        return self.law.oracles

    @cached_property
    def layout(self) -> CodeLayout:
        """Layout of reports, with one column of codes per attribute."""
        return CodeLayout(self.oracles)

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        return self.law.randomize(codes, rng)

    # ---------------------------------------------------------------- analyst

    @property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute as a pivot."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def debiased(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return the papers' f^ = (count/n - q)/(p - q), as if every code were a GRR report of its attribute.

        The estimate is biased if there are attributes besides the pivots (see `corr_rr_error`). It then has no standard
        errors and no intervals.
        """
        self.check(aggregate)
        steps = (self.biased,) if len(self.sizes) > len(self.law.pivots[0]) else ()
        return self._affine(self.support_counts(aggregate.counts), aggregate.n, self.support_probabilities, *steps)

    @abstractmethod
    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return frequencies that solve the linear system of expected counts, which accounts for the copies.

        For every attribute whose frequencies the counts determine, the estimate is unbiased and has intervals. Nearly
        undetermined frequencies have large standard errors. For other attributes, the estimate is the solution of least
        norm. It is biased, and gives the reason.

        Raises
        ------
        TooLargeError
            If the system is too large to be solved.
        """

    # ---------------------------------------------------------------- exact distribution

    def implemented_ratio(self) -> Fraction:
        """Return the largest likelihood ratio of two records, or an upper bound; see `PivotLaw.whole_record_ratio`."""
        return self.law.whole_record_ratio()

    def _attribute_ratio(self, attribute: int) -> Fraction:
        return self.law.attribute_ratio(attribute)

    def outputs(self) -> NDArray[Any]:
        self._check_channel(1, prod(self.sizes))
        return self.law.possible[0].astype(self.layout.field.dtype)

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), prod(self.sizes))
        return self.law.channel()


class OnePivot(PivotRecords, CountedRecords):
    """Base class for one pivot with the whole budget, whose reports are counted by attribute."""

    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        self.check(aggregate)
        return self.law.induced.estimate(aggregate.counts, aggregate.n, self.singular)

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        return self.law.simulate(records, held, rng)
