"""Thresholding with histogram encoding (THE), in which a device reports which noisy components exceed theta.

The mechanism is from Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation* (2017).
The contributor's device applies the threshold, so a report is k bits, and THE is a unary encoding. The bit of the true
answer is 1 with probability p = P(Lap > theta - 1) = 1 - e^((theta-1) epsilon/2)/2. Every other bit is 1 with
probability q = P(Lap > theta) = e^(-theta epsilon/2)/2. Here Lap is the Laplace noise. The code draws the bits with
these probabilities and never draws noise as a real number.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import final

from deniable.core.card import Card
from deniable.core.checks import settle
from deniable.core.privacy import Guarantee
from deniable.core.thresholds import (
    EpsilonLike,
    checked_epsilon,
    exact,
    exp_bounds,
    log_up,
    spent,
    threshold_down,
    threshold_up,
)
from deniable.oracles.unary import OneStage
from deniable.oracles.unary_encoding import checked_decimal, likelihood_ratio


def optimal_theta(epsilon: EpsilonLike) -> float:
    """Return the theta in (1/2, 1] of least variance q(1-q)/(p-q)^2 at f -> 0, to four decimals.

    The variance is flat around its minimum, so more digits would change nothing. Decimal arithmetic makes the result
    the same on every platform. As epsilon -> 0, the optimum tends to the excluded value 1/2. The least value is 0.5001.

    Examples
    --------
    >>> optimal_theta(1.0), optimal_theta(4.0)
    (0.6186, 0.8157)
    """
    context = Context(prec=50)
    number = exact(checked_epsilon(epsilon)) / 2
    a = context.divide(Decimal(number.numerator), Decimal(number.denominator))

    def noise(theta: Decimal) -> Decimal:
        q = context.divide(context.exp(context.multiply(-a, theta)), Decimal(2))
        lost = context.divide(context.exp(context.multiply(-a, 1 - theta)), Decimal(2))
        return context.divide(context.multiply(q, 1 - q), context.power(1 - lost - q, 2))

    low, high = Decimal("0.5"), Decimal(1)
    while high - low > Decimal("1e-7"):
        third = context.divide(high - low, Decimal(3))
        left, right = context.add(low, third), context.subtract(high, third)
        low, high = (low, right) if noise(left) < noise(right) else (left, high)
    return max(0.5001, float(round(low, 4)))


@final
@dataclass(frozen=True)
class THE(OneStage):
    """Thresholding with histogram encoding reports which of k noisy numbers exceed a threshold theta.

    The device writes the answer as k numbers, one for each possible answer: 1 for the true answer, and 0 for all
    others. It adds Laplace noise to each of these numbers. For each number it reports one bit, which says whether the
    noisy number exceeds theta.

    The *tight* epsilon is the smallest epsilon with which the guarantee holds. It is below the declared epsilon,
    because thresholding hides a part of what the noisy numbers show. The method `privacy` states the tight epsilon. At
    the same declared epsilon, OUE is more accurate for rare answers.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    epsilon : float, Fraction, Decimal or str
        Declared privacy budget in nats, from 1e-6 to 32. The scale of the Laplace noise is 2/epsilon. A float is read
        as the decimal that Python prints for it, so 0.1 is read as 1/10.
    theta : float, Fraction, Decimal or str, optional
        Threshold, greater than 1/2 and at most 1. The default has the least variance as the frequency goes to 0
        (`optimal_theta`). The object and its specification state the threshold in `theta`, so that client and server
        use the same threshold.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines.histogram_threshold import THE
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> the = THE(k=10, epsilon=1.0)
    >>> the
    THE(k=10, epsilon=1.0, theta=0.6186)
    >>> reports = the.randomize(np.array([0, 9, 9]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> round(the.privacy().epsilon, 4)
    0.896
    """

    theta: float | Fraction | None = None

    name = "THE"
    card = Card(
        group="baselines",
        when="only for comparison; at the same declared epsilon, OUE has a smaller error for rare answers",
        wire="k bits",
        note="the guarantee holds with an epsilon below the declared epsilon",
    )

    def __post_init__(self) -> None:
        self._check_parameters()
        theta = optimal_theta(self.epsilon) if self.theta is None else self.theta
        checked = checked_decimal("theta", theta, Fraction(1, 2), Fraction(1), "(0.5, 1]")
        settle(self, theta=checked)

    @cached_property
    def _tails(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Return (lower, upper) bounds of 1 - p = e^((theta-1) epsilon/2)/2 and of q = e^(-theta epsilon/2)/2."""
        assert self.theta is not None
        theta, half = exact(self.theta), spent(self.epsilon) / 2
        missed, false = exp_bounds((theta - 1) * half), exp_bounds(-theta * half)
        return (missed[0] / 2, missed[1] / 2), (false[0] / 2, false[1] / 2)

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        """Thresholds (P, Q) of the bits.

        The own bit is set with probability P/2^64 (rounded down), and any other bit with probability Q/2^64 (rounded
        up).
        """
        (_, missed), (_, false) = self._tails
        return threshold_down(1 - missed), threshold_up(false)

    def tight_epsilon(self) -> float:
        """Value ln[p(1-q)/(q(1-p))] of the design, in nats, rounded up, which is below the declared epsilon."""
        (missed, _), (false, _) = self._tails
        return log_up(likelihood_ratio(1 - missed, false))

    def privacy(self) -> Guarantee:
        tight = self.tight_epsilon()
        remark = (
            f"the declared budget of {float(self.epsilon):g} is not used up: thresholding the noisy histogram leaves "
            f"a tight epsilon of {tight:.6g}"
        )
        return self._local_guarantee(remark, epsilon=tight)
