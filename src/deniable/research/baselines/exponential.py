"""Exponential mechanism with utility 1[y = x], which is generalised randomised response at half the budget.

McSherry, Talwar, *Mechanism design via differential privacy* (2007). One contributor's answer is the whole database:
the utility has sensitivity 1 and the weight of reporting y is e^(epsilon u(x, y)/2), hence e^(epsilon/2) for the truth
and 1 for every other value. Those are the weights of GRR(epsilon/2), and GRR is what runs here.
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
    """Exponential mechanism over {0, ..., k-1} with utility 1[y = x]: equal to ``GRR(k, epsilon/2)``.

    The textbook factor 1/2 pays for a normalising constant that depends on the data. Here it does not, so half of the
    declared budget is never spent: prefer `GRR` at the same epsilon, and use this one to compare with the literature.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    epsilon : float, Fraction, Decimal or str
        Declared privacy budget in nats, in [2e-6, 32]; a float is read as the decimal that Python prints
        for it. The tight value that `privacy` states is epsilon/2.

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
        when="only to compare with the literature; it equals GRR at epsilon/2",
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
