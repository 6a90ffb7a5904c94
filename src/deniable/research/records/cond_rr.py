"""Cond-RR: one pivot is randomised, and the other attributes are drawn from learned conditional distributions.

Cond-RR is from the paper on Corr-RR, section 3.3.6: Seeam, Zheng, Hu, *Frequency estimation of correlated
multi-attribute data under local differential privacy* (PoPETs). It has two phases. In the first phase, some of the
contributors report all attributes through SPL. For each pair of attributes, the collector counts the pairs of reported
codes (`SPLPairs`). From these counts the collector learns conditional distributions, and publishes them as tables. We
write P(X_j | X_s) for the distribution of the answers to attribute j, given the answer to attribute s.

In the second phase, every contributor draws the pivot s uniformly from the attributes. The device reports y_s, which is
the pivot's code after GRR with the whole budget. For every other attribute j it reports a code drawn from P(X_j | X_s =
y_s). This draw is post-processing of y_s, whatever the tables are. Attributes may have different numbers of possible
answers.

The paper gives no estimator. This class offers two biased estimators and an unbiased estimator:

* `debiased` is the estimator of Corr-RR: (count/n - q)/(p - q). Here count is the number of reports of a code. GRR
  reports the true code with probability p, and every particular other code with probability q.
* `levelled` subtracts the expected effect of lies. With probability k q, GRR over k codes reports a uniform code, and
  otherwise it reports the true code. If the reported code of the pivot is uniform, the tables determine the
  distribution of the codes of every other attribute. The tables are public, so the collector knows this part of the
  counts and subtracts it. The formula is below.
* `unmixed` solves the linear system that the tables define. This estimator is unbiased, whatever the tables are.

The formula of `levelled` for attribute j is

    f^_j = (count_j/n - 1/d sum_s k_s q_s W_sj' u_s)/mean(p - q)

The sum runs over the pivots s. W_sj is the table of attribute j for pivot s, and W_sj' is its transpose. The vector u_s
is the uniform distribution over the k_s codes of s, and q_s is the q of attribute s. The divisor mean(p - q) is the
mean of p - q over all attributes. The estimate of `levelled` is unbiased if the tables are the population's own. This
means that W_sj' f_s = f_j for the true frequencies f_s and f_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import checked_integer, settle
from deniable.core.estimate import RecordEstimate
from deniable.records.layout import grr_oracles
from deniable.records.pivot.pivot_law import Table, TableLaw, Tables, alone, checked_tables
from deniable.records.pivot.pivot_records import OnePivot
from deniable.records.split import SPLPairs
from deniable.research.records.joint_tables import PairTables, pair_tables
from deniable.research.records.two_pivot_tables import check_table_cells

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
    """Each contributor reports one random attribute through GRR, and draws the other codes from public tables.

    The random attribute is called the *pivot*, and GRR spends the whole budget on the pivot. For every other attribute,
    the device draws a code from a public table. The distribution in the table depends on the reported code of the
    pivot.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. The sizes may differ. All
        tables together have at most 2^18 entries.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. The pivot spends the whole budget.
    conditionals : sequence of d sequences of d tables
        The entry conditionals[s][j][y] is the distribution of attribute j if the pivot is s and its reported code is y.
        Each distribution must sum to 1 within 1e-9. The entries conditionals[s][s] are empty. The class method `learn`
        makes such tables from the reports of the first phase. The argument n2 of `learn` is the expected number of
        contributors in the second phase. The guarantee epsilon holds for any distributions.

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
        when="only for comparison with Corr-RR; Cond-RR draws the codes of all attributes except one from learned "
        "conditional distributions",
        planned=False,
        instead="the error of Cond-RR depends on tables that are learned in a first phase, so no formula gives the "
        "error in advance; the error tables of Corr-RR and SMP[GRR] give a rough idea of the error; we have seen no "
        "case in which Cond-RR had a smaller error than SMP[GRR]",
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        check_table_cells(sum(self.sizes) ** 2 - sum(size**2 for size in self.sizes))
        checked = checked_tables("conditionals", self.conditionals, self.sizes, alone(len(self.sizes)))
        settle(self, conditionals=checked)

    @classmethod
    def learn(cls, aggregate: Aggregate, n2: int) -> CondRR:
        """Collector: learn the conditional distributions from phase one; a pure function.

        The unbiased table of every pair is projected onto the simplex and divided by its row sums. If a row sum is
        zero, the projected frequencies of the target replace the row. The tables do not depend on n2, which must be at
        least 1.
        """
        checked_integer("n2", n2, 1)
        tables = pair_tables(aggregate)
        return cls(tables.sizes, aggregate.mechanism.epsilon, learned_conditionals(tables))

    @cached_property
    def law(self) -> TableLaw:
        """Rule for the other attributes: the tables of `conditionals`."""
        return TableLaw(grr_oracles(self.sizes, self.epsilon), alone(len(self.sizes)), self.conditionals)

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return `unmixed`: unbiased, with intervals for every attribute that the counts determine."""
        return self.unmixed(aggregate)

    def levelled(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return a corrected estimate that trusts the tables; biased if they are wrong, without intervals.

        Its noise is small, because it uses all n reports for every attribute. GRR replaces the pivot's code by a
        uniform code with a known probability. From each count, the method subtracts the expected number of reports that
        come from such uniform codes, through the tables.
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
    """Analyst: return P(X_j | X_s) of every ordered pair from projected tables.

    The result is indexed by [s][j][code of s][code of j]. The entries [s][s] are empty.
    """
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
