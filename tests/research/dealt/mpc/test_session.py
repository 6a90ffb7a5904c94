"""The helpers' programs, run by one party in this process: exact laws, and what must not be told.

Statistical tests have fixed seeds and a false-alarm probability of 1e-6 each.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import pickle
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from deniable import SimulationRandomness
from deniable.research.dealt.mpc import counts as drawing
from deniable.research.dealt.mpc.counts import (
    CountLaw,
    add,
    draw_types,
    less,
    less_than,
    one_hot,
    public_bits,
    random_bits,
    search,
    trials,
    uniform_below,
)
from deniable.research.dealt.mpc.plan import count_law, plan_of
from deniable.research.dealt.mpc.polynomials import prime_above, recombination, value_at
from deniable.research.dealt.mpc.session import Session, load_runtime
from deniable.research.dealt.mpc.shuffling import shuffle_by_network, shuffle_by_resharing, shuffling_groups
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.tables import quota_tables
from tests.unit._goodness import p_value

FALSE_ALARM = 1e-6

# ---------------------------------------------------------------- one party in this process: exact laws


class Alone:
    """A session of one party: no peers, no polynomials, the same program."""

    def __init__(self) -> None:
        self.runtime = load_runtime()

    def session(self, seed: int) -> Session:
        return Session(self.runtime, 251, SimulationRandomness(seed))

    def run(self, program: Awaitable[Any]) -> Any:
        asyncio.set_event_loop(self.runtime._loop)
        return self.runtime.run(program)


@pytest.fixture(scope="module")
def alone() -> Alone:
    return Alone()


def numbers(bits: np.ndarray[Any, Any]) -> list[int]:
    return [int("".join(str(bit) for bit in row) or "0", 2) for row in bits.tolist()]


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


def test_search_at_every_edge_of_the_integer_tables(alone: Alone) -> None:
    law = count_law(quota_tables(40, 2, 9, QuotaRR(1.0, 40).weight))
    edges = [*[edge - step for edge in law.cumulative[:-1] for step in (0, 1)], law.cumulative[-1] - 1]
    expected = [index + (step == 0) for index in range(len(law.cumulative) - 1) for step in (0, 1)]
    bits = alone.run(search(alone.session(1), public_bits(edges, law.cumulative[-1].bit_length()), law.cumulative))
    assert numbers(bits) == [*expected, len(law.cumulative) - 1]


def test_law_of_the_helpers_is_the_dealers() -> None:
    tables = quota_tables(40, 3, 5, QuotaRR(1.0, 40, k=3).weight)
    law = count_law(tables)
    for a in range(law.first - 1, 31):
        below = law.cumulative[a - law.first - 1] if a > law.first else 0
        assert a < law.first or law.cumulative[a - law.first] - below == tables.quota.weight(a)
    assert law.first + len(law.cumulative) - 1 == tables.quota.last == 30
    for counts in itertools.product(range(law.first, 31), repeat=3):
        j = sum(counts) - 3 * law.first
        weight = law.acceptance[j] if j < len(law.acceptance) else 0
        assert weight == tables.truth.weight(40 - sum(counts))
    assert max(law.acceptance) == tables.truth.largest


def test_random_bits_and_numbers_are_uniform(alone: Alone) -> None:
    bits = alone.run(random_bits(alone.session(2), 2000, 3))
    assert p_value(numbers(bits), dict.fromkeys(range(8), 1 / 8)) > FALSE_ALARM
    drawn = numbers(alone.run(uniform_below(alone.session(3), 2000, 5)))
    assert len(drawn) == 2000
    assert p_value(drawn, dict.fromkeys(range(5), 1 / 5)) > FALSE_ALARM
    # Mutant: the remainder of a power of two instead of rejection.
    folded = [value % 5 for value in numbers(bits)]
    assert p_value(folded, dict.fromkeys(range(5), 1 / 5)) < FALSE_ALARM


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
    # Mutants: every trial kept; the acceptance read from the other end.
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


@pytest.mark.parametrize("n", [2, 3, 7, 50])
def test_types_of_every_size_are_valid(alone: Alone, n: int) -> None:
    for k in (2, 3):
        if k >= n:
            continue
        quota = QuotaRR(1.0, n, k=k)
        plan = plan_of(quota, n)
        assert plan.law is not None
        counts = np.bincount(alone.run(draw_types(alone.session(n), plan.law, n)), minlength=k + 1)
        assert counts.sum() == n
        assert len(counts) == k + 1
        assert (counts[:k] >= quota.a0).all()


SHUFFLERS: list[Callable[..., Any]] = [shuffle_by_resharing, shuffle_by_network]


@pytest.mark.long
@pytest.mark.parametrize("shuffle", SHUFFLERS)
@pytest.mark.parametrize(("n", "deals"), [(2, 1000), (3, 1500), (4, 3000)])
def test_order_is_uniform(alone: Alone, shuffle: Callable[..., Any], n: int, deals: int) -> None:
    session = alone.session(5)

    async def many() -> list[tuple[int, ...]]:
        return [tuple((await shuffle(session, np.arange(n))).tolist()) for _ in range(deals)]

    law = {order: 1 / math.factorial(n) for order in itertools.permutations(range(n))}
    assert p_value(alone.run(many()), law) > FALSE_ALARM


# ---------------------------------------------------------------- who knows what


@pytest.mark.parametrize(("parties", "degree", "size"), [(3, 1, 3), (4, 1, 2), (5, 2, 10)])
def test_every_coalition_misses_a_permutation(parties: int, degree: int, size: int) -> None:
    groups = shuffling_groups(parties, degree)
    assert len(groups) == size
    assert {len(group) for group in groups} == {degree + 1}
    for coalition in itertools.combinations(range(parties), degree):
        assert any(not set(coalition) & set(group) for group in groups)
        # Mutant: without the groups that avoid it, the coalition would know every permutation.
        known = [group for group in groups if set(coalition) & set(group)]
        assert len(known) < len(groups)


class Third:
    """A session of the third of five helpers that notes who deals what; shares are the values themselves."""

    party, parties, degree, modulus = 2, 5, 2, 251

    def __init__(self) -> None:
        self.rng = SimulationRandomness(8)
        self.dealers: list[list[int]] = []

    async def multiply(self, left: Any, right: Any) -> Any:
        return left * right % self.modulus

    async def share(self, values: Any, senders: Any) -> list[Any]:
        self.dealers.append(list(senders))
        return [np.roll(values, sender) for sender in senders]

    async def reshare(self, values: Any, group: Any) -> Any:
        self.dealers.append(list(group))
        return values


def test_no_t_helpers_draw_a_bit_or_an_order(alone: Alone) -> None:
    session: Any = Third()
    bits = alone.run(random_bits(session, 64, 1))
    assert set(bits.ravel().tolist()) == {0, 1}
    alone.run(shuffle_by_network(session, np.arange(6)))
    # Mutant: fewer than t + 1 = 3 of them; two that collude would know the counts or the order.
    assert session.dealers == [[0, 1, 2]] * 3


@pytest.mark.parametrize("shuffle", SHUFFLERS)
def test_what_contributors_get_is_freshly_shared(
    alone: Alone, shuffle: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The outputs of a switch have polynomials of known sum: with them, one contributor would know another's.
    async def marked(_: Session, values: np.ndarray[Any, Any], group: Any) -> np.ndarray[Any, Any]:
        assert list(group) == [0]
        return values + 100

    monkeypatch.setattr(Session, "reshare", marked)
    shuffled = alone.run(shuffle(alone.session(7), np.arange(5)))
    assert sorted(shuffled.tolist()) == [100, 101, 102, 103, 104]


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
    # One verdict for each candidate number and for each trial, and no other value.
    assert len(opened) == sum(candidates) + 500
    assert set(opened) == {0, 1}
    # What is kept says nothing about the verdict on the trial before it.
    totals = np.array(numbers(sums[1]))
    pairs = zip(totals[1:][accepted[1:] == 1].tolist(), accepted[:-1][accepted[1:] == 1].tolist(), strict=True)
    share = accepted.mean()
    law = dict.fromkeys(range(4), 0.0)
    for counts, probability in exact_law(SMALL).items():
        law[sum(counts) - 2] += probability
    joint = {(t, v): p * (share if v else 1 - share) for t, p in law.items() for v in (0, 1)}
    assert p_value(pairs, joint) > FALSE_ALARM


def test_no_message_is_unpickled(alone: Alone) -> None:
    codec = sys.modules["mpyc.runtime"].pickle
    assert codec.loads(codec.dumps([1, 2])) == [1, 2]
    with pytest.raises(ValueError, match=r".*"):
        codec.loads(pickle.dumps([1, 2]))


def test_polynomials_are_recombined() -> None:
    # f(x) = 5 + 3 x + 2 x^2 mod 7 at 1, 2, 3: 3, 5, 4.
    assert value_at([1, 2, 3], np.array([[3], [5], [4]]), 7).tolist() == [5]
    assert value_at([2, 3], np.array([[1], [2]]), 7, at=1).tolist() == [0]
    assert recombination([1, 2, 3], 7) == [3, 4, 1]


def test_field_holds_types_and_points() -> None:
    assert [prime_above(bound) for bound in (1, 250, 251, 65535)] == [2, 251, 257, 65537]
    assert plan_of(QuotaRR(1.0, 1000, k=300), 1000).modulus == 307
