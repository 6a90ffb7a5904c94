"""Check before a survey opens: whether it can work with the planned number of people.

The command line and the browser call the same function.
"""

from __future__ import annotations

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.collection import Collection

LEAST_WORDS = 3
"""Least number of words of a reason for opening a survey that cannot work."""


def cannot_work(collection: Collection, contributors: int | None) -> str:
    """Return why a survey cannot work, and what would help; "" if it can, or no number of people is planned."""
    from deniable.planning import infeasibility  # it loads scipy, which serving does not need

    return "" if contributors is None else infeasibility(collection, contributors)


def check_ready(slug: str, collection: Collection, contributors: int | None, anyway: str = "") -> None:
    """Refuse to open a survey that cannot work, unless its owner says in words why it shall be opened.

    Raises
    ------
    InvalidParameterError
        If the survey cannot work and `anyway` has fewer than `LEAST_WORDS` words.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> check_ready("smoking", survey, 1000)
    >>> check_ready("smoking", survey, 20, "only to try it")
    """
    if len(anyway.split()) >= LEAST_WORDS:
        return
    if why := cannot_work(collection, contributors):
        got = f", got anyway={quoted(anyway)}" if anyway else ""
        raise InvalidParameterError(
            f"the survey {quoted(slug)} {why.removeprefix('this survey ')}. Change the survey, or open the survey "
            f"anyway with a reason of at least {LEAST_WORDS} words{got}",
            parameters=("anyway",),
        )
