"""What a client's promise is worth: a lower bound from running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._answers import parse_names
from deniable.cli._app import print_result, progress, verb
from deniable.cli._clients import module_subject, parse_codes
from deniable.cli._options import AsJson
from deniable.core.randomness import SecureRandomness, SimulationRandomness
from deniable.core.thresholds import checked_epsilon
from deniable.errors import InvalidParameterError, InvalidReportError
from deniable.leakage.adversary.collection_audit import audit_subjects, collection_subjects
from deniable.report import audit_page
from deniable.survey.collection import Collection

REFUTED = 1
"""Exit code of an audit that refutes a claim."""


@verb("audit", interrupted="an audit writes nothing")
def audit(
    collection: Annotated[
        Path | None, typer.Argument(metavar="COLLECTION", help="The collection whose own mechanism is audited.")
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(
            "--module",
            metavar="FILE.py:OBJECT",
            help="Instead, anybody's object with randomize(inputs, rng). The file is run.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="What the object claims; by default what it states itself.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", help="Number of answers that the object takes, codes 0 to k-1.", min=2)
    ] = None,
    reports_of: Annotated[
        str | None,
        typer.Option("--reports-of", metavar="NAME", help="Read the object's reports as those of this mechanism."),
    ] = None,
    attributes: Annotated[
        str | None, typer.Option("--attributes", metavar="A,B,...", help="Audit these attributes only.")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option("--inputs", metavar="0,1,...", help="Compare these codes only; all by default.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Reports per input; by default as many as are needed.")
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Probability of a wrong accusation, all together.")] = 0.01,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Repeatable randomness instead of the operating system's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look for a client that breaks its promise.

    For anybody: a lower confidence bound on epsilon from running it. It can refute a promise, and
    can never confirm one. Exit code 1: refuted.
    """
    if (collection is None) == (module is None):
        raise InvalidParameterError("one of COLLECTION and --module must be given")
    if module is None:
        foreign = {"epsilon": epsilon, "k": k, "reports-of": reports_of}
        given = next((name for name, value in foreign.items() if value is not None), None)
        if given is not None:
            raise InvalidParameterError(f"{given} is for --module: a collection states its own (--{given})")
        subjects = collection_subjects(Collection.load(collection or ""), parse_names(attributes))
    else:
        claimed = None if epsilon is None else float(checked_epsilon(epsilon))
        subjects = [module_subject(module, claimed, k, reports_of)]
    rng = SecureRandomness() if seed is None else SimulationRandomness(seed)
    with progress("auditing", quiet=as_json) as report:
        try:
            summary = audit_subjects(
                subjects, rng=rng, inputs=parse_codes(inputs), samples=samples, alpha=alpha, progress=report
            )
        except InvalidReportError as error:
            raise InvalidReportError(f"{error} (--reports-of NAME)") from error
    print_result(summary, audit_page(summary), as_json)
    if summary.refuted:
        raise typer.Exit(REFUTED)
