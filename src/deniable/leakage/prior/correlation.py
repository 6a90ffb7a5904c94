"""Correlation-induced privacy leakage (CPL): what the release of X_j says about X_i.

Source: *The Hidden Cost of Correlation: Rethinking Privacy Leakage in Local Differential Privacy* (2025), definitions
(3), (7), (8), Algorithms 1 and 2, Corollary IV.4. Both algorithms are computed here in closed form; the tight delta is
our own (``docs/theory/leakage.md``). All leakages are in nats and relative to the stated conditional distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage.prior.distributions import Floats, checked_conditional, checked_distribution


def cpl(channel: ArrayLike, conditional: ArrayLike) -> float:
    """CPL of a known channel (Algorithm 1): max over outputs of ln(column max/column min) of conditional @ channel.

    Parameters
    ----------
    channel : float[|X_j|, outputs]
        P(Y_j = y | X_j = u), rows sum to one; for instance ``mechanism.channel()``.
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x), rows sum to one.

    Returns
    -------
    float
        Leakage about X_i in nats; infinite if some output rules out a value of X_i.

    Raises
    ------
    InvalidInputError
        If a matrix is not row-stochastic, or the shapes do not fit.

    Examples
    --------
    >>> from deniable import GRR
    >>> round(cpl(GRR(k=2, epsilon=1.0).channel(), [[0.8, 0.2], [0.2, 0.8]]), 4)
    0.5694
    """
    links = checked_conditional(conditional)
    outputs = checked_distribution(channel, "channel", axis=-1)
    if outputs.ndim != 2 or outputs.shape[0] != links.shape[1]:
        raise InvalidInputError(
            f"channel must have one row per column of conditional ({links.shape[1]}), got shape={outputs.shape}"
        )
    composed = links @ outputs
    high, low = composed.max(axis=0), composed.min(axis=0)
    possible = high > 0
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.log(high[possible] / low[possible]).max()))


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The worst leakage over all (epsilon, delta)-LDP mechanisms on X_j; what `worst_case_cpl` returns.

    Parameters
    ----------
    epsilon : float
        Leakage L about X_i, in nats; attained.
    delta : float
        Smallest valid delta' at that epsilon.
    inputs : (int, int)
        The values x, x' of X_i that are told apart best.
    subset : tuple of int
        The set S* of values of X_j; binary randomised response on 1[X_j in S*] attains `epsilon`.
    conditional : float64[|X_i|, |X_j|]
        The prior the figure is relative to.
    mechanism_epsilon, mechanism_delta : float
        The budget of the release.
    """

    epsilon: float
    delta: float
    inputs: tuple[int, int]
    subset: tuple[int, ...]
    conditional: Floats
    mechanism_epsilon: float
    mechanism_delta: float

    def delta_at(self, epsilon: float) -> float:
        """Return the smallest delta' such that every such release is (epsilon, delta')-private about X_i.

        delta' = max{0, delta h, [h (E - 1 + 2 delta) - (e^epsilon - 1)(1 - delta)]/(E + 1)} with
        h = max over x, x' of sum_u [R[x,u] - e^epsilon R[x',u]]_+ ; attained (checked against a linear programme).
        """
        if not epsilon >= 0:
            raise InvalidParameterError(f"epsilon must be >= 0, got epsilon={epsilon}")
        rows = self.conditional
        h = max(float(np.maximum(row - math.exp(epsilon) * rows, 0).sum(axis=1).max()) for row in rows)
        budget, delta = math.exp(self.mechanism_epsilon), self.mechanism_delta
        return max(
            0.0,
            delta * h,
            (h * (budget - 1 + 2 * delta) - math.expm1(epsilon) * (1 - delta)) / (budget + 1),
        )

    def curve(self, epsilons: ArrayLike) -> Floats:
        """Return `delta_at` for every epsilon, float64 of the same length."""
        return np.array([self.delta_at(float(epsilon)) for epsilon in np.ravel(epsilons)])


