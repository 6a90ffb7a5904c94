"""Corr-RR with two pivots, on both of which the drawn codes of the other attributes depend.

The mechanism is from the paper on Corr-RR, section 3.3.5: Seeam, Zheng, Hu, *Frequency estimation of correlated
multi-attribute data under local differential privacy* (PoPETs). It has two phases. In the first phase, contributors
report all attributes through SPL. For each pair of attributes, the collector counts the pairs of reported codes
(`SPLPairs`). In the second phase, every contributor draws two pivots s < t, uniformly among the pairs of attributes.
The device reports each pivot through GRR with epsilon/2. For every other attribute j it reports a code drawn from the
published table Pr(y_j | y_s, y_t). This draw is post-processing of y_s and y_t, whatever the tables are. Attributes may
have different numbers of possible answers.

The collector counts *pairs* of reported codes. The expected counts are linear functions of the true joint frequencies
of pairs. There are as many equations as unknown frequencies. The method `unmixed` solves these equations, and the
method `joint` returns the estimated joint frequencies. Corr-RR has only one pivot. Its reports therefore show no
dependence between attributes, however many reports there are. The second pivot makes the dependence visible. The cost
is that each pivot has only half of the budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, code_dtype, settle
from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.core.projection import nearest_distribution
from deniable.core.randomness import SimulationRandomness
from deniable.errors import TooLargeError
from deniable.oracles.grr import GRR
from deniable.records.layout import checked_share, grr_oracles, stretches
from deniable.records.pairs import Pair, PairedRecords, attribute_pairs, branch, check_pairs, pair_cells, tally_pairs
from deniable.records.pivot.induced_channel import DAMPED
from deniable.records.pivot.pivot_law import MAX_REPORTS, TableLaw, Tables, checked_tables, every_report
from deniable.records.pivot.pivot_records import PivotRecords
from deniable.records.split import SPLPairs
from deniable.research.records.joint_tables import pair_tables
from deniable.research.records.two_pivot_tables import check_table_cells, learn_two_pivot_tables

REMARKS = (
    "the tables are public and cost nothing here; the contributors of phase one, from whose reports they were learned, "
    "spent their own budget",
    "per attribute: between records that differ in that attribute only; no larger budget may be spent for its sake",
    "the pivots are not sent, but drawn codes may show which attributes they were",
)


@final
@dataclass(frozen=True)
class TwoPivotRR(PivotRecords, PairedRecords):
    """Each contributor reports two random attributes through GRR, and draws the other codes from public tables.

    The two random attributes are called *pivots*, and GRR spends half the budget on each pivot. For every other
    attribute, the device draws a code from a public table. The distribution in the table depends on the reported codes
    of the two pivots.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, with d at least 2 and each k_j from 2 to 2^32.
        The sizes may differ. All tables together have at most 2^18 entries.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 2e-6 to 32. Each pivot spends the exact fraction epsilon/2.
    tables : sequence of d(d-1)/2 sequences of d tables
        There is one table, tables[pair][j], for each pair of pivots and each attribute j. The order of the pairs (s, t)
        is (0, 1), (0, 2), ..., (d-2, d-1). A table has one row for each pair of reported codes. If the pivots s and t
        report the codes y_s and y_t, the distribution of attribute j is row y_s k_t + y_t of the table. Each
        distribution must sum to 1 within 1e-9. If attribute j is itself a pivot of the pair, its table is empty. The
        class method `learn` makes such tables from the reports of the first phase. Its argument n2 is the expected
        number of contributors in the second phase. The guarantee epsilon holds for any distributions.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or the tables are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.records.two_pivots import TwoPivotRR
    >>> import numpy as np
    >>> rng, records = SimulationRandomness(1), np.tile([[0, 0, 1], [1, 1, 0], [1, 1, 1]], (200, 1))
    >>> pairs = TwoPivotRR.phase_one(sizes=(2, 2, 2), epsilon=6.0)
    >>> mechanism = TwoPivotRR.learn(pairs.aggregate(pairs.randomize(records, rng)), n2=600)
    >>> aggregate = mechanism.aggregate(mechanism.randomize(records, rng))
    >>> mechanism.estimate(aggregate)[0].frequencies.round(1)
    array([0.3, 0.7])
    >>> mechanism.joint(aggregate)[0, 1].frequencies.reshape(2, 2).round(1)
    array([[0.3, 0. ],
           [0. , 0.6]])
    """

    tables: Tables

    first = SPLPairs
    estimators = ("debiased", "unmixed")
    remarks = REMARKS
    biased = "Corr-RR two pivots (biased: drawn codes are counted as if they were the attribute's own)"
    singular = "Corr-RR two pivots unmixed (biased: the tables leave some frequencies undetermined)"
    name = "Corr-RR two pivots"
    card = Card(
        group="two phases",
        when="only for comparison with Corr-RR; its reports show how two attributes depend on each other, and the "
        "reports of Corr-RR do not",
        aliases=("TwoPivotRR",),
        planned=False,
        instead="the error of Corr-RR two pivots depends on tables that are learned in a first phase, so no formula "
        "gives the error in advance; the error tables of Corr-RR and SPL[GRR] give a rough idea of the error",
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        check_pairs(self.sizes)
        checked_share(self.epsilon, 2)
        check_table_cells(table_cells(self.sizes))
        pairs = tuple(attribute_pairs(len(self.sizes)))
        settle(self, tables=checked_tables("tables", self.tables, self.sizes, pairs))

    @classmethod
    def learn(cls, aggregate: Aggregate, n2: int, method: str = "least-norm") -> TwoPivotRR:
        """Collector: learn the tables from phase one; a pure function.

        Parameters
        ----------
        aggregate : Aggregate
            Aggregate of `SPLPairs`.
        n2 : int
            Expected number of contributors in phase two, >= 2.
        method : {"least-norm", "conditional"}
            Method for computing the tables; see `deniable.research.records.two_pivot_tables`.

        Raises
        ------
        InvalidParameterError
            If n2 or the method is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is not of `SPLPairs`, or contains no reports.
        TooLargeError
            If the tables would have more than 2^18 cells.
        """
        found = pair_tables(aggregate)
        check_table_cells(table_cells(found.sizes))
        epsilon = aggregate.mechanism.epsilon
        oracles = _half_oracles(found.sizes, epsilon)
        return cls(found.sizes, epsilon, learn_two_pivot_tables(found, oracles, n2, method))

    @cached_property
    def law(self) -> TableLaw:
        """Rule for the other attributes: the tables, and GRR with epsilon/2 for each pivot."""
        oracles = _half_oracles(self.sizes, self.epsilon)
        return TableLaw(oracles, tuple(attribute_pairs(len(self.sizes))), self.tables)

    @cached_property
    def system(self) -> TwoPivotSystem:
        """The linear system of the pair counts, with its solution."""
        return TwoPivotSystem(self.law)

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return `unmixed`, which is unbiased and has intervals.

        If there are more than 8192 possible reports, there are no standard errors and no intervals.

        Raises
        ------
        TooLargeError
            If the tables of all pairs have more than 1024 cells together.
        """
        return self.unmixed(aggregate)

    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        return self._solved(aggregate)[0]

    def joint(self, aggregate: Aggregate) -> dict[Pair, Estimate]:
        """Analyst: return the joint frequencies of every pair (i, j), i < j: an `Estimate` of the cells, row by row.

        The estimates are unbiased, and have intervals if there are at most 8192 possible reports. The method raises the
        same errors as `estimate`.
        """
        return self._solved(aggregate)[1]

    def _solved(self, aggregate: Aggregate) -> tuple[RecordEstimate, dict[Pair, Estimate]]:
        self.check(aggregate)
        return self.system.estimates(aggregate.counts, aggregate.n, self.singular)

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # The cost is O(C (r + m) d), with C pairs of pivots and m the number of different reports that occur.
        pairs = self.law.pivots
        drawn = rng.generator.multinomial(held, np.full(len(pairs), 1 / len(pairs)), size=len(held))
        total = np.zeros(self.state_size, dtype=np.int64)
        for place, (s, t) in enumerate(pairs):
            groups, first, left = branch(drawn[:, place], self.oracles[s].channel()[records[:, s]], rng)
            later, second, left = branch(left, self.oracles[t].channel()[records[groups, t]], rng)
            told = np.bincount(first[later] * self.sizes[t] + second, left, self.sizes[s] * self.sizes[t])
            total += self._simulate_targets(place, told.astype(np.int64), rng)
        return total

    def _simulate_targets(self, place: int, told: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        (s, t), laws = self.law.pivots[place], self.law.float_laws[place]
        given = np.flatnonzero(told)
        left = told[given]
        reports = np.zeros((len(given), len(self.sizes)), dtype=code_dtype(max(self.sizes)))
        reports[:, s], reports[:, t] = given // self.sizes[t], given % self.sizes[t]
        for j, law in enumerate(laws):
            if j not in (s, t):
                groups, codes, left = branch(left, law[given], rng)
                given, reports = given[groups], reports[groups]
                reports[:, j] = codes
        return tally_pairs(reports, self.sizes, left)


def table_cells(sizes: Sequence[int]) -> int:
    """Return the number of published probabilities over these domains."""
    return sum(sizes[s] * sizes[t] * (sum(sizes) - sizes[s] - sizes[t]) for s, t in attribute_pairs(len(sizes)))


def _half_oracles(sizes: Sequence[int], epsilon: float | Fraction) -> tuple[GRR, ...]:
    return grr_oracles(sizes, checked_share(epsilon, 2))


# This part has the equations from pair counts under two pivots to pairs of attributes, and the way back.
#
# Given the pivots' reports, all codes are independent. So the expected table of reported pairs (j, l) is linear in the
# true tables of the pivots. The tables of all pairs together solve a linear system with as many equations as unknowns:
#
#     E C_jl/n = 1/C sum_(s < t) (L_j * L_l)' (GRR_s x GRR_t) T_st,
#
# L_j is the distribution of attribute j's code given both reports, and * is the product row by row. True tables share
# their margins: T_jl = 1/(k_j k_l) + g_j/k_l + g_l/k_j + D_jl, with g and D centred, which are the unknowns. Unlike one
# pivot, two pivots show the dependence between attributes.


MAX_CELLS = 1 << 10
"""Largest number of cells, over the tables of all pairs, for which the linear system is solved."""


NO_ERROR = "two pivots (no standard error is known beyond 8192 kinds of reports)"


@dataclass(frozen=True, eq=False)
class TwoPivotSystem:
    """Linear system of one mechanism, and its solution of least norm.

    Parameters
    ----------
    law : TableLaw
        Distribution of the mechanism's reports.
    """

    law: TableLaw

    def __post_init__(self) -> None:
        if sum(pair_cells(self.law.sizes)) > MAX_CELLS:
            raise TooLargeError(
                f"the tables of all pairs must have at most {MAX_CELLS} cells in total, got "
                f"{sum(pair_cells(self.law.sizes))}"
            )

    @cached_property
    def matrix(self) -> Floats:
        """Matrix of E C/n = matrix @ T, float64[N, N].

        T has the tables of all pairs, one after the other, row by row.
        """
        law, columns = self.law, []
        for (s, t), laws in zip(law.pivots, law.float_laws, strict=True):
            both = np.kron(law.oracles[s].channel(), law.oracles[t].channel())
            rows = [_by_row(laws[j], laws[k]).T @ both for j, k in law.pivots]
            columns.append(np.concatenate(rows))
        return np.concatenate(columns, axis=1) / len(law.pivots)

    @cached_property
    def basis(self) -> Floats:
        """Basis of T = uniform + basis @ (g, D), float64[N, values + N], with centring as part of it."""
        sizes, places = self.law.sizes, stretches(self.law.sizes)
        own = np.zeros((sum(pair_cells(sizes)), sum(sizes)))
        centred = [np.eye(k) - 1 / k for k in sizes]
        blocks = np.zeros((len(own), len(own)))
        for (i, j), cells in zip(self.law.pivots, stretches(pair_cells(sizes)), strict=True):
            own[cells, places[i]] = np.repeat(centred[i], sizes[j], axis=0) / sizes[j]
            own[cells, places[j]] = np.tile(centred[j], (sizes[i], 1)) / sizes[i]
            blocks[cells, cells] = np.kron(centred[i], centred[j])
        return np.concatenate([own, blocks], axis=1)

    @cached_property
    def uniform(self) -> Floats:
        """Uniform tables, float64[N]."""
        return np.concatenate([np.full(cells, 1 / cells) for cells in pair_cells(self.law.sizes)])

    @cached_property
    def solution(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Tuple (offset, solution, identifiable) for C/n.

        It gives the frequencies of all attributes, then of all cells.
        """
        system = self.matrix @ self.basis
        inverse: Floats = np.linalg.pinv(system, rcond=DAMPED).astype(np.float64)
        values = sum(self.law.sizes)
        centring = np.zeros((values, system.shape[1]))
        for place in stretches(self.law.sizes):
            centring[place, place] = np.eye(place.stop - place.start) - 1 / (place.stop - place.start)
        wanted = np.concatenate([centring, self.basis])
        found = wanted @ inverse
        identifiable = np.abs(found @ system - wanted).max(axis=1) < DAMPED
        level = np.concatenate([*(np.full(k, 1 / k) for k in self.law.sizes), self.uniform])
        return level - found @ (self.matrix @ self.uniform), found, identifiable

    @cached_property
    def second(self) -> Floats | None:
        """Matrix of E [contribution of one report]^2 = second @ T, float64[values + N, N].

        It is None beyond MAX_REPORTS.
        """
        if math.prod(self.law.sizes) > MAX_REPORTS:
            return None
        offset, found, _ = self.solution
        reports = every_report(self.law.sizes)
        contribution = np.tile(offset, (len(reports), 1))
        for (i, j), cells in zip(self.law.pivots, stretches(pair_cells(self.law.sizes)), strict=True):
            contribution += found.T[cells][reports[:, i] * self.law.sizes[j] + reports[:, j]]
        contribution **= 2
        parts = []
        for (s, t), laws in zip(self.law.pivots, self.law.float_laws, strict=True):
            chance = math.prod(law[:, reports[:, j]] for j, law in enumerate(laws))
            both = np.kron(self.law.oracles[s].channel(), self.law.oracles[t].channel())
            parts.append(both.T @ (np.asarray(chance) @ contribution))
        return np.concatenate(parts).T / len(self.law.pivots)

    def estimates(self, counts: NDArray[np.int64], n: int, biased: str) -> tuple[RecordEstimate, dict[Pair, Estimate]]:
        """Return the frequencies of every attribute, and of the cells of every pair's table.

        The noise depends on the true tables. The estimated tables, projected, are plugged in.
        """
        offset, found, identifiable = self.solution
        frequencies = offset + found @ (counts / n)
        values = sum(self.law.sizes)
        cells = [slice(values + place.start, values + place.stop) for place in stretches(pair_cells(self.law.sizes))]
        noise = None
        if self.second is not None:
            noise = self.second @ np.concatenate([nearest_distribution(frequencies[place]) for place in cells])

        def estimate(place: slice) -> Estimate:
            steps = [] if bool(identifiable[place].all()) else [biased]
            if noise is None:
                return Estimate(
                    frequencies[place], n, np.array(np.nan), np.array(np.nan), processing=(*steps, NO_ERROR)
                )
            absent, present = np.maximum(noise[place], 0.0), np.maximum(noise[place] - 1, 0.0)
            return Estimate(frequencies[place], n, absent, present, processing=tuple(steps))

        own = {j: estimate(place) for j, place in enumerate(stretches(self.law.sizes))}
        return RecordEstimate(own), dict(zip(attribute_pairs(len(self.law.sizes)), map(estimate, cells), strict=True))


def _by_row(first: Floats, second: Floats) -> Floats:
    """Return the products of the entries of equal rows, float64[rows, k_1 k_2]."""
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
