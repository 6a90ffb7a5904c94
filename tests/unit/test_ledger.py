"""The ledger: the same answers are not randomised twice unnoticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.errors import AlreadyRandomizedError, FileFormatError, OutputError
from deniable.io import csv_files
from deniable.io.jobs import randomize_file
from deniable.io.ledger import FILE_NAME
from deniable.io.reports import ReportReader
from tests.unit.survey_files import SURVEY, N, answers_file, files, rng


def test_the_same_answers_are_not_randomised_twice(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    before = (tmp_path / "r.parquet").read_bytes()
    (tmp_path / "copy.csv").write_bytes(answers.read_bytes())
    for same in (answers, tmp_path / "copy.csv"):
        for output in ("r.parquet", "s.parquet"):
            with pytest.raises(AlreadyRandomizedError) as caught:
                randomize_file(SURVEY, same, tmp_path / output, rng(2))
            assert str(caught.value) == (
                f"{same} was randomised before for this collection (into r.parquet): whoever sees all reports sees 2 "
                "of each contributor, and epsilon is 16 instead of 8; to do it nevertheless, say so with again=True "
                "(--again)"
            )
    assert (tmp_path / "r.parquet").read_bytes() == before
    assert files(tmp_path) == {"a.csv", "copy.csv", "r.parquet", FILE_NAME}


def test_again_is_possible_and_warns(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    for run in range(3):
        result = randomize_file(SURVEY, answers, tmp_path / f"{run}.parquet", rng(run), again=True)
        assert len(result.warnings) == (run > 0)
    assert "(into 0.parquet, 1.parquet)" in result.warnings[0]
    assert "epsilon is 24 instead of 8" in result.warnings[0]


def test_other_answers_and_other_collections_are_free(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    randomize_file(SURVEY, answers_file(tmp_path / "b.csv", seed=2), tmp_path / "s.parquet", rng())
    randomize_file(replace(SURVEY, version=2), answers, tmp_path / "t.parquet", rng())
    entries = json.loads((tmp_path / FILE_NAME).read_text())["entries"]
    assert [entry["reports"] for entry in entries] == ["r.parquet", "s.parquet", "t.parquet"]
    assert [entry["n"] for entry in entries] == [N, N, N]


def test_the_ledger_tells_nothing_without_its_key(tmp_path: Path) -> None:
    digests = set()
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        answers = answers_file(tmp_path / name / "a.csv")
        randomize_file(SURVEY, answers, tmp_path / name / "r.parquet", rng())
        digests.add(json.loads((tmp_path / name / FILE_NAME).read_text())["entries"][0]["answers"])
    assert len(digests) == 2


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": "deniable ledger", "format_version": 1, "key": 1, "entries": []}']
)
def test_a_damaged_ledger_stops_the_run(content: str, tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    (tmp_path / FILE_NAME).write_text(content)
    for again in (False, True):
        with pytest.raises(FileFormatError, match=rf"{FILE_NAME}"):
            randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng(), again=again)
    assert files(tmp_path) == {"a.csv", FILE_NAME}


def test_the_ledger_of_a_run_in_between_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two first runs at the same time: the second writes a ledger, with a key of its own, while the first runs."""
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
    one, two = answers_file(tmp_path / "a.csv"), answers_file(tmp_path / "b.csv", seed=2)
    calls = 0

    def meanwhile(done: int, total: int | None) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            randomize_file(SURVEY, two, tmp_path / "s.parquet", rng())

    randomize_file(SURVEY, one, tmp_path / "r.parquet", rng(), progress=meanwhile)
    for answers in (one, two):
        with pytest.raises(AlreadyRandomizedError):
            randomize_file(SURVEY, answers, tmp_path / "t.parquet", rng())


def test_reports_that_could_not_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OutputError("cannot write: disk full")

    monkeypatch.setattr("deniable.io.ledger.write_text", full)
    result = randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / "r.parquet", rng())
    assert ReportReader(tmp_path / "r.parquet", SURVEY).n == N
    assert result.warnings == (
        "the reports are written, but not recorded, so a second run would go unnoticed: cannot write: disk full",
    )
