"""Report files reveal nothing about row order: the attack that links two files, and the permutation's distribution."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from deniable import GRR, OUE, SMP, Collection, SecureRandomness, SimulationRandomness
from deniable.core.randomness import draw
from deniable.files import randomize_file
from deniable.files.formats.reports import ReportReader
from deniable.files.jobs.shuffling import BLOCK_BYTES, BLOCK_ROWS, _exchange, block_rows, permutation, shuffled
from deniable.records.split import SPL
from deniable.research.dealt.files import deal_file
from deniable.research.dealt.files.shares import ShareReader
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.shares import Shares
from deniable.survey.schema import Attribute, Schema
from tests.unit._goodness import FAMILY_WISE_ERROR, p_value

LARGEST = 2**64 - 1
CODES = GRR(k=1 << 20, epsilon=32.0)
"""Mechanism whose reports tests can number."""


def schema(*sizes: int) -> Schema:
    names = [f"q{j}" for j in range(len(sizes))]
    return Schema(tuple(Attribute(name, tuple(map(str, range(k)))) for name, k in zip(names, sizes, strict=True)))


def fields(reports: Any) -> list[NDArray[Any]]:
    return list(reports) if isinstance(reports, tuple) else [reports]


def columns(path: Path, survey: Collection) -> list[NDArray[Any]]:
    """The fields of all reports of a file, in the order of the file."""
    batches = [fields(reports) for reports in ReportReader(path, survey)]
    return [np.concatenate(parts) for parts in zip(*batches, strict=True)]


def as_multiset(arrays: list[NDArray[Any]]) -> Counter[Any]:
    return Counter(zip(*(map(tuple, array.reshape(len(array), -1).tolist()) for array in arrays), strict=True))


def small_blocks(patch: pytest.MonkeyPatch, rows: int) -> None:
    patch.setattr("deniable.files.jobs.shuffling.BLOCK_ROWS", rows)


# ------------------------------------------------------------------------------------------------------ attack


@pytest.mark.parametrize("block", [BLOCK_ROWS, 400])
def test_two_files_of_one_table_cannot_be_linked_by_row(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attacker claims that row i of both files, and answer i of the table, belong to one contributor.

    Every answer occurs once and, with these seeds, every report is the answer. So the number of right claims is the
    number of fixed points of a uniform permutation, and P(at least m) <= 1/m!: 12 are exceeded once in 4 x 10^8.
    """
    small_blocks(monkeypatch, block)
    survey = Collection(schema(1000), GRR(k=1000, epsilon=32.0))
    answers = np.random.default_rng(1).permutation(1000)
    table = tmp_path / "answers.parquet"
    pq.write_table(pa.table({"q0": list(map(str, answers))}), table)
    files = []
    for seed in (1, 2):
        path = tmp_path / f"{seed}.reports"
        randomize_file(survey, table, path, SimulationRandomness(seed), allow_repeat=True)
        files.append(columns(path, survey)[0])
    first, second = files
    in_memory = np.array([survey.randomize(pq.read_table(table), SimulationRandomness(seed)) for seed in (1, 2)])
    assert (in_memory == answers).all()
    assert sorted(first) == sorted(second) == list(range(1000))
    assert max((first == second).sum(), (first == answers).sum(), (second == answers).sum()) < 12


