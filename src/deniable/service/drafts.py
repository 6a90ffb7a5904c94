"""Drafts: surveys that somebody is still making in a browser, and the two documents that a finished draft becomes.

A draft keeps what was typed, even if it is wrong or incomplete, so that nobody loses a sentence. Mistakes are found
when the draft is built: the questions become a schema, and the texts a survey page.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
import tempfile
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator

from deniable.core.documents import Document
from deniable.errors import DeniableError, InvalidParameterError, quoted
from deniable.files.formats.xlsform import XLSForm
from deniable.service.survey_page import LEAST_BATCH, SurveyPage, Words, read_page, usual_thanks
from deniable.service.surveys import Survey
from deniable.survey.attribute import Attribute
from deniable.survey.dictionary_file import DictionaryFile
from deniable.survey.kinds import KINDS, USUAL
from deniable.survey.schema import Schema

MAX_QUESTIONS, MAX_ANSWERS, MAX_LANGUAGES = 200, 500, 12
MAX_WORDS = 1 << 21
"""Most characters of a list of words."""

MAX_DRAFT = 1 << 23
"""Most characters of a whole draft. Every page of the draft reads all of them."""

SEPARATORS = (";", "|", "/", "\t")
"""Marks between several answers in one cell of a table. The first mark that no answer contains is used."""

EXAMPLE_GRID = 21
"""Default number of points of a number's grid."""

NOT_WRITTEN = "(Not written yet)"
"""Text that replaces a missing text in a preview."""

