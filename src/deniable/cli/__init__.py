"""The command line: a thin translation of the library, one file per group of verbs."""

from __future__ import annotations

import contextlib
import io
import sys

from deniable.cli._app import app as app
from deniable.cli.collecting import aggregate as aggregate
from deniable.cli.collecting import merge as merge
from deniable.cli.collecting import randomize as randomize
from deniable.cli.dealing import deal as deal
from deniable.cli.dealing import hand_out_shares as hand_out_shares
from deniable.cli.demonstrating import demo as demo
from deniable.cli.designing import collection as collection
from deniable.cli.designing import schema as schema
from deniable.cli.hunting import heavy_hitters as heavy_hitters
from deniable.cli.inspecting import inspect as inspect
from deniable.cli.leaking import audit as audit
from deniable.cli.leaking import calibrate as calibrate
from deniable.cli.leaking import leakage as leakage
from deniable.cli.phasing import combine as combine
from deniable.cli.phasing import learn as learn
from deniable.cli.planning import plan as plan
from deniable.cli.reading import estimate as estimate

ORDER = (
    *("schema", "collection", "inspect", "randomize", "aggregate", "merge", "estimate", "heavy-hitters"),
    *("learn", "combine"),
    *("deal", "hand-out"),
    *("plan", "leakage", "calibrate", "audit", "demo"),
)
"""The verbs in the order of the data's way, then what is asked about it, as help lists them."""

app.registered_commands.sort(key=lambda command: ORDER.index(command.name or ""))


def main() -> None:
    """Run the command line; the entry point of the ``deniable`` script."""
    for stream in (sys.stdout, sys.stderr):
        # A label that the terminal's encoding lacks is shown as "?", never a reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="replace")
    app()
