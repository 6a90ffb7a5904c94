"""Audit of a whole collection, which runs its client for each attribute; all findings hold together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_probability
from deniable.core.randomness import Randomness
from deniable.core.result import HIDDEN, Result
from deniable.errors import DeniableError, InvalidParameterError, quoted
from deniable.leakage.adversary.auditor import AuditResult, Progress, audit
from deniable.oracles.oracle import FrequencyOracle
from deniable.records.pair_sample import PairSample
from deniable.records.record import RecordMechanism, is_records
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema


@dataclass(frozen=True, eq=False)
class AuditSummary(Result):
    """Results of audits of several clients, as `audit_collection` and `audit_subjects` return them.

    Parameters
    ----------
    alpha : float
        Probability of a wrong accusation, over all clients together.
    found : tuple of (str, AuditResult)
        Result for each client.
    """

    format = "deniable audit"
    also: ClassVar = {"refuted": "refuted", "clients": "clients"}

    alpha: float
    found: tuple[tuple[str, AuditResult], ...] = field(metadata=HIDDEN)

    @property
    def refuted(self) -> bool:
        """Return whether any claim is refuted."""
        return any(result.exceeds_claim for _, result in self.found)

    @property
    def clients(self) -> list[dict[str, Any]]:
        """The results as plain data."""
        return [{"client": name, **result.to_dict()} for name, result in self.found]


@dataclass(frozen=True)
class Subject:
    """Client to be audited.

    Parameters
    ----------
    name : str
        Name of the client in findings.
    client : object with ``randomize(inputs, rng)``
        Client that is run.
    claimed : float or None
        Epsilon that the client claims; by default the one that the client itself states.
    k : int or None
        Number of answers that the client accepts, codes 0 to k-1.
    reports_of : mechanism, optional
        Mechanism that reads the client's reports.
    """

    name: str
    client: Any
    claimed: float | None
    k: int | None
    reports_of: Any = None


def collection_subjects(collection: Collection, names: Sequence[str] | None) -> list[Subject]:
    """Return one subject per attribute of a collection, or those that are named."""
    schema, mechanism = collection.schema, collection.mechanism
    schema.check_listed(
        "an audit compares listed categories: make the collection with a list of categories to audit it"
    )
    if collection.dealt:
        raise InvalidParameterError(
            f"an audit runs a single client, but the guarantee of {mechanism.name} is about all reports of a deal "
            "together. Instead, read the proof of this guarantee and the enumeration in docs/theory/quota_rr.md"
        )
    unknown = [name for name in names or () if name not in schema.names]
    if unknown:
        raise InvalidParameterError(f"attributes must be among {', '.join(schema.names)}, got {quoted(unknown[0])}")
    if is_records(mechanism) and mechanism.reveals == "pairs":
        return _pair_subjects(schema, mechanism, names)
    promised = collection.privacy().per_attribute
    subjects = []
    for j, attribute in enumerate(schema.columns):
        if names is not None and attribute.name not in names:
            continue
        if is_records(mechanism):
            client = AttributeClient(mechanism, j)
            subjects.append(Subject(attribute.name, client, promised[j], attribute.k, client.oracle))
        else:
            subjects.append(Subject(attribute.name, mechanism, promised[0], attribute.k))
    return subjects


class PartClient(ABC):
    """Client that reads one part of a record mechanism's report; all other answers stay the same.

    A contributor who draws at random which part to report is asked again until it is this part. The draw does not
    depend on the answers.
    """

    def __init__(self, mechanism: Any, oracle: FrequencyOracle[Any]) -> None:
        self._mechanism, self.oracle = mechanism, oracle

    @abstractmethod
    def _records(self, inputs: NDArray[Any]) -> NDArray[np.int64]:
        """Return a record for each code of this part."""

    @abstractmethod
    def _told(self, reports: Any) -> NDArray[np.bool_] | None:
        """Return which reports are about this part, None if all are."""

    @abstractmethod
    def _part(self, reports: Any) -> Any:
        """Return what those say of it."""

    def randomize(self, inputs: NDArray[Any], rng: Randomness) -> NDArray[Any]:
        """Return the part of one report per input."""
        records = self._records(inputs)
        result: NDArray[Any] | None = None
        waiting = np.arange(len(records))
        while len(waiting):
            reports = self._mechanism.randomize(records[waiting], rng)
            told, part = self._told(reports), self._part(reports)
            if not isinstance(part, np.ndarray):
                raise InvalidParameterError(
                    "an audit by attribute needs a mechanism in which each report is a single array, got "
                    f"{quoted(self.oracle)}"
                )
            if told is None:
                return part
            if result is None:
                result = np.zeros((len(records), *part.shape[1:]), dtype=part.dtype)
            result[waiting[told]] = part
            waiting = waiting[~told]
        return np.empty(0, dtype=np.uint8) if result is None else result


@final
class AttributeClient(PartClient):
    """Reports of a record mechanism about one attribute."""

    def __init__(self, mechanism: RecordMechanism[Any], attribute: int) -> None:
        super().__init__(mechanism, mechanism.oracles[attribute])
        self._attribute = attribute

    def _records(self, inputs: NDArray[Any]) -> NDArray[np.int64]:
        records = np.zeros((len(inputs), len(self._mechanism.sizes)), dtype=np.int64)
        records[:, self._attribute] = inputs
        return records

    def _told(self, reports: Any) -> NDArray[np.bool_] | None:
        told = self._mechanism.reported_attribute(reports)
        return None if told is None else np.asarray(told == self._attribute)

    def _part(self, reports: Any) -> Any:
        return self._mechanism.about(reports, self._attribute)


@final
class ChoiceClient(PartClient):
    """Reports of `PairSample` about one pair, or one attribute that is drawn alone; an input is the choice's code."""

    def __init__(self, mechanism: PairSample, choice: int) -> None:
        super().__init__(mechanism, mechanism.parts[choice].oracle)
        self._choice = choice

    def _records(self, inputs: NDArray[Any]) -> NDArray[np.int64]:
        part = self._mechanism.parts[self._choice]
        records = np.zeros((len(inputs), len(self._mechanism.sizes)), dtype=np.int64)
        records[:, list(part.attributes)] = np.stack(np.unravel_index(inputs, part.sizes), axis=1)
        return records

    def _told(self, reports: Any) -> NDArray[np.bool_]:
        return np.asarray(reports.choice == self._choice)

    def _part(self, reports: Any) -> Any:
        return self._mechanism.chosen(reports, self._choice)


