"""Counts of each value in many random subsets: the distribution of their sum, drawn without the subsets.

Subsets that have equally many elements in a range of values are exchangeable there. So a histogram of that number is
all that needs to be known about the range. Ranges are halved again and again. Of the r elements that a uniform subset
has in a range, the number in the left half is hypergeometric; given the numbers in both halves, these are independent.
One multinomial for each r therefore draws the histograms of both halves. Once a range is a single value, the subsets
with one element there are its count.

Contributors who report their own value for certain, and a uniform subset of the others, wait in a histogram of their
own until the range is their value.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from deniable.core.kernels import kernel

Counts = NDArray[np.int64]

MAX_SUBSETS = 500_000_000
"""Most subsets of a group that are added up at a time: it bounds the table of masses."""

NEGLIGIBLE = 2.0**-100
"""A number of elements is left out if it is less probable than the most probable one by this factor."""


def draw_sums(holders: Counts, uniform: Counts, omega: int, generator: np.random.Generator) -> Counts:
    """Draw how often each of k values occurs in many independent random subsets, for several groups of subsets.

    The distribution is exact up to the rounding of doubles. Every probability is a ratio of sums of positive terms,
    within some 1e-15 of itself, and what `NEGLIGIBLE` leaves out has a mass below 1e-25.

    Parameters
    ----------
    holders : int64[groups, k]
        For each value x, the number of subsets {x} + (uniform subset of omega - 1 others).
    uniform : int64[groups]
        Number of uniform subsets of all k values.
    omega : int
        Size of every subset, 1 <= omega <= k - 1.
    generator : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    int64[groups, k]
        Counts. Those of a group sum to omega times the number of its subsets.

    Notes
    -----
    A range of s values takes some 10 s binomials at most, and at most log2(s) for each subset that has elements there.
    So the time is O(k log k) for each group and 500 million of its subsets; memory is O(groups k).
    """
    parts = 1 + int((holders.sum(axis=1) + uniform).max(initial=0)) // MAX_SUBSETS
    total = holders.copy()
    for part in range(parts):
        own, free = (counts // parts + (part < counts % parts) for counts in (holders, uniform))
        total += _other_values(own, free, omega, generator)
    return total


def _other_values(holders: Counts, uniform: Counts, omega: int, generator: np.random.Generator) -> Counts:
    """Return the sums of what `draw_sums` adds up, without the holders' own values."""
    groups, k = holders.shape
    before = np.concatenate(([0], np.cumsum(holders)))
    state = np.zeros((groups, 2, omega + 1), dtype=np.int64)
    state[:, 0, omega], state[:, 1, omega - 1] = uniform, holders.sum(axis=1)
    tree = _tree_size(max(omega, int(holders.sum(axis=1).max(initial=0))))
    masses, flows = np.zeros(tree), np.zeros(tree, dtype=np.int64)
    edges = np.array([0, k], dtype=np.int64)
    while len(edges) <= k:
        ranges = 2 * (len(edges) - 1)
        halved = np.arange(ranges + 1) * k // ranges
        width = 1 + min(omega, int(np.diff(halved).max()))
        parts = np.zeros((groups * ranges, 2, width), dtype=np.int64)
        _halve.compiled(state, halved, before, parts, masses, flows, generator)
        edges, state = halved, parts
    single = state.reshape(groups, len(edges) - 1, 2, -1)[:, np.diff(edges) > 0, 0]
    return np.ascontiguousarray(single[..., 1])


def _tree_size(trials: int) -> int:
    """Return how many nodes the tree over a hypergeometric number needs, from the largest number of trials.

    Hoeffding: beyond 7 sqrt(trials) from its mean, a number is less probable than `NEGLIGIBLE` allows.
    """
    return 2 << min(trials, 14 * math.isqrt(trials) + 64).bit_length()


@kernel
def _halve(
    state: Counts,
    edges: Counts,
    before: Counts,
    parts: Counts,
    masses: NDArray[np.float64],
    flows: Counts,
    generator: np.random.Generator,
) -> None:
    """Draw the histograms of the halves of every range, parts[2 ranges, 2, r], from those of the ranges.

    In state[ranges, 2, r], row 0 counts uniform subsets and row 1 those of holders whose value is in the range. Every
    group has the same ranges; range i is cut into the parts between edges 2i, 2i + 1 and 2i + 2. The holders of the
    first x values, all groups one after the other, number before[x].
    """
    ranges = (edges.shape[0] - 1) // 2
    k = edges[edges.shape[0] - 1]
    for node in range(state.shape[0]):
        group, place = node // ranges, node % ranges
        first, middle, last = edges[2 * place], edges[2 * place + 1], edges[2 * place + 2]
        to_left = before[group * k + middle] - before[group * k + first]
        unplaced = before[group * k + last] - before[group * k + first]
        for r in range(state.shape[2]):
            held, on_left = state[node, 1, r], np.int64(0)
            # How many of these holders have their value on the left; the others' elements of either kind of holder;
            # uniform subsets.
            for task in range(4):
                count, trials, left, right = state[node, 0, r], np.int64(r), middle - first, last - middle
                if task == 0:
                    unplaced -= held
                    count, trials, left, right = np.int64(held > 0), to_left, held, unplaced
                elif task == 1:
                    count, left = on_left, left - 1
                elif task == 2:
                    count, right = held - on_left, right - 1
                if count == 0:
                    continue
                # Hypergeometric masses from the mode outwards.
                low, high = max(np.int64(0), trials - right), min(trials, left)
                mode = min(max((trials + 1) * (left + 1) // (left + right + 2), low), high)
                start, stop, mass = mode, mode, 1.0
                while start > low and mass > NEGLIGIBLE:
                    mass *= (start * (right - trials + start)) / ((left - start + 1.0) * (trials - start + 1.0))
                    start -= 1
                mass = 1.0
                while stop < high and mass > NEGLIGIBLE:
                    mass *= ((left - stop) * (trials - stop)) / ((stop + 1.0) * (right - trials + stop + 1.0))
                    stop += 1
                leaves = np.int64(1)
                while leaves < stop - start + 1:
                    leaves *= 2
                masses[leaves : 2 * leaves] = 0.0
                own = leaves - start
                masses[own + mode] = 1.0
                for value in range(mode, start, -1):
                    ratio = (value * (right - trials + value)) / ((left - value + 1.0) * (trials - value + 1.0))
                    masses[own + value - 1] = masses[own + value] * ratio
                for value in range(mode, stop):
                    ratio = ((left - value) * (trials - value)) / ((value + 1.0) * (right - trials + value + 1.0))
                    masses[own + value + 1] = masses[own + value] * ratio
                # Everybody goes down a tree of binomials to a number.
                for i in range(leaves - 1, 0, -1):
                    masses[i] = masses[2 * i] + masses[2 * i + 1]
                flows[1] = count
                for i in range(1, leaves):
                    flows[2 * i] = flows[2 * i + 1] = 0
                    if flows[i] > 0:
                        if masses[2 * i + 1] == 0.0:
                            flows[2 * i] = flows[i]
                        elif masses[2 * i] == 0.0:
                            flows[2 * i + 1] = flows[i]
                        else:
                            flows[2 * i] = generator.binomial(flows[i], masses[2 * i] / masses[i])
                            flows[2 * i + 1] = flows[i] - flows[2 * i]
                for value in range(start, stop + 1):
                    drawn = flows[own + value]
                    if task == 0:
                        on_left += value * drawn
                    elif drawn > 0:
                        parts[2 * node, np.int64(task == 1), value] += drawn
                        parts[2 * node + 1, np.int64(task == 2), trials - value] += drawn
            to_left -= on_left
