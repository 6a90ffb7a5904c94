"""`deniable randomize`: answers are randomised once, and the spent budget is printed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import N, Run
from tests.cli.interrupting import interrupted, names


def test_the_same_answers_are_randomised_again_only_when_told(survey: Run) -> None:
    assert survey("randomize", "survey.json", "answers.csv", "-o", "reports.parquet").exit_code == 0
    refused = survey("randomize", "survey.json", "answers.csv", "-o", "second.parquet")
    assert refused.exit_code == 2
    assert "--allow-repeat" in refused.stderr
    assert not Path("second.parquet").exists()
    assert survey("randomize", "survey.json", "answers.csv", "-o", "second.parquet", "--allow-repeat").exit_code == 0


def test_randomize_states_what_was_spent(survey: Run) -> None:
    result = survey("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")
    assert "4,000 contributors have each spent epsilon = 3" in result.stderr
    assert result.stdout.startswith("epsilon = 3 for the whole contributor")


def test_randomize_states_what_was_spent_in_all(survey: Run) -> None:
    """Five collections at epsilon 4 do not always spend five times 4."""
    for number in range(1, 6):
        made = survey(
            "collection",
            "--schema",
            "schema.json",
            "--epsilon",
            "4",
            "--collection-version",
            number,
            "-o",
            f"{number}.json",
        )
        assert made.exit_code == 0, made.output
        limit = ["--max-epsilon", "20"]
        result = survey("randomize", f"{number}.json", "answers.csv", "-o", f"{number}.parquet", *limit)
        assert result.exit_code == 0, result.output
        total = f", and epsilon = {4 * number} in all {number} collections of these answers" if number > 1 else ""
        assert f"4,000 contributors have each spent epsilon = 4{total}\n" in result.stderr
        assert ("warning: these answers were randomised before" in result.stderr) == (number > 1)
    assert "with this collection their contributors spend epsilon = 20 in all" in " ".join(result.stderr.split())
    refused = survey("randomize", "survey.json", "answers.csv", "-o", "6.parquet", *limit)
    assert refused.exit_code == 2
    assert "must be <= --max-epsilon=20, got epsilon = 23, which is 3 too much" in refused.stderr
    assert not Path("6.parquet").exists()
    said = survey("randomize", "survey.json", "answers.csv", "-o", "6.parquet", "--json")
    found = json.loads(said.stdout)
    assert (found["n"], found["output"], found["guarantee"]["epsilon"]) == (N, "6.parquet", 3.0)
    assert found["spent"]["epsilon"] == 23.0
    assert [one["epsilon"] for one in found["spent"]["earlier"]] == [4.0] * 5


def test_interrupted_randomize_leaves_nothing(survey: Run) -> None:
    before = names()
    result = interrupted("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")
    assert result.returncode == 130
    assert result.stderr == "interrupted: nothing was written, so nobody has spent epsilon\n"
    assert names() == before
    # The ledger does not remember a run that did not happen.
    assert survey("randomize", "survey.json", "answers.csv", "-o", "reports.parquet").exit_code == 0
