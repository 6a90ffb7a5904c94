"""Programme of surveys, with the largest total that one contributor can spend and the leakage of all surveys.

Pure epsilons are added as fractions. Reports of one memo are counted as in a person's ledger. Their total is the lesser
of the bound between any two histories and, where it is valid, epsilon_forever for each answer that was used. Other
statements that seem obvious are false (`deniable.oracles.memoised`), and are not made.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from deniable.core.documents import Document, placed, read_document
from deniable.core.privacy import bound_text
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.core.thresholds import exact
from deniable.errors import FileFormatError, InvalidParameterError, MismatchError, quoted
from deniable.files.jobs.memos import Memo, is_memoised, memoised_of, series
from deniable.files.jobs.person import PersonTotal, float_above, new_draw
from deniable.files.jobs.spending import budget
from deniable.leakage.prior.correlation import MAX_DOMAIN, any_mechanism_channel, enumerated
from deniable.leakage.prior.distributions import merged_channel
from deniable.leakage.summary import record_leakage
from deniable.oracles.memoised import MemoisedGRR
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema

FORMAT = "deniable programme"
FORMAT_VERSION = 1

EVERYONE = "everyone"
"""Name of the people whom a survey without a group asks."""

MAX_CELLS = 1 << 16
"""Largest channel of all reports of one answer that is set up. For larger channels the budget replaces the channel."""

Floats = NDArray[np.float64]
PathLike = str | os.PathLike[str]


class SurveyShape(Document):
    """One survey of a programme in the TOML document: ``[[surveys]]``."""

    name: str = Field(min_length=1)
    collection: str = Field(min_length=1)
    waves: int = Field(default=1, ge=1, le=100_000)
    answers: int | None = Field(default=None, ge=1)
    times_known: bool = False
    people: str = Field(default=EVERYONE, min_length=1)


class ProgrammeShape(Document):
    """Keys of a programme in the TOML document."""

    format: Literal["deniable programme"]
    format_version: Literal[1]
    title: str = ""
    surveys: list[SurveyShape] = Field(min_length=1)


@dataclass(frozen=True)
class PlannedSurvey:
    """One survey of a programme.

    Parameters
    ----------
    name : str
        Title that people read.
    collection : Collection
        Collection of the survey.
    waves : int
        Number of times that one person answers the survey.
    answers : int or None
        Largest number of different answers of one person, if permanent responses are kept. None if it is not known.
    times_known : bool
        Whether the collector may learn when an answer changed.
    people : str
        Name of the group that is asked. Nobody is in two groups. "everyone" means all groups.
    """

    name: str
    collection: Collection
    waves: int = 1
    answers: int | None = None
    times_known: bool = False
    people: str = EVERYONE

    def __post_init__(self) -> None:
        if is_memoised(self.collection):
            return
        if self.answers is not None or self.times_known:
            raise InvalidParameterError(
                f"answers and times_known must be left out for the survey {quoted(self.name)}, because the mechanism "
                f"{self.collection.mechanism.name} keeps no permanent responses"
            )


@dataclass(frozen=True, eq=False)
class SurveyTotal(Result):
    """Largest total epsilon of one contributor in one survey.

    Parameters
    ----------
    name, mechanism, people : str
        Names of the survey, its mechanism, and the group that it asks.
    waves : int
        Number of reports of one person.
    each : float
        Epsilon of one report; infinite if there is no bound.
    total : Fraction or None
        Exact epsilon of all reports of one person; None if there is no bound.
    holds : str
        Condition under which the total holds, or "".
    """

    also: ClassVar = {"epsilon": "epsilon"}

    name: str
    mechanism: str
    people: str
    waves: int
    each: float
    total: Fraction | None = field(metadata=HIDDEN)
    holds: str = field(default="", metadata=OPTIONAL)

    @property
    def epsilon(self) -> float:
        """The total as a float, rounded up."""
        return math.inf if self.total is None else float_above(self.total)


@dataclass(frozen=True, eq=False)
class AttributeLeakage(Result):
    """Leakage of a whole programme about one attribute that stays the same in all waves, in nats.

    Parameters
    ----------
    about : str
        Name of the attribute.
    own_epsilon : float
        Leakage by the reports of this attribute alone; 0 if no survey asks it.
    total : float
        Leakage by all reports, for an adversary who knows the joint distribution.
    status : str
        "exact" or "upper bound".
    """

    about: str
    own_epsilon: float
    total: float
    status: str


@dataclass(frozen=True, eq=False)
class Programme(Result):
    """Total epsilons and leakage of a programme of surveys, as `programme` returns them.

    Parameters
    ----------
    title : str
        Title that people read.
    surveys : tuple of SurveyTotal
        Totals of the surveys, one for each survey.
    groups : mapping of str to float
        Largest total of a contributor in each group of people, including the surveys that everyone is asked. Rounded
        up; infinite if there is no bound.
    conditions : tuple of str
        Conditions under which the totals hold.
    leakage : tuple of AttributeLeakage
        Leakage by all surveys together about each attribute. Empty without a prior.
    prior : str
        Knowledge of the adversary, or "" without a prior.
    notes : tuple of str
        Notes on what the computed leakage leaves out or assumes.
    """

    format = FORMAT
    also: ClassVar = {"epsilon": "epsilon", "statement": "statement"}

    title: str
    surveys: tuple[SurveyTotal, ...]
    groups: dict[str, float]
    conditions: tuple[str, ...] = ()
    leakage: tuple[AttributeLeakage, ...] = ()
    prior: str = field(default="", metadata=OPTIONAL)
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """Largest total of any contributor, rounded up."""
        return max(self.groups.values())

    @property
    def statement(self) -> str:
        """The largest total in one sentence."""
        if not math.isfinite(self.epsilon):
            return "No bound is known for the total of one contributor."
        group = max(self.groups, key=lambda one: self.groups[one])
        among = "" if len(self.groups) == 1 else f", in {quoted(group)}"
        return f"One contributor spends at most epsilon = {bound_text(self.epsilon)}{among}."


def load_programme(path: PathLike) -> tuple[str, tuple[PlannedSurvey, ...]]:
    r"""Return the title and the surveys of a programme (TOML), with the collections that it names.

    Raises
    ------
    FileFormatError
        If the file is missing or not TOML, has an unknown key, or names a collection that cannot be read.
    InvalidParameterError
        If a value is out of bounds.
    MismatchError
        If two surveys of the same people share their permanent responses.

    Examples
    --------
    >>> import tempfile
    >>> from deniable import GRR, Attribute
    >>> folder = Path(tempfile.mkdtemp())
    >>> Collection(Schema((Attribute("mood", ("good", "bad")),)), GRR(k=2, epsilon=1.0)).save(folder / "mood.json")
    >>> lines = ["format = 'deniable programme'", "format_version = 1", "[[surveys]]", "name = 'mood'", "waves = 3"]
    >>> _ = (folder / "plan.toml").write_text("\n".join([*lines, "collection = 'mood.json'"]))
    >>> programme(load_programme(folder / "plan.toml")[1]).epsilon
    3.0
    """
    source = Path(path)
    try:
        data = tomllib.loads(read_document(source))
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{source} is not TOML: {error}") from error
    with placed(str(source)):
        shape = ProgrammeShape.model_validate(data)
    surveys = tuple(
        PlannedSurvey(
            one.name,
            Collection.load(source.parent / one.collection),
            one.waves,
            one.answers,
            one.times_known,
            one.people,
        )
        for one in shape.surveys
    )
    return shape.title, surveys


def programme(
    surveys: Sequence[PlannedSurvey],
    *,
    title: str = "",
    records: ArrayLike | None = None,
    schema: Schema | None = None,
    source: str = "",
) -> Programme:
    """Organiser: return the largest total epsilon of one contributor in all surveys, and the leakage of all surveys.

    Parameters
    ----------
    surveys : sequence of PlannedSurvey
        At least one survey.
    title : str
        Title of the programme.
    records, schema, source : int[n, d], Schema, str
        Answers of a population, with their schema and their source. Give them to compute the leakage for an adversary
        who knows the joint distribution of these answers. The leakage is about attributes that stay the same in all
        waves, and about a person who belongs to every group.

    Raises
    ------
    InvalidParameterError
        If there is no survey, or two surveys have the same name.
    MismatchError
        If two surveys of the same people share permanent responses, or an attribute has different categories in the
        schema.

    Examples
    --------
    >>> from deniable import GRR, Attribute
    >>> from deniable.oracles import MemoisedGRR
    >>> mood = Schema((Attribute("mood", ("good", "bad")),))
    >>> found = programme([
    ...     PlannedSurvey("once", Collection(mood, GRR(k=2, epsilon="0.5")), waves=3),
    ...     PlannedSurvey("panel", Collection(mood, MemoisedGRR(2, epsilon_forever=2, epsilon_once=1)), 12, answers=1),
    ... ])
    >>> found.statement, found.conditions
    ('One contributor spends at most epsilon = 3.5.', ("panel: nobody's answer ever changes",))
    """
    if not surveys:
        raise InvalidParameterError("a programme must have at least one survey, got none")
    _check_names(surveys)
    totals = [_total(one) for one in surveys]
    named = dict.fromkeys(one.people for one in surveys)
    special = [people for people in named if people != EVERYONE] or [EVERYONE]
    groups = {
        people: _sum(total for total, one in zip(totals, surveys, strict=True) if one.people in (people, EVERYONE))
        for people in special
    }
    leakage, notes = ((), ()) if records is None else _leakage(surveys, totals, records, _given(schema))
    return Programme(
        title,
        tuple(totals),
        groups,
        tuple(f"{one.name}: {one.holds}" for one in totals if one.holds),
        leakage,
        source if records is not None else "",
        notes,
    )


def _given(schema: Schema | None) -> Schema:
    if schema is None:
        raise InvalidParameterError(
            "schema must be given together with records, because the schema names their columns"
        )
    return schema


def _check_names(surveys: Sequence[PlannedSurvey]) -> None:
    names = [one.name for one in surveys]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidParameterError(f"surveys must have distinct names, got {quoted(name)} twice")
    shared: dict[str, PlannedSurvey] = {}
    for one in surveys:
        if is_memoised(one.collection):
            first = shared.setdefault(series(one.collection), one)
            if first is not one and (first.people == one.people or EVERYONE in (first.people, one.people)):
                raise MismatchError(
                    f"the surveys {quoted(first.name)} and {quoted(one.name)} share their permanent responses: write "
                    "both surveys as one survey with more waves"
                )


def _total(survey: PlannedSurvey) -> SurveyTotal:
    """Return the total of one survey: the lesser of the statements that hold."""
    collection, waves = survey.collection, survey.waves
    found, holds = _fresh(survey), ""
    each = collection.privacy().of_all_reports
    if is_memoised(collection):
        mechanism = memoised_of(collection)
        memo, each = Memo(series(collection), None), float(mechanism.epsilon_once)
        # This is what the person's own ledger will say, however the answers change.
        draw = new_draw(collection, memo)
        ledger = PersonTotal((draw.model_copy(update={"draw": "0" * 32}),) * waves)
        found, holds = ledger.epsilon, _known(waves, mechanism.memo_rows) if ledger.times_known else ""
        answers = survey.answers
        claimed = None if answers is None or waves == 1 else answers * exact(mechanism.epsilon_forever)
        # Answers that change at the same times may change cells at different times. So cells are allowed only for a
        # single answer here.
        allowed = answers == 1 or (survey.times_known and mechanism.kept == "answer")
        if claimed is not None and allowed and (found is None or claimed < found):
            found = claimed
            holds = (
                "nobody's answer ever changes"
                if answers == 1
                else f"nobody has more than {answers} different answers, and the collector may know when they changed"
            )
    return SurveyTotal(survey.name, collection.mechanism.name, survey.people, waves, each, found, holds)


def _known(waves: int, rows: int) -> str:
    return (
        f"the collector may know when answers changed ({min(waves, rows)} answers are counted); if the collector may "
        "not know, the total is larger"
    )


def _fresh(survey: PlannedSurvey) -> Fraction | None:
    alone = budget(survey.collection)
    return survey.waves * exact(alone) if alone else None


def _sum(totals: Any) -> float:
    parts = [one.total for one in totals]
    known = [part for part in parts if part is not None]
    return math.inf if len(known) < len(parts) else float_above(sum(known, Fraction(0)))


# ---------------------------------------------------------------- leakage


def _leakage(
    surveys: Sequence[PlannedSurvey], totals: Sequence[SurveyTotal], records: ArrayLike, schema: Schema
) -> tuple[tuple[AttributeLeakage, ...], tuple[str, ...]]:
    """Return the leakage about every attribute of the records that varies.

    An attribute's reports in all surveys are one release of it. The release is their joint channel if that can be set
    up, otherwise any mechanism with the sum of their budgets. A mechanism that samples attributes adds its whole budget
    to every total. This is valid for any joint distribution, because reports are independent given the record, and each
    changes a likelihood by at most its budget.
    """
    parts: list[list[tuple[Any, float]]] = [[] for _ in schema.sizes]
    outside = []
    notes = ["it is assumed that every answer stays the same in all waves, and that one person is in every group"]
    for survey, total in zip(surveys, totals, strict=True):
        mechanism: Any = survey.collection.mechanism
        places = _places(survey.collection.schema, schema, survey.name)
        if total.total is None:
            raise InvalidParameterError(
                "every survey must have a mechanism whose leakage has a bound, but the mechanism of "
                f"{quoted(survey.name)} has no bound: choose another mechanism for this survey"
            )
        if not mechanism.records:
            parts[places[0]].append((survey, total.epsilon))
        elif mechanism.reveals == "all":
            for place, oracle in zip(places, mechanism.oracles, strict=True):
                alone = PlannedSurvey(survey.name, _single(oracle), survey.waves)
                parts[place].append((alone, survey.waves * float(oracle.epsilon)))
        else:
            outside.append(total.epsilon)
            notes.append(f"{survey.name}: reports of sampled attributes are counted with their whole budget")
    releases, sure = zip(*(_release(one, k) for one, k in zip(parts, schema.sizes, strict=True)), strict=True)
    found = record_leakage(records, schema.sizes, list(releases), schema.names)
    added = math.fsum(outside)
    certain = all(sure) and not outside
    names = found.pairwise.names
    rows = tuple(
        AttributeLeakage(
            name,
            float(found.pairwise.direct[i]),
            found.totals[i].epsilon + added,
            found.totals[i].status if certain else "upper bound",
        )
        for i, name in enumerate(names)
    )
    return rows, (*notes, *found.pairwise.notes)


def _single(oracle: Any) -> Collection:
    """Return a collection of one attribute by one of a record mechanism's oracles."""
    return Collection(Schema((Attribute("one", tuple(map(str, range(oracle.k)))),)), oracle)


