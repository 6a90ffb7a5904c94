"""Command that creates a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_output, command, console, note
from deniable.cli._collections import print_collection, save_collection
from deniable.cli._mechanisms import RECOMMENDED, build_mechanism, listing, parse_settings
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.heavy_hitters import HeavyHitters
from deniable.planning import default_mechanism, infeasibility, two_phases_text
from deniable.planning.default import check_wishes
from deniable.report.text import print_line
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema


@command("collection")
def collection(
    epsilon: Annotated[str, typer.Option("--epsilon", help="Privacy budget per contributor, as an exact decimal.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the collection (JSON).")],
    schema: Annotated[Path | None, typer.Option("--schema", help="Public schema file (JSON).")] = None,
    attribute: Annotated[
        str | None,
        typer.Option("--attribute", help="Name of the only column; needed with --dictionary or --heavy-hitters."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dictionary",
            help="Public list of allowed answers, one word per line; keep the file next to the collection.",
        ),
    ] = None,
    heavy_hitters: Annotated[
        bool, typer.Option("--heavy-hitters", help="Collect open text, to find the frequent strings.")
    ] = False,
    missing: Annotated[
        str | None,
        typer.Option("--missing", help="Label for a missing answer; without it, a missing answer is an error."),
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", help="Label for an answer that is not in the dictionary.")
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help=f"Mechanism, such as {RECOMMENDED}; 'list' prints all; default: the recommended one.",
            callback=listing,
            is_eager=True,
        ),
    ] = None,
    oracle: Annotated[
        str | None, typer.Option("--oracle", help="Frequency oracle for SPL, SMP or RS+FD: GRR or OUE.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Parameter of the mechanism, with its value as JSON; repeatable."
        ),
    ] = None,
    full_record: Annotated[
        bool, typer.Option("--full-record", help="Make every report contain a code for every attribute.")
    ] = False,
    hide_sampled: Annotated[
        bool,
        typer.Option("--hide-sampled-attribute", help="Hide which attribute was sampled; costs precision."),
    ] = False,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Collect tables for every pair of questions (for deniable crosstab).")
    ] = False,
    contributors: Annotated[
        int | None,
        typer.Option(
            "--contributors", help="Expected number of contributors; warns if they are too few for a question."
        ),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="Title that people will see.")] = "",
    version: Annotated[
        int, typer.Option("--collection-version", help="Round of the collection; rounds are never mixed.")
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a different collection in this file.")] = False,
) -> None:
    """Create a collection: the questions and the mechanism.

    For collectors. Prints the privacy guarantee.

    The file is public: contributors, collector and analyst all use the same one. Its id is a hash
    of its content, and every report carries the id.
    """
    check_output(output, list(filter(None, [schema, dictionary])))
    questions = _questions(schema, attribute, dictionary, heavy_hitters, missing, other)
    chosen = parse_settings(settings or [])
    if mechanism is None and questions.is_text:
        mechanism = HeavyHitters.name
    if oracle is not None:
        chosen["oracle"] = oracle.upper()
    wishes = {"full_record": full_record, "hide_sampled_attribute": hide_sampled, "pairs": pairs}
    check_wishes(mechanism, chosen, wishes)
    if mechanism is not None:
        result = Collection(questions, build_mechanism(mechanism, questions.sizes, epsilon, chosen), version, title)
    else:
        default = default_mechanism(questions, epsilon, contributors=contributors if hide_sampled else None, **wishes)
        result = Collection(questions, default.mechanism, version, title)
    # The check comes before anything is written, because it is already known whether contributors are too few.
    too_few = "" if contributors is None else infeasibility(result, contributors)
    save_collection(result, output, force)
    print_collection(result)
    if too_few:
        note(f"warning: {too_few}")
    if mechanism is None:
        print_line(console(), f"  recommended: {default.reason}")
        if default.phase_two:
            print_line(
                console(),
                f"  this is phase one; deniable learn makes phase two, {default.phase_two}, from its aggregate",
            )
            assert contributors is not None
            print_line(console(), f"  {two_phases_text(questions.sizes, epsilon, contributors)}")


def _questions(
    schema: Path | None,
    attribute: str | None,
    dictionary: Path | None,
    heavy_hitters: bool,
    missing: str | None,
    other: str | None,
) -> Schema:
    """Return the schema in a file, or a schema of one attribute that has a dictionary or is open text."""
    if sum((schema is not None, dictionary is not None, heavy_hitters)) != 1:
        raise InvalidParameterError("exactly one of --schema, --dictionary and --heavy-hitters must be given")
    if schema is not None:
        for option, value in (("attribute", attribute), ("missing", missing), ("other", other)):
            if value is not None:
                raise InvalidParameterError(
                    f"{option} must be left out with --schema, because the schema file already contains this setting"
                )
        return Schema.load(schema)
    if attribute is None:
        raise InvalidParameterError("attribute must name the column with the answers: add --attribute")
    if dictionary is not None:
        return Schema((Attribute.from_dictionary(attribute, dictionary, missing, other),))
    return Schema((Attribute(attribute, missing=missing, other=other, text=True),))
