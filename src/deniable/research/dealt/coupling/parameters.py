"""Choice of p and rho of JRR, by the published search and by the exact optimum that replaces it.

The parameters must meet a bound on what the revelations of m colluders add: p (1 + mu a) <= pi(epsilon), where a =
-rho. Under this bound, the variance is least at an end of the feasible range, which is plain randomised response or the
extreme correlation. mu is the posterior probability that one's peer is among the colluders, in the worst case of what
they reveal (`peer_posterior`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from deniable.core.checks import checked_integer
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exp_bounds, spent
from deniable.errors import InvalidParameterError
from deniable.research.dealt.coupling.coins import coin

MAX_CONTRIBUTORS = 1 << 32


class JRRParameters(NamedTuple):
    """Parameters of the truth table of a pair of contributors."""

    p: float
    """Probability of a true report."""
    rho: float
    """Correlation of the truth draws of two paired contributors."""


def checked_colluders(n: int, colluders: int) -> int:
    """Return the number of colluders, or raise InvalidParameterError unless 0 <= colluders <= n-1."""
    return checked_integer("colluders", colluders, 0, checked_integer("n", n, 2, MAX_CONTRIBUTORS) - 1)


def peer_posterior(n: int, colluders: int) -> Fraction:
    """Return mu, the worst-case posterior probability that one's peer is among the colluders.

    It is m/(n - m), and 1 once m >= n/2. In the worst case, all colluders were dealt the same sign, so their peers are
    among the other n - m contributors. The paper uses the prior probability m/(n - 1) (erratum of Theorem 2).

    Examples
    --------
    >>> peer_posterior(10, 2), peer_posterior(10, 5)
    (Fraction(1, 4), Fraction(1, 1))
    """
    m = checked_colluders(n, colluders)
    return Fraction(1) if 2 * m >= n else Fraction(m, n - m)


def theorem2_as_printed(p: float, rho: float, n: int, colluders: int) -> float:
    """Return the epsilon of Theorem 2, eq. (20), of the JRR paper. It is **false** for 2 <= colluders < n - 1.

    The theorem weights the correlation of partners with the prior probability that the partner colludes. It should use
    the posterior probability, given what the colluders reveal. For n = 4, two colluders, p = .6 and rho = -2/3 the
    theorem gives 1.872, but the true epsilon is infinite. The function is only for comparison; `JRR.privacy` states the
    true bound.

    Examples
    --------
    >>> round(theorem2_as_printed(0.6, -2 / 3, n=4, colluders=2), 3)
    1.872
    """
    m, q = checked_colluders(n, colluders), 1 - p
    most, least = max((1 - rho) * p, p + rho * q), min((1 - rho) * q, q + rho * p)
    denominator = m * least + (n - m - 1) * q
    return math.log((m * most + (n - m - 1) * p) / denominator) if denominator > 0 else math.inf


def algorithm_1(n: int, epsilon: EpsilonLike, colluders: int, step: float = 1e-4) -> JRRParameters:
    """Return the result of Algorithm 1 of the JRR paper in constant time, to compare it with `optimal_parameters`.

    The outer loop of the algorithm never advances. Let pi = e^epsilon/(1 + e^epsilon). Already at the first p = pi -
    step, the constraint of Theorem 2 holds for a range of rho that is wider than the grid. So rho is the first point 1
    - 1/p + j step that is at least max(1 - 1/p, need), where need = -(pi/p - 1)(n - 1)/colluders. With many colluders
    this point can be slightly positive.

    Parameters
    ----------
    n : int
        Number of contributors, >= 2.
    epsilon : float, Fraction, Decimal or str
        Nominal budget. It holds neither against Theorem 2's adversary nor against anybody who uses the other reports.
    colluders : int
        Number of colluders, at most n - 1.
    step : float
        Step of the grid for both parameters. (The second input and line 8 of the printed algorithm say delta p but mean
        delta rho.)

    Raises
    ------
    InvalidParameterError
        If epsilon is too small for the step, because the search would then return nothing.

    Examples
    --------
    >>> p, rho = algorithm_1(10_000, 0.1, colluders=5)
    >>> round(p, 6), round(rho, 6)
    (0.524879, -0.381)
    """
    m, budget = checked_colluders(n, colluders), float(checked_epsilon(epsilon))
    pi = math.exp(budget) / (1 + math.exp(budget))
    p = pi - step
    if not step > 0 or not p > 0.5:
        least = math.log((0.5 + step) / (0.5 - step)) if 0 < step < 0.5 else math.nan
        raise InvalidParameterError(
            f"step must be > 0 and below e^epsilon/(1 + e^epsilon) - 1/2 = {pi - 0.5:.6g} for epsilon={epsilon}, got "
            f"step={step}; this step needs epsilon > {least:.6g}"
        )
    start = 1 - 1 / p
    need = max(start, -(pi / p - 1) * (n - 1) / m) if m else start
    return JRRParameters(p, start + math.ceil((need - start) / step) * step)


def pair_rate(n: int) -> Fraction:
    """Return the probability that two given contributors are paired, 1/(n-1), or 1/n for odd n."""
    return Fraction(1, n - 1 if n % 2 == 0 else n)


def imbalance(n: int, count: int | None) -> Fraction:
    """Return kappa, which is ((2 count - n)^2 - n)/n times the pair rate.

    The relative variance is 1 + rho kappa. kappa is about (1 - 2 theta)^2. Without a count, the result is the mean of
    kappa over a flat prior on 0..n, about 1/3.
    """
    square = Fraction(n * (n + 2), 3) if count is None else Fraction((2 * count - n) ** 2)
    return (square - n) / n * pair_rate(n)


def relative_variance(gain: float, rho: float, kappa: float) -> float:
    """Return Var(n1_hat)/n at p - q = gain, which is pq/(p - q)^2 (1 + rho kappa)."""
    return (1 - gain * gain) / (4 * gain * gain) * (1 + rho * kappa)


def optimal_parameters(
    n: int, epsilon: EpsilonLike, colluders: int, count: int | None = None, epsilon_aux: EpsilonLike | None = None
) -> JRRParameters:
    """Return the p and rho of least variance, rounded so that the implemented thresholds keep both bounds.

    The parameters are those of `JRR.optimal`.

    Raises
    ------
    InvalidParameterError
        If an argument is out of bounds, or epsilon_aux < epsilon. The error names the nearest feasible value.

    Examples
    --------
    >>> p, rho = optimal_parameters(10_000, 0.1, colluders=5, count=1000)
    >>> round(p, 6), round(rho, 6)
    (0.524741, -0.9057)
    """
    mu = float(peer_posterior(n, colluders))
    budget = spent(checked_epsilon(epsilon))
    cap = None if epsilon_aux is None else spent(checked_epsilon(epsilon_aux, "epsilon_aux"))
    if cap is not None and cap < budget:
        raise InvalidParameterError(
            f"epsilon_aux must be >= epsilon={epsilon}, got epsilon_aux={epsilon_aux}: raise epsilon_aux to {epsilon}, "
            f"or lower epsilon to {epsilon_aux}. A colluding dealer learns at least what the report itself says"
        )
    kappa = float(imbalance(n, None if count is None else checked_integer("count", count, 0, n)))
    alone = math.tanh(float(budget) / 2)
    most = 1.0 if cap is None else math.tanh(float(cap) / 2)
    gain, rho = alone, 0.0
    if alone > mu * most:
        # The bound on colluders is met with p + mu s = pi(epsilon), and s is at its end: q, or pi(epsilon_aux) - p with
        # a cap.
        coupled = (alone - mu * most) / (1 - mu)
        correlation = -((most - coupled) ** 2) / (1 - coupled * coupled)
        if cap is None:
            correlation = -(1 - coupled) / (1 + coupled)
        if relative_variance(coupled, correlation, kappa) < relative_variance(alone, 0.0, kappa):
            gain, rho = coupled, correlation
    return _rounded((1 + gain) / 2, rho, n, colluders, budget, cap)


def _rounded(p: float, rho: float, n: int, colluders: int, budget: Fraction, cap: Fraction | None) -> JRRParameters:
    """Lower p, and |rho| with it, in steps of the last place until the implemented integers keep both bounds."""
    # The ratio is at most e^budget exactly if the worst lie probability x satisfies x (1 + e^budget) >= 1.
    needed = 1 / (1 + exp_bounds(budget)[0])
    capped = Fraction(0) if cap is None else 1 / (1 + exp_bounds(cap)[0])
    mu = peer_posterior(n, colluders)
    coins = coin(p, rho)
    while coins.q - mu * coins.s < needed or coins.lie_plus < capped:
        p = math.nextafter(p, 0.0)
        rho = math.nextafter(rho, 0.0) if cap is not None else (1 - 1 / p if rho else 0.0)
        coins = coin(p, rho)
    return JRRParameters(p, rho)
