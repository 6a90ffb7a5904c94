"""Correlation-induced privacy leakage (CPL), the leakage of the release of X_j about X_i.

Source: *The Hidden Cost of Correlation: Rethinking Privacy Leakage in Local Differential Privacy* (2025), definitions
(3), (7), (8), Algorithms 1 and 2, Corollary IV.4. Both algorithms are computed here in closed form; the tight delta is
our own (``docs/theory/leakage.md``). All leakages are in nats and relative to the stated conditional distribution.

A release is a channel, a budget about which nothing else is known, or one of the library's mechanisms. A mechanism is
represented by its channel if that can be listed, otherwise by the sets that its outputs can reach. At the output y that
leaks most, P(y | v) has only two levels. It is high for the values v of a set S and low for the others, and their ratio
is the mechanism's tight ratio. The CPL is then Algorithm 2 restricted to the sets S that some output reaches. These are
singletons (GRR), sets of omega values (subset selection), or all sets (unary encodings and related mechanisms).
Mechanisms that reach every set attain Algorithm 2 exactly, even if the attacks in the literature extract less.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.mechanism import Mechanism
from deniable.core.privacy import Status
from deniable.core.result import OPTIONAL
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError, out_of_range, quoted
from deniable.leakage.prior.distributions import Floats, checked_conditional, checked_distribution, merged_channel
from deniable.oracles.oracle import FrequencyOracle, is_oracle
from deniable.oracles.sketch.families.family import HashFamily
from deniable.oracles.support import SupportLaw

MAX_HASH_FUNCTIONS = 1 << 18
"""Largest family of hash functions whose reachable sets are listed."""

MAX_HASH_EVALUATIONS = 1 << 26
"""Largest number of hash evaluations (functions times values) for listing reachable sets."""

MAX_DOMAIN = 8
"""Largest domain whose sets are listed."""

_HASH_BLOCK = 1 << 12

Release: TypeAlias = FrequencyOracle[Any] | ArrayLike
"""Release of an attribute: a mechanism, a row-stochastic channel (k, outputs), or a number. A number is the epsilon of
a mechanism about which nothing else is known."""


@dataclass(frozen=True)
class Leakage:
    """A leakage about one attribute, in nats, and whether it is exact.

    A sum of pairwise leakages (an "additive figure") is never a `Leakage`, because such a sum is not a bound.

    Parameters
    ----------
    epsilon : float
        Largest log-likelihood ratio between two values of the attribute.
    status : {"exact", "upper bound", "assumption"}
        "exact": attained under the stated prior. "upper bound": proved, but perhaps not attained. "assumption": holds
        only under the condition in `note`.
    note : str
        Condition of an assumption, or a remark.
    delta : float
        The delta in P(event | x) <= e^epsilon P(event | x') + delta. It is 0 unless releases have a delta.

    Examples
    --------
    >>> print(Leakage(0.5694, "exact"))
    0.5694 (exact)
    >>> print(Leakage(0.5694, "exact", delta=0.0045))
    0.5694, delta 0.0045 (exact)
    """

    epsilon: float
    status: Status
    note: str = ""
    delta: float = field(default=0.0, metadata=OPTIONAL)

    def __str__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        delta = f", delta {self.delta:.3g}" if self.delta else ""
        return f"{self.epsilon:.4f}{delta} ({self.status}{note})"


def cpl(channel: ArrayLike, conditional: ArrayLike) -> float:
    """Return the CPL of a known channel: the leakage about X_i by a release of a correlated attribute X_j.

    CPL stands for correlation-induced privacy leakage. It is the largest ln(column max/column min) of
    conditional @ channel (Algorithm 1 of *The Hidden Cost of Correlation*).

    Parameters
    ----------
    channel : float[|X_j|, outputs]
        P(Y_j = y | X_j = u), for instance ``mechanism.channel()``. Rows sum to one.
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x). Rows sum to one.

    Returns
    -------
    float
        Leakage about X_i in nats. Infinite if some output excludes a value of X_i.

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
    composed = composed_channel(channel, conditional)
    high, low = composed.max(axis=0), composed.min(axis=0)
    possible = high > 0
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.log(high[possible] / low[possible]).max()))


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The largest leakage over all (epsilon, delta)-LDP mechanisms on X_j, as `worst_case_cpl` returns it.

    Parameters
    ----------
    epsilon : float
        Leakage L about X_i, in nats, which is attained.
    delta : float
        Smallest delta' that is valid together with this epsilon.
    inputs : (int, int)
        Values x, x' of X_i that a report of X_j distinguishes best.
    subset : tuple of int
        Set S* of values of X_j. Binary randomised response on 1[X_j in S*] attains `epsilon`.
    conditional : float64[|X_i|, |X_j|]
        P(X_j | X_i) of the prior for which the figure holds.
    mechanism_epsilon, mechanism_delta : float
        Budget of the release.
    """

    epsilon: float
    delta: float
    inputs: tuple[int, int]
    subset: tuple[int, ...]
    conditional: Floats
    mechanism_epsilon: float
    mechanism_delta: float

    def delta_at(self, epsilon: float) -> float:
        """Return the smallest delta' with which every such release is (epsilon, delta')-private about X_i.

        With R = `conditional`, E = e^`mechanism_epsilon` and delta = `mechanism_delta`, the result is delta' = max{0,
        delta h, [h (E - 1 + 2 delta) - (e^epsilon - 1)(1 - delta)]/(E + 1)} with h = max over x, x' of sum_u [R[x,u] -
        e^epsilon R[x',u]]_+ . Some release attains it (checked against a linear programme).
        """
        if not epsilon >= 0:
            raise out_of_range("epsilon", ">= 0", epsilon)
        rows = self.conditional
        h = apart(rows, math.exp(epsilon))
        budget, delta = math.exp(self.mechanism_epsilon), self.mechanism_delta
        return max(
            0.0,
            delta * h,
            (h * (budget - 1 + 2 * delta) - math.expm1(epsilon) * (1 - delta)) / (budget + 1),
        )


def worst_case_cpl(conditional: ArrayLike, epsilon: float, delta: float = 0.0) -> WorstCase:
    """Return the largest CPL of all (epsilon, delta)-LDP releases of X_j: the leakage about X_i (Algorithm 2).

    Let R be `conditional`, E = e^epsilon, and R[x, S] the probability of a set S of values of X_j given X_i = x. The
    result is L = max over x, x', S of ln[(1 + C(E - 1))/(1 + D(E - 1))] with C = R[x, S] and D = R[x', S]. To find the
    best S for a pair (x, x'), sort the values u by R[x, u]/R[x', u], descending. The best S then consists of the first
    values in this order.

    Parameters
    ----------
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x). Rows sum to one.
    epsilon : float
        Budget of the release of X_j in nats, >= 0.
    delta : float
        Delta of the release for *events* (sets of outputs), in [0, 1]. A bound that holds only for single outputs is
        not a delta.

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
    for x, (order, leakage) in enumerate(_prefixes(rows, gain)):
        other, last = divmod(int(leakage.argmax()), leakage.shape[1])
        if leakage[other, last] > best:
            best, inputs = float(leakage[other, last]), (x, other)
            subset = tuple(sorted(int(u) for u in order[other, : last + 1]))
    at_best = delta * math.expm1(best) / gain if gain > 0 else delta * apart(rows, 1.0)
    return WorstCase(best, at_best, inputs, subset, rows, float(epsilon), delta)


