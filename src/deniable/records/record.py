"""RecordMechanism: the common code of mechanisms for d attributes.

A record is one code per attribute. The base class has variants in four respects, and a mechanism combines them:

* *Source of an estimate*: In `DirectRecords`, each attribute's answer goes through its own frequency oracle.
* *Form of a report*: In `FullRecords`, a report has one code or bit vector per attribute. In `HiddenRecords`, moreover,
  the collector is not told which attribute a report is about.
* *Counts of an aggregate*: `CountedRecords` counts attribute by attribute, and `PairedRecords` (in `pairs`) counts pair
  by pair.
* *Input of a rehearsal*: `SimulatedByRecord` needs whole records. `SimulatedByMarginal` needs only marginal counts,
  because nothing connects the parts of a report.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeIs

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes, Floats, checked_counts, checked_integer, checked_records, checked_sizes, settle
from deniable.core.estimate import Estimate, RecordEstimate, affine_estimate
from deniable.core.mechanism import CraftedReports, Mechanism, ReportField, Reports
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, checked_randomness
from deniable.core.report_likelihood import MAX_LISTED, ReportIndicators, ReportLikelihood, TellsAnswers
from deniable.core.state import Counts, check_parts
from deniable.core.support_counts import Influence
from deniable.core.thresholds import checked_epsilon, log_up
from deniable.errors import InvalidInputError, quoted
from deniable.oracles.linear import LinearOracle
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.pure import CountingOracle
from deniable.records.layout import Layout, stretches

MAX_RELATED = 256
"""Most attributes that are related to each other by a mechanism that reports all of them."""


@dataclass(frozen=True)
class RecordMechanism(Mechanism[Reports]):
    """A mechanism for d attributes: it takes records int[n, d] and returns a `RecordEstimate`.

    Attributes
    ----------
    sizes : tuple of int
        Domain sizes (k_1, ..., k_d).
    epsilon : float or Fraction
        Budget of the whole record, in nats.
    simulates : {"records", "marginals"}
        Input of `simulate_aggregate`. "records": distinct records, and how many contributors hold each. "marginals":
        for every attribute, how many contributors hold each value.
    reveals : {"all", "one", "fakes", "copies", "pairs"}
        Content of a report. "all": a report of every attribute. "one": a report of one sampled attribute, which the
        collector sees. "fakes": a report of one sampled attribute, hidden among fake reports. "copies": a report of one
        or two attributes, and codes made from it. "pairs": a report of one attribute or of two together, which the
        collector sees.
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction

    records: ClassVar[bool] = True
    simulates: ClassVar[Literal["records", "marginals"]]
    reveals: ClassVar[Literal["all", "one", "fakes", "copies", "pairs"]]

    def __post_init__(self) -> None:
        settle(self, sizes=checked_sizes(self.sizes), epsilon=checked_epsilon(self.epsilon))
        self._check_parameters()

    @abstractmethod
    def _check_parameters(self) -> None:
        """Check and set the other parameters, and refuse parameters that the oracles refuse."""

    @property
    def domain(self) -> tuple[int, ...]:
        """`sizes`."""
        return self.sizes

    @property
    @abstractmethod
    def oracles(self) -> tuple[FrequencyOracle[Any], ...]:
        """Return the oracle of each attribute, with the budget that it spends."""

    @property
    @abstractmethod
    def remarks(self) -> tuple[str, ...]:
        """Return facts that a reader of the guarantee must know."""

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Reports:
        """Contributor: turn true records into reports, one row each.

        Parameters
        ----------
        inputs : int[n, d]
            Records of true codes. The codes of column j are in 0..k_j-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        batch of n reports
            Reports in the form that `report_fields` describes.

        Raises
        ------
        InvalidInputError
            If a code is out of range. The message names its row and attribute.
        InvalidParameterError
            If `rng` is not a source of random words.
        """
        return self._randomize(checked_records(inputs, self.sizes), checked_randomness(rng))

    @abstractmethod
    def _randomize(self, codes: Codes, rng: Randomness) -> Reports:
        """Randomise codes[n, d], column j in 0..k_j-1."""

    # ---------------------------------------------------------------- collector and analyst

    @abstractmethod
    def reported_attribute(self, reports: Any) -> NDArray[np.int64] | None:
        """Return the attribute of each report, int64[n], or None if the collector cannot see it.

        Raises
        ------
        InvalidReportError
            If `aggregate` raises it.
        """

    @abstractmethod
    def about(self, reports: Any, attribute: int) -> Any:
        """Return the reports about an attribute as reports of its oracle.

        If `reported_attribute` shows which reports are about this attribute, only these are returned, in their order.
        Otherwise all reports are returned.
        """

    @abstractmethod
    def estimate(self, aggregate: Aggregate) -> RecordEstimate: ...

    # ---------------------------------------------------------------- guarantee

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record, and for records that differ in one attribute only."""
        return self._local_guarantee(*self.remarks, per_attribute=tuple(map(self._bound, range(len(self.sizes)))))

    def _bound(self, attribute: int) -> float:
        ratio, declared = self._attribute_ratio(attribute), float(self.oracles[attribute].epsilon)
        return declared if ratio is None else min(declared, log_up(ratio))

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Exact largest likelihood ratio between records that differ in one attribute only, or an upper bound."""
        j = self._checked_attribute(attribute)
        ratio = self._attribute_ratio(j)
        return Fraction(self.oracles[j].implemented_ratio()) if ratio is None else ratio

    @abstractmethod
    def _attribute_ratio(self, attribute: int) -> Fraction | None:
        """Return `implemented_attribute_ratio`, or None if it is by definition the ratio of the attribute's oracle."""

    def _checked_attribute(self, attribute: int) -> int:
        return checked_integer("attribute", attribute, 0, len(self.sizes) - 1)

    def _affine(
        self, counts: NDArray[np.int64], n: int, probabilities: Sequence[tuple[Any, Any]], *processing: str
    ) -> RecordEstimate:
        """Return (count/n - q)/(p - q) from all attributes' counts, in order, and each attribute's (p, q)."""
        found = {}
        for j, (place, (p, q)) in enumerate(zip(stretches(self.sizes), probabilities, strict=True)):
            one = affine_estimate(counts[place], n, np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
            found[j] = replace(one, processing=processing) if processing else one
        return RecordEstimate(found)


# ---------------------------------------------------------------- parts of an estimate


class DirectRecords(RecordMechanism[Reports], CraftedReports):
    """A mechanism that estimates every attribute with its oracle, from the attribute's own reports."""

    linear = True

    @property
    @abstractmethod
    def oracles(self) -> tuple[LinearOracle[Any], ...]: ...

    @abstractmethod
    def by_attribute(self, aggregate: Aggregate) -> tuple[Aggregate, ...]:
        """Analyst: return the reports about every attribute as an aggregate of its oracle; some may be empty.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return unbiased frequencies of every attribute from its own reports, by its oracle's estimator."""
        found: dict[int, Estimate] = {}
        for j, (oracle, part) in enumerate(zip(self.oracles, self.by_attribute(aggregate), strict=True)):
            if part.n == 0:
                found[j] = oracle.unreported(aggregate.n)
            else:
                found[j] = replace(oracle.estimate(part), contributors=aggregate.n)
        return RecordEstimate(found)

    @property
    @abstractmethod
    def turns(self) -> int:
        """Number of contributors for each report of an attribute: 1, or d if each contributor reports one attribute."""

    def variance(self, f: float, n: int, attribute: int) -> float:
        """Return the variance of one attribute's estimated frequency at true frequency f, with n contributors.

        If each contributor reports only one attribute, it is the variance with the expected n/d reports. The oracle's
        noise is then increased by f (1-f) (d-1)/n, because the reporters are sampled from the contributors without
        replacement.
        """
        oracle, turns = self.oracles[self._checked_attribute(attribute)], self.turns
        return oracle.variance(f, n) * turns + f * (1 - f) * (turns - 1) / n

    def covariance(self, f: ArrayLike, n: int, attribute: int, values: ArrayLike | None = None) -> Floats:
        """Return the covariance matrix of one attribute's estimated frequencies among n contributors, float64[s, s].

        See `LinearOracle.covariance`. The diagonal contains the result of `variance`, even if each contributor reports
        only one attribute.

        Parameters
        ----------
        f : float[k_j]
            True frequencies of the attribute's values.
        n : int
            Number of all contributors, whichever attributes they report.
        attribute : int
            Index of the attribute.
        values : int[s], optional
            Codes of the rows and columns of the matrix. By default all.
        """
        oracle, turns = self.oracles[self._checked_attribute(attribute)], self.turns
        noise, held = oracle.covariance(f, n, values) * turns, np.asarray(f, dtype=np.float64)
        codes = np.arange(len(held)) if values is None else np.asarray(values)
        own = np.where(codes[:, None] == codes, held[codes, None], 0.0)
        return noise + (own - np.outer(held[codes], held[codes])) * ((turns - 1) / n)

    def linear_variance(self, weights: ArrayLike, f: ArrayLike, n: int, attribute: int) -> float:
        """Return the variance of sum_v weights[v] f^(v) for one attribute with n contributors; see `covariance`."""
        oracle, turns = self.oracles[self._checked_attribute(attribute)], self.turns
        w, held = np.asarray(weights, dtype=np.float64), np.asarray(f, dtype=np.float64)
        noise = oracle.linear_variance(w, held, n) * turns
        return noise + float((w * w) @ held - (w @ held) ** 2) * (turns - 1) / n

    def _attribute_ratio(self, attribute: int) -> None:  # noqa: ARG002
        return None

    def _influence(self, targets: int, attribute: int) -> Influence | None:
        # Malicious contributors choose which attribute they report, while only one report in `turns` is about it.
        found = self.oracles[attribute].influence(targets)
        return found and Influence(found.up * self.turns, found.down * self.turns)


# ---------------------------------------------------------------- layout of a report


class FullRecords(RecordMechanism[NDArray[Any]]):
    """A mechanism whose report is a row with all attributes, laid out as codes or as packed bits."""

    report_type = staticmethod(np.asarray)

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Return the place of each attribute in a row."""

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One row of codes or of packed bits for each report."""
        return (self.layout.field,)

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return self.layout.bits

    def _product(self) -> NDArray[Any]:
        """Return every combination of the attributes' reports once, with the last attribute varying fastest."""
        self._check_channel(1, self.layout.outputs)
        return self.layout.combinations


class HiddenRecords(FullRecords):
    """A mechanism that hides the sampled attribute, so the collector uses all attributes of every row."""

    def reported_attribute(self, reports: Any) -> NDArray[np.int64] | None:  # noqa: ARG002
        return None

    def about(self, reports: Any, attribute: int) -> NDArray[Any]:
        return self.layout.part(reports, attribute)

    @abstractmethod
    def support_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return from an aggregate's counts how many reports support each value, attribute by attribute."""


class EveryAttribute(DirectRecords[NDArray[Any]], HiddenRecords, TellsAnswers):
    """A mechanism with which contributors report every attribute, each through its own pure oracle."""

    reveals = "all"
    turns = 1
    related_attributes = MAX_RELATED

    @property
    @abstractmethod
    def oracles(self) -> tuple[CountingOracle[Any], ...]: ...

    @property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute: a report supports the true value with p, and any other value with q."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def _likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:
        return ReportLikelihood.product([self.oracles[j].likelihood(self.about(reports, j)) for j in attributes])

    def _listed_likelihood(self, attributes: tuple[int, ...]) -> ReportLikelihood | None:
        parts = [part for j in attributes if (part := self.oracles[j].listed_likelihood()) is not None]
        if len(parts) < len(attributes) or prod(len(part.relative) for part in parts) > MAX_LISTED:
            return None
        return ReportLikelihood.every_pair(parts)

    def _indicators(self, reports: Any, attributes: tuple[int, ...]) -> ReportIndicators:
        return ReportIndicators.product([self.oracles[j].indicators(self.about(reports, j)) for j in attributes])

    def by_attribute(self, aggregate: Aggregate) -> tuple[Aggregate, ...]:
        self.check(aggregate)
        counts = self.support_counts(aggregate.counts)
        return tuple(
            Aggregate(oracle, counts[place], aggregate.n)
            for oracle, place in zip(self.oracles, stretches(self.sizes), strict=True)
        )


# ---------------------------------------------------------------- counts of an aggregate


class CountedRecords(HiddenRecords):
    """A mechanism whose aggregate counts how many reports support each value, attribute by attribute."""

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        return self.layout.tally(reports)

    @property
    def state_size(self) -> int:
        """Number of counters: one for each value of every attribute."""
        return sum(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        check_parts(self.oracles, counts, [n] * len(self.sizes))

    def support_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return counts


# ---------------------------------------------------------------- facts for a rehearsal


class SimulatedByRecord(RecordMechanism[Reports]):
    """A mechanism with reports whose parts depend on each other, so rehearsals simulate whole records."""

    simulates = "records"

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with given records, without reports; its distribution is exact.

        Parameters
        ----------
        records : int[r, d]
            Records.
        counts : int[r]
            Number of contributors who hold each record.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If a record or a count is out of range.
        """
        rows = checked_records(records, self.sizes)
        held = checked_counts(counts, len(rows))
        return Aggregate(self, self._simulate(rows, held, rng), int(held.sum()))

    @abstractmethod
    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Draw the state int64[state_size] of an aggregate in which held[r] contributors hold each of records[r, d]."""


class SimulatedByMarginal(CountedRecords):
    """A mechanism that randomises every attribute independently, so rehearsals need only marginal counts.

    For fixed true records, the counts of two attributes are independent, even if the attributes are correlated.
    """

    simulates = "marginals"

    def simulate_aggregate(self, counts: Sequence[ArrayLike], rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with given marginal counts, without reports; its distribution is exact.

        Parameters
        ----------
        counts : sequence of int[k_j]
            For each attribute, the number of contributors who hold each value. All sums are equal.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts do not fit the domains, or their sums differ.
        """
        if len(counts) != len(self.sizes):
            raise InvalidInputError(
                f"counts must have one array for each of the {len(self.sizes)} attributes, got {len(counts)}"
            )
        marginals = [checked_counts(given, size) for given, size in zip(counts, self.sizes, strict=True)]
        totals = [int(marginal.sum()) for marginal in marginals]
        if len(set(totals)) > 1:
            raise InvalidInputError(f"counts must have the same sum for every attribute, got the sums {quoted(totals)}")
        parts = [oracle.simulate_aggregate(own, rng) for oracle, own in zip(self.oracles, marginals, strict=True)]
        return Aggregate(self, np.concatenate([part.counts for part in parts]), totals[0])


def is_records(mechanism: object) -> TypeIs[RecordMechanism[Any]]:
    """Return whether this is a mechanism for records, not one for a single attribute or another client."""
    return isinstance(mechanism, RecordMechanism)


def is_direct(mechanism: object) -> TypeIs[DirectRecords[Any]]:
    """Return whether a records mechanism's aggregate holds an aggregate of each attribute's oracle."""
    return isinstance(mechanism, DirectRecords)