def _pair_subjects(schema: Schema, mechanism: Any, names: Sequence[str] | None) -> list[Subject]:
    """Return one subject per choice of which an attribute is named."""
    promised, subjects = mechanism.privacy().epsilon, []
    for choice, part in enumerate(mechanism.parts):
        own = [schema.columns[j].name for j in part.attributes]
        if names is None or any(name in names for name in own):
            client = ChoiceClient(mechanism, choice)
            subjects.append(Subject(" x ".join(own), client, promised, part.oracle.k, client.oracle))
    return subjects


def audit_collection(
    collection: Collection, attributes: Sequence[str] | None = None, *, rng: Randomness, alpha: float = 0.01
) -> AuditSummary:
    """Anybody: audit a collection's mechanism, to find out whether it breaks its privacy promise.

    Parameters
    ----------
    collection : Collection
        Collection whose mechanism is audited.
    attributes : sequence of str, optional
        Attributes to audit. By default all.
    rng : Randomness
        Source of random words for the client.
    alpha : float
        Probability of a wrong accusation, over all attributes together; in (0, 1).

    Raises
    ------
    InvalidParameterError
        If an attribute is unknown or open text, or the mechanism's promise is not about single reports.

    Examples
    --------
    >>> from deniable import SPL, Attribute, Schema, SimulationRandomness
    >>> schema = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))
    >>> survey = Collection(schema, SPL(sizes=(2, 2), epsilon=2.0))
    >>> audit_collection(survey, rng=SimulationRandomness(1)).refuted
    False
    """
    return audit_subjects(collection_subjects(collection, attributes), rng=rng, alpha=alpha)


def audit_subjects(
    subjects: Sequence[Subject],
    *,
    rng: Randomness,
    inputs: ArrayLike | None = None,
    samples: int | None = None,
    alpha: float = 0.01,
    progress: Progress | None = None,
) -> AuditSummary:
    """Return the audits of several clients, with parameters as for `audit` and `alpha` for all of them together.

    If there are several clients, errors name the client.
    """
    checked_probability("alpha", alpha, open_interval=True)
    found = []
    for position, subject in enumerate(subjects):

        def report(done: int, total: int, before: int = position) -> None:
            if progress is not None:
                progress(before * total + done, len(subjects) * total)

        try:
            _check_codes(inputs, subject.k)
            result = audit(
                subject.client,
                subject.claimed,
                rng=rng,
                inputs=range(subject.k or 0) if inputs is None else inputs,
                reports_of=subject.reports_of,
                samples=samples,
                alpha=alpha / len(subjects),
                progress=report,
            )
        except DeniableError as error:
            if len(subjects) == 1:
                raise
            raise type(error)(f"{subject.name}: {error}") from error
        found.append((subject.name, result))
    return AuditSummary(alpha, tuple(found))


def _check_codes(inputs: ArrayLike | None, k: int | None) -> None:
    """Refuse inputs that are codes and not in 0..k-1."""
    codes = np.asarray([] if inputs is None else inputs)
    if k is None or codes.ndim != 1 or codes.dtype.kind not in "iu":
        return
    wrong = codes[(codes < 0) | (codes >= k)]
    if len(wrong):
        raise InvalidParameterError(f"inputs must be codes of answers in 0..{k - 1}, got {wrong[0]}")
