"""Survey document, page.json: the texts that people read before they answer, in their languages, and the terms.

The document says nothing about how answers are randomised. The collection, whose id it carries, says that. Once the
survey is opened, the document is fixed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from deniable.core.documents import Document, document_text, parse_document, placed
from deniable.errors import InvalidParameterError, MismatchError, quoted
from deniable.survey.collection import Collection, short_id

FORMAT = "deniable survey page"

DRAFT = "DRAFT: "
"""Beginning of texts that are not written yet."""

LANGUAGE_NAMES = {"en": "English", "de": "Deutsch", "fr": "français", "es": "español", "ar": "العربية"}
"""Languages whose sentences ship with the client, and each language's own name."""

LANGUAGES = tuple(LANGUAGE_NAMES)

INTERFACE_KEYS = frozenset(
    [
        "language",
        "consentTitle",
        "agree",
        "contact",
        "questions",
        "several",
        "number",
        "between",
        "word",
        "noWord",
        "again",
        "answer",
        "survey",
        "state",
        "save",
        "load",
        "loaded",
        "notLoaded",
    ]
)
"""Sentences of the client that `interface` may replace. None of them states the guarantee, or what is sent, kept or
counted."""

PLACES = {"contact": frozenset(["{contact}"]), "between": frozenset(["{low}", "{high}", "{example}"])}
"""Placeholders that the client fills in, for the sentences of `INTERFACE_KEYS` that have any."""

_PLACE = re.compile(r"\{\w+\}", re.ASCII)

_TAG = re.compile(
    r"([A-Za-z]{2,3}|[A-Za-z]{5,8})(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?(-(\d[A-Za-z0-9]{3}|[A-Za-z0-9]{5,8}))?",
    re.ASCII,
)
"""Pattern of language tags. A browser shows no page at all if the tag of a language is invalid."""

_THANKS = {
    "en": "Thank you. You can close this page.",
    "de": "Vielen Dank. Sie können diese Seite schließen.",
    "fr": "Merci. Vous pouvez fermer cette page.",
    "es": "Gracias. Puede cerrar esta página.",
    "ar": "شكرًا لك. يمكنك إغلاق هذه الصفحة.",
}

LEAST_BATCH = 20
"""Smallest allowed `min_batch`."""


class Words(Document):
    """Texts of a survey page in one language.

    Parameters
    ----------
    title, intro, consent, thanks : str
        Heading; who asks and why; what taking part means; the last words.
    interface : dict of str to str
        Replacements for some of the client's own sentences, by the keys of `INTERFACE_KEYS`.
    questions : dict of str to str
        Question of every attribute.
    labels : dict of str to list of str
        Label of every category, in the order of the collection's labels. Only attributes with a list of categories have
        labels, because the words of a dictionary are shown as they are.
    """

    title: str
    intro: str
    consent: str
    questions: dict[str, str]
    labels: dict[str, list[str]] = Field(default_factory=dict)
    interface: dict[str, str] = Field(default_factory=dict)
    thanks: str


