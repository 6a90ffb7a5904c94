"""Command that drafts a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len

from deniable.cli._app import check_output, command, console, note, progress, writing
from deniable.cli._options import Decimal, Delimiter
from deniable.core.checks import listed
from deniable.files import draft_schema_file, tidy_file
from deniable.report.page import shorten
from deniable.report.parts.table import Table
from deniable.report.text import print_line, print_lines
from deniable.survey.schema import Attribute


@command("schema")
def schema(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="Answers to draft from (CSV or Parquet).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the schema (JSON).")],
    max_categories: Annotated[
        int, typer.Option("--max-categories", help="Longest list of categories to draft for a column.")
    ] = 50,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    tidy: Annotated[
        Path | None,
        typer.Option(
            "--tidy",
            help=(
                "Also write a cleaned copy of the answers (CSV): one spelling per answer, decimal points in numbers."
            ),
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing schema.")] = False,
) -> None:
    """Draft the public list of questions and answers.

    For collectors. Edit the draft before you use it.

    A schema is published. If categories or number ranges were read from private answers,
    publishing the schema publishes them, too. Replace them with lists and ranges that were known
    before.
    """
    check_output(output, [answers], keep="somebody may have edited this file", force=force)
    if tidy is not None:
        check_output(tidy, [answers])
    with writing(output), progress("reading the answers") as report:
        draft = draft_schema_file(
            answers, output, max_categories, delimiter=delimiter, decimal=decimal, progress=report
        )
        remarks = draft.remarks
        if tidy is not None:
            changed = tidy_file(answers, tidy, draft.spellings, delimiter=delimiter, decimal=decimal)
            draft = draft_schema_file(tidy, output, max_categories, progress=report)
    print_lines(console(), _attribute_table(draft.schema.attributes, console().width))
    print_line(console(), f"sizes: {','.join(map(str, draft.schema.sizes))}")
    for remark in remarks:
        note(remark)
    for warning in draft.warnings:
        note(f"warning: {warning.replace('max_categories=', '--max-categories=')}")
    if tidy is not None:
        note(f"wrote {tidy}: {changed:,} cells are spelled otherwise; the schema is of these answers")
        return
    if draft.spellings:
        note(f"--tidy FILE writes answers in which {listed(sorted(draft.spellings))} are spelled in one way")


def _attribute_table(attributes: tuple[Attribute, ...], width: int) -> list[str]:
    columns: list[list[str]] = [
        [shorten(attribute.name, width // 4) for attribute in attributes],
        [attribute.kind for attribute in attributes],
        [str(attribute.k) for attribute in attributes],
    ]
    lines = Table.of(["attribute", "kind", "k"], columns).lines(width // 2)
    room = width - len(lines[1]) - 2
    texts = ["categories", "─" * room, *(", ".join(attribute.labels) for attribute in attributes)]
    widest = len(lines[1])
    return [
        line + " " * (widest - cell_len(line)) + "  " + shorten(text, room)
        for line, text in zip(lines, texts, strict=True)
    ]
