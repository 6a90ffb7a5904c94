"""The command line: a thin translation of the library, one file per group of verbs, each read when it is asked for."""

from __future__ import annotations

import contextlib
import io
import sys

from deniable.cli._app import VERBS as VERBS
from deniable.cli._app import app as app

ORDER = tuple(VERBS)
"""The verbs in the order of the data's way, then what is asked about it, as help lists them."""


def main() -> None:
    """Run the command line; the entry point of the ``deniable`` script."""
    for stream in (sys.stdout, sys.stderr):
        # A label that the terminal's encoding lacks is shown as "?", never a reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="replace")
    app()
