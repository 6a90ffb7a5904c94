"""The next phase of a survey, from those so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_output, console, note, verb
from deniable.cli._collections import print_collection, save_collection
from deniable.cli._mechanisms import parse_settings
from deniable.cli._phases import load_phases
from deniable.core.names import spelling
from deniable.errors import InvalidParameterError
from deniable.planning import loss_text
from deniable.records.phases.phases import learner_names, next_round
from deniable.records.phases.two_phase import phase_one_marginals
from deniable.report.text import print_line


@verb("learn")
def learn(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="PHASES...", help="Each phase's collection and aggregate so far, in their order."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the next phase's collection (JSON).")],
    contributors: Annotated[int, typer.Option("--contributors", help="How many are expected in the next phase.")],
    mechanism: Annotated[
        str, typer.Option("--mechanism", help=f"What learns from them: {', '.join(learner_names())}.")
    ] = "Corr-RR",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another setting of the learning, as JSON; repeatable."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another collection.")] = False,
) -> None:
    """Learn the next phase of a survey from those so far.

    For collectors. Prints the guarantee.

    The next phase is a collection of its own, for other contributors. What was learned is
    published as the parameters of its mechanism.
    """
    check_output(output, files)
    if len(files) % 2:
        raise InvalidParameterError(
            f"a collection and an aggregate must be given for each phase, got {len(files)} files"
        )
    phases = load_phases(files)
    result = next_round(phases, contributors, _spelled(mechanism), **parse_settings(settings or []))
    save_collection(result, output, force)
    print_collection(result)
    _, first = phases[0]
    print_line(console(), loss_text(result.mechanism, phase_one_marginals(first)[1]))
    note("its contributors must be others than those of the phases before: who answers twice spends both epsilons")


def _spelled(name: str) -> str:
    """Return the mechanism's own spelling of a name."""
    return next((one for one in learner_names() if spelling(one) == spelling(name)), name)
