"""Codebooks of a collection for other programs, with the questions and the meaning of each code of a report.

A codebook has a variable for each column of the schema, with its title and the labels of its codes, but it has no rows.
Stata and SPSS append reports to it, and R reads the CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deniable.core.outputs import atomic_path, write_text
from deniable.core.spreadsheets import csv_text
from deniable.errors import InvalidParameterError, MissingExtraError, TooLargeError, quoted
from deniable.survey.collection import Collection

SUFFIXES = (".csv", ".dta", ".sav")
"""Endings of codebooks: CSV for R and spreadsheets, Stata, SPSS."""

MOST_LABELS = 1 << 14
"""Most labels of one variable. Stata takes 65,536, but a dictionary of words is better left in its file."""

_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_LABEL = 32, 80, 120
"""Most characters of a name and a title, and most bytes of a label, that both Stata and SPSS take."""


class Variable(NamedTuple):
    """A column of the schema with a name that other programs allow.

    Attributes
    ----------
    name : str
        Name of at most 32 letters, digits and underscores.
    title : str
        Text that people read.
    labels : tuple of str
        Labels of the codes 0, 1, ...
    """

    name: str
    title: str
    labels: tuple[str, ...]


def variables(collection: Collection) -> tuple[Variable, ...]:
    """Return the variables of a collection, in the order of its columns.

    Raises
    ------
    InvalidParameterError
        If the collection asks for open text, which has no codes.
    TooLargeError
        If a column has more than 16,384 possible answers.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Schema
    >>> survey = Collection(Schema((Attribute("do you smoke?", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> variables(survey)
    (Variable(name='do_you_smoke', title='do you smoke?', labels=('yes', 'no')),)
    """
    found: list[Variable] = []
    for column in collection.schema.columns:
        if not column.question_kind.coded:
            raise InvalidParameterError(
                f"{quoted(column.name)} must have a list of answers to be in a codebook, but the question asks for "
                "open text; leave the question out"
            )
        if column.k > MOST_LABELS:
            raise TooLargeError(
                f"a codebook must have at most {MOST_LABELS:,} answers to a question, but {quoted(column.name)} has "
                f"{column.k:,}; use the dictionary file of this question instead"
            )
        name = _name(column.name, {one.name for one in found})
        found.append(Variable(name, column.title or column.name, column.labels))
    return tuple(found)


def write_codebook(collection: Collection, path: Path) -> None:
    """Write the codebook of a collection as CSV, Stata or SPSS, depending on the ending of the path.

    Raises
    ------
    InvalidParameterError
        If the path has another ending.
    MissingExtraError
        If pyreadstat is not installed, for Stata and SPSS.

    Examples
    --------
    >>> import deniable, pathlib, tempfile
    >>> schema = deniable.Schema([deniable.Attribute("smokes", ["no", "yes"])])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "codebook.csv"
    >>> write_codebook(deniable.collection(schema, 1), path)
    >>> print(path.read_text().splitlines()[2])
    smokes,smokes,1,yes
    """
    if path.suffix not in SUFFIXES:
        raise InvalidParameterError(f"output must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got {path}")
    asked = variables(collection)
    facts = list(_facts(collection))
    if path.suffix == ".csv":
        rows = [(one.name, one.title, str(code), label) for one in asked for code, label in enumerate(one.labels)]
        about = [("survey", label, "", value) for label, value in facts]
        write_text(path, csv_text([("variable", "title", "value", "value_label"), *rows, *about]))
        return
    try:
        import pandas
        import pyreadstat
    except ImportError as error:
        raise MissingExtraError(
            'pyreadstat must be installed to write .dta and .sav: pip install "deniable[codebooks]"'
        ) from error
    table = pandas.DataFrame({one.name: pandas.Series([], dtype="int32") for one in asked})
    titles: dict[str, str | None] = {one.name: _short(one.title, _LONGEST_TITLE) for one in asked}
    labels: dict[str, dict[int | float, str]] = {
        one.name: {code: _short(label, _LONGEST_LABEL) for code, label in enumerate(one.labels)} for one in asked
    }
    about_file = _short("; ".join(f"{label} {value}" for label, value in facts), _LONGEST_TITLE)
    with atomic_path(path) as temporary:
        if path.suffix == ".dta":
            pyreadstat.write_dta(
                table, str(temporary), column_labels=titles, variable_value_labels=labels, file_label=about_file
            )
        else:
            notes = [f"{label}: {value}" for label, value in facts]
            pyreadstat.write_sav(
                table,
                str(temporary),
                column_labels=titles,
                variable_value_labels=labels,
                file_label=_short(about_file, 64),
                note=notes,
            )


def _facts(collection: Collection) -> Iterator[tuple[str, str]]:
    """Yield what reports are relative to: label and value."""
    yield "epsilon", f"{float(collection.privacy().epsilon):.10g}"
    yield "mechanism", collection.mechanism.name
    yield "collection", collection.id
    if collection.title:
        yield "title", collection.title


def _name(text: str, taken: set[str]) -> str:
    """Return a name that other programs take, distinct from those that are taken."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    base = words if words[:1].isalpha() else f"v_{words}".rstrip("_")
    name, place = base[:_LONGEST_NAME], 2
    while name.lower() in {one.lower() for one in taken}:
        end = f"_{place}"
        name, place = base[: _LONGEST_NAME - len(end)] + end, place + 1
    return name


def _short(text: str, most: int) -> str:
    """Return a text of at most `most` bytes of UTF-8, with an ellipsis where something was cut."""
    if len(text.encode()) <= most:
        return text
    return text.encode()[: most - 3].decode(errors="ignore") + "…"
