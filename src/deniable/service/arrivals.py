"""Alarm for arrivals that leave the plan: more reports than planned contributors can send, or too many at once.

In open access the collector knows no addresses and no people. It therefore cannot tell forged reports from a survey
that was passed on. The alarm tells the organiser to look. The rule reads only the database, so a collector after a
restart and a second collector come to the same result.
"""

from __future__ import annotations

import logging
import math
from datetime import timedelta
from typing import Literal, final

from deniable.service.stores.store import CollectionRow, Store
from deniable.service.surveys import Clock, Survey

OffPlan = Literal["more", "faster"]
"""Reasons why arrivals are off the plan: more reports than planned, or enough at once to fill it in minutes."""

MARGIN = 1.1
"""Factor of the plan that is still expected. A plan is a round number, so a tenth more is not news."""

DEVIATIONS = 3
"""Standard deviations of a Poisson number that chance may add to the plan."""

SHARE_AT_ONCE = 0.1
"""Share of the plan that one drain may bring beyond a batch. At this pace, drains every 10 s fill the plan in 100 s."""

log = logging.getLogger("deniable.service")


def off_plan(planned: int | None, counted: int, at_once: int = 0) -> OffPlan | None:
    """Return why arrivals are off the plan, or None if they are not or no number of contributors was planned.

    Parameters
    ----------
    planned : int or None
        Number of contributors that were planned.
    counted : int
        Number of reports in the sum.
    at_once : int
        Largest number of reports that one drain brought beyond the smallest batch. An inbox is drained within seconds
        of holding a smallest batch, so these came within that time.

    Examples
    --------
    >>> off_plan(500, 617), off_plan(500, 618), off_plan(500, 200, at_once=72), off_plan(None, 10**6)
    (None, 'more', 'faster', None)
    """
    if planned is None:
        return None
    if counted > MARGIN * planned + DEVIATIONS * math.sqrt(planned):
        return "more"
    share = SHARE_AT_ONCE * planned
    return "faster" if at_once > share + DEVIATIONS * math.sqrt(share) else None


@final
class Arrivals:
    """Alarm of one collector about arrivals that leave the plan.

    Parameters
    ----------
    store : Store
        Database of the collector.
    clock : callable
        Function that returns the time.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._said: set[str] = set()

    def look(self, row: CollectionRow, survey: Survey) -> OffPlan | None:
        """Return why arrivals are off the plan now, by the drains of today and yesterday."""
        since = (self._clock().date() - timedelta(days=1)).isoformat()
        largest = self._store.largest_batch(row.id, since)
        return off_plan(survey.page.contributors, row.n, largest - survey.page.min_batch)

    def log(self, row: CollectionRow, survey: Survey) -> None:
        """Write a line to the log when arrivals leave the plan, and no further line until they are back."""
        found = None if row.state == "closed" else self.look(row, survey)
        if found is None:
            self._said.discard(row.id)
        elif row.id not in self._said:
            self._said.add(row.id)
            log.warning(
                "survey %s: reports are %s than planned: %d counted, %d planned; pause it if you did not expect them",
                *(row.slug, "more" if found == "more" else "arriving faster", row.n, survey.page.contributors),
            )

    def gauges(self, row: CollectionRow, survey: Survey) -> dict[str, float]:
        """Return planned and counted reports of a survey that takes reports, and whether arrivals are off the plan."""
        name = f'{{survey="{row.slug}"}}'
        found: dict[str, float] = {f"deniable_counted_reports{name}": row.n}
        if survey.page.contributors is not None and row.state != "closed":
            found[f"deniable_planned_reports{name}"] = survey.page.contributors
            found[f"deniable_arrivals_off_plan{name}"] = self.look(row, survey) is not None
        return found
