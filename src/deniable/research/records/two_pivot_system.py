"""Equations from pair counts under two pivots to pairs of attributes, and the way back.

Given the pivots' reports all codes are independent, so the expected table of reported pairs (j, l) is linear in the
true tables of the pivots, and the tables of all pairs together solve a linear system, as many equations as unknowns:

    E C_jl/n = 1/C sum_(s < t) (L_j * L_l)' (GRR_s x GRR_t) T_st,

L_j the law of attribute j's code given both reports and * the product row by row. True tables share their margins,
T_jl = 1/(k_j k_l) + g_j/k_l + g_l/k_j + D_jl with g and D centred: these are the unknowns. Unlike one pivot, two show
the dependence between attributes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.core.projection import nearest_distribution
from deniable.errors import TooLargeError
from deniable.records.layout import stretches
from deniable.records.pairs import Pair, attribute_pairs, pair_cells
from deniable.records.pivot.induced_channel import DAMPED
from deniable.records.pivot.pivot_law import MAX_REPORTS, TableLaw, every_report

MAX_CELLS = 1 << 10
"""Largest number of cells, over the tables of all pairs, for which the linear system is solved."""

NO_ERROR = "two pivots (no standard error is known beyond 8192 kinds of reports)"


@dataclass(frozen=True, eq=False)
class TwoPivotSystem:
    """The linear system of one mechanism, and its solution of least norm.

    Parameters
    ----------
    law : TableLaw
        The mechanism's law.
    """

    law: TableLaw

    def __post_init__(self) -> None:
        if sum(pair_cells(self.law.sizes)) > MAX_CELLS:
            raise TooLargeError(
                f"the tables of all pairs must have at most {MAX_CELLS} cells to be solved for, "
                f"got {sum(pair_cells(self.law.sizes))}"
            )

    @cached_property
    def matrix(self) -> Floats:
        """E C/n = matrix @ T, float64[N, N]: tables of all pairs, one after the other, row by row."""
        law, columns = self.law, []
        for (s, t), laws in zip(law.pivots, law.float_laws, strict=True):
            both = np.kron(law.oracles[s].channel(), law.oracles[t].channel())
            rows = [_by_row(laws[j], laws[k]).T @ both for j, k in law.pivots]
            columns.append(np.concatenate(rows))
        return np.concatenate(columns, axis=1) / len(law.pivots)

    @cached_property
    def basis(self) -> Floats:
        """T = uniform + basis @ (g, D), float64[N, values + N]; centring is part of it."""
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
        """(offset, solution, identifiable): frequencies of all attributes, then of all cells, from C/n."""
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
        """E [contribution of one report]^2 = second @ T, float64[values + N, N]; None beyond MAX_REPORTS."""
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

        The noise depends on the true tables; the estimated ones, projected, are plugged in.
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
