"""What quota randomised response guarantees: the weight that makes it so, and one row per adversary."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from deniable.core.privacy import Guarantee, TrustModel, repeated
from deniable.core.thresholds import EpsilonLike, exp_bounds, spent
from deniable.errors import InvalidParameterError

_WEIGHT_SCALE = 1 << 128


@lru_cache(maxsize=256, typed=True)
def truth_weight(k: int, epsilon: EpsilonLike, lie: Fraction) -> Fraction:
    """Return R, the weight of a truth-teller relative to one forced answer, rounded down in steps of 2^-128.

    R = (e^epsilon - 1)/(p - lie e^epsilon) with p = 1 - (k-1) lie the truthfulness of a truth-teller: then the
    likelihood ratio (1 + p R)/(1 + lie R) is e^epsilon. Without a cap, lie = 0 and R = e^epsilon - 1.

    Raises
    ------
    InvalidParameterError
        If truth-tellers are not more truthful than epsilon alone allows.
    """
    lower, _ = exp_bounds(spent(epsilon))
    room = 1 - (k - 1) * lie - lie * lower
    if room <= 0:
        raise InvalidParameterError(f"epsilon_aux must be > epsilon={epsilon}, got a cap that is not")
    return Fraction(math.floor((lower - 1) / room * _WEIGHT_SCALE), _WEIGHT_SCALE)


def quota_guarantee(
    epsilon: float, epsilon_aux: float | None, implemented: float, present: float, absent: float
) -> Guarantee:
    """Return the guarantee; `present` and `absent` are the marginal probabilities of a report with and without v."""
    cap = math.inf if epsilon_aux is None else epsilon_aux
    alone = math.log1p((present - absent) / absent) if absent > 0 else math.inf
    told = "who is told to say the truth reports it verbatim" if epsilon_aux is None else "capped by epsilon_aux"
    return Guarantee(
        epsilon=epsilon,
        per_attribute=(epsilon,),
        implemented_epsilon=implemented,
        trust_models=(
            TrustModel("collector", "all reports, everybody else's data and all n-1 others' shares", epsilon),
            TrustModel("collector", "all reports, any prior on everybody else's data", epsilon, status="upper bound"),
            TrustModel("collector and dealer", "all reports and all shares", cap, note=told),
            TrustModel("collector with my share", "my report and my share", cap, note=told),
            TrustModel("collector and revealing peers", "all reports, data and shares of up to n-1 peers", epsilon),
            TrustModel("collector", "my report only, other reports ignored", min(alone, epsilon)),
            TrustModel("dealer", "all shares, no report", 0.0),
            repeated("r reports of the same answer, a fresh deal each", epsilon),
            TrustModel(
                "collector",
                "all reports and who dropped out",
                epsilon,
                status="assumption",
                note="if dropping out does not depend on the share: clients apply it silently",
            ),
        ),
        remarks=(
            "the dealer must not collude with the collector"
            + (": together they read every truthful answer" if epsilon_aux is None else " (capped)"),
        ),
    )