def worst_case_cpl(conditional: ArrayLike, epsilon: float, delta: float = 0.0) -> WorstCase:
    """CPL when only the budget of the release is known (Algorithm 2): tight over all (epsilon, delta)-LDP mechanisms.

    L = max over x, x', S of ln[(1 + C(E - 1))/(1 + D(E - 1))] with C = R[x, S], D = R[x', S]: for a pair (x, x') the
    best S is a prefix of the values sorted by R[x, u]/R[x', u], descending.

    Parameters
    ----------
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x), rows sum to one.
    epsilon : float
        Budget of the release of X_j, nats, >= 0.
    delta : float
        Its delta over *events* (sets of outputs), in [0, 1]. A bound that only holds output by output is no delta.

    Examples
    --------
    >>> worst = worst_case_cpl([[0.8, 0.2], [0.2, 0.8]], epsilon=1.0)
    >>> round(worst.epsilon, 4), worst.inputs, worst.subset
    (0.5694, (0, 1), (0,))
    """
    rows = checked_conditional(conditional)
    if not (isinstance(epsilon, (int, float)) and 0 <= epsilon < math.inf):
        raise InvalidParameterError(f"epsilon must be finite and >= 0, got epsilon={epsilon}")
    delta = checked_probability("delta", delta)
    gain = math.expm1(epsilon)
    best, inputs, subset = 0.0, (0, 0), ()  # type: tuple[float, tuple[int, int], tuple[int, ...]]
    for x, row in enumerate(rows):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(row > 0, row / rows, -1.0)
        order = np.argsort(-ratio, axis=1, kind="stable")
        c = np.cumsum(row[order], axis=1)
        d = np.cumsum(np.take_along_axis(rows, order, axis=1), axis=1)
        leakage = np.log1p(c * gain) - np.log1p(d * gain)
        other, last = divmod(int(leakage.argmax()), leakage.shape[1])
        if leakage[other, last] > best:
            best, inputs = float(leakage[other, last]), (x, other)
            subset = tuple(sorted(int(u) for u in order[other, : last + 1]))
    at_best = delta * math.expm1(best) / gain if gain > 0 else delta * _total_variation(rows)
    return WorstCase(best, at_best, inputs, subset, rows, float(epsilon), delta)


def saturation(conditional: ArrayLike) -> float:
    """Limit of the worst-case CPL for a release without noise, ln max R[x,u]/R[x',u] (Corollary IV.4); may be inf.

    Examples
    --------
    >>> round(saturation([[0.8, 0.2], [0.2, 0.8]]), 4)
    1.3863
    """
    return cpl(np.eye(np.shape(conditional)[-1]), conditional)


def fixed_size_cpl(conditional: ArrayLike, epsilon: float, size: int) -> float:
    """CPL of a mechanism whose outputs favour exactly the value sets of one size by the factor e^epsilon.

    Subset selection reaches the sets of size omega, GRR the singletons. The best set of a given size maximises a ratio
    of linear functions; Dinkelbach's iteration solves it exactly in a few sorts.

    Parameters
    ----------
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x).
    epsilon : float
        ln of the ratio between a favoured and another value, >= 0.
    size : int
        Size of the sets, 1..|X_j|-1.

    Examples
    --------
    >>> round(fixed_size_cpl([[0.8, 0.2], [0.2, 0.8]], epsilon=1.0, size=1), 4)
    0.5694
    """
    rows = checked_conditional(conditional)
    size = checked_integer("size", size, 1, rows.shape[1] - 1)
    gain = math.expm1(epsilon)
    best = 1.0
    improved = True
    while improved:  # the ratio rises strictly and there are finitely many sets
        improved = False
        for row in rows:
            scores = row - best * rows
            chosen = np.argpartition(-scores, size - 1, axis=1)[:, :size]
            c = row[chosen].sum(axis=1)
            d = np.take_along_axis(rows, chosen, axis=1).sum(axis=1)
            ratio = float(((1 + c * gain) / (1 + d * gain)).max())
            if ratio > best * (1 + 1e-15):
                best, improved = ratio, True
    return math.log(best)


def _total_variation(rows: NDArray[np.float64]) -> float:
    return max(float(np.maximum(row - rows, 0).sum(axis=1).max()) for row in rows)