def _places(asked: Schema, schema: Schema, name: str) -> list[int]:
    """Return the columns of the records that a survey asks about."""
    places = []
    for attribute, labels in zip(asked.names, _labels(asked), strict=True):
        if attribute not in schema.names:
            raise MismatchError(
                f"the survey {quoted(name)} asks {quoted(attribute)}, but the records have no column with this name; "
                "add the column"
            )
        place = schema.names.index(attribute)
        if _labels(schema)[place] != labels:
            raise MismatchError(
                f"{quoted(attribute)} must have the same categories in the survey {quoted(name)} and in the records, "
                "but the categories differ"
            )
        places.append(place)
    return places


def _labels(schema: Schema) -> list[tuple[str, ...]]:
    return [column.labels for column in schema.columns]


def _release(reports: Sequence[tuple[PlannedSurvey, float]], k: int) -> tuple[Any, bool]:
    """Return the joint release of all reports of one attribute, and whether it is their own law."""
    if not reports:
        return np.ones((k, 1)), True
    channel: Floats | None = np.ones((k, 1))
    for survey, _ in reports:
        own = _channel(survey)
        channel = None if channel is None or own is None else _together(channel, own)
    if channel is not None:
        return channel, True
    epsilon = math.fsum(epsilon for _, epsilon in reports)
    return (any_mechanism_channel(k, epsilon) if k <= MAX_DOMAIN else epsilon), False


