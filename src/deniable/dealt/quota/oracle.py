"""QuotaOracle: the base of oracles whose dealer hands out "say this" and "say the truth" in nearly fixed numbers."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TypeVar, final

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.privacy import Guarantee
from deniable.dealt.dealt import DealtOracle
from deniable.dealt.estimate import Floats
from deniable.dealt.quota.guarantee import quota_guarantee
from deniable.dealt.quota.interval import inverted
from deniable.dealt.quota.law import CountLaw, response_variance

Reports = TypeVar("Reports")


class QuotaOracle(DealtOracle[Reports]):
    """A dealt oracle whose declared epsilon holds against everybody but the dealer.

    Attributes
    ----------
    epsilon_aux : float, Fraction or None
        Cap on what a colluding dealer learns.
    """

    epsilon_aux: float | Fraction | None = None

    @property
    @abstractmethod
    def law(self) -> CountLaw:
        """The law of the type counts of one value, in floats, for estimators."""

    @property
    @abstractmethod
    def truthfulness(self) -> tuple[float, float]:
        """Probability that a truth-teller reports v holding it, and not holding it: (1, 0) without a cap."""

    @property
    @abstractmethod
    def _odds_alone(self) -> tuple[float, float]:
        """Two numbers in the ratio of the likelihoods of two answers, to who reads one report alone."""

    @property
    @final
    def support_probabilities(self) -> tuple[float, float]:
        """Marginal probability of supporting v for a contributor who holds it, and for one who does not.

        (E a + p E b)/n and (E a + lie E b)/n, also after drop-outs if dropping out does not depend on the type.
        """
        moments, (truth, lie) = self.law.moments, self.truthfulness
        return (moments.a + truth * moments.b) / self.n, (moments.a + lie * moments.b) / self.n

    @final
    def _support_variance(self, holders: float, reporters: int) -> float:
        return response_variance(self.law, *self.truthfulness, holders, reporters)

    @final
    def frequency_bounds(self, aggregate: Aggregate, tail: float) -> tuple[Floats, Floats]:
        """Analyst: return bounds by inverting the exact law; after drop-outs, score bounds with the exact variance.

        Every number of holders n_v under which neither tail of I_v, as the mechanism draws it, is rarer than `tail`; so
        the bounds are in [0, 1]. The sum over the number of truth-tellers runs over at most 256 of its values, and the
        hypergeometric law of the truthful reports is replaced, where its variance exceeds 400, by its normal with a
        skewness term (tails agree to 1e-3). In the capped form the noise of the truth-tellers is normal.
        """
        if aggregate.n != self.n:
            return self._score_bounds(aggregate, tail)
        found = [inverted(self.law, *self.truthfulness, count, tail) for count in aggregate.counts.tolist()]
        lower, upper = np.array(found).T / self.n
        return lower, upper

    @final
    def privacy(self) -> Guarantee:
        """Return the guarantee per adversary, each with its view.

        The rows of the dealer and of an intercepted share are as much part of it as the small epsilon.
        """
        cap = None if self.epsilon_aux is None else float(self.epsilon_aux)
        return quota_guarantee(float(self.epsilon), cap, self.implemented_epsilon(), *self._odds_alone)