def worst_case_pairs(conditional: Floats, epsilon: float) -> Floats:
    """Return Algorithm 2 for every ordered pair (x, x') instead of the worst one only, float64[|X_i|, |X_i|]."""
    return np.array([leakage.max(axis=1).clip(min=0) for _, leakage in _prefixes(conditional, math.expm1(epsilon))])


def _prefixes(rows: Floats, gain: float) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Yield for every x the values sorted by R[x, u]/R[x', u], a row for every x', and what each prefix leaks."""
    for row in rows:
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-np.where(row > 0, row / rows, -1.0), axis=1, kind="stable")
        above, below = np.cumsum(row[order], axis=1), np.cumsum(np.take_along_axis(rows, order, axis=1), axis=1)
        yield order, np.log1p(above * gain) - np.log1p(below * gain)


def any_mechanism_channel(k: int, epsilon: float) -> Floats:
    """Return a channel with epsilon that leaks at least as much as every mechanism with this epsilon.

    The channel draws the size s of a set uniformly from 1..k-1. Then it draws a set of that size, which is e^epsilon
    times likelier if it contains the true value.

    An output gives each value a likelihood, and these likelihoods differ by a factor of at most e^epsilon. Up to scale
    their vector lies in the cube [1, e^epsilon]^k, so it is a mixture of the cube's corners. A corner has two levels,
    high on a set of values and low elsewhere. Likelihood ratios of one release, or of several together, are ratios of
    linear functions of each release's vector, so a mixture never exceeds its best part. Therefore a mechanism that
    reaches every set attains the largest leakage of all, about every attribute, whatever mechanisms the other
    attributes have.

    Parameters
    ----------
    k : int
        Domain size, 2..MAX_DOMAIN.
    epsilon : float
        Nats, >= 0.

    Returns
    -------
    float64[k, 2^k - 2]
        Rows sum to one.

    Examples
    --------
    >>> any_mechanism_channel(2, 1.0).round(4)
    array([[0.2689, 0.7311],
           [0.7311, 0.2689]])
    """
    k = checked_integer("k", k, 2, MAX_DOMAIN)
    inside = proper_subsets(k)
    sizes = inside.sum(axis=0)
    weights = np.array([math.exp(epsilon) * math.comb(k - 1, s - 1) + math.comb(k - 1, s) for s in range(1, k)])
    channel: Floats = np.exp(epsilon * inside) / (weights[sizes - 1] * (k - 1))
    return channel


def proper_subsets(k: int) -> NDArray[np.int64]:
    """Return which of k values are in each set but the empty and the full one, 0 or 1, int64[k, 2^k - 2]."""
    return np.array(list(itertools.product((0, 1), repeat=k))[1:-1]).T


def saturation(conditional: ArrayLike) -> float:
    """Return the CPL of a release of X_j without noise (Corollary IV.4). The CPL may be infinite.

    The CPL is the largest ln(P(u|x)/P(u|x')) over all values u of X_j and all values x and x' of X_i.

    Examples
    --------
    >>> round(saturation([[0.8, 0.2], [0.2, 0.8]]), 4)
    1.3863
    """
    return cpl(np.eye(np.shape(conditional)[-1]), conditional)


def fixed_size_cpl(conditional: ArrayLike, epsilon: float, size: int) -> float:
    """Return the CPL of a mechanism in which each output favours a set of values of X_j by the factor e^epsilon.

    There is an output for every set of the given size. The size is omega for subset selection and 1 for GRR. The set
    with the largest leakage maximises a ratio of linear functions. Dinkelbach's iteration finds this set exactly, with
    a few sorts.

    Parameters
    ----------
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x).
    epsilon : float
        Logarithm of the ratio between favoured and other values, >= 0.
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
    while improved:  # it ends, because the ratio rises strictly and there are finitely many sets
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


def composed_channel(channel: ArrayLike, conditional: ArrayLike) -> Floats:
    """Return P(Y_j | X_i), rows of X_i, or raise InvalidInputError."""
    links, outputs = checked_conditional(conditional), checked_distribution(channel, "channel", axis=-1)
    if outputs.ndim != 2 or outputs.shape[0] != links.shape[1]:
        raise InvalidInputError(
            f"channel must have {links.shape[1]} rows (one for each column of conditional), got shape={outputs.shape}"
        )
    return links @ outputs


def apart(rows: Floats, factor: float) -> float:
    """Return max over x, x' of sum over columns of [R[x] - factor R[x']]_+ : with factor 1, total variation."""
    return max(float(np.maximum(row - factor * rows, 0).sum(axis=1).max()) for row in rows)


# ---------------------------------------------------------------- leakage of a mechanism


def mechanism_cpl(release: Release, conditional: ArrayLike) -> Leakage:
    """Return the CPL of a release of X_j: the leakage about another attribute X_i, exact or as an upper bound.

    Parameters
    ----------
    release : mechanism, channel or float
        Mechanism, channel or budget of the release of X_j. For a budget, the result is the largest CPL of all
        mechanisms with this budget (`worst_case_cpl`).
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x). Rows sum to one.

    Returns
    -------
    Leakage
        Leakage about X_i in nats, with the status "exact" or "upper bound". For RAPPOR it is for one report, and the
        note states the figure for any number of reports of one stored answer.

    Raises
    ------
    InvalidInputError
        If the conditional is not row-stochastic or does not fit the domain.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.oracles.unary import OUE
    >>> conditional = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]]
    >>> print(mechanism_cpl(GRR(k=4, epsilon=1.0), conditional))
    0.4615 (exact)
    >>> print(mechanism_cpl(OUE(k=4, epsilon=1.0), conditional))
    0.5694 (exact)
    """
    rows = checked_conditional(conditional)
    if is_budget(release):
        budget = release_epsilon(release)
        note = "attained by some mechanism with this epsilon"
        return Leakage(worst_case_cpl(rows, budget).epsilon, "upper bound", note)
    if not is_oracle(release):
        return Leakage(cpl(release, rows), "exact")
    if release.k != rows.shape[1]:
        raise InvalidInputError(
            f"conditional must have {release.k} columns (one for each answer of {quoted(release)}), got "
            f"{rows.shape[1]} columns"
        )
    if release.support_law is not None:
        return _reachable(release, release.support_law, rows)
    channel = enumerated(release)
    if channel is not None:
        return Leakage(cpl(channel, rows), "exact")
    note = "channel too large to list; all sets of values counted as reachable"
    return Leakage(worst_case_cpl(rows, release.implemented_epsilon()).epsilon, "upper bound", note)


# ---------------------------------------------------------------- properties of a release


def is_budget(release: Release) -> TypeGuard[float]:
    """Tell whether a release is known by its epsilon only."""
    return isinstance(release, (int, float, np.integer, np.floating)) and not isinstance(release, bool)


def check_releases(releases: Sequence[Any], d: int) -> None:
    """Raise an error unless there is one release for each of d attributes, each of a single attribute.

    Raises
    ------
    InvalidInputError
        If there are more or fewer releases than attributes.
    InvalidParameterError
        If a mechanism is for whole records or for open text.
    """
    if len(releases) != d:
        raise InvalidInputError(f"mechanisms must have one entry for each of the {d} attributes, got {len(releases)}")
    for release in releases:
        if isinstance(release, Mechanism) and (release.records or release.takes_text):
            raise InvalidParameterError(
                f"mechanism must be for single attributes with listed categories, but {quoted(release.name)} is for "
                f"{'open text' if release.takes_text else 'whole records'}: make a collection with this mechanism, "
                "and use summarize_collection (`deniable leakage --collection`)"
            )


def release_epsilon(release: Release) -> float:
    """Return the direct leakage of a release: its largest log-likelihood ratio, as implemented.

    Raises
    ------
    InvalidParameterError
        If a budget is negative or not finite.

    Examples
    --------
    >>> from deniable import GRR
    >>> round(release_epsilon(GRR(k=4, epsilon=2.0)), 6), release_epsilon(0.5)
    (2.0, 0.5)
    """
    if is_budget(release):
        budget = float(release)
        if not 0 <= budget < math.inf:
            raise InvalidParameterError(f"epsilon must be finite and >= 0, got epsilon={budget}")
        return budget
    if is_oracle(release):
        return release.implemented_epsilon()
    channel = checked_distribution(release, "channel", axis=-1)
    return cpl(channel, np.eye(len(channel)))


def reaches_every_set(release: Release, k: int) -> bool:
    """Tell whether a release over k values attains Algorithm 2 for every conditional."""
    law = release.support_law if is_oracle(release) else None
    if law is None:
        return False
    # With two values, every proper subset is a singleton.
    return k == 2 or (law.reachable is None and law.hashes is None)


def enumerated(release: Release, max_cells: int = 1 << 20) -> Floats | None:
    """Return the merged channel of a release if it has at most `max_cells` cells, else None; None for a budget."""
    if is_budget(release):
        return None
    if not is_oracle(release):
        return merged_channel(release)
    if release.report_bits + math.log2(release.k) > math.log2(max_cells):
        return None
    try:
        return merged_channel(release.channel())
    except TooLargeError:
        return None


# ---------------------------------------------------------------- reachable sets


def _reachable(oracle: FrequencyOracle[Any], law: SupportLaw, rows: Floats) -> Leakage:
    """Return the CPL over the sets of values that some report of an oracle with a law of support singles out."""
    epsilon = oracle.implemented_epsilon()
    if law.reachable is not None:
        return Leakage(fixed_size_cpl(rows, epsilon, law.reachable), "exact")
    every = worst_case_cpl(rows, epsilon).epsilon
    # Two values differ under some hash function, so both singletons are reached if k = 2.
    if law.hashes is not None and oracle.k > 2:
        return _hashed(law.hashes, epsilon, every, rows)
    if oracle.memoised_epsilon is None:
        return Leakage(every, "exact")
    permanent = worst_case_cpl(rows, oracle.memoised_epsilon).epsilon
    return Leakage(every, "exact", f"one report; any number of reports of one memoised answer: {permanent:.6g}")


def _hashed(family: HashFamily, epsilon: float, every: float, rows: Floats) -> Leakage:
    """Return the CPL over the sets {x : h(x) = z} of the family; the family of *all* functions reaches every set."""
    k, m = family.k, family.m
    if family.member_count > MAX_HASH_FUNCTIONS or family.member_count * k > MAX_HASH_EVALUATIONS:
        note = (
            "all sets of values counted as reachable; the family reaches fewer, but has "
            f"{family.member_count} functions to list"
        )
        return Leakage(every, "upper bound", note)
    gain = math.expm1(epsilon)
    parameters, probabilities = family.members()
    drawn = np.flatnonzero(probabilities != 0)
    best = 0.0
    for start in range(0, len(drawn), _HASH_BLOCK):
        members = [values[drawn[start : start + _HASH_BLOCK]] for values in parameters]
        n = len(members[0])
        hashed = [family.hash(np.full(n, v), *members).astype(np.int64) for v in range(k)]
        cells = (np.arange(n) * m + np.stack(hashed)).ravel()
        mass = np.stack([np.bincount(cells, np.repeat(row, n), n * m) for row in rows])
        ratio = (1 + gain * mass.max(axis=0)) / (1 + gain * mass.min(axis=0))
        best = max(best, math.log(ratio.max()))
    return Leakage(best, "exact")
