"""Exponential mechanism with utility 1[y = x], which is generalised randomised response at half the budget.

The mechanism is from McSherry, Talwar, *Mechanism design via differential privacy* (2007). Here one contributor's
answer is the whole database, so the utility has sensitivity 1. The weight of reporting y for the true answer x is
e^(epsilon u(x, y)/2). Here the utility u(x, y) is 1 for y = x and 0 otherwise. So the true answer has weight
e^(epsilon/2), and every other answer has weight 1. These are the weights of GRR at epsilon/2. This class therefore runs
GRR.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

from deniable.core.card import Card
from deniable.core.privacy import Guarantee
from deniable.core.thresholds import EPSILON_MIN, BudgetShare, exact, spent
from deniable.errors import out_of_range
from deniable.oracles.grr import RandomizedResponse, lie_threshold


@final
@dataclass(frozen=True)
class Exponential(RandomizedResponse):
    """The exponential mechanism with utility 1 for the true answer and 0 for all others equals GRR at epsilon/2.

    The textbook divides epsilon by 2, because the constant that makes the probabilities sum to 1 can depend on the
    data. Here the constant does not depend on the data, so half of the declared budget is never spent. Prefer `GRR` at
    the same epsilon. Use this class to compare results with the literature.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    epsilon : float, Fraction, Decimal or str
        Declared privacy budget in nats, from 2e-6 to 32. A float is read as the decimal that Python prints for it, so
        0.1 is read as 1/10. The method `privacy` states the smallest epsilon for which the guarantee holds, which is
        half of the declared epsilon.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.research.baselines.exponential import Exponential
    >>> mechanism = Exponential(k=4, epsilon=2.0)
    >>> bool((mechanism.channel() == GRR(k=4, epsilon=1.0).channel()).all())
    True
    >>> mechanism.privacy().epsilon
    1.0
    """

    name = "Exponential"
    card = Card(
        group="baselines",
        when="only for comparison with the literature; it equals GRR at epsilon/2",
        wire="one code",
        note="it equals GRR at epsilon/2",
    )

    @cached_property
    def _lie(self) -> int:
        if exact(self.epsilon) < 2 * EPSILON_MIN:
            raise out_of_range("epsilon", f">= {float(2 * EPSILON_MIN)} for GRR at epsilon/2", self.epsilon)
        return lie_threshold(self.k, BudgetShare(spent(self.epsilon) / 2))

    def privacy(self) -> Guarantee:
        remark = (
            f"declared budget {float(self.epsilon):g}; the exponential mechanism with utility 1[y = x] equals "
            "GRR at half of it and spends no more"
        )
        return self._local_guarantee(remark, epsilon=float(self.epsilon) / 2)
