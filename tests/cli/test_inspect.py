"""A contributor sees questions and guarantee before reporting; none of this text is the file's own claim."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

MAKE = ("collection", "--schema", "schema.json", "--mechanism", "SMP", "-o", "survey.json")
RANDOMIZE = ("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")


@pytest.fixture
def liar(run: Run) -> Run:
    """A collection with epsilon 32 whose title says 0.1 and whose words promise too much; its id does not change."""
    made = run(*MAKE, "--epsilon", "32", "--title", "epsilon = 0.1 for the whole contributor")
    assert "warning: epsilon = 32 is above 4" in made.stderr
    document = json.loads(Path("survey.json").read_text())
    document["guarantee"]["text"] = ["epsilon = 0.1: PERFECTLY SAFE"]
    document["guarantee"]["remarks"] = ["PERFECTLY SAFE"] * 3
    for row in document["guarantee"]["trust_models"]:
        row |= dict.fromkeys(("adversary", "view", "note", "bound"), "PERFECTLY SAFE")
    Path("survey.json").write_text(json.dumps(document))
    return run


def test_inspect_says_what_is_derived_first(liar: Run) -> None:
    shown = liar("inspect", "survey.json")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("epsilon = 32 for the whole contributor (implemented: 31.9999983")
    flat = " ".join(shown.stdout.split())
    assert "nobody's odds about you can change by more than a factor of 79,000,000,000,000" in flat
    assert "title, as its author wrote it: “epsilon = 0.1 for the whole contributor”" in flat
    assert flat.index("79,000,000,000,000") < flat.index("0.1")
    assert "PERFECTLY" not in shown.output
    for answer in ("“yes”", "“no”", "“red”", "“a very long name of a colour that nobody has ever seen”"):
        assert answer in flat
    assert "epsilon = r x 32" in flat
    assert "one report has " in flat
    assert "warning: epsilon = 32 is above 4" in shown.stderr


def test_inspect_as_data(liar: Run) -> None:
    data = json.loads(liar("inspect", "survey.json", "--json").stdout)
    assert (data["guarantee"]["epsilon"], data["odds"]) == (32.0, 79e12)
    assert data["sentences"][0].endswith("more than a factor of 79,000,000,000,000")
    assert [row["scaling"] for row in data["guarantee"]["trust_models"]].count("per report") == 1
    assert [attribute["name"] for attribute in data["attributes"]] == ["smoker", "colour"]
    assert data["attributes"][0]["categories"] == ["yes", "no"]
    assert data["warnings"]
    assert "PERFECTLY" not in json.dumps(data)


def test_numbers_that_were_changed_are_refused(run: Run) -> None:
    assert run(*MAKE, "--epsilon", "32").exit_code == 0
    document = json.loads(Path("survey.json").read_text())
    document["guarantee"]["epsilon"] = 0.1
    Path("survey.json").write_text(json.dumps(document))
    for command in (("inspect", "survey.json"), RANDOMIZE):
        refused = run(*command)
        assert refused.exit_code == 2
        assert refused.stdout == ""
        assert "must state the guarantee of its mechanism, but states a different guarantee" in refused.stderr


def test_a_weaker_guarantee_than_asked_for_is_refused_before_answers_are_read(liar: Run) -> None:
    Path("answers.csv").write_text("not even a table\n")
    for maximum in ("4", "31.999"):
        refused = liar(*RANDOMIZE, "--max-epsilon", maximum)
        assert refused.exit_code == 2
        assert refused.stdout.startswith("epsilon = 32 for the whole contributor")
        assert (
            f"error: epsilon must be <= --max-epsilon={maximum}, but this guarantee has epsilon = 32" in refused.stderr
        )
    assert not Path("reports.parquet").exists()


def test_the_guarantee_is_printed_and_then_kept(run: Run) -> None:
    assert run(*MAKE, "--epsilon", "1").exit_code == 0
    done = run(*RANDOMIZE, "--max-epsilon", "1")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("epsilon = 1 for the whole contributor")
    assert "nobody's odds about you can change by more than a factor of 2.72" in " ".join(done.stdout.split())
    assert "warning" not in done.stderr


def test_a_title_is_quoted_and_the_guarantee_has_its_own_line(liar: Run) -> None:
    assert liar(*RANDOMIZE).exit_code == 0
    assert liar("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate").exit_code == 0
    lines = liar("estimate", "survey.json", "all.aggregate").stdout.splitlines()
    assert lines[0] == "“epsilon = 0.1 for the whole contributor”"
    assert " ".join(lines[-2:]).startswith("Guarantee: epsilon = 32 for the whole contributor")
