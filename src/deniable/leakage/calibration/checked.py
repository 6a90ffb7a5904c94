"""Budgets under another prior, as results: which caps hold there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deniable.core.checks import listed
from deniable.core.result import Result
from deniable.leakage.prior.correlation import Leakage


@dataclass(frozen=True, eq=False)
class CheckedTotal(Result):
    """One attribute's total at the budgets, under the other prior.

    Parameters
    ----------
    attribute : str
        Its name.
    cap : float
        What its total had to stay below.
    total : Leakage
        What everything together says about it.
    """

    also: ClassVar = {"within": "within"}

    attribute: str
    cap: float
    total: Leakage

    @property
    def within(self) -> bool | None:
        """Return whether the cap holds; None if only a bound above the cap is known."""
        if self.total.epsilon <= self.cap * (1 + 1e-9):
            return True
        return False if self.total.status == "exact" else None


@dataclass(frozen=True, eq=False)
class CheckedBudgets(Result):
    """Totals of budgets for an adversary with another prior; what `check_budgets` returns.

    Parameters
    ----------
    source : str
        Where the other prior comes from: a file's name.
    records : int
        How many records it has.
    totals : tuple of CheckedTotal
        About the attributes that vary there.
    notes, warnings : tuple of str
        What was left out; why figures may be larger than in a population.
    """

    also: ClassVar = {"text": "text"}

    source: str
    records: int
    totals: tuple[CheckedTotal, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One sentence: whether the caps hold under the other prior."""
        whom = f"For somebody who knows {self.source} ({self.records:,} records)"
        broken = [one.attribute for one in self.totals if one.within is False]
        unknown = [one.attribute for one in self.totals if one.within is None]
        if broken:
            worst = max(self.totals, key=lambda one: one.total.epsilon / one.cap)
            return (
                f"{whom} these budgets do not hold: the cap is exceeded for {listed(broken)}, most by "
                f"{worst.attribute} ({worst.total.epsilon:.4g} of {worst.cap:.4g})."
            )
        if unknown:
            return f"{whom} it is not known whether the cap holds for {listed(unknown)}: a bound is above it."
        return f"{whom} every cap holds, too."
