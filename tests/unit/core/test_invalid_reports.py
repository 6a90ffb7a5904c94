"""Report files with impossible reports: refused, or skipped, counted and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, CountMeanSketch, HeavyHitters
from deniable.errors import InvalidParameterError, InvalidReportError
from deniable.files.formats.reports import write_reports
from deniable.files.jobs.aggregating import aggregate_files
from deniable.oracles.sketch.heavy_hitters import PrefixReports
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.unit.survey_files import rng

SKETCH = CountMeanSketch(k=100, epsilon=1.0, family="spread")
SURVEY = Collection(Schema((Attribute("word", tuple(map(str, range(100)))),)), SKETCH)
HOSTILE = (3, 150, 399)


@pytest.fixture
def reports(tmp_path: Path) -> tuple[Path, Any]:
    """A file of 400 reports, three of them impossible; and the other 397."""
    batch = SURVEY.randomize({"word": [str(i % 100) for i in range(400)]}, rng())
    batch[list(HOSTILE)] = 2**32 - 1
    write_reports(tmp_path / "r.parquet", SURVEY, [batch], rng())
    return tmp_path / "r.parquet", np.delete(batch, HOSTILE)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.files.formats.reports.BATCH_ROWS", 128)


def test_they_are_refused_unless_told_otherwise(reports: tuple[Path, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidReportError, match=r"r\.parquet: report must be in .* got report=4294967295 in row 4"):
        aggregate_files(SURVEY, [reports[0]], tmp_path / "all.aggregate")
    assert not (tmp_path / "all.aggregate").exists()


def test_the_others_are_counted(reports: tuple[Path, Any], tmp_path: Path, small_batches: None) -> None:
    told: list[tuple[Path, int, str]] = []
    path, valid = reports
    done: list[int] = []
    total = aggregate_files(
        SURVEY,
        [path],
        tmp_path / "all.aggregate",
        on_invalid=lambda *what: told.append(what),
        progress=lambda count, _: done.append(count),
    )
    assert total.n == 397
    assert total.counts.tolist() == SKETCH.aggregate(valid).counts.tolist()
    ((where, count, reason),) = told
    assert (where, count) == (path, 3)
    assert reason.endswith("got report=4294967295 in row 4")
    assert done[-1] == 400


def test_rows_are_those_of_the_file(tmp_path: Path, small_batches: None) -> None:
    batch = SURVEY.randomize({"word": ["7"] * 400}, rng())
    batch[300] = 2**32 - 1
    write_reports(tmp_path / "r.parquet", SURVEY, [batch], rng())
    told: list[str] = []
    aggregate_files(
        SURVEY, [tmp_path / "r.parquet"], tmp_path / "a", on_invalid=lambda _path, _n, reason: told.append(reason)
    )
    assert told[0].endswith("in row 45 (rows counted from row 257)")


def test_nothing_is_told_about_a_clean_file(tmp_path: Path) -> None:
    write_reports(tmp_path / "r.parquet", SURVEY, [SURVEY.randomize({"word": ["7"] * 9}, rng())], rng())
    told: list[Any] = []
    aggregate_files(SURVEY, [tmp_path / "r.parquet"], tmp_path / "a", on_invalid=lambda *what: told.append(what))
    assert told == []


def test_what_was_skipped_before_an_interruption_is_not_forgotten(reports: tuple[Path, Any], tmp_path: Path) -> None:
    second = tmp_path / "second.parquet"
    write_reports(second, SURVEY, [SURVEY.randomize({"word": ["7"] * 50}, rng(2))], rng(2))

    def interrupted(done: int, _total: int | None) -> None:
        if done > 400:
            raise KeyboardInterrupt

    files, output = [reports[0], second], tmp_path / "all.aggregate"

    def begin() -> None:
        with pytest.raises(KeyboardInterrupt):
            aggregate_files(SURVEY, files, output, on_invalid=lambda *_: None, progress=interrupted)

    begin()
    # Without being told to skip, the next run must not go on from a sum in which some were skipped.
    with pytest.raises(InvalidReportError, match="in row 4"):
        aggregate_files(SURVEY, files, output)
    begin()
    told: list[tuple[Path, int, str]] = []
    assert aggregate_files(SURVEY, files, output, on_invalid=lambda *what: told.append(what)).n == 447
    assert [count for _, count, _ in told] == [3]


def test_heavy_hitters_set_them_aside() -> None:
    hunt = HeavyHitters(epsilon=2.0, max_bytes=4)
    reports = hunt.randomize(["word"] * 40, rng())
    group, value = reports.group.copy(), reports.value.copy()
    group[5], value[9] = 200, 2**32 - 1
    kept = hunt.valid_reports(PrefixReports(group, value))
    assert kept.rejected == 2
    assert "got group=200" in kept.first_error
    assert kept.first_error.endswith("in row 6")
    good = np.delete(np.arange(40), [5, 9])
    assert hunt.aggregate(kept.reports) == hunt.aggregate(PrefixReports(reports.group[good], reports.value[good]))
    assert hunt.valid_reports(reports).rejected == 0


def test_a_mechanism_that_cannot_tell_refuses(tmp_path: Path) -> None:
    survey = Collection(Schema((Attribute("word", ("a", "b")),)), GRR(k=2, epsilon=1.0))
    with pytest.raises(InvalidParameterError, match="not available for GRR"):
        aggregate_files(survey, [tmp_path / "r.parquet"], tmp_path / "a", on_invalid=lambda *_: None)


def test_who_cannot_set_reports_aside_says_so() -> None:
    grr = GRR(3, 1.0)
    assert not grr.can_skip_invalid
    with pytest.raises(InvalidParameterError, match="skipping invalid reports is not available for GRR"):
        grr.valid_reports(np.array([0, 3]))
