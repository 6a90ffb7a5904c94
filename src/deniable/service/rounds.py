"""Rounds of a survey: the next one is learned from those so far, for other people, and entered as a draft."""

from __future__ import annotations

from typing import Any

from deniable.errors import InvalidParameterError, unknown_name
from deniable.records.phases.phases import learner_names, next_round
from deniable.service.browsers import unknown_to_browsers
from deniable.service.surveys import Survey, Surveys


def draft_next(
    surveys: Surveys, slug: str, contributors: int, mechanism: str = "Corr-RR", settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Close the last round of a survey, learn the next one from all rounds, and enter it as a draft.

    Its page has the texts and terms of the last round without its times. Nobody may answer in two rounds:
    invitations are split in advance, and in open access devices refuse that remember an earlier round.

    Parameters
    ----------
    surveys : Surveys
        The collector's.
    slug : str
        Name of the survey.
    contributors : int
        Planned number of people in the next round.
    mechanism : str
        One of `learner_names`.
    settings : dict, optional
        Further options for learning.

    Raises
    ------
    InvalidParameterError
        If the last round is a draft, or cannot be learned from in this manner.
    EmptyAggregateError
        If a round has no reports. Then it is closed, and no round follows it.
    """
    last = surveys.row(slug)
    if last.state == "draft":
        raise InvalidParameterError(
            f"round {last.position} of {slug!r} must be opened before another follows, got a draft; run survey open"
        )
    if mechanism not in learner_names():
        raise unknown_name("mechanism", mechanism, learner_names())
    if last.state != "closed":
        surveys.close(slug, now=True)
    phases = []
    for row in surveys.store.collections(slug):
        survey = surveys.load(row.id)
        phases.append((survey.collection, survey.aggregate(*surveys.store.released(row.id), row.source)))
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
