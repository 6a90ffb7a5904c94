"""The law of a record of which two privatised pivots decide everything, and how it is drawn.

P(y | x) = 1/C sum_(s < t) GRR_s(y_s | x_s) GRR_t(y_t | x_t) W_st(y), C the number of pairs and W_st(y) the probability
that the pivots' reports bring the others to y. Tables are integers over 2^64, weights over 2^(64 (d-2)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import Codes, checked_counts, checked_records, code_dtype
from deniable.kernels import kernel
from deniable.mechanisms.grr import GRR
from deniable.multi._oracles import randomize_columns
from deniable.multi._pairs import attribute_pairs, branch, pair_cells, tally_pairs
from deniable.multi._pivot_law import MAX_REPORTS, every_report, largest_quotient, rounded_transfer
from deniable.multi._priors import PriorTables, prior_tables
from deniable.multi._sampled import SAMPLED_ROWS, sample_attributes
from deniable.multi._transfers import Table
from deniable.randomness import Randomness, SimulationRandomness, Words, blocks
from deniable.thresholds import SCALE

Floats = NDArray[np.float64]

MAX_COMBINATIONS = 1 << 19
"""Largest number of (report, pair of pivots, others that hold what is reported) over which a ratio is maximised."""


@dataclass(frozen=True, eq=False)
class TwoPivotLaw:
    """How the targets of two pivots are drawn from tables, and with which exact probabilities.

    Parameters
    ----------
    oracles : tuple of GRR
        Of every attribute as a pivot, each with half the budget.
    tables : tuple of tuples of Table
        [pair][target][y_s k_t + y_t]: the law of the target's code; empty for the pivots themselves.
    """

    oracles: tuple[GRR, ...]
    tables: tuple[tuple[Table, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes."""
        return tuple(oracle.k for oracle in self.oracles)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of pivots, s < t."""
        return attribute_pairs(len(self.oracles))

    @cached_property
    def transfers(self) -> list[list[NDArray[Any]]]:
        """The implemented tables: [pair][target], int[k_s k_t, k_j] over 2^64; empty for the pivots themselves."""
        return [
            [
                rounded_transfer(np.array(table, dtype=object)) if table else np.empty((0, 0), dtype=object)
                for table in row
            ]
            for row in self.tables
        ]

    @cached_property
    def float_laws(self) -> list[list[Floats]]:
        """[pair][attribute], float64[k_s k_t, k_j]: law of every attribute's code given the pivots' reports."""
        found = []
        for (s, t), row in zip(self.pairs, self.transfers, strict=True):
            first, second = self.sizes[s], self.sizes[t]
            own = {s: np.repeat(np.eye(first), second, axis=0), t: np.tile(np.eye(second), (first, 1))}
            found.append([own[j] if j in own else (law / SCALE).astype(np.float64) for j, law in enumerate(row)])
        return found

    # ---------------------------------------------------------------- exact law

    def weights(self, reports: NDArray[np.int64]) -> NDArray[Any]:
        """Return W_st(y) of every pair and report, int[pairs, reports] over 2^(64 (d-2))."""
        result = np.full((len(self.pairs), len(reports)), 1, dtype=object)
        for place, ((s, t), row) in enumerate(zip(self.pairs, self.transfers, strict=True)):
            given = reports[:, s] * self.sizes[t] + reports[:, t]
            for j in range(len(self.sizes)):
                if j not in (s, t):
                    result[place] = result[place] * row[j][given, reports[:, j]]
        return result

    @cached_property
    def possible_reports(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """All reports of positive probability, int64[reports, d], and their weights."""
        reports = every_report(self.sizes)
        weights = self.weights(reports)
        possible = (weights > 0).any(axis=0)
        return reports[possible], weights[:, possible]

    def channel(self) -> NDArray[Any]:
        """Return P(report | record), Fraction[records, possible reports]; records in the order of `every_report`."""
        records = every_report(self.sizes)
        reports, weights = self.possible_reports
        told = []
        for j, (p, q) in enumerate(self._integers):
            told.append(np.array([q, p], dtype=object)[(records[:, j, None] == reports[None, :, j]).astype(np.int64)])
        total = np.zeros((len(records), len(reports)), dtype=object)
        for place, (s, t) in enumerate(self.pairs):
            total += told[s] * told[t] * weights[place]
        matrix: NDArray[Any] = total * Fraction(1, len(self.pairs) * SCALE ** len(self.sizes))
        return matrix

    @property
    def enumerable(self) -> bool:
        """Whether likelihood ratios are maximised over all reports."""
        return math.prod(self.sizes) <= MAX_REPORTS

    @property
    def attribute_enumerable(self) -> bool:
        """Whether ratios between records that differ in one attribute are maximised over all reports."""
        d = len(self.sizes)
        return self.enumerable and math.prod(self.sizes) * len(self.pairs) << (d - 1) <= MAX_COMBINATIONS

    def whole_record_ratio(self) -> Fraction:
        """Return the largest likelihood ratio between any two records.

        A report is likeliest for the record that equals it and least likely for one that differs everywhere.
        """
        _, weights = self.possible_reports
        likely, unlikely = (
            np.array([self._integers[s][i] * self._integers[t][i] for s, t in self.pairs], dtype=object) @ weights
            for i in (0, 1)
        )
        return largest_quotient(likely, unlikely)

    def one_attribute_ratio(self, attribute: int) -> Fraction:
        """Return the largest likelihood ratio between records that differ in one attribute only.

        Each of the other attributes holds the code reported, or another: all combinations are tried.
        """
        _, weights = self.possible_reports
        d, j, worst = len(self.sizes), attribute, Fraction(1)
        for held in product((0, 1), repeat=d - 1):
            say = [self._integers[i][held[i - (i > j)]] if i != j else 0 for i in range(d)]
            own = sum(weights[self.pairs.index((min(i, j), max(i, j)))] * say[i] for i in range(d) if i != j)
            rest = sum(weights[place] * (say[s] * say[t]) for place, (s, t) in enumerate(self.pairs))
            p, q = self._integers[j]
            worst = max(worst, largest_quotient(p * own + rest, q * own + rest))
        return worst

    @cached_property
    def _integers(self) -> list[tuple[int, int]]:
        return [(int(p * SCALE), int(q * SCALE)) for p, q in (oracle.support_probabilities for oracle in self.oracles)]

    # ---------------------------------------------------------------- draws

    @cached_property
    def _draws(self) -> tuple[NDArray[np.int64], NDArray[np.int64], PriorTables]:
        known: dict[tuple[int, ...], int] = {}
        row_of: list[int] = []
        offsets = np.zeros((len(self.pairs), len(self.sizes)), dtype=np.int64)
        for place, row in enumerate(self.transfers):
            for j, law in enumerate(row):
                offsets[place, j] = len(row_of)
                row_of += [known.setdefault(tuple(accumulate(given)), len(known)) for given in law.tolist()]
        return np.array(row_of, dtype=np.int64), offsets, prior_tables(list(known) or [(SCALE,)])

    def randomize(self, codes: Codes, rng: Randomness, reports: NDArray[Any]) -> None:
        """Overwrite reports[n, d]: of every record in codes[n, d] two pivots through GRR, the others drawn given those.

        All attributes go through GRR; what is no pivot is overwritten before anybody sees it.
        """
        d = len(self.sizes)
        pivots, sizes = np.array(self.pairs, dtype=np.int64), np.array(self.sizes, dtype=np.int64)
        row_of, offsets, tables = self._draws
        for start in range(0, len(codes), SAMPLED_ROWS):
            part = slice(start, start + SAMPLED_ROWS)
            block = reports[part]
            randomize_columns(self.oracles, codes[part], rng, block)
            drawn = sample_attributes(rng, len(block), len(self.pairs))
            for rows, words in blocks(rng, len(block), d):
                _draw_targets(words.reshape(-1, d), drawn[rows], pivots, sizes, row_of, offsets, *tables, block[rows])

    def simulate(
        self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness
    ) -> tuple[NDArray[np.int64], int]:
        """Draw the counts of all pairs' tables, exactly in distribution, and the number of reports."""
        rows = checked_records(records, self.sizes)
        held = checked_counts(counts, len(rows))
        c = len(self.pairs)
        drawn = rng.generator.multinomial(held, np.full(c, 1 / c), size=len(held))
        total = np.zeros(sum(pair_cells(self.sizes)), dtype=np.int64)
        for place, (s, t) in enumerate(self.pairs):
            groups, first, left = branch(drawn[:, place], self.oracles[s].channel()[rows[:, s]], rng)
            later, second, left = branch(left, self.oracles[t].channel()[rows[groups, t]], rng)
            given = first[later] * self.sizes[t] + second
            told = np.bincount(given, weights=left, minlength=self.sizes[s] * self.sizes[t]).astype(np.int64)
            total += self._simulate_targets(place, told, rng)
        return total, int(held.sum())

    def _simulate_targets(self, place: int, told: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        (s, t), laws = self.pairs[place], self.float_laws[place]
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


@kernel
def _draw_targets(
    words: Words,
    drawn: Codes,
    pivots: NDArray[np.int64],
    sizes: NDArray[np.int64],
    row_of: NDArray[np.int64],
    offsets: NDArray[np.int64],
    limits: Words,
    starts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    guide: NDArray[np.int64],
    guide_starts: NDArray[np.int64],
    shifts: Words,
    reports: NDArray[Any],
) -> None:
    for i in range(words.shape[0]):
        place = np.int64(drawn[i])
        s, t = pivots[place, 0], pivots[place, 1]
        given = np.int64(reports[i, s]) * sizes[t] + np.int64(reports[i, t])
        for j in range(words.shape[1]):
            if j in (s, t):
                continue
            row = row_of[offsets[place, j] + given]
            word = words[i, j]
            code = guide[guide_starts[row] + np.int64(word >> shifts[row])]
            while code < lasts[row] and word >= limits[starts[row] + code]:
                code += 1
            reports[i, j] = code
