"""Subsets drawn in bulk: exact by enumeration of the words, whatever the words are cut into."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.oracles import subset_bulk
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.subset_bulk import (
    _PACKED,
    _POPULATION,
    SIDE_BY_SIDE,
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
    """By the zero-one principle: all sequences of zeros and ones; long ones in random orders."""
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
    accepted: list[tuple[int, ...]] = []
    firsts = -(-(np.arange(k - 1) << 16) // (k - 1)) + 1  # a 16-bit chunk, not a biased one, for every value
    for start in range(0, len(draws), SIDE_BY_SIDE):
        part = draws[start : start + SIDE_BY_SIDE]
        n = len(part)
        lanes = np.concatenate([part, np.repeat(part[-1:], SIDE_BY_SIDE - n, axis=0)])
        reports, pending = np.zeros((n, omega), dtype=np.uint8), np.arange(n)[::-1].copy()
        table = np.empty((omega, SIDE_BY_SIDE), dtype=np.uint16)
        left, used = sort_sets.compiled(
            np.full(n, x), np.full(n, inside), firsts[lanes].T.reshape(-1).astype(np.uint16), pending, n, k,
            sorting_network(omega), table, reports,
        )  # fmt: skip
        assert used == omega * SIDE_BY_SIDE
        again = set(pending[:left].tolist())
        accepted += [tuple(row) for r, row in enumerate(reports.tolist()) if r not in again]
    return accepted


@pytest.mark.parametrize(("k", "omega"), [(4, 1), (5, 2), (6, 3)])
def test_sorted_sets_are_exactly_uniform(k: int, omega: int) -> None:
    """Over all draws, every set of the right kind comes up equally often, and no other does."""
    draws = np.array(list(itertools.product(range(k - 1), repeat=omega)))
    for x, inside in itertools.product(range(k), (False, True)):
        found = Counter(sorted_once(k, omega, x, inside, draws))
        sets = possible(k, omega, x, inside)
        assert found.keys() == set(sets)
        assert len(set(found.values())) == 1


def filled_once(k: int, omega: int, x: int, inside: bool, share: int, words: list[int]) -> tuple[int, ...] | None:
    """Return the set that these words draw, or None if they do not suffice."""
    state, reports = np.zeros(5, dtype=np.int64), np.zeros(omega + 16, dtype=np.uint8)
    threshold = np.uint64(2**63)
    stream = np.array([0 if inside else 2**64 - 1, *words], dtype=np.uint64)
    zero, scratch = np.zeros(1, dtype=np.uint64), np.zeros(omega + 8, dtype=np.uint8)
    used = fill_sets.compiled(
        np.array([x]), stream, threshold, k, share, 1, 16, True, state, zero, zero.copy(), scratch, _PACKED,
        _POPULATION, reports,
    )  # fmt: skip
    assert used <= 1 + len(words)
    return tuple(reports[:omega].tolist()) if state[0] else None


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


@pytest.mark.parametrize(("k", "epsilon"), [(40, 1.0), (200, 0.5), (700, 1.0), (3000, 3.0), (70_000, 2.0)])
def test_rows_may_be_interrupted_anywhere(k: int, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of a stream make the same sets, whatever pieces they come in."""
    mechanism = SubsetSelection(k=k, epsilon=epsilon)
    assert plan_for(k, mechanism._size).network is None
    codes = np.arange(60) * 7919 % k
    at_once, piecewise = (np.empty((60, mechanism._size), mechanism.report_fields[0].dtype) for _ in range(2))
    fill_many(codes, np.uint64(mechanism._inclusion), k, SimulationRandomness(3), at_once)
    monkeypatch.setattr(subset_bulk, "BLOCK_WORDS", 1)
    fill_many(codes, np.uint64(mechanism._inclusion), k, SimulationRandomness(3), piecewise)
    np.testing.assert_array_equal(piecewise, at_once)
    assert (np.diff(at_once.astype(np.int64), axis=1) > 0).all()
    assert int(at_once.max()) < k


def test_plans() -> None:
    assert plan_for(1024, 18).network is not None
    assert plan_for(1 << 32, 3).chunk == 32
    assert plan_for(128, 34).network is None
    assert plan_for(128, 34).share * 4 == 1 << plan_for(128, 34).share_bits
    assert plan_for(10_000_000, 2_700_000).share_bits == 0  # its words would not fit the buffer


def test_words_come_in_blocks_and_few_are_drawn_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    fill = SimulationRandomness.fill

    def counted(self: SimulationRandomness, words: NDArray[np.uint64]) -> None:
        drawn.append(len(words))
        fill(self, words)

    monkeypatch.setattr(SimulationRandomness, "fill", counted)
    n, k, omega = 2_000, 40, 8
    assert plan_for(k, omega).network is None
    reports = np.empty((n, omega), dtype=np.uint8)
    fill_many(np.zeros(n, dtype=np.uint8), np.uint64(1) << np.uint64(63), k, SimulationRandomness(1), reports)
    per_row = 2 + plan_for(k, omega).share_bits + omega // 4
    assert len(drawn) <= 2
    assert sum(drawn) <= 2 * n * per_row
