"""Joint decoding of attributes that share a domain, from arrays of unbiased estimates to arrays.

Two kinds of models explain the unbiased frequencies of a group of d attributes over the same k categories. One model
says that the attributes resemble each other (pooled). Five models say that each attribute is skewed to its own degree
(`skewed_posteriors`). In large domains these five come twice if some attribute has a dominant category. The models are
not selected but weighted: the posterior means are averaged with weights prior times evidence. A small share of the
plain projection protects against all models being wrong.

If one category certainly has the largest share, its share is free, and the other categories divide the rest. Under one
Beta distribution for all categories of a large domain, a share near one is almost impossible, and the posterior would
draw it down by many standard errors. So here the dominant category has the flat distribution. Each of the k - 1 others
has ``Beta(a, a (k-1)/(1-s) - a)``, which is the marginal distribution of (1-s) times a Dirichlet(a, ..., a) up to its
variance, with the mean (1-s)/(k-1). s is the posterior mean of the dominant share.

Pooled attributes share a mean vector and scatter around it:
``g_j = m + u_j + noise`` with ``m ~ N(0, tm^2 Q)``, ``u_j ~ N(0, tu^2 Q)``, noise ``N(0, V_j Q)`` and
``Q = I - 11'/k``, so that all of them sum to zero over the categories. (tm, tu) are not fitted. The results for a grid
of pairs are averaged, weighted by their evidence. The covariance over the attributes is
``W = diag(V) + tu^2 I + tm^2 11'``, which is diagonal plus rank one. The needed parts of its inverse have a closed form
(Sherman and Morrison, 1950).

Skewed marginals treat every frequency by itself, under Beta(a, (k-1) a), which is the marginal distribution of a flat
or spiky Dirichlet. A small a means a few frequent categories and many rare ones. The posterior is summed over 100 cells
of the window to which the estimate gives any chance. If the window touches zero, the cells are finer towards zero. Near
a pole of the density, the factor with the pole is integrated exactly over each cell, and the other factor is read at
the cell's middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.core.projection import nearest_distribution

Floats = NDArray[np.float64]

_POOLED_PRIOR = 0.3
_DOMINANT_PRIOR = 0.001
"""Prior weight of models with a dominant category, relative to 1 for other models. If there is such a category, the
evidence is at least e^10. If there is none, these models must not matter."""

_SCALES = np.concatenate([[0.0], np.geomspace(0.05, 1.0, 8)])
_LOG_PRIOR = np.log(np.concatenate([[0.05], np.full(8, 0.95 / 8)]))


class Pooled(NamedTuple):
    """Posterior mean of centred frequencies f - 1/k (rows sum to 0), and log density of g without powers of 2 pi."""

    mean: Floats
    log_evidence: float


def pool_and_shrink(g: Floats, s2: Floats) -> Pooled:
    """Return the posterior for centred frequencies g with noise variances s2, averaged over the grid of (tm, tu).

    Both arrays are float64[d, k]. The rows of g sum to zero, and s2 > 0.
    """
    d, k = g.shape
    noise = s2.mean(axis=1) * k / (k - 1)
    shared, own = (side.ravel() ** 2 / k for side in np.meshgrid(_SCALES, _SCALES, indexing="ij"))
    log_prior = np.add.outer(_LOG_PRIOR, _LOG_PRIOR).ravel()

    # Each row is a grid point, with W^-1 = diag(r) - c r r'.
    r = 1 / (noise + own[:, None])
    grown = 1 + shared * r.sum(axis=1)
    c = shared / grown
    gram = g @ g.T
    log_determinant = np.log(grown) - np.log(r).sum(axis=1)
    fit = r @ np.diagonal(gram) - c * np.einsum("ij,jl,il->i", r, gram, r, optimize=True)
    log_joint = log_prior - (k - 1) / 2 * log_determinant - fit / 2
    log_evidence = float(special.logsumexp(log_joint))

    # T W^-1 = tu^2 diag(r) + c (V r) r' needs no difference of nearly equal numbers. It is averaged over the grid
    # before it is multiplied by g.
    weights = np.exp(log_joint - log_evidence)
    gain = ((weights * c)[:, None] * r * noise).T @ r
    gain[np.diag_indices(d)] += (weights * own) @ r
    return Pooled(gain @ g, log_evidence)


_CERTAIN = 4.0
"""A category is dominant if its estimate is this many standard deviations above one half."""

_SMALLEST_DOMAIN = 16
"""In smaller domains the Beta distributions themselves allow for a dominant share."""

_SMALLEST_REST = 1e-9


def dominant_attributes(g: Floats, s2: Floats) -> NDArray[np.int64]:
    """Return the indices of the attributes that have a dominant category. There are none if k < 16."""
    d, k = g.shape
    rows, top = np.arange(d), g.argmax(axis=1)
    certain = g[rows, top] + 1 / k - 0.5 > _CERTAIN * np.sqrt(s2[rows, top])
    return np.flatnonzero(certain & (k >= _SMALLEST_DOMAIN)).astype(np.int64)


def dominant_posteriors(g: Floats, s2: Floats) -> tuple[Floats, Floats]:
    """Return the results of `skewed_posteriors` for attributes that all have a dominant category."""
    d, k = g.shape
    z, rows, top = g + 1 / k, np.arange(d), g.argmax(axis=1)
    rest = np.maximum(1 - _free_share(z[rows, top], np.sqrt(s2[rows, top])), _SMALLEST_REST)
    first = np.tile(np.array(CONCENTRATIONS)[:, None, None], (1, d, k))
    second = first * ((k - 1) / rest - 1)[:, None]
    first[:, rows, top] = second[:, rows, top] = 1.0
    return beta_posteriors(z, s2, first, second)


def _free_share(z: Floats, deviations: Floats) -> Floats:
    """Return the posterior means of shares with the flat prior below one: means of normals truncated at one."""
    beyond = np.maximum((1 - z) / deviations, -30.0)
    hazard = np.exp(-(beyond**2) / 2 - special.log_ndtr(beyond)) / np.sqrt(2 * np.pi)
    share: Floats = 1 - deviations * (beyond + hazard)
    return share


def decode_group(g: Floats, s2: Floats, *, dominant: bool = True) -> Floats:
    """Return the frequencies of d attributes over one domain of k categories, float64[d, k]. Rows sum to one.

    Parameters
    ----------
    g : float64[d, k]
        Unbiased frequencies, centred so that each row sums to zero, with k >= 2.
    s2 : float64[d, k]
        Noise variances of the frequencies, > 0.
    dominant : bool
        True to include the models of a dominant category.

    Examples
    --------
    >>> import numpy as np
    >>> g = np.array([[0.20, -0.05, -0.15], [0.30, 0.01, -0.31]])
    >>> decode_group(g, np.full((2, 3), 0.01)).round(3)
    array([[0.521, 0.292, 0.187],
           [0.589, 0.331, 0.079]])
    """
    d, k = g.shape
    pooled = pool_and_shrink(g, s2)
    means, evidences = skewed_posteriors(g, s2)
    models = len(means)
    priors = [_POOLED_PRIOR, *[(1 - _POOLED_PRIOR) / models] * models]
    places = dominant_attributes(g, s2) if dominant else np.arange(0)
    if len(places):
        # The second half repeats the models, with other posteriors for attributes that have a dominant category.
        means, evidences = np.tile(means, (2, 1, 1)), np.tile(evidences, (2, 1))
        means[models:, places], evidences[models:, places] = dominant_posteriors(g[places], s2[places])
        priors += [_DOMINANT_PRIOR / models] * models
    weights = special.softmax(np.log(priors) + np.append(pooled.log_evidence, evidences.sum(axis=1)))
    average = weights[0] * (pooled.mean + 1 / k) + np.tensordot(weights[1:], means, axes=1)
    # With few free frequencies the evidence says little, so the plain projection keeps a part of the weight.
    trust = d * (k - 1) / (d * (k - 1) + 2)
    return np.stack(
        [
            trust * nearest_distribution(mean) + (1 - trust) * nearest_distribution(plain)
            for mean, plain in zip(average, g + 1 / k, strict=True)
        ]
    )


CONCENTRATIONS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""The values of a, from spiky to nearly uniform."""

