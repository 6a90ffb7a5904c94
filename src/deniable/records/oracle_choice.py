"""Choice of the frequency oracle with the least expected error for an attribute's shares or its mean."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeAlias

from deniable.core.checks import checked_domain, checked_integer, checked_sizes
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exact
from deniable.errors import InvalidParameterError, quoted
from deniable.oracles.grr import GRR
from deniable.oracles.linear import LinearOracle
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.square_wave import SquareWave
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE

Oracle: TypeAlias = GRR | SubsetSelection | OUE | CountMeanSketch | SquareWave
"""Oracles for a sampled attribute."""

OFFERED = (GRR, OUE, SubsetSelection, CountMeanSketch, SquareWave)
"""The same oracles, as classes."""

TIE = 0.02
"""Variances within 2% of the least are a tie, which is 1% of a standard error. Spread's m is a power of two, which
costs the mean error at most 1.4%. For this, Spread should not lose to a report that is a hundred times as long."""

LARGEST_SUBSET_DOMAIN = 1 << 12
"""Largest domain for subsets. In larger domains, subsets of hundreds or thousands of values would gain at most 1.4%
over one integer."""


def oracles_for(sizes: Sequence[int], epsilon: EpsilonLike, means: Collection[int] = ()) -> tuple[Oracle, ...]:
    """Return an oracle for each attribute, chosen by its size and by the questions asked about it.

    The designer of a collection calls `AdaptiveSMP(sizes, epsilon, oracles_for(sizes, epsilon, means))`. The designer
    declares the purpose with the question. It is never read from answers. Without `means`, the function returns the
    default oracles of `AdaptiveSMP`.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d).
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32].
    means : collection of int, optional
        Indices, 0..d-1, of ordered scales whose means, distribution functions and quantiles are asked. Their oracle is
        `SquareWave`. The function `best_oracle` chooses the oracles of all other attributes.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or a scale has more than 4,096 values. Coarsen such a scale.

    Examples
    --------
    >>> from deniable import AdaptiveSMP
    >>> sizes = (4, 21)  # a region, and a score of 0 to 20 of which the mean is asked
    >>> AdaptiveSMP(sizes, 1.0, oracles_for(sizes, 1.0, means=[1])).oracles
    (GRR(k=4, epsilon=1.0), SquareWave(k=21, epsilon=1.0, window=9))
    """
    domain, budget = checked_sizes(sizes), checked_epsilon(epsilon)
    asked = {checked_integer("means", attribute, 0, len(domain) - 1) for attribute in means}
    chosen = {size: best_oracle(size, budget) for j, size in enumerate(domain) if j not in asked}
    return tuple(SquareWave(size, budget) if j in asked else chosen[size] for j, size in enumerate(domain))


def checked_oracles(
    given: Any, sizes: tuple[int, ...], epsilon: float | Fraction, offered: Sequence[type[LinearOracle[Any]]]
) -> tuple[Any, ...]:
    """Return the given oracles, if any, after checking that each fits its attribute's domain and this budget."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise InvalidParameterError(f"oracles must be a sequence of frequency oracles, got oracles={quoted(given)}")
    if len(given) not in (0, len(sizes)):
        raise InvalidParameterError(
            f"oracles must have one entry for each of the {len(sizes)} attributes, got {len(given)}"
        )
    for j, (oracle, size) in enumerate(zip(given, sizes, strict=False)):
        if type(oracle) not in offered:
            *others, last = (one.__name__ for one in offered)
            raise InvalidParameterError(f"oracles[{j}] must be {', '.join(others)} or {last}, got {quoted(oracle)}")
        if oracle.k != size or exact(oracle.epsilon) != exact(epsilon):
            raise InvalidParameterError(
                f"oracles[{j}] must have k={size} and epsilon={epsilon} for attribute {j}, got {quoted(oracle)}"
            )
    return tuple(given)


def best_oracle(k: int, epsilon: EpsilonLike) -> Oracle:
    """Return the oracle with the least mean squared error over the k values (the least variance at f = 1/k).

    The function compares GRR, SubsetSelection and Spread. It leaves out OUE, because at f = 1/k SubsetSelection has a
    smaller variance than OUE. If two oracles are equally good, the oracle with fewer bits per report is chosen. If they
    also have equally many bits, the simpler oracle is chosen.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32].

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> best_oracle(4, 1.0), best_oracle(40, 1.0)
    (GRR(k=4, epsilon=1.0), SubsetSelection(k=40, epsilon=1.0, omega=11))
    >>> best_oracle(64, 2.0)  # as good as a subset of 8 values, in one byte
    CountMeanSketch(k=64, epsilon=2.0, m=8, family='spread')
    """
    size, budget = checked_domain(k), checked_epsilon(epsilon)
    offered = _offered(size, budget)
    variances = [oracle.variance(1 / size, 1) for oracle in offered]
    tied = (1 + TIE) * min(variances)
    # Bits are rounded, because log2 k computed in two ways must be one number.
    return min(
        (round(oracle.report_bits, 6), i, oracle)
        for i, (oracle, variance) in enumerate(zip(offered, variances, strict=True))
        if variance <= tied
    )[2]


def _offered(k: int, epsilon: float | Fraction) -> list[Oracle]:
    offered: list[Oracle] = []
    with suppress(InvalidParameterError):  # 64-bit thresholds may be unable to tell p from q
        offered.append(GRR(k, epsilon))
    if k <= LARGEST_SUBSET_DOMAIN:
        offered.append(SubsetSelection(k, epsilon))
    offered.append(CountMeanSketch(k, epsilon, family="spread"))
    return offered
