"""Joint CPL of a set of attributes, and the bounds on total leakage that hold for any dependence.

All are proved in ``docs/theory/leakage.md``:

* `prior_free_bound`: sum of all epsilons, whatever the joint distribution;
* `partial_bound`: exact for some attributes, prior-free for the rest; needs the joint of the former only;
* `concatenated_bound`: Algorithm 2 on the other attributes taken as one, with the sum of their epsilons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.leakage.figure_status import Leakage
from deniable.leakage.prior.correlation import Release, enumerated, release_epsilon, worst_case_cpl
from deniable.leakage.prior.distributions import Floats, checked_joint, conditional_from_joint
from deniable.leakage.totals.total import check_states, contract, exact_totals, worst_log_ratios
from deniable.oracles.oracle import FrequencyOracle


def joint_cpl(
    joint: ArrayLike, mechanisms: Sequence[Release], target: int = 0, sources: int | Sequence[int] | None = None
) -> float:
    """Joint CPL: leakage about one attribute by the release of a set of others together, exact.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        The adversary's prior.
    mechanisms : sequence of d mechanisms or channels
        How each attribute is released; those outside `sources` are not looked at.
    target : int
        The attribute i that is inferred.
    sources : int, sequence of int, or None
        The attributes that are released; all others by default.

    Raises
    ------
    InvalidInputError
        If a shape does not fit, or a category of the target has probability zero.
    TooLargeError
        If the outputs cannot be enumerated; `concatenated_bound` still can bound them.

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
    table = checked_joint(joint)
    check_length(mechanisms, table.ndim)
    chosen = _sources(table.ndim, target, sources)
    conditional = conditional_from_joint(table, target, chosen)
    sizes = [table.shape[j] for j in chosen]
    return exact_joint_cpl(conditional.reshape(-1, *sizes), [mechanisms[j] for j in chosen])


def concatenated_bound(
    joint: ArrayLike, releases: Sequence[Release], target: int = 0, sources: int | Sequence[int] | None = None
) -> Leakage:
    """Bound a joint CPL by Algorithm 2 on the concatenated sources, with the sum of their epsilons as budget.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        The adversary's prior.
    releases : sequence of d mechanisms, channels or epsilons
        How each attribute is released; only their epsilons matter.
    target, sources
        As for `joint_cpl`.

    Examples
    --------
    >>> import numpy as np
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    >>> round(concatenated_bound(xor, [1.0, 1.0, 1.0], 0).epsilon, 4)
    2.0
    """
    table = checked_joint(joint)
    check_length(releases, table.ndim)
    chosen = _sources(table.ndim, target, sources)
    budget = math.fsum(release_epsilon(releases[j]) for j in chosen)
    conditional = conditional_from_joint(table, target, chosen)
    note = "Algorithm 2 on the concatenated attributes"
    return Leakage(worst_case_cpl(conditional, budget).epsilon, "upper bound", note)


def prior_free_bound(releases: Sequence[Release]) -> Leakage:
    """Bound everybody's total by the sum of all epsilons, whatever the joint distribution.

    Examples
    --------
    >>> print(prior_free_bound([1.0, 0.5]))
    1.5000 (upper bound; for any joint distribution)
    """
    return Leakage(math.fsum(map(release_epsilon, releases)), "upper bound", "for any joint distribution")


def partial_bound(
    joint: ArrayLike, mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike], rest: Sequence[Release]
) -> Floats:
    """Bound total leakages by exact ones among some attributes plus the epsilons of the rest.

    The rest is at most sum(epsilon)-revealing given anything else, so its joint distribution with the others does not
    matter.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Joint distribution of the attributes that are treated exactly.
    mechanisms : sequence of d mechanisms or channels
        How these are released.
    rest : sequence of mechanisms, channels or epsilons
        How the remaining attributes are released.

    Returns
    -------
    float64[d]
        An upper bound on the total leakage about every attribute of `joint`.

    Examples
    --------
    >>> from deniable import GRR
    >>> partial_bound([[0.4, 0.1], [0.1, 0.4]], [GRR(k=2, epsilon=1.0)] * 2, rest=[0.25]).round(4)
    array([1.8194, 1.8194])
    """
    bound: Floats = exact_totals(joint, mechanisms) + prior_free_bound(rest).epsilon
    return bound


# ---------------------------------------------------------------- shared with blocks


def exact_joint_cpl(conditional: Floats, releases: Sequence[Release]) -> float:
    """Return the joint CPL of attributes from P(X_sources | X_target), one axis each; exact, or TooLargeError."""
    channels = []
    for axis, release in enumerate(releases, start=1):
        channel = enumerated(release)
        if channel is None:
            raise TooLargeError(
                f"the channel of {release!r} must be small enough to list: use concatenated_bound, which needs no "
                "more than epsilons"
            )
        if len(channel) != conditional.shape[axis]:
            raise InvalidInputError(f"{release!r} must have {conditional.shape[axis]} inputs, got {len(channel)}")
        channels.append(channel)
    check_states([len(conditional), *(max(channel.shape) for channel in channels)])
    table = contract(conditional, range(1, conditional.ndim), [np.eye(len(conditional)), *channels])
    return max(0.0, float(worst_log_ratios(table).max()))


def check_attribute(d: int, target: int) -> None:
    """Raise InvalidParameterError unless `target` is one of d attributes."""
    if not 0 <= target < d:
        raise InvalidParameterError(f"target must be an attribute in 0..{d - 1}, got target={target}")


def check_length(releases: Sequence[Release], d: int) -> None:
    """Raise InvalidInputError unless there is one release per attribute."""
    if len(releases) != d:
        raise InvalidInputError(f"mechanisms must have one entry per attribute ({d}), got {len(releases)}")


def _sources(d: int, target: int, sources: int | Sequence[int] | None) -> list[int]:
    check_attribute(d, target)
    if sources is None:
        return [j for j in range(d) if j != target]
    return [sources] if isinstance(sources, int) else list(sources)