Line = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]
Paragraph = Annotated[str, Field(max_length=20_000, pattern=r"^[^\x00]*$")]
Short = Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")]
Key = Annotated[str, Field(pattern=r"^[a-z0-9]{4,32}$")]
Tag = Annotated[str, Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", max_length=35)]


class _Shape(Document):
    """Base of the parts of a draft; lists in JSON become tuples."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class DraftQuestion(_Shape):
    """One question as it was typed.

    Parameters
    ----------
    key : str
        Name of the question in addresses, which never changes.
    name : str
        Name of the column.
    kind : str
        Name of a kind in `deniable.survey.kinds.KINDS`.
    text : str
        Text of the question in the draft's first language.
    answers : tuple of str
        Answers in the first language.
    names : dict of str to str
        Schema's name of an answer, if it differs from the answer's text.
    cuts : tuple of str
        Cut points, used instead of answers.
    scores : tuple of str
        Number for each answer.
    low, high, points : str
        Range of a number, and number of points of its grid.
    clip : bool
        True if a number outside the range counts as its nearer end.
    missing, other : str
        Answers "prefer not to say" and "another", in the first language.
    words : str
        List of words, one a line.
    mean : bool
        True if the mean of ordered answers is wanted.
    """

    key: Key
    name: Short = ""
    kind: str = USUAL
    text: Paragraph = ""
    answers: Annotated[tuple[Line, ...], Field(max_length=MAX_ANSWERS)] = ()
    names: dict[Line, Line] = Field(default_factory=dict)
    cuts: Annotated[tuple[Short, ...], Field(max_length=MAX_ANSWERS)] = ()
    scores: Annotated[tuple[Short, ...], Field(max_length=MAX_ANSWERS)] = ()
    low: Short = ""
    high: Short = ""
    points: Short = ""
    clip: bool = False
    missing: Line = ""
    other: Line = ""
    words: Annotated[str, Field(max_length=MAX_WORDS)] = ""
    mean: bool = False

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}")
        return kind

    @property
    def column(self) -> str:
        """Name of the column: the typed name, or one made from the text."""
        return self.name.strip() or column_name(self.text)

    @property
    def file(self) -> str:
        """Name of the file with the question's word list."""
        return f"{column_name(self.column)}-{self.key}.txt"

    def attribute(self, folder: Path, taken: Collection[str] = ()) -> Attribute:
        """Return the question as an attribute of a schema; its words are read from a folder.

        If the name is not typed, and the name made from the text is among those `taken`, it gets a number.

        Raises
        ------
        DeniableError
            If something is wrong or missing.
        """
        kind, found = KINDS[self.kind], dict[str, Any]()
        if not kind.inputs:
            raise InvalidParameterError(
                f"a survey page cannot show the question {quoted(self.column)}, got kind={quoted(self.kind)}; choose "
                "another kind"
            )
        if not self.text.strip():
            raise InvalidParameterError(f"text of {quoted(self.column)} must not be empty: type the question")
        cut = "cuts" in kind.inputs and bool(self.cuts)
        if "answers" in kind.inputs and not cut:
            found["categories"] = tuple(self.names.get(answer, answer) for answer in self.answers)
        if cut:
            found["edges"] = _cut_points(self.cuts, self.column)
        if "scores" in kind.inputs and self.scores:
            found["scores"] = tuple(_number(score, "scores", self.column) for score in self.scores)
        if "range" in kind.inputs:
            low, high = (_number(end, "range", self.column) for end in (self.low, self.high))
            points = _number(self.points or str(EXAMPLE_GRID), "points", self.column)
            if points != int(points):
                raise InvalidParameterError(
                    f"points of {quoted(self.column)} must be a whole number, got points={points}"
                )
            found |= {"range": (low, high), "grid": int(points), "clip": self.clip}
        if "words" in kind.inputs:
            (folder / self.file).write_text(self.words.strip("\n") + "\n", encoding="utf-8")
            found["dictionary"] = DictionaryFile.read(folder / self.file)
        if kind.several:
            labels = [*found.get("categories", ()), self.missing, self.other]
            free = (one for one in SEPARATORS if not any(one in label for label in labels))
            found["separator"] = next(free, SEPARATORS[0])
        if self.mean and kind.averaged:
            found["ask"] = "mean"
        further = {"missing": self.missing, "other": self.other}
        found |= {key: self.names.get(text, text) for key, text in further.items() if text.strip()}
        column = self.column
        if not self.name.strip():
            numbered = (f"{column}_{number}" for number in itertools.count(2))
            column = next(name for name in itertools.chain([column], numbered) if name not in taken)
        return Attribute(column, kind=self.kind, title=self.text.strip(), **found)

    def spoken_labels(self, attribute: Attribute) -> dict[str, str]:
        """Return the labels that people read, in the first language, by the labels of the schema; no points of grids.

        Labels of intervals are made from the cut points, so they can also be reworded in the first language.
        """
        back = {self.names.get(text, text): text for text in (*self.answers, self.missing, self.other)}
        numbers = attribute.categories if attribute.question_kind.rounded else ()
        listed = attribute.labels if attribute.question_kind.listed else ()
        return {label: back.get(label, label) for label in listed if label not in numbers}


class DraftWords(_Shape):
    """Texts of a draft in one language; questions and labels by key, and each label by the schema's label."""

    title: Line = ""
    intro: Paragraph = ""
    consent: Paragraph = ""
    thanks: Paragraph = ""
    questions: dict[Key, Paragraph] = Field(default_factory=dict)
    labels: dict[Key, dict[str, Line]] = Field(default_factory=dict)


class Draft(_Shape):
    """Survey that is being made.

    Parameters
    ----------
    made : str
        Random text from the page that made the draft, so that making it twice makes one draft.
    languages : dict of str to DraftWords
        Texts by language tag; the first language is the one that questions are typed in.
    questions : tuple of DraftQuestion
        Questions in their order.
    contact : str
        Person or address to ask about the survey.
    epsilon : str
        Privacy budget.
    contributors : int or None
        Planned number of people.
    min_batch, closes_at, grace_hours, retention, access, second_person, consent_first
        Terms of the survey, as in the survey page.
    notes : tuple of str
        Parts of an imported file that could not be taken.
    """

    made: str = ""
    languages: Annotated[dict[Tag, DraftWords], Field(min_length=1, max_length=MAX_LANGUAGES)]
    questions: Annotated[tuple[DraftQuestion, ...], Field(max_length=MAX_QUESTIONS)] = ()
    contact: Line = ""
    epsilon: Short = "2"
    contributors: Annotated[int, Field(ge=1, le=10**9)] | None = None
    min_batch: Annotated[int, Field(ge=LEAST_BATCH, le=10**9)] = 100
    closes_at: Short = ""
    grace_hours: Annotated[float, Field(ge=0, le=24 * 366)] = 72.0
    retention: Literal["aggregate", "reports"] = "aggregate"
    access: Literal["open", "invited"] = "open"
    second_person: bool = False
    consent_first: bool = False
    notes: Annotated[tuple[Line, ...], Field(max_length=MAX_ANSWERS)] = ()

    @property
    def first(self) -> str:
        """Tag of the language that questions are typed in."""
        return next(iter(self.languages))

    @property
    def title(self) -> str:
        """Title of the survey in the first language."""
        return self.languages[self.first].title

    def question(self, key: str) -> DraftQuestion | None:
        """Return the question with this key, or None if there is none."""
        return next((one for one in self.questions if one.key == key), None)

    def replaced(self, question: DraftQuestion) -> Draft:
        """Return the draft with a question in the place of the one with the same key, or at the end."""
        if self.question(question.key) is None:
            return self.changed(questions=(*self.questions, question))
        return self.changed(questions=tuple(question if one.key == question.key else one for one in self.questions))

    def moved(self, key: str, place: int) -> Draft:
        """Return the draft with a question moved to a place, from 0; unchanged if there is no such question.

        Examples
        --------
        >>> questions = (DraftQuestion(key="aaaa"), DraftQuestion(key="bbbb"))
        >>> draft = Draft(languages={"en": DraftWords()}, questions=questions)
        >>> [one.key for one in draft.moved("bbbb", 0).questions]
        ['bbbb', 'aaaa']
        """
        one = self.question(key)
        if one is None:
            return self
        others = [other for other in self.questions if other.key != key]
        others.insert(max(0, min(place, len(others))), one)
        return self.changed(questions=tuple(others))

    def removed(self, key: str) -> Draft:
        """Return the draft without a question and its translations."""
        words = {
            tag: said.model_copy(
                update={
                    "questions": {name: text for name, text in said.questions.items() if name != key},
                    "labels": {name: texts for name, texts in said.labels.items() if name != key},
                }
            )
            for tag, said in self.languages.items()
        }
        return self.changed(questions=tuple(one for one in self.questions if one.key != key), languages=words)

    def relabelled(self, key: str, labels: dict[str, str]) -> Draft:
        """Return the draft with the translations of a question's answers under new labels, by the old label."""
        words = {
            tag: said.model_copy(
                update={
                    "labels": said.labels
                    | {key: {labels.get(label, label): text for label, text in said.labels.get(key, {}).items()}}
                }
            )
            for tag, said in self.languages.items()
            if key in said.labels
        }
        return self.changed(languages=self.languages | words)

    def changed(self, **values: Any) -> Draft:
        """Return the draft with other values, which are checked again."""
        return Draft.model_validate({**dict(self), **values})

    def to_json(self) -> str:
        """Return the draft as a text."""
        return self.model_dump_json()


def column_name(text: str) -> str:
    """Return a name of a column for a question: the first words of its text in small ASCII letters.

    Examples
    --------
    >>> column_name("How often do you smoke, if at all?"), column_name("كم عمرك؟")
    ('how_often_do_you_smoke', 'question')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    return "_".join(words[:5])[:40] or "question"


# -------------------------------------------------------------------- building


@dataclass(frozen=True)
class Fault:
    """Fault that keeps a draft from being opened, and the question, text or step that it is about."""

    step: Literal["questions", "texts", "plan"]
    text: str
    key: str = ""


@dataclass(frozen=True, eq=False)
class Built:
    """Draft as far as it could be built.

    Parameters
    ----------
    survey : Survey or None
        Survey, with placeholders for texts that are not written; None if its questions or terms cannot be asked.
    faults : tuple of Fault
        Parts that are still missing or wrong.
    files : dict of str to bytes
        Lists of words, by the names of their files.
    attributes : dict of str to Attribute
        Attributes of the questions that are right, by the questions' keys.
    """

    survey: Survey | None
    faults: tuple[Fault, ...]
    files: dict[str, bytes]
    attributes: dict[str, Attribute]

    def of_step(self, step: str) -> tuple[Fault, ...]:
        """Return the faults of a step."""
        return tuple(fault for fault in self.faults if fault.step == step)


@functools.lru_cache(maxsize=32)
def build(text: str) -> Built:
    """Return what the text of a draft becomes: the parts that are right, and the faults of the others.

    Examples
    --------
    >>> question = DraftQuestion(key="q001", text="Do you smoke?", answers=("yes", "no"))
    >>> built = build(Draft(languages={"en": DraftWords(title="Smoking")}, questions=(question,)).to_json())
    >>> built.survey.collection.schema.names, [fault.step for fault in built.faults]
    (('do_you_smoke',), ['texts', 'texts', 'texts', 'plan'])
    """
    draft = Draft.model_validate_json(text)
    faults = list[Fault]()
    attributes = dict[str, Attribute]()
    names = {question.name.strip() for question in draft.questions}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for question in draft.questions:
            try:
                found = question.attribute(folder, names)
            except DeniableError as error:
                faults.append(Fault("questions", str(error), question.key))
                continue
            attributes[question.key] = found
            names.add(found.name)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
    if not draft.questions:
        faults.append(Fault("questions", "There is no question yet."))
    faults += _texts_missing(draft, attributes)
    if draft.contributors is None:
        faults.append(Fault("plan", "Say how many people you plan to ask."))
    whole = len(attributes) == len(draft.questions) > 0
    survey = None
    if whole:
        try:
            survey = _survey(draft, attributes, files)
        except DeniableError as error:
            faults.append(Fault("plan", str(error)))
    return Built(survey, tuple(faults), files, attributes)


def _survey(draft: Draft, attributes: dict[str, Attribute], files: dict[str, bytes]) -> Survey:
    """Return the survey of questions without faults."""
    from deniable.planning import collection as make_collection  # it loads scipy, which only owners need

    if "/" in draft.epsilon:
        raise InvalidParameterError(
            f"epsilon must be a decimal number such as 1.5, got epsilon={quoted(draft.epsilon)}",
            parameters=("epsilon",),
        )
    schema = Schema(tuple(attributes[question.key] for question in draft.questions))
    made = make_collection(schema, draft.epsilon.strip(), title=draft.title.strip() or NOT_WRITTEN)
    words = {tag: _words(draft, tag, attributes) for tag in draft.languages}
    page = SurveyPage(
        collection=made.id,
        languages=words,
        retention=draft.retention,
        min_batch=draft.min_batch,
        closes_at=draft.closes_at.strip() or None,
        grace_hours=draft.grace_hours,
        contributors=draft.contributors,
        contact=draft.contact.strip() or NOT_WRITTEN,
        access=draft.access,
        second_person=draft.second_person,
        consent_first=draft.consent_first,
    ).to_json()
    read_page(page, "the page", made)
    dictionaries = {
        one.name: (one.dictionary.file, files[one.dictionary.file])
        for one in attributes.values()
        if one.dictionary is not None
    }
    return Survey.read(made.to_json(), page, dictionaries)


def _words(draft: Draft, tag: str, attributes: dict[str, Attribute]) -> Words:
    said, first = draft.languages[tag], draft.languages[draft.first]
    questions, labels = {}, {}
    for question in draft.questions:
        attribute = attributes[question.key]
        questions[attribute.name] = (said.questions.get(question.key, "").strip() or question.text).strip()
        if not attribute.question_kind.listed:
            continue
        known = question.spoken_labels(attribute)
        typed, typed_first = said.labels.get(question.key, {}), first.labels.get(question.key, {})
        labels[attribute.name] = [
            typed.get(label, "").strip() or typed_first.get(label, "").strip() or known.get(label, label)
            for label in attribute.labels
        ]
    return Words(
        title=said.title.strip() or first.title.strip() or NOT_WRITTEN,
        intro=said.intro.strip() or NOT_WRITTEN,
        consent=said.consent.strip() or NOT_WRITTEN,
        questions=questions,
        labels=labels,
        thanks=said.thanks.strip() or usual_thanks(tag),
    )


@dataclass(frozen=True)
class Row:
    """One text of a question in all languages: the question itself (`label` is None), or one of its labels."""

    key: str
    label: str | None
    place: int
    first: str
    texts: dict[str, str]
    rewordable: bool


def rows(draft: Draft, question: DraftQuestion, attribute: Attribute | None) -> tuple[Row, ...]:
    """Return the texts of a question to be translated: its own, then its labels."""
    said = {tag: words.questions.get(question.key, "") for tag, words in draft.languages.items()}
    found = [Row(question.key, None, 0, question.text, said, rewordable=False)]
    if attribute is None:
        return tuple(found)
    typed = {question.names.get(text, text) for text in (*question.answers, question.missing, question.other)}
    for place, (label, text) in enumerate(question.spoken_labels(attribute).items(), 1):
        texts = {tag: words.labels.get(question.key, {}).get(label, "") for tag, words in draft.languages.items()}
        found.append(Row(question.key, label, place, text, texts, rewordable=label not in typed))
    return tuple(found)


def _texts_missing(draft: Draft, attributes: dict[str, Attribute]) -> Iterable[Fault]:
    for tag, said in draft.languages.items():
        of = f" in {tag}" if len(draft.languages) > 1 else ""
        for what, text in (("title", said.title), ("introduction", said.intro), ("consent", said.consent)):
            if not text.strip():
                yield Fault("texts", f"The {what}{of} is not written yet.")
        if tag == draft.first:
            continue
        every = (row for one in draft.questions for row in rows(draft, one, attributes.get(one.key)))
        if open_texts := sum(not row.texts[tag].strip() for row in every):
            what = "answer or question" if open_texts == 1 else "answers and questions"
            yield Fault("texts", f"Not translated yet{of}: {open_texts} {what}.")
    if not draft.contact.strip():
        yield Fault("texts", "Say whom to ask, with an address.")


def _number(text: str, what: str, column: str) -> float:
    with contextlib.suppress(ValueError):
        number = float(text.strip().replace("\N{MINUS SIGN}", "-"))
        if math.isfinite(number):
            return number
    got = f"got {what}={quoted(text)}" if text.strip() else "got none"
    raise InvalidParameterError(f"{what} of {quoted(column)} must be a number such as 6.5, {got}")


def _cut_points(cuts: Sequence[str], column: str) -> tuple[float, ...] | tuple[str, ...]:
    dated = tuple(cut.strip() for cut in cuts)
    if all(re.fullmatch(r"\d{4}-\d\d-\d\d", cut, re.ASCII) for cut in dated):
        return dated
    return tuple(_number(cut, "cuts", column) for cut in cuts)


# -------------------------------------------------------------------- imports


def question_of(key: str, attribute: Attribute, text: str = "", labels: Sequence[str] = ()) -> DraftQuestion:
    """Return a schema's question as if it had been typed; `labels` are the texts that people read, in schema order."""
    kind = attribute.question_kind
    spoken = tuple(labels) if len(labels) == attribute.k and len(set(labels)) == len(labels) else attribute.labels
    if kind.rounded:
        spoken = (*attribute.categories, *spoken[len(attribute.categories) :])
    pairs = dict(zip(attribute.labels, spoken, strict=True)) if kind.listed else {}
    cut = attribute.edges is not None
    ends = attribute.range_texts if "range" in kind.inputs else ("", "")
    return DraftQuestion(
        key=key,
        name=attribute.name,
        kind=attribute.kind,
        text=text or attribute.title or attribute.name,
        answers=() if cut or "answers" not in kind.inputs else tuple(pairs[label] for label in attribute.categories),
        names={text: label for label, text in pairs.items() if text != label},
        cuts=tuple(str(edge) if isinstance(edge, str) else f"{edge:g}" for edge in attribute.edges or ()),
        scores=tuple(f"{score:g}" for score in attribute.scores or ()),
        low=ends[0],
        high=ends[1],
        points="" if attribute.grid is None else str(attribute.grid),
        clip=attribute.clip,
        missing="" if attribute.missing is None else pairs.get(attribute.missing, attribute.missing),
        other="" if attribute.other is None else pairs.get(attribute.other, attribute.other),
        mean=attribute.ask == "mean" and kind.usual_ask != "mean",
    )


def with_schema(draft: Draft, attributes: Sequence[Attribute], key: str, notes: Sequence[str] = ()) -> Draft:
    """Return a draft with questions of a schema after its own; repeating the import takes the same places."""
    for i, attribute in enumerate(attributes):
        draft = draft.replaced(question_of(f"{key}{i}", attribute))
    return draft.changed(notes=tuple(note[:500] for note in notes))


def with_form(draft: Draft, form: XLSForm, key: str) -> Draft:
    """Return a draft with the questions of a form after its own, and their texts in every language of the form."""
    # A translation that the draft does not have is added. The draft's first language stays first.
    first = form.texts.get(draft.first) or next(iter(form.texts.values()), {})
    keys = {attribute.name: f"{key}{i}" for i, attribute in enumerate(form.attributes)}
    for attribute in form.attributes:
        text = first.get("questions", {}).get(attribute.name, "")
        labels = first.get("labels", {}).get(attribute.name, ())
        draft = draft.replaced(question_of(keys[attribute.name], attribute, text, labels))
    languages = dict(draft.languages)
    for tag, texts in form.texts.items():
        said = languages.get(tag, DraftWords())
        update: dict[str, Any] = {"title": said.title or texts.get("title", "")}
        if tag != draft.first:
            known = {one.name: one for one in form.attributes}
            update["questions"] = said.questions | {
                keys[name]: text for name, text in texts["questions"].items() if name in keys
            }
            update["labels"] = said.labels | {
                keys[name]: dict(zip(known[name].labels, labels, strict=True))
                for name, labels in texts["labels"].items()
                if name in keys and not known[name].question_kind.rounded
            }
        languages[tag] = said.model_copy(update=update)
    notes = [str(one) for one in form.unmapped]
    notes += [f"{one.attribute.name}: has garbling columns; deniable form makes its collection" for one in form.garbled]
    return draft.changed(languages=languages, notes=tuple(note[:500] for note in notes))
