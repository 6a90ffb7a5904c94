"""Root base class of all mechanisms, with the code that they have in common.

Every member is data with a default, is abstract, or has a body that no class overrides (a test checks that). No code
finds out something about a mechanism by looking whether it has a member. Contributors randomise, the collector
aggregates, and the analyst estimates. A mechanism is a frozen dataclass of public parameters that configures all three.

Three groups of classes derive from this base: `oracles` for one attribute (`FrequencyOracle`, `PureOracle`), `records`
for d attributes (`RecordMechanism`), and mechanisms whose random draws a dealer deals (`DealtMechanism`).
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
        Name of the column. If reports have several fields, it is also the name of the field in their NamedTuple.
    dtype : numpy dtype name
        Type of the elements, for instance "uint8".
    width : int or None
        Number of elements per report for arrays of shape (n, width); None for shape (n,).
    """

    name: str
    dtype: str
    width: int | None = None


class ValidReports(NamedTuple):
    """The valid reports of a batch: those that a client can have produced.

    Attributes
    ----------
    reports : reports
        The valid reports, in their order.
    rejected : int
        Number of reports skipped.
    first_error : str
        Message that says what is wrong with the first skipped report and names its row, counted from 1. Empty if no
        report was skipped.
    """

    reports: Any
    rejected: int
    first_error: str


class SkipsInvalid(ABC):
    """A mechanism that recognises impossible reports one by one, so that `Mechanism.valid_reports` can skip them."""

    @abstractmethod
    def _valid_rows(self, reports: Any) -> tuple[NDArray[np.bool_], str]:
        """Return which rows a client can have produced, bool[n], and a message about the first other row."""


class ChecksRows(ABC):
    """A mechanism whose `Mechanism.check_reports` checks reports without counting them, which is faster."""

    @abstractmethod
    def _check_rows(self, reports: Any) -> object:
        """Raise the errors that `_tally` raises."""


class CraftedReports(ABC):
    """A mechanism with a known influence of one crafted report on an estimate (`Mechanism.influence`)."""

    @abstractmethod
    def _influence(self, targets: int, attribute: int) -> Influence | None:
        """Return the influence of one crafted report on the sum of several frequencies, or None if it is not known."""


