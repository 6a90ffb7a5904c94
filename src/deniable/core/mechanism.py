"""The root base class of all mechanisms: their common code. Each mechanism is one final class with the rest.

Every member is data with a default, is abstract, or has a body that no class overrides (a test holds that). Nothing
about a mechanism is found by looking whether it has a member. Actors and methods: contributors randomise, the collector
aggregates, the analyst estimates; a mechanism is a frozen dataclass of public parameters that configures all three.

Below this base stand `oracles` for one attribute (`FrequencyOracle`, `PureOracle`), `records` for d attributes
(`RecordMechanism`), and mechanisms whose coins somebody deals (`DealtMechanism`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import checked_integer, checked_kind
from deniable.core.privacy import Guarantee, local_guarantee
from deniable.core.report_likelihood import (
    DealtTypes,
    RelatedReports,
    ReportIndicators,
    ReportLikelihood,
    TellsAnswers,
)
from deniable.core.state import Counts
from deniable.core.support_counts import Influence
from deniable.core.thresholds import log_up
from deniable.errors import (
    EmptyAggregateError,
    InvalidParameterError,
    MismatchError,
    NotIdentifiedError,
    TooLargeError,
    not_available,
    quoted,
)

Reports = TypeVar("Reports")


MAX_CHANNEL_CELLS = 1 << 22
"""Largest channel matrix (inputs x outputs) that `channel()` enumerates."""


@dataclass(frozen=True)
class ReportField:
    """One column of a batch of reports: how it is stored in a file.

    Parameters
    ----------
    name : str
        Column name; the attribute of the reports' NamedTuple where reports have several fields.
    dtype : numpy dtype name
        Element type, for instance "uint8".
    width : int or None
        Elements per report for arrays of shape (n, width); None for shape (n,).
    """

    name: str
    dtype: str
    width: int | None = None


class ValidReports(NamedTuple):
    """Rest of a batch without the reports that no client can have produced.

    Attributes
    ----------
    reports : reports
        The valid reports, in their order.
    rejected : int
        Number of reports skipped.
    first_error : str
        What is wrong with the first of them, naming its row (1-based); "" if there is none.
    """

    reports: Any
    rejected: int
    first_error: str


class SkipsInvalid(ABC):
    """A mechanism that tells impossible reports one by one: `Mechanism.valid_reports` sets them aside."""

    @abstractmethod
    def _valid_rows(self, reports: Any) -> tuple[NDArray[np.bool_], str]:
        """Return which rows a client can have produced, bool[n], and what is wrong with the first of the others."""


class ChecksRows(ABC):
    """A mechanism of which a look at the rows takes less than their sum: `Mechanism.check_reports` asks for no sum."""

    @abstractmethod
    def _check_rows(self, reports: Any) -> object:
        """Raise what `_tally` raises."""


class CraftedReports(ABC):
    """A mechanism for which it was worked out what one crafted report does to an estimate: `Mechanism.influence`."""

    @abstractmethod
    def _influence(self, targets: int, attribute: int) -> Influence | None:
        """Return what one crafted report does to the sum of so many frequencies, None where nobody knows."""


class Mechanism(ABC, Generic[Reports]):
    """A frozen dataclass of public parameters that configures contributor, collector and analyst alike.

    Attributes
    ----------
    name : str
        The field's name, which specifications carry.
    card : Card
        When to take it and what it costs; tables and choices are generated from cards.
    epsilon : float or Fraction
        The whole contributor's budget, as declared, in nats.
    estimators : tuple of str
        Names of its estimators besides `estimate`, each a method that takes an aggregate.
    takes_text : bool
        Whether inputs are texts instead of codes.
    dealt : bool
        Whether every contributor needs a share from a dealer.
    deal_id : str or None
        Name of the deal, where there is one.
    stated : tuple of str
        Fields that a specification must state, because finding their defaults takes long.
    linear : bool
        Whether `linear_variance` tells the error of any weighted sum of an attribute's frequencies.
    refusal : str
        Why no collection may use it; empty if one may.
    related_attributes : int
        Most attributes of which one report says something together; 1 where their relation cannot be learned.
    counts_pairs : bool
        Whether an aggregate counts how often each pair of codes was reported, all that reports say of two attributes.
    untold : str
        Why there is no `likelihood`, and what to do instead.
    constructor : str
        The class method that builds it from its domain and a budget, where its own parameters are others, as RAPPOR's
        f or JRR's p and rho; the class itself if empty.
    """

    name: str
    card: ClassVar[Card]
    epsilon: float | Fraction
    estimators: ClassVar[tuple[str, ...]] = ()
    takes_text: ClassVar[bool] = False
    dealt: ClassVar[bool] = False
    deal_id: str | None = None
    stated: ClassVar[tuple[str, ...]] = ()
    linear: ClassVar[bool] = False
    refusal: str = ""
    related_attributes: ClassVar[int] = 1
    counts_pairs: ClassVar[bool] = False
    untold: ClassVar[str] = "a report has no likelihood of its own; collect with SMP, SPL or PairSample to fit models"
    constructor: ClassVar[str] = ""

    # ---------------------------------------------------------------- what is asked

    @property
    @abstractmethod
    def domain(self) -> tuple[int, ...]:
        """Domain size of every attribute; (0,) for open text."""

    @property
    @abstractmethod
    def records(self) -> bool:
        """Return whether inputs are records int[n, d] and estimates are per attribute, also where d = 1."""

    # ---------------------------------------------------------------- three steps

    def aggregate(self, reports: Any) -> Aggregate:
        """Collector: sum reports; the result's size does not depend on their number.

        Parameters
        ----------
        reports : batch of n reports
            What contributors sent, as `report_fields` says.

        Raises
        ------
        InvalidReportError
            If the batch has another dtype or shape, or no client can have produced a report, naming its row.
        TooLargeError
            If so many counters cannot be set up.
        """
        return Aggregate(self, *self._tally(reports))

    @abstractmethod
    def _tally(self, reports: Any) -> tuple[NDArray[np.integer[Any]], int]:
        """Check reports, and return the sum int[state_size] that the collector keeps and their number."""

    def check_reports(self, reports: Any) -> None:
        """Collector: raise InvalidReportError where `aggregate` would, without an aggregate.

        Parameters
        ----------
        reports : batch of n reports
            What contributors sent, as `report_fields` says.

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=3, epsilon=1.0).check_reports([0, 2, 3])
        Traceback (most recent call last):
            ...
        deniable.errors.InvalidReportError: report must be in 0..2, got report=3 in row 3
        """
        if isinstance(self, ChecksRows):
            self._check_rows(reports)
        else:
            self._tally(reports)

    @abstractmethod
    def estimate(self, aggregate: Aggregate) -> Any:
        """Analyst: return an Estimate (one attribute) or a RecordEstimate (records).

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """

    @property
    def can_skip_invalid(self) -> bool:
        """True if `valid_reports` can tell impossible reports one by one."""
        return isinstance(self, SkipsInvalid)

    def valid_reports(self, reports: Reports) -> ValidReports:
        """Collector: skip the reports that no contributor's client can have produced.

        `aggregate` refuses a batch with such a report, because who counts what is left must know that something was.
        A batch of the wrong type, dtype or shape is refused here too: that is a mistake of the collector's.

        Raises
        ------
        InvalidReportError
            If the batch as a whole is malformed.
        InvalidParameterError
            If the mechanism cannot tell (`can_skip_invalid`).
        """
        if not isinstance(self, SkipsInvalid):
            raise not_available("skipping invalid reports", self.name, "leave out the files that contain them")
        valid, first_error = self._valid_rows(reports)
        rejected = int(np.count_nonzero(~valid))
        if not rejected:
            return ValidReports(reports, 0, "")
        kept = (np.asarray(column)[valid] for column in (reports if isinstance(reports, tuple) else (reports,)))
        return ValidReports(self.report_type(*kept), rejected, first_error)

    def named_estimator(self, name: str | None) -> Callable[..., Any]:
        """Analyst: return the estimator of that name, `estimate` for None.

        Raises
        ------
        InvalidParameterError
            If the mechanism lists no estimator of that name.
        """
        if name is None:
            return self.estimate
        if name not in self.estimators:
            choices = f"one of {', '.join(self.estimators)} for {self.name}"
            rule = choices if self.estimators else f"left out, because {self.name} has only one"
            raise InvalidParameterError(f"estimator must be {rule}, got estimator={quoted(name)}")
        found: Callable[..., Any] = getattr(self, name)
        return found

    def influence(self, targets: int = 1, attribute: int = 0) -> Influence | None:
        """Return what one crafted report does to the estimated frequency of so many targets together.

        Of n contributors it moves their sum by at most `up`/n and at least `down`/n: what an organiser reads before
        choosing a mechanism for people some of whom may lie. Where contributors choose the hash function, as in
        sketches, one may put all targets into one cell.

        Parameters
        ----------
        targets : int
            Number of values that the contributor wants to raise, or to lower, 1 <= targets <= k.
        attribute : int
            Of which attribute, for records.

        Returns
        -------
        Influence or None
            None where it is not determined.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds.

        Examples
        --------
        >>> from deniable import GRR, OUE
        >>> [round(end, 2) for end in GRR(k=100, epsilon=1.0).influence()]
        [58.62, -0.58]
        >>> round(OUE(k=100, epsilon=1.0).influence().up, 2)
        3.16
        """
        j = checked_integer("attribute", attribute, 0, len(self.domain) - 1)
        targets = checked_integer("targets", targets, 1, self.domain[j] or None)
        return self._influence(targets, j) if isinstance(self, CraftedReports) else None

    # ---------------------------------------------------------------- what one report says

    def likelihood(self, reports: Any, attributes: Sequence[int] = (0,)) -> ReportLikelihood:
        """Analyst: return P(report | answer) of every report, for every code of an attribute.

        It is what models with covariates are fitted by. Frequency oracles have it from what a report supports, or from
        `channel`; mechanisms for records say it of the attributes that a report is about.

        Parameters
        ----------
        reports : batch of n reports
            What contributors sent.
        attributes : sequence of int
            One attribute, or several for the likelihood of all combinations of their codes.

        Raises
        ------
        InvalidReportError
            If no client can have produced a report.
        NotIdentifiedError
            If a report has no likelihood of its own, or says nothing about these attributes together.
        TooLargeError
            If it needs a channel that is too large.

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=3, epsilon=1.0).likelihood([0, 2]).relative.round(3)
        array([[1.   , 0.368, 0.368],
               [0.368, 0.368, 1.   ]])
        """
        return self._teller(attributes)._likelihood(reports, tuple(attributes))

    def indicators(self, reports: Any, attributes: Sequence[int] = (0,)) -> ReportIndicators:
        """Analyst: return what each report adds to the estimated number of holders of every code.

        The mean of a number is 1 if the code is the contributor's, else 0, whatever the code; it may be negative.
        Parameters and errors are those of `likelihood`.

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=3, epsilon=1.0).indicators([0, 2]).values.round(3)
        array([[ 2.164, -0.582, -0.582],
               [-0.582, -0.582,  2.164]])
        """
        return self._teller(attributes)._indicators(reports, tuple(attributes))

    def listed_likelihood(self, attributes: Sequence[int] = (0,)) -> ReportLikelihood | None:
        """Analyst: return the likelihood of every report that there can be about an attribute; None of too many.

        P(report | answer) sums to one over them. Parameters and errors are those of `likelihood`; at most 256 reports
        are listed, and none where a report has a public hash function.

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=2, epsilon=1.0).listed_likelihood().probabilities.sum(axis=0).round(9)
        array([1., 1.])
        """
        return self._teller(attributes)._listed_likelihood(tuple(attributes))

    def _teller(self, attributes: Sequence[int]) -> TellsAnswers:
        """Return the mechanism, if its reports say something about these attributes together."""
        for attribute in attributes:
            checked_integer("attribute", attribute, 0, len(self.domain) - 1)
        if not isinstance(self, TellsAnswers):
            raise NotIdentifiedError(f"{self.name}: {self.untold}")
        if len(attributes) > self.related_attributes:
            raise NotIdentifiedError(
                f"attributes must list at most {self.related_attributes}, got {len(attributes)}: a report of "
                f"{self.name} does not combine more attributes. To relate attributes, collect with SPL or PairSample"
            )
        return self

    @property
    def dealt_types(self) -> DealtTypes | None:
        """Joint law of two contributors' dealt types; None where reports are independent."""
        return self._dealt_together if isinstance(self, RelatedReports) else None

    # ---------------------------------------------------------------- guarantee and exact law

    @abstractmethod
    def privacy(self) -> Guarantee:
        """Return what is guaranteed, to whom, and how surely."""

    def _local_guarantee(
        self, *remarks: str, epsilon: float | None = None, per_attribute: tuple[float, ...] | None = None
    ) -> Guarantee:
        """Return the guarantee of a plain local mechanism: the declared epsilon, or the tight one given."""
        tight = float(self.epsilon) if epsilon is None else epsilon
        return local_guarantee(tight, self.implemented_epsilon(), per_attribute, remarks)

    @abstractmethod
    def implemented_ratio(self) -> Fraction | float:
        """Largest likelihood ratio between two contributors' answers, exact, from the implemented thresholds.

        Infinite, the one float, where a view has no bound: of dealt mechanisms alone.
        """

    def implemented_epsilon(self) -> float:
        """Return the natural logarithm of `implemented_ratio`, rounded up; never more than the declared epsilon."""
        return log_up(self.implemented_ratio())

    @abstractmethod
    def outputs(self) -> Reports:
        """Return every possible report once, in the order of the columns of `channel`.

        Raises
        ------
        TooLargeError
            If the channel would have more than 2^22 cells.
        """

    @abstractmethod
    def _channel(self) -> NDArray[Any]:
        """Return P(report | input) as Fractions, rows in the order of codes or records, columns as `outputs`."""

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | input), shape (inputs, outputs): float64, or Fractions that sum to exactly one if `exact`.

        Inputs are all codes, or all records in lexicographic order, the last attribute fastest.

        Raises
        ------
        TooLargeError
            If it would have more than 2^22 cells.
        """
        matrix = self._channel()
        return matrix if exact else matrix.astype(np.float64)

    def _check_channel(self, inputs: int, outputs: int) -> None:
        """Raise TooLargeError if a channel of this size has more cells than MAX_CHANNEL_CELLS."""
        check_channel_size(inputs, outputs, repr(self))

    # ---------------------------------------------------------------- reports, state and files

    @property
    @abstractmethod
    def report_type(self) -> Callable[..., Any]:
        """Builds a batch of reports from its fields' arrays, in order."""

    @property
    @abstractmethod
    def report_fields(self) -> tuple[ReportField, ...]:
        """Storage of a batch of reports; several fields make a NamedTuple in this order."""

    @property
    @abstractmethod
    def report_bits(self) -> float:
        """Bits that one report needs on the wire."""

    @property
    @abstractmethod
    def state_size(self) -> int:
        """Length of the integer vector that an aggregate keeps."""

    @abstractmethod
    def check_state(self, counts: Counts, n: int) -> None:
        """Raise DamagedStateError unless n reports can have these counts: the strongest laws that one pass can check.

        Sums of states that pass must pass too, unless there are more reports than a deal has.
        """

    def check(self, aggregate: Aggregate) -> None:
        """Raise MismatchError unless the aggregate came from this mechanism, EmptyAggregateError if it is empty."""
        checked_kind("aggregate", aggregate, Aggregate)
        # It mostly is this very one, whose parameters need no comparison.
        if aggregate.mechanism is not self and aggregate.mechanism != self:
            raise MismatchError(f"the aggregate came from {quoted(aggregate.mechanism)}, not from {quoted(self)}")
        if aggregate.n == 0:
            raise EmptyAggregateError(
                f"an estimate needs at least one report, got an empty aggregate of {quoted(self)}"
            )


def check_channel_size(inputs: int, outputs: int, what: str) -> None:
    """Raise TooLargeError if a channel has more cells than MAX_CHANNEL_CELLS."""
    if inputs * outputs > MAX_CHANNEL_CELLS:
        raise TooLargeError(
            f"the channel of {what} must have at most {MAX_CHANNEL_CELLS} cells, got {inputs} inputs x {outputs} "
            "outputs"
        )


def checked_mechanism(mechanism: object) -> Mechanism[Any]:
    """Return a mechanism as it is, or raise InvalidParameterError for anything else."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameterError(
            f"mechanism must be an object such as GRR(k=3, epsilon=1.0), got mechanism={quoted(mechanism)}"
        )
    return mechanism
