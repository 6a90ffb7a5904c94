"""Matrix P of Corr-RR: probabilities with which a target attribute copies the privatised pivot.

The matrix is from Seeam, Zheng, Hu (Corr-RR), section 3.2.2. Rows of P are targets, columns are pivots, and the
diagonal is one. Let a = (kP - 1)/(k - 1) be the *gain*, g = f - 1/k and ratio = (n2 + 1)/(n2 - 1). The pairwise rule is

    a*[j, s] = ratio <g_s, g_j>/<g_s, g_s>, clipped to [-1/(k-1), 1].

It is a regression slope between two *marginals*. It depends neither on epsilon nor on any dependence between the
attributes.

An older preprint has another rule (its 3.2.2, Theorem 4, Proposition 1), which is ``rule="preprint"``. Let f_j be a
frequency of the target and f_s that of the pivot. With d0 = 1 - f_j - f_s, a0 = f_j - f_s and e = 2 f_s - 1, this rule
minimises

    sum over values of [(d0 + p e)/2]^2 + [1/4 - (Delta (a0 + p e)/2)^2]/(n2 Delta^2)

over p in [0, 1]. For two values, this is the pairwise rule. For more values, the objective is not the error of any
estimate. The proof spreads a copy that fails with 1 - f_s, but (1 - f_s)/(k - 1) is right. The resulting p is near one
unless the marginals differ much.

The published version has errata. Proposition 1 lacks the minus sign that its proof has, and the second of its two n
should be n2. The comparison with the end points 0 and 1 changes nothing, because the objective is convex and clipping
finds the same p. Algorithm 1 indexes p_{j,s} with j as the pivot, but Theorem 5 with j as the target. The theorem is
right, and `as_printed=True` follows the algorithm.

The preprint has errata, too. Its Proposition 1 lacks the minus sign and a factor 1/2 that its proof has. Its "average
over both attributes" is the sum over one attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import Floats, checked_entries, checked_integer
from deniable.core.thresholds import exact
from deniable.errors import InvalidInputError, InvalidParameterError, quoted, unknown_name
from deniable.records.pivot.alignment import Alignment, checked_alignment, copied_frequencies

CopyProbabilities = tuple[tuple[Any, ...], ...]

METHODS = ("pairwise", "joint")
RULES = ("popets", "preprint")
_UNIFORM = 1e-14
"""A marginal this close to the uniform distribution counts as uniform, up to rounding."""
_COLLINEAR = 1e-9
_RIDGE = 1e-5


def pairwise_copy_probabilities(
    marginals: Sequence[ArrayLike],
    n2: int,
    *,
    rule: str = "popets",
    as_printed: bool = False,
    alignment: Sequence[Any] = (),
) -> Floats:
    """Analyst: return P that minimises the expected error of every pair of attributes on its own (Proposition 1).

    Parameters
    ----------
    marginals : sequence of d arrays float64[k_j]
        Frequencies of every attribute, for instance raw estimates of phase one; they may be negative.
    n2 : int
        Number of contributors of phase two, >= 2.
    rule : {"popets", "preprint"}
        Version of the paper whose objective is minimised. The objective of the published version is the error. The
        objective of the preprint is for comparisons.
    as_printed : bool
        True to exchange target and pivot, as Algorithm 1 of the published version prints the indices.
    alignment : sequence of (larger, smaller, map)
        Maps between domains that differ; contiguous if not given. See `deniable.records.pivot.alignment`.

    Returns
    -------
    float64[d, d]
        Matrix P with a row per target, a column per pivot, and a diagonal of one. An entry is 1/k if the objective does
        not depend on it. This happens with "popets" for a uniform pivot, and with "preprint" for a uniform pivot of two
        values.

    Raises
    ------
    InvalidInputError
        If a marginal has fewer than two entries, or one that is not finite.
    InvalidParameterError
        If n2 < 2, the alignment does not fit, or the rule is unknown. If "preprint" is used for domains that differ,
        with an alignment, or with `as_printed`.

    Examples
    --------
    >>> pairwise_copy_probabilities([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]], n2=1000).round(3)
    array([[1.   , 1.   ],
           [0.572, 1.   ]])
    >>> pairwise_copy_probabilities([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]], n2=1000, rule="preprint").round(3)
    array([[1.   , 1.   ],
           [0.885, 1.   ]])
    """
    _check_rule(rule, "pairwise", as_printed)
    if rule == "preprint":
        return _preprint(checked_marginals(marginals), n2, alignment)
    ratio, (shares, images) = _ratio(n2, 2), _shares_and_images(marginals, alignment)
    d = len(shares)
    result = np.ones((d, d))
    for s, j in permutations(range(d), 2):
        image, own = images[s][j], shares[j] - 1 / len(shares[j])
        norm = float(image @ image)
        slope = ratio * float(image @ own) / norm if norm > _UNIFORM**2 else 0.0
        result[j, s] = _probability(slope, min(len(shares[j]), len(shares[s])))
    return result.T.copy() if as_printed else result


def joint_copy_probabilities(marginals: Sequence[ArrayLike], n2: int, *, alignment: Sequence[Any] = ()) -> Floats:
    """Analyst: return P that minimises the expected error of every target over all its pivots together.

    For target j, the gains solve a box-constrained least-squares problem. They fit ((d-1) n2 + 1)/(n2 - 1) g_j by the
    g_s of the other attributes. If these g_s are collinear, the gains are the solution of least norm. With two
    attributes, this is the pairwise rule. With more attributes, the pairwise rule overlooks that the pulls of the
    pivots add up.

    Parameters
    ----------
    marginals : sequence of d arrays float64[k_j]
        Frequencies of every attribute, for instance raw estimates of phase one; they may be negative.
    n2 : int
        Number of contributors of phase two, >= 2.
    alignment : sequence of (larger, smaller, map)
        Maps between domains that differ; contiguous if not given.

    Returns
    -------
    float64[d, d]
        Matrix P with a row per target, a column per pivot, and a diagonal of one.

    Raises
    ------
    InvalidInputError
        If a marginal has fewer than two entries, or one that is not finite.
    InvalidParameterError
        If n2 < 2, or the alignment does not fit.

    Examples
    --------
    >>> marginals = [[0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [0.6, 0.2, 0.2]]
    >>> joint_copy_probabilities(marginals, n2=1000).round(2)
    array([[1.  , 1.  , 1.  ],
           [0.33, 1.  , 0.67],
           [1.  , 1.  , 1.  ]])
    """
    shares, images = _shares_and_images(marginals, alignment)
    sizes, d = [len(share) for share in shares], len(shares)
    result = np.ones((d, d))
    for j in range(d):
        others = [s for s in range(d) if s != j]
        if others:
            groups = np.array([min(sizes[j], sizes[s]) for s in others])
            columns = np.stack([images[s][j] for s in others], axis=1)
            gains = _least_squares(columns, _ratio(n2, d) * (shares[j] - 1 / sizes[j]), -1 / (groups - 1))
            result[j, others] = [_probability(gain, k) for gain, k in zip(gains, groups.tolist(), strict=True)]
    return result


def learn_copy_probabilities(
    marginals: Sequence[ArrayLike],
    n2: int,
    method: str = "pairwise",
    *,
    rule: str = "popets",
    as_printed: bool = False,
    alignment: Sequence[Any] = (),
) -> Floats:
    """Analyst: return P by method "pairwise" or "joint"; `rule` and `as_printed` are for "pairwise" only.

    Raises
    ------
    InvalidParameterError
        If the method or the rule is unknown, or `as_printed` is neither True nor False. If "joint" is combined with the
        rule of the preprint or with `as_printed`.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    _check_rule(rule, method, as_printed)
    if method == "joint":
        return joint_copy_probabilities(marginals, n2, alignment=alignment)
    return pairwise_copy_probabilities(marginals, n2, rule=rule, as_printed=as_printed, alignment=alignment)


def checked_copy_probabilities(probabilities: Any, d: int) -> CopyProbabilities:
    """Return P as d x d probabilities with a diagonal of one.

    Numbers become floats, or Fractions if no float is written the same.
    """
    name = "copy_probabilities"
    rows = []
    for j, row in enumerate(checked_entries(probabilities, d, f"{name} must have one row per target ({d})")):
        checked_entries(row, d, f"{name}[{j}] must have one entry per pivot ({d})")
        numbers = [exact(entry, f"{name}[{j}][{s}]") for s, entry in enumerate(row)]
        for s, number in enumerate(numbers):
            if not 0 <= number <= 1:
                raise InvalidParameterError(f"{name}[{j}][{s}] must be in [0, 1], got {float(number)}")
        if numbers[j] != 1:
            raise InvalidParameterError(
                f"{name}[{j}][{j}] must be 1, got {float(numbers[j])}: the copy of a pivot always equals the pivot"
            )
        rows.append(tuple(float(number) if exact(float(number)) == number else number for number in numbers))
    return tuple(rows)


def checked_marginals(marginals: Sequence[ArrayLike]) -> list[Floats]:
    """Return marginals as float64 arrays of at least two finite entries each."""
    if isinstance(marginals, (str, bytes)) or not hasattr(marginals, "__len__") or len(marginals) == 0:
        raise InvalidInputError(
            f"marginals must have one array of frequencies for each attribute, got {quoted(marginals)}"
        )
    result = []
    for j, marginal in enumerate(marginals):
        share = np.asarray(marginal, dtype=np.float64)
        if share.ndim != 1 or len(share) < 2 or not np.isfinite(share).all():
            raise InvalidInputError(f"marginals[{j}] must be at least two finite frequencies, got {quoted(share)}")
        result.append(share)
    return result


def _check_rule(rule: str, method: str, as_printed: bool) -> None:
    if rule not in RULES:
        raise unknown_name("rule", rule, RULES)
    if not isinstance(as_printed, bool):
        raise InvalidParameterError(f"as_printed must be true or false, got as_printed={quoted(as_printed)}")
    if method == "joint" and rule != "popets":
        raise InvalidParameterError(f'rule must be "popets" for method="joint", got rule={quoted(rule)}')
    if as_printed and (method == "joint" or rule == "preprint"):
        raise InvalidParameterError(
            f"as_printed must be false for method={quoted(method)} with rule={quoted(rule)}, got as_printed=true: only "
            "method “pairwise” with rule “popets” has a printed version"
        )


def _preprint(shares: list[Floats], n2: int, alignment: Sequence[Any]) -> Floats:
    """Return P by the preprint's rule; clipping finds the best p in [0, 1], because the objective is convex in p."""
    sizes = sorted({len(share) for share in shares})
    if len(sizes) > 1 or alignment:
        raise InvalidParameterError(
            'rule must be "popets" for attributes with different numbers of categories, or with an alignment, got '
            f'rule="preprint" for sizes={quoted(sizes)}'
        )
    count, d = checked_integer("n2", n2, 2), len(shares)
    result = np.ones((d, d))
    for s, j in permutations(range(d), 2):
        e = 2 * shares[s] - 1
        norm = (1 - 1 / count) * float(e @ e)
        pull = (1 - shares[j] - shares[s]) - (shares[j] - shares[s]) / count
        result[j, s] = min(max(-float(pull @ e) / norm, 0.0), 1.0) if norm > _UNIFORM**2 else 1 / sizes[0]
    return result


def _ratio(n2: int, d: int) -> float:
    count = checked_integer("n2", n2, 2)
    return ((d - 1) * count + 1) / (count - 1)


def _shares_and_images(
    marginals: Sequence[ArrayLike], alignment: Sequence[Any]
) -> tuple[list[Floats], list[list[Floats]]]:
    """Return the marginals, and [source][target] what a copy adds beyond one of a uniform marginal."""
    shares = checked_marginals(marginals)
    maps = checked_alignment(alignment, [len(share) for share in shares])
    return shares, [[_image(shares, maps, s, j) for j in range(len(shares))] for s in range(len(shares))]


def _image(shares: list[Floats], alignment: Alignment, source: int, target: int) -> Floats:
    sizes, k = tuple(len(share) for share in shares), len(shares[source])
    if source == target or (sizes[target] == k and not alignment):
        return shares[source] - 1 / k
    copied = copied_frequencies(shares[source], sizes, alignment, source, target)
    # Copies that fail are uniform on the smaller of the two domains.
    if k >= sizes[target]:
        return copied - 1 / sizes[target]
    return copied - copied_frequencies(np.full(k, 1 / k), sizes, alignment, source, target)


def _probability(gain: float, groups: int) -> float:
    bounded = min(max(gain, -1 / (groups - 1)), 1.0)
    return min(max((1 + (groups - 1) * bounded) / groups, 0.0), 1.0)


def _least_squares(columns: Floats, target: Floats, lower: Floats) -> Floats:
    """Return the least-norm minimiser of |columns a - target| with lower <= a <= 1."""
    scale = float(np.linalg.norm(columns))
    if scale <= _UNIFORM:
        return np.zeros(columns.shape[1])
    if np.linalg.matrix_rank(columns, tol=_COLLINEAR * scale) < columns.shape[1]:
        # Among equally good gains, a slight ridge picks those of least norm.
        columns = np.concatenate([columns, _RIDGE * scale * np.eye(columns.shape[1])])
        target = np.concatenate([target, np.zeros(columns.shape[1])])
    from scipy import optimize  # this import takes longer than all of this package

    solution = optimize.lsq_linear(columns, target, (lower, np.ones(len(lower))), method="bvls", tol=1e-14)
    return np.asarray(solution.x, dtype=np.float64)
