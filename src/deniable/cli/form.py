"""Commands for questionnaires and codebooks of other programs: form, codebook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_output, command, console, note, writing
from deniable.cli._collections import print_collection, save_collection
from deniable.cli._options import CollectionFile
from deniable.core.outputs import write_text
from deniable.errors import InvalidParameterError, quoted
from deniable.files import read_xlsform, write_codebook
from deniable.report.page import visible
from deniable.report.text import print_line
from deniable.survey.collection import Collection


@command("form")
def form(
    file: Annotated[Path, typer.Argument(metavar="FORM", help="Questionnaire made with XLSForm (.xlsx).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files; created if needed.")],
    one_sided: Annotated[
        bool,
        typer.Option("--one-sided", help="Allow reports that can prove that a person does not hold an answer."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files of an earlier import.")] = False,
) -> None:
    """Import a questionnaire made with XLSForm.

    For organisers. Writes schema.json (questions), texts.json (their texts in every language, as
    a survey page has them), and a collection NAME.survey.json for each question with Safely Report's
    garbling columns. Rows that cannot be mapped are listed.
    """
    found = read_xlsform(file)
    title = found.title
    collections = {f"{one.attribute.name}.survey.json": one for one in found.garbled}
    for name in collections:
        if Path(name).name != name or name.startswith("."):
            raise InvalidParameterError(
                f"the collection file of a garbled question gets the name of the question, but {quoted(name)} cannot "
                "be the name of a file; rename the question"
            )
    if not found.attributes and not collections:
        raise InvalidParameterError(
            "form must have at least one question that deniable can ask, got no such question:\n"
            + "\n".join(map(str, found.unmapped))
        )
    made = {name: one.collection(one_sided=one_sided, title=title) for name, one in collections.items()}
    output.mkdir(parents=True, exist_ok=True)
    for name in ("schema.json", "texts.json"):
        check_output(output / name, [file], keep="somebody may have edited this file", force=force)
    if found.attributes:
        with writing(output / "schema.json"):
            found.schema.save(output / "schema.json")
    with writing(output / "texts.json"):
        write_text(output / "texts.json", json.dumps(found.texts, indent=2, ensure_ascii=False) + "\n")
    for name, collection in made.items():
        save_collection(collection, output / name, force)
        print_collection(collection)
    for attribute in found.attributes:
        print_line(console(), f"{visible(attribute.name)}: {attribute.kind}, {attribute.k} answers")
    for problem in found.unmapped:
        note(f"not mapped: {visible(str(problem))}")


@command("codebook")
def codebook(
    survey: CollectionFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the codebook: .csv (R), .dta (Stata) or .sav (SPSS).")
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a different file.")] = False,
) -> None:
    """Write a codebook for R, Stata or SPSS.

    For analysts. It has a variable for each question, with its title and the labels of its codes, and
    no rows. Estimates have a codebook of their own: deniable estimate --codebook.
    """
    check_output(output, [survey], keep="somebody may have edited this file", force=force)
    collection = Collection.load(survey)
    with writing(output):
        write_codebook(collection, output)
