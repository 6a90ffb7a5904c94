"""A dominant category: where one holds most for certain, its share is free, and the others divide what it leaves.

Under one Beta law for all categories of a large domain a share near one is next to impossible, and the posterior would
draw it down by many standard errors. Here the dominant category has the flat law, and each of the k - 1 others
``Beta(a, a (k-1)/(1-s) - a)``, the marginal law of (1-s) times a Dirichlet(a, ..., a) up to its variance, with the mean
(1-s)/(k-1). s is the dominant share's posterior mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.core.estimate import Floats
from deniable.postprocess._skewed import CONCENTRATIONS, beta_posteriors

_CERTAIN = 4.0
"""A category is dominant if its estimate is this many standard deviations above one half."""

_SMALLEST_DOMAIN = 16
"""In smaller domains the Beta laws allow for a dominant share themselves."""

_SMALLEST_REST = 1e-9


def dominant_attributes(g: Floats, s2: Floats) -> NDArray[np.int64]:
    """Return the indices of the attributes that have a dominant category; none if k < 16."""
    d, k = g.shape
    rows, top = np.arange(d), g.argmax(axis=1)
    certain = g[rows, top] + 1 / k - 0.5 > _CERTAIN * np.sqrt(s2[rows, top])
    return np.flatnonzero(certain & (k >= _SMALLEST_DOMAIN)).astype(np.int64)


def dominant_posteriors(g: Floats, s2: Floats) -> tuple[Floats, Floats]:
    """Return what `skewed_posteriors` does, of attributes that have a dominant category and of no others."""
    d, k = g.shape
    z, rows, top = g + 1 / k, np.arange(d), g.argmax(axis=1)
    rest = np.maximum(1 - _free_share(z[rows, top], np.sqrt(s2[rows, top])), _SMALLEST_REST)
    first = np.tile(np.array(CONCENTRATIONS)[:, None, None], (1, d, k))
    second = first * ((k - 1) / rest - 1)[:, None]
    first[:, rows, top] = second[:, rows, top] = 1.0
    return beta_posteriors(z, s2, first, second)


def _free_share(z: Floats, deviations: Floats) -> Floats:
    """Return the posterior means of shares with the flat prior below one: of normal laws cut at one."""
    beyond = np.maximum((1 - z) / deviations, -30.0)
    hazard = np.exp(-(beyond**2) / 2 - special.log_ndtr(beyond)) / np.sqrt(2 * np.pi)
    share: Floats = 1 - deviations * (beyond + hazard)
    return share
