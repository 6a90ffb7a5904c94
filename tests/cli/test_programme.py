"""The command that adds up a programme of surveys, and the programme's file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from deniable import GRR, Attribute, Collection, Schema
from deniable.errors import DeniableError, FileFormatError, InvalidParameterError, MismatchError
from deniable.oracles import MemoisedGRR
from deniable.planning import load_programme, programme
from tests.cli.conftest import Run

MOOD = Schema((Attribute("mood", ("good", "bad")),))
SMOKER = Schema((Attribute("smoker", ("yes", "no")),))
BOTH = Schema((*MOOD.attributes, *SMOKER.attributes))
RECORDS = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [400, 100, 200, 300], axis=0)

PLAN = """
format = "deniable programme"
format_version = 1
title = "Panel"

[[surveys]]
name = "mood"
collection = "mood.json"
waves = 3

[[surveys]]
name = "smoking"
collection = "smoker.json"
waves = 12
answers = 1
"""


def files() -> None:
    Collection(MOOD, GRR(2, 0.5)).save(Path("mood.json"))
    Collection(SMOKER, MemoisedGRR(2, 2, 1)).save(Path("smoker.json"))
    BOTH.save(Path("schema.json"))
    Path("plan.toml").write_text(PLAN)
    names = (("good", "bad"), ("yes", "no"))
    rows = [",".join(names[j][code] for j, code in enumerate(row)) for row in RECORDS]
    Path("answers.csv").write_text("\n".join(["mood,smoker", *rows]) + "\n")


def test_the_command(run: Run) -> None:
    files()
    result = run("programme", "plan.toml")
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "One contributor spends at most epsilon = 3.5." in words
    assert "Only if smoking: nobody's answer ever changes." in words
    full = ("programme", "plan.toml", "--prior", "answers.csv", "--schema", "schema.json")
    assert run(*full, "--plot", "p.png", "--html", "p.html").exit_code == 0
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    data = json.loads(run(*full, "--json").stdout)
    assert (data["format"], data["epsilon"]) == ("deniable programme", 3.5)
    assert [row["about"] for row in data["leakage"]] == ["mood", "smoker"]
    refused = run("programme", "plan.toml", "--prior", "answers.csv")
    assert (refused.exit_code, "given together" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (("waves = 3", "waves = 0"), InvalidParameterError, r"surveys\[0\]\.waves"),
        (("waves = 3", "wave = 3"), FileFormatError, r"surveys\[0\]\.wave"),
        (("waves = 3", "waves = "), FileFormatError, "is not TOML"),
        (("waves = 3", "answers = 1"), InvalidParameterError, "the mechanism GRR keeps no permanent responses"),
        (('"mood.json"', '"none.json"'), FileFormatError, "none.json"),
        (("format_version = 1", "format_version = 2"), FileFormatError, "format_version"),
        (('name = "smoking"', 'name = "mood"'), InvalidParameterError, "“mood” twice"),
        (('"mood.json"\nwaves = 3', '"smoker.json"\nwaves = 3'), MismatchError, "one survey with more waves"),
    ],
)
def test_a_plan_is_refused(change: tuple[str, str], error: type[DeniableError], message: str, run: Run) -> None:
    del run
    files()
    Path("plan.toml").write_text(PLAN.replace(*change))
    with pytest.raises(error, match=message):
        programme(load_programme("plan.toml")[1])
