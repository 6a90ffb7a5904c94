"""Commands for surveys in phases: create the next phase, and combine the estimates of all phases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.answers import summarize_phases
from deniable.cli._app import check_output, check_outputs, command, console, note
from deniable.cli._collections import print_collection, save_collection
from deniable.cli._estimates import show
from deniable.cli._mechanisms import parse_settings
from deniable.cli._options import AsJson, Confidence, Html, Plot, Simultaneous, Target, TargetName, Verbose
from deniable.core.aggregate import Aggregate
from deniable.core.names import spelling
from deniable.errors import DeniableError, InvalidParameterError, quoted
from deniable.oracles.sketch.pilot import bound_price, max_frequency_bound
from deniable.planning import loss_text
from deniable.postprocess import postprocess as processed
from deniable.postprocess.steps import POSTPROCESSORS
from deniable.records.phases.phases import Phases, learner_names, next_round
from deniable.records.phases.two_phase import WEIGHTS, phase_one_marginals
from deniable.report.text import print_line
from deniable.survey.collection import Collection


@command("learn")
def learn(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="PHASES...", help="Collection and aggregate of each earlier phase, in order."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the next phase's collection (JSON).")],
    contributors: Annotated[
        int, typer.Option("--contributors", help="Expected number of contributors in the next phase.")
    ],
    mechanism: Annotated[
        str, typer.Option("--mechanism", help=f"Mechanism for the next phase: {', '.join(learner_names())}.")
    ] = "Corr-RR",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Learning option, with its value as JSON; repeatable."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a different collection in this file.")] = False,
) -> None:
    """Create the next phase of a survey from earlier phases.

    For collectors. Prints the privacy guarantee.

    The next phase is a separate collection for other contributors. What was learned is published
    as parameters of its mechanism.
    """
    check_output(output, files)
    if len(files) % 2:
        raise InvalidParameterError(
            f"a collection and an aggregate must be given for each phase, got {len(files)} files"
        )
    phases = _phases(files)
    result = next_round(phases, contributors, _spelled(mechanism), **parse_settings(settings or []))
    save_collection(result, output, force)
    print_collection(result)
    _, first = phases[0]
    if result.mechanism.records:
        print_line(console(), loss_text(result.mechanism, phase_one_marginals(first)[1]))
    else:
        _print_bound(first, contributors, **parse_settings(settings or []))
    note("nobody who took part in an earlier phase may contribute: anyone who answers twice spends both epsilons")


def _print_bound(pilot: Aggregate, contributors: int, **settings: Any) -> None:
    """Print the bound on all frequencies for which a sketch was made, and the price of the bound."""
    bound = max_frequency_bound(pilot, **settings)
    price = bound_price(pilot.mechanism.domain[0], pilot.mechanism.epsilon, contributors, bound.max_frequency)
    print_line(
        console(),
        f"learned from {bound.n:,} contributors: no value has more than {100 * bound.max_frequency:.3g}%, with "
        f"{100 * bound.confidence:g}% confidence, if they are a random sample of all",
    )
    for sentence in price.sentences:
        print_line(console(), sentence)


def _spelled(name: str) -> str:
    """Return the mechanism's own spelling of a name."""
    return next((one for one in learner_names() if spelling(one) == spelling(name)), name)


@command("combine")
def combine(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="PHASES...", help="Collection and aggregate of each phase, in order."),
    ],
    weights: Annotated[
        str,
        typer.Option("--weights", help=f"Weights of the phases: {', '.join(WEIGHTS)}, or numbers such as 0.2,0.8."),
    ] = "counts",
    estimator: Annotated[
        str | None,
        typer.Option(
            "--estimator", metavar="NAME", help="Estimator for the phases whose mechanism has it, such as unmixed."
        ),
    ] = None,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    postprocess: Annotated[
        str | None,
        typer.Option(
            "--postprocess",
            metavar="NAME",
            help=f"Add a column of consistent frequencies, without intervals: {', '.join(POSTPROCESSORS)}.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    target: Target = TargetName.contributors,
    simultaneous: Simultaneous = False,
) -> None:
    """Print the combined estimates of all phases of a survey.

    For analysts. If the mechanism of a phase is biased, as Corr-RR is, the table says so and has
    no intervals.
    """
    check_outputs(files, plot, html)
    if len(files) < 4 or len(files) % 2:
        raise InvalidParameterError(
            f"at least two phases must be given, each as a collection and an aggregate, got {len(files)} files"
        )
    phases = Phases(_phases(files))
    estimates = phases.estimate(_weights(weights), estimator)
    frequencies = [estimate.frequencies for estimate in estimates.values()]
    for place, (collection, _) in enumerate(phases.parts, start=1):
        if collection.learned_from is not None and collection.mechanism.records:
            note(f"phase {place}, {collection.mechanism.name}: {loss_text(collection.mechanism, frequencies)}")
    for sentence in phases.late_reports:
        note(f"warning: {sentence}")
    for sentence in phases.warnings(estimator) if weights == "counts" else ():
        note(f"warning: {sentence} by --weights")
    if postprocess is not None:
        estimates = processed(postprocess, estimates)
    summary = summarize_phases(phases, estimates, confidence=confidence, target=target.value, simultaneous=simultaneous)
    show(summary, plot, html, as_json, verbose=verbose)


def _weights(text: str) -> str | tuple[float, ...]:
    if text in WEIGHTS:
        return text
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise InvalidParameterError(
            f"weights must be one of {', '.join(WEIGHTS)}, or numbers separated by commas, got weights={quoted(text)}"
        ) from None


def _phases(files: list[Path]) -> tuple[tuple[Collection, Aggregate], ...]:
    """Return the collection and the aggregate of each phase."""
    for i in range(0, len(files), 2):
        if _is_aggregate(files[i]) and not _is_aggregate(files[i + 1]):
            raise InvalidParameterError(
                f"each phase must be given as its collection, then its aggregate, but the aggregate {files[i]} comes "
                f"first: write {files[i + 1]} {files[i]}"
            )
    return tuple((Collection.load(files[i]), Aggregate.load(files[i + 1])) for i in range(0, len(files), 2))


def _is_aggregate(path: Path) -> bool:
    try:
        Aggregate.load(path)
    except DeniableError:
        return False
    return True
