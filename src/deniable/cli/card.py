"""Command that prints the cards of classical designs."""

from __future__ import annotations

from typing import Annotated

import typer

from deniable.cli._app import check_outputs, command, print_result
from deniable.cli._designs import checked_design
from deniable.cli._options import AsJson, Html


@command("card")
def card(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="The sensitive question, or the statement that may be true.")
    ],
    design: Annotated[str, typer.Option("--design", metavar="NAME", help="Classical design, such as crosswise.")],
    p: Annotated[
        str | None, typer.Option("--p", metavar="P", help="Parameter p of the design, exact, such as 2/12.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another parameter of the design; repeatable."),
    ] = None,
    other: Annotated[
        str,
        typer.Option("--other", metavar="TEXT", help="Innocuous statement or unrelated question, if any."),
    ] = "",
    language: Annotated[str, typer.Option("--language", metavar="TAG", help="Language of the card: en or de.")] = "en",
    one_sided: Annotated[
        bool, typer.Option("--one-sided", help="Allow reports that can prove that a person does not hold an answer.")
    ] = False,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Print the cards of a design for an interview.

    For organisers. Prints the respondent's card, the interviewer's script and the device, and the odds that a report
    can give away. Print the page of --html.
    """
    from deniable.report import instrument_page

    check_outputs([], html)
    chosen, _ = checked_design(design, p, settings or [], one_sided=one_sided)
    made = chosen.instrument(question, language, other=other)
    print_result(made, instrument_page(made), as_json, None, html)
