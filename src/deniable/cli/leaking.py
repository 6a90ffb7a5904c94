"""What a data-protection officer asks: leakage, calibrate, audit."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._answers import columns_named, parse_names, read_answers
from deniable.cli._app import check_output, print_result, progress, save_page, verb
from deniable.cli._clients import module_subject, parse_codes
from deniable.cli._mechanisms import constructor_names
from deniable.cli._releases import ANY, factory, parse_caps, releases
from deniable.core.randomness import SecureRandomness, SimulationRandomness
from deniable.core.thresholds import checked_epsilon, exact
from deniable.errors import InvalidParameterError, InvalidReportError, TooLargeError
from deniable.leakage.adversary.collection_audit import audit_subjects, collection_subjects
from deniable.leakage.calibration.budgets import calibrate_records
from deniable.leakage.summary import LeakageSummary, summarize, summarize_collection
from deniable.report import audit_page, budgets_page, leakage_page
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema

REFUTED = 1
"""Exit code of an audit that refutes a claim."""


class CriterionName(StrEnum):
    """What a calibration keeps below the cap, as the command line spells it."""

    exact = "exact"
    blocks = "blocks"
    prior_free = "prior-free"
    additive = "additive"


MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help=f"How each attribute is released: any (the worst of all mechanisms), or {', '.join(constructor_names())}.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another parameter of the mechanism, as JSON; repeatable."),
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="The schema of the answers (JSON); drafted from them by default.")
]
MaxCategories = Annotated[
    int, typer.Option("--max-categories", help="Longest list of categories drafted; longer columns are left out.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in full precision instead of tables.")]


@verb("leakage")
def leakage(
    answers: Annotated[
        Path,
        typer.Argument(metavar="ANSWERS", help="What the adversary knows: answers of a population, CSV or Parquet."),
    ],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Budget of each attribute's release, an exact decimal.")
    ] = None,
    mechanism: MechanismName = ANY,
    settings: Settings = None,
    collection: Annotated[
        Path | None,
        typer.Option("--collection", help="A collection's own release instead: survey.json; brings its schema."),
    ] = None,
    schema: SchemaFile = None,
    max_categories: MaxCategories = 50,
    attributes: Annotated[
        str | None,
        typer.Option("--attributes", metavar="A,B,...", help="The attributes that are released; all by default."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="The only attribute to ask about; it need not be one that is released."),
    ] = None,
    strongest: Annotated[int, typer.Option("--strongest", help="How many pairs to put into words.", min=1)] = 10,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw a picture (PNG).")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a self-contained HTML page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a release reveals through correlation.

    For data-protection officers: who leaks about whom, and what everything together leaks.

    Needs --epsilon or --collection. Figures are relative to an adversary who knows the joint
    distribution of ANSWERS.
    """
    inputs = [answers, *filter(None, (collection, schema))]
    for output in filter(None, (plot, html)):
        check_output(output, inputs)
    released = parse_names(attributes)
    if collection is not None:
        own = {"epsilon": epsilon, "set": settings, "schema": schema, "attributes": released}
        given = [name for name, value in own.items() if value is not None] + ["mechanism"] * (mechanism != ANY)
        if given:
            raise InvalidParameterError(f"{given[0]} is stated by the collection: leave out --{given[0]}")
        summary = _of_collection(collection, answers, target, strongest, as_json)
    else:
        if epsilon is None:
            raise InvalidParameterError("epsilon must be given (--epsilon), or a collection (--collection)")
        names = released if released is None or target in (None, *released) else (*released, str(target))
        read = read_answers(answers, _loaded(schema), names, max_categories, target=target, quiet=as_json)
        by, chosen = releases(mechanism, read.schema.sizes, epsilon, settings or [])
        summary = summarize(
            read.codes,
            read.schema,
            chosen,
            source=answers.name,
            release=by,
            released=None
            if released is None
            else [name for attribute in read.schema.attributes for name in columns_named(attribute, released)],
            target=target,
            strongest=strongest,
            notes=read.notes,
        )
    page = leakage_page(summary)
    save_page(page, plot, html)
    print_result(summary, page, as_json)


def _of_collection(path: Path, answers: Path, target: str | None, strongest: int, quiet: bool) -> LeakageSummary:
    chosen = Collection.load(path)
    read = read_answers(answers, chosen.schema, None, 2, quiet=quiet)
    return summarize_collection(read.codes, chosen, source=answers.name, target=target, strongest=strongest)


def _loaded(schema: Path | None) -> Schema | None:
    return None if schema is None else Schema.load(schema)


@verb("calibrate")
def calibrate(
    answers: Annotated[
        Path,
        typer.Argument(metavar="ANSWERS", help="What the adversary knows: answers of a population, CSV or Parquet."),
    ],
    epsilon_total: Annotated[
        str, typer.Option("--epsilon-total", help="Cap on what everything together leaks about each attribute.")
    ],
    criterion: Annotated[
        CriterionName,
        typer.Option("--criterion", help="What is kept below the cap; additive is no bound and no guarantee."),
    ] = CriterionName.exact,
    mechanism: MechanismName = ANY,
    settings: Settings = None,
    cap: Annotated[
        list[str] | None,
        typer.Option("--cap", metavar="NAME=VALUE", help="Another cap for one attribute; budgets are then unequal."),
    ] = None,
    unequal: Annotated[
        bool, typer.Option("--unequal", help="Unequal budgets of least total variance; needs --mechanism.")
    ] = False,
    tree: Annotated[
        bool,
        typer.Option("--tree", help="Assume that attributes depend along a tree only, where they are too many."),
    ] = False,
    schema: SchemaFile = None,
    max_categories: MaxCategories = 50,
    attributes: Annotated[
        str | None,
        typer.Option("--attributes", metavar="A,B,...", help="The attributes that are released; all by default."),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a self-contained HTML page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the largest budgets that keep leakage below a cap.

    For data-protection officers: a budget per attribute, such that everything released together
    leaks at most --epsilon-total about each, for an adversary who knows the joint distribution of
    ANSWERS.
    """
    if html is not None:
        check_output(html, [answers, *filter(None, [schema])])
    exact(epsilon_total, "epsilon_total")
    read = read_answers(answers, _loaded(schema), parse_names(attributes), max_categories, quiet=as_json)
    try:
        summary = calibrate_records(
            read.codes,
            read.schema,
            epsilon_total,
            source=answers.name,
            mechanism=factory(mechanism, settings or []),
            criterion=criterion.value,
            along_tree=tree,
            unequal=unequal,
            caps=parse_caps(cap or []),
            notes=read.notes,
        )
    except TooLargeError as error:
        raise TooLargeError(
            f"{error}; here: fewer --attributes, --mechanism GRR, --tree, or --criterion prior-free"
        ) from error
    page = budgets_page(summary)
    save_page(page, None, html)
    print_result(summary, page, as_json)


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
