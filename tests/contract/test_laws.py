"""Deliberately broken mechanisms: each must fail the law that should catch it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.core.thresholds import exact
from deniable.oracles import grr as grr_module, pure as pure_module
from deniable.oracles.grr import GRR
from deniable.testing import laws
from tests.contract.cases import CASES, COVERED, SIMULATIONS, Case


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
@pytest.mark.parametrize("factor", [Fraction(11, 10), Fraction(10, 11)])
def test_epsilon_times_1_1(case: Case, factor: Fraction) -> None:
    """The mechanism spends 1.1 epsilon, or too little, and its channel says so."""
    sizes = (3, 2) if case.records else (3,)
    mutant = case.build(sizes, float(exact(1.0) * factor))
    declared = case.build(sizes, 1.0)
    with pytest.raises(AssertionError):
        laws.ratio_keeps_the_budget(mutant, 1.0, case.one_report_epsilon(declared))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_randomize_that_spends_1_1_epsilon(case: Case) -> None:
    """Reports drawn at 1.1 epsilon do not follow the channel declared at epsilon."""
    sizes = (3, 2) if case.records else (3,)
    declared, mutant = case.build(sizes, 1.0), case.build(sizes, 1.1)

    class Mutant:
        domain, records = declared.domain, declared.records
        channel, outputs = declared.channel, declared.outputs
        randomize = mutant.randomize

    with pytest.raises(AssertionError):
        laws.reports_follow_the_channel(Mutant(), n=400_000)


def test_estimator_with_p_and_q_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable.core.estimate import affine_estimate as honest

    monkeypatch.setattr(
        pure_module, "affine_estimate", lambda counts, n, p, q, *rest, **more: honest(counts, n, q, p, *rest, **more)
    )
    with pytest.raises(AssertionError):
        laws.unbiased(GRR(k=3, epsilon=1.0))


def test_merge_that_drops_a_one_report_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = dn.Aggregate.__add__

    def mutant(self: dn.Aggregate, other: dn.Aggregate) -> dn.Aggregate:
        return self if other.n == 1 else honest(self, other)

    monkeypatch.setattr(dn.Aggregate, "__add__", mutant)
    with pytest.raises(AssertionError):
        laws.merging_is_adding(GRR(k=3, epsilon=1.0), np.arange(30) % 3, [1])


def test_lie_that_may_be_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lie drawn from all k values instead of the other k-1."""

    def mutant(codes: Any, words: Any, lie: Any, k: int, reports: Any) -> None:
        quotient = words // lie
        reports[:] = np.where(quotient >= k - 1, codes, quotient % np.uint64(k))

    monkeypatch.setattr(grr_module, "randomize_codes", mutant)
    with pytest.raises(AssertionError):
        laws.reports_follow_the_channel(GRR(k=3, epsilon=1.0))


def test_simulated_aggregate_with_too_little_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = grr_module.RandomizedResponse._simulate

    def mutant(self: GRR, counts: Any, rng: dn.SimulationRandomness) -> Any:
        return honest(self, counts // 2, rng) + counts - counts // 2  # every second contributor tells the truth

    monkeypatch.setattr(grr_module.RandomizedResponse, "_simulate", mutant)
    with pytest.raises(AssertionError):
        laws.simulated_aggregates_follow_the_law(GRR(k=3, epsilon=1.0), draws=SIMULATIONS)


def test_simulated_aggregate_with_too_much_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sevenths report for another contributor: means are right, variances are 9/7 of the right ones."""
    honest = grr_module.RandomizedResponse._simulate

    def mutant(self: GRR, counts: Any, rng: dn.SimulationRandomness) -> Any:
        pairs = counts // 7
        return honest(self, counts - 2 * pairs, rng) + 2 * honest(self, pairs, rng)

    monkeypatch.setattr(grr_module.RandomizedResponse, "_simulate", mutant)
    with pytest.raises(AssertionError, match="covariances"):
        laws.simulated_aggregates_follow_the_law(GRR(k=3, epsilon=1.0), draws=SIMULATIONS)


def test_interval_of_the_wrong_width(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = dn.Estimate.interval
    monkeypatch.setattr(dn.Estimate, "interval", lambda self, _confidence: honest(self, 0.90))
    with pytest.raises(AssertionError):
        laws.intervals_cover(GRR(k=3, epsilon=1.0))


@pytest.mark.parametrize("factor", [0.75, 1.53])
def test_interval_a_quarter_too_narrow_or_half_as_wide_again(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    honest = dn.Estimate.interval

    def mutant(self: dn.Estimate, confidence: float) -> Any:
        return tuple(self.frequencies + factor * (end - self.frequencies) for end in honest(self, confidence))

    monkeypatch.setattr(dn.Estimate, "interval", mutant)
    with pytest.raises(AssertionError, match="cover"):
        laws.intervals_cover(GRR(k=3, epsilon=1.0), draws=COVERED)
