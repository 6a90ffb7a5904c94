"""Memory of the streaming jobs: bounded for any number of rows."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from deniable.files.formats import csv_files
from deniable.files.jobs.aggregating import aggregate_files, draft_schema_file, randomize_file, read_truth
from deniable.oracles.unary import OUE
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.unit.survey_files import rng

SCHEMA = Schema((Attribute("x", edges=tuple(range(-31, 32))),))
SURVEY = Collection(SCHEMA, OUE(k=64, epsilon=1.0))


class _Peaks:
    """Largest memory that Python (numpy included) held at once, and Arrow between two batches, in bytes."""

    def __enter__(self) -> _Peaks:
        self.arrow = 0
        self._before = pa.total_allocated_bytes()
        tracemalloc.start()
        return self

    def progress(self, *_: object) -> None:
        self.arrow = max(self.arrow, pa.total_allocated_bytes() - self._before)

    def __exit__(self, *_: object) -> None:
        self.python = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def _answers(directory: Path, kind: str, n: int) -> Path:
    """Return numbers that compression does not make smaller."""
    table = pa.table({"x": np.random.default_rng(1).normal(0, 9, n)})
    path = directory / f"{n}.{kind}"
    if kind == "csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=10_000)
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that every file is much longer than the 32 that the CSV parser reads ahead."""
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("deniable.files.formats.tables.BATCH_ROWS", 1 << 11)
    monkeypatch.setattr("deniable.files.formats.reports.BATCH_ROWS", 1 << 13)
    monkeypatch.setattr("deniable.files.jobs.shuffling.BLOCK_ROWS", 1 << 13)
    monkeypatch.setattr("deniable.survey.drafting.MAX_TRACKED", 100)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_rows(kind: str, tmp_path: Path, small_blocks: None) -> None:
    warm = _answers(tmp_path, kind, 1000)
    randomize_file(SURVEY, warm, tmp_path / "warm.reports", rng())
    aggregate_files(SURVEY, [tmp_path / "warm.reports"], tmp_path / "day.aggregate")
    peaks = []
    for n in (50_000, 400_000):
        answers, reports = _answers(tmp_path, kind, n), tmp_path / f"{n}.reports"
        with _Peaks() as randomizing:
            assert randomize_file(SURVEY, answers, reports, rng(), progress=randomizing.progress).n == n
        assert reports.stat().st_size > 6 * n
        with _Peaks() as aggregating:
            output = tmp_path / "day.aggregate"
            assert aggregate_files(SURVEY, [reports], output, progress=aggregating.progress).n == n
        with _Peaks() as counting:
            assert read_truth(SURVEY, answers, progress=counting.progress)["x"].sum() == n
        peaks.append((randomizing, aggregating, counting))
        assert output.stat().st_size < 5000
    for small, large in zip(*peaks, strict=True):
        # 350,000 more rows are 2,800,000 more bytes of answers, of codes, and of reports.
        assert large.python < small.python + 200_000
        # The reader measures Arrow's memory, while a row group of 1.4 MB may be under way to the file.
        assert large.arrow < small.arrow + 1_700_000


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_of_a_draft(kind: str, tmp_path: Path, small_blocks: None) -> None:
    draft_schema_file(_answers(tmp_path, kind, 1000), tmp_path / "schema.json")
    peaks = []
    for n in (20_000, 80_000):
        answers = _answers(tmp_path, kind, n)
        with _Peaks() as drafting:
            draft_schema_file(answers, tmp_path / "schema.json", progress=drafting.progress)
        peaks.append(drafting)
    # 60,000 more distinct answers are 480,000 bytes, or 4,000,000 bytes as Python texts.
    assert peaks[1].python < peaks[0].python + 200_000
    assert peaks[1].arrow < peaks[0].arrow + 200_000
