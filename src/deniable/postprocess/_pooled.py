"""Pool and shrink: the attributes of a group share a mean vector, which they scatter around.

``g_j = m + u_j + noise`` with ``m ~ N(0, tm^2 Q)``, ``u_j ~ N(0, tu^2 Q)``, noise ``N(0, V_j Q)`` and
``Q = I - 11'/k``, so that everything sums to zero over the categories. (tm, tu) are not fitted: the answers of a grid
of pairs are averaged by their evidence. Over the attributes the covariance is ``W = diag(V) + tu^2 I + tm^2 11'``,
diagonal plus rank one, and what is needed of its inverse has a closed form (Sherman and Morrison, 1950).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from deniable.core.estimate import Floats

_SCALES = np.concatenate([[0.0], np.geomspace(0.05, 1.0, 8)])
_LOG_PRIOR = np.log(np.concatenate([[0.05], np.full(8, 0.95 / 8)]))


class Pooled(NamedTuple):
    """Posterior mean of the centred frequencies f - 1/k, rows of sum zero; log density of g without powers of 2 pi."""

    mean: Floats
    log_evidence: float


def pool_and_shrink(g: Floats, s2: Floats) -> Pooled:
    """Return the posterior averaged over the grid of (tm, tu), of centred frequencies g and their noise variances s2.

    Both are float64[d, k], rows of g sum to zero, and s2 > 0.
    """
    d, k = g.shape
    noise = s2.mean(axis=1) * k / (k - 1)
    shared, own = (side.ravel() ** 2 / k for side in np.meshgrid(_SCALES, _SCALES, indexing="ij"))
    log_prior = np.add.outer(_LOG_PRIOR, _LOG_PRIOR).ravel()

    # One row per grid point: W^-1 = diag(r) - c r r'.
    r = 1 / (noise + own[:, None])
    grown = 1 + shared * r.sum(axis=1)
    c = shared / grown
    gram = g @ g.T
    log_determinant = np.log(grown) - np.log(r).sum(axis=1)
    fit = r @ np.diagonal(gram) - c * np.einsum("ij,jl,il->i", r, gram, r, optimize=True)
    log_joint = log_prior - (k - 1) / 2 * log_determinant - fit / 2
    log_evidence = float(special.logsumexp(log_joint))

    # T W^-1 = tu^2 diag(r) + c (V r) r', without a difference of nearly equal numbers. Averaged before it meets g.
    weights = np.exp(log_joint - log_evidence)
    gain = ((weights * c)[:, None] * r * noise).T @ r
    gain[np.diag_indices(d)] += (weights * own) @ r
    return Pooled(gain @ g, log_evidence)