class SurveyPage(Document):
    """Survey document: texts and terms of a survey.

    Parameters
    ----------
    collection : str
        Id of the collection.
    languages : dict of str to Words
        Texts by language tag (BCP 47); the first language is shown if none fits the reader's.
    access : {"open", "invited"}
        People who may answer: everybody who has the link, or everybody who has an unused invitation.
    retention : {"aggregate", "reports"}
        Data that are kept: the sum alone, or also the reports in shuffled batches.
    min_batch : int
        Least number of reports that are added to the sum together.
    opens_at, closes_at : str or None
        Times between which answers are taken (RFC 3339, "2026-05-01T00:00:00Z"); null if only the owner opens or closes
        the survey by hand.
    grace_hours : float
        Hours after the close for which reports that were drawn in time are taken.
    contributors : int or None
        Number of people that the survey plans for.
    contact : str
        Person or address to ask about the survey.
    second_person : bool
        True if another person may answer on the same device, with a separate report.
    consent_first : bool
        True if people are asked to take part before the first question; by default they are asked when they send.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    collection: str
    languages: Annotated[dict[str, Words], Field(min_length=1)]
    access: Literal["open", "invited"] = "open"
    retention: Literal["aggregate", "reports"] = "aggregate"
    min_batch: int = Field(default=100, ge=LEAST_BATCH)
    opens_at: str | None = None
    closes_at: str | None = None
    grace_hours: float = Field(default=72.0, ge=0, le=24 * 366)
    contributors: Annotated[int, Field(ge=1)] | None = None
    contact: str
    second_person: bool = False
    consent_first: bool = False

    @property
    def grace(self) -> timedelta:
        """Return the time after the close during which reports are taken that were drawn before."""
        return timedelta(hours=self.grace_hours)

    def to_json(self) -> str:
        """Return the document as JSON text."""
        data = self.model_dump()
        for words in data["languages"].values():
            if not words["interface"]:
                del words["interface"]
        for setting in ("second_person", "consent_first"):
            if not data[setting]:
                del data[setting]
        return document_text(FORMAT, data)


def page_hash(text: str) -> str:
    r"""Return the hash of a survey document, which its link carries and a device keeps with its report.

    The hash is SHA-256 of the canonical text: sorted keys, no white space, ASCII only, and numbers as they are written.
    It therefore depends on what the document says, not on how its file is laid out.

    Examples
    --------
    >>> page_hash('{"b": 72.0, "a": "é"}') == page_hash('{ "a":"\u00e9", "b":72.0 }')
    True
    """
    # Numbers stay the texts that were written, because the client has no other way to write numbers as Python does.
    data = json.loads(text, parse_float=_Number, parse_int=_Number)
    return hashlib.sha256(_canonical(data).encode()).hexdigest()


class _Number(str):
    """Number in the form in which it was written."""

    __slots__ = ()


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return str(value) if isinstance(value, _Number) else json.dumps(value)


def earlier_rounds(collection: Collection) -> str:
    """Return the ids of the rounds that a collection was learned from, the last one first, as its page names them.

    A link at the survey's address may have been made for one of these rounds.
    """
    learned = collection.learned_from
    return "" if learned is None else " ".join((learned.collection, *reversed(learned.earlier)))


def link_digits(collection: str, page: str) -> str:
    r"""Return the digits after the # of a contributor's link, which tell a device to refuse other surveys and texts.

    One hash covers both documents. With a hash of 64 bits for each, a collector, which writes both, could make two of
    them for one link with 2^32 hashes. Two surveys with the same 32 digits cost about 2^64 hashes. Another survey for a
    link that somebody else made costs about 2^128.

    Parameters
    ----------
    collection, page : str
        Id of the collection and `page_hash` of its survey document, 64 digits each.

    Returns
    -------
    str
        The first 32 hexadecimal digits of SHA-256 of the ASCII text ``"deniable link 1\n<collection>\n<page>\n"``.

    Examples
    --------
    >>> link_digits("0123456789abcdef" * 4, "fedcba9876543210" * 4)
    '3323953f6b325684abab62afefd9f60c'
    """
    return hashlib.sha256(f"deniable link 1\n{collection}\n{page}\n".encode("ascii")).hexdigest()[:32]


def read_page(text: str, source: str, collection: Collection) -> SurveyPage:
    """Return the survey document in a JSON text, checked against its collection.

    Raises
    ------
    FileFormatError
        If the text is not a survey document.
    MismatchError
        If the document belongs to another collection, or its questions or labels are not those of the schema.
    InvalidParameterError
        If a term of the survey is out of bounds.
    """
    page = parse_document(text, source, FORMAT, SurveyPage)
    if page.collection != collection.id:
        raise MismatchError(
            f"{source} must be the page of collection {short_id(collection.id)}, but it is the page of collection "
            f"{short_id(page.collection)}; give the page of this collection"
        )
    for tag, words in page.languages.items():
        if not _TAG.fullmatch(tag):
            raise InvalidParameterError(
                f"{source}: languages must be tags such as en or pt-BR (BCP 47), got {quoted(tag)}"
            )
        _check_words(words, f"{source}: {tag}", collection)
        if guarded := sorted(set(words.interface) - INTERFACE_KEYS):
            raise InvalidParameterError(
                f"{source}: {tag}: interface must not have the key {quoted(guarded[0])}; leave this key out, and the "
                f"page shows the sentence of the client. The possible keys are {', '.join(sorted(INTERFACE_KEYS))}"
            )
        for key, said in words.interface.items():
            filled = PLACES.get(key, frozenset())
            if unknown := sorted(set(_PLACE.findall(said)) - filled):
                rule = (
                    f"may only have {', '.join(sorted(filled))} in braces"
                    if filled
                    else "must not have names in braces"
                )
                raise InvalidParameterError(
                    f"{source}: {tag}: interface: {key} {rule}, got {unknown[0]}; leave out {unknown[0]}, because "
                    "it has no value here"
                )
    if page.access == "invited" and page.second_person:
        raise InvalidParameterError(
            f"{source}: second_person must be false if access is “invited”, got second_person=true; invite the other "
            "person with another link"
        )
    opens, closes = (moment(stated, f"{source}: {name}") for stated, name in _times(page))
    if opens is not None and closes is not None and closes <= opens:
        raise InvalidParameterError(
            f"{source}: closes_at must be after opens_at, got opens_at={page.opens_at}, closes_at={page.closes_at}"
        )
    return page


def draft_page(
    collection: Collection, contributors: int | None = None, languages: Sequence[str] = ("en",)
) -> SurveyPage:
    """Return a survey document with placeholders, in which questions are the attributes' names.

    Parameters
    ----------
    collection : Collection
        Collection that the document is for.
    contributors : int, optional
        Planned number of people.
    languages : sequence of str
        Languages from `LANGUAGES`; the placeholders are in English.

    Raises
    ------
    InvalidParameterError
        If a language is not in `LANGUAGES`, or the planned number of people is not positive.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.survey.schema import Attribute, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> draft_page(survey).languages["en"].questions
    {'smoker': 'smoker'}
    """
    words = {tag: _drafted(collection, tag) for tag in languages}
    contact = DRAFT + "say whom to ask, with an address."
    with placed("the page"):
        return SurveyPage(collection=collection.id, languages=words, contributors=contributors, contact=contact)


def usual_thanks(tag: str) -> str:
    """Return the default last words in a language, or the English ones for a language that does not ship.

    Examples
    --------
    >>> usual_thanks("de-AT")
    'Vielen Dank. Sie können diese Seite schließen.'
    """
    return _THANKS.get(tag.partition("-")[0].lower(), _THANKS["en"])


def _drafted(collection: Collection, tag: str) -> Words:
    if tag not in LANGUAGES:
        raise InvalidParameterError(
            f"language must be one of {', '.join(LANGUAGES)}, got language={quoted(tag)}: draft the page in one of "
            "these languages, and translate the texts in page.json into your language. The sentences of the client "
            "itself will be in English"
        )
    attributes = collection.schema.attributes
    return Words(
        title=collection.title or "Survey",
        intro=DRAFT + "say who asks, and why.",
        consent=DRAFT + "say what taking part means, and what is kept.",
        questions={attribute.name: attribute.title or attribute.name for attribute in attributes},
        labels={attribute.name: list(attribute.labels) for attribute in attributes if listed(attribute)},
        thanks=_THANKS[tag],
    )


def unfinished(page: SurveyPage) -> str:
    """Return the place of a text that nobody has written yet, as "languages.en.intro"; "" if all are written."""
    said = {
        f"languages.{tag}.{name}": text
        for tag, words in page.languages.items()
        for name, text in (("intro", words.intro), ("consent", words.consent))
    }
    said["contact"] = page.contact
    return next((place for place, text in said.items() if not text.strip() or text.startswith(DRAFT)), "")


def listed(attribute: Any) -> bool:
    """Return whether an attribute's categories have labels on the page, unlike open text and words of a dictionary."""
    return bool(attribute.question_kind.listed)


