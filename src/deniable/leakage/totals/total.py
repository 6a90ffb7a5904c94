"""Total privacy leakage (TPL), the exact leakage of the release of *all* attributes about one of them.

Source: *The Hidden Cost of Correlation* (2025), definitions (4) and (5). Its inequality (6), direct leakage plus the
sum of pairwise leakages, is false in general. For two fair bits and their XOR the sum is 1.0, and the exact total is 1
+ ln cosh 1 = 1.4338. So that sum appears here only under a name that says so. The functions here compute definition (5)
itself. They contract the joint table with one attribute's channel at a time, and all targets share the contractions of
halves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from deniable.errors import InvalidParameterError, TooLargeError
from deniable.leakage.prior.distributions import Floats, marginals

MAX_TOTAL_STATES = 1 << 26
"""Largest product of output counts that exact total leakage contracts: 512 MiB of float64 per table.

About log2(d) + 3 tables exist at a time: 21 binary attributes take 0.1 GiB and half a second, 24 take 1 GiB and a few
seconds, 26 take 4 GiB and a minute or two.
"""

MAX_TOTAL_EPSILON = 600.0
"""Largest sum of budgets: likelihoods down to e^-600 are still normal doubles."""

_GROUP_INPUTS = 32
_GROUP_CELLS = 1 << 11
_NARROW = 16

ADDITIVE_LABEL = "additive figure (not a bound)"
"""The only name under which the figure of (6) is shown."""

ADDITIVE_DELTA = "additive delta (not a bound)"
"""The name of the additive figure's delta."""


def totals(table: Floats, channels: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """Return (exact, joint CPL of the others, direct) of every attribute; arguments are validated already."""
    check_states([max(channel.shape) for channel in channels])
    own = [worst_log_ratios(channel) for channel in channels]
    direct = np.array([float(pairs.max()) for pairs in own])
    check_spent(direct)
    exact, together = np.zeros(table.ndim), np.zeros(table.ndim)
    masses = marginals(table)
    for target, others in targets(table, channels):
        logs = np.log(masses[target])
        # The prior of the pair is divided out of the ratio, from P(x, y) to P(y | x).
        by_others = np.maximum(worst_log_ratios(np.moveaxis(others, target, 0)) - logs[:, None] + logs, 0)
        together[target] = by_others.max()
        # Given x, the attribute's own report is independent of the others' reports. So the worst outputs for a pair (x,
        # x') add up.
        exact[target] = (by_others + own[target]).max()
    return exact, together, direct


def check_spent(direct: Floats) -> None:
    """Raise InvalidParameterError if the finite epsilons of all attributes sum to more than MAX_TOTAL_EPSILON."""
    spent = float(direct[np.isfinite(direct)].sum())
    if spent > MAX_TOTAL_EPSILON:
        raise InvalidParameterError(
            f"the epsilons of all attributes must sum to at most {MAX_TOTAL_EPSILON:g}, got {spent:.6g}"
        )


def check_states(states: Sequence[int]) -> None:
    """Raise TooLargeError if a product of state counts exceeds MAX_TOTAL_STATES."""
    total = math.prod(int(size) for size in states)
    if total > MAX_TOTAL_STATES:
        raise TooLargeError(
            f"exact total leakage is computed for at most {MAX_TOTAL_STATES} states, got {total} for {len(states)} "
            f"attributes ({total * 8 / 2**30:.3g} GiB for each table). Do one of these: call block_bound if blocks of "
            "attributes are independent; give a tree prior; call partial_bound for some of the attributes; or use the "
            "sum of all epsilons, which is also a bound"
        )


# ---------------------------------------------------------------- contraction


def targets(table: Floats, channels: Sequence[Floats]) -> Iterator[tuple[int, Floats]]:
    """Yield (target, P(x_target, y of all others)), the table's axes in place, for every axis.

    Each half of the axes is contracted once, and the targets of the other half share the result. So each axis is
    contracted about log2(d) times instead of d - 1 times.
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
    """Return the table with x_j replaced by y_j on every axis j of `axes`, the sum over x_j of table x P(y_j | x_j).

    The channels are indexed by axis. Neighbouring axes are contracted together, as one matrix product with the
    Kronecker product of their channels. This needs a little more arithmetic and far fewer passes over the table.
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
        # A narrow tail makes many small products. So it is carried along as inputs that do not change.
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
        Likelihoods P(output | x), or any multiple of them per output; all further axes are outputs.
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
