"""Report files: a round trip for all shapes of reports; files of other kinds or collections are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import GRR, SimulationRandomness
from deniable.core.mechanism import Mechanism
from deniable.errors import FileFormatError, InvalidReportError, MismatchError, OutputError
from deniable.files.formats.reports import BATCH_BYTES, BATCH_ROWS, ID_COLUMN, ReportReader, batch_rows, write_reports
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE
from deniable.records.sample import SMP
from deniable.records.split import SPL
from deniable.research.baselines.histogram import SHE
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

ITEM = Attribute("item", tuple(f"item {v}" for v in range(300)))
OTHER = Attribute("other", ("x", "y", "z"))
MECHANISMS: dict[str, Mechanism[Any]] = {
    "uint16[n]": GRR(k=300, epsilon=1.0),
    "uint8[n, width]": OUE(k=300, epsilon=1.0),
    "uint16[n, width]": SubsetSelection(k=300, epsilon=3.0),
    "int16[n, width]": SHE(k=300, epsilon=1.0),
    "three fields": CountMeanSketch(k=300, epsilon=1.0),
    "records": SPL(sizes=(300, 3), epsilon=2.0),
    "sampled": SMP(sizes=(300, 3), epsilon=2.0),
}
GRR_3 = Collection(Schema((OTHER,)), GRR(k=3, epsilon=1.0))


def _collection(mechanism: Mechanism[Any]) -> Collection:
    return Collection(Schema((ITEM, OTHER) if hasattr(mechanism, "sizes") else (ITEM,)), mechanism)


def _reports(collection: Collection, n: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in collection.schema.sizes], axis=1)
    return collection.randomize(codes, SimulationRandomness(seed))


def _columns(reports: Any) -> list[Any]:
    return list(reports) if isinstance(reports, tuple) else [reports]


def _write(path: Path, collection: Collection, *batches: Any, seed: int = 1) -> str:
    return write_reports(path, collection, batches, SimulationRandomness(seed)).digest


# -------------------------------------------------------------------- round trips


@pytest.mark.parametrize("kind", MECHANISMS)
def test_round_trip(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = _collection(MECHANISMS[kind])
    reports = _reports(collection, 100)
    written = write_reports(tmp_path / "r.parquet", collection, [reports], SimulationRandomness(1))
    assert written.n == 100
    monkeypatch.setattr("deniable.files.formats.reports.BATCH_ROWS", 33)
    reader = ReportReader(tmp_path / "r.parquet", collection)
    batches = list(reader)
    assert (reader.n, reader.digest) == (100, written.digest)
    assert [len(_columns(batch)[0]) for batch in batches] == [33, 33, 33, 1]
    assert {type(batch) for batch in batches} == {type(reports)}
    for j, original in enumerate(_columns(reports)):
        parts = [_columns(batch)[j] for batch in batches]
        assert {part.dtype for part in parts} == {original.dtype}
        assert np.array_equal(np.concatenate(parts), original)
        assert all(part.flags.writeable for part in parts)


def test_every_row_carries_the_id_and_the_file_its_format(tmp_path: Path) -> None:
    digest = _write(tmp_path / "r.parquet", GRR_3, _reports(GRR_3, 10), _reports(GRR_3, 5))
    table = pq.read_table(tmp_path / "r.parquet")
    assert table.column_names == ["value", "collection"]
    assert pa.types.is_dictionary(table.schema.field("collection").type)
    assert table["collection"].to_pylist() == [GRR_3.id] * 15
    stated = json.loads(pq.ParquetFile(tmp_path / "r.parquet").metadata.metadata[b"deniable"])
    assert (stated["format"], stated["format_version"]) == ("deniable reports", 1)
    assert (stated["collection"], stated["digest"]) == (GRR_3.id, digest)


def test_no_reports_at_all(tmp_path: Path) -> None:
    _write(tmp_path / "none.parquet", GRR_3)
    _write(tmp_path / "empty.parquet", GRR_3, np.zeros(0, np.uint8))
    for name in ("none", "empty"):
        reader = ReportReader(tmp_path / f"{name}.parquet", GRR_3)
        assert reader.n == sum(len(batch) for batch in reader) == 0


def test_batches_fit_into_memory() -> None:
    assert batch_rows(GRR(k=3, epsilon=1.0)) == BATCH_ROWS
    assert batch_rows(OUE(k=1024, epsilon=1.0)) == BATCH_BYTES // 128
    assert batch_rows(SHE(k=10**7, epsilon=1.0)) == 1


# -------------------------------------------------------------------- the digest


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("uint8[n, width]", set()),
        ("int16[n, width]", {"components.list.element"}),
        ("sampled", {"attribute", "value"}),
    ],
)
def test_numbers_are_stored_as_dictionaries_and_rows_of_bytes_are_not(
    kind: str, columns: set[str], tmp_path: Path
) -> None:
    collection = _collection(MECHANISMS[kind])
    _write(tmp_path / "a", collection, _reports(collection, 500))
    group = pq.read_metadata(tmp_path / "a").row_group(0)
    stored = [group.column(i) for i in range(group.num_columns)]
    assert {column.path_in_schema for column in stored if "RLE_DICTIONARY" in column.encodings} == {ID_COLUMN} | columns
    assert {column.compression for column in stored} == {"LZ4"}


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    reports = _reports(GRR_3, 10)
    digest = _write(tmp_path / "a.parquet", GRR_3, reports)
    assert _write(tmp_path / "b.parquet", GRR_3, reports[:3], reports[3:]) == digest
    assert _write(tmp_path / "c.parquet", GRR_3, reports[::-1]) != digest
    assert _write(tmp_path / "d.parquet", GRR_3, reports[:-1]) != digest
    assert _write(tmp_path / "e.parquet", replace(GRR_3, version=2), reports) != digest


def test_equal_reports_of_other_people_are_another_batch(tmp_path: Path) -> None:
    one = np.zeros(1, np.uint8)
    assert _write(tmp_path / "a.parquet", GRR_3, one, seed=1) != _write(tmp_path / "b.parquet", GRR_3, one, seed=2)


@pytest.mark.parametrize("compression", ["none", "zstd"])  # files were at first written with zstd
def test_a_recompressed_copy_is_the_same_batch(compression: str, tmp_path: Path) -> None:
    digest = _write(tmp_path / "a.parquet", GRR_3, _reports(GRR_3, 100))
    _rewrite(tmp_path / "a.parquet", lambda table: table, compression=compression, row_group_size=7)
    reader = ReportReader(tmp_path / "a.parquet", GRR_3)
    assert sum(len(batch) for batch in reader) == 100
    assert reader.digest == digest


# -------------------------------------------------------------------- invalid files


def _rewrite(
    path: Path, change: Callable[[pa.Table], pa.Table], metadata: dict[str, Any] | None = None, **options: Any
) -> None:
    """Change a file's columns or metadata."""
    stated = json.loads(pq.ParquetFile(path).metadata.metadata[b"deniable"])
    table = change(pq.read_table(path)).replace_schema_metadata({"deniable": json.dumps(stated | (metadata or {}))})
    pq.write_table(table, path, **options)


