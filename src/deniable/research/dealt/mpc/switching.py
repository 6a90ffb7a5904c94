"""Waksman's switching network for any n: every permutation, n log2 n - n + 1 switches at a power of two."""

from __future__ import annotations

from collections.abc import Sequence

Layer = tuple[list[int], list[int], list[int]]
"""Upper wires, lower wires, and 1 where the two are crossed: switches that act side by side."""


def route(permutation: Sequence[int]) -> list[Layer]:
    """Return the layers that put wire permutation[j] at place j. Wires and layers depend on n alone.

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
    """Return entry and leaving switches and the permutations of the upper and the lower half network.

    Wires 2j and 2j+1 meet in entry switch j, one goes up and one down; likewise on leaving. The last wire of an odd
    number goes down on both sides. For an even number the last leaving switch is straight and left out.
    """
    n = len(wanted)
    half = n // 2
    place = sorted(range(n), key=wanted.__getitem__)
    goes_up: list[bool | None] = [None] * n  # by place on leaving
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
