"""The helpers' programs, run by one party in this process: exact distributions, and values that must stay secret.

Statistical tests have fixed seeds and a false-alarm probability of 1e-6 each.
"""

from __future__ import annotations

import itertools
import math
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deniable import SimulationRandomness
from deniable.research.dealt.mpc.counts import (
    public_bits,
    random_bits,
    search,
    uniform_below,
)
from deniable.research.dealt.mpc.plan import count_law, plan_of
from deniable.research.dealt.mpc.polynomials import prime_above
from deniable.research.dealt.mpc.session import Session
from deniable.research.dealt.mpc.shuffling import shuffle_by_network, shuffle_by_resharing
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.tables import quota_tables
from tests.research.dealt.mpc.sessions import FALSE_ALARM, Alone, numbers
from tests.unit._goodness import p_value

# ---------------------------------------------------------------- one party in this process: exact distributions


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
    # Mutant: the remainder of a power of two replaces rejection.
    folded = [value % 5 for value in numbers(bits)]
    assert p_value(folded, dict.fromkeys(range(5), 1 / 5)) < FALSE_ALARM


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


# ---------------------------------------------------------------- knowledge of helpers


class Third:
    """A session of the third of five helpers that records who deals which values; shares are the values themselves."""

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
    # Mutant: fewer than t + 1 = 3 helpers. Two that collude would then know the counts or the order.
    assert session.dealers == [[0, 1, 2]] * 3


@pytest.mark.parametrize("shuffle", SHUFFLERS)
def test_what_contributors_get_is_freshly_shared(
    alone: Alone, shuffle: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The outputs of a switch have polynomials of known sum. With these polynomials, one contributor would know
    # another's share.
    async def marked(_: Session, values: np.ndarray[Any, Any], group: Any) -> np.ndarray[Any, Any]:
        assert list(group) == [0]
        return values + 100

    monkeypatch.setattr(Session, "reshare", marked)
    shuffled = alone.run(shuffle(alone.session(7), np.arange(5)))
    assert sorted(shuffled.tolist()) == [100, 101, 102, 103, 104]


def test_no_message_is_unpickled(alone: Alone) -> None:
    codec = sys.modules["mpyc.runtime"].pickle
    assert codec.loads(codec.dumps([1, 2])) == [1, 2]
    with pytest.raises(ValueError, match=r".*"):
        codec.loads(pickle.dumps([1, 2]))


def test_field_holds_types_and_points() -> None:
    assert [prime_above(bound) for bound in (1, 250, 251, 65535)] == [2, 251, 257, 65537]
    assert plan_of(QuotaRR(1.0, 1000, k=300), 1000).modulus == 307
