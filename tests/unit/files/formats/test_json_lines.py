"""Reports as lines of JSON: digests, ids, and files that are not reports."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from deniable import GRR
from deniable.errors import DuplicateReportsError, FileFormatError, MismatchError
from deniable.files import aggregate_files
from deniable.files.formats.json_lines import JsonLinesReader
from deniable.files.wire import (
    Body,
)
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.unit.files.posted import body
from tests.unit.survey_files import SURVEY


def test_the_digest_is_that_of_the_sorted_ids_and_reports(tmp_path: Path) -> None:
    whole = body(40)
    backwards = [Body(SURVEY.id, whole.ids[i : i + 1], whole.rows[i : i + 1]).to_json() for i in range(39, -1, -1)]
    (tmp_path / "one.jsonl").write_bytes(whole.to_json())
    (tmp_path / "many.jsonl").write_bytes(b"\n".join(backwards))
    said = sorted(bytes(one) + bytes(row) for one, row in zip(whole.ids, whole.rows, strict=True))
    digests = [JsonLinesReader(tmp_path / name, SURVEY).digest for name in ("one.jsonl", "many.jsonl")]
    assert digests == [hashlib.sha256(b"".join(said)).hexdigest()] * 2
    with pytest.raises(DuplicateReportsError, match="holds the same reports as"):
        aggregate_files(SURVEY, [tmp_path / "one.jsonl", tmp_path / "many.jsonl"], tmp_path / "out")


def test_an_id_counts_once_in_a_command(tmp_path: Path) -> None:
    (tmp_path / "twice.jsonl").write_bytes(body(3).to_json() + b"\n" + body(1).to_json())
    with pytest.raises(DuplicateReportsError, match="AAAAAAAAAAAAAAAAAAAAAA occurs twice"):
        JsonLinesReader(tmp_path / "twice.jsonl", SURVEY)
    (tmp_path / "a.jsonl").write_bytes(body(3).to_json())
    (tmp_path / "b.jsonl").write_bytes(body(3, start=2).to_json())
    with pytest.raises(DuplicateReportsError, match="AAAAAAAAAAAAAAAAAAAAAg occurs twice"):
        aggregate_files(SURVEY, [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_posted_reports_are_refused(tmp_path: Path) -> None:
    other = Collection(Schema((Attribute("x", ("a", "b")),)), GRR(k=2, epsilon=1.0))
    path = tmp_path / "x.jsonl"
    path.write_bytes(body(3).to_json() + b"\n" + body(1, survey=other).to_json())
    with pytest.raises(MismatchError, match=r"line 2 of .* belongs to collection"):
        JsonLinesReader(path, SURVEY)
    path.write_bytes(body(3).to_json() + b"\nnonsense")
    with pytest.raises(FileFormatError, match="line 2 must be reports in JSON: "):
        JsonLinesReader(path, SURVEY)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match=r"must contain report files named \*\.jsonl or \*\.parquet"):
        aggregate_files(SURVEY, [tmp_path / "empty"], tmp_path / "out")
    with pytest.raises(FileFormatError, match="there is no file"):
        aggregate_files(SURVEY, [tmp_path / "absent.jsonl"], tmp_path / "out")
