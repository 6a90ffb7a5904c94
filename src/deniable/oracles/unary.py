"""Unary encodings: send k noisy bits of which one is the contributor's own.

SUE is the basic one-time RAPPOR of Erlingsson, Pihur, Korolova, *RAPPOR: Randomized aggregatable privacy-preserving
ordinal response* (2014); OUE is from Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency
estimation* (2017). Their error does not depend on k; their reports take k bits.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_domain
from deniable.core.kernels import INTERPRETED_ROWS
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exp_bounds, spent, threshold_up
from deniable.oracles.bits import Bits, randomize_one_hot
from deniable.oracles.unary_bulk import one_hot_in_bulk
from deniable.oracles.unary_encoding import UnaryEncoding, probabilities


def symmetric_thresholds(epsilon: EpsilonLike) -> tuple[int, int]:
    """Return (P, Q) of SUE: q = 1/(s + 1) rounded up, s = e^(epsilon/2), and p = 1 - q exactly."""
    lower, _ = exp_bounds(spent(epsilon) / 2)
    q = threshold_up(1 / (lower + 1))
    return SCALE - q, q


def optimised_thresholds(epsilon: EpsilonLike) -> tuple[int, int]:
    """Return (P, Q) of OUE: p = 1/2 and q = 1/(e^epsilon + 1) rounded up."""
    lower, _ = exp_bounds(spent(epsilon))
    return SCALE // 2, threshold_up(1 / (lower + 1))


@dataclass(frozen=True)
class OneStage(UnaryEncoding):
    """A unary encoding whose bits are randomised once, by thresholds that follow from epsilon."""

    epsilon: float | Fraction

    def _check_parameters(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @property
    @abstractmethod
    def thresholds(self) -> tuple[int, int]:
        """(P, Q): the own bit is set with probability P/2^64, any other with Q/2^64."""

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        return probabilities(self.thresholds)

    def _randomize(self, codes: Codes, rng: Randomness) -> Bits:
        if len(codes) > INTERPRETED_ROWS:
            return one_hot_in_bulk(codes, self.k, self.support_probabilities, rng)
        return randomize_one_hot(codes, self.k, self.thresholds, rng)


@final
@dataclass(frozen=True)
class SUE(OneStage):
    """Symmetric unary encoding (basic one-time RAPPOR) over {0, ..., k-1}.

    Every bit of the one-hot encoding is kept with probability p = s/(s + 1), s = e^(epsilon/2), and flipped otherwise.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32. A report takes k bits.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32]; a float is read as the decimal that Python prints for it.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable.oracles.unary import SUE
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> sue = SUE(k=10, epsilon=2.0)
    >>> reports = sue.randomize(np.array([0, 9, 9]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> sue.estimate(sue.aggregate(reports)).n
    3
    """

    name = "SUE"
    card = Card(
        group="baselines",
        when="for comparison only, because OUE has less error",
        aliases=("basic one-time RAPPOR",),
        wire="k bits",
    )

    def __post_init__(self) -> None:
        self._check_parameters()

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """(P, Q) of `symmetric_thresholds`: the own bit is set with probability P/2^64, any other with Q/2^64."""
        return symmetric_thresholds(self.epsilon)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return self._local_guarantee()


@final
@dataclass(frozen=True)
class OUE(OneStage):
    """Optimised unary encoding over {0, ..., k-1}: p = 1/2, q = 1/(e^epsilon + 1).

    Of all unary encodings it has the least variance at f -> 0: 4 e^epsilon/(n (e^epsilon - 1)^2).

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32. A report takes k bits.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32]; a float is read as the decimal that Python prints for it.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable.oracles.unary import OUE
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> oue = OUE(k=10, epsilon=2.0)
    >>> reports = oue.randomize(np.array([0, 9, 9]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> oue.estimate(oue.aggregate(reports)).n
    3
    """

    name = "OUE"
    card = Card(
        group="one attribute",
        when="larger domains where reports of k bits are acceptable: error independent of k",
        recommended=True,
        wire="k bits",
    )

    def __post_init__(self) -> None:
        self._check_parameters()

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """(P, Q) of `optimised_thresholds`: the own bit is set with probability P/2^64, any other with Q/2^64."""
        return optimised_thresholds(self.epsilon)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return self._local_guarantee()
