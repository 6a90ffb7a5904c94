"""One mechanism that stands for all mechanisms with the same epsilon.

What an output says about the values is a vector of likelihoods whose entries differ by a factor of at most e^epsilon.
Up to scale such a vector lies in the cube [1, e^epsilon]^k, so it is a mixture of the cube's corners: two levels, high
on a set of values and low elsewhere. Likelihood ratios, of one release or of several together, are ratios of linear
functions of each release's vector, so a mixture never exceeds its best part. A mechanism that reaches every set
therefore attains the largest leakage of all, about everything, whatever the other attributes' mechanisms are.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_integer
from deniable.leakage.prior.distributions import Floats

MAX_DOMAIN = 8
"""Largest domain whose sets are listed."""


def any_mechanism_channel(k: int, epsilon: float) -> Floats:
    """Return a channel with epsilon that leaks at least as much as every mechanism with this epsilon.

    It draws the size s of a set uniformly from 1..k-1, then a set of that size, e^epsilon times likelier if it holds
    the true value.

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
