"""PairSample: report one pair of attributes or one attribute with the whole budget, for tables of all pairs.

A contributor draws a single attribute with a public probability beta, and a pair of attributes otherwise. A single
attribute is drawn uniformly among the d attributes and is reported through its own oracle. A pair is drawn uniformly
among the d (d-1)/2 pairs. The two codes of a pair (i, j) form one code with k_i k_j possible values. This code is
reported through subset selection, whose report is a set of codes that is likely to contain the true code. The draw does
not depend on the record. The report says which pair or attribute was drawn.

The mechanism `SPLPairs` divides the budget among all attributes instead. It estimates the same tables, with a larger
error unless epsilon is large. For example, take four independent questions, each with four equally frequent answers.
Compare the errors of the raw tables, which the method `tables` returns. At epsilon 1, the squared error of `SPLPairs`
is about 100 times the squared error of `PairSample`. At epsilon 4, it is about 8 times the squared error of
`PairSample`.

The idea of reporting one pair through one oracle is from CALM (Zhang, Wang, Li, He, Chen, *CALM: consistent adaptive
local marginal for marginal release under local differential privacy*, 2018). Subset selection is from Ye and Barg
(2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log2, prod
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, Floats, checked_integer, code_dtype, settle
from deniable.core.estimate import RecordEstimate
from deniable.core.kernels import kernel
from deniable.core.mechanism import CraftedReports
from deniable.core.randomness import Randomness, SimulationRandomness, blocks
from deniable.core.report_likelihood import ReportIndicators, ReportLikelihood, TellsAnswers
from deniable.core.support_counts import Influence
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exact, threshold_down
from deniable.errors import InvalidParameterError, TooLargeError, out_of_range, quoted
from deniable.oracles.linear import LinearOracle
from deniable.oracles.oracle import holders_in_blocks
from deniable.oracles.square_wave import SquareWave
from deniable.oracles.subset import SubsetSelection, best_subset_size
from deniable.records.joint import JointRecords
from deniable.records.layout import row_blocks, starts_of
from deniable.records.mixed_reports import ByteColumn, ColumnRecords, packed, unpacked
from deniable.records.oracle_choice import checked_oracles
from deniable.records.pair_margins import Margins
from deniable.records.pair_parts import PairPart, Part, Reported, SinglePart
from deniable.records.pairs import attribute_pairs, check_pairs
from deniable.records.record import SimulatedByRecord
from deniable.records.sampled_attribute import sampled_reports
from deniable.records.sampled_tables import SampledTables
from deniable.records.uniform_draws import uniform_rows

MAX_TABLE = 1 << 12
"""Most cells of one pair's table. Subsets of 65,536 cells would be reports of 35 KB."""

MAX_ATTRIBUTES = 256
"""Most attributes, which have 32,640 pairs."""

SINGLES = (SubsetSelection, SquareWave)
"""Oracles for an attribute that is drawn alone."""

CHOSEN_ROWS = 1 << 16
"""Contributors who are grouped by choice at a time."""

_SIMULATED_CELLS = 1 << 18
"""Cells that a simulation works on at a time: choices times records, or cells of tables."""


def singles_for(sizes: Sequence[int], epsilon: EpsilonLike, means: Iterable[int] = ()) -> tuple[LinearOracle[Any], ...]:
    """Return the oracles of attributes that are drawn alone, for `PairSample`.

    The sequence `means` holds the indices of ordered attributes whose mean is asked. Their oracle is the square wave.
    The oracle of all other attributes is subset selection.

    Examples
    --------
    >>> [oracle.name for oracle in singles_for((4, 20), 1.0, means=[1])]
    ['SubsetSelection', 'SquareWave']
    """
    asked, budget = set(means), checked_epsilon(epsilon)
    return tuple(SquareWave(k, budget) if j in asked else SubsetSelection(k, budget) for j, k in enumerate(sizes))


