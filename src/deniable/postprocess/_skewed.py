"""Skewed marginals: every frequency by itself, under Beta(a, (k-1) a), the marginal law of a flat or spiky Dirichlet.

Small a means a few frequent categories and many rare ones. The posterior is summed over 100 cells of the window that
the estimate leaves any chance, finer towards zero where the window touches it. Near a pole of the density, the factor
that has it is integrated exactly over each cell, and the other is read at the cell's middle.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from deniable.estimate import Floats

CONCENTRATIONS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""The values of a, from spiky to nearly uniform."""

_REACH = 6.0
"""Half-width of the window in standard deviations of the noise."""

_STEPS = np.linspace(0.0, 1.0, 101)
_BLOCK = 4096
"""Frequencies at a time, so that memory does not grow with d k."""


def skewed_posteriors(g: Floats, s2: Floats) -> tuple[Floats, Floats]:
    """Return the posterior means of all frequencies for each of `CONCENTRATIONS`, and the log evidences.

    Parameters
    ----------
    g : float64[d, k]
        Unbiased frequencies, centred: each row sums to zero.
    s2 : float64[d, k]
        Their noise variances, > 0.

    Returns
    -------
    means : float64[5, d, k]
        Posterior means of the frequencies; rows do not sum to one.
    log_evidence : float64[5]
        On the scale of `pool_and_shrink`: k - 1 of the k frequencies of an attribute are free.
    """
    d, k = g.shape
    z, variances = (g + 1 / k).ravel(), s2.ravel()
    means = np.empty((len(CONCENTRATIONS), d * k))
    total = np.zeros(len(CONCENTRATIONS))
    for start in range(0, d * k, _BLOCK):
        block = slice(start, start + _BLOCK)
        means[:, block], log_integrals = _block_posteriors(z[block], variances[block], k)
        total += (log_integrals - np.log(variances[block]) / 2).sum(axis=1)
    log_evidence = (k - 1) / k * total + d * (k - 1) / 2 * np.log1p(-1 / k)
    return means.reshape(-1, d, k), log_evidence


def _block_posteriors(z: Floats, variances: Floats, k: int) -> tuple[Floats, Floats]:
    """Return (posterior means, log integrals of prior times likelihood), each float64[5, len(z)]."""
    edges = _cell_edges(z, np.sqrt(variances))
    middles = (edges[:, 1:] + edges[:, :-1]) / 2
    log_likelihood = -((z[:, None] - middles) ** 2) / (2 * variances[:, None])
    with np.errstate(divide="ignore"):
        log_edges, log_rests = np.log(edges), np.log1p(-edges)
    log_widths, log_middles, log_middle_rests = np.log(np.diff(edges, axis=1)), np.log(middles), np.log1p(-middles)
    upper = middles >= 0.5
    means, log_integrals = np.empty((2, len(CONCENTRATIONS), len(z)))
    for i, a in enumerate(CONCENTRATIONS):
        b = (k - 1) * a
        # Cell masses x^(a-1) (1-x)^(b-1) dx, kept as logarithms: (1-x)^b underflows for large k.
        first = (a - 1) * log_middles + log_widths
        if a < 1:
            first = np.where(upper, first, _log_power_integrals(log_edges[:, 1:], log_edges[:, :-1], a))
        second = (b - 1) * log_middle_rests
        high, low = log_rests[:, :-1][upper], log_rests[:, 1:][upper]
        second[upper] = _log_power_integrals(high, low, b) - log_widths[upper]
        log_posterior = first + second + log_likelihood
        peak = log_posterior.max(axis=1, keepdims=True)
        posterior = np.exp(log_posterior - peak)
        mass = posterior.sum(axis=1)
        means[i] = (posterior * middles).sum(axis=1) / mass
        log_integrals[i] = np.log(mass) + peak[:, 0] - special.betaln(a, b)
    return means, log_integrals


def _cell_edges(z: Floats, deviations: Floats) -> Floats:
    # An estimate beyond 1 by more than its noise explains (nothing unbiased gives one) still gets a window.
    low = np.maximum(0.0, np.minimum(z - _REACH * deviations, 1 - deviations))
    high = np.minimum(1.0, np.maximum(z, 0.0) + _REACH * deviations)
    steps = np.where(low[:, None] == 0, _STEPS**2, _STEPS)
    edges: Floats = low[:, None] + (high - low)[:, None] * steps
    return np.minimum(edges, 1.0)


def _log_power_integrals(log_high: Floats, log_low: Floats, exponent: float) -> Floats:
    """Return ln of the integral of t^(exponent-1) from low to high, both given as logarithms."""
    result: Floats = exponent * log_high + np.log(-np.expm1(exponent * (log_low - log_high))) - np.log(exponent)
    return result
