"""Streaming jobs: from answers to reports to an aggregate, complete or absent in all events."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from deniable import GRR
from deniable.core.aggregate import Aggregate
from deniable.errors import (
    InvalidInputError,
    InvalidParameterError,
    OutputError,
    PrivacyLimitError,
    UnknownCategoryError,
)
from deniable.files.formats import csv_files
from deniable.files.formats.reports import ReportReader
from deniable.files.jobs.aggregating import aggregate_files, draft_schema_file, randomize_file, read_truth
from deniable.oracles.unary import OUE
from deniable.records.split import SPL
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema
from tests.unit.survey_files import SCHEMA, SURVEY, Interrupt, N, answers_file, files, rng


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand rows are many batches of text, of codes and of reports."""
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
    monkeypatch.setattr("deniable.files.formats.tables.BATCH_ROWS", 90)
    monkeypatch.setattr("deniable.files.formats.reports.BATCH_ROWS", 128)


# -------------------------------------------------------------------- draft_schema_file


def test_draft_of_a_file(tmp_path: Path, small_blocks: None) -> None:
    seen = Interrupt(at=0)
    draft = draft_schema_file(answers_file(tmp_path / "a.csv"), tmp_path / "schema.json", 50, progress=seen)
    assert Schema.load(tmp_path / "schema.json") == draft.schema
    assert draft.schema.names == ("age", "smoker")
    assert any("“id” is left out: it numbers its rows" in warning for warning in draft.warnings)
    assert len(seen.calls) > 3
    assert draft_schema_file(answers_file(tmp_path / "a.parquet"), tmp_path / "schema.json") == draft


def test_a_draft_never_replaces_its_answers(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    with pytest.raises(OutputError, match=r"^cannot write .*a.csv”: this file is also an input; "):
        draft_schema_file(answers, answers)
    (tmp_path / "link").symlink_to(answers)
    with pytest.raises(OutputError, match="this file is also an input"):
        draft_schema_file(answers, tmp_path / "link")


# -------------------------------------------------------------------- randomize_file and read_truth


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("mechanism", [GRR(k=3, epsilon=8.0), OUE(k=3, epsilon=8.0), SPL(sizes=(3,), epsilon=8.0)])
def test_from_answers_to_an_aggregate(name: str, mechanism: Any, tmp_path: Path, small_blocks: None) -> None:
    survey = Collection(Schema(SCHEMA.attributes[:1]), mechanism)
    answers = answers_file(tmp_path / name)
    result = randomize_file(survey, answers, tmp_path / "r.parquet", rng())
    assert (result.n, result.output, result.warnings) == (N, tmp_path / "r.parquet", ())
    reader = ReportReader(tmp_path / "r.parquet", survey)
    assert (reader.n, reader.digest) == (N, result.digest)
    total = aggregate_files(survey, [tmp_path / "r.parquet"], tmp_path / "day.aggregate")
    assert total == Aggregate.load(tmp_path / "day.aggregate")
    assert (total.n, total.collection, total.batches) == (N, survey.id, frozenset({result.digest}))
    truth = read_truth(survey, answers)
    generator = np.random.default_rng(1)
    expected = generator.choice(["yes", "no", ""], N, p=[0.2, 0.7, 0.1]).tolist()
    assert truth["smoker"].tolist() == [expected.count("yes"), expected.count("no"), expected.count("")]
    estimate = survey.estimate(total)["smoker"]
    # The two-sided normal bound at 1e-6 for each of three values is 4.9 standard errors.
    assert (np.abs(estimate.frequencies - truth["smoker"] / N) < 4.9 * estimate.standard_errors).all()
    assert files(tmp_path) == {name, "r.parquet", "day.aggregate"}


def test_a_simulation_does_not_depend_on_the_kind_of_file(tmp_path: Path, small_blocks: None) -> None:
    digests = {
        randomize_file(
            SURVEY, answers_file(tmp_path / name), tmp_path / f"{name}.reports", rng(), allow_repeat=True
        ).digest
        for name in ("a.csv", "a.parquet")
    }
    assert len(digests) == 1


def test_the_file_job_is_the_verb_in_memory(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.parquet")
    randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    (reports,) = ReportReader(tmp_path / "r.parquet", SURVEY)
    assert sorted(reports.tolist()) == sorted(SURVEY.randomize(pq.read_table(answers), rng()).tolist())


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_progress_reaches_the_total(name: str, tmp_path: Path, small_blocks: None) -> None:
    answers = answers_file(tmp_path / name)
    for job in (
        lambda progress: randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng(), progress=progress),
        lambda progress: read_truth(SURVEY, answers, progress=progress),
    ):
        seen = Interrupt(at=0)
        job(seen)
        assert len(seen.calls) > 3
        assert {total for _, total in seen.calls} == {N if name == "a.parquet" else answers.stat().st_size}
        assert seen.calls == sorted(seen.calls)
        assert seen.calls[-1][0] == seen.calls[-1][1]


@pytest.mark.parametrize("maximum", [0.5, "0.999999", Fraction(1, 2)])
def test_a_weaker_guarantee_than_accepted_is_refused_before_answers_are_read(maximum: Any, tmp_path: Path) -> None:
    with pytest.raises(
        PrivacyLimitError, match=r"epsilon must be <= max_epsilon=.*, but this guarantee has epsilon = "
    ):
        randomize_file(SURVEY, tmp_path / "no such file.csv", tmp_path / "r.parquet", rng(), max_epsilon=maximum)
    assert files(tmp_path) == set()
    with pytest.raises(InvalidParameterError, match=r"max_epsilon must be in \[1e-06, 32\]"):
        randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / "r.parquet", rng(), max_epsilon=33)
    epsilon = SURVEY.privacy().epsilon
    done = randomize_file(SURVEY, tmp_path / "a.csv", tmp_path / "r.parquet", rng(), max_epsilon=epsilon)
    assert done.n == N


