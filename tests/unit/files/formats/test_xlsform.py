"""Questionnaires from XLSForm, with and without garbling columns, and codebooks that other readers can read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from typer.testing import CliRunner

from deniable import Collection, Schema, designs
from deniable.cli import app
from deniable.errors import FileFormatError, InvalidInputError, InvalidParameterError
from deniable.files import read_xlsform, write_codebook
from deniable.survey.schema import Attribute
from tests.unit.files.formats.forms import EXPECTED, _survey

Rows = Sequence[dict[str, Any]]

YES_NO = [{"list_name": "yn", "name": "yes", "label": "Yes", "label::German (de)": "Ja"}]
YES_NO += [{"list_name": "yn", "name": "no", "label": "No", "label::German (de)": "Nein"}]
COLOURS = [{"list_name": "colour", "name": name} for name in ("red", "green", "blue")]


def _book(path: Path, survey: Rows, choices: Rows = (*YES_NO, *COLOURS), settings: Rows = ()) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in (("survey", survey), ("choices", choices), ("settings", settings)):
        sheet = book.create_sheet(name)
        columns = list(dict.fromkeys(key for row in rows for key in row))
        sheet.append(columns)
        for row in rows:
            sheet.append([row.get(column) for column in columns])
    book.save(path)
    return path


def _garbled(**cells: Any) -> dict[str, Any]:
    usual = {"type": "select_one yn", "name": "took", "label": "Did you take it?", "answer": "yes", "rate": 0.2}
    given = {**usual, **cells}
    return {f"garbling::{key}" if key in ("answer", "rate", "covariate") else key: given[key] for key in given}


def test_a_form_becomes_a_schema_and_texts(tmp_path: Path) -> None:
    survey = [
        {"type": "start", "name": "start"},
        {"type": "select_one yn", "name": "smoker", "label": "Do you smoke?", "label::German (de)": "Rauchst du?"},
        {"type": "select_multiple colour", "name": "likes", "label": "Which?"},
        {"type": "integer", "name": "age", "label": "Age", "constraint": ". >= 18 and . < 101"},
        {"type": "decimal", "name": "share", "label": "Share", "constraint": ".>=-0.5 and .<= 1"},
        {"type": "range", "name": "mood", "label": "Mood", "parameters": "start=1 end=5 step=0.5"},
    ]
    found = read_xlsform(_book(tmp_path / "form.xlsx", survey, settings=[{"form_title": "Habits"}]))
    assert found.schema == Schema(
        (
            Attribute("smoker", ("yes", "no"), title="Do you smoke?"),
            Attribute("likes", ("red", "green", "blue"), kind="multiple", separator=" ", title="Which?"),
            Attribute("age", kind="numeric", range=(18, 100), grid=64, title="Age"),
            Attribute("share", kind="numeric", range=(-0.5, 1), grid=64, title="Share"),
            Attribute("mood", kind="numeric", range=(1, 5), grid=9, title="Mood"),
        )
    )
    assert found.title == "Habits"
    assert found.texts["de"] == {
        "title": "Habits",
        "questions": {"smoker": "Rauchst du?"},
        "labels": {"smoker": ["Ja", "Nein"]},
    }
    assert found.texts["en"]["labels"]["likes"] == ["red", "green", "blue"]
    # A survey page needs labels for every question, also for numbers.
    labels = {name: len(texts) for name, texts in found.texts["en"]["labels"].items()}
    assert labels == {attribute.name: attribute.k for attribute in found.schema.attributes}
    assert [(one.row, one.name) for one in found.unmapped] == [(2, "start")]


def test_garbling_becomes_a_design_with_the_rate_as_it_is_written(tmp_path: Path) -> None:
    """0.2 of a spreadsheet is one fifth, not its nearest float; the carrier's choice is code 1."""
    form = [_garbled(), _garbled(name="text", rate="0.25", answer="no"), _garbled(name="direct", rate=0)]
    found = read_xlsform(_book(tmp_path / "form.xlsx", form))
    took, text = found.garbled
    assert took.attribute.categories == ("no", "yes")
    assert took.rate == Fraction(1, 5)
    assert took.design() == designs.garbling("1/5")
    assert took.design().channel(exact=True).tolist() == [[Fraction(4, 5), Fraction(1, 5)], [0, 1]]
    assert (text.attribute.categories, text.rate) == (("yes", "no"), Fraction(1, 4))
    assert [one.name for one in found.attributes] == ["direct"]
    assert "without any noise" in str(found.unmapped[0])
    assert found.texts["en"]["labels"]["took"] == ["No", "Yes"]
    with pytest.raises(InvalidParameterError, match="one_sided"):
        took.collection()
    survey = took.collection(one_sided=True)
    assert Collection.from_json(survey.to_json()) == survey


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"covariate": "*"}, "coins of a batch depend on each other"),
        ({"covariate": "district"}, "the name of a column"),
        ({"rate": 1}, "everyone would give the same answer"),
        ({"rate": "1.5"}, "everyone would give the same answer"),
        ({"rate": "-0.1"}, r"must be a decimal number in \[0, 1\)"),
        ({"rate": "1/5"}, r"must be a decimal number in \[0, 1\)"),
        ({"rate": None}, r"must be a decimal number in \[0, 1\)"),
        ({"answer": "Yes"}, "must name one of the choices"),
        ({"answer": None}, "must name one of the choices"),
        ({"type": "select_one colour", "answer": "red"}, "two choices"),
        ({"type": "select_multiple yn"}, "two choices"),
        ({"type": "text"}, "no list of answers"),
        ({"type": "note"}, "no list of answers"),
        ({"relevant": "${x} = 1"}, "the question has a condition"),
        ({"type": "select_one yn or_other"}, "or_other adds open text"),
    ],
)
def test_garbling_that_cannot_be_kept_is_refused_by_row(tmp_path: Path, cells: dict[str, Any], reason: str) -> None:
    form = _book(tmp_path / "form.xlsx", [{"type": "note", "name": "hello"}, _garbled(**cells)])
    with pytest.raises(InvalidInputError, match=reason) as refusal:
        read_xlsform(form)
    assert "sheet survey, row 3, took" in str(refusal.value)