class PairReports(NamedTuple):
    """Reports of one choice (a pair or an attribute) for each contributor.

    Parameters
    ----------
    choice : uint8, uint16 or uint32 [n]
        Code of the choice. First come the pairs (0, 1), (0, 2), ..., (d-2, d-1) from 0 on, then the attributes 0..d-1.
    payload : uint8[n, width]
        Report of the choice's oracle: the bytes of its fields one after the other, little-endian, filled up with zeros.
    """

    choice: Codes
    payload: NDArray[np.uint8]


@final
@dataclass(frozen=True)
class PairSample(
    ColumnRecords[PairReports], JointRecords[PairReports], SimulatedByRecord[PairReports], CraftedReports, TellsAnswers
):
    """Each contributor draws a pair of attributes or a single attribute and reports it with the whole budget.

    The collector sees which pair or attribute was drawn.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, with d from 2 to 256. The sizes may differ. The
        table of one pair has at most 4,096 cells, and the tables of all pairs together have at most 2^22 cells.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32.
    singles : float, Fraction, Decimal or str
        Probability beta with which a contributor reports a single attribute, at least 0 and less than 1. Use 0 if only
        tables of pairs matter. Use 0.25 if single frequencies matter as much as tables, and some attribute has more
        than four possible answers.
    oracles : sequence of SubsetSelection or SquareWave, optional
        One oracle for each attribute. If an attribute is drawn alone, the contributor reports the answer through the
        oracle of this attribute. The oracle of attribute j must be made for k_j possible answers and for the whole
        epsilon. The default is subset selection for every attribute. The object stores the sequence in `oracles`. To
        estimate the mean of an ordered attribute, use the square wave as its oracle. The function `singles_for` returns
        such a sequence of oracles.
    omegas : sequence of int, optional
        For each pair, the size of the set that subset selection reports. The order of the pairs is (0, 1), (0, 2), ...,
        (d-2, d-1). The default sizes have the least variance. The object stores the sizes in `omegas`, so that client
        and server use the same sizes.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.
    TooLargeError
        If there are more than 256 attributes, a pair has more than 4,096 cells, or all pairs together more than 2^22.

    Notes
    -----
    All clients use 64-bit random words for a report in the same order:

    * If singles > 0, one word decides the kind of choice. If the word is below floor(singles 2^64), an attribute is
      drawn, otherwise a pair.
    * One word w decides the choice among m (m = d attributes, or d (d-1)/2 pairs). The choice is the upper half of the
      128-bit product w m. If the lower half is below 2^64 mod m, the draw is repeated with another word.
    * The choice's oracle then uses words for the code, as in `SubsetSelection`. The code of a pair (i, j), i < j, is
      x_i k_j + x_j.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.pair_sample import PairSample
    >>> import numpy as np
    >>> pairs = PairSample(sizes=(2, 3, 4), epsilon=1.0, singles="0.25")
    >>> pairs.omegas, pairs.choices[0], pairs.choices[-1]
    ((1, 2, 3), (0, 1), (2,))
    >>> records = np.array([[0, 2, 3], [1, 0, 0]] * 500)
    >>> reports = pairs.randomize(records, SimulationRandomness(1))
    >>> reports.choice.dtype, reports.payload.shape
    (dtype('uint8'), (1000, 3))
    >>> tables = pairs.tables(pairs.aggregate(reports))
    >>> tables[0, 1].frequencies.shape, tables[0, 1].n
    ((2, 3), 227)
    """

    singles: Any = Fraction(0)
    oracles: tuple[Any, ...] = ()
    omegas: tuple[int, ...] = ()

    report_type = PairReports
    linear = True
    reveals = "pairs"
    related_attributes = 2
    drawn = "choice"
    remarks = (
        "the drawn attributes are visible to the collector; the choice is uniform and does not depend on the record, "
        "and neither do the oracles",
    )
    name = "PairSample"
    stated = ("oracles", "omegas")
    card = Card(
        group="records",
        when="if you want a cross table for each pair of attributes; each table shows how two answers are related",
        planned=False,
        instead="PairSample is made for tables of pairs, although it can also estimate single frequencies; if you need "
        "only single frequencies, use SMP[ADP]",
        wire="the drawn pair or attribute and its randomised answer",
        page="crosstabs.md",
        note="the collector sees which pair or attribute was drawn",
    )

    def _check_parameters(self) -> None:
        settle(self, singles=_checked_share(self.singles))
        if len(self.sizes) < 2:
            raise InvalidParameterError(f"sizes must list at least two attributes, got sizes={quoted(self.sizes)}")
        if len(self.sizes) > MAX_ATTRIBUTES:
            raise TooLargeError(
                f"sizes must list at most {MAX_ATTRIBUTES} attributes, got {len(self.sizes)}: with more attributes, "
                "no pair gets enough reports"
            )
        second, first = sorted(range(len(self.sizes)), key=self.sizes.__getitem__)[-2:]
        if self.sizes[first] * self.sizes[second] > MAX_TABLE:
            raise TooLargeError(
                f"the table of a pair must have at most {MAX_TABLE:,} cells, got {self.sizes[first]} x "
                f"{self.sizes[second]} for attributes {first} and {second}: give these attributes fewer categories"
            )
        check_pairs(self.sizes)
        given = checked_oracles(self.oracles, self.sizes, self.epsilon, SINGLES)
        made = {} if given else {size: SubsetSelection(size, self.epsilon) for size in set(self.sizes)}
        settle(self, oracles=given or tuple(made[size] for size in self.sizes))
        settle(self, omegas=self._checked_omegas())

    def _checked_omegas(self) -> tuple[int, ...]:
        given: Any = self.omegas
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
            raise InvalidParameterError(f"omegas must be a sequence of integers, got omegas={quoted(given)}")
        cells = [self.sizes[i] * self.sizes[j] for i, j in attribute_pairs(len(self.sizes))]
        if not given:
            best = {k: best_subset_size(k, self.epsilon) for k in set(cells)}
            return tuple(best[k] for k in cells)
        if len(given) != len(cells):
            raise InvalidParameterError(
                f"omegas must have one number for each of the {len(cells)} pairs of attributes, got {len(given)} "
                "numbers"
            )
        return tuple(
            checked_integer(f"omegas[{g}]", omega, 1, k - 1)
            for g, (omega, k) in enumerate(zip(given, cells, strict=True))
        )

    # ---------------------------------------------------------------- choices

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Return the attributes and the oracle of each choice, in the order of their codes."""
        pairs: list[Part] = []
        made: dict[tuple[int, int], SubsetSelection] = {}
        for (i, j), omega in zip(attribute_pairs(len(self.sizes)), self.omegas, strict=True):
            k = self.sizes[i] * self.sizes[j]
            if (k, omega) not in made:
                made[k, omega] = SubsetSelection(k, self.epsilon, omega)
            pairs.append(PairPart((i, j), (self.sizes[i], self.sizes[j]), made[k, omega]))
        if not self._single_words:
            return tuple(pairs)
        alone = enumerate(zip(self.sizes, self.oracles, strict=True))
        return (*pairs, *(SinglePart((j,), (size,), oracle) for j, (size, oracle) in alone))

    @property
    def choices(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each choice, in the order of their codes."""
        return tuple(part.attributes for part in self.parts)

    @cached_property
    def choice_probabilities(self) -> tuple[Fraction, ...]:
        """Return the exact probability of each choice."""
        d, beta = len(self.sizes), Fraction(self._single_words, SCALE)
        pairs = d * (d - 1) // 2
        alone = (beta / d,) * d if self._single_words else ()
        return ((1 - beta) / pairs,) * pairs + alone

    @property
    def _single_words(self) -> int:
        """Bound below which a 64-bit word draws an attribute alone."""
        return threshold_down(self.singles)

    @cached_property
    def column(self) -> ByteColumn:
        """Column for the bytes of the choices' reports."""
        return ByteColumn(tuple(part.oracle for part in self.parts), "payload")

    @cached_property
    def _kinds(self) -> tuple[list[int], NDArray[np.int64]]:
        """One choice for each different oracle, and for every choice the position of its oracle among them."""
        first: dict[Any, int] = {}
        numbers = [first.setdefault(part.oracle, len(first)) for part in self.parts]
        return [numbers.index(kind) for kind in range(len(first))], np.array(numbers, dtype=np.int64)

    @cached_property
    def _codes_of(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """First attribute, factor and second attribute of each choice, whose code is x_first factor + x_second."""
        rows = [(part.attributes[0], part.sizes[1] if len(part.sizes) == 2 else 0) for part in self.parts]
        first, factor = np.array(rows, dtype=np.int64).T
        return first.copy(), factor.copy(), np.array([part.attributes[-1] for part in self.parts], dtype=np.int64)

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> PairReports:
        choices, held = self._drawn_choices(len(codes), rng), np.empty(len(codes), dtype=np.int64)
        _code(choices, codes, *self._codes_of, held)
        examples, kinds = self._kinds
        oracles = [self.parts[example].oracle for example in examples]
        if len(oracles) == 1:  # nothing needs to be sorted and put back
            return PairReports(
                choices, packed(oracles[0], oracles[0]._randomize(held, rng), self.column.field.width or 1)
            )
        body = self.column.empty(len(codes))
        items, told = self.column.items(body), np.broadcast_to(held[:, None], (len(held), len(oracles)))
        for block in row_blocks(len(codes), CHOSEN_ROWS):
            part = items[block]
            for kind, rows, reports in sampled_reports(oracles, told[block], kinds[choices[block]], rng):
                part[rows] = self.column.rows(examples[kind], reports)
        return PairReports(choices, body)

    def _drawn_choices(self, n: int, rng: Randomness) -> Codes:
        d = len(self.sizes)
        pairs = d * (d - 1) // 2
        choices: Codes = np.empty((n, 1), dtype=code_dtype(len(self.parts)))
        if not self._single_words:
            uniform_rows(rng, (pairs,), choices)
            return choices[:, 0]
        alone = np.empty(n, dtype=np.bool_)
        for rows, words in blocks(rng, n):
            alone[rows] = words < np.uint64(self._single_words)
        for which, options, first in ((alone, d, pairs), (~alone, pairs, 0)):
            drawn: Codes = np.empty((np.count_nonzero(which), 1), dtype=choices.dtype)
            uniform_rows(rng, (options,), drawn)
            choices[which] = drawn + choices.dtype.type(first)
        return choices[:, 0]

    # ---------------------------------------------------------------- collector

    def reported_attribute(self, reports: Any) -> NDArray[np.int64]:
        """Return the attribute of each report about a single attribute, and -1 for reports about a pair, int64[n].

        Raises
        ------
        InvalidReportError
            If `aggregate` raises it.
        """
        attributes = np.array([part.attributes[0] if len(part.attributes) == 1 else -1 for part in self.parts])
        return attributes[self.column.attributes(reports)]

    def about(self, reports: Any, attribute: int) -> Any:
        """Return the reports about an attribute on its own, as reports of its oracle."""
        told = self.reported_attribute(reports) == self._checked_attribute(attribute)
        return unpacked(self.oracles[attribute], np.asarray(reports[1])[told])

    def chosen(self, reports: Any, choice: int) -> Any:
        """Return the reports about one choice, in their order, as reports of its oracle."""
        told = self.column.attributes(reports) == checked_integer("choice", choice, 0, len(self.parts) - 1)
        return self.column.reports(choice, np.asarray(reports[1])[told])

    def _likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:
        shape = [self.sizes[j] for j in attributes]
        found = ReportLikelihood.silent(len(np.asarray(reports[0])), prod(shape))
        drawn = self.column.attributes(reports)
        for choice, part in enumerate(self.parts):
            if set(attributes) <= set(part.attributes):
                rows = drawn == choice
                own = part.likelihood(self.column.reports(choice, np.asarray(reports[1])[rows]), attributes)
                found.relative[rows], found.log_scale[rows], found.asked[rows] = own
        return found

    def _listed_likelihood(self, attributes: tuple[int, ...]) -> ReportLikelihood | None:
        # Reports about one attribute differ by how they were drawn.
        if len(attributes) == 1:
            return None
        part = next(part for part in self.parts if set(part.attributes) == set(attributes))
        outputs = part.oracle.listed_likelihood()
        return None if outputs is None else part.likelihood(part.oracle.outputs(), attributes)

    def _indicators(self, reports: Any, attributes: tuple[int, ...]) -> ReportIndicators:
        shape = [self.sizes[j] for j in attributes]
        values, drawn = np.zeros((len(np.asarray(reports[0])), prod(shape))), self.column.attributes(reports)
        asked = np.zeros(len(values), dtype=np.bool_)
        for choice, part in enumerate(self.parts):
            if set(attributes) <= set(part.attributes):
                rows = drawn == choice
                values[rows] = part.indicators(self.column.reports(choice, np.asarray(reports[1])[rows]), attributes)
                asked |= rows
        return ReportIndicators(values, asked)

    # ---------------------------------------------------------------- analyst

    def by_attribute(self, aggregate: Aggregate) -> tuple[Aggregate, ...]:
        """Analyst: return the reports about every attribute on its own, as an aggregate of its oracle.

        Means and quantiles of attributes with the square wave are computed from these aggregates. Some aggregates may
        be empty.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        self.check(aggregate)
        if not self._single_words:
            return tuple(map(Aggregate.empty, self.oracles))
        alone = zip(self.oracles, self.column.parts(aggregate.counts)[-len(self.sizes) :], strict=True)
        return tuple(Aggregate(oracle, counts, n) for oracle, (counts, n) in alone)

    def _margins(self, aggregate: Aggregate) -> Margins:
        self.check(aggregate)
        parts = zip(self.parts, self.column.parts(aggregate.counts), strict=True)
        reported = tuple(Reported.of(part, n, counts) for part, (counts, n) in parts)
        return Margins(self.sizes, reported, aggregate.n)

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return unbiased frequencies of every attribute, from all reports about it, alone or in a pair.

        The margins of an attribute's tables are averaged. The weights depend only on sizes, epsilon and numbers of
        reports. The `n` of an estimate is the number of reports of a single kind that would be as informative as all
        these reports, rounded down.
        """
        margins = self._margins(aggregate)
        return RecordEstimate({j: margins.estimate(j) for j in range(len(self.sizes))})

    def tables(self, aggregate: Aggregate) -> SampledTables:
        """Analyst: return the raw tables of all pairs, with the numbers of their reports and covariances.

        Returns
        -------
        SampledTables
            Mapping from a pair (i, j), i < j, to its `JointTable`.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        return SampledTables(self._margins(aggregate))

    def expected_tables(
        self, contributors: int, truth: Callable[[tuple[int, ...]], ArrayLike] | None = None
    ) -> SampledTables:
        """Organiser: return tables without noise, with the covariances that the noise will have.

        Parameters
        ----------
        contributors : int
            Number of contributors. Every choice has the expected number of reports.
        truth : callable, optional
            Function that returns the assumed frequencies of a pair (i, j), float[k_i, k_j], or of an attribute (j,),
            float[k_j]. By default the frequencies are uniform.
        """
        n = checked_integer("contributors", contributors, 1)
        law = zip(self.parts, self.choice_probabilities, strict=True)
        reported = []
        for part, share in law:
            assumed = np.full(part.sizes, 1 / prod(part.sizes)) if truth is None else truth(part.attributes)
            reported.append(Reported(part, n * float(share), np.asarray(assumed, dtype=np.float64)))
        return SampledTables(Margins(self.sizes, tuple(reported), n))

    def variance(self, f: float, n: int, attribute: int) -> float:
        """Return the variance of one attribute's estimated frequency at true frequency f, with n contributors.

        It is computed with the expected numbers of reports. It includes the noise, and the sampling of the reports
        among these contributors.
        """
        j, total, drawn = self._checked_attribute(attribute), 0.0, 0.0
        for part, weight, number in self._weighted(j, n):
            absent, present = part.margin_noise(part.attributes.index(j))
            total += weight**2 / number * (absent + (present - absent) * f)
            drawn += weight**2 / number
        return total + f * (1 - f) * max(0.0, drawn - 1 / n)

    def covariance(self, f: ArrayLike, n: int, attribute: int, values: ArrayLike | None = None) -> Floats:
        """Return the covariance matrix of one attribute's estimated frequencies among n contributors, float64[s, s].

        It is computed with the expected numbers of reports. The other attribute of each pair is assumed to be uniform
        and independent. The noise of a margin does not depend on this assumption.

        Parameters
        ----------
        f : float[k_j]
            True frequencies of the attribute's values.
        n : int
            Number of all contributors, whatever they report.
        attribute : int
            Index of the attribute.
        values : int[s], optional
            Codes of the rows and columns of the matrix. By default all.
        """
        j, held = self._checked_attribute(attribute), np.asarray(f, dtype=np.float64)
        if held.shape != (self.sizes[j],):
            raise InvalidParameterError(
                f"f must have shape ({self.sizes[j]},) (one frequency for each category), got shape={held.shape}"
            )
        matrix = -(np.diag(held) - np.outer(held, held)) / n
        for part, weight, number in self._weighted(j, n):
            axis = part.attributes.index(j)
            shape = [1] * len(part.sizes)
            shape[axis] = len(held)
            spread = np.broadcast_to(held.reshape(shape) / (prod(part.sizes) // len(held)), part.sizes)
            matrix = matrix + weight**2 / number * part.margin_covariance(spread, axis)
        codes = np.arange(len(held)) if values is None else np.asarray(values)
        chosen: Floats = matrix[np.ix_(codes, codes)]
        return chosen

    def linear_variance(self, weights: ArrayLike, f: ArrayLike, n: int, attribute: int) -> float:
        """Return the variance of sum_v weights[v] f^(v) for one attribute with n contributors; see `covariance`."""
        w = np.asarray(weights, dtype=np.float64)
        return float(w @ self.covariance(f, n, attribute) @ w)

    def _influence(self, targets: int, attribute: int) -> Influence | None:
        """Return the largest influence among the parts, because a malicious contributor can choose what to report."""
        ups, downs = [], []
        for part, weight, number in self._weighted(attribute, 1):
            lumped = prod(part.sizes) // self.sizes[attribute]
            found = part.oracle.influence(targets * lumped)
            if found is None:
                return None
            ups.append(found.up * weight / number)
            downs.append(found.down * weight / number)
        return Influence(max(ups), min(downs))

    def _weighted(self, attribute: int, n: int) -> list[tuple[Part, float, float]]:
        """Return the parts about an attribute, their weights and the expected numbers of their reports."""
        law = zip(self.parts, self.choice_probabilities, strict=True)
        own = [(part, n * float(share)) for part, share in law if attribute in part.attributes]
        precisions = [number / part.spread(part.attributes.index(attribute)) for part, number in own]
        total = sum(precisions)
        return [(part, one / total, number) for (part, number), one in zip(own, precisions, strict=True)]

    # ---------------------------------------------------------------- guarantee

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio between two records, which is the largest ratio of all choices' oracles."""
        return max(Fraction(self.parts[example].oracle.implemented_ratio()) for example in self._kinds[0])

    def _attribute_ratio(self, attribute: int) -> Fraction:
        return max(Fraction(one.oracle.implemented_ratio()) for one in self.parts if attribute in one.attributes)

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), len(self.parts))
        records = np.indices(self.sizes).reshape(len(self.sizes), -1).T
        columns = []
        for choice, (part, probability) in enumerate(zip(self.parts, self.choice_probabilities, strict=True)):
            channel = part.oracle.channel(exact=True)
            self._check_channel(len(records), channel.shape[1])
            columns.append(channel[self.code(records, choice)] * probability)
        matrix = np.concatenate(columns, axis=1)
        self._check_channel(*matrix.shape)
        return matrix

    def code(self, records: Codes, choice: int) -> NDArray[np.int64]:
        """Return the code that each record has for a choice, int64[n]; it is x_i k_j + x_j for a pair (i, j)."""
        first, factor, second = (column[choice] for column in self._codes_of)
        found: NDArray[np.int64] = records[:, first].astype(np.int64) * factor + records[:, second]
        return found

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # Choices are drawn first, then each choice's reports. The tables of overlapping pairs depend on each other only
        # through the numbers of their reports and the records.
        states, starts = self._held_by_choice(records, held, rng), self._starts
        numbers = np.add.reduceat(states, starts)
        pairs = len(self.omegas)
        alone = [
            part.oracle.simulate_aggregate(states[start : start + part.sizes[0]], rng).counts
            for part, start in zip(self.parts[pairs:], starts[pairs:], strict=True)
        ]
        examples, kinds = self._kinds
        for kind in np.unique(kinds[:pairs]):
            oracle, own = self.parts[examples[kind]].oracle, starts[:pairs][kinds[:pairs] == kind]
            for block in row_blocks(len(own), max(1, _SIMULATED_CELLS // oracle.k)):
                cells = own[block, None] + np.arange(oracle.k)
                states[cells] = oracle.simulate_groups(states[cells], rng)
        return np.concatenate([states[: sum(part.oracle.k for part in self.parts[:pairs])], *alone, numbers])

    def _held_by_choice(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Draw the choices of all contributors, and return the counts of each choice's codes, in the choices' order."""
        found = np.zeros(sum(prod(part.sizes) for part in self.parts), dtype=np.int64)
        law = np.array([float(probability) for probability in self.choice_probabilities])
        first, factor, second = self._codes_of
        many = np.flatnonzero(held >= len(law))
        for block in row_blocks(len(many), max(1, _SIMULATED_CELLS // len(law))):
            rows = many[block]
            drawn = rng.generator.multinomial(held[rows], law / law.sum())
            codes = records[rows][:, first].astype(np.int64) * factor + records[rows][:, second]
            np.add.at(found, self._starts + codes, drawn)
        # One multinomial has as many binomials as there are choices. So fewer holders are cheaper if drawn one by one.
        for rows in holders_in_blocks(np.where(held < len(law), held, 0), CHOSEN_ROWS):
            choices, codes = self._drawn_choices(len(rows), rng), np.empty(len(rows), dtype=np.int64)
            _code(choices, records[rows], first, factor, second, codes)
            np.add.at(found, self._starts[choices] + codes, 1)
        return found

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Return the start of each choice's codes in a vector with the codes of all choices in order."""
        return starts_of([prod(part.sizes) for part in self.parts])

    @property
    def report_bits(self) -> float:
        """Average bits per report: the entropy of the choice, and the bits of the oracle's report."""
        law = [float(probability) for probability in self.choice_probabilities]
        bits = [float(part.oracle.report_bits) for part in self.parts]
        return sum(share * (own - log2(share)) for share, own in zip(law, bits, strict=True))


def _checked_share(singles: Any) -> Fraction:
    share = exact(singles, "singles")
    if not 0 <= share < 1:
        raise out_of_range("singles", "in [0, 1)", singles)
    return Fraction(share)


@kernel
def _code(
    choices: Codes,
    codes: Codes,
    first: NDArray[np.int64],
    factor: NDArray[np.int64],
    second: NDArray[np.int64],
    held: NDArray[np.int64],
) -> None:
    for row in range(choices.shape[0]):
        choice = np.int64(choices[row])
        held[row] = np.int64(codes[row, first[choice]]) * factor[choice] + np.int64(codes[row, second[choice]])