def _read(path: Path, collection: Collection = GRR_3) -> list[Any]:
    return list(ReportReader(path, collection))


def _set(name: str, column: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.column_names.index(name), name, column)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    _write(tmp_path / "r.parquet", GRR_3, np.array([0, 1, 2, 1], np.uint8))
    return tmp_path / "r.parquet"


def test_another_collection_or_version(path: Path) -> None:
    second = replace(GRR_3, version=2)
    with pytest.raises(MismatchError) as caught:
        _read(path, second)
    assert str(caught.value) == f"{path} contains reports of collection {GRR_3.id[:12]}, not of {second.id[:12]}"


@pytest.mark.parametrize("encode", [True, False])
def test_a_row_of_another_collection(path: Path, encode: bool) -> None:
    ids = pa.array([GRR_3.id, GRR_3.id, "f" * 64, GRR_3.id])
    _rewrite(path, _set("collection", ids.dictionary_encode() if encode else ids))
    with pytest.raises(MismatchError) as caught:
        _read(path)
    assert str(caught.value) == f"row 3 of {path} belongs to collection ffffffffffff, not to {GRR_3.id[:12]}"
    _rewrite(path, _set("collection", pa.array([GRR_3.id, None, GRR_3.id, GRR_3.id])))
    with pytest.raises(MismatchError, match=r"^row 2 of .* belongs to collection \(none\), not to"):
        _read(path)


def test_row_numbers_go_on_after_the_first_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.files.formats.reports.BATCH_ROWS", 10)
    path = tmp_path / "r.parquet"
    _write(path, GRR_3, _reports(GRR_3, 35))
    _rewrite(path, _set("collection", pa.array([GRR_3.id] * 31 + ["f" * 64] * 4)))
    with pytest.raises(MismatchError, match=r"^row 32 of "):
        _read(path)
    _rewrite(path, _set("collection", pa.array([GRR_3.id] * 35)))
    _rewrite(path, _set("value", pa.array([0] * 32 + [None] * 3, pa.uint8())))
    with pytest.raises(
        InvalidReportError,
        match=r"report field “value” must have a value in every row, but it is empty \(null\) in row 33$",
    ):
        _read(path)


def test_reports_that_were_changed(path: Path) -> None:
    _rewrite(path, _set("value", pa.array([0, 1, 2, 2], pa.uint8())))
    with pytest.raises(
        FileFormatError, match=r"r.parquet is damaged: its reports do not match the digest \w{12} that the file states$"
    ):
        _read(path)
    _rewrite(path, lambda table: table.slice(0, 3))
    with pytest.raises(FileFormatError, match="is damaged"):
        _read(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["value"]), "must have the column “value”, but its columns are “collection”"),
        (lambda t: t.drop_columns(["collection"]), "must have the column “collection”, but its columns are “value”"),
        (_set("value", pa.array([0, 1, 2, 1])), "column “value” must have the type uint8, got int64"),
        (_set("value", pa.array(list("0121"))), "column “value” must have the type uint8, got string"),
    ],
)
def test_other_columns(path: Path, change: Callable[[pa.Table], pa.Table], message: str) -> None:
    _rewrite(path, change)
    with pytest.raises(FileFormatError) as caught:
        _read(path)
    assert message in str(caught.value)


