"""Report files into one aggregate: no report twice, none lost, and continuation after an interruption."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, SimulationRandomness
from deniable.core.aggregate import Aggregate
from deniable.errors import (
    DuplicateReportsError,
    FileFormatError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    OutputError,
)
from deniable.files.formats.reports import ReportReader, write_reports
from deniable.files.jobs.aggregating import Checkpoint, aggregate_files, merge_files
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.unit.survey_files import Interrupt

SURVEY = Collection(Schema((Attribute("a", ("x", "y", "z")),)), GRR(k=3, epsilon=1.0))
SIZES = (100, 200, 300)
RESUME = ".all.aggregate.resume"


@pytest.fixture
def days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three report files of several batches each."""
    monkeypatch.setattr("deniable.files.formats.reports.BATCH_ROWS", 64)
    return [_day(tmp_path / f"day{i}.parquet", n, seed=i) for i, n in enumerate(SIZES)]


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the report files whose content is read, in order."""
    names: list[str] = []
    original = ReportReader.__iter__

    def recorded(reader: ReportReader) -> Iterator[Any]:
        names.append(reader.path.name)
        return original(reader)

    monkeypatch.setattr(ReportReader, "__iter__", recorded)
    return names


def _reports(n: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 3, n).astype(np.uint8)


def _day(path: Path, n: int, seed: int, survey: Collection = SURVEY) -> Path:
    write_reports(path, survey, [_reports(n, seed)], SimulationRandomness(seed))
    return path


def _expected(*seeds: int) -> list[int]:
    reports = np.concatenate([_reports(SIZES[i], i) for i in seeds])
    return [int((reports == v).sum()) for v in range(3)]


def _hidden(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]


def test_the_sum_of_all_files(days: list[Path], tmp_path: Path) -> None:
    seen = Interrupt(at=0)
    total = aggregate_files(SURVEY, days, tmp_path / "all.aggregate", progress=seen)
    assert total.counts.tolist() == _expected(0, 1, 2)
    assert (total.n, len(total.batches), total.collection) == (600, 3, SURVEY.id)
    assert Aggregate.load(tmp_path / "all.aggregate") == total
    assert seen.calls == sorted(seen.calls)
    assert seen.calls[-1] == (600, 600)
    assert len(seen.calls) == 2 + 4 + 5
    assert _hidden(tmp_path) == []
    assert aggregate_files(SURVEY, days[::-1], tmp_path / "all.aggregate") == total


def test_files_without_reports(tmp_path: Path) -> None:
    total = aggregate_files(SURVEY, [_day(tmp_path / "r.parquet", 0, 1)], tmp_path / "all.aggregate")
    assert (total.n, len(total.batches)) == (0, 1)
    with pytest.raises(InvalidParameterError, match=r"^reports must name at least one file, got none$"):
        aggregate_files(SURVEY, [], tmp_path / "all.aggregate")
    with pytest.raises(InvalidParameterError, match=r"^aggregates must name at least one file, got none$"):
        merge_files([], tmp_path / "all.aggregate")


# -------------------------------------------------------------------- no double counting


def test_the_same_reports_twice(days: list[Path], tmp_path: Path, read_files: list[str]) -> None:
    copy = tmp_path / "renamed.parquet"
    shutil.copy(days[0], copy)
    with pytest.raises(DuplicateReportsError) as caught:
        aggregate_files(SURVEY, [*days, copy], tmp_path / "all.aggregate")
    assert (
        str(caught.value)
        == f"{copy} holds the same reports as {days[0]}, so the reports in this file would be counted twice"
    )
    with pytest.raises(DuplicateReportsError) as caught:
        aggregate_files(SURVEY, [*days, days[1]], tmp_path / "all.aggregate")
    assert str(caught.value) == f"{days[1]} is given twice, so the reports in this file would be counted twice"
    assert not (tmp_path / "all.aggregate").exists()
    assert read_files == []


def test_merging(days: list[Path], tmp_path: Path) -> None:
    parts = [tmp_path / f"{day.stem}.aggregate" for day in days]
    for day, part in zip(days, parts, strict=True):
        aggregate_files(SURVEY, [day], part)
    total = merge_files(parts, tmp_path / "all.aggregate")
    assert total == Aggregate.load(tmp_path / "all.aggregate") == aggregate_files(SURVEY, days, tmp_path / "x")
    with pytest.raises(DuplicateReportsError) as caught:
        merge_files([tmp_path / "all.aggregate", parts[1]], tmp_path / "y")
    assert str(caught.value).startswith(f"{parts[1]}: both aggregates contain the report batch ")
    assert not (tmp_path / "y").exists()
    assert merge_files(parts, parts[0]) == total
    assert Aggregate.load(parts[0]) == total


def test_merging_what_does_not_belong_together(days: list[Path], tmp_path: Path) -> None:
    second = replace(SURVEY, version=2)
    aggregate_files(SURVEY, days, tmp_path / "one")
    aggregate_files(second, [_day(tmp_path / "r.parquet", 10, 9, second)], tmp_path / "two")
    with pytest.raises(MismatchError) as caught:
        merge_files([tmp_path / "one", tmp_path / "two"], tmp_path / "three")
    assert str(caught.value) == (
        f"{tmp_path / 'two'}: cannot merge aggregates of different collections: {SURVEY.id[:12]} and {second.id[:12]}"
    )
    with pytest.raises(FileFormatError, match=r"is not an aggregate file, but a Parquet file.*deniable aggregate"):
        merge_files([tmp_path / "one", days[0]], tmp_path / "three")
    assert not (tmp_path / "three").exists()


# -------------------------------------------------------------------- invalid files


def test_a_file_of_another_collection_is_refused_before_anything_is_read(
    days: list[Path], tmp_path: Path, read_files: list[str]
) -> None:
    with pytest.raises(MismatchError, match=r"day0.parquet contains reports of collection \w{12}, not of \w{12}$"):
        aggregate_files(replace(SURVEY, title="x"), days, tmp_path / "all.aggregate")
    assert (read_files, _hidden(tmp_path)) == ([], [])


def test_a_report_out_of_range_is_named_with_its_row(days: list[Path], tmp_path: Path) -> None:
    wrong = _reports(200, 1)
    wrong[150] = 3
    write_reports(tmp_path / "r.parquet", SURVEY, [wrong], SimulationRandomness(1))
    with pytest.raises(InvalidReportError) as caught:
        aggregate_files(SURVEY, [tmp_path / "r.parquet"], tmp_path / "all.aggregate")
    assert str(caught.value) == (
        f"{tmp_path / 'r.parquet'}: report must be in 0..2, got report=3 in row 23 (rows counted from row 129)"
    )
    assert not (tmp_path / "all.aggregate").exists()
    assert _hidden(tmp_path) == []


def test_a_place_that_cannot_be_written(days: list[Path], tmp_path: Path, read_files: list[str]) -> None:
    for output in (tmp_path / "nowhere" / "all.aggregate", tmp_path, days[1]):
        with pytest.raises(OutputError, match=r"^cannot write "):
            aggregate_files(SURVEY, days, output)
    assert read_files == []


# -------------------------------------------------------------------- interruption


@pytest.mark.parametrize(("at", "finished"), [(1, 0), (2, 0), (3, 1), (6, 1), (7, 2), (11, 2)])
def test_an_interrupted_run_goes_on(
    at: int, finished: int, days: list[Path], tmp_path: Path, read_files: list[str]
) -> None:
    output = tmp_path / "all.aggregate"
    with pytest.raises(KeyboardInterrupt):
        aggregate_files(SURVEY, days, output, progress=Interrupt(at))
    assert not output.exists()
    assert _hidden(tmp_path) == ([RESUME] if finished else [])
    if finished:
        assert Aggregate.load(tmp_path / RESUME).counts.tolist() == _expected(*range(finished))
    read_files.clear()
    seen = Interrupt(at=0)
    total = aggregate_files(SURVEY, days, output, progress=seen)
    assert read_files == [day.name for day in days[finished:]]
    assert total.counts.tolist() == _expected(0, 1, 2)
    assert total.n == 600
    assert seen.calls[0][0] > sum(SIZES[:finished])
    assert _hidden(tmp_path) == []


def test_a_damaged_file_keeps_the_finished_ones(days: list[Path], tmp_path: Path, read_files: list[str]) -> None:
    """Only reading finds the damage; after a repair, the run continues."""
    content = days[2].read_bytes()
    days[2].write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    with pytest.raises(FileFormatError, match=r"day2.parquet is "):
        aggregate_files(SURVEY, days, tmp_path / "all.aggregate")
    assert not (tmp_path / "all.aggregate").exists()
    assert _hidden(tmp_path) == [RESUME]
    days[2].write_bytes(content)
    read_files.clear()
    assert aggregate_files(SURVEY, days, tmp_path / "all.aggregate").counts.tolist() == _expected(0, 1, 2)
    assert read_files == ["day2.parquet"]


def test_a_killed_run_goes_on(
    days: list[Path], tmp_path: Path, read_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process writes nothing more: the files from before the kill must suffice."""
    monkeypatch.setattr("deniable.files.jobs.aggregating.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("deniable.files.jobs.aggregating.Checkpoint.__exit__", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        aggregate_files(SURVEY, days, tmp_path / "all.aggregate", progress=Interrupt(7))
    monkeypatch.undo()
    assert Aggregate.load(tmp_path / RESUME).counts.tolist() == _expected(0, 1)
    assert aggregate_files(SURVEY, days, tmp_path / "all.aggregate").counts.tolist() == _expected(0, 1, 2)
    assert _hidden(tmp_path) == []


def test_what_another_list_of_files_left_is_not_used(days: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "all.aggregate"
    with pytest.raises(KeyboardInterrupt):
        aggregate_files(SURVEY, days, output, progress=Interrupt(7))
    assert aggregate_files(SURVEY, days[1:], output).counts.tolist() == _expected(1, 2)
    (tmp_path / RESUME).write_bytes(b"damaged")
    assert aggregate_files(SURVEY, days, output).counts.tolist() == _expected(0, 1, 2)
    Aggregate(SURVEY.mechanism, np.array([9, 9, 9]), 27, "another collection").save(tmp_path / RESUME)
    assert aggregate_files(SURVEY, days, output).counts.tolist() == _expected(0, 1, 2)


def test_a_copy_is_noticed_after_an_interruption_too(days: list[Path], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        aggregate_files(SURVEY, days, tmp_path / "all.aggregate", progress=Interrupt(7))
    shutil.copy(days[0], tmp_path / "copy.parquet")
    with pytest.raises(DuplicateReportsError):
        aggregate_files(SURVEY, [*days, tmp_path / "copy.parquet"], tmp_path / "all.aggregate")


def test_what_is_finished_is_written_once_a_second(
    days: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly after one second, not before, counted from the last write."""
    now = [1000.0]
    monkeypatch.setattr("deniable.files.jobs.aggregating.time.monotonic", lambda: now[0])
    output = tmp_path / "all.aggregate"
    parts = [aggregate_files(SURVEY, [day], tmp_path / f"{day.name}.aggregate") for day in days]
    one, two, three = parts[0], parts[0] + parts[1], parts[0] + parts[1] + parts[2]
    with Checkpoint(SURVEY, output, set(three.batches)) as checkpoint:
        for clock, total, written in [(1000.9, one, 0), (1001.0, one, 1), (1001.9, two, 1), (1002.0, three, 3)]:
            now[0] = clock
            checkpoint.keep(total)
            assert checkpoint.aggregate == total
            assert (tmp_path / RESUME).exists() == (written > 0)
            assert not written or len(Aggregate.load(tmp_path / RESUME).batches) == written
        with checkpoint.done():
            assert (tmp_path / RESUME).exists()
    assert _hidden(tmp_path) == []


def test_a_run_that_was_stopped_after_its_last_file_has_nothing_left_to_read(days: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "all.aggregate"
    total = aggregate_files(SURVEY, days, output)

    def left(batches: set[str]) -> int:
        with Checkpoint(SURVEY, output, batches) as checkpoint:
            return checkpoint.aggregate.n

    assert left(set(total.batches)) == 0
    total.save(tmp_path / RESUME)
    assert left(set(total.batches)) == left({*total.batches, "another"}) == total.n
    assert left(set(sorted(total.batches)[1:])) == 0
