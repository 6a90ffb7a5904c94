"""Criteria of a calibration: exact totals, block bounds, the prior-free sum, or the additive figure.

A criterion turns a vector of epsilons, one per attribute, into one figure per attribute. All figures rise with every
epsilon for mechanisms that more noise turns into themselves with a smaller epsilon, such as GRR and the unary
encodings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidParameterError, TooLargeError, unknown_name
from deniable.leakage.prior.correlation import mechanism_cpl, release_epsilon, worst_case_cpl
from deniable.leakage.prior.distributions import Floats, checked_joint, conditional_from_joint
from deniable.leakage.prior.tree import TreePrior
from deniable.leakage.totals.total import totals
from deniable.leakage.totals.tree_totals import MAX_RAYS, tree_leakage
from deniable.research.leakage.bounds import block_cpl, independent_blocks
from deniable.research.leakage.joint_totals import check_no_empty_category, checked_channels, pair_tables

Criterion = Literal["exact", "blocks", "prior-free", "additive"]
CRITERIA: tuple[Criterion, ...] = ("exact", "blocks", "prior-free", "additive")

Epsilon: TypeAlias = float | Fraction
MechanismFactory: TypeAlias = Callable[[int, Epsilon], Any]
"""Function (k, epsilon) -> mechanism, for instance the class GRR."""

Blocks: TypeAlias = Sequence[Sequence[int]] | Mapping[int, Sequence[Sequence[int]]]
"""A partition of all attributes, or for every target a partition of the other attributes."""

Figure: TypeAlias = Callable[[Sequence[Epsilon]], Floats]


def figure_of(
    prior: Floats | TreePrior, criterion: Criterion, mechanism: MechanismFactory | None, blocks: Blocks | None = None
) -> Figure:
    """Return the function from epsilons, one per attribute, to the criterion's figures, float64[d]."""
    if criterion not in CRITERIA:
        raise unknown_name("criterion", criterion, CRITERIA)
    if blocks is not None and (criterion != "blocks" or isinstance(prior, TreePrior)):
        raise InvalidParameterError(
            'blocks must be used only with criterion="blocks" and a joint table: leave out blocks. With a tree prior, '
            "each branch of the tree is a block"
        )
    release = releases_of(sizes_of(prior), mechanism)
    if criterion == "prior-free":
        return lambda epsilons: np.full(len(epsilons), math.fsum(map(release_epsilon, release(epsilons))))
    if criterion == "additive":
        return _additive(prior, release)
    if mechanism is None and criterion == "exact":
        raise InvalidParameterError(
            'mechanism must be named with criterion="exact": name a mechanism, or use criterion="blocks"'
        )
    if isinstance(prior, TreePrior):
        return _tree(prior, release, exact=criterion == "exact")
    if criterion == "exact":
        return lambda epsilons: totals(prior, checked_channels(prior.shape, release(epsilons)))[0]
    return _blocks(prior, release, blocks)


def checked_prior(joint: ArrayLike | TreePrior) -> Floats | TreePrior:
    """Return a tree prior, or a joint table in which all categories occur."""
    if isinstance(joint, TreePrior):
        return joint
    table = checked_joint(joint)
    check_no_empty_category(table)
    return table


def sizes_of(prior: Floats | TreePrior) -> tuple[int, ...]:
    """Return the number of categories of every attribute."""
    return prior.sizes if isinstance(prior, TreePrior) else prior.shape


_Releases: TypeAlias = Callable[[Sequence[Epsilon]], list[Any]]


def releases_of(sizes: Sequence[int], mechanism: MechanismFactory | None) -> _Releases:
    """Return the function from epsilons, one per attribute, to releases.

    The releases are mechanisms, or the epsilons themselves.
    """

    def release(epsilons: Sequence[Epsilon]) -> list[Any]:
        if mechanism is None:
            return [float(epsilon) for epsilon in epsilons]
        # Equal attributes share one object, so that its channel is listed once.
        keys = list(zip(sizes, epsilons, strict=True))
        made = {key: mechanism(*key) for key in set(keys)}
        return [made[key] for key in keys]

    return release


def _tree(prior: TreePrior, release: _Releases, *, exact: bool) -> Figure:
    def figure(epsilons: Sequence[Epsilon]) -> Floats:
        leakage = tree_leakage(prior, release(epsilons))
        if exact and not all(leakage.attained):
            raise TooLargeError(
                f'criterion="exact" is not possible for this tree prior: a branch must have at most {MAX_RAYS} '
                f"extreme likelihoods, but a branch at attribute {leakage.attained.index(False)} has more; use "
                'criterion="blocks"'
            )
        return np.array([total.epsilon for total in leakage.totals])

    return figure


def _conditionals(prior: Floats | TreePrior) -> dict[tuple[int, int], Floats]:
    """Return P(X_j | X_i) of every ordered pair (i, j)."""
    d = len(sizes_of(prior))
    conditionals: dict[tuple[int, int], Floats] = {}
    if isinstance(prior, TreePrior):
        conditionals = {(i, j): prior.conditional(i, j) for i in range(d) for j in range(d) if i != j}
    else:
        for i, j, pair in pair_tables(prior):
            conditionals[i, j], conditionals[j, i] = conditional_from_joint(pair), conditional_from_joint(pair.T)
    return conditionals


def additive_deltas(prior: Floats | TreePrior, epsilons: Sequence[Epsilon], delta: float) -> Floats:
    """Return the deltas of the paper's (6), float64[d], which bound nothing.

    They are an attribute's own delta plus the deltas of the pairs.

    Examples
    --------
    >>> additive_deltas(np.array([[0.4, 0.1], [0.1, 0.4]]), [1.0, 1.0], 0.01).round(4)
    array([0.0145, 0.0145])
    """
    found = np.full(len(epsilons), delta)
    for (i, j), conditional in _conditionals(prior).items():
        found[i] += worst_case_cpl(conditional, float(epsilons[j]), delta).delta
    return found


def _additive(prior: Floats | TreePrior, release: _Releases) -> Figure:
    conditionals = _conditionals(prior)

    def figure(epsilons: Sequence[Epsilon]) -> Floats:
        releases = release(epsilons)
        result = np.array([release_epsilon(one) for one in releases])
        for (i, j), conditional in conditionals.items():
            result[i] += mechanism_cpl(releases[j], conditional).epsilon
        return result

    return figure


def _blocks(prior: Floats, release: _Releases, blocks: Blocks | None) -> Figure:
    parts = [independent_blocks(prior, i, _blocks_of(i, prior.ndim, blocks)) for i in range(prior.ndim)]

    def figure(epsilons: Sequence[Epsilon]) -> Floats:
        releases = release(epsilons)
        return np.array(
            [
                release_epsilon(releases[i])
                + math.fsum(block_cpl(table, [releases[j] for j in block]).epsilon for block, table in own.items())
                for i, own in enumerate(parts)
            ]
        )

    return figure


def _blocks_of(target: int, d: int, blocks: Blocks | None) -> list[tuple[int, ...]]:
    if blocks is None:
        return [tuple(j for j in range(d) if j != target)]
    if isinstance(blocks, Mapping):
        if target not in blocks:
            raise InvalidParameterError(
                f"blocks must have an entry for every attribute, but attribute {target} has no entry"
            )
        return [tuple(block) for block in blocks[target]]
    rest = [tuple(j for j in block if j != target) for block in blocks]
    return [block for block in rest if block]
