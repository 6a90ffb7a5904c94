"""CSV for spreadsheets contains no formula; numbers stay numbers, and answers stay answers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import deniable
from deniable import GRR, Estimate
from deniable.answers import codebook, summarize
from deniable.answers.asked import QuestionSet
from deniable.core.spreadsheets import csv_text
from tests.unit.core.spreadsheet_cells import cells

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|x",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\uff1d1",
    "-",
    "--1",
    "+",
]
HARMLESS = ["yes", "a=b", "x-1", "1-2", "", "'", "< 20", "20 to < 40", ">= 40", "no answer", "ß", "a@b.example"]
NUMBERS = ["-0.5", "+3", "-1e-05", "1.5", "-.5", "+1.", "-12E+3"]


@pytest.mark.parametrize("label", FORMULAS)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(label: str) -> None:
    assert cells(csv_text([(label, "x")])) == [[f"'{label}", "x"]]


@pytest.mark.parametrize("label", HARMLESS + NUMBERS)
def test_what_it_would_not_run_stays_as_it_is(label: str) -> None:
    assert cells(csv_text([(label, "x")])) == [[label, "x"]]


def test_cells_with_breaks_quotes_and_commas_come_back() -> None:
    """An unquoted carriage return would begin a line, and its next cell could be a formula."""
    rows = [["a\r=1", 'b"c', "d,e"], ["f\n=1", "", "g\r\n"]]
    assert cells(csv_text(rows)) == rows


def test_numbers_stay_numbers() -> None:
    row = (-0.5, -3, 1e-300, -1.7976931348623157e308, 0)
    assert [float(cell) for cell in cells(csv_text([row]))[0]] == list(row)


def test_the_numbers_of_an_estimate_and_their_codebook_run_nothing() -> None:
    labels = ("=HYPERLINK(0)", "-1", "@x")
    estimate = Estimate(
        np.array([-0.25, 0.5, 0.75]), 100, np.array(4.0), np.array(4.0), labels=labels, attribute="+a", title="=t"
    )
    summary = summarize(
        {"+a": estimate}, mechanism=GRR(k=3, epsilon=1.0), n=100, asked=QuestionSet(totals=(("+a", ("@x",)),))
    )
    rows = cells(summary.csv())
    assert [row[:3] for row in rows[1:4]] == [
        ["'+a", "frequency", "'=HYPERLINK(0)"],
        ["'+a", "frequency", "-1"],
        ["'+a", "frequency", "'@x"],
    ]
    # Raw estimates may be negative.
    assert [float(row[3]) for row in rows[1:4]] == [-0.25, 0.5, 0.75]
    assert ["attribute", "", "", "'+a", "'=t"] in cells(codebook(summary))
    for text in (summary.csv(), codebook(summary)):
        for cell in (cell for row in cells(text) for cell in row):
            assert not cell.startswith(("=", "@", "+"))
            assert not re.fullmatch(r"-(?![0-9.]).*", cell)
    assert summary.to_dict()["attributes"][0]["categories"][0]["category"] == "=HYPERLINK(0)"


def test_one_place_writes_csv_to_be_looked_at() -> None:
    """Other modules only read CSV, write answers through pyarrow, or write invitations' links, which are read again."""
    root = Path(deniable.__file__).parent
    writers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(
            r"csv\.(writer|DictWriter|CSVWriter|write_csv)\(", re.sub(r">>>.*|\.\.\. .*", "", path.read_text())
        )
    }
    assert writers == {"files/jobs/tidying.py", "demo.py", "service/invitations.py"}
