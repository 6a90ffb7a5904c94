"""Subsets drawn in bulk: exact by enumeration of the words, for all divisions of the words."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.randomness import BLOCK_WORDS, draw
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.subset_bulk import (
    _PACKED,
    _PACKED_WIDE,
    _POPULATION,
    SIDE_BY_SIDE,
    Plan,
    fill_many,
    fill_sets,
    plan_for,
    sort_sets,
    sorting_network,
)


def possible(k: int, omega: int, x: int, inside: bool) -> list[tuple[int, ...]]:
    return [s for s in itertools.combinations(range(k), omega) if (x in s) is inside]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 11, 64])
def test_networks_sort(size: int) -> None:
    """By the zero-one principle: all sequences of zeros and ones, and long ones in random orders."""
    table: NDArray[Any]
    if size <= 11:
        table = np.array(list(itertools.product((0, 1), repeat=size)), dtype=np.uint8).T.copy()
    else:
        table = np.argsort(np.random.default_rng(1).random((2000, size)), axis=1).T.copy()
    expected = np.sort(table, axis=0)
    for i, j in sorting_network(size):
        table[i], table[j] = np.minimum(table[i], table[j]), np.maximum(table[i], table[j])
    np.testing.assert_array_equal(table, expected)


def sorted_once(k: int, omega: int, x: int, inside: bool, draws: NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Return the accepted sets of one pass over the given draws, one row each."""
    n, each = len(draws), -(-omega // 4) * 4
    firsts = -(-(np.arange(k - 1) << 16) // (k - 1)) + 1  # every value has a 16-bit chunk that is not biased
    chunks = np.zeros(n * each, dtype=np.uint16)
    for start in range(0, n, SIDE_BY_SIDE):
        part = firsts[draws[start : start + SIDE_BY_SIDE]].T.reshape(-1)
        chunks[start * each : start * each + part.size] = part
    reports, rows = np.zeros((n, omega), dtype=np.uint8), np.arange(n)
    refused = sort_sets.compiled(
        rows, chunks, np.full(n, x), np.full(n, inside), k, sorting_network(omega),
        np.empty((omega, SIDE_BY_SIDE), dtype=np.uint16), reports,
    )  # fmt: skip
    again = set(rows[:refused].tolist())
    assert len(again) == refused
    return [tuple(row) for r, row in enumerate(reports.tolist()) if r not in again]


@pytest.mark.parametrize(("k", "omega"), [(4, 1), (5, 2), (6, 3)])
def test_sorted_sets_are_exactly_uniform(k: int, omega: int) -> None:
    """Over all draws, all sets of the right kind occur equally often, and no others occur."""
    draws = np.array(list(itertools.product(range(k - 1), repeat=omega)))
    for x, inside in itertools.product(range(k), (False, True)):
        found = Counter(sorted_once(k, omega, x, inside, draws))
        sets = possible(k, omega, x, inside)
        assert found.keys() == set(sets)
        assert len(set(found.values())) == 1


def filled_once(k: int, omega: int, x: int, inside: bool, share: int, words: list[int]) -> tuple[int, ...] | None:
    """Return the set drawn by these words, or None if there are too few words."""
    reports, rows = np.zeros((1, omega), dtype=np.uint8), np.zeros(1, dtype=np.int64)
    refused = fill_sets.compiled(
        rows, np.array(words, dtype=np.uint64), np.array([x]), np.array([inside]), k, share, 1, 16, _PACKED,
        _POPULATION, True, reports, reports.reshape(-1),
    )  # fmt: skip
    return None if refused else tuple(reports[0].tolist())


@pytest.mark.parametrize(("k", "omega", "x"), [(4, 1, 3), (4, 2, 0), (4, 3, 1)])
def test_filled_sets_are_exactly_uniform(k: int, omega: int, x: int) -> None:
    """Over all first choices and all four values after them; k is a power of two, so that no chunk is biased."""
    tails = [sum(v << (14 + 16 * i) for i, v in enumerate(values)) for values in itertools.product(range(k), repeat=4)]
    for inside in (False, True):
        found: Counter[Any] = Counter()
        for taken, values in itertools.product(range(1 << k), tails):
            found[filled_once(k, omega, x, inside, 1, [taken, values])] += 1
        unfinished = found.pop(None, 0)
        assert 0 < unfinished < sum(found.values())
        assert found.keys() == set(possible(k, omega, x, inside))
        assert len(set(found.values())) == 1


@pytest.mark.parametrize(
    ("k", "epsilon", "omega"), [(40, 1.0, 11), (200, 0.5, 76), (700, 1.0, 188), (1000, 5.0, 6), (70_000, 2.0, 8353)]
)
def test_a_word_decides_its_own_row_alone(k: int, epsilon: float, omega: int) -> None:
    """Changing one row's words changes this row's set, and no other row's set or refusal."""
    mechanism = SubsetSelection(k, epsilon, omega)
    plan, n = plan_for(k, omega), 70
    codes, included = np.arange(n) * 7919 % k, np.arange(n) % 2 == 0
    words = draw(SimulationRandomness(1), n * plan.width)

    def drawn() -> list[list[int] | None]:
        rows, reports = np.arange(n), np.zeros((n, omega), dtype=mechanism.report_fields[0].dtype)
        if plan.network is None:
            packed = _PACKED if reports.dtype.itemsize == 1 else _PACKED_WIDE
            refused = fill_sets.compiled(
                rows, words, codes, included, k, plan.share, plan.share_bits, plan.chunk, packed, _POPULATION, False,
                reports, reports.reshape(-1),
            )  # fmt: skip
        else:
            table = np.empty((omega, SIDE_BY_SIDE), dtype=np.uint16)
            refused = sort_sets.compiled(rows, words.view(np.uint16), codes, included, k, plan.network, table, reports)
        again = set(rows[:refused].tolist())
        return [None if row in again else report for row, report in enumerate(reports.tolist())]

    before, moved = drawn(), Counter[int]()
    # If there are many places, 100 are tried: they lie in about 70 (1 - exp(-100/70)) = 53 rows.
    places = range(n * plan.width) if plan.width < 200 else np.random.default_rng(1).integers(n * plan.width, size=100)
    for place in places:
        words[place] ^= np.uint64(0x8000800080008000)
        differ = [row for row, (one, other) in enumerate(zip(before, drawn(), strict=True)) if one != other]
        words[place] ^= np.uint64(0x8000800080008000)
        own = _rows_of(int(place), plan, n, omega)
        assert set(differ) <= own
        moved.update(differ)
    assert len(moved) > n / 2


def _rows_of(place: int, plan: Plan, n: int, omega: int) -> set[int]:
    """Return the rows that have a piece of a word: one, but where rows lie side by side their first chunks do."""
    if plan.network is None:
        return {place // plan.width}
    group = place // (SIDE_BY_SIDE * plan.width)
    many = min(SIDE_BY_SIDE, n - group * SIDE_BY_SIDE)
    chunks = 4 * (place - group * SIDE_BY_SIDE * plan.width) + np.arange(4)
    return {group * SIDE_BY_SIDE + int(c) % many for c in chunks if c < many * omega}


def test_refused_rows_are_drawn_again_and_others_stay() -> None:
    """Whatever the size of a block: all sets are sorted, of the right size, and hold their code where they must."""
    for k, omega in ((40, 11), (300, 90), (1000, 6), (5000, 900)):
        codes = np.arange(40_000) % k
        reports = np.zeros((len(codes), omega), dtype=np.uint8 if k <= 256 else np.uint16)
        fill_many(codes, np.uint64(2**64 - 1), k, SimulationRandomness(3), reports)
        assert (np.diff(reports.astype(np.int64), axis=1) > 0).all()
        assert int(reports.max()) < k
        assert (reports == codes[:, None]).any(axis=1).all()


def test_plans() -> None:
    assert plan_for(1024, 18).network is not None
    assert plan_for(1 << 32, 3).chunk == 32
    assert plan_for(128, 34).network is None
    assert plan_for(128, 34).share * 4 == 1 << plan_for(128, 34).share_bits
    assert plan_for(10_000_000, 2_700_000).share_bits == 0  # its words would not fit a block


@pytest.mark.parametrize(("k", "omega"), [(40, 8), (128, 34), (256, 69), (700, 188), (1024, 18), (20, 5), (3000, 142)])
def test_few_words_are_drawn_in_vain(monkeypatch: pytest.MonkeyPatch, k: int, omega: int) -> None:
    """At most half of the sorted rows are refused, and a sixth of the filled rows."""
    drawn: list[int] = []
    fill = SimulationRandomness.fill

    def counted(self: SimulationRandomness, words: NDArray[np.uint64]) -> None:
        drawn.append(len(words))
        fill(self, words)

    monkeypatch.setattr(SimulationRandomness, "fill", counted)
    n, plan = 20_000, plan_for(k, omega)
    reports = np.empty((n, omega), dtype=np.uint16)
    fill_many(np.zeros(n, dtype=np.uint16), np.uint64(1) << np.uint64(63), k, SimulationRandomness(1), reports)
    assert max(drawn) <= BLOCK_WORDS
    assert sum(drawn) <= n + (2 if plan.network is not None else 1.2) * n * plan.width


@pytest.mark.parametrize(("k", "omega", "width"), [(100, 99, 73), (1000, 999, 1171), (20_000, 19_999, 73_288)])
def test_sets_of_nearly_all_values_take_as_many_words_as_a_collector_of_coupons(k: int, omega: int, width: int) -> None:
    """About k ln k values of 16 or 32 bits; a row is seldom refused."""
    assert plan_for(k, omega).width == width
    codes, reports = np.arange(40) % k, np.zeros((40, omega), dtype=np.uint16)
    fill_many(codes, np.uint64(2**63), k, SimulationRandomness(1), reports)
    assert (np.diff(reports.astype(np.int64), axis=1) > 0).all()


@pytest.mark.parametrize(("k", "omega"), [(3 * 10**9, 45), (2**31 + 2, 29)])
def test_where_chunks_are_mostly_biased_sets_are_drawn_one_by_one(k: int, omega: int) -> None:
    assert plan_for(k, omega).width == 0
    codes, reports = np.arange(200), np.zeros((200, omega), dtype=np.uint32)
    fill_many(codes, np.uint64(2**64 - 1), k, SimulationRandomness(1), reports)
    assert (np.diff(reports.astype(np.int64), axis=1) > 0).all()
    assert (reports == codes[:, None]).any(axis=1).all()
