"""Files as people have them: the draft from each file, and that the draft can read the file."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deniable import Aggregate, Collection, Schema
from deniable.cli import app
from deniable.errors import AmbiguousNumbersError
from deniable.survey.drafting import draft_schema
from tests.messy.files import FILES, FOLDER, N

BOXES = {"kind": "multiple", "categories": ["phone", "radio", "television"]}
SPELLED = {"name": "smoker", "categories": ["No", "YES ", "Yes", "no", "yes"]}


def _cut(name: str, edges: list[str], **further: Any) -> dict[str, Any]:
    """A drafted attribute of dates."""
    labels = [f"{low} to < {high}" for low, high in pairwise(edges)]
    categories = [f"< {edges[0]}", *labels, f">= {edges[-1]}"]
    return {"name": name, "kind": "ordered", "categories": categories, **further, "edges": edges}


MONTHS = [f"{2024 + i // 12}-{i % 12 + 1:02}" for i in range(23)]

DRAFTS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "spreadsheet.csv": (
        [
            {"name": "Geschlecht; w/m", "categories": ["m", "w"]},
            {"name": "Note", "kind": "ordered", "categories": ["1", "2", "3", "4", "5"]},
            {"name": "Betrag", "kind": "numeric", "range": [0, 90], "grid": 46},
        ],
        ["“Betrag”: its range comes from the answers"],
    ),
    "german.csv": (
        [
            {"name": "Stadt", "categories": ["Düsseldorf", "Köln", "München"], "missing": "missing"},
            {"name": "Haushalt", "kind": "ordered", "categories": ["1", "2", "3", "4", "5"], "missing": "missing"},
            {"name": "Einkommen", "kind": "numeric", "range": [0, 10000], "grid": 51, "missing": "missing"},
            {"name": "Miete", "kind": "numeric", "range": [0, 2000], "grid": 41, "missing": "k.A."},
            {"name": "Gewicht", "kind": "numeric", "range": [0, 2.5], "grid": 51},
        ],
        ["“Einkommen”: its range", "“Miete”: its range", "cells “k.A.” are read as missing", "“Gewicht”: its range"],
    ),
    "tabs.csv": (
        [
            {
                "name": "place",
                "categories": ["Berlin,\nGermany", "Lyon, France", "Paris, France"],
                "missing": "missing",
            },
            {"name": "visits", "kind": "ordered", "categories": ["0", "1", "2", "3", "4", "5", "6", "7"]},
        ],
        ["column “nothing” is left out: it is empty"],
    ),
    "numbers.csv": (
        [
            {
                "name": "age",
                "kind": "numeric",
                "range": [0, 90],
                "grid": 46,
                "missing": "NA",
                "other": "no number",
            },
            {"name": "height", "kind": "numeric", "range": [1.5, 1.9], "grid": 41},
            {"name": "children", "kind": "ordered", "categories": ["0", "1", "2", "3"], "missing": "?"},
        ],
        [
            "“age”: its range",
            "2 cells “NA” are read as missing",
            "2 of 149 cells are not numbers",
            "“height”",
            "cells “?”",
        ],
    ),
    "incomes.csv": (
        [
            {"name": "income", "kind": "numeric", "range": [0, 6000], "grid": 31, "clip": True},
            {"name": "sector", "categories": ["private", "public"]},
        ],
        ["its range comes from the answers, rounded outwards", "few answers lie far from all others"],
    ),
    "spellings.csv": (
        [SPELLED, {"name": "town", "categories": ["Boston", "New York", "new  york"]}],
        ["“smoker”: 5 categories differ from another category only in case", "“town”: 2 categories differ"],
    ),
    "boxes.csv": (
        [
            {"name": "owns", **BOXES, "separator": ","},
            {"name": "wants", **BOXES},
            {"name": "had", **BOXES, "separator": "|"},
        ],
        ["divided at “,”", "divided at “;”", "divided at “|”"],
    ),
    "identifiers.csv": (
        [
            _cut("date", [f"{month}-01" for month in MONTHS[1:]]),
            {"name": "month", "kind": "ordered", "categories": MONTHS},
            {"name": "answer", "categories": ["agree", "disagree"], "missing": "missing"},
        ],
        [
            "column “row” is left out: it numbers its rows",
            "column “email” is left out: it looks like an identifier",
            "attribute “date”: dates, cut by months",
            "attribute “month”: 3 of 23 categories are held by fewer than 5 people",
            "column “remark” is left out: it looks like an identifier",
            "column “wave” is left out: it holds a single answer",
        ],
    ),
    "workbook.xlsx": (
        [
            {"name": "stars", "kind": "ordered", "categories": ["1", "2", "3", "4", "5"], "missing": "missing"},
            {"name": "owns", **BOXES},
            {"name": "amount", "kind": "numeric", "range": [0, 40], "grid": 41},
            _cut("when", [f"2024-{month:02}-01" for month in range(2, 13)]),
            {"name": "agrees", "categories": ["false", "true"]},
        ],
        [
            "“owns”: several answers",
            "“amount”: its range",
            "“when”: dates, cut by months",
            "“remark” is left out",
        ],
    ),
    "typed.parquet": (
        [
            {"name": "owns", **BOXES, "missing": "missing"},
            {"name": "agrees", "categories": ["false", "true"], "missing": "missing"},
            {"name": "stars", "kind": "ordered", "categories": ["1", "2", "3", "4", "5"]},
            {"name": "minutes", "kind": "numeric", "range": [0, 600], "grid": 31, "missing": "missing"},
            _cut("born", [f"{year}-01-01" for year in range(1951, 2000)]),
            {"name": "town", "categories": ["A", "B", "C"]},
        ],
        ["“owns”: several answers", "“minutes”: its range", "“born”: dates, cut by years"],
    ),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_messy_file_is_drafted_and_goes_through_every_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*arguments: str) -> str:
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stderr

    drafted, remarks = DRAFTS[name]
    answers = str(FOLDER / name)
    said = [line for line in run("schema", answers, "-o", "schema.json").splitlines() if line.startswith("warning: ")]
    assert [attribute.to_dict() for attribute in Schema.load("schema.json").attributes] == drafted
    assert len(said) == 1 + len(remarks)
    assert all(remark in line for remark, line in zip(remarks, said[1:], strict=True))
    run("collection", "--schema", "schema.json", "--epsilon", "4", "-o", "survey.json")
    run("randomize", "survey.json", answers, "-o", "reports.parquet")
    run("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate")
    run("estimate", "survey.json", "all.aggregate", "--truth", answers, "--html", "page.html")
    survey = Collection.load("survey.json")
    estimates = survey.estimate(Aggregate.load("all.aggregate"))
    assert tuple(estimates) == survey.schema.names
    assert np.mean([estimate.contributors for estimate in estimates.values()]) == N


def test_the_files_are_what_their_maker_writes() -> None:
    assert DRAFTS.keys() == FILES.keys()
    for name, made in FILES.items():
        if name.endswith(".csv"):
            assert (FOLDER / name).read_bytes() == made()


def test_spellings_are_offered_as_one_and_rows_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = ["1", "n/a", "3", "NA", "5", "six", *map(str, range(6, 60)), "NA"]
    smokes = ["Yes", "yes ", "no", "yes", "No", *["yes"] * 20, *["no"] * 36]
    Path("a.csv").write_text("age;smokes\n" + "".join(f"{a};{s}\n" for a, s in zip(cells, smokes, strict=True)))

    def run(*arguments: str) -> str:
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stderr

    said = run("schema", "a.csv", "-o", "schema.json")
    assert (
        "2 cells “NA” are read as missing answers (rows 4, 61); write “n/a” in the same way if that means the same"
        in said
    )
    assert (
        "2 of 61 cells are not numbers, and are reported as “no number” (rows 2, 6): correct those that should be"
        in said
    )
    assert "“smokes”: 5 categories differ" in said
    assert "(“No” and “no”; “Yes” and “yes” and “yes ”)" in said
    assert "--tidy FILE writes answers in which age, smokes are spelled in one way" in said
    tidied = run("schema", "a.csv", "-o", "schema.json", "--tidy", "tidy.csv", "--force")
    assert "differ" not in tidied
    assert "wrote tidy.csv: 4 cells are spelled otherwise" in tidied
    assert Path("tidy.csv").stat().st_mode & 0o777 == 0o600
    age, smoker = Schema.load("schema.json").attributes
    assert (age.missing, age.other, smoker.categories) == ("NA", "no number", ("no", "yes"))
    with Path("tidy.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["age"] for row in rows] == ["NA" if cell == "n/a" else cell for cell in cells]
    assert [row["smokes"] for row in rows] == [cell.strip().lower() for cell in smokes]


def test_decimal_commas_become_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weights = ["61,5", "62", "", "NA", "-3,25", *(f"{60 + i},5" for i in range(20))]

    def run(*arguments: str) -> str:
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stderr

    Path("b.csv").write_text(
        "weight;smokes\n" + "".join(f"{weight};{'yn'[i % 2]}\n" for i, weight in enumerate(weights))
    )
    said = run("schema", "b.csv", "-o", "schema.json")
    assert "b.csv: numbers have decimal commas in weight" in said
    assert "left out" not in said
    assert "wrote tidy.csv: 0 cells are spelled otherwise" in run(
        "schema", "b.csv", "-o", "s.json", "--tidy", "tidy.csv"
    )
    assert Path("s.json").read_bytes() == Path("schema.json").read_bytes()
    weight, _ = Schema.load("s.json").attributes
    assert (weight.kind, weight.missing) == ("numeric", "NA")
    with Path("tidy.csv").open(newline="", encoding="utf-8") as file:
        assert [row["weight"] for row in csv.DictReader(file)] == [text.replace(",", ".") for text in weights]


def test_commas_that_may_be_of_thousands_are_not_taken_for_decimals() -> None:
    amounts = [f"{i},{137 * i % 1000:03}" for i in range(1, 40)]
    table = pa.table({"amount": amounts, "paid": ["y", "n", "n"] * 13})
    with pytest.raises(AmbiguousNumbersError, match="decimal must be given for the column amount of the table"):
        draft_schema(table)
    amount = draft_schema(table, decimal="comma").schema.attributes[0]
    assert (amount.name, amount.kind) == ("amount", "numeric")


def test_the_delimiter_is_taken_where_truth_and_population_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # The file is divided at ":", which is never guessed.
    Path("a.csv").write_text("age:smokes\n" + "young:yes\nold:no\nold:yes\n" * 50)

    def run(*arguments: str) -> None:
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output

    run("schema", "a.csv", "-o", "s.json", "--delimiter", ":")
    run("collection", "--schema", "s.json", "--epsilon", "2", "-o", "c.json")
    run("randomize", "c.json", "a.csv", "-o", "r.parquet", "--delimiter", ":")
    run("aggregate", "c.json", "r.parquet", "-o", "all.aggregate")
    run("estimate", "c.json", "all.aggregate", "--truth", "a.csv", "--delimiter", ":")
    for command in (("leakage", "--epsilon", "1"), ("calibrate", "--epsilon-total", "1")):
        run(*command, "a.csv", "--delimiter", ":")
        run(*command, "a.csv", "--schema", "s.json", "--delimiter", ":")
    run("leakage", "a.csv", "--collection", "c.json", "--delimiter", ":")
