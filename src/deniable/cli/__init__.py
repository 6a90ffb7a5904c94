"""The command line: a thin translation of the library, one file per group of verbs, each read when it is asked for."""

from __future__ import annotations

from deniable.cli._app import app as app, main as main, verbs as verbs
