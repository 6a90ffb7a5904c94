"""Unary encodings: report k noisy bits, one for each possible answer.

Symmetric unary encoding (SUE) is the basic one-time RAPPOR of Erlingsson, Pihur, Korolova, *RAPPOR: Randomized
aggregatable privacy-preserving ordinal response* (2014). Optimised unary encoding (OUE) is from Wang, Blocki, Li, Jha,
*Locally differentially private protocols for frequency estimation* (2017). In both mechanisms, the error does not
depend on k.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_domain, settle
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exp_bounds, spent, threshold_up
from deniable.oracles.bits import Bits, randomize_one_hot
from deniable.oracles.unary_bulk import probabilities
from deniable.oracles.unary_encoding import UnaryEncoding


def symmetric_thresholds(epsilon: EpsilonLike) -> tuple[int, int]:
    """Return (P, Q) of SUE: q = 1/(s + 1) rounded up with s = e^(epsilon/2), and p = 1 - q exactly."""
    lower, _ = exp_bounds(spent(epsilon) / 2)
    q = threshold_up(1 / (lower + 1))
    return SCALE - q, q


def optimised_thresholds(epsilon: EpsilonLike) -> tuple[int, int]:
    """Return (P, Q) of OUE: p = 1/2 and q = 1/(e^epsilon + 1) rounded up."""
    lower, _ = exp_bounds(spent(epsilon))
    return SCALE // 2, threshold_up(1 / (lower + 1))


@dataclass(frozen=True)
class OneStage(UnaryEncoding):
    """Base of unary encodings whose bits are randomised once, with thresholds that follow from epsilon."""

    epsilon: float | Fraction

    def _check_parameters(self) -> None:
        settle(self, k=checked_domain(self.k), epsilon=checked_epsilon(self.epsilon))

    @property
    @abstractmethod
    def thresholds(self) -> tuple[int, int]:
        """Thresholds (P, Q): the contributor's own bit is set with probability P/2^64, any other bit with Q/2^64."""

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        return probabilities(self.thresholds)

    def _randomize_few(self, codes: Codes, rng: Randomness) -> Bits:
        return randomize_one_hot(codes, self.k, self.thresholds, rng)


@final
@dataclass(frozen=True)
class SUE(OneStage):
    """Symmetric unary encoding (basic one-time RAPPOR) reports k bits, and flips each with the same probability.

    The device writes the answer as k bits: the bit of the true answer is 1, and all others are 0. The device keeps
    every bit with probability p = s/(s + 1), where s = e^(epsilon/2), and flips the bit otherwise.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32. A report takes k bits.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.

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
        when="only for comparison; for rare answers, OUE has a smaller error",
        aliases=("basic one-time RAPPOR",),
        wire="k bits",
    )

    def __post_init__(self) -> None:
        self._check_parameters()

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """(P, Q) of `symmetric_thresholds`: the true answer's bit is 1 with probability P/2^64, others with Q/2^64."""
        return symmetric_thresholds(self.epsilon)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return self._local_guarantee()


@final
@dataclass(frozen=True)
class OUE(OneStage):
    """Optimised unary encoding (OUE) reports k noisy bits, one for each possible answer.

    The device writes the answer as k bits: the bit of the true answer is 1, and all others are 0. In the report, the
    bit of the true answer is 1 with probability p = 1/2. Every other bit is 1 with probability q = 1/(e^epsilon + 1).

    A mechanism that reports one randomised bit for each possible answer is called a *unary encoding*. Among all unary
    encodings, OUE has the least variance for rare answers. If the frequency of an answer goes to 0, the variance of its
    estimate goes to 4 e^epsilon/(n (e^epsilon - 1)^2), where n is the number of reports.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32. A report takes k bits.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.

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
        when="for a question with many possible answers, if reports of k bits are acceptable; its error does not "
        "depend on k",
        recommended=True,
        wire="k bits",
    )

    def __post_init__(self) -> None:
        self._check_parameters()

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """(P, Q) of `optimised_thresholds`: the true answer's bit is 1 with probability P/2^64, others with Q/2^64."""
        return optimised_thresholds(self.epsilon)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return self._local_guarantee()
