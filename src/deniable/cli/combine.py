"""The estimates of several phases together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.answers import summarize_phases
from deniable.cli._app import check_output, note, verb
from deniable.cli._estimates import checked_postprocess, show
from deniable.cli._options import AsJson, Confidence, Html, Plot, Simultaneous, Target, TargetName
from deniable.cli._phases import load_phases
from deniable.errors import InvalidParameterError, MismatchError
from deniable.planning import loss_text
from deniable.postprocess.steps import POSTPROCESSORS
from deniable.records.phases.phases import Phases
from deniable.records.phases.two_phase import WEIGHTS


@verb("combine")
def combine(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="PHASES...", help="Each phase's collection and aggregate, in their order."),
    ],
    weights: Annotated[
        str,
        typer.Option("--weights", help=f"How phases are weighted: {', '.join(WEIGHTS)}, or numbers such as 0.2,0.8."),
    ] = "counts",
    estimator: Annotated[
        str | None,
        typer.Option("--estimator", metavar="NAME", help="What reads the phases that have it, such as unmixed."),
    ] = None,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
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
    """Print the estimates of all phases of a survey together.

    For analysts. Where a phase's mechanism is biased, as Corr-RR is, the table says so and there
    are no intervals.
    """
    checked_postprocess(postprocess)
    for output in filter(None, (plot, html)):
        check_output(output, files)
    if len(files) < 4 or len(files) % 2:
        raise InvalidParameterError(
            f"two phases or more must be given, a collection and an aggregate each, got {len(files)} files"
        )
    parts = load_phases(files)
    if len({one.id for one, _ in parts}) > 1 and all(one.learned_from is None for one, _ in parts):
        raise MismatchError(
            f"{files[2]} must have learned from {files[0]}, it learned from none: phases of one survey are combined; "
            "two waves of a question are compared, deniable compare"
        )
    phases = Phases(parts)
    estimates = phases.estimate(_weights(weights), estimator)
    frequencies = [estimate.frequencies for estimate in estimates.values()]
    for place, (collection, _) in enumerate(parts, start=1):
        if collection.learned_from is not None:
            note(f"phase {place}, {collection.mechanism.name}: {loss_text(collection.mechanism, frequencies)}")
    for sentence in phases.warnings(estimator) if weights == "counts" else ():
        note(f"warning: {sentence} by --weights")
    if postprocess is not None:
        estimates = POSTPROCESSORS[postprocess](estimates)
    summary = summarize_phases(phases, estimates, confidence=confidence, target=target.value, simultaneous=simultaneous)
    show(summary, plot, html, as_json)


def _weights(text: str) -> str | tuple[float, ...]:
    if text in WEIGHTS:
        return text
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise InvalidParameterError(
            f"weights must be one of {', '.join(WEIGHTS)}, or numbers separated by commas, got weights={text!r}"
        ) from None
