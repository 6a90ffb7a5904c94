"""Clock of a collector, which follows a jump of the machine's clock only after the jump has lasted.

A survey closes by the clock, and a clock that was wrong for two seconds must not close it for ever. The collector
compares the wall clock with a counting clock, which also counts while the machine sleeps. If their difference changes
by more than an hour, the collector continues counting. After `PATIENCE` seconds it follows the wall clock, because all
other machines have that time. From then on, acts that nobody could undo wait for a person.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import final

JUMP = timedelta(hours=1)
"""Largest change of a clock that counts as setting the clock. A larger change is a jump."""

PATIENCE = 900.0
"""Seconds for which a jump must last before it is followed."""

log = logging.getLogger("deniable.service")


def system_clock() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


def since_start() -> float:
    """Return seconds of a clock that only grows, also while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@final
class JudgedClock:
    """Time without jumps that do not last; any thread may call it.

    Parameters
    ----------
    wall : callable
        Function that returns the time of this machine.
    elapsed : callable
        Function that returns seconds that only grow.
    patience : float
        Seconds for which a jump must last before it is followed; with 0 every jump is followed at once.

    Examples
    --------
    >>> wall, elapsed = [datetime(2026, 5, 1, tzinfo=UTC)], [0.0]
    >>> clock = JudgedClock(lambda: wall[0], lambda: elapsed[0])
    >>> wall[0] += timedelta(days=40)
    >>> clock().date().isoformat(), clock.steady()
    ('2026-05-01', False)
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = system_clock,
        elapsed: Callable[[], float] = since_start,
        patience: float = PATIENCE,
    ) -> None:
        self._wall, self._elapsed, self._patience = wall, elapsed, patience
        self._lock = threading.Lock()
        self._began = elapsed()
        # The counting clock is added to this moment.
        self._zero = wall() - timedelta(seconds=self._began)
        self._jumped: tuple[float, datetime] | None = None
        self._followed = False

    def __call__(self) -> datetime:
        """Return the time, without jumps that have not lasted."""
        with self._lock:
            wall, elapsed = self._wall(), self._elapsed()
            zero = wall - timedelta(seconds=elapsed)
            if abs(zero - self._zero) <= JUMP or not self._patience:
                if self._jumped is not None:
                    log.warning("the clock of this machine is back; nothing was done by it meanwhile")
                self._zero, self._jumped = zero, None
                return wall
            if self._jumped is None or abs(zero - self._jumped[1]) > JUMP:
                self._jumped = elapsed, zero
                log.error(
                    "the clock of this machine jumped by %s, to %s: it is not followed for %d minutes; set it right",
                    *(_said(zero - self._zero), wall.isoformat(timespec="seconds"), round(self._patience / 60)),
                )
            elif elapsed - self._jumped[0] >= self._patience:
                log.error(
                    "the clock of this machine has been %s away for %d minutes and is followed from now on: surveys "
                    "may close by it, and 'survey open' opens them again. What cannot be undone waits for 'survey "
                    "close --now', or until the collector is started again with a clock that is right",
                    *(_said(zero - self._zero), round(self._patience / 60)),
                )
                self._zero, self._jumped, self._followed = zero, None, True
                return wall
            return self._zero + timedelta(seconds=elapsed)

    def steady(self) -> bool:
        """Return whether the clock has been right for long enough for acts that nobody can undo."""
        self()
        with self._lock:
            return self._jumped is None and not self._followed and self._elapsed() - self._began >= self._patience


def _said(difference: timedelta) -> str:
    sign = "-" if difference < timedelta() else "+"
    return f"{sign}{round(abs(difference) / timedelta(hours=1)):,} hours"
