"""Log of outages: the reasons for which requests were answered 503, logged once for each burst of them.

A full disk refuses every upload, so a line for each would fill it further. The first refusal is logged at once. The
others are counted, and logged together every minute and when the burst ends. A line has the cause and a number, and
nothing of a request.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

SUMMARY_SECONDS = 60.0
"""A burst that lasts is logged again after this time."""

QUIET_SECONDS = 5.0
"""A burst has ended when nothing was refused for this time."""

log = logging.getLogger("deniable.service")


@dataclass
class _Burst:
    began: float
    last: float
    uploads: int = 0


@final
class Outages:
    """Counts of refused requests, by cause; any thread may add to them.

    Parameters
    ----------
    elapsed : callable
        Function that returns the seconds of a clock that never goes back.

    Examples
    --------
    >>> outages = Outages()
    >>> outages.refused("database or disk is full", 3)
    >>> outages.current()
    ['database or disk is full']
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed, self._lock = elapsed, threading.Lock()
        self._bursts: dict[str, _Burst] = {}

    def refused(self, cause: str, requests: int = 1) -> None:
        """Count requests that were answered 503 or 500, and log the first request of a burst."""
        now = self._elapsed()
        with self._lock:
            burst = self._bursts.get(cause)
            if burst is not None:
                burst.uploads += requests
                burst.last = now
                return
            # The first log line states these requests, so a burst counts only those that follow.
            self._bursts[cause] = _Burst(now, now)
        log.error("503 for %s: %s", _number(requests), cause)

    def look(self, *, ending: bool = False) -> None:
        """Log bursts that have ended or lasted; called every second, and with `ending` at the end of the process."""
        now, lines = self._elapsed(), []
        with self._lock:
            for cause, burst in list(self._bursts.items()):
                over = ending or now - burst.last >= QUIET_SECONDS
                if not over and now - burst.began < SUMMARY_SECONDS:
                    continue
                if burst.uploads:
                    lines.append((burst.uploads, max(1, round(burst.last - burst.began)), cause))
                if over:
                    del self._bursts[cause]
                else:
                    self._bursts[cause] = _Burst(now, burst.last)
        for uploads, seconds, cause in lines:
            log.error("503 for %s more in %d s: %s", _number(uploads), seconds, cause)

    def current(self) -> list[str]:
        """Return the causes of the bursts that have not ended."""
        with self._lock:
            return list(self._bursts)


def _number(requests: int) -> str:
    return "1 request" if requests == 1 else f"{requests:,} requests"
