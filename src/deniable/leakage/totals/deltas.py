"""Delta of the total leakage about one attribute, for releases that are private up to a delta.

A release is (epsilon, delta)-LDP if P(event | u) <= e^epsilon P(event | v) + delta for all values u, v and all events.
A total is then a pair (epsilon, delta), too. Its epsilon is that of delta = 0, and its delta is the smallest that is
valid at this epsilon (``docs/theory/leakage.md``).

* For any prior, the epsilons add up and 1 - (1 - delta)^d is attained (`composed_delta`).
* Under a prior the delta is exact if the other attributes have two values each, or if there is one other attribute. The
  worst release reveals the value with probability delta, and otherwise it is the worst epsilon-LDP release
  (`revealing_channel`).
* Otherwise the delta is an upper bound. An (epsilon, delta)-LDP mechanism over k values is an epsilon-LDP mechanism
  except with a probability of at most (k - 1) delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deniable.core.checks import checked_probability
from deniable.leakage.prior.correlation import MAX_DOMAIN, any_mechanism_channel
from deniable.leakage.prior.distributions import Floats, marginals, merged_channel
from deniable.leakage.totals.total import targets

MAX_DELTA_STATES = 1 << 22
"""Largest product of output counts up to which deltas of totals are enumerated."""


def composed_delta(deltas: Iterable[float]) -> float:
    """Return 1 - prod(1 - delta), the smallest delta that holds for every prior with the sum of all epsilons.

    Examples
    --------
    >>> round(composed_delta([0.01, 0.01]), 6)
    0.0199
    """
    return -math.expm1(math.fsum(math.log1p(-delta) if delta < 1 else -math.inf for delta in deltas))


def revealing_channel(k: int, epsilon: float, delta: float) -> Floats:
    """Return the channel that reveals the value with probability delta, and otherwise leaks as much as epsilon allows.

    The channel is (epsilon, delta)-LDP. For a domain of two values it reveals the most: from its report, the report of
    any other (epsilon, delta)-LDP mechanism can be computed.

    Parameters
    ----------
    k : int
        Domain size, 2..MAX_DOMAIN.
    epsilon : float
        Epsilon in nats, >= 0.
    delta : float
        Probability that the report reveals the value, in [0, 1].

    Returns
    -------
    float64[k, 2^k - 2 + k]
        Matrix whose rows sum to one. The last k outputs reveal the values.

    Examples
    --------
    >>> revealing_channel(2, 1.0, 0.1).round(4)
    array([[0.242, 0.658, 0.1  , 0.   ],
           [0.658, 0.242, 0.   , 0.1  ]])
    """
    share = checked_probability("delta", delta)
    return np.hstack([(1 - share) * any_mechanism_channel(k, epsilon), share * np.eye(k)])


def worst_pair(rows: Floats, own: Sequence[tuple[Floats, Floats]], epsilon: float) -> float:
    """Return max over x, x' of the sum over own outputs (weights of x, of x') and columns of the positive parts."""
    factor, values = math.exp(epsilon), range(len(rows))
    return max(
        sum(float(np.maximum(a[x] * rows[x] - factor * b[other] * rows[other], 0).sum()) for a, b in own)
        for x in values
        for other in values
        if x != other
    )


@dataclass(frozen=True, eq=False)
class Deltas:
    """Deltas of totals, as `worst_deltas` returns them.

    Parameters
    ----------
    deltas : float64[d]
        Delta that is valid with the epsilon of each total.
    attained : tuple of bool
        True if some releases attain the delta.
    """

    deltas: Floats
    attained: tuple[bool, ...]


def worst_deltas(
    joint: Floats | None,
    sizes: Sequence[int],
    epsilons: Sequence[float],
    deltas: Sequence[float],
    totals: Sequence[float],
) -> Deltas:
    """Return deltas for the totals of any mechanisms that are (epsilon, delta)-LDP.

    Parameters
    ----------
    joint : float64[k_1, ..., k_d] or None
        Prior; None if only the sizes are known.
    sizes : sequence of int
        Number of values of every attribute.
    epsilons : sequence of d floats
        Budget of each release.
    deltas : sequence of d floats
        Delta of each release for events. An attribute with epsilon and delta 0 is not released.
    totals : sequence of d floats
        Total leakage about each attribute at delta = 0, or an upper bound of this leakage.

    Examples
    --------
    >>> import numpy as np
    >>> noisy = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> found = worst_deltas(noisy, (2, 2), [1.0, 1.0], [0.01, 0.01], [1.5694, 1.5694])
    >>> found.deltas.round(4), found.attained
    (array([0.0133, 0.0133]), (True, True))
    """
    own, d = [checked_probability("delta", delta) for delta in deltas], len(sizes)
    if not any(own):
        return Deltas(np.zeros(d), (True,) * d)
    spread = [min(1.0, (k - 1) * delta) for k, delta in zip(sizes, own, strict=True)]
    found = np.array([composed_delta([own[i], *(spread[j] for j in range(d) if j != i)]) for i in range(d)])
    released = [j for j in range(d) if epsilons[j] or own[j]]
    others = [[j for j in released if j != i] for i in range(d)]
    # If there is a single other attribute, only what it reveals outright counts at the total, whatever its size (see
    # the proof).
    simple = [len(rest) <= 1 or all(sizes[j] == 2 for j in rest) for rest in others]
    outputs = [2**k - 2 + k if k <= MAX_DOMAIN else math.inf for k in (sizes[j] for j in released)]
    if joint is None or not any(simple) or math.prod(outputs) > MAX_DELTA_STATES:
        return Deltas(found, (False,) * d)
    channels = [
        merged_channel(revealing_channel(k, epsilon, delta)) if j in released else np.ones((k, 1))
        for j, (k, epsilon, delta) in enumerate(zip(sizes, epsilons, own, strict=True))
    ]
    masses = marginals(joint)
    for target, table in targets(joint, channels):
        if simple[target]:
            rows = np.moveaxis(table, target, 0).reshape(sizes[target], -1) / masses[target][:, None]
            found[target] = min(found[target], _own_worst(rows, epsilons[target], own[target], totals[target]))
    return Deltas(found, tuple(simple))


def _own_worst(rows: Floats, epsilon: float, delta: float, total: float) -> float:
    """Return the delta at a total if the own release is the worst for a pair: it reveals, or says which of the two."""
    ones = np.ones(len(rows))
    high, low = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    return delta + (1 - delta) * worst_pair(rows, [(high * ones, low * ones), (low * ones, high * ones)], total)
