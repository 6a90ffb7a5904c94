"""Contracting a joint table with the attributes' channels, every target in turn: the engine of exact total leakage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from deniable.leakage.prior.distributions import Floats

_GROUP_INPUTS = 32
_GROUP_CELLS = 1 << 11
_NARROW = 16


def targets(table: Floats, channels: Sequence[Floats]) -> Iterator[tuple[int, Floats]]:
    """Yield (target, P(x_target, y of all others)), the table's axes in place, for every axis.

    Halves of the axes are contracted once and shared by the targets of the other half: about log2(d) contractions of
    each axis instead of d - 1.
    """
    yield from _within(table, range(table.ndim), channels)


def _within(table: Floats, axes: range, channels: Sequence[Floats]) -> Iterator[tuple[int, Floats]]:
    if len(axes) == 1:
        yield axes[0], table
        return
    middle = len(axes) // 2
    for kept, contracted in ((axes[:middle], axes[middle:]), (axes[middle:], axes[:middle])):
        yield from _within(contract(table, contracted, channels), kept, channels)


def contract(table: Floats, axes: Sequence[int], channels: Sequence[Floats]) -> Floats:
    """Replace x_j by y_j on every axis j of `axes`: sum over x_j of table x P(y_j | x_j); channels indexed by axis.

    Neighbouring axes go together, as one matrix product with the Kronecker product of their channels: arithmetic rises
    a little, passes over the table fall a lot.
    """
    for group in _groups(sorted(axes), channels):
        channel = channels[group[0]]
        for axis in group[1:]:
            channel = _kron(channel, channels[axis])
        table = _contract_group(table, group, channel, [channels[axis].shape[1] for axis in group])
    return table


def _groups(axes: Sequence[int], channels: Sequence[Floats]) -> Iterator[list[int]]:
    group: list[int] = []
    for axis in axes:
        members = [*group, axis]
        inputs = math.prod(channels[j].shape[0] for j in members)
        cells = inputs * math.prod(channels[j].shape[1] for j in members)
        if group and (axis != group[-1] + 1 or inputs > _GROUP_INPUTS or cells > _GROUP_CELLS):
            yield group
            members = [axis]
        group = members
    if group:
        yield group


def _contract_group(table: Floats, group: list[int], channel: Floats, outputs: list[int]) -> Floats:
    shape = table.shape
    before, after = math.prod(shape[: group[0]]), math.prod(shape[group[-1] + 1 :])
    if 1 < after < _NARROW and channel.size * after * after <= _GROUP_CELLS:
        # A narrow tail makes many small products: carry it along as inputs that stay what they are.
        channel, folded = _kron(channel, np.eye(after)), 1
    else:
        folded = after
    inputs = channel.shape[0]
    result: Floats
    if folded == 1:
        result = table.reshape(before, inputs) @ channel
    else:
        result = np.matmul(channel.T, table.reshape(before, inputs, folded))
    return result.reshape(*shape[: group[0]], *outputs, *shape[group[-1] + 1 :])


def _kron(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.kron(left, right), dtype=np.float64)


def worst_log_ratios(likelihoods: Floats) -> Floats:
    """Return W[x, x'] = max over outputs of ln L[x]/L[x'], zero on the diagonal.

    Parameters
    ----------
    likelihoods : float64[k, ...]
        P(output | x), or any multiple of it per output; all further axes are outputs.
    """
    k = len(likelihoods)
    worst = np.zeros((k, k))
    positive = bool(likelihoods.min() > 0)
    for x in range(k):
        for other in range(x + 1, k):
            above, below = likelihoods[x], likelihoods[other]
            if not positive:
                possible = (above > 0) | (below > 0)
                above, below = above[possible], below[possible]
            with np.errstate(divide="ignore", over="ignore"):
                ratio = above / below
                worst[x, other], worst[other, x] = np.log(ratio.max()), -np.log(ratio.min())
    return worst


def marginals(table: Floats) -> list[Floats]:
    """Return the one-way tables of every axis."""
    # An axis of length one in front plays the first attribute of a pair.
    return [part[0] for _, part in _with_first(table[None], list(range(1, table.ndim + 1)))]


def pair_tables(table: Floats) -> Iterator[tuple[int, int, Floats]]:
    """Yield (i, j, two-way table of axes i and j) for i < j; large tables are summed a few times only."""
    rest = table
    for i in range(table.ndim - 1):
        for offset, part in _with_first(rest, list(range(1, rest.ndim))):
            yield i, i + offset, part
        rest = rest.sum(axis=0)


def _with_first(table: Floats, axes: list[int]) -> Iterator[tuple[int, Floats]]:
    """Yield (axis, table of axis 0 and that axis); `axes` names the table's axes 1, 2, ..."""
    if len(axes) == 1:
        yield axes[0], table
        return
    middle = len(axes) // 2
    yield from _with_first(table.sum(axis=tuple(range(1 + middle, table.ndim))), axes[:middle])
    yield from _with_first(table.sum(axis=tuple(range(1, 1 + middle))), axes[middle:])
