"""Deltas of a known release about a related attribute, and of totals under a joint distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import out_of_range
from deniable.leakage.prior.correlation import apart, composed_channel
from deniable.leakage.prior.distributions import Floats, checked_joint, marginals
from deniable.leakage.totals.deltas import worst_pair
from deniable.leakage.totals.total import check_states, targets
from deniable.oracles.oracle import FrequencyOracle
from deniable.research.leakage.joint_totals import check_no_empty_category, checked_channels


def total_delta(
    joint: ArrayLike, mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike], epsilon: float | Sequence[float]
) -> Floats:
    """Return the smallest delta with which all releases together are (epsilon, delta)-private about each attribute.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Prior of the adversary.
    mechanisms : sequence of d mechanisms or channels
        Mechanism or channel of each attribute's release. Channels may exclude values.
    epsilon : float, or sequence of d floats
        One epsilon for all attributes, or one for each, in nats, >= 0.

    Returns
    -------
    float64[d]
        max over x, x' of sum over outputs y of [P(y | x) - e^epsilon P(y | x')]_+ .

    Raises
    ------
    InvalidInputError
        If a shape does not fit, or a category has probability zero.
    InvalidParameterError
        If an epsilon is negative.
    TooLargeError
        If the outputs have too many combinations.

    Examples
    --------
    Two bits and their exclusive or. The paper's (6) says (1, 0.01) about each of them.

    >>> import numpy as np
    >>> from deniable.leakage import revealing_channel
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    >>> total_delta(xor, [revealing_channel(2, 1.0, 0.01)] * 3, 1.0).round(4)
    array([0.1682, 0.1682, 0.1682])
    """
    table = checked_joint(joint)
    check_no_empty_category(table)
    channels = checked_channels(table.shape, mechanisms)
    check_states([max(channel.shape) for channel in channels])
    asked = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (table.ndim,))
    if not (asked >= 0).all():
        raise out_of_range("epsilon", ">= 0", epsilon)
    masses, found = marginals(table), np.zeros(table.ndim)
    for target, others in targets(table, channels):
        rows = np.moveaxis(others, target, 0).reshape(table.shape[target], -1) / masses[target][:, None]
        found[target] = worst_pair(rows, [(own, own) for own in channels[target].T], float(asked[target]))
    return found


def channel_delta(channel: ArrayLike, conditional: ArrayLike, epsilon: float) -> float:
    """Return the smallest delta with which a known release of X_j is (epsilon, delta)-private about X_i.

    The result is max over x, x' of sum over y of [P(y|x) - e^epsilon P(y|x')]_+ . This is also true for mechanisms that
    are themselves only (epsilon, delta)-private. This delta holds for *events* (sets of outputs). Single outputs are
    not enough, because outputs that are rare one by one may be likely together.

    Parameters
    ----------
    channel : float[|X_j|, outputs]
        P(Y_j = y | X_j = u). Rows sum to one.
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x). Rows sum to one.
    epsilon : float
        Epsilon in nats, >= 0.

    Examples
    --------
    >>> from deniable import GRR
    >>> round(channel_delta(GRR(k=2, epsilon=1.0).channel(), [[0.8, 0.2], [0.2, 0.8]], 0.25), 4)
    0.1746
    """
    if not epsilon >= 0:
        raise out_of_range("epsilon", ">= 0", epsilon)
    return apart(composed_channel(channel, conditional), math.exp(epsilon))
