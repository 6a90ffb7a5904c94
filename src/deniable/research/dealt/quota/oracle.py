"""Base of oracles whose dealer hands out "say this" and "say the truth" in nearly fixed numbers (`QuotaOracle`).

The module also has the guarantee of quota randomised response, and the weight that makes the guarantee hold.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache

from deniable.core.mechanism import Reports
from deniable.core.privacy import Guarantee, TrustModel, repeated
from deniable.core.thresholds import EpsilonLike, exp_bounds, spent
from deniable.errors import InvalidParameterError
from deniable.research.dealt.dealt import DealtOracle
from deniable.research.dealt.interval import SupportLaw
from deniable.research.dealt.quota.interval import QuotaSupports
from deniable.research.dealt.quota.law import CountLaw, response_variance

_WEIGHT_SCALE = 1 << 128


class QuotaOracle(DealtOracle[Reports]):
    """Dealt oracle whose declared epsilon holds against everybody but the dealer.

    Attributes
    ----------
    epsilon_aux : float, Fraction or None
        Cap on what a colluding dealer learns.
    """

    epsilon_aux: float | Fraction | None = None

    @property
    @abstractmethod
    def law(self) -> CountLaw:
        """Distribution of the type counts of one value, in floats, for estimators."""

    @property
    @abstractmethod
    def truthfulness(self) -> tuple[float, float]:
        """Probability that a truth-teller reports v when holding it, and when not holding it: (1, 0) without a cap."""

    @property
    @abstractmethod
    def _odds_alone(self) -> tuple[float, float]:
        """Two numbers in the ratio of the likelihoods of two answers, for an adversary who reads one report alone."""

    @property
    def support_probabilities(self) -> tuple[float, float]:
        """Marginal probability of supporting v for a contributor who holds it, and for one who does not.

        They are (E a + p E b)/n and (E a + lie E b)/n. They also hold after drop-outs if dropping out does not depend
        on the type.
        """
        moments, (truth, lie) = self.law.moments, self.truthfulness
        return (moments.a + truth * moments.b) / self.n, (moments.a + lie * moments.b) / self.n

    def _support_variance(self, holders: float, reporters: int) -> float:
        return response_variance(self.law, *self.truthfulness, holders, reporters)

    def _support_law(self, reporters: int, among: int) -> SupportLaw:
        return QuotaSupports(((self.law, reporters, 1),), *self.truthfulness, among)

    def privacy(self) -> Guarantee:
        """Return the guarantee per adversary, each with its view.

        The rows of the dealer and of an intercepted share belong to the guarantee as much as the small epsilon does.
        """
        epsilon, (present, absent) = float(self.epsilon), self._odds_alone
        cap = math.inf if self.epsilon_aux is None else float(self.epsilon_aux)
        alone = math.log1p((present - absent) / absent) if absent > 0 else math.inf
        told = (
            "who is told to say the truth reports it verbatim" if self.epsilon_aux is None else "capped by epsilon_aux"
        )
        return Guarantee(
            epsilon=epsilon,
            per_attribute=(epsilon,),
            implemented_epsilon=self.implemented_epsilon(),
            trust_models=(
                TrustModel("collector", "all reports, everybody else's data and all n-1 others' shares", epsilon),
                TrustModel(
                    "collector", "all reports, any prior on everybody else's data", epsilon, status="upper bound"
                ),
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
                + (": together they read every truthful answer" if self.epsilon_aux is None else " (capped)"),
            ),
        )


@lru_cache(maxsize=256, typed=True)
def truth_weight(k: int, epsilon: EpsilonLike, lie: Fraction) -> Fraction:
    """Return R, the weight of a truth-teller relative to one forced answer, rounded down in steps of 2^-128.

    R = (e^epsilon - 1)/(p - lie e^epsilon), where p = 1 - (k-1) lie is the truthfulness of a truth-teller. Then the
    likelihood ratio (1 + p R)/(1 + lie R) is e^epsilon. Without a cap, lie = 0 and R = e^epsilon - 1.

    Raises
    ------
    InvalidParameterError
        If truth-tellers are not more truthful than epsilon alone allows.
    """
    lower, _ = exp_bounds(spent(epsilon))
    room = 1 - (k - 1) * lie - lie * lower
    if room <= 0:
        raise InvalidParameterError(
            f"epsilon_aux must be > epsilon={epsilon}, but it is not larger: choose a larger epsilon_aux"
        )
    return Fraction(math.floor((lower - 1) / room * _WEIGHT_SCALE), _WEIGHT_SCALE)
