"""Rounds of a survey: the next one is learned from the earlier ones, for other people, and entered as a draft."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any

from deniable.answers import Summary, summarize_phases
from deniable.answers.asked import QuestionSet
from deniable.core.aggregate import Aggregate
from deniable.errors import EmptyAggregateError, InvalidParameterError, quoted, unknown_name
from deniable.records.phases.phases import Phases, learner_names, next_round
from deniable.service.browsers import unknown_to_browsers
from deniable.service.findings import Finding, findings, means_of
from deniable.service.surveys import Survey, Surveys
from deniable.survey.collection import Collection


def draft_next(
    surveys: Surveys, slug: str, contributors: int, mechanism: str = "Corr-RR", settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Close the last round of a survey, learn the next one from all rounds, and enter it as a draft.

    The page of the next round has the texts and terms of the last round without its times. Nobody may answer in two
    rounds. Invitations are split in advance. In open access, devices that remember an earlier round refuse.

    Parameters
    ----------
    surveys : Surveys
        Surveys of the collector.
    slug : str
        Name of the survey.
    contributors : int
        Planned number of people in the next round.
    mechanism : str
        Name from `learner_names`.
    settings : dict, optional
        Further options for learning.

    Raises
    ------
    InvalidParameterError
        If the last round is a draft, or cannot be learned from in this manner. Then it is not closed.
    MismatchError
        If the mechanism of a round does not allow to learn from it. Then the last round is not closed.
    EmptyAggregateError
        If a round has no reports. Then it is closed, and no round follows it.
    """
    last = surveys.row(slug)
    if last.state == "draft":
        raise InvalidParameterError(
            f"round {last.position} of {quoted(slug)} is still a draft, but it must be opened before the next round is "
            "made; run `survey open`"
        )
    if mechanism not in learner_names():
        raise unknown_name("mechanism", mechanism, learner_names())
    if last.state != "closed":
        # Nobody can undo the close, so what cannot be learned is refused first. The last reports are still missing.
        with contextlib.suppress(EmptyAggregateError):
            next_round(_phases(surveys, slug), contributors, mechanism, **(settings or {}))
        surveys.close(slug, now=True)
    phases = _phases(surveys, slug)
    found = next_round(phases, contributors, mechanism, **(settings or {}))
    _, _, dictionaries = surveys.store.documents(last.id)
    page = surveys.load(last.id).page.model_copy(
        update={"collection": found.id, "contributors": contributors, "opens_at": None, "closes_at": None}
    )
    survey = Survey.read(found.to_json(), page.to_json(), dictionaries)
    surveys.store.add_round(found.id, slug, survey.document, survey.page_text, survey.no_counts(), dictionaries)
    return {
        "slug": slug,
        "round": last.position + 1,
        "collection": found.id,
        "mechanism": found.mechanism.name,
        "learned_from": sum(aggregate.n for _, aggregate in phases),
        "state": "draft",
        "browsers": not unknown_to_browsers(found.mechanism),
        "document": survey.document,
    }


def _phases(surveys: Surveys, slug: str) -> list[tuple[Collection, Aggregate]]:
    """Return the collections of all rounds, with the sums that are released."""
    loaded = [(row, surveys.load(row.id)) for row in surveys.store.collections(slug)]
    return [
        (survey.collection, survey.aggregate(*surveys.store.released(row.id), row.source)) for row, survey in loaded
    ]


UNMIXED = "unmixed"
"""Name of the unbiased estimator of mechanisms whose own estimate is biased."""


@dataclass(frozen=True)
class Round:
    """Round as the dashboard lists it.

    Parameters
    ----------
    position : int
        Number of the round, from 1.
    mechanism : str
        Name of the round's mechanism.
    n : int
        Number of released reports.
    state : str
        State of the round.
    """

    position: int
    mechanism: str
    n: int
    state: str


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rounds of a survey, and the combined results of the closed ones.

    Parameters
    ----------
    rounds : tuple of Round
        All rounds in their order.
    summary : Summary or None
        Estimates of all closed rounds with reports, weighted by numbers of reports; None for fewer than two.
    estimator : str or None
        Estimator for the rounds whose own estimate is biased.
    warnings : tuple of str
        Attributes that are less precise together than in one round alone.
    findings : tuple of Finding
        Findings about each question that has no warning.
    """

    rounds: tuple[Round, ...]
    summary: Summary | None = None
    estimator: str | None = None
    warnings: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def command(self) -> str:
        """Command that prints the same results from files."""
        files = " ".join(
            f"survey-{one.position}.json {one.position}.aggregate"
            for one in self.rounds
            if one.state == "closed" and one.n
        )
        return f"deniable combine {files}" + (f" --estimator {self.estimator}" if self.estimator else "")

    def to_json(self) -> bytes:
        """Return the document ``combination.json``."""
        data = {
            "format": "deniable rounds",
            "format_version": 1,
            "rounds": [vars(one) for one in self.rounds],
            "estimator": self.estimator,
            "warnings": list(self.warnings),
            "estimate": None if self.summary is None else self.summary.to_dict(),
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def combined(surveys: Surveys, slug: str) -> Rounds:
    """Return the rounds of a survey and the combination of the closed ones, as `deniable combine` computes it.

    Open rounds are left out, because their intervals would hold at one look only. If a mechanism's own estimate is
    biased, as that of Corr-RR over equal domains, its unbiased estimate is used.
    """
    rounds, parts = list[Round](), list[tuple[Collection, Aggregate]]()
    for row in surveys.store.collections(slug):
        survey = surveys.load(row.id)
        release, counts = surveys.store.released(row.id)
        rounds.append(Round(row.position, survey.collection.mechanism.name, release.n, row.state))
        if row.state == "closed" and release.n and survey.counted:
            parts.append((survey.collection, survey.aggregate(release, counts, row.source)))
    if len(parts) < 2:
        return Rounds(tuple(rounds))
    phases = Phases(parts)
    estimator, estimates = None, phases.estimate()
    offered = any(UNMIXED in collection.mechanism.estimators for collection, _ in parts)
    if offered and not all(one.is_raw for one in estimates.values()):
        estimator, estimates = UNMIXED, phases.estimate(estimator=UNMIXED)
    summary = summarize_phases(phases, estimates)
    # A headline is read after the estimates were seen, so it needs simultaneous intervals.
    wide = summarize_phases(phases, estimates, simultaneous=True, asked=QuestionSet(means=means_of(survey.collection)))
    said = findings(survey.collection, survey.page, estimates, summary, wide)
    warnings = phases.warnings(estimator)
    warned = {
        one.name
        for one in survey.collection.schema.attributes
        if any(warning.startswith(f"{column.name}: ") for column in one.columns for warning in warnings)
    }
    # Such a question is read from one round alone, as its warning says.
    clear = tuple(finding for finding in said if finding.name not in warned)
    return Rounds(tuple(rounds), summary, estimator, warnings, clear)
