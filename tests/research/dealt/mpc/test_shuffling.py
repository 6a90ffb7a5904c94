"""Waksman's network: all permutations, few switches, and the same wiring for all helpers."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from deniable.research.dealt.mpc.shuffling import Layer, route, shuffling_groups


def apply_layers(values: np.ndarray[Any, Any], layers: list[Layer]) -> list[int]:
    """Put values through the switches, in the clear."""
    result: list[int] = values.tolist()
    for layer in layers:
        for up, down, crossed in zip(*layer, strict=True):
            if crossed:
                result[up], result[down] = result[down], result[up]
    return result


def switches(n: int) -> int:
    return sum(len(bits) for _, _, bits in route(range(n)))


@pytest.mark.parametrize("n", range(1, 7))
def test_network_routes_every_permutation(n: int) -> None:
    wiring = [layer[:2] for layer in route(range(n))]
    for permutation in itertools.permutations(range(n)):
        layers = route(permutation)
        assert apply_layers(np.arange(n), layers) == list(permutation)
        # The part that all helpers see does not depend on the permutation.
        assert [layer[:2] for layer in layers] == wiring


def test_network_is_as_small_as_waksman_says() -> None:
    assert [switches(n) for n in (1, 2, 3, 4, 5, 6, 7, 8)] == [0, 1, 3, 5, 8, 11, 14, 17]
    assert switches(500) == 3989
    assert len(route(range(500))) == 17


def test_random_switches_would_not_be_uniform() -> None:
    layers = route(range(4))
    size = switches(4)
    orders: Counter[tuple[int, ...]] = Counter()
    for settings in itertools.product((0, 1), repeat=size):
        rest = iter(settings)
        layered = [(upper, lower, [next(rest) for _ in upper]) for upper, lower, _ in layers]
        orders[tuple(apply_layers(np.arange(4), layered))] += 1
    assert len(orders) == 24
    assert set(orders.values()) == {1, 2}


@pytest.mark.parametrize(("parties", "degree", "size"), [(3, 1, 3), (4, 1, 2), (5, 2, 10)])
def test_every_coalition_misses_a_permutation(parties: int, degree: int, size: int) -> None:
    groups = shuffling_groups(parties, degree)
    assert len(groups) == size
    assert {len(group) for group in groups} == {degree + 1}
    for coalition in itertools.combinations(range(parties), degree):
        assert any(not set(coalition) & set(group) for group in groups)
        # Mutant: without the groups that avoid the coalition, the coalition would know every permutation.
        known = [group for group in groups if set(coalition) & set(group)]
        assert len(known) < len(groups)
