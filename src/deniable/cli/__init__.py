"""The command line: a thin translation of the library, one file per group of verbs, each read when it is asked for."""

from __future__ import annotations

from deniable.cli._app import VERBS as VERBS, app as app, main as main

ORDER = tuple(VERBS)
"""The verbs in the order of the data's way, then what is asked about it, as help lists them."""