def _channel(survey: PlannedSurvey) -> Floats | None:
    """Return P(all reports of one survey | an unchanged answer) without what adds nothing; None if it is too large."""
    mechanism: Any = survey.collection.mechanism
    if not is_memoised(survey.collection):
        return _repeated(enumerated(mechanism, MAX_CELLS), survey.waves)
    if survey.waves == 1:
        return enumerated(mechanism, MAX_CELLS)
    if not isinstance(mechanism, MemoisedGRR) or mechanism.k**2 > MAX_CELLS:
        return None
    p, q = map(float, mechanism.second_stage)
    second = _repeated(np.where(np.eye(mechanism.k, dtype=bool), p, q), survey.waves)
    return None if second is None else merged_channel(mechanism.first.channel() @ second)


def _repeated(channel: Floats | None, times: int) -> Floats | None:
    found = None if channel is None else np.ones((len(channel), 1))
    for _ in range(times):
        found = None if found is None or channel is None else _together(found, channel)
    return found


def _together(one: Floats, other: Floats) -> Floats | None:
    """Return the channel of two independent reports; None if it is too large."""
    if one.shape[1] * other.shape[1] * len(one) > MAX_CELLS:
        return None
    return merged_channel((one[:, :, None] * other[:, None, :]).reshape(len(one), -1))
