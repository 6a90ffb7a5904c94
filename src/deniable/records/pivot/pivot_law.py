"""Distribution of reports in mechanisms where one or two privatised pivots decide the whole report.

The device draws a group S of attributes uniformly. These attributes are the pivots, and each pivot is reported through
GRR. All other codes are drawn from public tables, given the pivots' reports. With C groups, the distribution is

    P(y | x) = 1/C sum_S prod_(s in S) GRR_s(y_s | x_s) W_S(y).

The *weight* W_S(y) is the probability of the other codes of y, given that the pivots' reports are as in y. Every GRR
term is p_s or q_s, whatever the other terms are. Likelihood ratios therefore follow from the weights alone. Tables are
integers over 2^64, and weights are integers over 2^(64 (d - |S|)).

There are two classes. `CopyLaw` is for one pivot over equal domains. Its targets copy the report of the pivot or take
another code, and all other codes are equally likely. `TableLaw` is for any other distribution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, Floats, checked_entries
from deniable.core.randomness import Randomness, SimulationRandomness, Words, blocks
from deniable.core.thresholds import SCALE, exact
from deniable.oracles.grr import GRR
from deniable.records.layout import CodeLayout, row_blocks, stretches
from deniable.records.pivot.copies import randomize_with_copies, simulate_copies
from deniable.records.pivot.induced_channel import InducedChannel, check_value_count, induced_channel
from deniable.records.pivot.pivot_draws import draw_targets, sample_pivots, transfer_tables
from deniable.records.prior_draws import Distribution, checked_distribution, cumulative_thresholds
from deniable.records.sampled_attribute import SAMPLED_ROWS, sample_attributes, sampled_reports, simulate_sampling

Table = tuple[Distribution, ...]
Tables = tuple[tuple[Table, ...], ...]
"""Distributions of targets' codes, as [group of pivots][target][reports of the pivots]; empty for the pivots
themselves."""
Groups = tuple[tuple[int, ...], ...]

MAX_REPORTS = 1 << 13
"""Largest number of reports over which likelihood ratios are maximised exactly."""

MAX_COMBINATIONS = 1 << 19
"""Largest number of (report, pair of pivots, others that hold what is reported) over which a ratio is maximised."""


def checked_tables(name: str, tables: Any, sizes: Sequence[int], pivots: Groups) -> Tables:
    """Return tables[group][target][what the pivots reported] as tuples of distributions over the target's codes."""
    result = []
    for place, (group, row) in enumerate(zip(pivots, _listed(name, tables, len(pivots)), strict=True)):
        rows, found = prod(sizes[s] for s in group), []
        for j, table in enumerate(_listed(f"{name}[{place}]", row, len(sizes))):
            label = f"{name}[{place}][{j}]"
            laws = _listed(label, table, 0 if j in group else rows)
            found.append(tuple(checked_distribution(f"{label}[{y}]", law, sizes[j]) for y, law in enumerate(laws)))
        result.append(tuple(found))
    return tuple(result)


def _listed(name: str, given: Any, entries: int) -> Any:
    return checked_entries(given, entries, f"{name} must have {entries} entries")


def rounded_transfer(law: NDArray[Any]) -> NDArray[Any]:
    """Return rows of probabilities as integers over 2^64, which are differences of rounded cumulative sums.

    The numbers of each row of `law` must sum to one. Rounding changes each entry by less than 2^-64. It changes no
    guarantee, because the pivot's report is private already.
    """
    rows = [[high - low for low, high in pairwise((0, *cumulative_thresholds(row)))] for row in law.tolist()]
    return np.array(rows, dtype=object)


def alone(d: int) -> Groups:
    """Return the groups of pivots for mechanisms that draw one of d attributes."""
    return tuple((s,) for s in range(d))