def test_other_widths(tmp_path: Path) -> None:
    path, wide = tmp_path / "r.parquet", _collection(SHE(k=300, epsilon=1.0))
    _write(path, wide, _reports(wide, 3))
    column = pa.FixedSizeListArray.from_arrays(pa.array([0] * 6, pa.int16()), 2)
    _rewrite(path, _set("components", column))
    with pytest.raises(FileFormatError, match=r"must have the type fixed_size_list<.*>\[300\], got .*\[2\]$"):
        _read(path, wide)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"format": "other"},
            "is not a report file: the metadata of this file do not name the format deniable reports",
        ),
        ({"format_version": 2}, "has format_version=2; this release can read format_version=1 of deniable reports"),
        ({"digest": None}, "is damaged: its metadata must contain collection, batch_number, digest"),
        ({"digest": "0" * 64}, "is damaged: its reports do not match the digest 000000000000"),
        ({"batch_number": "0" * 32}, "is damaged: its reports do not match the digest"),
    ],
)
def test_other_metadata(path: Path, metadata: dict[str, Any], message: str) -> None:
    _rewrite(path, lambda table: table, metadata)
    with pytest.raises(FileFormatError) as caught:
        _read(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("metadata", [None, {"deniable": "{"}, {"deniable": "[]"}])
def test_foreign_parquet(path: Path, metadata: dict[str, str] | None) -> None:
    pq.write_table(pa.table({"value": [1], "collection": [GRR_3.id]}).replace_schema_metadata(metadata), path)
    with pytest.raises(FileFormatError, match=r"r.parquet is not a report file: the metadata of this file do not name"):
        _read(path)


def test_foreign_files(path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"^there is no file "):
        _read(path.with_name("none.parquet"))
    with pytest.raises(FileFormatError, match="is not a Parquet file, or the file is damaged"):
        _read(path.parent)
    path.write_text("value\n1\n")
    with pytest.raises(FileFormatError, match="is not a Parquet file, or the file is damaged"):
        _read(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files(tmp_path: Path, share: float) -> None:
    path = tmp_path / "r.parquet"
    _write(path, GRR_3, _reports(GRR_3, 10_000))
    path.write_bytes(path.read_bytes()[: math.floor(share * path.stat().st_size)])
    with pytest.raises(FileFormatError, match=r"r.parquet is not a Parquet file, or the file is damaged$"):
        _read(path)


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    """For each wrong byte there is a typed error, or the same reports (if the byte has no meaning)."""
    path = tmp_path / "r.parquet"
    reports = _reports(GRR_3, 300)
    _write(path, GRR_3, reports)
    whole = path.read_bytes()
    noticed = 0
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :])
        try:
            assert np.array_equal(np.concatenate(_read(path)), reports)
        except (FileFormatError, MismatchError, InvalidReportError):
            noticed += 1
    assert noticed > len(whole) // 7 // 2


# -------------------------------------------------------------------- writing


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path: Path) -> None:
    def batches(failure: BaseException) -> Any:
        yield _reports(GRR_3, 10)
        raise failure

    for failure in (RuntimeError("disk"), KeyboardInterrupt()):
        with pytest.raises(type(failure)):
            write_reports(tmp_path / "r.parquet", GRR_3, batches(failure), SimulationRandomness(1))
        assert list(tmp_path.iterdir()) == []
    _write(tmp_path / "r.parquet", GRR_3, _reports(GRR_3, 10))
    before = (tmp_path / "r.parquet").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_reports(tmp_path / "r.parquet", GRR_3, batches(KeyboardInterrupt()), SimulationRandomness(1))
    assert (tmp_path / "r.parquet").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "r.parquet", tmp_path):
        with pytest.raises(OutputError, match=r"^cannot write "):
            _write(path, GRR_3, _reports(GRR_3, 10))


def test_only_what_the_mechanism_reports_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidReportError, match=r"“value” must have dtype=uint8, shape=\(2,\), got dtype=int64"):
        _write(tmp_path / "r.parquet", GRR_3, np.array([0, 1]))
    with pytest.raises(InvalidReportError, match=r"shape=\(2,\), got dtype=uint8, shape=\(2, 2\)"):
        _write(tmp_path / "r.parquet", GRR_3, np.zeros((2, 2), np.uint8))
    sketch = _collection(CountMeanSketch(k=300, epsilon=1.0))
    with pytest.raises(InvalidReportError, match=r"must have the fields .*, got 2 arrays$"):
        _write(tmp_path / "r.parquet", sketch, (np.zeros(1), np.zeros(1)))
    assert list(tmp_path.iterdir()) == []