_REACH = 6.0
"""Half-width of the window in standard deviations of the noise."""

_STEPS = np.linspace(0.0, 1.0, 101)
_BLOCK = 4096
"""Frequencies that are worked on at a time, so that memory does not grow with d k."""


def skewed_posteriors(g: Floats, s2: Floats) -> tuple[Floats, Floats]:
    """Return posterior means float64[5, d, k] for each of `CONCENTRATIONS`, and log evidences float64[5, d].

    The input is centred unbiased frequencies g[d, k] and their noise variances s2[d, k] > 0. Rows of the means do not
    sum to one. Evidences are on the scale of `pool_and_shrink`, where k - 1 of the k frequencies of an attribute are
    free.
    """
    k = g.shape[1]
    first = np.array(CONCENTRATIONS)[:, None, None]
    return beta_posteriors(g + 1 / k, s2, first, (k - 1) * first)


def beta_posteriors(z: Floats, s2: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return posterior means float64[m, d, k] and log evidences float64[m, d] under m Beta priors.

    The input is unbiased frequencies z[d, k] and their noise variances s2[d, k] > 0. The parameters of the Beta
    distributions, `first` and `second`, broadcast to [m, d, k].
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
    """Return (chosen, places): representative frequencies, and the representative of each frequency.

    Estimates are linear in counts, and priors are functions of estimates. So in a large domain, the inputs for decoding
    most frequencies are equal to those of another frequency, bit for bit.
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
        # Cell masses x^(a-1) (1-x)^(b-1) dx are kept as logarithms, because (1-x)^b underflows for large k.
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
    # An estimate may exceed 1 by more than its noise explains, although no unbiased mechanism gives such an estimate.
    # It still gets a window.
    low = np.maximum(0.0, np.minimum(z - _REACH * deviations, 1 - deviations))
    high = np.minimum(1.0, np.maximum(z, 0.0) + _REACH * deviations)
    steps = np.where(low[:, None] == 0, _STEPS**2, _STEPS)
    edges: Floats = low[:, None] + (high - low)[:, None] * steps
    return np.minimum(edges, 1.0)


def _log_power_integrals(log_high: Floats, log_low: Floats, exponent: Floats) -> Floats:
    """Return ln of the integral of t^(exponent-1) from low to high, which are given as logarithms."""
    return exponent * log_high + np.log(-np.expm1(exponent * (log_low - log_high))) - np.log(exponent)
