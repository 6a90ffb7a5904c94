"""On a terminal of 60 columns, each command still prints all headers and numbers of a wide terminal, uncut."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from deniable.cli import app
from tests.cli.conftest import MadeOnce, Run, run_all

TABLES = {
    "schema": "schema answers.csv -o drafted.json --force",
    "estimate": "estimate survey.json all.aggregate --truth answers.csv --postprocess clip-normalize",
    "compare": "compare survey.json all.aggregate other.json other.aggregate --independent",
    "crosstab": "crosstab pairs.json pairs.aggregate smoker colour",
    "combine": "combine survey.json all.aggregate two.json two.aggregate",
    "plan by sizes": "plan --sizes 2,4 --epsilon 1 --contributors 4000",
    "plan by schema": "plan --schema schema.json --contributors 4000 --all",
    "rehearse": "rehearse schema.json --contributors 500 --guess answers.csv --runs 3 --difference smoker=no,yes",
    "leakage": "leakage answers.csv --schema schema.json --epsilon 1",
    "leakage about one": "leakage answers.csv --schema schema.json --epsilon 1 --target smoker",
    "calibrate": "calibrate answers.csv --schema schema.json --epsilon-total 1",
    "audit": "audit survey.json --seed 1",
}
WIDE, NARROW = 250, 60


@pytest.fixture
def made(run: Run, made_once: MadeOnce) -> Run:
    """All files that the commands read."""
    made_once(
        "narrow",
        lambda: run_all(
            run,
            "collection --schema schema.json --epsilon 3 --mechanism SPL -o survey.json",
            "randomize survey.json answers.csv -o a.parquet",
            "aggregate survey.json a.parquet -o all.aggregate",
            "collection --schema schema.json --epsilon 3 --mechanism SPL --collection-version 2 -o other.json",
            "randomize other.json answers.csv -o b.parquet",
            "aggregate other.json b.parquet -o other.aggregate",
            "collection --schema schema.json --epsilon 3 --pairs -o pairs.json",
            "randomize pairs.json answers.csv -o c.parquet",
            "aggregate pairs.json c.parquet -o pairs.aggregate",
            "learn survey.json all.aggregate --contributors 4000 --mechanism RS+RFD -o two.json",
            "randomize two.json answers.csv -o d.parquet --allow-repeat",
            "aggregate two.json d.parquet -o two.aggregate",
        ),
    )
    return run


def shown(line: str, columns: int) -> str:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, line.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def headers(text: str) -> set[str]:
    """Return the words above each rule."""
    return {word for above, rule in pairwise(text.splitlines()) if "──" in rule for word in above.split()}


def numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"(?<!\w)-?\d+(?:[.,]\d+)*%?(?!\w)", text))


@pytest.mark.parametrize("command", TABLES)
def test_no_column_is_lost_at_sixty(command: str, made: Run) -> None:
    wide, narrow = shown(TABLES[command], WIDE), shown(TABLES[command], NARROW)
    assert headers(wide), "a table is looked at"
    # A matrix may number its columns, and name them below.
    assert headers(wide) <= set(narrow.split())
    assert numbers(wide) - numbers(narrow) == Counter()
    assert max(map(cell_len, narrow.splitlines())) <= NARROW