def moment(stated: str | None, what: str) -> datetime | None:
    """Return the time that a text states, or None for None.

    Raises
    ------
    InvalidParameterError
        If the text is not a time, or does not state a time zone.
    """
    if stated is None:
        return None
    try:
        found = datetime.fromisoformat(stated)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InvalidParameterError(
            f"{what} must be a time with its zone, such as 2026-05-01T00:00:00Z, got {quoted(stated)}"
        )
    return found.astimezone(UTC)


def _times(page: SurveyPage) -> tuple[tuple[str | None, str], ...]:
    return (page.opens_at, "opens_at"), (page.closes_at, "closes_at")


def _check_words(words: Words, where: str, collection: Collection) -> None:
    attributes = {attribute.name: attribute for attribute in collection.schema.attributes}
    if list(words.questions) != list(attributes):
        raise MismatchError(
            f"{where}: questions must list the questions of the schema in their order ({', '.join(attributes)}), but "
            "the list differs"
        )
    wanted = [name for name, attribute in attributes.items() if listed(attribute)]
    if sorted(words.labels) != sorted(wanted):
        raise MismatchError(f"{where}: labels must be given for exactly these questions: {', '.join(wanted) or 'none'}")
    for name, labels in words.labels.items():
        known = attributes[name].labels
        if len(labels) != len(known) or len(set(labels)) != len(labels) or not all(labels):
            raise MismatchError(
                f"{where}: labels of {quoted(name)} must be {len(known)} different texts, one for each label in the "
                "schema"
            )
