"""A small survey in a folder of its own, and a way to run commands in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deniable.cli import app

Run = Callable[..., Result]

QUESTIONS = {
    "smoker": ["yes", "no"],
    "colour": ["red", "green", "blue", "a very long name of a colour that nobody has ever seen"],
}
N = 4000


def schema_text(*names: str) -> str:
    """The schema of some of the questions, as JSON."""
    attributes = [{"name": name, "categories": QUESTIONS[name]} for name in names]
    return json.dumps({"format": "deniable schema", "format_version": 1, "attributes": attributes})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: answers.csv of 4,000 records and schema.json."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(5)
    smoker = generator.choice(["yes", "no"], N, p=[0.3, 0.7])
    colour = generator.choice(QUESTIONS["colour"], N, p=[0.5, 0.25, 0.2, 0.05])
    rows = "\n".join(f"{one},{other}" for one, other in zip(smoker, colour, strict=True))
    Path("answers.csv").write_text(f"smoker,colour\n{rows}\n")
    Path("schema.json").write_text(schema_text("smoker", "colour"))
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Run a command; a failure that is not reported properly fails the test."""
    runner = CliRunner(env={"COLUMNS": "80"})

    def invoke(*arguments: str | Path) -> Result:
        result = runner.invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        assert "Traceback" not in result.output
        return result

    return invoke


@pytest.fixture
def survey(run: Run) -> Run:
    """The same, after `collection` made survey.json (epsilon 3, SMP)."""
    made = run("collection", "--schema", "schema.json", "--epsilon", "3", "--mechanism", "SMP", "-o", "survey.json")
    assert made.exit_code == 0, made.output
    return run


@pytest.fixture
def collected(survey: Run) -> Run:
    """The same, after `randomize` and `aggregate` made reports.parquet and all.aggregate."""
    for arguments in (
        ("randomize", "survey.json", "answers.csv", "-o", "reports.parquet"),
        ("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate"),
    ):
        result = survey(*arguments)
        assert result.exit_code == 0, result.output
    return survey
