"""Attribute inference: guesses of an adversary who sees one report, and how often a guess is right.

Source: *The Hidden Cost of Correlation* (2025), appendix C. Its formulas are reconstructed from the rules. All eight
rules are special cases of one rule: a report leaves a set of candidate values, and the guess is uniform among them, or
among all values if there is none. Every rule has a symmetric channel "true value -> guess". This channel is GRR at an
*effective epsilon* in closed form, so attack-based leakage needs no simulation.

An attack is not the mechanism. The effective epsilon is a lower bound on what a report reveals. For unary encodings,
local hashing and SHE it is far below epsilon, because the rule throws most of the report away. In attack-based figures,
"RAPPOR, OUE, OLH and SHE leak less than GRR". This is a property of the rules: the channels of these mechanisms leak at
least as much. Show both figures, with their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import integrate

from deniable.core.checks import checked_domain
from deniable.core.mechanism import check_channel_size
from deniable.core.randomness import Randomness, draw
from deniable.errors import not_available, out_of_range, quoted
from deniable.leakage.adversary.auditor import says_one
from deniable.leakage.prior.correlation import cpl
from deniable.leakage.prior.distributions import Floats
from deniable.oracles.oracle import FrequencyOracle, checked_oracle
from deniable.oracles.support import SupportLaw

BLOCK_CELLS = 1 << 20
"""Reports are attacked in blocks of at most about this many (report, value) pairs."""


def candidates(mechanism: FrequencyOracle[Any], reports: Any) -> NDArray[np.bool_]:
    """Return the values that a report leaves as candidates, bool[n, k].

    They are the values that the report supports. A row may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE
    >>> candidates(OUE(k=3, epsilon=1.0), np.array([[0b101], [0b000]], dtype=np.uint8))
    array([[ True, False,  True],
           [False, False, False]])
    """
    return mechanism.supports(reports, np.arange(mechanism.k))


def attack(mechanism: FrequencyOracle[Any], reports: Any, rng: Randomness) -> NDArray[np.int64]:
    """Adversary: guess the true value behind every report.

    Parameters
    ----------
    mechanism : FrequencyOracle
        Mechanism that the reports came from.
    reports : batch of n reports
        Reports in the form that ``mechanism.randomize`` returns.
    rng : Randomness
        Source of random words that break ties between candidates.

    Returns
    -------
    int64[n]
        Guesses in 0..k-1.

    Raises
    ------
    InvalidReportError
        If the reports are not the mechanism's.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE, SimulationRandomness
    >>> from deniable.research.adversary.attacks import attack_success
    >>> rng = SimulationRandomness(1)
    >>> oue = OUE(k=5, epsilon=3.0)
    >>> guesses = attack(oue, oue.randomize(np.full(10_000, 2), rng), rng)
    >>> round(float((guesses == 2).mean()), 2), round(attack_success(oue), 2)
    (0.54, 0.54)
    """
    batch: Callable[..., Any] = checked_oracle(mechanism).report_type
    several = isinstance(reports, tuple) and len(reports) == len(mechanism.report_fields)
    fields = reports if several else (np.asarray(reports),)
    n = len(fields[0])
    step = max(1, BLOCK_CELLS // mechanism.k)
    guesses = np.empty(n, dtype=np.int64)
    for start in range(0, n, step):
        block = [field[start : start + step] for field in fields]
        allowed = candidates(mechanism, batch(*block) if several else block[0])
        guesses[start : start + step] = allowed.argmax(axis=1) if says_one(mechanism) else _choose(allowed, rng)
    if n == 0:
        candidates(mechanism, reports)  # this call refuses reports of another type even without reports
    return guesses


def _filled(allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return allowed | ~allowed.any(axis=1, keepdims=True)


def _choose(allowed: NDArray[np.bool_], rng: Randomness) -> NDArray[np.int64]:
    filled = _filled(allowed)
    sizes = filled.sum(axis=1, dtype=np.uint64)
    # The rank is uniform up to k/2^32. Guesses protect nobody, so they need no rejection.
    rank = ((draw(rng, len(filled)) >> np.uint64(32)) * sizes) >> np.uint64(32)
    chosen: NDArray[np.int64] = (filled.cumsum(axis=1, dtype=np.uint64) > rank[:, None]).argmax(axis=1)
    return chosen


def attack_success(mechanism: FrequencyOracle[Any]) -> float:
    """Return Q, the probability that the guess from one report is right, in closed form; the same for all true values.

    Let E = e^epsilon, and let p and q be the mechanism's implemented support probabilities:

    * GRR, exponential: Q = p. Subset selection: Q = p/omega.
    * Unary encodings: Q = p (1 - (1-q)^k)/(k q) + (1-p) (1-q)^(k-1)/k.
    * Local hashing with m cells, p = E/(E + m - 1): Q = p m (1 - (1-1/m)^k)/k + (1-p) (1-1/m)^(k-1)/k. This is for the
      *full* family of hash functions. The families of this library have the same distribution only for pairs of values.
      For small k, Q of the prime family differs by at most 10%. Q of Spread is larger, by up to a half if k is about m.
      `enumerated_attack_channel` gives exact values if the channel can be listed.
    * SHE: sum over levels y of P1(y) (F(y)^k - F(y-1)^k)/(k P0(y)). P1 and P0 are the distributions of a component that
      is 1 and 0 on the implemented grid, and F is the distribution function of P0. For the real-valued mechanism see
      `continuous_she_success`.

    Raises
    ------
    InvalidParameterError
        If no rule for guessing is known for the mechanism.

    Examples
    --------
    >>> from deniable import GRR, OUE
    >>> round(attack_success(GRR(k=2, epsilon=1.0)), 4), round(attack_success(OUE(k=2, epsilon=1.0)), 4)
    (0.7311, 0.6155)
    """
    return float(_law(mechanism).guess_success())


def effective_epsilon(mechanism: FrequencyOracle[Any]) -> float:
    """Return the epsilon of the GRR with the same channel from true value to guess: ln[Q (k-1)/(1-Q)].

    Q is `attack_success`. The number is a lower bound on the mechanism's own epsilon, not an estimate of it.

    Examples
    --------
    >>> from deniable import GRR, OUE
    >>> round(effective_epsilon(GRR(k=2, epsilon=1.0)), 4), round(effective_epsilon(OUE(k=2, epsilon=1.0)), 4)
    (1.0, 0.4706)
    """
    success = _law(mechanism).guess_success()
    return math.log(success * (mechanism.k - 1) / (1 - success))


def attack_channel(mechanism: FrequencyOracle[Any]) -> Floats:
    """Return P(guess | true value), float64[k, k]: `attack_success` Q on the diagonal, (1-Q)/(k-1) elsewhere.

    The channel is exact for every mechanism except local hashing. For local hashing it is the channel of the full
    family of hash functions (see `attack_success`).

    Examples
    --------
    >>> from deniable import SubsetSelection
    >>> attack_channel(SubsetSelection(k=3, epsilon=1.0, omega=2)).round(4)
    array([[0.4223, 0.2888, 0.2888],
           [0.2888, 0.4223, 0.2888],
           [0.2888, 0.2888, 0.4223]])
    """
    k = mechanism.k
    check_channel_size(k, k, f"the attack on {quoted(mechanism)}")
    success = _law(mechanism).guess_success()
    channel = np.full((k, k), float((1 - success) / (k - 1)))
    np.fill_diagonal(channel, float(success))
    return channel


def attack_cpl(mechanism: FrequencyOracle[Any], conditional: ArrayLike) -> float:
    """Return the correlation-induced leakage of the *guess* about X_i, in nats: attack-based CPL.

    The number is a lower bound on the CPL of the report itself. `statistical_cpl` estimates it by simulation. A small
    number does not show that a mechanism is private, because the rule for guessing may be a poor attack.

    Parameters
    ----------
    mechanism : FrequencyOracle
        Mechanism of the release of X_j.
    conditional : float[|X_i|, k]
        P(X_j = u | X_i = x). Rows sum to one.

    Examples
    --------
    >>> from deniable import OUE
    >>> from deniable.leakage.prior.correlation import cpl
    >>> oue, prior = OUE(k=2, epsilon=1.0), [[0.8, 0.2], [0.2, 0.8]]
    >>> round(attack_cpl(oue, prior), 4), round(cpl(oue.channel(), prior), 4)
    (0.2791, 0.5694)
    """
    return cpl(attack_channel(mechanism), conditional)


def enumerated_attack_channel(mechanism: FrequencyOracle[Any]) -> Floats:
    """Return the exact P(guess | true value), float64[k, k], by listing every report.

    This is for small mechanisms.

    Raises
    ------
    TooLargeError
        If the mechanism's channel cannot be listed.

    Examples
    --------
    >>> from deniable.oracles import BLH
    >>> enumerated_attack_channel(BLH(k=2, epsilon=1.0)).round(4), round(attack_success(BLH(k=2, epsilon=1.0)), 4)
    (array([[0.6151, 0.3849],
           [0.3849, 0.6151]]), 0.6155)
    """
    return checked_oracle(mechanism).guess_channel()


def continuous_she_success(k: int, epsilon: float) -> float:
    """Return Q of the argmax rule for SHE with *real* Laplace noise of scale b = 2/epsilon, as in the paper.

    Q = integral of f(t - 1) F(t)^(k-1) dt. Below 0 and above 1 the integral is elementary. Between 0 and 1, with s =
    e^(-t/b)/2, it is e^(-1/b)/4 times the integral of (1-s)^(k-1)/s^2, computed numerically. This is not the
    implemented mechanism, whose noise is discrete: see `attack_success`.

    Examples
    --------
    >>> round(continuous_she_success(2, 1.0), 10)  # 1 - (1 + 1/4) e^(-1/2)/2
    0.6209183377
    """
    k = checked_domain(k)
    if not 0 < epsilon < math.inf:
        raise out_of_range("epsilon", "> 0", epsilon)
    decay = math.exp(-epsilon / 2)
    below = decay * 2.0**-k / k
    above = -math.expm1(k * math.log1p(-decay / 2)) / (k * decay)
    middle, _ = integrate.quad(lambda s: (1 - s) ** (k - 1) / s**2, decay / 2, 0.5, epsabs=0.0, epsrel=1e-12, limit=200)
    return float(below + above + decay / 4 * middle)


def _law(mechanism: FrequencyOracle[Any]) -> SupportLaw:
    law = checked_oracle(mechanism).support_law
    if law is None:
        raise not_available(
            "an attack in closed form",
            mechanism.name,
            "use enumerated_attack_channel, which lists all possible reports",
        )
    return law
