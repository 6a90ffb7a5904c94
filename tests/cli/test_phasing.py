"""Phases chain through files: learn and combine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from deniable import Aggregate, Collection
from deniable.multi.phases import Phases
from tests.cli.conftest import Run


@pytest.fixture
def phases(run: Run) -> Run:
    """A survey with its two phases: 1,000 contributors by SPL, the other 3,000 by Corr-RR."""
    lines = Path("answers.csv").read_text().splitlines(keepends=True)
    Path("one.csv").write_text("".join(lines[:1001]))
    Path("two.csv").write_text("".join([lines[0], *lines[1001:]]))
    for line in (
        "collection --schema schema.json --epsilon 3 --mechanism SPL --title Habits -o one.json",
        "randomize one.json one.csv -o one.parquet",
        "aggregate one.json one.parquet -o one.aggregate",
        "learn one.json one.aggregate --contributors 3000 -o two.json",
        "randomize two.json two.csv -o two.parquet",
        "aggregate two.json two.parquet -o two.aggregate",
    ):
        result = run(*line.split())
        assert result.exit_code == 0, result.output
    return run


def test_the_second_file_records_the_first(phases: Run) -> None:
    first, second = Collection.load("one.json"), Collection.load("two.json")
    assert second.learned_from is not None
    assert (second.learned_from.collection, second.learned_from.contributors) == (first.id, 1000)
    assert (second.version, second.title, second.mechanism.name) == (2, "Habits", "Corr-RR")
    document = json.loads(Path("two.json").read_text())
    assert document["learned_from"]["collection"] == first.id
    assert "learned_from" not in json.loads(Path("one.json").read_text())
    # What was learned is all that is published: the counts of phase one are not in the file.
    for count in Aggregate.load("one.aggregate").counts:
        assert f" {count}," not in Path("two.json").read_text()
    document["learned_from"]["contributors"] = 1001
    Path("two.json").write_text(json.dumps(document))
    changed = phases("aggregate", "two.json", "two.parquet", "-o", "x.aggregate")
    assert changed.exit_code == 2
    assert "was changed after it was made" in changed.stderr


def test_combine_is_the_librarys(phases: Run) -> None:
    result = phases("combine", "one.json", "one.aggregate", "two.json", "two.aggregate", "--json")
    shown = json.loads(result.stdout)
    parts = [(Collection.load(f"{name}.json"), Aggregate.load(f"{name}.aggregate")) for name in ("one", "two")]
    # By counts: a quarter of phase one and three quarters of phase two.
    first, second = (collection.estimate(aggregate) for collection, aggregate in parts)
    for attribute in shown["attributes"]:
        name = attribute["attribute"]
        expected = 0.25 * first[name].frequencies + 0.75 * second[name].frequencies
        found = [category["estimate"] for category in attribute["categories"]]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert shown["n"] == 4000 == Phases(parts).n
    assert shown["guarantee"]["epsilon"] == 3.0
    assert shown["guarantee"]["per_attribute"][0] > 1.5, "phase two's, not the smaller one of phase one"
    assert "phase 1: SPL, 1,000 contributors, epsilon = 3 for each" in shown["guarantee"]["remarks"]


def test_weights_learned_from_the_data_have_no_intervals(phases: Run) -> None:
    files = ("one.json", "one.aggregate", "two.json", "two.aggregate")
    result = phases("combine", *files, "--weights", "inverse-variance", "--plot", "out.png", "--html", "out.html")
    assert result.exit_code == 0, result.output
    assert "There are no intervals. The estimate is biased" in " ".join(result.stdout.split())
    assert "nan" not in Path("out.html").read_text().split("<svg")[0]
    assert Path("out.png").stat().st_size > 1000
    given = phases("combine", *files, "--weights", "0.5,0.5", "--postprocess", "simplex")
    assert "The 95% interval covers" in given.stdout
    assert "simplex" in given.stdout


def test_late_reports_of_phase_one_are_noted(phases: Run) -> None:
    phases("randomize", "one.json", "answers.csv", "-o", "late.parquet")
    phases("aggregate", "one.json", "one.parquet", "late.parquet", "-o", "more.aggregate")
    result = phases("combine", "one.json", "more.aggregate", "two.json", "two.aggregate")
    assert "phase 2 learned from 1,000 reports of phase 1, not from these 5,000" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("combine one.json one.aggregate", "two phases or more must be given, a collection and an aggregate each"),
        ("combine one.json one.aggregate two.json", "got 3 files"),
        ("combine two.json two.aggregate one.json one.aggregate", "phase 2, collection"),
        ("combine one.json one.aggregate one.json one.aggregate", "merge its aggregates first"),
        ("combine one.json two.aggregate two.json two.aggregate", "the aggregate is of collection"),
        ("combine one.json one.aggregate two.json two.aggregate --weights lots", "got weights='lots'"),
        ("combine one.json one.aggregate two.json two.aggregate --weights 1,2,3", "weights must be 2 numbers"),
        ("combine one.json one.aggregate two.json two.aggregate --postprocess magic", "got postprocess='magic'"),
        ("learn one.json two.aggregate --contributors 10 -o x.json", "the aggregate is of collection"),
        ("learn one.json one.aggregate --contributors 1 -o x.json", "contributors must be >= 2, got contributors=1"),
        ("learn one.json one.aggregate --contributors 10 --mechanism GRR -o x.json", "mechanism must be one of"),
        ("learn one.json one.aggregate --contributors 10 --set metod=joint -o x.json", "got 'metod'"),
        ("learn one.json one.aggregate --contributors 10 --set as_printed=7 -o x.json", "got as_printed=7"),
        (
            "learn one.json one.aggregate --contributors 10 --mechanism Cond-RR -o x.json",
            "pair tables need an aggregate of SPLPairs, the mechanism 'SPL pairs', got one of SPL(",
        ),
        ("learn one.json one.aggregate --contributors 10 -o two.json", "two.json exists with other content"),
        ("learn one.json one.aggregate --contributors 10 -o one.aggregate", "must not be one of the inputs"),
    ],
)
def test_bad_input(phases: Run, line: str, message: str) -> None:
    result = phases(*line.split())
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not Path("x.json").exists()


def test_the_same_answers_are_not_randomised_in_two_phases(phases: Run) -> None:
    twice = phases("randomize", "two.json", "one.csv", "-o", "x.parquet")
    assert twice.exit_code == 2
    said = " ".join(twice.stderr.split())
    assert "one.csv was randomised before for the phase that this collection learned from (into one.parquet)" in said
    assert not Path("x.parquet").exists()
    meant = phases("randomize", "two.json", "one.csv", "-o", "x.parquet", "--again")
    assert meant.exit_code == 0
    assert "who takes part in both spends both epsilons" in " ".join(meant.stderr.split())


def test_names_of_classes_are_names_of_mechanisms(phases: Run) -> None:
    made = phases("collection", "--schema", "schema.json", "--epsilon", "1", "--mechanism", "SPLPairs", "-o", "p.json")
    assert made.exit_code == 0
    assert Collection.load("p.json").mechanism.name == "SPL pairs"
    assert phases("randomize", "p.json", "one.csv", "-o", "p.parquet").exit_code == 0
    assert phases("aggregate", "p.json", "p.parquet", "-o", "p.aggregate").exit_code == 0
    arguments = ("learn", "p.json", "p.aggregate", "--contributors", "10", "--mechanism", "CondRR", "-o", "q.json")
    assert phases(*arguments).exit_code == 0
    assert Collection.load("q.json").mechanism.name == "Cond-RR"


def test_learning_again_writes_the_same_file(phases: Run) -> None:
    before = Path("two.json").read_bytes()
    again = phases(
        "learn", "one.json", "one.aggregate", "--contributors", "3000", "--mechanism", "corr-rr", "-o", "two.json"
    )
    assert again.exit_code == 0
    assert Path("two.json").read_bytes() == before
