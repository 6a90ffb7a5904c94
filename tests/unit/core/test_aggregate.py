from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from deniable import GRR, Aggregate, CorrRR
from deniable.errors import DuplicateReportsError, FileFormatError, InvalidParameterError, MismatchError, OutputError

GRR3 = GRR(k=3, epsilon=0.1)


def _aggregate(*batches: str, collection: str = "c") -> Aggregate:
    return Aggregate(GRR3, np.array([5, 2, 1]), 8, collection, frozenset(batches))


def test_a_saved_aggregate_comes_back_equal(tmp_path: Path) -> None:
    aggregate = _aggregate("a" * 64, "b" * 64)
    aggregate.save(tmp_path / "day1.aggregate")
    assert Aggregate.load(tmp_path / "day1.aggregate") == aggregate
    assert [path.name for path in tmp_path.iterdir()] == ["day1.aggregate"]


def test_the_same_batch_is_not_counted_twice() -> None:
    with pytest.raises(DuplicateReportsError, match=r"report batch bbbbbbbbbbbb; a merged"):
        _aggregate("a" * 64, "b" * 64) + _aggregate("b" * 64)


def test_collections_do_not_mix() -> None:
    with pytest.raises(MismatchError, match="different collections: c and d"):
        _aggregate() + _aggregate(collection="d")


@pytest.mark.parametrize("counts", [[1, 2], [[1, 2, 3]], [1.0, 2.0, 3.0]])
def test_counts_must_fit(counts: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match=r"counts must be integers of shape \(3,\)"):
        Aggregate(GRR3, np.array(counts), 3)


def test_a_negative_n_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="n must be >= 0, got n=-1"):
        Aggregate(GRR3, np.zeros(3, dtype=np.int64), -1)


def test_counts_are_copied_and_read_only() -> None:
    counts = np.array([1, 2, 3])
    aggregate = Aggregate(GRR3, counts, 6)
    counts[0] = 99
    assert aggregate.counts.tolist() == [1, 2, 3]
    assert not aggregate.counts.flags.writeable


def test_damaged_and_foreign_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.aggregate"
    with pytest.raises(FileFormatError, match="there is no file"):
        Aggregate.load(path)
    path.write_text("hello")
    with pytest.raises(FileFormatError, match="not an aggregate file, or the file is damaged"):
        Aggregate.load(path)
    _aggregate().save(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match="not an aggregate file, or the file is damaged"):
        Aggregate.load(path)
    with pa.ipc.new_file(str(path), pa.schema([("counts", pa.int64())])) as writer:
        writer.write_table(pa.table({"counts": [1]}))
    with pytest.raises(FileFormatError, match="not an aggregate file, or the file is damaged"):
        Aggregate.load(path)


def test_another_format_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.core.aggregate.FORMAT_VERSION", 2)
    _aggregate().save(tmp_path / "new.aggregate")
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match="version 1, got “deniable aggregate” of version 2"):
        Aggregate.load(tmp_path / "new.aggregate")


def test_an_unwritable_output_is_one_typed_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        _aggregate().save(tmp_path / "nowhere" / "x.aggregate")
    with pytest.raises(OutputError, match="directory"):
        _aggregate().save(tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        '{"format":"deniable aggregate","version":1}',
        '{"format":"deniable aggregate","version":1,"mechanism":["GRR"],"n":1,"collection":"","batches":[]}',
        '{"format":"deniable aggregate","version":1,"mechanism":{"mechanism":["GRR"]},"n":1,'
        '"collection":"","batches":[]}',
        '{"format":"deniable aggregate","version":1,"mechanism":{"mechanism":"GRR","k":3,"epsilon":"1"},"n":-1,'
        '"collection":"","batches":[]}',
        "[]",
        "{",
    ],
)
def test_damaged_headers_are_one_typed_error(tmp_path: Path, header: str) -> None:
    path = tmp_path / "x.aggregate"
    table = pa.table({"counts": [1, 2, 3]}).replace_schema_metadata({"deniable": header})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FileFormatError, match=r"damaged|unknown mechanism"):
        Aggregate.load(path)


def test_messages_cut_long_mechanisms() -> None:
    probabilities = ((1.0,) * 60,) * 60
    one, other = (Aggregate.empty(CorrRR((2,) * 60, epsilon, probabilities)) for epsilon in (1.0, 2.0))
    with pytest.raises(MismatchError, match="cannot merge aggregates of different mechanisms: Corr-RR") as found:
        one + other
    assert len(str(found.value)) < 200
    with pytest.raises(MismatchError, match="the aggregate came from Corr-RR") as found:
        other.mechanism.estimate(one)
    assert len(str(found.value)) < 200


def test_only_aggregates_are_added() -> None:
    with pytest.raises(TypeError):
        GRR(2, 1.0).aggregate([0]) + 1  # type: ignore[operator]
