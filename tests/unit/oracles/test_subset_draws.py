"""Random subsets: exactly uniform, and Floyd's algorithm by hand."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from deniable.oracles.subset_draws import draw_subsets, subset_of, uniform_indices
from tests.unit._goodness import FAMILY_WISE_ERROR, p_value
from tests.unit.oracles.subset_laws import Scripted


@pytest.mark.parametrize(("k", "omega"), [(k, omega) for k in (2, 3, 4, 5, 6) for omega in range(1, k)])
def test_floyd_is_exactly_uniform(k: int, omega: int) -> None:
    """Over all index draws, all subsets of the right kind occur equally often, and no others occur."""
    indices = list(itertools.product(*map(range, range(k - omega, k))))
    for x, inside in itertools.product(range(k), (False, True)):
        made = Counter(tuple(subset_of(x, inside, list(proposed), k)) for proposed in indices)
        possible = [s for s in itertools.combinations(range(k), omega) if (x in s) is inside]
        assert made == dict.fromkeys(possible, len(indices) // len(possible))


def _floyd_by_hand(k: int, omega: int, x: int, inside: bool, draws: list[int], renumber: str) -> list[int]:
    chosen: set[int] = set()
    for i in range(int(inside), omega):
        chosen.add(draws[i] if draws[i] not in chosen else k - 1 - omega + i)
    if renumber == "swap":
        others = {k - 1 if t == x else t for t in chosen}
    else:
        others = {t + 1 if t >= x else t for t in chosen}
    return sorted(others | {x}) if inside else sorted(others)


@pytest.mark.parametrize(("k", "omega"), [(64, 17), (65, 64), (128, 1), (200, 90), (1000, 3), (1000, 4)])
def test_subsets_are_those_of_floyd_by_hand(k: int, omega: int) -> None:
    generator = np.random.default_rng(k)
    renumber = "shift" if omega in (1, 3) else "swap"
    for x in (0, k - 1, k - 2, *generator.integers(0, k, size=57).tolist()):
        indices, inside = generator.integers(0, np.arange(k - omega, k)).tolist(), bool(generator.integers(0, 2))
        assert subset_of(x, inside, indices, k) == _floyd_by_hand(k, omega, x, inside, indices, renumber)


@pytest.mark.parametrize("bound", [1, 2, 3, 47, 64, 1000, 99_999, 2**31 + 1, 2**32 - 1])
def test_index_draws_are_exactly_uniform(bound: int) -> None:
    """Every index owns floor(2^32/bound) of the 2^32 half words; the draw agrees at the ends of its interval."""
    limit = 2**32 % bound
    for t in {0, bound // 3, bound // 2, bound - 1}:
        first = -(-(t * 2**32 + limit) // bound)  # this is the smallest half word h with h bound >= t 2^32 + limit
        last = -(-(t + 1) * 2**32 // bound) - 1  # this is the largest with h bound < (t + 1) 2^32
        assert last - first + 1 == 2**32 // bound
        halves = [first, last] + ([first - 1] if first * bound - bound >= t * 2**32 else [])
        bounds, limits = np.full(2, bound, dtype=np.uint64), np.full(2, limit, dtype=np.uint32)
        indices, rejected = uniform_indices(np.repeat(np.array(halves, np.uint32)[:, None], 2, axis=1), bounds, limits)
        assert indices[:2].tolist() == [[t, t]] * 2
        assert rejected.tolist() == [[False] * 2, [False] * 2, [True] * 2][: len(halves)]


def test_rejected_indices_are_drawn_again() -> None:
    """Words of zeros reject every index whose bound is no power of two; the replacements are uniform."""
    k, omega, n = 6, 3, 10_000
    words = np.zeros((n, 3), dtype=np.uint64)
    words[:, 0] = 2**64 - 1
    # Bound 4 always gives 0 here. So the comparison is with the distribution conditional on that, which enumerates the
    # other two indices.
    subsets = draw_subsets([2] * n, 1, k, omega, Scripted(words))
    law: Counter[tuple[int, ...]] = Counter()
    for first, last in itertools.product(range(3), range(5)):
        law[tuple(_floyd_by_hand(k, omega, 2, False, [first, 0, last], "swap"))] += 1
    assert p_value(list(map(tuple, subsets)), {s: count / 15 for s, count in law.items()}) >= FAMILY_WISE_ERROR
