"""Total leakage bounded block by block, where the other attributes are independent given the target.

Given X_i, the reports of independent blocks are independent too, and their log-likelihood ratios add: direct leakage
plus the joint CPL of every block bounds the total (``docs/theory/leakage.md``). With one attribute per block this is
the paper's additive figure, which is a bound under this condition and not without it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.privacy import Status
from deniable.errors import InvalidInputError, TooLargeError
from deniable.leakage.figure_status import Leakage
from deniable.leakage.prior.correlation import Release, mechanism_cpl, release_epsilon, worst_case_cpl
from deniable.leakage.prior.distributions import Floats, checked_distribution, checked_joint, conditional_from_joint
from deniable.leakage.totals.bounds import check_attribute, check_length, exact_joint_cpl

INDEPENDENCE_TOLERANCE = 1e-9
"""Largest probability by which a joint may differ from the product of its blocks and still count as independent."""


@dataclass(frozen=True)
class BlockBound:
    """A bound on the total leakage about one attribute, block by block; what `block_bound` returns.

    Parameters
    ----------
    total : Leakage
        Direct leakage plus the sum of the parts.
    direct : float
        Epsilon of the attribute's own release.
    blocks : tuple of tuple of int
        The other attributes, by block.
    parts : tuple of Leakage
        Joint CPL of each block, exact or bounded.
    """

    total: Leakage
    direct: float
    blocks: tuple[tuple[int, ...], ...]
    parts: tuple[Leakage, ...]


def block_bound(
    joint: ArrayLike, releases: Sequence[Release], target: int, blocks: Sequence[Sequence[int]]
) -> BlockBound:
    """Bound the total leakage about one attribute when the others fall into blocks that are independent given it.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        The adversary's prior; independence of the blocks is checked on it.
    releases : sequence of d mechanisms, channels or epsilons
        How each attribute is released.
    target : int
        The attribute i.
    blocks : sequence of sequences of int
        A partition of all other attributes.

    Raises
    ------
    InvalidInputError
        If the blocks are no partition, or not independent given the target under this joint.

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
    check_length(releases, table.ndim)
    conditionals = independent_blocks(table, target, blocks)
    note = f"blocks {_shown(list(conditionals))} independent given attribute {target}, checked on the joint"
    return _bound(conditionals, releases, target, "upper bound", note)


def block_bound_assuming_independence(
    conditionals: Mapping[tuple[int, ...], ArrayLike], releases: Sequence[Release], target: int
) -> BlockBound:
    """Bound the total leakage about one attribute from its blocks' conditionals alone, where no joint is at hand.

    That the blocks are independent given the target is an assumption, and the result says so.

    Parameters
    ----------
    conditionals : mapping from blocks (tuples of attributes b1, b2, ...) to float[k_target, k_b1, k_b2, ...]
        P(X_block | X_target), one for each block; together they cover all other attributes.
    releases : sequence of d mechanisms, channels or epsilons
        How each attribute is released.
    target : int
        The attribute i.

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
                f"the conditional of block {list(block)} must have one axis for the target and one for each attribute, "
                f"got shape={table.shape}"
            )
        rows = checked_distribution(table.reshape(len(table), -1), f"conditional of block {list(block)}", axis=-1)
        tables[block] = rows.reshape(table.shape)
    if len({len(table) for table in tables.values()}) > 1:
        raise InvalidInputError("all conditionals must have one row per category of the target, got different numbers")
    note = f"blocks {_shown(parts)} are independent given attribute {target}"
    return _bound(tables, releases, target, "assumption", note)


def independent_blocks(table: Floats, target: int, blocks: Sequence[Sequence[int]]) -> dict[tuple[int, ...], Floats]:
    """Return P(X_block | X_target) of every block, or raise InvalidInputError unless they are independent given it."""
    parts = _checked_blocks(table.ndim, target, blocks)
    conditionals = {
        block: conditional_from_joint(table, target, block).reshape(-1, *(table.shape[j] for j in block))
        for block in parts
    }
    if len(parts) > 1:
        _check_independence(table, target, conditionals)
    return conditionals


def block_cpl(conditional: Floats, releases: Sequence[Release]) -> Leakage:
    """Return the joint CPL of one block: exact where its outputs can be enumerated, else by Algorithm 2.

    Parameters
    ----------
    conditional : float64[k_target, k_1, ..., k_b]
        P(X_block | X_target).
    releases : sequence of b mechanisms, channels or epsilons
        How the block's attributes are released.
    """
    if len(releases) == 1:
        return mechanism_cpl(releases[0], conditional)
    try:
        return Leakage(exact_joint_cpl(conditional, releases), "exact")
    except TooLargeError:
        budget = math.fsum(map(release_epsilon, releases))
        bound = worst_case_cpl(conditional.reshape(len(conditional), -1), budget).epsilon
        return Leakage(bound, "upper bound", "Algorithm 2 on the concatenated attributes")


# ---------------------------------------------------------------- internals


def _bound(
    conditionals: Mapping[tuple[int, ...], Floats], releases: Sequence[Release], target: int, status: Status, note: str
) -> BlockBound:
    direct = release_epsilon(releases[target])
    parts = tuple(block_cpl(table, [releases[j] for j in block]) for block, table in conditionals.items())
    total = direct + math.fsum(part.epsilon for part in parts)
    return BlockBound(Leakage(total, status, note), direct, tuple(conditionals), parts)


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
            f"blocks {_shown(list(conditionals))} must be independent given attribute {target}, but the joint differs "
            f"from their product by {worst:.3g}: use joint_cpl, or state independence as an assumption with "
            "block_bound_assuming_independence"
        )


def _checked_blocks(d: int, target: int, blocks: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    check_attribute(d, target)
    parts = tuple(tuple(int(j) for j in block) for block in blocks)
    members = sorted(j for block in parts for j in block)
    if not all(parts) or members != [j for j in range(d) if j != target]:
        raise InvalidInputError(
            f"blocks must be a partition of all attributes 0..{d - 1} but target={target}, got blocks={_shown(parts)}"
        )
    return parts


def _shown(blocks: Sequence[Sequence[int]]) -> str:
    return ", ".join(str(list(block)) for block in blocks)
