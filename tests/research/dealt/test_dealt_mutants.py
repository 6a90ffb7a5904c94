"""Deliberately broken dealt mechanisms: each must fail the law that should catch it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.errors import DamagedStateError
from deniable.research.dealt import Shares
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.several_deals import combine_deals
from deniable.testing import laws
from tests.research.dealt import dealt_laws
from tests.research.dealt.dealt_cases import DEALT_CASES, DealtCase

ONE_EACH = [pytest.param(case, id=case.name) for case in DEALT_CASES]
BY_NAME = {case.name: case for case in DEALT_CASES}


class Mutant:
    """An honest mechanism, except for changes in a subclass."""

    def __init__(self, honest: Any) -> None:
        self.honest = honest

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)


class IndependentDealer(Mutant):
    """Deal shares with the right distribution but independently, so that quotas and pairs are lost."""

    def deal(self, n: int, rng: Any) -> Any:
        return Shares.joined([self.honest.deal(n, rng)[i] for i in range(n)])


class SortedDealer(Mutant):
    """Deal the right numbers of each type, but in order."""

    def deal(self, n: int, rng: Any) -> Any:
        shares = self.honest.deal(n, rng)
        arrays = dealt_laws.fields_of(self.honest, shares)
        order = np.lexsort([column for array in arrays[::-1] for column in array.reshape(n, -1).T[::-1]])
        return Shares(shares.deal_id, tuple(array[order] for array in arrays))


class DeafContributor(Mutant):
    """Contributors who use a share that they made themselves."""

    def randomize(self, inputs: Any, shares: Any, rng: Any) -> Any:
        return self.honest.randomize(inputs, self.honest.deal(self.honest.n, rng)[: len(shares)], rng)


class AnyDeal(Mutant):
    """Contributors who accept shares of any deal."""

    def randomize(self, inputs: Any, shares: Any, rng: Any = None) -> Any:
        mine = shares if not hasattr(shares, "deal_id") else dataclasses.replace(shares, deal_id=self.honest.deal_id)
        return self.honest.randomize(inputs, mine, rng)


class MiscountingCollector(Mutant):
    """Count one more report of the first value."""

    def aggregate(self, reports: Any) -> Any:
        honest = self.honest.aggregate(reports)
        counts = honest.counts.copy()
        counts[0] += 1
        return dataclasses.replace(honest, counts=counts)


class ForgetfulCollector(Mutant):
    """Drop the last report of each batch."""

    def aggregate(self, reports: Any) -> Any:
        return self.honest.aggregate(laws.take(reports, slice(0, -1)))


class LoudSimulation(Mutant):
    """Simulate with the noise of independent shares."""

    def simulate_aggregate(self, *arguments: Any) -> Any:
        *counts, rng = arguments
        total = dn.Aggregate.empty(self.honest)
        for x in np.repeat(np.arange(len(counts[0])), counts[0]):
            share = self.honest.deal(self.honest.n, rng)[0]
            total = total + self.honest.aggregate(self.honest.randomize([x], share, rng))
        return total


@pytest.mark.parametrize("case", ONE_EACH)
def test_a_dealer_of_independent_shares(case: DealtCase) -> None:
    with pytest.raises(AssertionError):
        dealt_laws.deals_follow_the_law(case, IndependentDealer(case.build(case.shown, "mine")), 600)


@pytest.mark.parametrize("case", ONE_EACH)
def test_a_dealer_who_does_not_shuffle(case: DealtCase) -> None:
    with pytest.raises(AssertionError):
        dealt_laws.deals_follow_the_law(case, SortedDealer(case.build(case.shown, "mine")), 1500)


@pytest.mark.parametrize("case", ONE_EACH)
def test_contributors_who_ignore_their_share(case: DealtCase) -> None:
    with pytest.raises(AssertionError):
        dealt_laws.contributors_follow_their_shares(case, DeafContributor(case.build(case.shown, "mine")), 300)


@pytest.mark.parametrize("case", ONE_EACH)
def test_an_estimator_with_p_and_q_swapped(case: DealtCase, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = case.build(case.shown, "mine")
    owner = type(getattr(mechanism, "parts", (mechanism,))[0])
    honest = owner.support_probabilities
    get = honest.func if hasattr(honest, "func") else honest.fget
    monkeypatch.setattr(owner, "support_probabilities", property(lambda self: get(self)[::-1]))
    with pytest.raises(AssertionError):
        dealt_laws.estimates_are_exact(case, case.build(case.shown, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_variance_one_per_cent_off(case: DealtCase, factor: float) -> None:
    class Mutated(Mutant):
        def variance(self, *arguments: Any, **more: Any) -> float:
            return float(self.honest.variance(*arguments, **more)) * factor

    with pytest.raises(AssertionError):
        dealt_laws.estimates_are_exact(case, Mutated(case.build(case.shown, "mine")))


@pytest.mark.parametrize("case", ONE_EACH)
def test_a_deal_id_that_is_not_checked(case: DealtCase) -> None:
    mechanism = case.build(25, "mine")

    @dataclasses.dataclass(frozen=True)
    class Mutated(AnyDeal):
        honest: Any
        deal_id: str = "mine"

        @property
        def deal(self) -> Any:
            return dataclasses.replace(self.honest, deal_id=self.deal_id).deal

    with pytest.raises(AssertionError, match="was not raised"):
        dealt_laws.refuses_bad_shares(case, Mutated(mechanism))


@pytest.mark.parametrize("case", ONE_EACH)
def test_sums_of_two_deals_that_add(case: DealtCase, monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(self: dn.Aggregate, other: dn.Aggregate) -> dn.Aggregate:
        return dataclasses.replace(self, counts=self.counts + other.counts, n=self.n + other.n)

    monkeypatch.setattr(dn.Aggregate, "__add__", mutant)
    # Either the law fails, or the sum is refused because it is not a state of one deal.
    with pytest.raises((AssertionError, DamagedStateError), match=r"was not raised|at most as many reports"):
        dealt_laws.deals_do_not_mix(case, case.build(25, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
@pytest.mark.parametrize("mutant", [MiscountingCollector, ForgetfulCollector])
def test_an_aggregate_off_by_one(case: DealtCase, mutant: type[Mutant]) -> None:
    with pytest.raises((AssertionError, DamagedStateError)):  # either no report has such counters, or the law fails
        dealt_laws.estimates_are_exact(case, mutant(case.build(case.exact[0], "mine")))


@pytest.mark.parametrize(
    ("name", "n"),
    [("QuotaRR", 3), ("QuotaUnary", 3), ("JRR-extreme", 2), ("KaryJRR", 2), ("ReportCoupledRR", 2), ("CoupledOUE", 2)],
)
def test_a_simulation_without_the_dealer(name: str, n: int) -> None:
    case = BY_NAME[name]
    with pytest.raises(AssertionError):
        dealt_laws.simulated_aggregates_follow_the_law(case, LoudSimulation(case.build(n, "mine")), 600)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in DEALT_CASES if case.reached])
def test_a_guarantee_ten_per_cent_too_small(case: DealtCase) -> None:
    mechanism = case.build(case.exact[-1], "mine")
    epsilon = mechanism.privacy().implemented_epsilon

    class Mutated(Mutant):
        def privacy(self) -> Any:
            return dataclasses.replace(mechanism.privacy(), implemented_epsilon=min(epsilon, 100) / 1.1)

        def implemented_epsilon(self) -> float:
            return float(min(epsilon, 100) / 1.1)

    with pytest.raises(AssertionError):
        dealt_laws.keeps_its_guarantee(case, Mutated(mechanism))


def test_combined_deals_that_weigh_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = combine_deals

    def mutant(aggregates: Any) -> Any:
        both = honest(aggregates)
        return dataclasses.replace(both, frequencies=sum(a.mechanism.frequencies(a) for a in aggregates) / 2)

    monkeypatch.setattr(dealt_laws, "combine_deals", mutant)
    with pytest.raises(AssertionError):
        dealt_laws.deals_combine(BY_NAME["JRR"], JRR(0.75, -0.2, 25, deal_id="mine"))
