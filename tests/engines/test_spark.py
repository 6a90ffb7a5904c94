"""The Spark engine with two workers: `make engines`. Java must be installed on the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deniable import GRR, SMP, AdaptiveSMP, Aggregate, Attribute, Collection, Schema
from deniable.engines import spark
from deniable.errors import EmptyAggregateError, InvalidInputError, InvalidReportError, MismatchError
from deniable.files import aggregate_files, merge_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.skipif("DENIABLE_ENGINES" not in os.environ, reason="make engines"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

N = 30_000
SURVEY = Collection(
    Schema((Attribute("smoker", ("yes", "no")), Attribute("town", tuple(map(str, range(40)))))),
    AdaptiveSMP((2, 40), 1.0),
)


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    # Two tasks run at a time, and a task may fail three times.
    found = (
        builder.master("local[2,4]").config("spark.ui.enabled", False).config("spark.driver.memory", "1g").getOrCreate()
    )
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


def answers(session: Any, n: int = N, partitions: int = 5) -> Any:
    return session.range(0, n, 1, partitions).selectExpr(
        "case when id % 3 = 0 then 'yes' else 'no' end as smoker", "cast(id % 40 as string) as town", "id as not_asked"
    )


def test_answers_become_reports_once_and_both_ways_add_up(session: Any, tmp_path: Path) -> None:
    stored = spark.randomize(answers(session), SURVEY, str(tmp_path / "reports"))
    # Two actions on the returned DataFrame see the same reports.
    assert stored.count() == N
    assert stored.collect() == stored.collect()
    total = spark.aggregate(stored, SURVEY)
    by_file = aggregate_files(SURVEY, [tmp_path / "reports"], tmp_path / "by_file.arrow")
    assert total == by_file
    assert total.n == N
    found = SURVEY.estimate(total)["smoker"]
    assert abs(found.frequencies[0] - 1 / 3) < 6 * found.standard_errors[0]
    # Files of the command line are read back part by part, and merged.
    files = sorted((tmp_path / "reports").iterdir())
    parts = [spark.aggregate(session.read.parquet(str(path)), SURVEY) for path in files[:2]]
    for i, part in enumerate(parts):
        part.save(tmp_path / f"{i}.arrow")
    merged = merge_files([tmp_path / "0.arrow", tmp_path / "1.arrow"], tmp_path / "merged.arrow")
    assert merged == aggregate_files(SURVEY, files[:2], tmp_path / "two.arrow")
    assert Aggregate.from_bytes((tmp_path / "merged.arrow").read_bytes()).n == parts[0].n + parts[1].n


def test_an_attempt_that_fails_after_writing_leaves_nothing(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = tmp_path / "attempts"
    traces.mkdir()
    attempt = spark._attempt
    trace = str(traces)

    def failing(work: Any, batches: Any) -> Iterator[Any]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        done = list(attempt(work, batches))
        Path(trace, f"{context.partitionId()}-{context.attemptNumber()}").touch()
        if context.attemptNumber() == 0:
            raise RuntimeError("lost")
        yield from done

    monkeypatch.setattr(spark, "_attempt", failing)
    stored = spark.randomize(answers(session, 4000, 3), SURVEY, str(tmp_path / "reports"))
    assert sorted(path.name for path in traces.iterdir()) == [f"{p}-{a}" for p in range(3) for a in range(2)]
    assert stored.count() == 4000
    total = spark.aggregate(stored, SURVEY)
    assert total.n == 4000
    assert len(total.batches) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempts", "reports"]
    # In local mode no task has a second copy, so copies are in tests/engines/test_spark_copies.py.


def test_what_is_wrong_is_said(session: Any, tmp_path: Path) -> None:
    wrong = answers(session, 400, 2).selectExpr("smoker", "case when town = '7' then 'secret' else town end as town")
    with pytest.raises(InvalidInputError, match="partition 0: unknown category of attribute “town” in row 8") as caught:
        spark.randomize(wrong, SURVEY, str(tmp_path / "reports"))
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInputError, match="the DataFrame must have the column “town”"):
        spark.randomize(answers(session).drop("town"), SURVEY, str(tmp_path / "reports"))
    with pytest.raises(InvalidInputError, match="must contain at least one row of answers"):
        spark.randomize(answers(session, 0, 1), SURVEY, str(tmp_path / "reports"))
    stored = spark.randomize(answers(session, 500, 2), SURVEY, str(tmp_path / "reports"))
    other = Collection(SURVEY.schema, AdaptiveSMP((2, 40), 2.0))
    with pytest.raises(MismatchError, match="contains reports of collection"):
        spark.aggregate(stored, other)
    with pytest.raises(EmptyAggregateError):
        spark.aggregate(stored.where("attribute > 5"), SURVEY)
    few = spark.aggregate(stored.where("attribute = 0"), SURVEY)
    assert 0 < few.n < 500
    assert not few.batches & spark.aggregate(stored, SURVEY).batches
    assert np.array_equal(few.counts[:2], spark.aggregate(stored, SURVEY).counts[:2])


@pytest.mark.parametrize("mechanism", [GRR(40, 1.0), SMP((2, 40), 1.0)], ids=lambda mechanism: mechanism.name)
def test_reports_of_which_few_differ_are_counted(mechanism: Any, session: Any, tmp_path: Path) -> None:
    asked = SURVEY.schema.attributes[-len(mechanism.domain) :]
    survey = Collection(Schema(asked), mechanism)
    stored = spark.randomize(answers(session), survey, str(tmp_path / "reports"))
    total = spark.aggregate(stored, survey)
    assert total == aggregate_files(survey, [tmp_path / "reports"], tmp_path / "by_file.arrow")
    summed = spark.aggregate(stored.withColumn("value", stored["value"].cast("double")), survey)  # tasks sum these
    assert summed == total
    halves = [spark.aggregate(stored.where(f"value % 2 = {i}"), survey) for i in range(2)]
    assert np.array_equal((halves[0] + halves[1]).counts, total.counts)
    for value, message in (
        ("300", r"'value' must be in 0\.\.255 in every row, but 30000"),
        ("cast(null as smallint)", r"must be in 0\.\.255"),
        ("200", "count only different reports, not all rows"),
    ):
        wrong = stored.selectExpr(*[f"{value} as {name}" if name == "value" else name for name in stored.columns])
        with pytest.raises(InvalidReportError, match=message):
            spark.aggregate(wrong, survey)
    foreign = stored.limit(1).selectExpr(*mechanism_fields(mechanism), f"'{'5' * 64}' as collection")
    for mixed in (
        stored.unionByName(foreign),
        stored.selectExpr("cast(value as double) as value", *stored.columns[:-2], "null as collection"),
    ):
        with pytest.raises(MismatchError, match="the DataFrame contains reports of collection"):
            spark.aggregate(mixed, survey)


def mechanism_fields(mechanism: Any) -> list[str]:
    return [field.name for field in mechanism.report_fields]