def test_garbling_in_a_repeat_is_refused(tmp_path: Path) -> None:
    form = [{"type": "begin_repeat", "name": "child"}, _garbled(), {"type": "end_repeat"}, _garbled(name="after")]
    with pytest.raises(InvalidInputError, match="the question is in the repeat “child”") as refusal:
        read_xlsform(_book(tmp_path / "form.xlsx", form))
    assert "after" not in str(refusal.value)


def test_what_cannot_be_mapped_is_listed_with_its_row(tmp_path: Path) -> None:
    survey = [
        {"type": "begin group", "name": "g", "relevant": "${a} = 'yes'"},
        {"type": "select_one yn", "name": "inside"},
        {"type": "end group"},
        {"type": "select_one yn", "name": "fine"},
        {"type": "select_one nowhere", "name": "lost"},
        {"type": "integer", "name": "free"},
        {"type": "decimal", "name": "open", "constraint": ". > 0 and . <= 1"},
        {"type": "geopoint", "name": "place"},
        {"type": "select_one yn", "name": "filtered", "choice_filter": "x = 1"},
    ]
    found = read_xlsform(_book(tmp_path / "form.xlsx", survey))
    assert [one.name for one in found.attributes] == ["fine"]
    rows = {one.name: (one.row, one.reason) for one in found.unmapped}
    assert {name: row for name, (row, _) in rows.items()} == {
        "inside": 3, "lost": 6, "free": 7, "open": 8, "place": 9, "filtered": 10,
    }  # fmt: skip
    assert "condition" in rows["inside"][1]
    assert "no list named “nowhere”" in rows["lost"][1]
    assert "two limits" in rows["free"][1]
    assert "write <= and >=" in rows["open"][1]


def test_other_files_are_refused(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.save(tmp_path / "answers.xlsx")
    with pytest.raises(FileFormatError, match="but survey is missing"):
        read_xlsform(tmp_path / "answers.xlsx")
    (tmp_path / "text.xlsx").write_text("no workbook")
    with pytest.raises(FileFormatError, match="is not a workbook"):
        read_xlsform(tmp_path / "text.xlsx")


def test_the_command_writes_schema_texts_and_collections(tmp_path: Path) -> None:
    form = _book(tmp_path / "form.xlsx", [{"type": "select_one yn", "name": "smoker", "label": "Smoker?"}, _garbled()])
    command = ["form", str(form), "-o", str(tmp_path / "out")]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert not (tmp_path / "out").exists()
    made = CliRunner().invoke(app, [*command, "--one-sided"])
    assert made.exit_code == 0, made.output
    out = tmp_path / "out"
    assert sorted(one.name for one in out.iterdir()) == ["schema.json", "texts.json", "took.survey.json"]
    assert Schema.load(out / "schema.json").names == ("smoker",)
    assert json.loads((out / "texts.json").read_text())["en"]["questions"] == {
        "smoker": "Smoker?",
        "took": "Did you take it?",
    }
    assert Collection.load(out / "took.survey.json").mechanism == designs.garbling("0.2", one_sided=True)


# ------------------------------------------------------------------ codebooks


def test_pyreadstat_reads_the_codebook_for_spss(tmp_path: Path) -> None:
    import pyreadstat

    write_codebook(_survey(), tmp_path / "codebook.sav")
    table, about = pyreadstat.read_sav(tmp_path / "codebook.sav")
    assert len(table) == 0
    assert about.column_names_to_labels == {name: title for name, (title, _) in EXPECTED.items()}
    assert about.variable_value_labels == {name: of for name, (_, of) in EXPECTED.items()}
    assert f"collection: {_survey().id}" in about.notes
