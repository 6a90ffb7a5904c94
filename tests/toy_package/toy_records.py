"""A mechanism for records of another package, in one file: each attribute by randomised response, split budgets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes
from deniable.core.randomness import Randomness
from deniable.core.thresholds import BudgetShare, spent
from deniable.oracles.grr import GRR
from deniable.records.layout import CodeLayout, independent
from deniable.records.record import EveryAttribute, SimulatedByMarginal


@final
@dataclass(frozen=True)
class ToySplit(EveryAttribute, SimulatedByMarginal):
    """Each attribute by GRR with epsilon/d."""

    name = "ToySplit"
    card = Card("records", "to show that one file is enough for records too", recommended=True, wire="a code each")
    remarks = ()

    def _check_parameters(self) -> None:
        self.oracles  # noqa: B018  refuses what GRR refuses

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        share = BudgetShare(spent(self.epsilon) / len(self.sizes))
        return tuple(GRR(k=size, epsilon=share) for size in self.sizes)

    @cached_property
    def layout(self) -> CodeLayout:
        return CodeLayout(self.oracles)

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        return self.layout.randomize(codes, rng)

    def implemented_ratio(self) -> Fraction:
        return prod((oracle.implemented_ratio() for oracle in self.oracles), start=Fraction(1))

    def outputs(self) -> NDArray[Any]:
        return self._product()

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), self.layout.outputs)
        return independent([oracle.channel(exact=True) for oracle in self.oracles])
