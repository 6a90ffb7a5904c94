"""`deniable estimate` prints the same answers as Python."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness, SubsetSelection
from deniable.core.aggregate import Aggregate
from deniable.errors import quoted
from deniable.records import AdaptiveSMP
from tests.cli.conftest import Run
from tests.unit.answers.waves import WAVES


def test_quantiles_of_answers_without_an_order_are_remarked_upon(run: Run, waves: object) -> None:
    said = run("estimate", "May.json", "May.aggregate", "--quantiles", "vote=.5", "--quantiles", "stars=.5").stderr
    assert "the categories of “vote” are in no order that the schema knows" in " ".join(said.split())
    assert "“stars”" not in said


def test_questions_are_answered_in_words_numbers_and_csv(run: Run, waves: object) -> None:
    questions = ["--mean", "stars", "--total", "vote=Red,Green", "--total", "vote=Blue, or none"]
    questions += ["--quantiles", "stars=.25,.5", "--csv", "out.csv", "--html", "page.html"]
    result = run("estimate", "May.json", "May.aggregate", *questions)
    assert result.exit_code == 0, result.stderr
    survey, aggregate = Collection.load(Path("May.json")), Aggregate.load(Path("May.aggregate"))
    estimates = survey.estimate(aggregate)
    mean, lower, upper = estimates["stars"].mean(), *estimates["stars"].mean().interval()
    words = " ".join(result.stdout.split())
    sentence = f"The mean of “stars” among these 9,000 contributors is {mean.value:.3f} (95% interval: {lower:.3f} to"
    assert sentence in words
    assert words.index(sentence) < words.index("Whom would you vote for?")  # this is the table of frequencies
    median = estimates["stars"].quantiles([0.5])[0]
    assert f"half of the answers to “stars” are at most {quoted(median.label)}" in words
    assert sentence in " ".join(Path("page.html").read_text().replace("&#39;", "'").split())
    data = json.loads(run("estimate", "May.json", "May.aggregate", *questions[:-2], "--json").stdout)
    assert [row["unit"] for row in data["answers"]] == ["score", "share", "share", "category", "category"]
    assert data["answers"][0]["upper"] == upper
    total = estimates["vote"].total(["Red", "Green"])
    assert (data["answers"][1]["lower"], data["answers"][1]["upper"]) == total.interval()
    assert data["answers"][2]["value"] == estimates["vote"]["Blue, or none"].frequencies[0]
    assert data["answers"][4]["highest"] == median.interval()[1]
    assert [row["upper"] for row in data["curves"][0]["categories"]] == list(estimates["stars"].cdf().band()[1])
    assert data["attributes"][0]["title"] == "Whom would you vote for?"
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 + 5 + 2 + 5
    assert float(rows[0]["estimate"]) == estimates["vote"].frequencies[0]
    assert float(rows[11]["upper"]) == upper
    assert rows[-1]["highest"] == median.interval()[1]


def test_the_codebook_names_every_column_as_r_and_spss_may(run: Run, waves: object) -> None:
    asked = ["--mean", "stars", "--quantiles", "stars=.5", "--csv", "out.csv", "--codebook", "codebook.csv"]
    assert run("estimate", "May.json", "May.aggregate", *asked).exit_code == 0
    with Path("codebook.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        numbers = list(csv.DictReader(file))
    names = [row["variable"] for row in rows if not row["value"]]
    assert names == list(numbers[0])
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text(encoding="utf-8")
    assert re.findall(r"(\w+) [AF][\d.]+", page.partition("/VARIABLES=")[2]) == names
    reserved = {"all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"}
    for name in [*names, *rows[0]]:
        assert re.fullmatch("[a-z][a-z_]{0,63}", name)
        assert not name.endswith("_")
        assert name not in reserved
    assert all(row["label"] and row["unit"] for row in rows if row["variable"] in names and not row["value"])
    for column in ("attribute", "question"):
        told = {row["value"] for row in rows if row["variable"] == column}
        assert {row[column] for row in numbers} - told <= {"", "frequency"}
    facts = {row["label"]: row["value"] for row in rows if row["variable"] == "survey"}
    assert facts["contributors"] == "9000"
    assert facts["target of the intervals"] == "contributors"
    assert facts["collection"] == Collection.load(Path("May.json")).id
    assert float(facts["epsilon of the whole contributor"]) == Collection.load(Path("May.json")).privacy().epsilon
    titles = {row["value"]: row["value_label"] for row in rows if row["variable"] == "attribute"}
    assert titles["vote"] == "Whom would you vote for?"


def test_simultaneous_counts_what_was_asked(run: Run, waves: object) -> None:
    asked = ["--mean", "stars", "--quantiles", "stars=.5", "--simultaneous", "--json"]
    data = json.loads(run("estimate", "May.json", "May.aggregate", *asked).stdout)
    survey, aggregate = Collection.load(Path("May.json")), Aggregate.load(Path("May.aggregate"))
    together = 4 + 5 + 2 + 1 + 4
    stars = survey.estimate(aggregate)["stars"]
    assert (data["answers"][0]["lower"], data["answers"][0]["upper"]) == stars.mean().interval(simultaneous=together)
    assert data["attributes"][1]["categories"][0]["lower"] == stars.interval(simultaneous=together)[0][0]
    assert f"all {together} hold together" in data["interval"]["covers"]


def test_malicious_and_anytime(run: Run, waves: object) -> None:
    survey, aggregate = Collection.load(Path("May.json")), Aggregate.load(Path("May.aggregate"))
    vote = survey.estimate(aggregate)["vote"]
    base = ["estimate", "May.json", "May.aggregate", "--total", "vote=Red,Green", "--mean", "stars", "--json"]
    data = json.loads(run(*base, "--malicious", "0.01").stdout)
    assert data["attributes"][0]["categories"][1]["upper"] == vote.interval(malicious=0.01)[1][1]
    pooled = vote.pooled(["Red", "Green"])
    assert pooled is not None
    assert data["answers"][1]["lower"] == pooled.interval(malicious=0.01)[0][0]
    assert data["answers"][0]["lower"] is None
    assert "no interval is known for malicious contributors" in data["answers"][0]["sentence"]
    assert data["interval"]["malicious"] == 0.01
    assert "even if up to 1% of all contributors work together" in data["interval"]["covers"]
    band = ["estimate", "May.json", "May.aggregate", "--quantiles", "stars=.5"]
    assert "The band of a distribution function holds" in run(*band).stdout
    assert "The band of a distribution function" not in run(*band, "--malicious", "0.01").stdout
    looked = ["--anytime", "--planned", "9000", "--target", "population"]
    data = json.loads(run(*base, *looked).stdout)
    expected = vote.interval(target="population", anytime=True, planned=9000)[0][1]
    assert data["attributes"][0]["categories"][1]["lower"] == expected
    assert data["interval"]["planned"] == 9000
    for wrong, message in (
        (["--anytime", "--planned", "9"], "target must be population, got target=“contributors”"),
        (["--anytime", "--target", "population"], "planned must be given with"),
        (["--malicious", "1"], "malicious must be a fraction"),
        (["--mean", "vote"], "mean must name an attribute with scores, but the schema has no scores for “vote”"),
        (["--mean", "nothing"], "questions must name attributes of the estimates"),
        (["--total", "vote"], "total must be an attribute, an equals sign and a list"),
        (["--total", "vote=Black"], "“Black”"),
        (["--quantiles", "stars=half"], "quantiles must have numbers"),
        (["--quantiles", "stars=1.5"], "quantiles must have numbers between 0 and 1"),
        (["--quantiles", "stars=.5,nan"], "quantiles must have numbers between 0 and 1"),
    ):
        result = run("estimate", "May.json", "May.aggregate", *wrong)
        assert result.exit_code == 2
        assert message in result.stderr


def test_attributes_without_such_an_interval_say_so_and_others_have_theirs(run: Run) -> None:
    schema = Schema((WAVES.attributes[0], Attribute("age", kind="numeric", range=(0, 100), grid=11)))
    survey = Collection(schema, _square(schema))
    records = np.column_stack([np.arange(3000) % 4, np.arange(3000) % 11])
    aggregate = survey.aggregate(survey.randomize(records, SimulationRandomness(1)))
    survey.save(Path("s.json"))
    aggregate.save(Path("s.aggregate"))
    result = run("estimate", "s.json", "s.aggregate", "--malicious", "0.01", "--mean", "age")
    assert result.exit_code == 0, result.stderr
    assert "age: no interval can allow for malicious contributors" in " ".join(result.stdout.split())


def _square(schema: Schema) -> AdaptiveSMP:
    from deniable.oracles import SquareWave

    return AdaptiveSMP(schema.sizes, 2.0, (SubsetSelection(4, 2.0), SquareWave(11, 2.0)))


def test_means_and_quartiles_of_numbers_are_printed_with_other_options_too(run: Run) -> None:
    survey = Collection(Schema((Attribute("age", kind="numeric", range=(0, 90), grid=10),)), GRR(k=10, epsilon=3.0))
    survey.save("ages.json")
    codes = np.arange(2000)[:, None] % 10
    survey.aggregate(survey.randomize(codes, SimulationRandomness(4))).save("ages.aggregate")
    for options in (
        (),
        ("--postprocess", "simplex"),
        ("--malicious", "0.01"),
        ("--anytime", "--planned", "2000", "--target", "population"),
    ):
        found = json.loads(run("estimate", "ages.json", "ages.aggregate", *options, "--json").stdout)
        assert [row["unit"] for row in found["answers"]] == ["score", "category", "category", "category"]
        assert all(row["value"] is not None for row in found["answers"])
        assert all((row["lower"] is None) == ("note" in row) for row in found["answers"])
    words = " ".join(run("estimate", "ages.json", "ages.aggregate", "--malicious", "0.01").stdout.split())
    assert "The mean of “age” among these 2,000 contributors is estimated at" in words


def test_each_question_is_answered_once(run: Run, waves: object) -> None:
    asked = ["--mean", "stars", "--total", "vote=Red,Green", "--quantiles", "stars=.25,.25"]
    found = json.loads(run("estimate", "May.json", "May.aggregate", *asked, *asked, "--json").stdout)
    assert [row["unit"] for row in found["answers"]] == ["score", "share", "category"]


@pytest.mark.parametrize("options", [("--delimiter", ";"), ("--decimal", "comma")])
def test_options_of_the_truth_need_the_truth(run: Run, waves: object, options: tuple[str, str]) -> None:
    for command in ("estimate", "heavy-hitters") if options[0] == "--delimiter" else ("estimate",):
        result = run(command, "May.json", "May.aggregate", *options)
        assert result.exit_code == 2
        assert f"{options[0]} must be left out without --truth, because it would have no effect" in result.stderr
