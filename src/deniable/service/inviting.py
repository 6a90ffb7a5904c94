"""Commands about invitations on a collector: enter them, make them void, and say which groups are behind."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from deniable.errors import InvalidParameterError, quoted
from deniable.service.stores.invited import Invitation
from deniable.service.surveys import Surveys


def terms(surveys: Surveys, slug: str) -> dict[str, Any]:
    """Return what an inviter needs to know of a survey's present round.

    Raises
    ------
    InvalidParameterError
        If it is open to everybody.
    """
    row = surveys.row(slug)
    survey = surveys.load(row.id)
    if survey.page.access != "invited":
        raise InvalidParameterError(
            f"access must be “invited” in the page of {quoted(slug)} to invite people, got "
            f"access={quoted(survey.page.access)}; "
            "change it in page.json and run `survey new` again with that file"
        )
    return {
        "collection": row.id,
        "position": row.position,
        "path": f"/s/{slug}#{survey.link_digits}",
        "min_batch": survey.page.min_batch,
        "title": survey.collection.title or slug,
    }


def enter(surveys: Surveys, slug: str, invited: Sequence[tuple[str, str, int]]) -> dict[str, Any]:
    """Enter invitations, given as the id in base64, the channel and the group; all of them or none.

    Raises
    ------
    InvalidParameterError
        If the survey is open to everybody, is not open, or one of them is there already.
    """
    collection = str(terms(surveys, slug)["collection"])
    surveys.store.invite(collection, [Invitation(b64decode(name), tag, part) for name, tag, part in invited])
    return {"slug": slug, "invited": len(invited)}


def withdraw(surveys: Surveys, slug: str, names: Sequence[str]) -> dict[str, Any]:
    """Make invitations void that were not used; how many that are is not said, for it could be about one person."""
    surveys.store.withdraw(str(terms(surveys, slug)["collection"]), map(b64decode, names))
    return {"slug": slug, "withdrawn": len(names)}


def remind(surveys: Surveys, slug: str) -> dict[str, Any]:
    """Return the ids of all invitations in groups of which fewer than half were used: a bit for a whole group."""
    asked = terms(surveys, slug)
    behind = surveys.store.behind(str(asked["collection"]), int(asked["min_batch"]))
    return {"slug": slug, "behind": [b64encode(name).decode() for name in behind]}
