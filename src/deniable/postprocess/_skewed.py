"""Skewed marginals: every frequency by itself, under Beta(a, (k-1) a), the marginal law of a flat or spiky Dirichlet.

Small a means a few frequent categories and many rare ones. The posterior is summed over 100 cells of the window that
the estimate leaves any chance, finer towards zero where the window touches it. Near a pole of the density, the factor
that has it is integrated exactly over each cell, and the other is read at the cell's middle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.core.estimate import Floats

CONCENTRATIONS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""The values of a, from spiky to nearly uniform."""

_REACH = 6.0
"""Half-width of the window in standard deviations of the noise."""

_STEPS = np.linspace(0.0, 1.0, 101)
_BLOCK = 4096
"""Frequencies at a time, so that memory does not grow with d k."""


def skewed_posteriors(g: Floats, s2: Floats) -> tuple[Floats, Floats]:
    """Return posterior means float64[5, d, k] for each of `CONCENTRATIONS`, and log evidences float64[5, d].

    Of centred unbiased frequencies g[d, k] and their noise variances s2[d, k] > 0. Rows of the means do not sum to one.
    Evidences are on the scale of `pool_and_shrink`: k - 1 of the k frequencies of an attribute are free.
    """
    k = g.shape[1]
    first = np.array(CONCENTRATIONS)[:, None, None]
    return beta_posteriors(g + 1 / k, s2, first, (k - 1) * first)


def beta_posteriors(z: Floats, s2: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return posterior means float64[m, d, k] and log evidences float64[m, d] under m priors, all of them Beta laws.

    Of unbiased frequencies z[d, k] and their noise variances s2[d, k] > 0; the parameters of the Beta laws, `first` and
    `second`, broadcast to [m, d, k].
    """
    (d, k), m = z.shape, max(first.shape[0], second.shape[0])
    a, b = (np.broadcast_to(side, (m, d, k)) for side in (first, second))
    means, logs = np.empty((2, m, d, k))
    for j in range(d):
        chosen, places = _different(z[j], np.concatenate([s2[j][None], a[:, j], b[:, j]]))
        found = _posteriors(z[j, chosen], s2[j, chosen], a[:, j, chosen], b[:, j, chosen])
        means[:, j], logs[:, j] = (part[:, places] for part in found)
    totals = logs.sum(axis=2)
    return means, (k - 1) / k * totals + (k - 1) / 2 * np.log1p(-1 / k)


def _different(z: Floats, sides: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (chosen, places): frequencies that stand for all others, and which of them stands for each.

    Estimates are linear in counts, and priors are functions of estimates: of the frequencies of a large domain most
    have all they are decoded from in common with another, bit for bit.
    """
    rows = np.ascontiguousarray(np.concatenate([z[None], sides]).T)
    _, chosen, places = np.unique(rows.view(f"V{rows[0].nbytes}")[:, 0], return_index=True, return_inverse=True)
    return chosen, places


def _posteriors(z: Floats, variances: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    means, logs = np.empty((2, *a.shape))
    for start in range(0, len(z), _BLOCK):
        block = slice(start, start + _BLOCK)
        means[:, block], integrals = _block_posteriors(z[block], variances[block], a[:, block], b[:, block])
        logs[:, block] = integrals - np.log(variances[block]) / 2
    return means, logs


def _block_posteriors(z: Floats, variances: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return (posterior means, log integrals of prior times likelihood), each float64[m, len(z)]."""
    edges = _cell_edges(z, np.sqrt(variances))
    middles = (edges[:, 1:] + edges[:, :-1]) / 2
    log_likelihood = -((z[:, None] - middles) ** 2) / (2 * variances[:, None])
    with np.errstate(divide="ignore"):
        log_edges, log_rests = np.log(edges), np.log1p(-edges)
    log_widths, log_middles, log_middle_rests = np.log(np.diff(edges, axis=1)), np.log(middles), np.log1p(-middles)
    upper = middles >= 0.5
    means, log_integrals = np.empty((2, len(first), len(z)))
    for i, (a, b) in enumerate(zip(first[:, :, None], second[:, :, None], strict=True)):
        # Cell masses x^(a-1) (1-x)^(b-1) dx, kept as logarithms: (1-x)^b underflows for large k.
        near_zero = (a - 1) * log_middles + log_widths
        if (a < 1).any():
            integrated = _log_power_integrals(log_edges[:, 1:], log_edges[:, :-1], a)
            near_zero = np.where(upper | (a >= 1), near_zero, integrated)
        near_one = (b - 1) * log_middle_rests
        high, low = log_rests[:, :-1][upper], log_rests[:, 1:][upper]
        near_one[upper] = _log_power_integrals(high, low, np.broadcast_to(b, upper.shape)[upper]) - log_widths[upper]
        log_posterior = near_zero + near_one + log_likelihood
        peak = log_posterior.max(axis=1, keepdims=True)
        posterior = np.exp(log_posterior - peak)
        mass = posterior.sum(axis=1)
        means[i] = (posterior * middles).sum(axis=1) / mass
        log_integrals[i] = np.log(mass) + peak[:, 0] - special.betaln(a, b)[:, 0]
    return means, log_integrals


def _cell_edges(z: Floats, deviations: Floats) -> Floats:
    # An estimate beyond 1 by more than its noise explains (nothing unbiased gives one) still gets a window.
    low = np.maximum(0.0, np.minimum(z - _REACH * deviations, 1 - deviations))
    high = np.minimum(1.0, np.maximum(z, 0.0) + _REACH * deviations)
    steps = np.where(low[:, None] == 0, _STEPS**2, _STEPS)
    edges: Floats = low[:, None] + (high - low)[:, None] * steps
    return np.minimum(edges, 1.0)


def _log_power_integrals(log_high: Floats, log_low: Floats, exponent: Floats) -> Floats:
    """Return ln of the integral of t^(exponent-1) from low to high, both given as logarithms."""
    return exponent * log_high + np.log(-np.expm1(exponent * (log_low - log_high))) - np.log(exponent)
