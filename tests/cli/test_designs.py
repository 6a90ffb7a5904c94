"""`deniable estimate --design` with counts typed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deniable import designs
from deniable.cli import app


def estimated(*words: str) -> Result:
    return CliRunner().invoke(app, ["estimate", *words], catch_exceptions=False)


def test_the_crosswise_estimate_of_the_contract() -> None:
    shown = estimated("--design", "crosswise", "--p", "2/12", "--different", "212", "--n", "1000")
    assert shown.exit_code == 0
    assert "prevalence     0.068      0.0194  0.032 to 0.108" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("Guarantee: epsilon = 1.60944, on the design's conditions")
    verbose = estimated("--design", "crosswise", "--p", "2/12", "--different", "212", "--n", "1000", "--verbose")
    assert "nobody who sees a report can learn the birthday" in " ".join(verbose.stdout.split())
    same = estimated("--design", "crosswise", "--p", "2/12", "--same", "788", "--n", "1000")
    assert same.stdout == shown.stdout
    assert "0.932" in estimated("--design", "crosswise", "--p", "2/12", "--same", "212", "--n", "1000").stdout


def test_crosswise_refuses_yes() -> None:
    refused = estimated("--design", "crosswise", "--p", "2/12", "--yes", "212", "--n", "1000")
    assert refused.exit_code == 2
    assert "--yes must be left out with --design crosswise" in refused.stderr
    assert "--same" in refused.stderr


def test_other_designs_and_files(tmp_path: Path) -> None:
    die = ["--design", "forced", "--set", "yes=1/6", "--set", "no=1/6"]
    page = tmp_path / "page.html"
    found = estimated(*die, "--yes", "831", "--n", "2435", "--json", "--html", str(page))
    assert json.loads(found.stdout)["shares"][1] == pytest.approx(2551 / 9740)
    assert "0.262" in page.read_text(encoding="utf-8")
    warned = estimated(*die, "--yes", "2", "--n", "50").stdout
    assert "Were instructions followed?" in " ".join(warned.split())
    three = estimated("--design", "forced_k", "--set", "probs=1/12,1/12,1/12", "--reports", "70,20,10").stdout
    assert "answer 0" in three
    assert "0.822" in three
    one_sided = estimated("--design", "triangular", "--p", "1/4", "--yes", "40", "--n", "100").stdout
    assert "Guarantee: no epsilon holds, " in one_sided


def test_the_anchor_of_cwise() -> None:
    shown = estimated("--design", "crosswise", "--p", "3/20", "--anchor", "1116,311,425,148").stdout
    for row in (
        "naive         0.195      0.0144",
        "attentive     0.773      0.0269",
        "corrected     0.105      0.0227",
    ):
        assert row in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--p 1/3", "--p must be used only with --design"),
        ("--design warner --p 1/3 --yes 1 --n 2 --top 3", "--top must be left out with --design"),
        ("--design warner --p 1/3 --yes 3 --n 2", "yes must be in 0..2, got yes=3"),
        ("--design warner --p 1/3 --yes -3 --n -2", "n must be >= 0, got n=-2"),
        ("--design warner --p 1/3 --same 1 --n 2", "counts must be given as --yes N with --n N"),
        ("--design warner --p 1/3 --yes 1", "counts must be given as --yes N with --n N"),
        ("--design poker --p 1/3", "got design=“poker”. The names are warner, "),
        ("--design warner --set q=1/3", "needs the parameters p, got"),
        ("--design warner --p 1/3 --set p=1/3", "got “p” twice; leave out --p, or leave p out of --set"),
        ("--design kuk --set p1=1/3 --set p2=2/3 --set draws=2 --yes 1 --n 2", "--reports followed by 3 numbers"),
        ("--design warner --p 1/3 --reports 1,x", "reports must be 2 whole numbers"),
        ("--design warner --p 1/3 --reports 1,2 --n 3", "--reports cannot be used together with --yes"),
        ("--design warner --p 1/3 --anchor 1,2,3,4", "--anchor works only with --design crosswise"),
        ("--design warner --p 1/2 --yes 1 --n 2", "p must differ from 1/2"),
    ],
)
def test_what_does_not_fit_is_one_line(words: str, message: str) -> None:
    refused = estimated(*words.split())
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_neither_files_nor_a_design_is_a_usage_error() -> None:
    refused = estimated()
    assert refused.exit_code == 2
    assert "Usage: " in refused.output
    assert "Missing COLLECTION or AGGREGATE; or give --design with counts." in " ".join(refused.output.split())


def _people(tmp_path: Path, rows: int = 120) -> Path:
    said = ["same" if i % 3 else "different" for i in range(rows)]
    lines = [f"{one},{1 + i % 2},{'north' if i < 60 else 'south'},v{i // 10}" for i, one in enumerate(said)]
    (tmp_path / "people.csv").write_text("\n".join(["said,w,region,village", *lines]) + "\n")
    return tmp_path / "people.csv"


def test_a_table_of_people_has_weights_strata_and_clusters(tmp_path: Path) -> None:
    table, crosswise = _people(tmp_path), ["--design", "crosswise", "--p", "2/12", "--answer", "said"]
    sample = ["--weights", "w", "--strata", "region", "--clusters", "village", "--fraction", "north=0.1"]
    found = json.loads(estimated(*crosswise, "--table", str(table), *sample, "--json").stdout)
    i = np.arange(120)
    expected = designs.estimate_sample(
        designs.crosswise("2/12"),
        (i % 3 == 0).astype(int),
        1.0 + i % 2,
        strata=np.where(i < 60, "north", "south").tolist(),
        psus=(i // 10).tolist(),
        fractions={"north": 0.1},
    )
    assert found["format"] == "deniable sample estimate"
    assert found["prevalence"]["value"] == pytest.approx(expected.prevalence.value, rel=1e-12)
    assert found["prevalence"]["standard_error"] == pytest.approx(expected.prevalence.standard_error, rel=1e-12)
    assert (found["degrees"], found["n"]) == (10, 120)
    shown = " ".join(estimated(*crosswise, "--table", str(table), *sample).stdout.split())
    assert "Guarantee: epsilon = 1.60944" in shown
    assert "design effect" in shown
    assert "a rare weight is a name" in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--table", "people.csv"], "add --answer COLUMN"),
        (
            ["--table", "people.csv", "--answer", "w"],
            "must contain only same, different, but row 2 contains something else",
        ),
        (
            ["--table", "people.csv", "--answer", "said", "--weights", "village"],
            "the column “village” must contain only numbers",
        ),
        (
            ["--table", "people.csv", "--answer", "said", "--fraction", "north=.1", "--fraction", "north=.2"],
            "--fraction must name each stratum once, got “north” twice",
        ),
        (
            ["--table", "people.csv", "--answer", "said", "--fraction", "north=.1"],
            "--fraction works only with --strata",
        ),
        (["--answer", "said", "--same", "1", "--n", "2"], "work only with --table"),
        (["--table", "people.csv", "--answer", "said", "--n", "2"], "cannot be used together with counts"),
        (["--table", "people.csv", "--answer", "said", "--n", "2"], "cannot be used together"),
    ],
)
def test_tables_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    _people(tmp_path)
    monkeypatch.chdir(tmp_path)
    refused = estimated("--design", "crosswise", "--p", "2/12", *words)
    assert refused.exit_code == 2
    assert says in refused.stderr.replace("--answer must", "answer must")


def test_blank_rows_of_a_table_are_refused_with_their_number(tmp_path: Path) -> None:
    table = _people(tmp_path)
    table.write_text(table.read_text().replace("v3", ""))
    words = ["--design", "crosswise", "--p", "2/12", "--table", str(table), "--answer", "said", "--clusters", "village"]
    assert "10 of 120 rows are blank" in estimated(*words).stderr


def test_an_exact_interval_without_any_share_is_not_printed() -> None:
    words = ["--design", "mangat", "--p", ".7", "--n", "100", "--yes"]
    shown = estimated(*words, "10")
    assert "prevalence    -0.286      0.0655          none" in shown.stdout
    assert "There is no interval" in shown.stdout
    assert "0.000 to 0.128" in estimated(*words, "29").stdout
