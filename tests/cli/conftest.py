"""A small survey in its own folder, and a function that runs commands there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deniable.cli import app
from tests.unit.answers.waves import Wave, two_waves

Run = Callable[..., Result]
MadeOnce = Callable[[str, Callable[[], None]], None]

QUESTIONS = {
    "smoker": ["yes", "no"],
    "colour": ["red", "green", "blue", "a very long name of a colour that nobody has ever seen"],
}
N = 4000

_KEPT = pytest.StashKey[dict[str, Path]]()


def run_all(run: Run, *lines: str) -> None:
    """Run commands that must succeed."""
    for line in lines:
        result = run(*line.split())
        assert result.exit_code == 0, result.output


def schema_text(*names: str) -> str:
    """Return the schema of some of the questions, as JSON."""
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
    """Run a command; a failure without a proper error message fails the test."""
    runner = CliRunner(env={"COLUMNS": "80"})

    def invoke(*arguments: str | Path) -> Result:
        result = runner.invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        assert "Traceback" not in result.output
        return result

    return invoke


@pytest.fixture
def made_once(
    request: pytest.FixtureRequest, folder: Path, state: Path, tmp_path_factory: pytest.TempPathFactory
) -> MadeOnce:
    """Make the files of a named fixture once; copy files and ledger into the folder of each later test."""
    kept: dict[str, Path] = request.config.stash.setdefault(_KEPT, {})

    def make(name: str, steps: Callable[[], None]) -> None:
        if name in kept:
            shutil.copytree(kept[name] / "folder", folder, dirs_exist_ok=True)
            shutil.copytree(kept[name] / "state", state.parent, dirs_exist_ok=True)
            return
        steps()
        place = tmp_path_factory.mktemp("kept")
        shutil.copytree(folder, place / "folder")
        shutil.copytree(state.parent, place / "state")
        kept[name] = place

    return make


@pytest.fixture
def survey(run: Run) -> Run:
    """The folder with survey.json (epsilon 3, SMP), made by `collection`."""
    made = run("collection", "--schema", "schema.json", "--epsilon", "3", "--mechanism", "SMP", "-o", "survey.json")
    assert made.exit_code == 0, made.output
    return run


@pytest.fixture
def collected(survey: Run, made_once: MadeOnce) -> Run:
    """The folder with reports.parquet and all.aggregate, made by `randomize` and `aggregate`."""
    made_once(
        "collected",
        lambda: run_all(
            survey,
            "randomize survey.json answers.csv -o reports.parquet",
            "aggregate survey.json reports.parquet -o all.aggregate",
        ),
    )
    return survey


@pytest.fixture
def waves(folder: Path) -> tuple[Wave, Wave]:
    """Two waves, with their files in the folder."""
    made = two_waves()
    for survey, aggregate in made:
        survey.save(folder / f"{survey.title}.json")
        aggregate.save(folder / f"{survey.title}.aggregate")
    return made
