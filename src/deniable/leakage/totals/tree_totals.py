"""Total leakage under a tree prior, computed by messages from branch to branch.

Given X_i the branches at i are independent, so for a pair (x, x') the log ratios of their worst outputs add up. A
branch depends on X_i only through its root c, and its likelihoods are P(X_c | X_i) times those about X_c. The worst
ratio is linear-fractional in the likelihood vector of every sub-branch. Hence it is attained at an extreme ray of the
cone that these vectors span. Over two values a cone has two rays, however many outputs there are, so trees of binary
attributes are exact at any size. For other trees the rays are listed up to a limit, and beyond it Algorithm 2 at the
branch root bounds the branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.core.privacy import Status
from deniable.errors import InvalidInputError
from deniable.leakage.prior.correlation import (
    Leakage,
    Release,
    check_releases,
    enumerated,
    is_budget,
    proper_subsets,
    reaches_every_set,
    release_epsilon,
    worst_case_pairs,
)
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.tree import TreePrior
from deniable.leakage.totals.total import check_spent, worst_log_ratios
from deniable.oracles.oracle import is_oracle

MAX_RAYS = 1 << 12
"""Largest number of likelihood vectors with which a branch is listed."""


@dataclass(frozen=True, eq=False)
class TreeLeakage:
    """Leakage about every attribute under a tree prior, as `tree_leakage` returns it.

    Parameters
    ----------
    totals : tuple of Leakage
        Total leakage about each attribute if all attributes are released.
    joint_cpl : float64[d]
        Leakage about each attribute by all other attributes together, with the same status as `totals`.
    direct : float64[d]
        Epsilon of each attribute's own release.
    attained : tuple of bool
        Whether each total is exact under the tree, instead of only a bound.
    """

    totals: tuple[Leakage, ...]
    joint_cpl: Floats
    direct: Floats
    attained: tuple[bool, ...]


def tree_leakage(prior: TreePrior, releases: Sequence[Release], *, max_rays: int = MAX_RAYS) -> TreeLeakage:
    """Return the total leakage about every attribute under a tree prior.

    The result is exact if all attributes are binary, or if the outputs of every branch of the tree can be listed.
    Otherwise it is an upper bound. If the tree was fitted to data, the status is "assumption".

    Parameters
    ----------
    prior : TreePrior
        Prior of the adversary.
    releases : sequence of d mechanisms, channels or epsilons
        Mechanism, channel or epsilon of each attribute's release.
    max_rays : int
        Largest number of likelihood vectors to list for a branch of the tree. For a branch with more vectors, an upper
        bound is used.

    Raises
    ------
    InvalidInputError
        If the releases do not fit the prior.
    InvalidParameterError
        If the budgets sum to more than MAX_TOTAL_EPSILON.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.leakage.prior.tree import TreePrior
    >>> pair = [[0.4, 0.1], [0.1, 0.4]]
    >>> chain = TreePrior(sizes=(2, 2, 2), edges=((0, 1), (1, 2)), tables=(pair, pair))
    >>> for total in tree_leakage(chain, [GRR(k=2, epsilon=1.0)] * 3).totals:
    ...     print(total)
    1.8313 (exact)
    2.1389 (exact)
    1.8313 (exact)
    """
    d = len(prior.sizes)
    check_releases(releases, d)
    own = [_own(releases[j], prior.sizes[j], j, max_rays) for j in range(d)]
    direct = np.array([release_epsilon(release) for release in releases])
    check_spent(direct)
    messages: dict[tuple[int, int], _Message] = {}

    def send(source: int, receiver: int) -> None:
        incoming = [messages[other, source] for other in prior.neighbours[source] if other != receiver]
        about_source = _combined([own[source], *incoming], max_rays)
        leaf = not incoming and reaches_every_set(releases[source], prior.sizes[source])
        messages[source, receiver] = _through(about_source, prior.conditional(receiver, source), tight=leaf)

    parents = prior.parents(0)
    for child in reversed(parents):
        send(child, parents[child])
    for child, parent in parents.items():
        send(parent, child)

    totals, attained, together = [], [], np.zeros(d)
    for i in range(d):
        received = [messages[other, i] for other in prior.neighbours[i]]
        by_others = np.sum([message.pairs for message in received], axis=0)
        together[i] = by_others.max()
        exact = own[i].exact and all(message.exact for message in received)
        total = float((by_others + own[i].pairs).max())
        totals.append(_labelled(total, "exact" if exact else "upper bound", prior))
        attained.append(exact)
    return TreeLeakage(tuple(totals), together, direct, tuple(attained))


@dataclass(frozen=True, eq=False)
class _Message:
    """Leakage of a part of the tree about one attribute with k values.

    pairs[x, x'] is the largest ln L[x]/L[x'] over the outputs of the part. `rays` has columns, shape (k, m), that span
    all likelihood vectors of the part; it is None if they are too many.
    """

    pairs: Floats
    rays: Floats | None
    exact: bool


def _own(release: Release, size: int, j: int, max_rays: int) -> _Message:
    k = release.k if is_oracle(release) else size
    listed = None
    if is_budget(release) or reaches_every_set(release, size):
        # The likelihood vectors of any epsilon-private release are mixtures of these vectors. Some mechanisms have all
        # of them.
        listed = np.exp(release_epsilon(release) * proper_subsets(size)) if 1 << size <= max_rays else None
    else:
        channel = enumerated(release, max_rays * size)
        if channel is not None:
            k, listed = len(channel), _rays(channel)
    if k != size:
        raise InvalidInputError(
            f"mechanisms[{j}] must have {size} possible answers, got {k}: attribute {j} of the prior has {size} "
            "categories"
        )
    if listed is not None:
        return _Message(worst_log_ratios(listed), listed, exact=not is_budget(release))
    pairs = release_epsilon(release) * (1 - np.eye(size))
    return _Message(pairs, None, exact=is_oracle(release))


def _combined(messages: Sequence[_Message], max_rays: int) -> _Message:
    """Return the message of independent parts together: vectors multiply, worst ratios add."""
    pairs: Floats = np.sum([message.pairs for message in messages], axis=0)
    rays = messages[0].rays
    for message in messages[1:]:
        if rays is None or message.rays is None or rays.shape[1] * message.rays.shape[1] > 16 * max_rays:
            rays = None
            break
        rays = _rays((rays[:, :, None] * message.rays[:, None, :]).reshape(len(rays), -1))
        if rays.shape[1] > max_rays:
            rays = None
            break
    return _Message(pairs, rays, all(message.exact for message in messages))


def _through(message: _Message, conditional: Floats, *, tight: bool) -> _Message:
    """Return what a message about X_c says about X_i, given P(X_c | X_i)."""
    if message.rays is not None:
        rays = _rays(conditional @ message.rays)
        return _Message(worst_log_ratios(rays), rays, message.exact)
    budget = float(message.pairs.max())
    return _Message(worst_case_pairs(conditional, budget), None, tight)


def _rays(vectors: Floats) -> Floats:
    """Return vectors, as columns, that span the same cone: over two values the two outermost, else without copies."""
    vectors = vectors[:, vectors.max(axis=0) > 0]
    scaled: Floats = vectors / vectors.max(axis=0)
    if len(scaled) == 2:
        with np.errstate(divide="ignore"):
            slope = np.log(scaled[0]) - np.log(scaled[1])
        return scaled[:, [int(slope.argmin()), int(slope.argmax())]]
    with np.errstate(divide="ignore"):
        _, first = np.unique(np.round(np.log(scaled), 10) + 0.0, axis=1, return_index=True)
    return scaled[:, first]


def _labelled(total: float, status: Status, prior: TreePrior) -> Leakage:
    if not prior.fitted:
        return Leakage(total, status)
    bound = "" if status == "exact" else "an upper bound "
    note = f"{bound}if attributes depend on each other along the fitted tree only"
    return Leakage(total, "assumption", note)
