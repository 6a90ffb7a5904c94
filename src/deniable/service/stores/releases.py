"""Releases: the sum that analysts see while a survey is open, and when the next one is due.

Everything that analysts read is made from the last release, so two looks are equal or differ by all reports of one
release step. The release is stored: a restart, a second collector and the command line show the same sum.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal, NamedTuple

Step = Literal["day"] | int
"""When analysts get a new sum while a survey is open: once a day, or after this many batches."""

WHOLE_DAY: Step = "day"


class Release(NamedTuple):
    """Last release: on which day, how many batches, and how many reports are in them.

    Before the first release the day is empty and both numbers are 0.
    """

    day: str = ""
    batches: int = 0
    n: int = 0


def is_due(batches: int, last_day: str, released: Release, step: Step, today: str) -> bool:
    """Return whether the sum is to be released now.

    Parameters
    ----------
    batches : int
        Number of batches in the sum.
    last_day : str
        The day on which the last of them was drained, as ``2026-05-01``.
    released : Release
        The last release.
    step : {"day"} or int
        The release step. With "day", a release holds everything that was drained before today, so a step is made of
        whole days. Either way the first batch is released at once.
    today : str
        The day of this look.

    Examples
    --------
    >>> first = Release("2026-05-01", 1, 100)
    >>> is_due(7, "2026-05-01", first, "day", "2026-05-01"), is_due(7, "2026-05-01", first, "day", "2026-05-02")
    (False, True)
    >>> is_due(7, "2026-05-01", first, 7, "2026-05-02"), is_due(8, "2026-05-01", first, 7, "2026-05-02")
    (False, True)
    """
    if batches == released.batches:
        return False
    if not released.batches:
        return True
    if step == "day":
        return _over(last_day, today) and _over(released.day, today)
    return batches - released.batches >= step


def _over(day: str, today: str) -> bool:
    """Return whether a day has ended; one that is more than a day ahead was written by a clock that was wrong."""
    return day < today or date.fromisoformat(day) - date.fromisoformat(today) > timedelta(days=1)
