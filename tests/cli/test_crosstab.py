"""From a schema to a table of two questions, in a terminal, as data, as a page and as a picture."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from deniable import SimulationRandomness
from tests.cli.conftest import Run, run_all

MADE = (
    "collection --schema schema.json --epsilon 4 --pairs -o survey.json",
    "randomize survey.json answers.csv -o reports.parquet",
    "aggregate survey.json reports.parquet -o all.aggregate",
)


@pytest.fixture
def made(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """4,000 reports of the only pair at epsilon 4; with other seeds, one draw in twenty would show a relation."""
    monkeypatch.setattr("deniable.cli.randomize.SecureRandomness", lambda: SimulationRandomness(1))
    run_all(run, *MADE)
    return run


def test_a_table_comes_with_sentences_intervals_and_the_guarantee_in_one_line(made: Run) -> None:
    shown = made("crosstab", "survey.json", "all.aggregate", "colour", "smoker", "--png", "c.png", "--html", "c.html")
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0] == "“colour” and “smoker”"
    assert lines[-1] == "Guarantee: epsilon = 4 for the whole contributor; odds change at most 54.6-fold"
    assert max(map(len, lines)) <= 80
    flat = " ".join(shown.stdout.split())
    assert "4,000 of 4,000 contributors reported these two answers together" in flat
    assert "do not show that “colour” and “smoker” are related" in flat
    assert (
        flat.index("What it says")
        < flat.index("All answers")
        < flat.index("Shares of “smoker”")
        < flat.index("Decoded")
    )
    page = Path("c.html").read_text()
    assert "<script" not in page
    assert page.count("<svg") >= 4
    height, width, _ = imread("c.png").shape
    assert height > 1000
    assert width > 700


def test_the_same_as_data(made: Run) -> None:
    data = json.loads(made("crosstab", "survey.json", "all.aggregate", "colour", "smoker", "--json").stdout)
    turned = json.loads(made("crosstab", "survey.json", "all.aggregate", "smoker", "colour", "--json").stdout)
    assert (data["rows"], data["columns"], data["reports"], data["step"]) == ("colour", "smoker", 4000, "dependence")
    assert np.allclose(data["consistent"], np.transpose(turned["consistent"]))
    assert np.allclose(np.sum(data["shares"], axis=1), 1)
    # In the fixture, 30% smoke and half choose red, independently.
    assert data["lower"][0][0] - 0.01 < 0.5 * 0.3 < data["upper"][0][0] + 0.01
    assert data["independence"]["p_value"] > 0.001
    assert np.isclose(np.sum(data["decoded"]), 1)
    assert data["sentences"][0].startswith("These reports do not show")


def test_what_cannot_be_asked_is_refused(made: Run) -> None:
    for line, says in (
        ("crosstab survey.json all.aggregate colour size", "attribute must be one of smoker, colour, got “size”"),
        ("crosstab survey.json all.aggregate colour colour", "two different attributes"),
        ("crosstab survey.json all.aggregate colour smoker --html all.aggregate", "must not be one of the inputs"),
        (
            "collection --schema schema.json --epsilon 1 --pairs --full-record -o x.json",
            "pairs and --full-record cannot be used together",
        ),
    ):
        refused = made(*line.split())
        assert refused.exit_code == 2
        assert says in refused.stderr
    run_all(
        made,
        "collection --schema schema.json --epsilon 1 --mechanism SMP -o smp.json",
        "randomize smp.json answers.csv -o smp.parquet --allow-repeat",
        "aggregate smp.json smp.parquet -o smp.aggregate",
    )
    refused = made("crosstab", "smp.json", "smp.aggregate", "colour", "smoker")
    assert "a cross table needs reports that combine two answers" in refused.stderr
    assert "deniable collection --pairs" in refused.stderr


def test_titles_name_attributes_and_csv_has_every_cell(run: Run) -> None:
    schema = json.loads(Path("schema.json").read_text())
    for attribute, title in zip(schema["attributes"], ("Do you smoke?", "Your colour?"), strict=True):
        attribute["title"] = title
    schema["format_version"] = 2
    Path("titled.json").write_text(json.dumps(schema))
    run_all(run, *(line.replace("schema.json", "titled.json") for line in MADE))
    files = ("survey.json", "all.aggregate")
    named = run("crosstab", *files, "colour", "smoker", "--csv", "cells.csv", "--json")
    titled = run("crosstab", *files, "Your colour?", "Do you smoke?", "--json")
    assert titled.stdout == named.stdout
    data, lines = json.loads(named.stdout), list(csv.DictReader(Path("cells.csv").read_text().splitlines()))
    assert list(lines[0])[:4] == ["colour", "smoker", "estimate", "standard_error"]
    shape = (len(data["row_labels"]), len(data["column_labels"]))
    for name, key in (("estimate", "consistent"), ("share", "shares"), ("upper", "upper"), ("decoded", "decoded")):
        assert np.allclose(np.reshape([float(line[name]) for line in lines], shape), data[key])
    refused = run("crosstab", *files, "Your color?", "smoker")
    assert "one of smoker, colour (or one of their titles), got “Your color?”" in refused.stderr
