"""Secret shuffles of shared values, by resharing or by switching networks, so that no t helpers know the order.

Each helper (or each group) that takes part permutes with a uniform permutation of its own. The composition is uniform
and independent of what a coalition knows as soon as one of the permutations is unknown to the coalition.

The switching network is Waksman's, for any n. It has every permutation, with n log2 n - n + 1 switches at a power of
two.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deniable.research.dealt.mpc.session import Session, Shares
from deniable.research.dealt.quota.tables import integer_below

Layer = tuple[list[int], list[int], list[int]]
"""Switches that act side by side: upper wires, lower wires, and 1 if the two are crossed."""


def route(permutation: Sequence[int]) -> list[Layer]:
    """Return the layers that put wire permutation[j] at place j.

    The wires and layers depend on n alone.

    Examples
    --------
    >>> route([1, 0, 2])
    [([0], [1], [1]), ([1], [2], [0]), ([0], [1], [0])]
    """
    n = len(permutation)
    depth = (n - 1).bit_length() if n > 1 else 0
    layers: list[Layer] = [([], [], []) for _ in range(max(2 * depth - 1, 0))]
    todo = [(list(permutation), list(range(n)), 0)]
    while todo:
        wanted, wires, level = todo.pop()
        if len(wires) < 2:
            continue
        entry, leave, upper, lower = _split(wanted)
        for bits, layer in ((entry, layers[level]), (leave, layers[-1 - level])):
            for j, bit in enumerate(bits):
                layer[0].append(wires[2 * j])
                layer[1].append(wires[2 * j + 1])
                layer[2].append(bit)
        half = len(wires) // 2
        todo.append((upper, wires[: 2 * half : 2], level + 1))
        todo.append((lower, wires[1 : 2 * half : 2] + wires[2 * half :], level + 1))
    return layers


def _split(wanted: list[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return the entry and leaving switches, and the permutations of the upper and the lower half network.

    Wires 2j and 2j+1 meet in entry switch j: one goes up and one goes down. The same holds for the leaving switches.
    For an odd number of wires, the last wire goes down on both sides. For an even number, the last leaving switch is
    straight and left out.
    """
    n = len(wanted)
    half = n // 2
    place = sorted(range(n), key=wanted.__getitem__)
    goes_up: list[bool | None] = [None] * n  # the index is the place on leaving
    starts = [(n - 1, False), *((j, True) for j in range(n))]
    for start, up in starts:
        j = start
        while goes_up[j] is None:
            goes_up[j] = up
            partner_in = wanted[j] ^ 1
            if partner_in >= 2 * half or wanted[j] >= 2 * half:
                break
            other = place[partner_in]
            goes_up[other] = not up
            if other >= 2 * half:
                break
            j = other ^ 1
    entry = [int(not goes_up[place[2 * j]]) for j in range(half)]
    leave = [int(not goes_up[2 * j]) for j in range(half if n % 2 else half - 1)]
    upper, lower = [0] * half, [0] * (n - half)
    for j, source in enumerate(wanted):
        (upper if goes_up[j] else lower)[j // 2] = source // 2
    return entry, leave, upper, lower


Shuffle = Literal["resharing", "network"]


def uniform_permutation(session: Session, n: int) -> NDArray[np.int64]:
    """Return this helper's own exactly uniform permutation of 0..n-1, in the clear."""
    order = np.arange(n)
    for last in range(n - 1, 0, -1):
        other = integer_below(session.rng, last + 1)
        order[[last, other]] = order[[other, last]]
    return order


def shuffling_groups(parties: int, degree: int) -> list[tuple[int, ...]]:
    """Return groups of t+1 helpers such that, for every coalition of t helpers, some group has no member of it.

    Examples
    --------
    >>> shuffling_groups(3, 1)
    [(0, 1), (0, 2), (1, 2)]
    >>> len(shuffling_groups(4, 1)), len(shuffling_groups(5, 2))
    (2, 10)
    """
    threats = set(combinations(range(parties), degree))
    groups: list[tuple[int, ...]] = []

    def avoided(group: tuple[int, ...]) -> set[tuple[int, ...]]:
        return {threat for threat in threats if not set(threat) & set(group)}

    while threats:
        groups.append(max(combinations(range(parties), degree + 1), key=lambda group: len(avoided(group))))
        threats -= avoided(groups[-1])
    return groups


async def shuffle_by_resharing(session: Session, values: Shares) -> Shares:
    """Return the values in secret uniform order, in O(n) per group.

    The members of a group permute their shares alike, by a permutation that the group's first member draws. Then they
    deal the shares anew to all helpers. To anyone outside the group, the new shares are unrelated to the old shares.
    (Laur, Willemson, Zhang, ISC 2011.)
    """
    for group in shuffling_groups(session.parties, session.degree):
        drawn = uniform_permutation(session, len(values)) if session.party == group[0] else np.arange(0)
        order = await session.tell(drawn, group[0], group)
        values = await session.reshare(values if order is None else values[order], group)
    return values


async def shuffle_by_network(session: Session, values: Shares) -> Shares:
    """Return the values in secret uniform order, in O(n log n), by one switching network for each of t+1 helpers.

    A helper draws a uniform permutation, sets the switches of the network for it, and shares the settings as bits.
    Uniform settings would not make the order uniform. A switch is one product. The result is reshared, because the
    polynomials of a switch's two outputs add up to those of its inputs, and contributors who pool their pieces could
    use that.
    """
    mine = route(uniform_permutation(session, len(values)).tolist())
    settings = np.array([bit for _, _, bits in mine for bit in bits], dtype=np.int64)
    dealers = range(session.degree + 1)
    for bits in await session.share(settings, dealers):
        done = 0
        for upper, lower, _ in mine:
            up, down = np.array(upper, dtype=np.int64), np.array(lower, dtype=np.int64)
            crossed = bits[done : done + len(up)]
            done += len(up)
            moved = await session.multiply(crossed, values[down] - values[up])
            values = values.copy()
            values[up] = (values[up] + moved) % session.modulus
            values[down] = (values[down] - moved) % session.modulus
    return await session.reshare(values, dealers)


SHUFFLES = {"resharing": shuffle_by_resharing, "network": shuffle_by_network}
