"""`deniable fit`: text, JSON, a page and a picture of one model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.files import write_reports
from tests.cli.conftest import Run

FORMULA = "smoker ~ age + C(region)"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rng, n = np.random.default_rng(1), 2000
    age, region = rng.normal(40, 10, n).round(1), rng.choice(["north", "south"], n)
    yes = (rng.random(n) < 1 / (1 + np.exp(0.5 - 0.05 * (age - 40)))).astype(int)
    survey = dn.Collection(dn.Schema((dn.Attribute("smoker", ("no", "yes")),)), dn.GRR(k=2, epsilon=2.0))
    survey.save(tmp_path / "survey.json")
    random = dn.SimulationRandomness(2)
    write_reports(tmp_path / "reports.parquet", survey, [survey.randomize(yes[:, None], random)], random)
    rows = "".join(f"{a},{b}\n" for a, b in zip(age, region, strict=True))
    (tmp_path / "people.csv").write_text("age,region\n" + rows)
    return [str(tmp_path / name) for name in ("survey.json", "reports.parquet", "people.csv")]


def test_privacy_stands_before_every_number(run: Run, files: list[str], tmp_path: Path) -> None:
    page, picture = tmp_path / "fit.html", tmp_path / "fit.png"
    result: Any = run(
        "fit", FORMULA, *files, "--effects", "--predict", "age=20:60", "--html", str(page), "--plot", str(picture)
    )
    text = " ".join(result.stdout.split())
    assert text.index("are not protected") < text.index("Coefficients") < text.index("Predictions")
    assert "The odds of “yes” are 1.0" in text
    assert page.read_text().index("are not protected") < page.read_text().index("<svg")
    assert picture.stat().st_size > 10_000


def test_a_key_without_a_table_is_refused(run: Run, files: list[str]) -> None:
    result = run("fit", "smoker ~ 1", *files[:2], "--key", "id")
    assert result.exit_code == 2
    assert "--key must be left out without COVARIATES, because it would have no effect" in result.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("--cov", "observed", "--method", "weights"),
            'error: --cov must be "sandwich" with --method weights, got --cov="observed"',
        ),
        (("--cov", "opg", "--weights", "age"), 'error: --cov must be "sandwich" with weights, got --cov="opg"'),
        (("--cluster", "town"), "error: --cluster must name a column of the table, got --cluster=“town”"),
        (("--model", "linear"), "but the schema has no scores; use --model multinomial"),
        (("--missing", "refuse"), "have missing values (1 in age); pass --missing category to leave these rows out"),
    ],
)
def test_refusals_name_the_options(run: Run, files: list[str], options: tuple[str, ...], says: str) -> None:
    people = Path(files[2])
    head, first, *rest = people.read_text().splitlines()
    people.write_text("\n".join([head, "," + first.partition(",")[2] if "refuse" in options else first, *rest]))
    result = run("fit", FORMULA, *files, *options)
    assert result.exit_code == 2
    assert says in result.stderr


def test_json_has_the_statement_and_no_row_of_data(run: Run, files: list[str]) -> None:
    found = json.loads(run("fit", FORMULA, *files, "--json").stdout)
    assert found["format"] == "deniable fit"
    assert "not protected" in found["privacy_statement"]
    assert found["collection"] == dn.Collection.load(files[0]).id
    assert (found["rows"], found["dropped"], found["starts"]) == (2000, 0, 4)
    assert [one["name"] for one in found["coefficients"]] == ["Intercept", "age", "C(region)[T.south]"]
    assert abs(found["coefficients"][1]["value"] - 0.05) < 0.02


def test_json_has_the_effects_and_predictions_that_were_asked_for(run: Run, files: list[str], tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    head, *rows = people.read_text().splitlines()
    people.write_text("\n".join([f"{head},blank", *(f"{row}," for row in rows)]))
    found = json.loads(run("fit", FORMULA, *files, "--json", "--effects", "--predict", "age=20:50").stdout)
    assert [one["outcome"] for one in found["effects"]] == ["no", "yes"] * 2
    assert found["effects"][1]["lower"] < found["effects"][1]["effect"] < found["effects"][1]["upper"]
    assert [one["label"] for one in found["predictions"][::2]] == [f"age {years}" for years in range(20, 51, 5)]
    assert "effects" not in json.loads(run("fit", FORMULA, *files, "--json").stdout)
    assert "column of numbers" in run("fit", FORMULA, *files, "--predict", "region=1:2").stderr


def test_a_formula_without_predictors_has_no_effects(run: Run, files: list[str]) -> None:
    assert (
        "There are none, because the formula has no predictors." in run("fit", "smoker ~ 1", *files, "--effects").stdout
    )


def test_errors_are_one_line(run: Run, files: list[str]) -> None:
    result = run("fit", "smoker ~ height", *files)
    assert result.exit_code == 2
    assert "got “height”" in result.stderr


@pytest.fixture
def few(run: Run, files: list[str], tmp_path: Path) -> Callable[..., Any]:
    """Fit a model of `age` to the reports of 50 people, with more options of the command."""
    (tmp_path / "few.csv").write_text("age\n" + "".join(f"{age}\n" for age in range(50)))

    def fitted(reports: Any, *options: str) -> Any:
        survey, random = dn.Collection.load(files[0]), dn.SimulationRandomness(1)
        path = tmp_path / "few.parquet"
        write_reports(path, survey, [np.asarray(reports, dtype=np.uint8)], random)
        return run("fit", "smoker ~ age", files[0], str(path), str(tmp_path / "few.csv"), *options)

    return fitted


def test_the_refusal_of_few_reports_names_the_option(few: Callable[..., Any]) -> None:
    assert "pass --force to fit anyway" in few(np.zeros(50)).stderr


def test_without_a_maximum_effects_and_predictions_are_not_determined(few: Callable[..., Any], tmp_path: Path) -> None:
    # The reports change from "no" to "yes" at one age, so the likelihood rises as the slope rises.
    picture = tmp_path / "few.png"
    result = few(np.arange(50) > 24, "--force", "--effects", "--predict", "age=20:60", "--plot", str(picture))
    assert result.stdout.count("Not determined, because the search found no maximum.") == 2
    assert picture.stat().st_size > 10_000
