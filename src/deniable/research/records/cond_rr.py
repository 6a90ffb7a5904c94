"""Cond-RR: one privatised pivot, and the other attributes drawn from their learned conditional distributions.

Seeam, Zheng, Hu (Corr-RR), 3.3.6. Phase one is SPL on some of the contributors, counted by pairs (`SPLPairs`); from its
pair tables the collector learns P(X_j | X_s) and publishes it. Every contributor of phase two draws a pivot s
uniformly, reports y_s = GRR(x_s) with the whole budget, and of every other attribute a code drawn from
P(X_j | X_s = y_s): post-processing, whatever the tables are. Domains may differ.

The paper prints no estimator. Two biased ones and an unbiased one are offered:

* `debiased`, that of Corr-RR: (count/n - q)/(p - q);
* `levelled`: a pivot's lies are uniform codes, and what the tables make of those is known. Taken out,

      f^_j = (count_j/n - 1/d sum_s k_s q_s W_sj' u_s)/mean(p - q),      u_s uniform, W the tables;

  exact if the tables are the population's own, W_sj' f_s = f_j;
* `unmixed`: the solution of the linear system that the tables define; unbiased, whatever they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import checked_integer
from deniable.core.estimate import RecordEstimate
from deniable.records.dependence.pair_tables import PairTables, pair_tables
from deniable.records.layout import grr_oracles
from deniable.records.pivot.pivot_law import Table, TableLaw, Tables, alone, check_table_cells, checked_tables
from deniable.records.pivot.pivot_records import OnePivot
from deniable.records.split import SPLPairs

LEVELLED = "Cond-RR levelled (biased unless the conditional distributions are the population's own)"

REMARKS = (
    "the conditional distributions are public and cost nothing here; the contributors of phase one, from whose reports "
    "they were learned, spent their own budget",
    "per attribute: between records that differ in that attribute only; no larger budget may be spent for its sake",
    "the pivot is not sent, but drawn codes may show which attribute it was",
)


@final
@dataclass(frozen=True)
class CondRR(OnePivot):
    """Each contributor reports one uniformly drawn pivot by GRR with the whole budget.

    All other attributes are drawn from tables, given the pivot's report.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ. The tables have at most 2^18 cells.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32], spent on the pivot.
    conditionals : sequence of d sequences of d tables
        conditionals[s][j][y] is the distribution of target j given pivot s reported as y; each sums to 1 within 1e-9.
        conditionals[s][s] is empty. `learn` makes such tables; epsilon holds for any distributions.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or the tables are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.records.cond_rr import CondRR
    >>> import numpy as np
    >>> rng, records = SimulationRandomness(1), np.tile([[0, 0], [0, 1], [1, 2]], (100, 1))
    >>> pairs = CondRR.phase_one(sizes=(2, 3), epsilon=4.0)
    >>> first = pairs.aggregate(pairs.randomize(records, rng))
    >>> cond_rr = CondRR.learn(first, n2=300)
    >>> [[round(share, 2) for share in row] for row in cond_rr.conditionals[0][1]]
    [[0.48, 0.52, 0.0], [0.0, 0.0, 1.0]]
    >>> estimates = cond_rr.estimate(cond_rr.aggregate(cond_rr.randomize(records, rng)))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 3]
    """

    conditionals: Tables

    first = SPLPairs
    estimators = ("debiased", "unmixed", "levelled")
    remarks = REMARKS
    biased = "Cond-RR (biased: drawn codes are counted as if they were the attribute's own)"
    singular = "Cond-RR unmixed (biased: the tables leave some difference between attributes undetermined)"
    name = "Cond-RR"
    card = Card(
        group="two phases",
        when="to compare with Corr-RR; it draws all attributes but one from learned conditional distributions",
        planned=False,
        instead="the error of Cond-RR has no formula until phase one has been collected; for an idea of its size see "
        "Corr-RR and SMP[GRR]; Cond-RR has not been seen to beat SMP[GRR]",
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        check_table_cells(sum(self.sizes) ** 2 - sum(size**2 for size in self.sizes))
        checked = checked_tables("conditionals", self.conditionals, self.sizes, alone(len(self.sizes)))
        object.__setattr__(self, "conditionals", checked)

    @classmethod
    def learn(cls, aggregate: Aggregate, n2: int) -> CondRR:
        """Collector: learn the conditional distributions from phase one; a pure function.

        Every pair's unbiased table is projected onto the simplex and divided by its row sums. Where a row sum is zero,
        the target's projected frequencies stand in. The tables do not depend on n2, which must be >= 1.
        """
        checked_integer("n2", n2, 1)
        tables = pair_tables(aggregate)
        return cls(tables.sizes, aggregate.mechanism.epsilon, learned_conditionals(tables))

    @cached_property
    def law(self) -> TableLaw:
        """The tables."""
        return TableLaw(grr_oracles(self.sizes, self.epsilon), alone(len(self.sizes)), self.conditionals)

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: `unmixed`, unbiased and with intervals for every attribute that the counts determine."""
        return self.unmixed(aggregate)

    def levelled(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: counts less what the tables make of uniform lies; biased unless the tables are true, no intervals.

        It keeps all n reports of every attribute, which is why its noise is small, and trusts the tables for that.
        """
        self.check(aggregate)
        gain = float(np.mean([float(p - q) for p, q in self.support_probabilities]))
        pairs = [(level + gain, level) for level in self._levels]
        steps = (LEVELLED,) if len(self.sizes) > 1 else ()
        return self._affine(aggregate.counts, aggregate.n, pairs, *steps)

    @cached_property
    def _levels(self) -> list[NDArray[np.float64]]:
        """Share of the reports of every code that comes from lies, float64[k_j]."""
        d = len(self.sizes)
        lies = [float(q) for _, q in self.support_probabilities]
        transfers = self.law.float_laws
        return [np.sum([lie * transfers[s][j].sum(axis=0) for s, lie in enumerate(lies)], axis=0) / d for j in range(d)]


def learned_conditionals(tables: PairTables) -> Tables:
    """Analyst: P(X_j | X_s) of every ordered pair from projected tables: [s][j][code of s][code of j]; [s][s] empty."""
    d = len(tables.sizes)
    found: list[list[Table]] = [[()] * d for _ in range(d)]
    for (i, j), table in tables.items():
        joint = table.projected.frequencies
        found[i][j], found[j][i] = _conditional(joint), _conditional(joint.T)
    return tuple(map(tuple, found))


def _conditional(joint: NDArray[np.float64]) -> Table:
    given = joint.sum(axis=1, keepdims=True)
    rows = np.where(given > 0, joint / np.where(given > 0, given, 1.0), joint.sum(axis=0))
    rows /= rows.sum(axis=1, keepdims=True)
    return tuple(map(tuple, rows.tolist()))
