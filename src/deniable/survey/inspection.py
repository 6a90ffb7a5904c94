"""Inspection of a collection by a contributor: the questions and the guarantee in plain words.

All statements are derived from the collection's schema and mechanism. Anyone may have typed any text as a title, so a
title is quoted and comes after the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deniable.core.privacy import Guarantee, odds
from deniable.errors import quoted
from deniable.survey.collection import Collection, guarantee_data
from deniable.survey.schema import Attribute

FORMAT = "deniable inspection"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Inspection:
    """Collection as its contributors should see it. `inspect_collection` makes it.

    Parameters
    ----------
    collection : Collection
        Inspected collection.
    guarantee : Guarantee
        Derived guarantee.
    sentences : tuple of str
        Guarantee in plain words, beginning with that for the whole contributor (`Guarantee.plain_words`).
    report_bits : float
        Size of one report in bits.
    warnings : tuple of str
        Warnings to consider before reporting.
    """

    collection: Collection
    guarantee: Guarantee
    sentences: tuple[str, ...]
    report_bits: float
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the inspection as plain JSON data. JSON has no infinity, so an infinite number is "inf"."""
        factor = float(odds(self.guarantee.epsilon))
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "guarantee": guarantee_data(self.guarantee),
            "odds": factor if factor < float("inf") else "inf",
            "sentences": list(self.sentences),
            "warnings": list(self.warnings),
            "questions": [one.to_dict() for one in self.guarantee.questions(self.collection.schema.several)],
            "attributes": [
                {
                    "name": attribute.name,
                    "title": attribute.title,
                    "kind": attribute.question_kind.inspected(attribute),
                    "k": attribute.k,
                    **attribute.question_kind.answers(attribute),
                }
                for attribute in self.collection.schema.attributes
            ],
            "mechanism": self.collection.mechanism.name,
            "dealer": self.collection.dealt,
            "report_bits": self.report_bits,
            "collection": self.collection.id,
            "version": self.collection.version,
            "title": self.collection.title,
        }


def inspect_collection(collection: Collection) -> Inspection:
    """Contributor: return the questions and guarantees of a collection before reporting.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Collection, Schema
    >>> smoker = Schema((Attribute("smoker", ("yes", "no")),))
    >>> survey = Collection(smoker, GRR(k=2, epsilon=1.0), title="epsilon = 0.1")
    >>> found = inspect_collection(survey)
    >>> found.guarantee.epsilon, found.sentences[0], found.warnings
    (1.0, "whatever you send, nobody's odds about you can change by more than a factor of 2.72", ())
    """
    guarantee = collection.privacy()
    warnings = list(guarantee.warnings)
    if collection.dealt:
        warnings.append("a dealer hands out secret shares: the lines above say whom you have to trust")
    return Inspection(
        collection,
        guarantee,
        guarantee.plain_words(collection.schema.names, collection.schema.several),
        float(collection.mechanism.report_bits),
        tuple(warnings),
    )


def question_text(attribute: Attribute) -> str:
    """Return a question in one line: its quoted name and title, and all answers that can be reported.

    Examples
    --------
    >>> question_text(Attribute("age", edges=(20, 40), missing="no answer"))
    '“age” (number, 4 answers): “< 20”, “20 to < 40”, “>= 40”, “no answer”'
    """
    name = f"{quoted(attribute.name)}, {quoted(attribute.title)}" if attribute.title else quoted(attribute.name)
    return name + attribute.question_kind.described(attribute)
