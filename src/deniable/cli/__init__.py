"""The command line, a thin layer over the library.

Each group of commands has one file, imported on demand.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def _end(*_: object) -> None:
    os._exit(0)


if sys.argv[1:2] == ["serve"]:
    # The imports below take a second. A collector that is asked to end in this second has not begun anything.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, _end)

from deniable.cli._app import app as app, commands as commands, main as main  # noqa: E402
