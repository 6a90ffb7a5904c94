"""Cost of Corr-RR in its two phases, as variance and a bias that more contributors do not remove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_sizes
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import InvalidParameterError, TooLargeError, quoted
from deniable.planning.precision import mean_variance
from deniable.records.pivot.copy_probabilities import checked_marginals, learn_copy_probabilities
from deniable.records.pivot.corr_rr import CorrRR
from deniable.records.pivot.corr_rr_error import expected_error

DRAWS = 128
"""Number of marginals that are drawn from the flat prior if none are given. For eight attributes, all of them are drawn
sixteen times. The same sizes have the same marginals, whatever epsilon is."""

UNEQUAL_DRAWS = 32
"""The same number over domains that differ, for which the induced channel is solved each time."""

SHARES = (0.1, 0.5)
"""Smallest and largest share of the contributors in phase one. With a larger share, the mechanism would be `SPL` under
another name."""

_NO_BIAS = 1e-18
"""Squared bias that counts as rounding."""

MAX_VALUES = 32
"""Most values of all attributes together if domains differ, which takes a tenth of a second."""

Floats = NDArray[np.float64]


class CorrRRPlan(NamedTuple):
    """Expected errors of the average of both phases of Corr-RR, weighted by their numbers of contributors.

    Parameters
    ----------
    n1, n2 : int
        Numbers of contributors in the phases, chosen for the least expected error.
    variance : float
        Variance from noise and sampling, averaged over attributes and values.
    squared_bias : float
        Mean squared bias. It does not fall with the number of contributors.
    assumed : str
        Description of the marginals for which the errors are computed.
    """

    n1: int
    n2: int
    variance: float
    squared_bias: float
    assumed: str

    @property
    def mse(self) -> float:
        """Expected mean squared error."""
        return self.variance + self.squared_bias


def corr_rr_plan(
    sizes: Sequence[int], epsilon: EpsilonLike, contributors: int, marginals: Sequence[ArrayLike] | None = None
) -> CorrRRPlan:
    """Return the expected error of Corr-RR, with its bias, before anyone is asked.

    The plan makes two assumptions. The matrix of copy probabilities is computed from the *true* marginals by the
    pairwise rule. The contributors are divided between the phases in the best way, with a tenth to half of them in
    phase one. Both assumptions flatter Corr-RR, because its real phase one is noisy. If the domains differ in size, the
    plan is for the unbiased estimate `unmixed`. You can use the planned division (`n1`, `n2`) for a survey. For equal
    domains it was compared with fixed shares, in settings that were not used to design the rule
    (docs/papers/corr_rr.md).

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes of two or more attributes.
    epsilon : float, Fraction, Decimal or str
        Budget of the whole contributor in nats.
    contributors : int
        Number of contributors in both phases together, >= 20.
    marginals : sequence of float64[k_j], optional
        Expected frequencies of each attribute. By default the error is averaged over random marginals, drawn uniformly
        and independently.

    Raises
    ------
    InvalidParameterError, InvalidInputError
        If a parameter is out of bounds, or the marginals do not fit the sizes.
    TooLargeError
        If domains differ in size and have more than 32 values together.

    Examples
    --------
    >>> plan = corr_rr_plan([4, 4], 1.0, 20_000)
    >>> plan.n1 + plan.n2, plan.squared_bias > plan.variance
    (20000, True)
    >>> uniform = corr_rr_plan([4, 4], 1.0, 20_000, [[0.25] * 4] * 2)
    >>> uniform.squared_bias, uniform.assumed
    (0.0, 'the given marginals')
    """
    domains, budget = checked_sizes(sizes), checked_epsilon(epsilon)
    n = checked_integer("contributors", contributors, 20)
    if len(domains) < 2:
        raise InvalidParameterError(f"sizes must list at least two attributes, got sizes={quoted(domains)}")
    alike = len(set(domains)) == 1
    if not alike and sum(domains) > MAX_VALUES:
        raise TooLargeError(
            f"attributes with different numbers of categories must have at most {MAX_VALUES} categories together, got "
            f"{sum(domains)} with sizes={quoted(domains)}"
        )
    considered = [_given(marginals, domains)] if marginals is not None else _drawn(domains)
    variances, biases = [], []
    for shares in considered:
        error = expected_error(learn_copy_probabilities(shares, n, "pairwise"), shares, 1, budget)
        variances.append(np.mean([part.mean() for part in error.variance]))
        biases.append(np.mean([np.square(part).mean() for part in error.bias]))
    # Per contributor, the variance is v1 in phase one and v2 in phase two. The mean squared error is n1 v1/n^2 + n2
    # v2/n^2 + (n2 b/n)^2.
    v1, v2, b2 = mean_variance(CorrRR.phase_one(domains, budget), 1), float(np.mean(variances)), float(np.mean(biases))
    b2 = b2 if b2 > _NO_BIAS else 0.0
    best = (v1 - v2) / (2 * b2) if b2 > 0 else np.inf
    n1 = round(n - min(max(best, (1 - SHARES[1]) * n), (1 - SHARES[0]) * n))
    n2 = n - n1
    assumed = "the given marginals" if marginals is not None else "marginals from a flat prior, independent"
    return CorrRRPlan(n1, n2, (n1 * v1 + n2 * v2) / n**2, (n2 / n) ** 2 * b2, assumed)


def _given(marginals: Sequence[ArrayLike], sizes: tuple[int, ...]) -> list[Floats]:
    shares = checked_marginals(marginals)
    found = tuple(len(share) for share in shares)
    if found != sizes:
        raise InvalidParameterError(
            f"marginals must have one frequency for each category, got {quoted(found)} frequencies for attributes with "
            f"{quoted(sizes)} categories"
        )
    return shares


def _drawn(sizes: tuple[int, ...]) -> list[list[Floats]]:
    generator = np.random.default_rng(list(sizes))
    draws = DRAWS if len(set(sizes)) == 1 else UNEQUAL_DRAWS
    records = max(draws // len(sizes), 1)
    return [[generator.dirichlet(np.ones(size)) for size in sizes] for _ in range(records)]