@pytest.mark.parametrize(("block", "last"), [(BLOCK_ROWS, 1000), (400, 300)])
def test_a_report_of_a_known_row_may_be_any_of_its_block(
    block: int, last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker who knows that a person's answers are last finds them in all rows of the last block alike."""
    small_blocks(monkeypatch, block)
    survey = Collection(schema(1000), GRR(k=1000, epsilon=32.0))
    table = tmp_path / "answers.parquet"
    pq.write_table(pa.table({"q0": list(map(str, range(1000)))}), table)
    found: list[int] = []
    for seed in range(80):
        path = tmp_path / "r.parquet"
        randomize_file(survey, table, path, SimulationRandomness(seed), allow_repeat=True)
        found += np.flatnonzero(columns(path, survey)[0] == 999).tolist()
    eighths = Counter((np.array(found) - (1000 - last)) * 8 // last)
    assert p_value(eighths.elements(), dict.fromkeys(range(8), 1 / 8)) >= FAMILY_WISE_ERROR


# ------------------------------------------------------------------------------ output without shuffling


MECHANISMS = [
    GRR(k=3, epsilon=1.0),
    OUE(k=11, epsilon=1.0),
    SMP(sizes=(3, 4), epsilon=2.0),
    SPL(sizes=(3, 4, 2), epsilon=8.0),
    SPL(sizes=(9, 4), epsilon=2.0, oracle="OUE"),
]


@pytest.mark.parametrize("block", [BLOCK_ROWS, 64])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.name}")
def test_the_reports_are_those_of_the_verb_in_memory(
    mechanism: Any, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, block)
    sizes = (mechanism.k,) if isinstance(mechanism, GRR | OUE) else mechanism.sizes
    survey = Collection(schema(*sizes), mechanism)
    generator = np.random.default_rng(1)
    table = pa.table({f"q{j}": list(map(str, generator.integers(k, size=900))) for j, k in enumerate(sizes)})
    pq.write_table(table, tmp_path / "answers.parquet")
    written = []
    for name in ("r", "again"):
        randomize_file(
            survey, tmp_path / "answers.parquet", tmp_path / name, SimulationRandomness(1), allow_repeat=True
        )
        written.append(columns(tmp_path / name, survey))
    expected = fields(survey.randomize(table, SimulationRandomness(1)))
    assert as_multiset(written[0]) == as_multiset(expected)
    assert any((new != old).any() for new, old in zip(written[0], expected, strict=True))
    assert all((new == old).all() for new, old in zip(*written, strict=True))


@pytest.mark.parametrize(
    "mechanism",
    [QuotaRR(1.0, 700, k=3, deal_id="1"), QuotaRecords((3, 2), 1.0, 700, deal_id="1")],
    ids=lambda m: m.name,
)
def test_a_share_goes_with_its_contributors_answer(
    mechanism: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, 64)
    sizes = (3,) if isinstance(mechanism, QuotaRR) else (3, 2)
    survey = Collection(schema(*sizes), mechanism)
    deal_file(survey, 700, tmp_path / "deal", SimulationRandomness(5))
    generator = np.random.default_rng(1)
    table = pa.table({f"q{j}": list(map(str, generator.integers(k, size=650))) for j, k in enumerate(sizes)})
    pq.write_table(table, tmp_path / "answers.parquet")
    shares = Shares.joined([part for _, part in ShareReader(tmp_path / "deal", survey).batches()])[:650]
    expected = fields(survey.randomize(table, SimulationRandomness(1), shares))
    randomize_file(
        survey, tmp_path / "answers.parquet", tmp_path / "r", SimulationRandomness(1), shares=tmp_path / "deal"
    )
    written = columns(tmp_path / "r", survey)
    assert as_multiset(written) == as_multiset(expected)
    assert any((new != old).any() for new, old in zip(written, expected, strict=True))
    # Nothing that numbers a contributor, a share or a dealing leaves the deal.
    names = [field.name for field in mechanism.report_fields]
    assert pq.read_schema(tmp_path / "r").names == [*names, "collection"]
    stated = pq.read_metadata(tmp_path / "r").metadata[b"deniable"].decode()
    assert ShareReader(tmp_path / "deal", survey).dealing not in stated


def test_the_order_comes_from_a_source_of_its_own() -> None:
    rng, untouched = SimulationRandomness(3), SimulationRandomness(3)
    spawned = [rng.spawn(), rng.spawn()]
    assert (draw(rng, 9) == draw(untouched, 9)).all()
    words = [draw(source, 9) for source in (*spawned, SimulationRandomness(3))]
    assert len({tuple(each) for each in words}) == 3
    assert (words[0] == draw(SimulationRandomness(3).spawn(), 9)).all()
    secure = SecureRandomness()
    assert isinstance(secure.spawn(), SecureRandomness)
    assert secure.spawn() is not secure
    assert (draw(secure.spawn(), 9) != draw(secure.spawn(), 9)).any()


# ------------------------------------------------------------------------------------------------------ blocks


@settings(max_examples=200, deadline=None)
@given(
    block=st.integers(2, 12),
    rows=st.integers(1, 30),
    batches=st.lists(st.integers(0, 30), max_size=8),
    seed=st.integers(0),
)
def test_the_blocks(block: int, rows: int, batches: list[int], seed: int) -> None:
    """All of `block` rows but the last two, which are of equal size; in each, the same reports as before."""
    n = sum(batches)
    numbers = np.arange(n, dtype=CODES.report_fields[0].dtype)
    parts = np.split(numbers, np.cumsum(batches)[:-1]) if batches else []
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, block)
        pieces = list(shuffled(CODES, iter(parts), rows, SimulationRandomness(seed)))
    found = np.concatenate([numbers[:0], *pieces]).tolist()
    whole = max(-(-n // block) - 2, 0)
    left = n - whole * block
    sizes = [block] * whole + ([left] if left <= block else [left - left // 2, left // 2])
    assert left <= block or left // 2 >= block // 2
    start = 0
    for size in sizes:
        assert sorted(found[start : start + size]) == list(range(start, start + size))
        start += size
    assert start == n == len(found)
    assert all(0 < len(piece) <= rows for piece in pieces)


def test_every_order_of_every_block_is_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven reports in blocks of four: one of 4 and one of 3 (the last two, as equal as can be), all 24 x 6 orders."""
    small_blocks(monkeypatch, 4)
    numbers, rng = np.arange(7, dtype=np.uint32), SimulationRandomness(1)
    seen = [tuple(np.concatenate(list(shuffled(CODES, [numbers], 7, rng))).tolist()) for _ in range(20_000)]
    orders = itertools.product(itertools.permutations(range(4)), itertools.permutations(range(4, 7)))
    law = {(*first, *second): 1 / 144 for first, second in orders}
    assert p_value(seen, law) >= FAMILY_WISE_ERROR


def test_nine_reports_in_blocks_of_four_are_four_three_and_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 5 reports after the whole blocks are divided as equally as possible, and mixed within the two parts."""
    small_blocks(monkeypatch, 4)
    rng, numbers = SimulationRandomness(1), np.arange(9, dtype=np.uint32)
    origins: list[set[int]] = [set() for _ in range(9)]
    for _ in range(200):
        for place, number in enumerate(np.concatenate(list(shuffled(CODES, [numbers], 9, rng))).tolist()):
            origins[place].add(number)
    assert origins == [{0, 1, 2, 3}] * 4 + [{4, 5, 6}] * 3 + [{7, 8}] * 2


def test_wide_reports_are_permuted_in_blocks_that_fit_into_memory() -> None:
    assert block_rows(GRR(k=2, epsilon=1.0)) == block_rows(OUE(k=8192, epsilon=1.0)) == 1 << 17
    assert block_rows(OUE(k=8200, epsilon=1.0)) == BLOCK_BYTES // 1025 < 1 << 17
    assert block_rows(OUE(k=8 * BLOCK_BYTES, epsilon=1.0)) == 2


# ------------------------------------------------------------------------------------------------- permutation


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_permutation_is_uniform(n: int) -> None:
    rng = SimulationRandomness(n)
    seen = [tuple(permutation(rng, n).tolist()) for _ in range(12_000)]
    orders = list(itertools.permutations(range(n)))
    assert p_value(seen, dict.fromkeys(orders, 1 / len(orders))) >= FAMILY_WISE_ERROR or n == 1


def test_every_place_of_a_large_permutation_is_equally_likely() -> None:
    """The compiled loop: where report 0 goes, and which report comes first, of 64."""
    rng = SimulationRandomness(1)
    orders = np.array([permutation(rng, 64) for _ in range(20_000)])
    assert (np.sort(orders) == np.arange(64)).all()
    for found in (orders.argmin(axis=1), orders.argmax(axis=1), orders[:, 0], orders[:, 63], orders[:, 31]):
        assert p_value(found.tolist(), dict.fromkeys(range(64), 1 / 64)) >= FAMILY_WISE_ERROR


@pytest.mark.parametrize("run", [_exchange.compiled, _exchange.interpreted])
@pytest.mark.parametrize("bound", [2, 3, 4, 7, 1 << 16, (1 << 17) - 1, 1 << 17])
def test_as_many_words_choose_one_place_as_another(run: Any, bound: int) -> None:
    """Number j is chosen by the words from j w to (j + 1) w - 1, w alike for all j; the rest is drawn again."""
    width = LARGEST // bound
    for j in {0, 1, bound // 2, bound - 1}:
        for word in (j * width, (j + 1) * width - 1):
            order = np.arange(bound)
            with np.errstate(over="ignore"):
                assert run(order, np.array([word], dtype=np.uint64), bound - 1) == bound - 2
            expected = np.arange(bound)
            expected[[bound - 1, j]] = expected[[j, bound - 1]]
            assert (order == expected).all()
    order = np.arange(bound)
    rejected = np.array([bound * width, LARGEST], dtype=np.uint64)
    assert run(order, rejected, bound - 1) == bound - 1
    assert (order == np.arange(bound)).all()


def test_a_rejected_word_is_drawn_again() -> None:
    class Scripted:
        """Of three numbers, the first exchange meets a word of the cut-off interval."""

        def __init__(self) -> None:
            self.script = [LARGEST, 0, 0]

        def fill(self, words: NDArray[np.uint64]) -> None:
            for i in range(len(words)):
                words[i] = self.script.pop(0)

    source = Scripted()
    assert permutation(source, 3).tolist() == [1, 2, 0]
    assert source.script == []
