"""Orderly end of the process: SIGTERM and SIGINT, from the first moment on, and a time limit for the end."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Self, final

EXIT_SECONDS = 8.5
"""Seconds after which the process ends when it was asked to, even if the database does not answer."""

_PAUSE = 0.2

log = logging.getLogger("deniable.service")


@final
class Ending:
    """Context that turns SIGTERM and SIGINT into an orderly end while its block lasts.

    Before `wait` is called, a signal leaves the block by SystemExit with code 0. What was begun is undone, and nothing
    has been acknowledged yet. After the call, a signal lets `wait` return. In both cases the process ends within
    `EXIT_SECONDS`. Nothing that was acknowledged can be lost by that, because it is on the disk.
    """

    def __init__(self) -> None:
        # There are no locks: the handler runs in the waiting thread, and could find its own lock taken.
        self._asked = self._waiting = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self) -> None:
        """Wait until the process is asked to end."""
        self._waiting = True
        while not self._asked:
            # Libraries that handle SIGINT for a while, such as pyarrow, leave SIGINT unable to interrupt a longer wait.
            time.sleep(_PAUSE)

    def _ask(self, _: int, __: FrameType | None) -> None:
        if self._asked:
            return
        self._asked = True
        limit = threading.Timer(EXIT_SECONDS, _leave)
        limit.daemon = True
        limit.start()
        if not self._waiting:
            raise SystemExit(0)


def _leave() -> None:
    log.error("the database does not answer; the process ends without it, and what was acknowledged is stored")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)
