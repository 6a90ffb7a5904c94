"""Prefetching: order, errors in their place, and no thread left running."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
from deniable.errors import UnknownCategoryError
from deniable.files import aggregate_files, open_answers, randomize_file
from deniable.files.formats import tables
from deniable.files.jobs.prefetch import DEPTH, Prefetcher


def test_items_come_in_order_and_few_ahead() -> None:
    made: list[int] = []

    def items() -> Generator[int, None, None]:
        for i in range(50):
            made.append(i)
            yield i

    with Prefetcher(items()) as ahead:
        for used, item in enumerate(ahead):
            assert item == used
            time.sleep(0.001)
            assert len(made) <= used + 1 + DEPTH + 1
    assert made == list(range(50))


@pytest.mark.parametrize("error", [ValueError("third"), KeyboardInterrupt()])
def test_errors_come_where_they_would_have_come(error: BaseException) -> None:
    def items() -> Generator[int, None, None]:
        yield from (0, 1)
        raise error

    found: list[int] = []
    with Prefetcher(items()) as ahead, pytest.raises(type(error)):
        found.extend(ahead)
    assert found == [0, 1]


def test_who_leaves_early_leaves_nothing_running() -> None:
    closed = threading.Event()

    def numbers() -> Generator[int, None, None]:
        try:
            i = 0
            while True:
                yield i
                i += 1
        finally:
            closed.set()

    def inner(numbers: Generator[int, None, None]) -> Generator[int, None, None]:
        with Prefetcher(numbers) as ahead:
            yield from ahead

    before = threading.active_count()
    with Prefetcher(inner(numbers())) as ahead:
        assert [next(ahead) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert closed.is_set()
    assert threading.active_count() == before


SURVEY = Collection(Schema((Attribute("town", tuple(map(str, range(30)))),)), GRR(30, 1.0))


def test_files_are_the_same_however_their_texts_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain texts, dictionaries of one or several row groups, and a dictionary larger than a batch."""
    texts = [str(i * i % 30) for i in range(5000)]
    pq.write_table(pa.table({"town": texts}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"town": texts}), tmp_path / "several.parquet", row_group_size=700)
    pq.write_table(pa.table({"town": texts}), tmp_path / "plain.parquet", use_dictionary=False)
    (tmp_path / "text.csv").write_text("town\n" + "\n".join(texts) + "\n")
    with open_answers(tmp_path / "one.parquet") as reader:
        assert all(pa.types.is_dictionary(batch.column(0).type) for batch in reader)
    digests = set()
    for rows in (1 << 16, 11):
        monkeypatch.setattr(tables, "BATCH_ROWS", rows)
        for path in [*sorted(tmp_path.glob("*.parquet")), tmp_path / "text.csv"]:
            if not path.name.startswith("out"):
                rng = SimulationRandomness(5)
                digests.add(randomize_file(SURVEY, path, tmp_path / "out.parquet", rng, allow_repeat=True).digest)
    assert len(digests) == 1
    total = aggregate_files(SURVEY, [tmp_path / "out.parquet"], tmp_path / "total.arrow")
    assert np.array_equal(total.counts, SURVEY.aggregate(_reports(texts)).counts)


def _reports(texts: list[str]) -> object:
    return SURVEY.randomize({"town": texts}, SimulationRandomness(5))


def test_a_wrong_answer_far_behind_leaves_nothing(tmp_path: Path) -> None:
    texts = ["1"] * 200_000 + ["secret"]
    pq.write_table(pa.table({"town": texts}), tmp_path / "answers.parquet")
    before = threading.active_count()
    with pytest.raises(UnknownCategoryError, match="attribute “town” in row 200001") as caught:
        randomize_file(SURVEY, tmp_path / "answers.parquet", tmp_path / "out.parquet", SimulationRandomness(1))
    assert "secret" not in str(caught.value)
    assert threading.active_count() == before
    assert [path.name for path in tmp_path.iterdir()] == ["answers.parquet"]
