"""Releases: the sum that analysts see while a survey is open, and the rule for when the next one is due.

All that analysts read is made from the last release. Two looks are therefore equal or differ by all reports of one
release step. The release is stored, so a restart, a second collector and the command line show the same sum.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal, NamedTuple

Step = Literal["day"] | int
"""When analysts get a new sum while a survey is open: once a day, or after this many batches."""

WHOLE_DAY: Step = "day"


class Release(NamedTuple):
    """Last release: its day, its number of batches, and the number of reports in them.

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
        Day on which the last of them was drained, as ``2026-05-01``.
    released : Release
        Last release.
    step : {"day"} or int
        Release step. With "day", a release holds everything that was drained before today, so a step is made of whole
        days. With either kind of step the first batch is released at once.
    today : str
        Day of this look.

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
    """Return whether a day has ended.

    A day that is more than one day ahead was written by a wrong clock, and counts as ended.
    """
    return day < today or date.fromisoformat(day) - date.fromisoformat(today) > timedelta(days=1)
