"""Reports of one uniformly sampled attribute per contributor, through its own oracle with the full budget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes, code_dtype
from deniable.core.kernels import kernel, worth_compiling
from deniable.core.mechanism import Reports
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.report_likelihood import ReportIndicators, ReportLikelihood, TellsAnswers
from deniable.oracles.grr import count_codes
from deniable.oracles.linear import LinearOracle
from deniable.oracles.oracle import holders_in_blocks
from deniable.records.layout import row_blocks, starts_of, stretches
from deniable.records.record import DirectRecords, SimulatedByRecord
from deniable.records.uniform_draws import uniform_rows

SAMPLED_ROWS = 1 << 17
"""Contributors who are grouped by sampled attribute at a time. They are so numerous that d calls of an oracle cost
nothing."""

_SIMULATED_CELLS = 1 << 18
"""Records times attributes that a simulation works on at a time."""


class OneAttribute(DirectRecords[Reports], SimulatedByRecord[Reports], TellsAnswers):
    """A mechanism with which every contributor reports one uniformly drawn attribute with the whole epsilon.

    The collector sees which attribute was drawn. An attribute has n_j reports, and its estimate is unbiased given
    n_j >= 1. If n_j = 0, frequencies are NaN, standard errors are infinite, and there is no interval. Intervals for
    these contributors include the sampling of n_j reporters among n contributors.
    """

    reveals = "one"

    @property
    def turns(self) -> int:
        """Number of contributors for each report of an attribute, which is d."""
        return len(self.sizes)

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio between two records, which is the largest ratio of all attributes' oracles."""
        return max(Fraction(oracle.implemented_ratio()) for oracle in self.oracles)

    @abstractmethod
    def _parts(self, counts: NDArray[Any]) -> list[tuple[NDArray[Any], int]]:
        """Return the state of each attribute's oracle, and the number of its reports."""

    @abstractmethod
    def _state(self, parts: Sequence[Aggregate]) -> NDArray[np.int64]:
        """Return the state of the mechanism's aggregate from the aggregates of all attributes."""

    def _likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:
        (j,) = attributes
        told = np.asarray(self.reported_attribute(reports) == j)
        return self.oracles[j].likelihood(self.about(reports, j)).placed(told)

    def _listed_likelihood(self, attributes: tuple[int, ...]) -> ReportLikelihood | None:
        return self.oracles[attributes[0]].listed_likelihood()

    def _indicators(self, reports: Any, attributes: tuple[int, ...]) -> ReportIndicators:
        (j,) = attributes
        told = np.asarray(self.reported_attribute(reports) == j)
        return self.oracles[j].indicators(self.about(reports, j)).placed(told)

    def by_attribute(self, aggregate: Aggregate) -> tuple[Aggregate, ...]:
        self.check(aggregate)
        parts = zip(self.oracles, self._parts(aggregate.counts), strict=True)
        return tuple(Aggregate(oracle, counts, n) for oracle, (counts, n) in parts)

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # The number of reports of one attribute and the counts of another depend on each other through the records.
        sampled = simulate_sampling(records, held, self.sizes, rng)
        return self._state(
            [oracle.simulate_aggregate(own, rng) for oracle, own in zip(self.oracles, sampled, strict=True)]
        )


def sample_attributes(rng: Randomness, n: int, d: int) -> Codes:
    """Return n independent, exactly uniform attributes in 0..d-1."""
    attributes = np.empty((n, 1), dtype=code_dtype(d))
    uniform_rows(rng, (d,), attributes)
    return attributes[:, 0]


def sampled_reports(
    oracles: Sequence[LinearOracle[Any]], codes: Codes, attributes: Codes, rng: Randomness
) -> Iterator[tuple[int, Any, Any]]:
    """Yield (attribute, rows, reports) for every sampled attribute, with the rows of those who sampled it.

    The rows are an index, either positions or a slice of all rows. The records codes[n, d] are already checked, so the
    oracles need not check them again. The array `attributes` int[n] holds the sampled attribute of each record.
    """
    if not worth_compiling(len(codes)):
        # A device has one attribute to report. Sorting by tables would take half as long as the whole report.
        sampled = attributes.tolist()
        for j in sorted(set(sampled)):
            own = [row for row, attribute in enumerate(sampled) if attribute == j]
            rows = slice(None) if len(own) == len(sampled) else own
            yield j, rows, oracles[j]._randomize(codes[rows, j], rng)
        return
    held, order = np.empty(len(codes), dtype=codes.dtype), np.empty(len(codes), dtype=np.int64)
    stops = count_codes(attributes, len(oracles)).cumsum()
    starts = np.concatenate(([0], stops[:-1]))
    _sort(attributes, codes, starts.copy(), order, held)
    for j in np.flatnonzero(stops > starts).tolist():
        rows = slice(starts[j], stops[j])
        yield j, order[rows], oracles[j]._randomize(held[rows], rng)


def overwrite_sampled(
    oracles: Sequence[LinearOracle[Any]], codes: Codes, rng: Randomness, reports: NDArray[Any]
) -> None:
    """Draw an attribute for every record of codes[n, d] and put its true report in place of the fake one.

    The array `reports[n, d]` holds fake codes of all attributes. The codes of the sampled attributes are overwritten.
    """
    attributes = sample_attributes(rng, len(codes), len(oracles))
    for j, rows, true_reports in sampled_reports(oracles, codes, attributes, rng):
        reports[rows, j] = true_reports


@kernel
def _sort(
    attributes: Codes, codes: Codes, free: NDArray[np.int64], order: NDArray[np.int64], held: NDArray[Any]
) -> None:
    # This is a stable counting sort by attribute. free[j] is where the next contributor of attribute j goes. Unsigned
    # indices need no check for negative values.
    for i in range(attributes.shape[0]):
        row, j = np.uint64(i), np.uint64(attributes[i])
        place = np.uint64(free[j])
        free[j] += 1
        order[place] = i
        held[place] = codes[row, j]


def simulate_sampling(
    records: Codes, held: NDArray[np.int64], sizes: Sequence[int], rng: SimulationRandomness
) -> list[NDArray[np.int64]]:
    """Draw how many holders of each value sample each attribute; the distribution is exact.

    Each of records[r, d] is held by held[r] contributors. For each attribute, the function returns the true counts
    int64[k_j] among the contributors who sampled it. It takes time O(min(n, r d)), and its memory does not depend on n
    and r.
    """
    d, starts = len(sizes), starts_of(sizes)
    found = np.zeros(sum(sizes), dtype=np.int64)
    many = np.flatnonzero(held >= d)
    for block in row_blocks(len(many), max(1, _SIMULATED_CELLS // d)):
        rows = many[block]
        drawn = rng.generator.multinomial(held[rows], np.full(d, 1 / d))
        np.add.at(found, starts + records[rows], drawn)
    # One multinomial has d binomials. So fewer holders are cheaper if drawn one by one.
    for rows in holders_in_blocks(np.where(held < d, held, 0), SAMPLED_ROWS):
        attributes = sample_attributes(rng, len(rows), d)
        np.add.at(found, starts[attributes] + records[rows, attributes], 1)
    return [found[place] for place in stretches(sizes)]
