"""Joint CPL of a set of attributes, and bounds on total leakage from a joint distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.privacy import Status
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError, quoted
from deniable.leakage.prior.correlation import (
    Leakage,
    Release,
    check_releases,
    enumerated,
    mechanism_cpl,
    release_epsilon,
    worst_case_cpl,
)
from deniable.leakage.prior.distributions import Floats, checked_distribution, checked_joint, conditional_from_joint
from deniable.leakage.totals.total import check_states, contract, worst_log_ratios
from deniable.oracles.oracle import FrequencyOracle
from deniable.research.leakage.joint_totals import exact_totals

INDEPENDENCE_TOLERANCE = 1e-9
"""Largest probability by which a joint may differ from the product of its blocks and still count as independent."""


def independent_blocks(table: Floats, target: int, blocks: Sequence[Sequence[int]]) -> dict[tuple[int, ...], Floats]:
    """Return P(X_block | X_target) of every block.

    The error InvalidInputError is raised unless the blocks are independent given X_target.
    """
    parts = _checked_blocks(table.ndim, target, blocks)
    conditionals = {block: _conditional(table, target, block) for block in parts}
    if len(parts) > 1:
        _check_independence(table, target, conditionals)
    return conditionals


def block_cpl(conditional: Floats, releases: Sequence[Release]) -> Leakage:
    """Return the joint CPL of one block, exactly if its outputs can be enumerated, and otherwise by Algorithm 2."""
    if len(releases) == 1:
        return mechanism_cpl(releases[0], conditional)
    try:
        return Leakage(_exact_joint_cpl(conditional, releases), "exact")
    except TooLargeError:
        return _concatenated(conditional, releases)


def _conditional(table: Floats, target: int, sources: Sequence[int]) -> Floats:
    return conditional_from_joint(table, target, sources).reshape(-1, *(table.shape[j] for j in sources))


def _exact_joint_cpl(conditional: Floats, releases: Sequence[Release]) -> float:
    """Return the exact joint CPL of attributes from P(X_sources | X_target), or raise TooLargeError.

    The distribution has one axis for each attribute.
    """
    channels = []
    for axis, release in enumerate(releases, start=1):
        channel = enumerated(release)
        if channel is None:
            raise TooLargeError(
                f"every release must have a list of all its probabilities, but {quoted(release)} has no such list; "
                "use concatenated_bound, which needs only epsilons"
            )
        if len(channel) != conditional.shape[axis]:
            raise InvalidInputError(
                f"{quoted(release)} must have {conditional.shape[axis]} possible answers, got {len(channel)}"
            )
        channels.append(channel)
    check_states([len(conditional), *(max(channel.shape) for channel in channels)])
    table = contract(conditional, range(1, conditional.ndim), [np.eye(len(conditional)), *channels])
    return max(0.0, float(worst_log_ratios(table).max()))


def _concatenated(conditional: Floats, releases: Sequence[Release]) -> Leakage:
    budget = math.fsum(map(release_epsilon, releases))
    bound = worst_case_cpl(conditional.reshape(len(conditional), -1), budget).epsilon
    return Leakage(bound, "upper bound", "Algorithm 2 on the concatenated attributes")


def _check_attribute(d: int, target: int) -> None:
    if not 0 <= target < d:
        raise InvalidParameterError(f"target must be an attribute in 0..{d - 1}, got target={target}")


def _check_independence(table: Floats, target: int, conditionals: Mapping[tuple[int, ...], Floats]) -> None:
    others = [j for j in range(table.ndim) if j != target]
    given = conditional_from_joint(table, target)
    product: Floats = np.ones((len(given), 1))
    for conditional in conditionals.values():
        product = np.einsum("xa,xb->xab", product, conditional.reshape(len(given), -1)).reshape(len(given), -1)
    order = [j for block in conditionals for j in block]
    shape = [len(given), *(table.shape[j] for j in order)]
    product = product.reshape(shape).transpose(0, *(1 + order.index(j) for j in others)).reshape(given.shape)
    worst = float(np.abs(product - given).max())
    if worst > INDEPENDENCE_TOLERANCE:
        raise InvalidInputError(
            f"blocks {_shown(list(conditionals))} must be independent given attribute {target}, but the joint table "
            f"differs from the product of its blocks by {worst:.3g}: use joint_cpl, or assume independence with "
            "block_bound_assuming_independence"
        )


def _checked_blocks(d: int, target: int, blocks: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    _check_attribute(d, target)
    parts = tuple(tuple(int(j) for j in block) for block in blocks)
    members = sorted(j for block in parts for j in block)
    if not all(parts) or members != [j for j in range(d) if j != target]:
        raise InvalidInputError(
            f"blocks must contain each attribute in 0..{d - 1} once, but not target={target}, got "
            f"blocks={_shown(parts)}"
        )
    return parts


def _shown(blocks: Sequence[Sequence[int]]) -> str:
    return ", ".join(str(list(block)) for block in blocks)


def joint_cpl(
    joint: ArrayLike, mechanisms: Sequence[Release], target: int = 0, sources: int | Sequence[int] | None = None
) -> float:
    """Return the joint CPL: the exact leakage about one attribute by the release of several other attributes together.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Prior of the adversary.
    mechanisms : sequence of d mechanisms or channels
        Mechanism or channel of each attribute's release. Only those of `sources` are used.
    target : int
        Attribute i that is inferred.
    sources : int, sequence of int, or None
        Attributes that are released. By default all others.

    Raises
    ------
    InvalidInputError
        If a shape does not fit, or a category of the target has probability zero.
    TooLargeError
        If the outputs cannot be enumerated. `concatenated_bound` then still gives a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    >>> grr = [GRR(k=2, epsilon=1.0)] * 3
    >>> round(joint_cpl(xor, grr, 0, 1), 4), round(joint_cpl(xor, grr, 0, [1, 2]), 4)
    (0.0, 0.4338)
    """
    return _exact_joint_cpl(*_given(joint, mechanisms, target, sources))


def concatenated_bound(
    joint: ArrayLike, releases: Sequence[Release], target: int = 0, sources: int | Sequence[int] | None = None
) -> Leakage:
    """Return a bound on a `joint_cpl`, computed like one release of all sources with the sum of their epsilons.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Prior of the adversary.
    releases : sequence of d mechanisms, channels or epsilons
        Mechanism, channel or epsilon of each attribute's release. Only the epsilons matter.
    target, sources
        See `joint_cpl`.

    Examples
    --------
    >>> import numpy as np
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    >>> round(concatenated_bound(xor, [1.0, 1.0, 1.0], 0).epsilon, 4)
    2.0
    """
    return _concatenated(*_given(joint, releases, target, sources))


def prior_free_bound(releases: Sequence[Release]) -> Leakage:
    """Return the sum of all epsilons, which bounds every total for any joint distribution.

    Examples
    --------
    >>> print(prior_free_bound([1.0, 0.5]))
    1.5000 (upper bound; for any joint distribution)
    """
    return Leakage(math.fsum(map(release_epsilon, releases)), "upper bound", "for any joint distribution")


def partial_bound(
    joint: ArrayLike, mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike], rest: Sequence[Release]
) -> Floats:
    """Return bounds on total leakages: exact totals among some attributes, plus the epsilons of all others.

    The other attributes together reveal at most the sum of their epsilons, whatever else the adversary knows. So their
    joint distribution with the first attributes does not matter.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Joint distribution of the attributes with exact totals.
    mechanisms : sequence of d mechanisms or channels
        Mechanisms or channels of these attributes' releases.
    rest : sequence of mechanisms, channels or epsilons
        Mechanisms, channels or epsilons of the other attributes' releases.

    Returns
    -------
    float64[d]
        Upper bounds on the total leakage about every attribute of `joint`.

    Examples
    --------
    >>> from deniable import GRR
    >>> partial_bound([[0.4, 0.1], [0.1, 0.4]], [GRR(k=2, epsilon=1.0)] * 2, rest=[0.25]).round(4)
    array([1.8194, 1.8194])
    """
    return exact_totals(joint, mechanisms) + prior_free_bound(rest).epsilon


@dataclass(frozen=True)
class BlockBound:
    """A bound on the total leakage about one attribute, computed from blocks, as `block_bound` returns it.

    Parameters
    ----------
    total : Leakage
        Direct leakage plus the sum of the parts.
    direct : float
        Epsilon of the attribute's own release.
    blocks : tuple of tuple of int
        Blocks of the other attributes.
    parts : tuple of Leakage
        Joint CPL of each block, exact or as an upper bound.
    """

    total: Leakage
    direct: float
    blocks: tuple[tuple[int, ...], ...]
    parts: tuple[Leakage, ...]


def block_bound(
    joint: ArrayLike, releases: Sequence[Release], target: int, blocks: Sequence[Sequence[int]]
) -> BlockBound:
    """Return a bound on the total leakage about one attribute, from blocks that are independent given this attribute.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Prior of the adversary. The function checks on it that the blocks are independent given the target.
    releases : sequence of d mechanisms, channels or epsilons
        Mechanism or channel of each attribute's release.
    target : int
        Attribute i.
    blocks : sequence of sequences of int
        A partition of all other attributes.

    Raises
    ------
    InvalidInputError
        If the blocks are not a partition, or not independent given the target under this joint.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR
    >>> noisy = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> joint = np.einsum("i,ij,ik->ijk", [0.5, 0.5], noisy, noisy)
    >>> bound = block_bound(joint, [GRR(k=2, epsilon=1.0)] * 3, 0, [[1], [2]])
    >>> print(bound.total)
    2.1389 (upper bound; blocks [1], [2] independent given attribute 0, checked on the joint)
    """
    table = checked_joint(joint)
    check_releases(releases, table.ndim)
    conditionals = independent_blocks(table, target, blocks)
    note = f"blocks {_shown(list(conditionals))} independent given attribute {target}, checked on the joint"
    return _bound(conditionals, releases, target, "upper bound", note)


def block_bound_assuming_independence(
    conditionals: Mapping[tuple[int, ...], ArrayLike], releases: Sequence[Release], target: int
) -> BlockBound:
    """Return a bound on the total leakage about one attribute from conditionals of blocks, without a joint table.

    The bound assumes that the blocks are independent given the target, and the result says so.

    Parameters
    ----------
    conditionals : mapping from blocks (tuples of attributes b1, b2, ...) to float[k_target, k_b1, k_b2, ...]
        P(X_block | X_target) for each block. Together the blocks contain all other attributes.
    releases : sequence of d mechanisms, channels or epsilons
        Mechanism or channel of each attribute's release.
    target : int
        Attribute i.

    Examples
    --------
    >>> noisy = [[0.8, 0.2], [0.2, 0.8]]
    >>> print(block_bound_assuming_independence({(1,): noisy, (2,): noisy}, [1.0, 1.0, 1.0], 0).total)
    2.1389 (assumption; blocks [1], [2] are independent given attribute 0)
    """
    parts = _checked_blocks(len(releases), target, list(conditionals))
    tables = {}
    for block, given in zip(parts, conditionals.values(), strict=True):
        table = np.asarray(given, dtype=np.float64)
        if table.ndim != 1 + len(block):
            raise InvalidInputError(
                f"the conditional of the block {quoted(list(block))} must have one axis for the target and one for "
                f"each attribute of the block, got shape={table.shape}"
            )
        rows = checked_distribution(table.reshape(len(table), -1), f"conditional of block {list(block)}", axis=-1)
        tables[block] = rows.reshape(table.shape)
    if len({len(table) for table in tables.values()}) > 1:
        raise InvalidInputError(
            "all conditionals must have one row for each category of the target, but the numbers of rows differ"
        )
    note = f"blocks {_shown(parts)} are independent given attribute {target}"
    return _bound(tables, releases, target, "assumption", note)


def _given(
    joint: ArrayLike, releases: Sequence[Release], target: int, sources: int | Sequence[int] | None
) -> tuple[Floats, list[Release]]:
    """Return P(X_sources | X_target), and how the sources are released.

    The distribution has one axis for each attribute.
    """
    table = checked_joint(joint)
    check_releases(releases, table.ndim)
    _check_attribute(table.ndim, target)
    if sources is None:
        sources = [j for j in range(table.ndim) if j != target]
    chosen = [sources] if isinstance(sources, int) else list(sources)
    return _conditional(table, target, chosen), [releases[j] for j in chosen]


def _bound(
    conditionals: Mapping[tuple[int, ...], Floats], releases: Sequence[Release], target: int, status: Status, note: str
) -> BlockBound:
    direct = release_epsilon(releases[target])
    parts = tuple(block_cpl(table, [releases[j] for j in block]) for block, table in conditionals.items())
    total = direct + math.fsum(part.epsilon for part in parts)
    return BlockBound(Leakage(total, status, note), direct, tuple(conditionals), parts)
