"""Tasks and driver of the Spark engine, without Spark: attempts, commits, sums of partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import (
    GRR,
    OUE,
    SMP,
    AdaptiveSMP,
    Aggregate,
    Attribute,
    Collection,
    CountMeanSketch,
    Schema,
    SimulationRandomness,
)
from deniable.core.randomness import SecureRandomness
from deniable.engines import spark
from deniable.engines.spark import Part, Store, merge_parts, sum_part, weighted, write_part
from deniable.errors import DuplicateReportsError, FileFormatError, InvalidReportError, OutputError
from deniable.files import ReportReader, aggregate_files, report_arrays

SURVEY = Collection(
    Schema((Attribute("smoker", ("yes", "no")), Attribute("town", tuple(map(str, range(40)))))), SMP((2, 40), 1.0)
)


def answers(n: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, n, 300):
        rows = range(start, min(n, start + 300))
        yield pa.record_batch({"smoker": [("yes", "no")[i % 2] for i in rows], "town": [str(i % 40) for i in rows]})


def part_of(batch: pa.RecordBatch) -> Part:
    (row,) = batch.to_pylist()
    return Part(**row)


def store_in(directory: Path) -> Store:
    store = Store.at(str(directory / "reports"))
    store.start()
    return store


def frame(**kinds: str) -> Any:
    """A DataFrame with known column types only."""
    fields = [SimpleNamespace(name=name, dataType=SimpleNamespace(typeName=lambda kind=kind: kind))
              for name, kind in kinds.items()]  # fmt: skip
    return SimpleNamespace(schema=SimpleNamespace(fields=fields))


def test_few_reports_are_small_codes_in_columns_of_integers() -> None:
    """Spark itself counts only these; tasks sum codes that are texts, wide codes and bits."""
    towns = Collection(Schema((Attribute("town", tuple(map(str, range(70_000)))),)), GRR(70_000, 1.0))
    bits = Collection(Schema((Attribute("smoker", ("yes", "no")),)), OUE(2, 1.0))
    assert spark._few(frame(attribute="short", value="long", id="string"), SURVEY)
    assert not spark._few(frame(attribute="short", value="string", id="string"), SURVEY)
    assert not spark._few(frame(value="long"), towns)
    assert not spark._few(frame(bits="binary"), bits)


def test_batches_are_read_in_pieces_as_soon_as_they_are_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "PIECE_ROWS", 20)
    rows = [pa.record_batch({"value": np.arange(size)}) for size in (10, 10, 0, 7, 30, 3)]
    pieces = [table.num_rows for table in spark._tables(rows)]
    assert pieces == [20, 37, 3]


def test_of_several_attempts_one_becomes_visible(tmp_path: Path) -> None:
    """A task that fails after writing, and a second copy of a task, leave no readable files."""
    store = store_in(tmp_path)
    attempts = [part_of(write_part(SURVEY, store, 0, answers(1000))) for _ in range(2)]
    other = part_of(write_part(SURVEY, store, 1, answers(500)))
    nobody = part_of(write_part(SURVEY, store, 2, iter(())))
    assert attempts[0].digest != attempts[1].digest
    assert nobody == Part(2, "", 0, "", "")
    store.commit([attempts[1], other, nobody])
    late = write_part(SURVEY, store, 1, answers(500))  # this attempt is still under way while the driver commits
    store.discard()
    assert part_of(late).n == 500
    found = sorted(tmp_path.rglob("*"))
    assert [path.name for path in found] == ["reports", *sorted((attempts[1].file, other.file))]
    total = aggregate_files(SURVEY, [tmp_path / "reports"], tmp_path / "total.arrow")
    assert total.n == 1500
    assert total.batches == {attempts[1].digest, other.digest}
    with pytest.raises((OSError, pa.ArrowException)):
        write_part(SURVEY, store, 1, answers(500))  # an even later attempt cannot write either
    assert len(list(tmp_path.rglob("*"))) == 4


def test_two_results_of_one_partition_are_refused(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    attempts = [part_of(write_part(SURVEY, store, 0, answers(100))) for _ in range(2)]
    with pytest.raises(DuplicateReportsError, match="partition 0 must be written once"):
        store.commit(attempts)
    store.discard()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "reports").mkdir()
    with pytest.raises(OutputError, match="this path exists"):
        Store.at(str(tmp_path / "reports"))


def test_only_their_owner_can_look_at_reports_that_do_not_count_yet(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    assert Path(store.staging).stat().st_mode & 0o077 == 0
    store.commit([part_of(write_part(SURVEY, store, 0, answers(100)))])
    # The result is an ordinary directory, like another directory that is made now.
    (tmp_path / "another").mkdir()
    assert (tmp_path / "reports").stat().st_mode == (tmp_path / "another").stat().st_mode
    store.discard()


def test_wrong_answers_come_back_without_the_answer(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    wrong = pa.record_batch({"smoker": ["yes", "secret"], "town": ["1", "2"]})
    part = part_of(write_part(SURVEY, store, 3, iter([wrong])))
    assert part.error.startswith("InvalidInputError|partition 3: unknown category of attribute “smoker” in row 2")
    assert "secret" not in part.error
    store.discard()


def widened(collection: Collection, n: int, rng: Any) -> tuple[pa.RecordBatch, Any]:
    """Return reports as stored by an engine that has only signed integers and lists of any length."""
    codes = np.stack([np.arange(n) % k for k in collection.mechanism.domain], axis=1)
    mechanism: Any = collection.mechanism
    reports = mechanism.randomize(codes if mechanism.records else codes[:, 0], rng)
    columns: dict[str, Any] = {}
    parts = reports if isinstance(reports, tuple) else (reports,)
    for field, values in zip(collection.mechanism.report_fields, parts, strict=True):
        if field.width is None:
            wide = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "uint64": pa.decimal128(20, 0)}
            columns[field.name] = pa.array(values.tolist(), pa.int64() if field.dtype != "uint64" else None).cast(
                wide.get(field.dtype, pa.int64())
            )
        elif field.dtype == "uint8":
            columns[field.name] = pa.array([row.tobytes() for row in values], pa.binary())
        else:
            columns[field.name] = pa.array(values.tolist(), pa.list_(pa.int32()))
    return pa.record_batch(columns), reports


def survey_over(mechanism: Any) -> Collection:
    sizes = mechanism.domain
    return Collection(
        Schema(tuple(Attribute(f"a{j}", tuple(map(str, range(k)))) for j, k in enumerate(sizes))), mechanism
    )


MECHANISMS = [GRR(300, 1.0), SMP((2, 40), 1.0), AdaptiveSMP((2, 40, 400), 1.0), CountMeanSketch(500, 1.0)]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_sums_of_partitions_are_the_sum(mechanism: Any) -> None:
    collection, rng = survey_over(mechanism), SimulationRandomness(4)
    batches = [widened(collection, n, rng) for n in (50, 7, 300)]
    expected: Any = sum(collection.aggregate(reports) for _, reports in batches)
    sums = [sum_part(collection, "call", i, [batch]) for i, (batch, _) in enumerate(batches)]
    merged = merge_parts(collection, 0, sums)
    (row,) = merged.to_pylist()
    total = Aggregate.from_bytes(row["sum"])
    assert np.array_equal(total.counts, expected.counts)
    assert (total.n, total.batches) == (357, frozenset({"call 0", "call 1", "call 2"}))
    with pytest.raises(DuplicateReportsError):
        merge_parts(collection, 0, [*sums, sums[1]])  # one task's sum came twice


def test_reports_that_do_not_fit_are_refused() -> None:
    grr = GRR(300, 1.0)
    collection = survey_over(grr)
    for values, message in (
        (pa.array([0, 1, 2, 3, 70_000]), "must have values of the type uint16, but"),
        (pa.array([0, 1, 2, 3, -1]), "must have values of the type uint16, but"),
        (pa.array([0, 1, 2, 3, None]), "must have a value in every row"),
        (
            pa.array([0, 1, 2, 3, 300]),
            r"report must be in 0..299, got report=300 in row 5 \(row 1 in this message is row 1 of the partition\)",
        ),
    ):
        wrong = pa.record_batch({"value": values})
        (row,) = sum_part(collection, "c", 0, [wrong]).to_pylist()
        assert row["error"].startswith("InvalidReportError|partition 0: ")
        with pytest.raises(InvalidReportError, match=message):
            spark._raise_first([(0, row["error"])])
    subset = survey_over(AdaptiveSMP((40, 40), 1.0))
    with pytest.raises(InvalidReportError, match="must have the column “payload”"):
        report_arrays(pa.table({"attribute": [1]}), subset.mechanism)


@pytest.mark.parametrize("mechanism", [GRR(300, 1.0), SMP((2, 40), 1.0)], ids=lambda mechanism: mechanism.name)
def test_counted_reports_are_the_sum_of_all(mechanism: Any) -> None:
    collection, rng = survey_over(mechanism), SimulationRandomness(4)
    batch, reports = widened(collection, 3000, rng)
    counted = Counter(tuple(row.values()) for row in batch.to_pylist())
    rows = [(*report, count) for report, count in counted.items()]
    assert weighted(collection, rows) == collection.aggregate(reports)
    many = weighted(collection, [(*report, count * 10**15 + 7) for report, count in counted.items()])
    expected = (
        collection.aggregate(reports).counts * 10**15 + 7 * weighted(collection, [(*r, 1) for r in counted]).counts
    )
    assert np.array_equal(many.counts, expected)
    assert many.n == 3000 * 10**15 + 7 * len(counted)
    assert weighted(collection, []) == Aggregate.empty(mechanism, collection.id)
    unknown = [(None, *rows[0][1:-1], 5), (None, *rows[1][1:-1], 6)]
    with pytest.raises(InvalidReportError, match=r"must be in 0\.\.(255|65535) in every row, but 11"):
        weighted(collection, [*rows, *unknown])
    with pytest.raises(InvalidReportError, match=r"count only different reports, not all rows\)"):
        weighted(collection, [*rows, (*rows[0][:-2], 50_000 if len(rows[0]) == 2 else 250, 3)])


def test_batches_are_those_of_the_files_that_are_counted_whole(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.commit([part_of(write_part(SURVEY, store, i, answers(100 + i))) for i in range(2)])
    store.discard()
    files = sorted((tmp_path / "reports").iterdir())
    uris = [path.as_uri() for path in files]
    digests = frozenset(ReportReader(path, SURVEY).digest for path in files)
    assert spark._batches(uris, SURVEY, 201, "a") == digests
    assert spark._batches(uris, SURVEY, 150, "a") == spark._batches([], SURVEY, 150, "a") != digests
    assert spark._batches(uris, SURVEY, 150, "a") != spark._batches(uris, SURVEY, 150, "b")
    with pytest.raises(DuplicateReportsError, match="has 402 rows, and its files have only 201"):
        spark._batches(uris, SURVEY, 402, "a")
    (tmp_path / "copy.parquet").write_bytes(files[0].read_bytes())
    with pytest.raises(DuplicateReportsError, match="contain the same batch"):
        spark._batches([*uris, (tmp_path / "copy.parquet").as_uri()], SURVEY, 301, "a")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "foreign.parquet")
    assert spark._batches([(tmp_path / "foreign.parquet").as_uri()], SURVEY, 1, "a") == spark._batches(
        [], SURVEY, 1, "a"
    )


def test_aggregates_travel_as_the_bytes_of_their_files(tmp_path: Path) -> None:
    aggregate = SURVEY.aggregate(SURVEY.randomize(pa.Table.from_batches([next(answers(300))]), SecureRandomness()))
    aggregate.save(tmp_path / "saved.arrow")
    assert aggregate.to_bytes() == (tmp_path / "saved.arrow").read_bytes()
    assert Aggregate.from_bytes(aggregate.to_bytes()) == aggregate == Aggregate.load(tmp_path / "saved.arrow")
    for content in (b"", aggregate.to_bytes()[:-20], b"PAR1" + bytes(40)):
        with pytest.raises(FileFormatError, match="the content is not an aggregate file"):
            Aggregate.from_bytes(content)