def test_every_row_is_valid_before_anything_appears(tmp_path: Path, small_blocks: None) -> None:
    answers = answers_file(tmp_path / "a.csv")
    with answers.open("a") as file:
        file.write("1000,33,perhaps\n")
    with pytest.raises(UnknownCategoryError, match=r"^unknown category of attribute “smoker” in row 1001: "):
        randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    with pytest.raises(UnknownCategoryError, match="in row 1001"):
        read_truth(SURVEY, answers)
    assert files(tmp_path) == {"a.csv"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,sex\n1,f\n", "must have the column “smoker”, got “age” and 1 other column"),
        ("age,smoker\n1,yes\n2\n", "must have 2 cells in every record, got 1 in row 2"),
        ("age,smoker\n", "it contains no answers"),
        ("", "has no line of column names"),
        ("age,smoker\n" + "1,yes\n" * 16 + "x,yes\n", "unknown answer of attribute “age” in row 17"),
        ("age,smoker\n1,yes\n,no\n", "missing answer of attribute “age” in row 2"),
        ("age,smoker\n1,yes\ninf,no\n", "answers of attribute “age” in row 2 must be finite numbers"),
    ],
)
def test_bad_answers_leave_nothing(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InvalidInputError) as caught:
        randomize_file(SURVEY, tmp_path / "a.csv", tmp_path / "r.parquet", rng())
    assert message in str(caught.value)
    assert files(tmp_path) == {"a.csv"}


@pytest.mark.parametrize("at", [1, 2, 5])
def test_an_interrupted_randomisation_leaves_nothing(at: int, tmp_path: Path, small_blocks: None) -> None:
    answers = answers_file(tmp_path / "a.csv")
    with pytest.raises(KeyboardInterrupt):
        randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng(), progress=Interrupt(at))
    assert files(tmp_path) == {"a.csv"}
    assert randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng()).warnings == ()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    for output, reason in [
        (tmp_path / "nowhere" / "r.parquet", "No such file or directory"),
        (tmp_path, "it is a directory; give the name of a file"),
        (answers, "this file is also an input; give another name for the output"),
    ]:
        with pytest.raises(OutputError, match=rf"^cannot write “?{output}”?: {reason}$"):
            randomize_file(SURVEY, answers, output, rng())
    assert files(tmp_path) == {"a.csv"}
    assert len(answers.read_text().splitlines()) == N + 1


def test_truth(tmp_path: Path, small_blocks: None) -> None:
    lines = [f"{age},{smoker}" for age in range(10, 60) for smoker in ("yes", "no", "no", "")]
    (tmp_path / "a.csv").write_text("\n".join(["age,smoker", *lines * 5]))
    truth = read_truth(SURVEY, tmp_path / "a.csv")
    assert truth["smoker"].tolist() == [250, 500, 250]
    assert truth["age"].tolist() == [200, 400, 400, 0]
