"""Expected error of Corr-RR by Theorem 5, for any number of attributes.

Let g = f - 1/k, and let a = (kP - 1)/(k - 1) be the gains. The papers' estimator of a value's frequency has

    mean      mu_j = 1/k + 1/d [g_j + sum_(s != j) a_js g_s],
    variance  pi (1 - pi)/(n2 (p - q)^2) with pi = q + (p - q) mu_j.

Both are exact over contributors drawn from a population with marginals f. Theorem 5 has an erratum: its printed factor
1/2 is 1/d for d = 2. If domains differ, the mean follows from the induced channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import Floats, checked_integer
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import InvalidInputError, InvalidParameterError, quoted, unknown_name
from deniable.records.layout import stretches
from deniable.records.pivot.copy_probabilities import checked_marginals
from deniable.records.pivot.corr_rr import CorrRR

ESTIMATORS = ("debiased", "unmixed")


class ExpectedError(NamedTuple):
    """Bias and variance of every estimated frequency.

    Parameters
    ----------
    bias : tuple of float64[k_j]
        Expected difference E f^ - f, one array per attribute.
    variance : tuple of float64[k_j]
        Variance due to noise and sampling, one array per attribute.
    """

    bias: tuple[Floats, ...]
    variance: tuple[Floats, ...]

    @property
    def mse(self) -> tuple[Floats, ...]:
        """Bias^2 + variance, one array per attribute."""
        return tuple(b**2 + v for b, v in zip(self.bias, self.variance, strict=True))

    @property
    def mean(self) -> float:
        """Mean squared error, averaged over the values of an attribute and then over attributes (eq. (2))."""
        return float(np.mean([part.mean() for part in self.mse]))


def expected_mse(
    copy_probabilities: CorrRR | ArrayLike,
    marginals: Sequence[ArrayLike],
    n2: int,
    epsilon: EpsilonLike | None = None,
    *,
    estimator: str | None = None,
    alignment: Sequence[Any] = (),
) -> tuple[Floats, ...]:
    """Analyst: return the expected squared error of every frequency that Corr-RR's phase two estimates.

    Parameters
    ----------
    copy_probabilities : CorrRR or float[d, d]
        Mechanism, or the matrix P with a row per target and a column per pivot.
    marginals : sequence of d arrays float64[k_j]
        True frequencies.
    n2 : int
        Number of contributors of phase two, >= 1.
    epsilon : float, Fraction, Decimal or str, optional
        Privacy budget, needed if P is given.
    estimator : {"debiased", "unmixed"}, optional
        Name of the papers' estimator, or of the solution of the induced channel. The default is the one that
        `CorrRR.estimate` uses.
    alignment : sequence of (larger, smaller, map)
        Maps between domains that differ, if P is given.

    Returns
    -------
    tuple of float64[k_j]
        Expected squared errors, one array per attribute. `expected_error` returns bias and variance separately, and the
        mean.

    Raises
    ------
    InvalidInputError
        If the marginals do not fit.
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> marginals = [[0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2]]
    >>> [errors.round(5) for errors in expected_mse([[1, 0.8], [0.7, 1]], marginals, n2=20000, epsilon=0.5)]
    [array([0.00371, 0.00053, 0.00052, 0.00368]), array([0.00089, 0.00059, 0.00057, 0.00087])]
    """
    return expected_error(copy_probabilities, marginals, n2, epsilon, estimator=estimator, alignment=alignment).mse


def expected_error(
    copy_probabilities: CorrRR | ArrayLike,
    marginals: Sequence[ArrayLike],
    n2: int,
    epsilon: EpsilonLike | None = None,
    *,
    estimator: str | None = None,
    alignment: Sequence[Any] = (),
) -> ExpectedError:
    """Analyst: return bias and variance of every frequency; parameters and errors are those of `expected_mse`.

    Examples
    --------
    >>> uniform = [[0.25] * 4] * 3
    >>> error = expected_error([[1.0] * 3] * 3, uniform, n2=1000, epsilon=1.0)
    >>> round(float(max(abs(bias).max() for bias in error.bias)), 12), round(error.mean, 6)
    (0.0, 0.002077)
    """
    shares = checked_marginals(marginals)
    sizes = tuple(len(share) for share in shares)
    count = checked_integer("n2", n2, 1)
    corr_rr = _mechanism(copy_probabilities, sizes, epsilon, alignment)
    chosen = ("unmixed" if corr_rr.law.gains is None else "debiased") if estimator is None else estimator
    if chosen not in ESTIMATORS:
        raise unknown_name("estimator", estimator, ESTIMATORS)
    if chosen == "debiased":
        means = _means(corr_rr, shares)
        probabilities = [tuple(map(float, pair)) for pair in corr_rr.support_probabilities]
        variances = [_variance(mean, p, q) for mean, (p, q) in zip(means, probabilities, strict=True)]
        biases = [mean - share for mean, share in zip(means, shares, strict=True)]
    else:
        variance, bias = corr_rr.law.induced.errors(np.concatenate(shares))
        variances, biases = ([part[place] for place in stretches(sizes)] for part in (variance, bias))
    return ExpectedError(tuple(biases), tuple(variance / count for variance in variances))


def _mechanism(given: Any, sizes: tuple[int, ...], epsilon: EpsilonLike | None, alignment: Sequence[Any]) -> CorrRR:
    if not isinstance(given, CorrRR):
        if epsilon is None:
            raise InvalidParameterError("epsilon must be given with copy probabilities: pass epsilon")
        return CorrRR(sizes, checked_epsilon(epsilon), given, tuple(alignment))
    if given.sizes != sizes:
        raise InvalidInputError(
            f"marginals must have {quoted(given.sizes)} frequencies, one for each category of the mechanism, got "
            f"{quoted(sizes)} frequencies"
        )
    return given


def _means(corr_rr: CorrRR, shares: list[Floats]) -> list[Floats]:
    sizes, law = corr_rr.sizes, corr_rr.law
    if law.gains is not None:
        k = sizes[0]
        return list(1 / k + law.gains @ (np.stack(shares) - 1 / k) / len(sizes))
    expected = law.induced.matrix @ np.concatenate(shares)
    probabilities = [tuple(map(float, pair)) for pair in corr_rr.support_probabilities]
    return [(expected[place] - q) / (p - q) for place, (p, q) in zip(stretches(sizes), probabilities, strict=True)]


def _variance(mean: Floats, p: float, q: float) -> Floats:
    reported = q + (p - q) * mean
    return reported * (1 - reported) / (p - q) ** 2
