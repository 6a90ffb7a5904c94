"""Tables Pr(y_j | y_s, y_t) of Corr-RR with two pivots, from the pair tables of phase one.

Seeam, Zheng, Hu (Corr-RR), 3.3.5, leave the rule for the tables open. Let q and p be the probabilities of the pivots'
GRR at epsilon/2, and C = d(d-1)/2 the number of pairs of pivots. Let R_st = GRR_s T_st GRR_t' be the distribution of
two pivots' reports, and m the mean of R_st' W_st over the pairs without j. Then target j is reported with probabilities

    pi = [(d-1) (q + (p - q) f_j) + (C - d + 1) m]/C.

*Least norm.* The expected error sum_v [pi (1 - pi)/n2 + (pi - q - (p - q) f_j)^2]/(p - q)^2 is a convex quadratic in
the tables, and depends on them through m alone. Its minimum is at

    m* = [C (n2 (q + (p - q) f_j) - 1/k)/(n2 - 1) - (d-1) (q + (p - q) f_j)]/(C - d + 1),

projected onto the simplex, for every table with that mean. Among these tables, the one nearest to uniform codes is
taken, W_st(y) = 1/k + R_st(y) l. If it has negative entries, its mixture with the constant table m* that has none is
taken. At small epsilon, R_st is nearly flat and W is nearly constant: *the error-minimising table hardly looks at the
pivots*. The drawn code is then a realistic fake, as in RS+RFD, and its errors are those of phase one.

*Conditional.* W_st(y) is proportional to P(v | y_s) P(v | y_t)/P(v), as if the pivots were independent given the
target.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from deniable.core.checks import Floats, checked_integer
from deniable.core.projection import nearest_distribution
from deniable.errors import TooLargeError, unknown_name
from deniable.oracles.grr import GRR
from deniable.records.pairs import attribute_pairs
from deniable.records.pivot.pivot_law import Tables
from deniable.research.records.joint_tables import PairTables

METHODS = ("least-norm", "conditional")


def learn_two_pivot_tables(tables: PairTables, oracles: tuple[GRR, ...], n2: int, method: str = "least-norm") -> Tables:
    """Analyst: return the tables by the rule of this name.

    The result is indexed by [pair][target][y_s k_t + y_t], and is empty for the pivots themselves.

    Parameters
    ----------
    tables : PairTables
        Pair tables of phase one.
    oracles : tuple of GRR
        Oracles of phase two, each with half the budget.
    n2 : int
        Number of contributors who are expected in phase two, >= 2.
    method : {"least-norm", "conditional"}
        Rule for the tables, explained in the module's docstring.

    Raises
    ------
    InvalidParameterError
        If n2 or the method is out of bounds.
    """
    checked_integer("n2", n2, 2)
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    d = len(tables.sizes)
    joints = {pair: table.projected.frequencies for pair, table in tables.items()}
    found: dict[tuple[int, int, int], Floats] = {}
    for j in range(d):
        pairs = list(combinations([i for i in range(d) if i != j], 2))
        if method == "conditional":
            for s, t in pairs:
                found[s, t, j] = _conditional(_oriented(joints, s, j), _oriented(joints, t, j))
        elif pairs:
            other = 1 if j == 0 else 0
            own = tables[j, other].margins[0]
            reports = [np.asarray(oracles[s].channel() @ joints[s, t] @ oracles[t].channel()).ravel() for s, t in pairs]
            for pair, law in zip(pairs, _least_norm(own, oracles[j], reports, n2, d), strict=True):
                found[*pair, j] = law
    return tuple(
        tuple(tuple(map(tuple, found[s, t, j].tolist())) if j not in (s, t) else () for j in range(d))
        for s, t in attribute_pairs(d)
    )


def _least_norm(own: Floats, oracle: GRR, reports: list[Floats], n2: int, d: int) -> list[Floats]:
    p, q = map(float, oracle.support_probabilities)
    k, total, shares = oracle.k, d * (d - 1) // 2, q + (p - q) * own
    optimum = (total * (n2 * shares - 1 / k) / (n2 - 1) - (d - 1) * shares) / len(reports)
    mean = nearest_distribution(optimum)
    slope = len(reports) * (mean - 1 / k) / sum(float(law @ law) for law in reports)
    laws = [1 / k + np.outer(law, slope) for law in reports]
    # Each table is moved towards the constant table just far enough that nothing is negative. Its mean stays.
    lowest = np.min([law.min(axis=0) for law in laws], axis=0)
    short = lowest < 0
    share = float((-lowest[short] / (mean - lowest)[short]).max()) if short.any() else 0.0
    mixed = [np.maximum((1 - share) * law + share * mean, 0.0) for law in laws]
    return [law / law.sum(axis=1, keepdims=True) for law in mixed]


def _oriented(joints: dict[tuple[int, int], Floats], i: int, j: int) -> Floats:
    return joints[i, j] if i < j else joints[j, i].T


def _conditional(first: Floats, second: Floats) -> Floats:
    """Return P(v | a) P(v | b)/P(v), normalised, float64[k_s k_t, k].

    Where this is 0, the result has the target's own frequencies.
    """
    margins = (first.sum(axis=0) + second.sum(axis=0)) / 2
    a, b = (
        joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny) for joint in (first, second)
    )
    shares = (a[:, None, :] * b[None, :, :] / np.where(margins > 0, margins, 1.0)).reshape(-1, len(margins))
    total = shares.sum(axis=1, keepdims=True)
    law = np.where(total > 0, shares / np.where(total > 0, total, 1.0), margins)
    result: Floats = law / law.sum(axis=1, keepdims=True)
    return result


MAX_TABLE_CELLS = 1 << 18
"""Largest number of probabilities, over all tables, that a mechanism publishes."""


def check_table_cells(cells: int) -> None:
    """Raise TooLargeError if tables have more than MAX_TABLE_CELLS probabilities in all."""
    if cells > MAX_TABLE_CELLS:
        raise TooLargeError(
            f"the published tables must have at most {MAX_TABLE_CELLS} probabilities, got {cells}: merge categories, "
            "or use fewer attributes"
        )
