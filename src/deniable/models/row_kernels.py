"""Compiled sums over rows for linear predictors, gradients and Hessians, without temporary copies of columns.

No function here calls a BLAS library. The threads of a BLAS library would compete with those of
`deniable.models.problem`, and its results may depend on the number of its threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.core.kernels import kernel, sum_kernel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

FEW_PAIRS = 4
"""Fewer pairs of numbers than this are summed up column by column."""


@kernel
def predict(columns: Floats, theta: Floats, out: Floats) -> None:
    """Write the linear predictors columns[b, p] theta[p, m] to out[b, m]."""
    for i in range(columns.shape[0]):
        for a in range(theta.shape[1]):
            out[i, a] = 0.0
        for j in range(columns.shape[1]):
            value = columns[i, j]
            for a in range(theta.shape[1]):
                out[i, a] += value * theta[j, a]


@kernel
def collect(columns: Floats, score: Floats, out: Floats) -> None:
    """Add sum_i score[i, a] columns[i, j] to out[a, j]."""
    size, p = score.shape[1], columns.shape[1]
    for i in range(columns.shape[0]):
        for a in range(size):
            factor = score[i, a]
            for j in range(p):
                out[a, j] += factor * columns[i, j]


@sum_kernel
def weigh_many(columns: Floats, hessian: Floats, first: Places, second: Places, grams: Floats) -> None:
    """Add sum_i hessian[i, first[q], second[q]] x_ij x_il to grams[j(j + 1)/2 + l, q] for l <= j.

    The innermost loop runs over up to 128 rows, for four pairs at a time. The number of columns of `grams` is a
    multiple of four.
    """
    n, p, pairs = columns.shape[0], columns.shape[1], len(first)
    x, product, weights = np.empty((p, 128)), np.empty(128), np.zeros((grams.shape[1], 128))
    for start in range(0, n, 128):
        rows = min(128, n - start)
        for i in range(rows):
            for j in range(p):
                x[j, i] = columns[start + i, j]
            for q in range(pairs):
                weights[q, i] = hessian[start + i, first[q], second[q]]
        at = 0
        for j in range(p):
            for other in range(j + 1):
                for i in range(rows):
                    product[i] = x[j, i] * x[other, i]
                for q in range(0, grams.shape[1], 4):
                    a, b, c, d = 0.0, 0.0, 0.0, 0.0
                    for i in range(rows):
                        a += product[i] * weights[q, i]
                        b += product[i] * weights[q + 1, i]
                        c += product[i] * weights[q + 2, i]
                        d += product[i] * weights[q + 3, i]
                    grams[at, q] += a
                    grams[at, q + 1] += b
                    grams[at, q + 2] += c
                    grams[at, q + 3] += d
                at += 1


@kernel
def weigh_few(columns: Floats, hessian: Floats, first: Places, second: Places, grams: Floats) -> None:
    """Add sum_i hessian[i, first[q], second[q]] x_ij x_il to grams[q, j, l] for all j and l."""
    p = columns.shape[1]
    for i in range(columns.shape[0]):
        for q in range(len(first)):
            weight = hessian[i, first[q], second[q]]
            for j in range(p):
                factor = weight * columns[i, j]
                for other in range(p):
                    grams[q, j, other] += factor * columns[i, other]


@kernel
def weigh_across(left: Floats, right: Floats, hessian: Floats, first: Places, second: Places, grams: Floats) -> None:
    """Add sum_i hessian[i, first[q], second[q]] left[i, j] right[i, l] to grams[q, j, l]."""
    for i in range(left.shape[0]):
        for q in range(len(first)):
            weight = hessian[i, first[q], second[q]]
            for j in range(left.shape[1]):
                factor = weight * left[i, j]
                for other in range(right.shape[1]):
                    grams[q, j, other] += factor * right[i, other]


def weighted_grams(columns: Floats, hessian: Floats, first: Places, second: Places) -> Floats:
    """Return sum_i hessian[i, first[q], second[q]] x_i x_i', float64[q, p, p]."""
    p, pairs = columns.shape[1], len(first)
    if pairs < FEW_PAIRS:
        found = np.zeros((pairs, p, p))
        weigh_few(columns, hessian, first, second, found)
        return found
    packed = np.zeros((p * (p + 1) // 2, -(-pairs // 4) * 4))
    weigh_many(columns, hessian, first, second, packed)
    rows, others = np.tril_indices(p)
    found = np.empty((pairs, p, p))
    found[:, rows, others] = packed.T[:pairs]
    found[:, others, rows] = packed.T[:pairs]
    return found


@kernel
def multinomial_rows(phi: Floats, likelihood: Floats, values: Floats, score: Floats, hessian: Floats) -> None:
    """Write log likelihood[b], score[b, m] and Hessian[b, m, m] of a multinomial logit behind reports.

    Phi[b, m] are the linear predictors of all categories but the first, and likelihood[b, m + 1] is P(report |
    category). The function skips the Hessian if `hessian` has no rows.
    """
    m, second = phi.shape[1], hessian.shape[0] > 0
    shares, behind = np.zeros(m), np.zeros(m)
    for i in range(phi.shape[0]):
        top = 0.0
        for a in range(m):
            if phi[i, a] > top:
                top = phi[i, a]
        first = np.exp(-top)
        total, told = first, likelihood[i, 0] * first
        for a in range(m):
            shares[a] = np.exp(phi[i, a] - top)
            behind[a] = likelihood[i, a + 1] * shares[a]
            total += shares[a]
            told += behind[a]
        values[i] = np.log(told / total)
        for a in range(m):
            shares[a] /= total
            behind[a] /= told
            score[i, a] = behind[a] - shares[a]
        if second:
            for a in range(m):
                for b in range(m):
                    hessian[i, a, b] = shares[a] * shares[b] - behind[a] * behind[b]
                hessian[i, a, a] += behind[a] - shares[a]