class Mechanism(ABC, Generic[Reports]):
    """A mechanism is a frozen dataclass of public parameters, the same for contributor, collector and analyst.

    Attributes
    ----------
    name : str
        Name of the mechanism in the literature. Specifications contain this name.
    card : Card
        Card that says when to use the mechanism and what the mechanism costs. Tables and choices are generated from
        cards.
    epsilon : float or Fraction
        Declared budget of the whole contributor, in nats.
    estimators : tuple of str
        Names of further estimators besides `estimate`. Each is a method that takes an aggregate.
    takes_text : bool
        Whether inputs are texts instead of codes.
    dealt : bool
        Whether every contributor needs a share from a dealer.
    deal_id : str or None
        Name of the deal, if the mechanism has a dealer.
    stated : tuple of str
        Fields that a specification must state, because computing their defaults takes long.
    linear : bool
        Whether `linear_variance` gives the error of every weighted sum of an attribute's frequencies.
    refusal : str
        Reason why no collection may use the mechanism. Empty if a collection may.
    related_attributes : int
        Largest number of attributes that one report links. 1 if the relation between attributes cannot be learned.
    counts_pairs : bool
        True if an aggregate counts how often each pair of codes was reported, and the reports contain no other
        information about two attributes.
    untold : str
        Reason why there is no `likelihood`, and what to do instead.
    constructor : str
        Name of the class method that builds the mechanism from its domain and a budget. Mechanisms with other
        parameters have such a method, for instance RAPPOR with f, and JRR with p and rho. Empty if the class itself
        takes a budget.
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

    # ---------------------------------------------------------------- inputs

    @property
    @abstractmethod
    def domain(self) -> tuple[int, ...]:
        """Domain size of every attribute; (0,) for open text."""

    @property
    @abstractmethod
    def records(self) -> bool:
        """Return whether inputs are records int[n, d], with one estimate for each attribute, even if d = 1."""

    # ---------------------------------------------------------------- three steps

    def aggregate(self, reports: Any) -> Aggregate:
        """Collector: add up reports; the size of the result does not depend on their number.

        Parameters
        ----------
        reports : batch of n reports
            Reports from contributors, in the form that `report_fields` describes.

        Raises
        ------
        InvalidReportError
            If the batch has a wrong dtype or shape, or no client can have produced one of its reports; the message
            names its row.
        TooLargeError
            If the mechanism needs too many counters.
        """
        return Aggregate(self, *self._tally(reports))

    @abstractmethod
    def _tally(self, reports: Any) -> tuple[NDArray[np.integer[Any]], int]:
        """Check reports, and return the sum int[state_size] that the collector keeps and their number."""

    def check_reports(self, reports: Any) -> None:
        """Collector: raise InvalidReportError whenever `aggregate` would, without adding up the reports.

        Parameters
        ----------
        reports : batch of n reports
            Reports from contributors, in the form that `report_fields` describes.

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
        """Collector: return the reports of a batch that a client can have produced.

        The method `aggregate` refuses a batch with such a report, because an analyst must know whether reports were
        skipped. Both methods refuse a batch with a wrong type, dtype or shape, because such a batch is the collector's
        mistake.

        Raises
        ------
        InvalidReportError
            If the batch as a whole is malformed.
        InvalidParameterError
            If the mechanism cannot recognise impossible reports one by one (`can_skip_invalid`).
        """
        if not isinstance(self, SkipsInvalid):
            raise not_available(
                "skipping invalid reports", self.name, "leave out the files that contain invalid reports"
            )
        valid, first_error = self._valid_rows(reports)
        rejected = int(np.count_nonzero(~valid))
        if not rejected:
            return ValidReports(reports, 0, "")
        kept = (np.asarray(column)[valid] for column in (reports if isinstance(reports, tuple) else (reports,)))
        return ValidReports(self.report_type(*kept), rejected, first_error)

    def named_estimator(self, name: str | None) -> Callable[..., Any]:
        """Analyst: return the estimator with the given name; None means `estimate`.

        Raises
        ------
        InvalidParameterError
            If the mechanism lists no estimator with this name.
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
        """Return how far one crafted report can move the total estimated frequency of several targets.

        The result has two numbers, `up` and `down`. With n contributors, one report adds at most `up`/n and at least
        `down`/n to the sum of the targets' estimated frequencies. Organisers read these numbers before they choose a
        mechanism, because some people may send false reports. If contributors choose the hash function, as in sketches,
        one report can put all targets into one cell.

        Parameters
        ----------
        targets : int
            Number of values that the malicious contributor wants to raise or lower, 1 <= targets <= k.
        attribute : int
            For records: index of the attribute.

        Returns
        -------
        Influence or None
            None if the influence is not determined.

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

    # ---------------------------------------------------------------- likelihood of one report

    def likelihood(self, reports: Any, attributes: Sequence[int] = (0,)) -> ReportLikelihood:
        """Analyst: return P(report | answer) of every report, for every code of an attribute.

        Models with covariates are fitted with this likelihood. Frequency oracles compute it from the values that a
        report supports, or from `channel`. Mechanisms for records have it for the attributes that a report is about.

        Parameters
        ----------
        reports : batch of n reports
            Reports that contributors sent.
        attributes : sequence of int
            Index of one attribute, or indexes of several attributes for the likelihood of all combinations of their
            codes.

        Raises
        ------
        InvalidReportError
            If no client can have produced a report.
        NotIdentifiedError
            If single reports have no likelihood, or a report does not link these attributes.
        TooLargeError
            If the necessary channel is too large.

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=3, epsilon=1.0).likelihood([0, 2]).relative.round(3)
        array([[1.   , 0.368, 0.368],
               [0.368, 0.368, 1.   ]])
        """
        return self._teller(attributes)._likelihood(reports, tuple(attributes))

    def indicators(self, reports: Any, attributes: Sequence[int] = (0,)) -> ReportIndicators:
        """Analyst: return the amount that each report adds to the estimated number of holders of every code.

        The expected amount is 1 for the contributor's own code and 0 for all other codes. A single amount may be
        negative. Parameters and errors are the same as for `likelihood`.

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=3, epsilon=1.0).indicators([0, 2]).values.round(3)
        array([[ 2.164, -0.582, -0.582],
               [-0.582, -0.582,  2.164]])
        """
        return self._teller(attributes)._indicators(reports, tuple(attributes))

    def listed_likelihood(self, attributes: Sequence[int] = (0,)) -> ReportLikelihood | None:
        """Analyst: return the likelihoods of all possible reports about an attribute, or None if there are too many.

        For each answer, P(report | answer) sums to one over these reports. Parameters and errors are the same as for
        `likelihood`. The result is None if there are more than 256 possible reports, or if the mechanism has a public
        hash function.

        Examples
        --------
        >>> from deniable import GRR
        >>> GRR(k=2, epsilon=1.0).listed_likelihood().probabilities.sum(axis=0).round(9)
        array([1., 1.])
        """
        return self._teller(attributes)._listed_likelihood(tuple(attributes))

    def _teller(self, attributes: Sequence[int]) -> TellsAnswers:
        """Return the mechanism if its reports contain information about these attributes together."""
        for attribute in attributes:
            checked_integer("attribute", attribute, 0, len(self.domain) - 1)
        if not isinstance(self, TellsAnswers):
            raise NotIdentifiedError(f"models are not available for reports of {self.name}: {self.untold}")
        if len(attributes) > self.related_attributes:
            raise NotIdentifiedError(
                f"attributes must list at most {self.related_attributes} names, got {len(attributes)} names: a report "
                f"of {self.name} does not combine more attributes. To relate attributes, collect with the mechanism "
                "SPL or PairSample"
            )
        return self

    @property
    def dealt_types(self) -> DealtTypes | None:
        """Joint distribution of the types of share that two contributors receive; None if reports are independent."""
        return self._dealt_together if isinstance(self, RelatedReports) else None

    # ---------------------------------------------------------------- guarantee and exact distribution

    @abstractmethod
    def privacy(self) -> Guarantee:
        """Return the guarantee: bounds for every adversary, and whether each bound is exact."""

    def _local_guarantee(
        self, *remarks: str, epsilon: float | None = None, per_attribute: tuple[float, ...] | None = None
    ) -> Guarantee:
        """Return the guarantee of a plain local mechanism, with the declared epsilon or the given tight epsilon."""
        tight = float(self.epsilon) if epsilon is None else epsilon
        return local_guarantee(tight, self.implemented_epsilon(), per_attribute, remarks)

    @abstractmethod
    def implemented_ratio(self) -> Fraction | float:
        """Exact largest likelihood ratio between two answers, computed from the implemented thresholds.

        A Fraction, or the float infinity if there is no bound, which happens only for mechanisms with a dealer.
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
        """Return P(report | input) as Fractions. Rows are in the order of codes or records, columns as in `outputs`."""

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | input), shape (inputs, outputs): float64, or if `exact`, Fractions whose rows sum to one.

        The inputs are all codes, or all records in lexicographic order; the last attribute changes fastest.

        Raises
        ------
        TooLargeError
            If the channel would have more than 2^22 cells.
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
        """Function that builds a batch of reports from the arrays of its fields, in their order."""

    @property
    @abstractmethod
    def report_fields(self) -> tuple[ReportField, ...]:
        """Fields in which a batch of reports is stored. Several fields make a NamedTuple in this order."""

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
        """Raise DamagedStateError if one pass over the counts shows that no n reports can have them.

        If two states pass this check, their sum must also pass, unless the sum has more reports than a deal allows.
        """

    def check(self, aggregate: Aggregate) -> None:
        """Raise MismatchError unless the aggregate came from this mechanism, EmptyAggregateError if it is empty."""
        checked_kind("aggregate", aggregate, Aggregate)
        # The aggregate's mechanism is mostly this very object, whose parameters need no comparison.
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
    """Return a mechanism unchanged, or raise InvalidParameterError for anything else."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameterError(
            f"mechanism must be an object such as GRR(k=3, epsilon=1.0), got mechanism={quoted(mechanism)}"
        )
    return mechanism
