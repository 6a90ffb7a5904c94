"""Counts of a deal by several helpers: circuits on all inputs, and exact distributions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from deniable.research.dealt.mpc import counts as drawing
from deniable.research.dealt.mpc.counts import (
    CountLaw,
    add,
    draw_types,
    less,
    less_than,
    one_hot,
    public_bits,
    search,
    trials,
)
from deniable.research.dealt.mpc.session import Session
from tests.research.dealt.mpc.sessions import FALSE_ALARM, Alone, numbers
from tests.unit._goodness import p_value


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_less_on_every_pair(alone: Alone, width: int) -> None:
    pairs = list(itertools.product(range(1 << width), repeat=2))
    left, right = (public_bits(side, width) for side in zip(*pairs, strict=True))
    expected = [int(a < b) for a, b in pairs]
    assert alone.run(less(alone.session(1), left, right)).tolist() == expected
    for bound in range(1 << width):
        below = alone.run(less_than(alone.session(1), public_bits(range(1 << width), width), bound))
        assert below.tolist() == [int(a < bound) for a in range(1 << width)]


def test_add_on_every_pair(alone: Alone) -> None:
    pairs = [(a, b) for a in range(8) for b in range(8)]
    left, right = (public_bits(side, 4) for side in zip(*pairs, strict=True))
    assert numbers(alone.run(add(alone.session(1), left, right))) == [a + b for a, b in pairs]


@pytest.mark.parametrize("size", [1, 5, 8, 16])
def test_one_hot_of_every_number(alone: Alone, size: int) -> None:
    hot = alone.run(one_hot(alone.session(1), public_bits(range(16), 4), size))
    assert (hot == np.eye(16, dtype=np.int64)[:, :size]).all()


@pytest.mark.parametrize("weights", [[1], [3, 5], [1, 1, 1], [7, 2, 9, 4, 1, 1]])
def test_search_finds_the_first_larger_cumulative_weight(alone: Alone, weights: list[int]) -> None:
    cumulative = list(itertools.accumulate(weights))
    below = range(cumulative[-1])
    bits = alone.run(search(alone.session(1), public_bits(below, cumulative[-1].bit_length()), cumulative))
    expected = [index for index, weight in enumerate(weights) for _ in range(weight)]
    assert numbers(bits) == expected


SMALL = CountLaw(2, 1, (2, 7, 10), (3, 8, 5, 1))
"""f(1), f(2), f(3) = 2, 5, 3; b = 3 - j_0 - j_1 with weights 3, 8, 5, 1 at n = 5."""


def exact_law(law: CountLaw) -> dict[tuple[int, ...], float]:
    f = np.diff([0, *law.cumulative]).tolist()
    weights = {
        counts: math.prod(f[j] for j in counts) * law.acceptance[sum(counts)]
        for counts in itertools.product(range(len(f)), repeat=law.k)
        if sum(counts) < len(law.acceptance)
    }
    total = sum(weights.values())
    return {tuple(law.first + j for j in counts): weight / total for counts, weight in weights.items()}


def test_counts_have_the_exact_law(alone: Alone) -> None:
    sums, indicator, accepted = alone.run(trials(alone.session(4), SMALL, 6000))
    assert set(accepted.tolist()) == {0, 1}
    first, both = np.array(numbers(sums[0])), np.array(numbers(sums[1]))
    assert ((indicator.sum(axis=1) == 1) == (both < 4)).all()
    kept = accepted == 1
    seen = [(1 + j, 1 + total - j) for j, total in zip(first[kept].tolist(), both[kept].tolist(), strict=True)]
    assert p_value(seen, exact_law(SMALL)) > FALSE_ALARM
    # Mutants: every trial is kept; the acceptance is read from the other end.
    inside = both < 4
    kept_all = [(1 + j, 1 + t - j) for j, t in zip(first[inside].tolist(), both[inside].tolist(), strict=True)]
    assert p_value(kept_all, exact_law(SMALL)) < FALSE_ALARM
    assert p_value(seen, exact_law(CountLaw(2, 1, (2, 7, 10), (1, 5, 8, 3)))) < FALSE_ALARM


@pytest.mark.long
@pytest.mark.parametrize("law", [SMALL, CountLaw(3, 0, (1, 3, 4), (1, 2, 3, 2))])
def test_types_have_the_exact_law(alone: Alone, law: CountLaw) -> None:
    n = law.k * law.first + len(law.acceptance) - 1
    seen = []
    for seed in range(250):
        types = alone.run(draw_types(alone.session(seed), law, n))
        assert types.tolist() == sorted(types.tolist())
        seen.append(tuple(np.bincount(types, minlength=law.k + 1)[: law.k].tolist()))
    assert p_value(seen, exact_law(law)) > FALSE_ALARM


def test_nothing_is_opened_but_verdicts(alone: Alone, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    candidates: list[int] = []
    open_, random_bits_ = Session.open, drawing.random_bits

    async def noted(self: Session, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        result = await open_(self, values)
        opened.extend(result.tolist())
        return result

    async def counted(session: Session, rows: int, width: int) -> np.ndarray[Any, Any]:
        candidates.append(rows)
        return await random_bits_(session, rows, width)

    monkeypatch.setattr(Session, "open", noted)
    monkeypatch.setattr(drawing, "random_bits", counted)
    sums, _, accepted = alone.run(trials(alone.session(6), SMALL, 500))
    # There is one verdict for each candidate number and for each trial, and no other value.
    assert len(opened) == sum(candidates) + 500
    assert set(opened) == {0, 1}
    # The kept trial says nothing about the verdict on the trial before it.
    totals = np.array(numbers(sums[1]))
    pairs = zip(totals[1:][accepted[1:] == 1].tolist(), accepted[:-1][accepted[1:] == 1].tolist(), strict=True)
    share = accepted.mean()
    law = dict.fromkeys(range(4), 0.0)
    for counts, probability in exact_law(SMALL).items():
        law[sum(counts) - 2] += probability
    joint = {(t, v): p * (share if v else 1 - share) for t, p in law.items() for v in (0, 1)}
    assert p_value(pairs, joint) > FALSE_ALARM
