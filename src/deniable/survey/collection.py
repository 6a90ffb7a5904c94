"""Collection: the public file that contributors, collector and analyst share, so that they cannot disagree."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from deniable.core.aggregate import Aggregate, short_id as short_id
from deniable.core.checks import checked_integer, checked_kind, settle
from deniable.core.documents import Document, check_version, document_body, document_text, placed, read_document
from deniable.core.estimate import Estimate, RecordEstimate
from deniable.core.mechanism import Mechanism, checked_mechanism
from deniable.core.outputs import write_text
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness
from deniable.core.spec import canonical_json, content_hash, from_spec, to_spec
from deniable.errors import FileFormatError, InvalidParameterError, MismatchError, quoted
from deniable.survey.schema import LATEST_VERSION, Schema, checked_schema

FORMAT = "deniable collection"


@dataclass(frozen=True)
class LearnedFrom:
    """Phase from which a collection's mechanism was learned.

    Parameters
    ----------
    collection : str
        Id of the collection of that phase.
    aggregate : str
        Digest of the aggregates that were read (`deniable.records.phases.phases.aggregate_hash`).
    contributors : int
        Number of reports in these aggregates.
    earlier : tuple of str
        Ids of the collections of earlier phases that were read as well, in order.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    collection: str
    aggregate: str
    contributors: int
    earlier: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the phase as JSON data, without `earlier` if there is only one phase."""
        data = asdict(self)
        earlier = list(data.pop("earlier"))
        return {**data, "earlier": earlier} if earlier else data


class CollectionShape(Document):
    """Keys of a collection in a JSON document."""

    id: str
    title: str
    version: int
    collection_schema: Schema = Field(alias="schema")
    mechanism: dict[str, Any]
    guarantee: dict[str, Any]
    learned_from: LearnedFrom | None = None


@dataclass(frozen=True)
class Collection:
    """A collection states the questions, the mechanism that randomises the answers, and the round.

    Parameters
    ----------
    schema : Schema
        The attributes.
    mechanism : Mechanism
        Mechanism for the schema's domain: its `k` is the size of the only attribute, or its `sizes` are the sizes of
        all attributes. Open text needs a mechanism that takes texts.
    version : int
        Round of the collection, at least 1. Reports of different versions are never mixed.
    title : str
        Title that people read.
    learned_from : LearnedFrom, optional
        Earlier phase from which the mechanism's parameters were learned (`deniable.records.phases.phases.next_phase`).
    reason : str
        Why this mechanism was chosen, if nobody named one (`deniable.survey.collection`). The collection's file does
        not contain it.

    Raises
    ------
    MismatchError
        If the mechanism is not for the schema's domain.
    InvalidParameterError
        If a parameter is of the wrong type or out of bounds, a dealt mechanism's deal has no name, or a mechanism may
        not be used in collections (`refusal`).

    Examples
    --------
    >>> from deniable import GRR, SecureRandomness
    >>> from deniable.survey.schema import Attribute
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> reports = survey.randomize({"smoker": ["no", "yes", "no"]}, SecureRandomness())
    >>> estimates = survey.estimate(survey.aggregate(reports))
    >>> estimates["smoker"].labels, estimates["smoker"].n
    (('yes', 'no'), 3)
    """

    schema: Schema
    mechanism: Mechanism[Any]
    version: int = 1
    title: str = ""
    learned_from: LearnedFrom | None = None
    reason: str = field(default="", compare=False, repr=False)

    def __repr__(self) -> str:
        """Return the questions, the mechanism and the first digits of the id."""
        title = f"{self.title!r}, " if self.title else ""
        return f"Collection({title}{self.schema!r}, {self.mechanism!r}, version={self.version}, id={short_id(self.id)})"

    def __post_init__(self) -> None:
        checked_schema(self.schema)
        settle(self, version=checked_integer("version", self.version, 1))
        if not isinstance(self.title, str):
            raise InvalidParameterError(f"title must be text, got title={quoted(self.title)}")
        domain = checked_mechanism(self.mechanism).domain
        if domain != self.schema.sizes:
            raise MismatchError(
                "the mechanism must have the same numbers of categories as the schema, but the schema has "
                f"{_sizes(self.schema.sizes)} and {quoted(self.mechanism)} has {_sizes(domain)}"
            )
        if self.mechanism.refusal:
            raise InvalidParameterError(f"this mechanism cannot be used in a collection: {self.mechanism.refusal}")
        if self.mechanism.deal_id == "":
            raise InvalidParameterError(
                "deal_id must not be empty: without the name of the deal, shares and reports of two deals could be "
                "confused"
            )

    @cached_property
    def id(self) -> str:
        """SHA-256 (64 hex digits) of schema, mechanism, version, title and earlier phase. Every report contains it."""
        return content_hash(self._content)

    @property
    def _content(self) -> dict[str, Any]:
        """Return the data from which the id is computed."""
        before = {} if self.learned_from is None else {"learned_from": self.learned_from.to_dict()}
        return {
            "title": self.title,
            "version": self.version,
            "schema": self.schema.to_dict(),
            "mechanism": to_spec(self.mechanism),
            **before,
        }

    # ---------------------------------------------------------------- three steps

    def randomize(self, answers: Any, rng: Randomness, shares: Any = None) -> Any:
        """Contributor: turn answers into reports, one row each.

        Parameters
        ----------
        answers : table or int array
            Answers as `Schema.encode` takes them, or codes int[n, d]. For one attribute, int[n] is also allowed.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation. Its words are used first to
            round numeric answers, and then to make the reports.
        shares : shares, optional
            Shares from the dealer, one for each row. They are required if the mechanism needs shares (`dealt`), and
            refused if it does not.

        Returns
        -------
        reports
            In the mechanism's report type.

        Raises
        ------
        InvalidInputError
            If an answer cannot be encoded or a code is out of range; the message names row and attribute. Also if a
            share is missing.
        InvalidParameterError
            If the mechanism needs shares and none are given, or if shares are given that it does not need.
        """
        self.check_shares(shares is not None)
        codes = self._inputs(answers if isinstance(answers, np.ndarray) else self.schema.encode(answers, rng))
        mechanism: Any = self.mechanism
        return mechanism.randomize(codes, shares, rng) if self.dealt else mechanism.randomize(codes, rng)

    def aggregate(self, reports: Any) -> Aggregate:
        """Collector: add up a batch of this collection's reports.

        Raises
        ------
        InvalidReportError
            If the mechanism cannot have produced a report.
        """
        return replace(self.mechanism.aggregate(reports), collection=self.id)

    def estimate(self, aggregate: Aggregate, *, estimator: str | None = None, **options: Any) -> RecordEstimate:
        """Analyst: return the estimate of every attribute, under the attribute's name and with its labels.

        For open text, the labels are the texts that the mechanism found, the most frequent first.

        Parameters
        ----------
        aggregate : Aggregate
            Aggregate of this collection.
        estimator : str, optional
            Name of an estimator that the mechanism lists in `estimators`, for instance "unmixed" for Corr-RR. By
            default the mechanism chooses.
        **options
            Further arguments of the mechanism's `estimate`, for instance `threshold` for HeavyHitters.

        Raises
        ------
        MismatchError
            If the aggregate is of another collection or version.
        EmptyAggregateError
            If the aggregate contains no reports.
        InvalidParameterError
            If the mechanism has no such estimator, or the estimator takes no such option.
        """
        self.check(aggregate)
        method = self.mechanism.named_estimator(estimator)
        taken = list(inspect.signature(method).parameters)[1:] if options else []
        if unknown := [option for option in options if option not in taken]:
            raise InvalidParameterError(
                f"{unknown[0]} must be left out, because estimates of {self.mechanism.name} have "
                f"{'only the options ' * bool(taken)}{', '.join(taken) or 'no options'}"
            )
        named = self.named(method(aggregate, **options))
        source = self.source(aggregate)
        return RecordEstimate({name: one.of(source) for name, one in named.items()})

    def source(self, aggregate: Aggregate) -> frozenset[str]:
        """Return the ids of all sources of an estimate: this collection, its report batches, and earlier phases."""
        before = self.learned_from
        earlier = () if before is None else (before.collection, *before.earlier)
        return aggregate.source.union(f"collection {identifier}" for identifier in (self.id, *earlier))

    def named(self, result: Any) -> RecordEstimate:
        """Return the result of the mechanism's `estimate` under the names and labels of the schema."""
        parts = [result] if isinstance(result, Estimate) else [result[j] for j in range(len(self.schema.columns))]
        return RecordEstimate(
            {
                attribute.name: part.named(
                    attribute.name,
                    attribute.labels if attribute.question_kind.coded else part.labels,
                    attribute.code_scores,
                    attribute.unranked,
                    attribute.title,
                )
                for attribute, part in zip(self.schema.columns, parts, strict=True)
            }
        )

    def privacy(self) -> Guarantee:
        """Return the guarantee for one contributor's report."""
        return self.mechanism.privacy()

    def check(self, aggregate: Aggregate) -> None:
        """Raise MismatchError unless the aggregate is of this collection."""
        checked_kind("aggregate", aggregate, Aggregate)
        if aggregate.collection != self.id:
            raise MismatchError(
                f"the aggregate belongs to collection {short_id(aggregate.collection)}, not to {short_id(self.id)}"
            )

    @property
    def dealt(self) -> bool:
        """Return whether every contributor needs a share from a dealer."""
        return self.mechanism.dealt

    def check_shares(self, given: bool) -> None:
        """Raise InvalidParameterError if shares are missing that the mechanism needs, or given though it needs none."""
        if self.dealt and not given:
            raise InvalidParameterError(
                f"shares must be given, because {self.mechanism.name} needs one share for each contributor"
            )
        if given and not self.dealt:
            raise InvalidParameterError(f"shares must be left out, because {self.mechanism.name} needs no dealer")

    def _inputs(self, codes: NDArray[Any]) -> NDArray[Any]:
        return codes[:, 0] if not self.mechanism.records and codes.ndim == 2 and codes.shape[1] == 1 else codes

    # ---------------------------------------------------------------- files

    def to_json(self) -> str:
        """Return the collection as a JSON document, with its id and with a readable guarantee."""
        return document_text(
            FORMAT,
            {
                "id": self.id,
                **self._content,
                "guarantee": guarantee_data(self.privacy()),
            },
            self.schema.format_version,
        )

    @classmethod
    def from_json(
        cls, text: str, source: str = "the collection", directory: str | os.PathLike[str] = "."
    ) -> Collection:
        """Return the collection that a JSON document describes; `source` is its name in messages.

        Dictionaries that the schema names are read from `directory`. The guarantee is computed again. The document's
        guarantee must have the same keys, rows, statuses and numbers. Its sentences are neither compared nor kept,
        because a later release may word them better. The parts of the document that decide the id must be spelled as
        `to_json` spells them, because browsers compute the id from the document itself.

        Raises
        ------
        FileFormatError
            If the document is damaged, is not a collection, has another format version, or was changed after it was
            made.
        """
        body, version = document_body(text, source, FORMAT, LATEST_VERSION)
        with placed(source):
            shape = CollectionShape.model_validate_json(body, context={"directory": directory, "source": source})
        check_version(version, shape.collection_schema.format_version, source)
        try:
            mechanism = from_spec(shape.mechanism)
            collection = cls(shape.collection_schema, mechanism, shape.version, shape.title, shape.learned_from)
        except (FileFormatError, TypeError, ValueError) as error:
            raise FileFormatError(f"{source}: {error}") from error
        if shape.id != collection.id:
            raise FileFormatError(
                f"{source} was changed after it was made: it states the id {short_id(shape.id)}, but its content has "
                f"the id {short_id(collection.id)}. Make a new collection instead, because reports of the old "
                "collection do not fit this content"
            )
        written, expected = _spelled(text), _spelled(canonical_json(collection._content))
        for key in written.keys() - {"format", "format_version", "id", "guarantee"}:
            if key not in expected or written[key] != expected[key]:
                raise FileFormatError(
                    f"{source}: {key} must be written exactly as `deniable` wrote it. Here, a key with its default "
                    "value was added, or a number is written in another way. Contributors' browsers refuse such a "
                    "file; use the original file"
                )
        derived = guarantee_data(collection.privacy())
        if not (_states(shape.guarantee, derived) or _states(shape.guarantee, _first_edition(derived))):
            raise FileFormatError(
                f"{source} must state the guarantee of its mechanism, but states a different guarantee; use the "
                "original file"
            )
        return collection

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON document atomically; dictionaries must be in the same folder.

        Raises
        ------
        OutputError
            If the document cannot be written, or a dictionary is not in the same folder.
        """
        self.schema.check_beside(path)
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Collection:
        """Read a JSON document that `save` wrote.

        Raises
        ------
        FileFormatError
            If the document is missing or damaged, is not a collection, has another format version, or was changed. Also
            if a dictionary that it names is not in the same folder, or was changed.
        """
        return cls.from_json(read_document(path, "the JSON file of a collection"), str(path), Path(path).parent)


def _sizes(sizes: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, sizes)) + ")"


def _spelled(text: str) -> dict[str, Any]:
    """Return a JSON document with every number in its written form, in its own tuple."""
    found: dict[str, Any] = json.loads(text, parse_int=lambda number: (number,), parse_float=lambda number: (number,))
    return found


def guarantee_data(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as JSON data, with its text line by line. Infinity, which JSON lacks, becomes "inf"."""
    data = {**guarantee.to_dict(), "text": str(guarantee).splitlines()}
    result: dict[str, Any] = _without_infinities(data)
    return result


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_infinities(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


_WORDS = frozenset({"text", "remarks", "adversary", "view", "note", "bound"})
"""Parts of a guarantee's data that are prose. In a file, they may have the words of another release, and are never
shown."""


def _first_edition(data: dict[str, Any]) -> dict[str, Any]:
    """Return a guarantee's data in the shape that the first edition wrote, also under format version 1.

    The rows of that shape had neither `scaling` nor `bound`. Only the words of `view` said that a bound was per report.
    Such files stay readable because existing reports contain their ids. The guarantee is not a part of the id.
    """
    rows = [{key: row[key] for key in row if key not in ("scaling", "bound")} for row in data["trust_models"]]
    return {**data, "trust_models": rows}


def _states(stated: Any, derived: Any) -> bool:
    """Return whether a file states the derived guarantee: equal keys, rows, statuses and numbers, in any words.

    Numbers must agree to nine digits, because the last digits of sums of floats differ between machines.
    """
    if isinstance(derived, dict):
        return (
            isinstance(stated, dict)
            and stated.keys() == derived.keys()
            and all(
                _is_prose(stated[key], derived[key]) if key in _WORDS else _states(stated[key], derived[key])
                for key in derived
            )
        )
    if isinstance(derived, list):
        return isinstance(stated, list) and len(stated) == len(derived) and all(map(_states, stated, derived))
    if isinstance(derived, float) and isinstance(stated, float):
        return math.isclose(stated, derived, rel_tol=1e-9)
    return not isinstance(stated, bool) and bool(stated == derived)


def _is_prose(stated: Any, derived: Any) -> bool:
    lines = stated if isinstance(derived, list) else [stated]
    return isinstance(lines, list) and all(isinstance(line, str) for line in lines)