def every_report(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return all records over these sizes, int64[prod(sizes), d]; the last attribute changes fastest."""
    return np.indices(tuple(sizes), dtype=np.int64).reshape(len(sizes), -1).T


def equality_patterns(d: int, k: int) -> NDArray[np.int64] | None:
    """Return one report for every way in which d codes over {0..k-1} can be equal, or None if beyond MAX_REPORTS."""
    patterns: list[tuple[int, ...]] = [(0,)]
    for _ in range(d - 1):
        patterns = [(*row, code) for row in patterns for code in range(min(max(row) + 2, k))]
        if len(patterns) > MAX_REPORTS:
            return None
    return np.array(patterns, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PivotLaw(ABC):
    """Draws of pivots and targets, with their exact probabilities.

    Parameters
    ----------
    oracles : tuple of GRR
        GRR oracle of every attribute as a pivot.
    pivots : tuple of tuples of int
        Groups of attributes, of which one group is drawn. All groups have one attribute, or all have two, s < t.
    """

    oracles: tuple[GRR, ...]
    pivots: Groups

    @property
    @abstractmethod
    def gains(self) -> Floats | None:
        """Implemented a = (kP - 1)/(k - 1) for equal domains, [target, pivot], one on the diagonal; otherwise None."""

    @property
    @abstractmethod
    def deciding(self) -> NDArray[np.int64] | None:
        """Reports of every kind that may decide a likelihood ratio, int64[m, d], or None if there are too many."""

    @abstractmethod
    def cells(self, place: int, target: int, given: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[Any]:
        """Return P(target's code | pivots' reports) as integers over 2^64; `given` holds row numbers of the tables."""

    @abstractmethod
    def randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        """Return reports[n, d] of codes[n, d]: pivots go through GRR, and other codes are drawn given their reports."""

    @abstractmethod
    def _float_law(self, place: int, target: int) -> Floats:
        """Return all rows and codes of `cells` as probabilities, for a target that is not a pivot."""

    @abstractmethod
    def _simulate_targets(
        self, pivot: int, targets: Sequence[int], privatised: NDArray[np.int64], rng: SimulationRandomness
    ) -> Sequence[NDArray[np.int64]]:
        """Draw the counts of every target, given the counts of one pivot's reports."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes."""
        return tuple(oracle.k for oracle in self.oracles)

    @cached_property
    def _layout(self) -> CodeLayout:
        return CodeLayout(self.oracles)

    @cached_property
    def float_laws(self) -> list[list[Floats]]:
        """Distributions [group][attribute] of a code given the pivots' reports; the code of a pivot is certain."""
        found = []
        for place, group in enumerate(self.pivots):
            told = dict(zip(group, every_report([self.sizes[s] for s in group]).T, strict=True))
            found.append(
                [np.eye(k)[told[j]] if j in told else self._float_law(place, j) for j, k in enumerate(self.sizes)]
            )
        return found

    # ---------------------------------------------------------------- exact distribution

    def weights(self, reports: NDArray[np.int64]) -> NDArray[Any]:
        """Return the weight W_S(y) of every group and report, int[groups, reports] over 2^(64 (d - |S|))."""
        result = np.full((len(self.pivots), len(reports)), 1, dtype=object)
        for place, group in enumerate(self.pivots):
            given = np.zeros(len(reports), dtype=np.int64)
            for s in group:
                given = given * self.sizes[s] + reports[:, s]
            for j in range(len(self.sizes)):
                if j not in group:
                    result[place] = result[place] * self.cells(place, j, given, reports[:, j])
        return result

    @cached_property
    def possible(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """All reports of positive probability, int64[reports, d], and their weights."""
        reports = every_report(self.sizes)
        weights = self.weights(reports)
        possible = (weights > 0).any(axis=0)
        return reports[possible], weights[:, possible]

    def channel(self) -> NDArray[Any]:
        """Return P(report | record), Fraction[records, possible reports]; records are ordered as in `every_report`."""
        records = every_report(self.sizes)
        reports, weights = self.possible
        told = [
            np.array([q, p], dtype=object)[(records[:, j, None] == reports[None, :, j]).astype(np.int64)]
            for j, (p, q) in enumerate(self._integers)
        ]
        total = np.zeros((len(records), len(reports)), dtype=object)
        for place, group in enumerate(self.pivots):
            total += prod(told[s] for s in group) * weights[place]
        matrix: NDArray[Any] = total * Fraction(1, len(self.pivots) * SCALE ** len(self.sizes))
        return matrix

    @cached_property
    def _integers(self) -> list[tuple[int, int]]:
        return [(int(p * SCALE), int(q * SCALE)) for p, q in (oracle.support_probabilities for oracle in self.oracles)]

    @cached_property
    def _deciding_weights(self) -> NDArray[Any] | None:
        return None if self.deciding is None else self.weights(self.deciding)

    def whole_record_ratio(self) -> Fraction:
        """Return the largest likelihood ratio between any two records.

        If all domains are equal, it is exactly the product of the ratios of the pivots' oracles. Otherwise it lies
        between the products of some oracles' ratios, which differ by the rounding of thresholds. If there are more than
        8192 reports, the largest product is returned, which is an upper bound. A report is likeliest for the record
        that equals it. It is least likely for a record that differs from it in every attribute.
        """
        if len(set(self.sizes)) == 1 or (weights := self._deciding_weights) is None:
            ratios = sorted(oracle.implemented_ratio() for oracle in self.oracles)
            return prod(ratios[-len(self.pivots[0]) :], start=Fraction(1))
        likely, unlikely = (
            np.array([prod(self._integers[s][side] for s in group) for group in self.pivots], dtype=object) @ weights
            for side in (0, 1)
        )
        return largest_quotient(likely, unlikely)

    def attribute_ratio(self, attribute: int) -> Fraction:
        """Return the largest likelihood ratio between records that differ in one attribute only.

        With one pivot, the other attributes contribute least to the probability of a report if they hold other codes
        than the reported codes. With two pivots, all combinations are tried. If there are too many reports or
        combinations, the ratio of the attribute's oracle is returned, which is an upper bound.
        """
        j, d, alone = attribute, len(self.sizes), len(self.pivots[0]) == 1
        weights = self._deciding_weights
        if weights is None or (not alone and weights.size << (d - 1) > MAX_COMBINATIONS):
            return self.oracles[j].implemented_ratio()
        worst, (p, q) = Fraction(1), self._integers[j]
        for held in [(1,) * d] if alone else product((0, 1), repeat=d - 1):
            say = [1 if i == j else self._integers[i][held[i - (i > j)]] for i in range(d)]
            terms = [weights[place] * prod(say[s] for s in group) for place, group in enumerate(self.pivots)]
            own, rest = (
                sum((term for term, group in zip(terms, self.pivots, strict=True) if (j in group) == mine), start=0)
                for mine in (True, False)
            )
            worst = max(worst, largest_quotient(p * own + rest, q * own + rest))
        return worst

    # ---------------------------------------------------------------- one pivot, counted by attribute

    @cached_property
    def induced(self) -> InducedChannel:
        """Expected counts as a linear function of the frequencies, and its solution."""
        check_value_count(self.sizes)
        return induced_channel(self.oracles, self.float_laws)

    def simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Draw the counts of all attributes, one after the other, exactly in distribution.

        Given the pivot's report, the targets are independent, and so are the contributors. The counts of every target
        are therefore drawn separately, given the counts of each pivot.
        """
        sampled = simulate_sampling(records, held, self.sizes, rng)
        total = np.zeros(sum(self.sizes), dtype=np.int64)
        places = stretches(self.sizes)
        for s, (oracle, own) in enumerate(zip(self.oracles, sampled, strict=True)):
            privatised = oracle.simulate_aggregate(own, rng).counts
            total[places[s]] += privatised
            targets = [j for j in range(len(self.sizes)) if j != s]
            for j, drawn in zip(targets, self._simulate_targets(s, targets, privatised, rng), strict=True):
                total[places[j]] += drawn
        return total


@final
@dataclass(frozen=True, eq=False)
class CopyLaw(PivotLaw):
    """Distribution for one pivot over equal domains, where every target copies its report with its own probability.

    Parameters
    ----------
    probabilities : tuple of tuples
        Matrix P as declared, with a row per target and a column per pivot.
    """

    probabilities: tuple[tuple[Any, ...], ...]

    @cached_property
    def lies(self) -> NDArray[Any]:
        """Probability of each code that is not copied, times 2^64, int[d, d] by [target, pivot].

        Entries are rounded down and are below 2^64/(k-1). A copy probability of one is exact. A copy probability of
        zero becomes at most k/2^64. The diagonal is for the pivot itself, and is 0.
        """
        others, d = self.sizes[0] - 1, len(self.sizes)
        most = (SCALE - 1) // others
        flat = [min(int((1 - exact(entry)) * SCALE / others), most) for row in self.probabilities for entry in row]
        return np.array(flat, dtype=object).reshape(d, d)

    @property
    def gains(self) -> Floats:
        return (1 - self.lies * self.sizes[0] / SCALE).astype(np.float64)

    @cached_property
    def deciding(self) -> NDArray[np.int64] | None:
        """Reports of every kind; only the pattern of equal codes matters."""
        return equality_patterns(len(self.sizes), self.sizes[0])

    def cells(self, place: int, target: int, given: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[Any]:
        lie = self.lies[target, place]
        cells: NDArray[Any] = np.array([lie, SCALE - (self.sizes[0] - 1) * lie], dtype=object)
        found: NDArray[Any] = cells[(given == codes).astype(np.int64)]
        return found

    def _float_law(self, place: int, target: int) -> Floats:
        lie, gain = float(self.lies[target, place] / SCALE), float(self.gains[target, place])
        return lie + gain * np.eye(self.sizes[0])

    @cached_property
    def _lies_by_pivot(self) -> Words:
        d = len(self.sizes)
        grr = int(self.oracles[0].support_probabilities[1] * SCALE)
        rows = [[self.lies[(s + t) % d, s] if t else grr for t in range(d)] for s in range(d)]
        return np.array(rows, dtype=np.uint64)

    def randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        return randomize_with_copies(codes, self._lies_by_pivot, rng, self.sizes[0])

    def _simulate_targets(
        self, pivot: int, targets: Sequence[int], privatised: NDArray[np.int64], rng: SimulationRandomness
    ) -> Sequence[NDArray[np.int64]]:
        return list(simulate_copies(privatised, self.lies[list(targets), pivot], rng))


@final
@dataclass(frozen=True, eq=False)
class TableLaw(PivotLaw):
    """Distribution for targets that are drawn from tables.

    Parameters
    ----------
    tables : [group][target][what the pivots reported]
        Distributions as declared. The numbers of each row sum to one, and are implemented as integers over 2^64. For
        two pivots s < t, row numbers are y_s k_t + y_t. The tables of pivots themselves are empty.
    """

    tables: Sequence[Sequence[Any]]

    @property
    def gains(self) -> None:
        return None

    @cached_property
    def transfers(self) -> list[list[NDArray[Any]]]:
        """Implemented tables [group][target], int[rows, k_target] over 2^64; those of pivots themselves are empty."""
        return [
            [
                rounded_transfer(np.array(table, dtype=object).reshape(-1, k))
                for table, k in zip(row, self.sizes, strict=True)
            ]
            for row in self.tables
        ]

    @cached_property
    def deciding(self) -> NDArray[np.int64] | None:
        """All reports, or None if there are more than MAX_REPORTS."""
        return every_report(self.sizes) if prod(self.sizes) <= MAX_REPORTS else None

    def cells(self, place: int, target: int, given: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[Any]:
        return self.transfers[place][target][given, codes]

    def _float_law(self, place: int, target: int) -> Floats:
        return (self.transfers[place][target] / SCALE).astype(np.float64)

    @cached_property
    def _draws(self) -> tuple[Any, ...]:
        ends = np.array([(group[0], group[-1]) for group in self.pivots], dtype=np.int64)
        strides = np.array([self.sizes[group[1]] if len(group) > 1 else 0 for group in self.pivots], dtype=np.int64)
        return ends, strides, *transfer_tables(self.transfers)

    def randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        layout, d = self._layout, len(self.sizes)
        reports = layout.empty(len(codes))
        for part in row_blocks(len(codes), SAMPLED_ROWS):
            block = reports[part]
            if len(self.pivots[0]) == 1:
                drawn = sample_pivots(rng, len(block), d)
                for j, drew, privatised in sampled_reports(self.oracles, codes[part], drawn, rng):
                    block[drew, j] = privatised
            else:
                # All columns go through GRR. Those that are not pivots are overwritten before anybody sees them.
                block[:] = layout.randomize(codes[part], rng)
                drawn = sample_attributes(rng, len(block), len(self.pivots))
            for rows, words in blocks(rng, len(block), d):
                draw_targets(words.reshape(-1, d), drawn[rows], block[rows], *self._draws)
        return reports

    def _simulate_targets(
        self, pivot: int, targets: Sequence[int], privatised: NDArray[np.int64], rng: SimulationRandomness
    ) -> Sequence[NDArray[np.int64]]:
        return [rng.generator.multinomial(privatised, self.float_laws[pivot][j]).sum(axis=0) for j in targets]


def largest_quotient(likely: NDArray[Any], unlikely: NDArray[Any]) -> Fraction:
    """Return the largest quotient likely/unlikely of int[reports] each, among reports whose `unlikely` is not zero."""
    pairs = [(a, b) for a, b in zip(likely.tolist(), unlikely.tolist(), strict=True) if b > 0]
    # Floats single out the few quotients that may be the largest, and fractions decide.
    bound = max(a / b for a, b in pairs) * (1 - 1e-12)
    return max(Fraction(a, b) for a, b in pairs if a / b >= bound)
