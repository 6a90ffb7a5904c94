"""The R package: its vectors equal today's results of the library, and its pages run."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
from deniable.answers import counts_document
from deniable.cli import app
from deniable.core.construction import mechanism
from deniable.files import write_codebook
from tests import r_vectors
from tests.stack.conftest import ROOT, Rscript


def _closely(found: object, expected: object) -> None:
    """Compare two JSON values; numbers may differ after twelve digits, as sums of floats do between machines."""
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        assert found.keys() == expected.keys()
        for key in expected:
            _closely(found[key], expected[key])
    elif isinstance(expected, list):
        assert isinstance(found, list)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            _closely(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)
    else:
        assert found == expected


def test_the_library_computes_what_the_vectors_say() -> None:
    for place, text in r_vectors.texts().items():
        kept = place.read_text(encoding="utf-8")
        if place.suffix == ".json":
            _closely(json.loads(text), json.loads(kept))
        else:
            assert text == kept


def test_r_computes_what_the_vectors_say(rscript: Rscript) -> None:
    said = rscript(ROOT / "r" / "tests", 'source("vectors.R")')
    assert said.startswith("36 cases")


@pytest.mark.parametrize("test", ["reading.R", "other_packages.R"])
def test_r_reads_files_and_feeds_other_packages(rscript: Rscript, test: str) -> None:
    rscript(ROOT / "r" / "tests", f'source("{test}")')


def _blocks(page: str) -> list[str]:
    return re.findall(r"^```r\n(.*?)^```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M | re.S)


def _survey(place: Path) -> None:
    survey = Collection(Schema((Attribute("stars", ("1", "2", "NA", "4", "5")),)), GRR(k=5, epsilon=1.0))
    survey.save(place / "survey.json")
    codes = np.random.default_rng(1).integers(0, 5, 2_000)
    survey.aggregate(survey.randomize(codes, SimulationRandomness(1))).save(place / "all.aggregate")
    files = [str(place / name) for name in ("survey.json", "all.aggregate")]
    outputs = {"--counts": "counts.json", "--csv": "numbers.csv", "--codebook": "codebook.csv"}
    options = [word for option, name in outputs.items() for word in (option, str(place / name))]
    assert CliRunner().invoke(app, ["estimate", *files, *options]).exit_code == 0


def test_the_page_about_r_runs(rscript: Rscript, tmp_path: Path) -> None:
    _survey(tmp_path)
    first, others = _blocks("r.md")
    assert "stars: 2,000 of 2,000 contributors" in rscript(tmp_path, first)
    with (tmp_path / "table.csv").open(newline="") as file, (tmp_path / "numbers.csv").open(newline="") as other:
        for one, expected in zip(csv.DictReader(file), csv.DictReader(other), strict=True):
            assert one["category"] == expected["category"]
            for column in ("estimate", "standard_error", "lower", "upper"):
                assert float(one[column]) == pytest.approx(float(expected[column]), abs=1e-10)
    rscript(tmp_path, f"library(deniable)\n{others}")


def test_r_reads_numbers_and_codebook_as_the_page_on_answers_says(rscript: Rscript, tmp_path: Path) -> None:
    _survey(tmp_path)
    (block,) = _blocks("answers.md")
    check = 'stopifnot(numbers$category[3] == "NA", is.numeric(numbers$estimate), all(is.na(numbers$truth)))\n'
    check += 'stopifnot("epsilon of the whole contributor" %in% codebook$label); cat(nrow(numbers))'
    assert rscript(tmp_path, block + check) == "5"


def test_r_reads_codebooks(rscript: Rscript, tmp_path: Path) -> None:
    """`read.csv` reads the codebook for R; haven, if installed, reads those for Stata and SPSS."""
    attributes = (
        Attribute("stars", ("1", "2", "NA", "4"), missing="no answer", title="How many stars?"),
        Attribute("team", ('north, "upper"', "süd")),
    )
    survey = Collection(Schema(attributes), mechanism("SMP", sizes=(5, 2), epsilon="1.5"))
    for ending in ("csv", "dta", "sav"):
        write_codebook(survey, tmp_path / f"codebook.{ending}")
    code = """
    book <- read.csv("codebook.csv", na.strings = "")
    stars <- subset(book, variable == "stars")
    factors <- factor(c(0, 4, 2), stars$value, stars$value_label)
    stopifnot(identical(as.character(factors), c("1", "no answer", "NA")), stars$title == "How many stars?")
    stopifnot(identical(subset(book, variable == "team")$value_label, c('north, "upper"', "süd")))
    stopifnot(subset(book, title == "epsilon")$value_label == "1.5", nrow(book) == 10)
    cat("csv")
    if (requireNamespace("haven", quietly = TRUE)) {
      for (read in list(haven::read_dta, haven::read_sav)) {
        found <- read(if (identical(read, haven::read_dta)) "codebook.dta" else "codebook.sav")
        stopifnot(nrow(found) == 0, identical(attr(found$stars, "label"), "How many stars?"))
        labels <- attr(found$stars, "labels")
        stopifnot(identical(names(labels), stars$value_label), all(labels == stars$value))
        stopifnot(identical(names(attr(found$team, "labels")), c('north, "upper"', "süd")))
      }
      cat(" haven")
    }
    """
    assert rscript(tmp_path, code) in ("csv", "csv haven")


def test_counts_say_which_covariances_are_known() -> None:
    """None for independent bits; unknown for hashed reports; a multinomial's for one code each."""
    found = {}
    for name in ("GRR", "OUE", "CMS"):
        survey = Collection(Schema((Attribute("a", ("x", "y", "z", "u")),)), mechanism(name, k=4, epsilon="1"))
        reports = survey.randomize(np.arange(40) % 4, SimulationRandomness(1))
        (found[name],) = json.loads(counts_document(survey, survey.aggregate(reports)))["attributes"]
    p, q = found["GRR"]["p"], found["GRR"]["q"]
    assert found["GRR"]["pairs"] == {"own": pytest.approx(-p * q), "other": pytest.approx(-q * q)}
    assert found["OUE"]["pairs"] == {"own": pytest.approx(0, abs=1e-15), "other": pytest.approx(0, abs=1e-15)}
    assert found["CMS"]["pairs"] is None


def test_counts_of_several_deals_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["estimate", "survey.json", "all.aggregate", "--deal", "all.aggregate", "--counts", "c.json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "--counts needs one aggregate" in result.output
    assert not Path("c.json").exists()
