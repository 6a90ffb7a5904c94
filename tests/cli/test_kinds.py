"""Each kind of question through each command, from CSV, Parquet and data frames."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from deniable import Aggregate, Collection, SimulationRandomness
from deniable.oracles.square_wave import SquareWave
from tests.cli.conftest import Run, run_all
from tests.vectors import kinds

N = 3000
DEVICES, LANGUAGES = ("phone", "radio", "television", "fax"), ("es; ca", "en")


def _answers() -> dict[str, list[Any]]:
    draw = np.random.default_rng(4)
    ticked = draw.random((N, 4)) < (0.9, 0.5, 0.3, 0.1)
    spoken = draw.random((N, 2)) < (0.6, 0.4)
    return {
        "sex": [("f", "m", None)[i] for i in draw.choice(3, N, p=[0.5, 0.4, 0.1])],
        "age": draw.integers(18, 90, N).tolist(),
        "stars": draw.choice([1, 2, 3, 4, 5], N, p=[0.1, 0.1, 0.2, 0.3, 0.3]).tolist(),
        "mood": draw.choice(["bad", "so-so", "good"], N).tolist(),
        "income": np.round(draw.lognormal(7, 0.6, N), 2).tolist(),
        "share": [None if draw.random() < 0.1 else float(value) for value in np.round(draw.uniform(-0.5, 1, N), 3)],
        "devices": [[name for name, one in zip(DEVICES, row, strict=True) if one] for row in ticked],
        "languages": [[name for name, one in zip(LANGUAGES, row, strict=True) if one] for row in spoken],
    }


ANSWERS = _answers()
TEXTS = ANSWERS | {
    "devices": ["; ".join(row) for row in ANSWERS["devices"]],
    "languages": ["|".join(row) for row in ANSWERS["languages"]],
}


@pytest.fixture
def files(folder: Path) -> None:
    """survey.json of every kind, and its answers as CSV and as Parquet of lists."""
    for name in ("schema.json", "survey.json"):
        shutil.copy(Path(kinds.__file__).parent / name, name)
    pd.DataFrame(TEXTS).to_csv("answers.csv", index=False)
    pq.write_table(pa.table(ANSWERS), "answers.parquet")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("answers", ["answers.csv", "answers.parquet"])
def test_every_kind_through_every_command(run: Run, answers: str) -> None:
    made = run("collection", "--schema", "schema.json", "--epsilon", "6", "-o", "made.json")
    assert made.exit_code == 0
    assert "square waves for “stars”, “income”" in " ".join(made.stdout.split())
    survey = Collection.load("made.json")
    mechanism: Any = survey.mechanism
    waved = [survey.schema.names[j] for j, one in enumerate(mechanism.oracles) if isinstance(one, SquareWave)]
    assert waved == ["stars", "income"]
    audit = "audit made.json --seed 1 --attributes stars,sex"
    for command in (
        *([audit] if answers.endswith(".csv") else []),
        f"randomize made.json {answers} -o r.parquet",
        "aggregate made.json r.parquet -o a.aggregate",
        "plan --schema schema.json --contributors 3000 --epsilon 2",
    ):
        result = run(*command.split())
        assert result.exit_code == 0, result.output
        assert all(cell_len(line) <= 80 for line in result.stdout.splitlines())
    leakage = run("leakage", answers, "--schema", "schema.json", "--epsilon", "1", "--attributes", "devices,sex")
    assert leakage.exit_code == 0, leakage.output
    assert "devices: radio" in leakage.stdout
    result = run("estimate", "made.json", "a.aggregate", "--json", "--truth", answers)
    assert result.exit_code == 0, result.output
    found = {row["attribute"]: row["categories"] for row in json.loads(result.stdout)["attributes"]}
    assert tuple(found) == survey.schema.names
    estimates = survey.estimate(Aggregate.load("a.aggregate"))
    for name, mean in (("income", np.minimum(ANSWERS["income"], 5000).mean()), ("stars", np.mean(ANSWERS["stars"]))):
        answer = estimates[name].mean()
        assert abs(answer.value - mean) < 5 * answer.standard_error
    for name, box in (("devices: phone", "phone"), ("devices: another", "fax")):
        truth = np.mean([box in row for row in ANSWERS["devices"]])
        yes = estimates[name]["yes"]
        assert abs(yes.frequencies[0] - truth) < 5 * yes.standard_errors[0]
    share = [row["truth"] for row in found["share"]]
    # A number counts for the points beside it in the proportions of its rounding.
    known = [value for value in ANSWERS["share"] if value is not None]
    points = np.array([-0.5, 0, 0.5, 1])
    assert np.dot(share[:4], points) == pytest.approx(np.sum(known) / N, abs=1e-12)
    assert share[4] == pytest.approx(1 - len(known) / N, abs=1e-12)


def test_a_grid_is_folded_below_its_mean_and_quartiles(run: Run) -> None:
    Path("grid.json").write_text(
        '{"format": "deniable schema", "format_version": 2, "attributes": [{"name": "income", "kind": "numeric", '
        '"range": [0, 5000], "grid": 51}, {"name": "sex", "categories": ["f", "m"]}]}'
    )
    rows = np.random.default_rng(1).integers(0, 5000, 400)
    Path("grid.csv").write_text("income,sex\n" + "".join(f"{row},{'fm'[row % 2]}\n" for row in rows))
    run_all(
        run,
        "collection --schema grid.json --epsilon 4 -o grid.survey",
        "randomize grid.survey grid.csv -o grid.parquet",
        "aggregate grid.survey grid.parquet -o grid.aggregate",
    )
    estimate = ("estimate", "grid.survey", "grid.aggregate")
    said = run(*estimate, "--html", "grid.html").stdout
    table = said[said.index("\nincome\n") : said.index("\nsex\n")]
    assert said.index("The mean of “income”") < said.index("half of the answers to “income”") < said.index(table)
    points = [str(point) for point in range(0, 5001, 100)]
    # A wrapped line may begin with the number of contributors, and another with the number of reports.
    lines = [line for line in table.splitlines() if line and "reports" not in line]
    listed = [line.split()[0] for line in lines if not line.startswith(f"{len(rows)} ")]
    assert [label for label in listed if label in points] == points[::7]
    assert "these are 8 of 51 points of the grid, each with its own noise (--all lists them)" in table
    assert Path("grid.html").read_text().count("<details>") == 1
    full = run(*estimate, "--all").stdout
    assert all(f"\n{point} " in full[full.index("\nincome\n") :] for point in points)
    # If something else is asked, the output has only that.
    assert "The mean of" not in run(*estimate, "--total", "sex=f").stdout


def test_frames_are_read_as_files_are(files: None) -> None:
    """Text cells, lists, pandas and polars give the same codes for the same answers."""
    assert files is None
    schema = kinds.SCHEMA
    tables = [pa.table(ANSWERS), pd.DataFrame(ANSWERS), pl.DataFrame(ANSWERS), TEXTS, pd.DataFrame(TEXTS)]
    first, *others = (schema.read(table) for table in tables)
    for other in others:
        assert (other.base == first.base).all()
        assert (other.thresholds == first.thresholds).all()
        assert (other.decimals == first.decimals).all()
    codes = schema.encode(tables[0], SimulationRandomness(1))
    again = schema.decode(codes).to_pydict()
    for name in ("sex", "mood", "devices", "languages"):
        column = [schema.names.index(one.name) for one in schema.attributes[schema.asked.index(name)].columns]
        encoded = schema.encode(again | {"age": ["20"] * N}, SimulationRandomness(2))
        assert (encoded[:, column] == codes[:, column]).all()
