"""Corr-RR, phase two: one privatised pivot, and copies of it.

Corr-RR is from Seeam, Zheng, Hu, *Frequency estimation of correlated multi-attribute data under local differential
privacy* (PoPETs). It has two phases. In the first phase, some of the contributors report through `SPL`. The collector
learns a matrix P of copy probabilities from the resulting frequencies and publishes it. In the second phase, every
contributor draws one attribute, the *pivot*, and reports it through GRR with the whole budget. Every other attribute is
reported as a copy of *the report of the pivot*. With probability P[target, pivot], the copy has the same code.
Otherwise, the copy is a uniformly drawn other code.

The module `copy_probabilities` explains errata of the paper. Section 3.3.1 of the paper claims an amplification of
privacy, but there is none for whole records. For two records that may differ in every attribute, the largest likelihood
ratio of a report is e^epsilon, whatever P is. For two records that differ in one attribute only, the ratio may be
smaller. The library shows the smaller ratio of each attribute, but it never uses this ratio to add less noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import settle
from deniable.core.estimate import RecordEstimate
from deniable.core.thresholds import exact
from deniable.records.layout import grr_oracles
from deniable.records.phases.two_phase import phase_one_marginals
from deniable.records.pivot.alignment import Alignment, check_table_size, checked_alignment, copy_law
from deniable.records.pivot.copy_probabilities import (
    checked_copy_probabilities,
    joint_copy_probabilities as joint_copy_probabilities,
    learn_copy_probabilities,
    pairwise_copy_probabilities as pairwise_copy_probabilities,
)
from deniable.records.pivot.pivot_law import CopyLaw, PivotLaw, TableLaw, alone
from deniable.records.pivot.pivot_records import OnePivot
from deniable.records.split import SPL

REMARKS = (
    "P is public and costs nothing here; the contributors of phase one, from whose reports it was learned, spent their "
    "own budget",
    "per attribute: between records that differ in that attribute only; no larger budget may be spent for its sake",
    "the pivot is not sent, but copies may show which attribute it was; copy probabilities of 0 and 1 can for certain",
)


@final
@dataclass(frozen=True)
class CorrRR(OnePivot):
    """Each contributor reports one random attribute through GRR, and noisy copies of this report for all others.

    The random attribute is drawn uniformly and is called the *pivot*. GRR spends the whole budget on the pivot. For
    every other attribute, the device repeats the reported code with a public probability, and reports another code
    otherwise.

    If all attributes have the same number of possible answers, the method `estimate` uses the estimator of the paper,
    which is biased. The copies pull the estimated frequencies of every attribute towards the frequencies of the other
    attributes. If the numbers differ, or if `alignment` is given, `estimate` uses the estimator `unmixed`. It is
    unbiased for every frequency that the reports determine.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. In the paper all sizes are
        equal. If the sizes differ, public maps translate the codes of one attribute into codes of another attribute
        (see `alignment`). At most 2^18 pairs of codes of different attributes are then allowed.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. The pivot spends the whole budget.
    copy_probabilities : float[d, d]
        Matrix P of the probabilities that a target attribute (row) copies the report of the pivot (column). The
        diagonal entries are one. The class method `learn` computes such a matrix from the reports of the first phase.
        Its argument n2 is the expected number of contributors in the second phase. The guarantee epsilon holds for any
        probabilities.
    alignment : sequence of (larger, smaller, map), optional
        Public maps between the codes of pairs of attributes. Without a map, each code of the attribute with fewer codes
        is matched with consecutive codes of the other attribute. See `deniable.records.pivot.alignment`.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or domains that differ are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.pivot.corr_rr import CorrRR
    >>> import numpy as np
    >>> rng = SimulationRandomness(1)
    >>> spl = CorrRR.phase_one(sizes=(3, 3), epsilon=2.0)
    >>> first = spl.aggregate(spl.randomize(np.tile([[0, 0], [0, 1], [2, 2]], (100, 1)), rng))
    >>> corr_rr = CorrRR.learn(first, n2=900)
    >>> second = corr_rr.aggregate(corr_rr.randomize(np.tile([[0, 0], [0, 1], [2, 2]], (300, 1)), rng))
    >>> [estimate.k for estimate in corr_rr.estimate(second).values()]
    [3, 3]
    """

    copy_probabilities: tuple[tuple[float | Fraction, ...], ...]
    alignment: Alignment = ()

    first = SPL
    estimators = ("debiased", "unmixed")
    remarks = REMARKS
    biased = "Corr-RR (biased: copies pull every attribute towards the others)"
    singular = "Corr-RR unmixed (biased: copies leave some difference between attributes undetermined)"
    name = "Corr-RR"
    card = Card(
        group="two phases",
        when="for several attributes whose answers depend on each other, if reports must be full records and "
        "contributors come in two phases",
        alternative=True,
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        checked = checked_copy_probabilities(self.copy_probabilities, len(self.sizes))
        settle(self, copy_probabilities=checked, alignment=checked_alignment(self.alignment, self.sizes))
        check_table_size(self.sizes, self.alignment)
        self.law  # noqa: B018  refuses what GRR refuses

    @classmethod
    def learn(
        cls,
        aggregate: Aggregate,
        n2: int,
        method: str = "pairwise",
        *,
        rule: str = "popets",
        as_printed: bool = False,
        alignment: Sequence[Any] = (),
    ) -> CorrRR:
        """Collector: learn P from phase one and return the mechanism of phase two; a pure function.

        Parameters
        ----------
        aggregate : Aggregate
            Aggregate of phase one, from `SPL` or another record mechanism with unbiased estimates.
        n2 : int
            Expected number of contributors in phase two, >= 2.
        method : {"pairwise", "joint"}
            Method for computing P; see `deniable.records.pivot.copy_probabilities`.
        rule : {"popets", "preprint"}
            Version of the paper whose objective the pairwise method minimises. Use "preprint" only for comparisons.
        as_printed : bool
            True to exchange target and pivot as the printed Algorithm 1 does by mistake, for comparisons.
        alignment : sequence of (larger, smaller, map)
            Maps between domains of different size.

        Returns
        -------
        CorrRR
            Mechanism with the sizes and the epsilon of phase one. For a given P, construct `CorrRR` directly.

        Raises
        ------
        InvalidParameterError
            If n2, the method, the rule or the alignment is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is not from a record mechanism, or has no reports about some attribute.
        """
        first, marginals = phase_one_marginals(aggregate)
        found = learn_copy_probabilities(marginals, n2, method, rule=rule, as_printed=as_printed, alignment=alignment)
        return cls(first.sizes, first.epsilon, tuple(map(tuple, found.tolist())), tuple(alignment))

    @cached_property
    def law(self) -> PivotLaw:
        """Rule for the other attributes: copies if all domains have the same size, otherwise tables."""
        oracles, d = grr_oracles(self.sizes, self.epsilon), len(self.sizes)
        if len(set(self.sizes)) == 1 and not self.alignment:
            return CopyLaw(oracles, alone(d), self.copy_probabilities)
        tables = [
            [
                () if s == j else copy_law(exact(self.copy_probabilities[j][s]), self.sizes, self.alignment, s, j)
                for j in range(d)
            ]
            for s in range(d)
        ]
        return TableLaw(oracles, alone(d), tables)

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return `debiased` if all domains have the same size, as in the papers, and otherwise `unmixed`."""
        return self.unmixed(aggregate) if self.law.gains is None else self.debiased(aggregate)
