"""Intervals despite malicious contributors, against enumerations of all possible reports."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import GRR, OLH, OUE, RSFD, SMP, SPL, Estimate, SimulationRandomness, SubsetSelection
from deniable.core.estimate import affine_estimate
from deniable.core.support_counts import Influence
from deniable.errors import InvalidParameterError, NoIntervalError
from deniable.postprocess import simplex
from deniable.records import RSRFD
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.research.dealt import QuotaRR


def _singles(mechanism: Any, attribute: int) -> Iterator[np.ndarray[Any, np.dtype[np.float64]]]:
    """Yield the estimate of an attribute from each report alone, times its share of all contributors."""
    outputs = mechanism.outputs()
    columns = outputs if isinstance(outputs, tuple) else (outputs,)
    for i in range(len(columns[0])):
        row = mechanism.report_type(*(np.asarray(column)[[i]] for column in columns))
        found = mechanism.estimate(mechanism.aggregate(row))
        one: Estimate = found[attribute] if mechanism.records else found
        if one.n:
            # Contributors take turns if one in `turns` reports the attribute. So one report counts this many times.
            yield one.frequencies * (len(mechanism.domain) if isinstance(mechanism, SMP) else 1)


@pytest.mark.parametrize(
    ("mechanism", "attribute"),
    [
        (GRR(k=4, epsilon=1.0), 0),
        (SubsetSelection(k=5, epsilon=0.5), 0),
        (SubsetSelection(k=5, epsilon=0.5, omega=4), 0),
        (OUE(k=3, epsilon=1.0), 0),
        (SPL(sizes=(3, 2), epsilon=1.0), 0),
        (SMP(sizes=(2, 3), epsilon=1.0), 1),
        (RSFD(sizes=(3, 2), epsilon=1.0), 0),
        (RSRFD(sizes=(3, 2), epsilon=1.0, priors=((0.5, 0.3, 0.2), (0.6, 0.4))), 0),
    ],
    ids=repr,
)
def test_levers_are_what_the_worst_report_does(mechanism: Any, attribute: int) -> None:
    k = mechanism.domain[attribute]
    singles = list(_singles(mechanism, attribute))
    for t in range(1, k + 1):
        sums = [single[list(targets)].sum() for single in singles for targets in itertools.combinations(range(k), t)]
        found = mechanism.influence(t, attribute)
        assert found == pytest.approx((max(sums), min(sums)), abs=1e-9)


def test_levers_where_they_are_known_and_where_not() -> None:
    assert GRR(k=100, epsilon=1.0).influence().up == pytest.approx(58.6, abs=0.05)  # type: ignore[union-attr]
    assert SubsetSelection(k=100, epsilon=1.0).influence(10).up == pytest.approx(31, abs=0.5)  # type: ignore[union-attr]
    # A malicious contributor to a sketch chooses the hash function. So all targets are in one cell, or none.
    olh = OLH(k=50, epsilon=1.0)
    p, q = olh.support_probabilities
    assert olh.influence(7) == pytest.approx(((7 - 7 * q) / (p - q), -7 * q / (p - q)))
    hadamard = HadamardEncoding(k=4, epsilon=1.0)
    assert isinstance(hadamard.influence(), Influence)
    assert hadamard.influence(2) is None
    dealt = QuotaRR(1.0, 100, deal_id="a")
    high, low = dealt.support_probabilities
    assert dealt.influence() == pytest.approx(((1 - low) / (high - low), -low / (high - low)))
    with pytest.raises(InvalidParameterError, match="targets must be"):
        GRR(k=3, epsilon=1.0).influence(4)
    with pytest.raises(InvalidParameterError, match="attribute must be"):
        GRR(k=3, epsilon=1.0).influence(1, 1)


def _missed(mechanism: Any, held: tuple[int, ...], malicious: int, allowed: float) -> float:
    """Return how probably a report by people who see all other reports makes an interval miss the honest share."""
    channel, outputs = mechanism.channel(), mechanism.outputs()
    rows = [mechanism.supports(outputs[[i]], np.arange(mechanism.k))[0] for i in range(len(outputs))]
    p, q = map(float, mechanism.support_probabilities)
    n = len(held) + malicious
    law: dict[tuple[int, ...], float] = {(0,) * mechanism.k: 1.0}
    for code in held:
        step: dict[tuple[int, ...], float] = {}
        for (before, chance), i in itertools.product(law.items(), range(len(rows))):
            after = tuple(c + int(s) for c, s in zip(before, rows[i], strict=True))
            step[after] = step.get(after, 0.0) + chance * channel[code, i]
        law = step
    lies = {
        tuple(sum(column) for column in zip(*chosen, strict=True))
        for chosen in itertools.combinations_with_replacement([tuple(map(int, row)) for row in rows], malicious)
    }
    # An interval depends only on its own count.
    lower, upper = affine_estimate(np.arange(n + 1), n, p, q).interval(0.9, malicious=allowed)
    worst = 0.0
    for v in range(mechanism.k):
        truth = held.count(v) / len(held)
        holds = (lower - 1e-12 <= truth) & (truth <= upper + 1e-12)
        reachable = {lie[v] for lie in lies}
        missed = (chance for counts, chance in law.items() if not all(holds[counts[v] + lie] for lie in reachable))
        worst = max(worst, sum(missed))
    return worst


@pytest.mark.parametrize("mechanism", [GRR(k=3, epsilon=1.5), OUE(k=2, epsilon=1.0)], ids=repr)
def test_intervals_hold_whatever_adaptive_malicious_contributors_report(mechanism: Any) -> None:
    k = mechanism.k
    for held in itertools.combinations_with_replacement(range(k), 4):
        assert _missed(mechanism, held, 1, 0.2) <= 0.1, held


def test_more_malicious_contributors_than_allowed_for_break_an_interval() -> None:
    mechanism = GRR(k=3, epsilon=3.0)
    assert _missed(mechanism, (0, 0, 1, 2), 2, 0.34) <= 0.1
    assert _missed(mechanism, (0, 0, 1, 2), 2, 0.2) > 0.1
    assert _missed(mechanism, (0, 0, 1, 2), 2, 0.0) > 0.1


def test_the_interval_despite_malicious_contributors_is_the_contracts() -> None:
    """[(lower - alpha L+)/(1 - alpha), (upper - alpha L-)/(1 - alpha)], with the interval of (1 - alpha) n reports."""
    mechanism = OUE(k=4, epsilon=1.0)
    estimate = mechanism.estimate(mechanism.simulate_aggregate([4000, 3000, 2000, 1000], SimulationRandomness(1)))
    found = estimate.interval(0.95, malicious=0.03, target="population")
    up, down = mechanism.influence()  # type: ignore[misc]
    p, q = map(float, mechanism.support_probabilities)
    for end, influence, place in ((found[0], up, 0), (found[1], down, 1)):
        honest = (estimate.frequencies - 0.03 * influence) / 0.97
        counts = 9700 * (honest * (p - q) + q)
        assert counts == pytest.approx(np.rint(counts), abs=1e-6)
        alone = affine_estimate(np.rint(counts).astype(int), 9700, p, q)
        assert end == pytest.approx(alone.interval(0.95, target="population")[place], abs=1e-12)
    width = np.diff(estimate.interval(malicious=0.03), axis=0)
    assert (width > np.diff(estimate.interval(), axis=0)).all()
    # A float is read as the simple fraction that it is nearest to, so .29 of 100 is 29, and 1/3 of 30 is 10.
    small = affine_estimate([60, 40], 100, 0.75, 0.25)
    exact = small.interval(malicious=Fraction(29, 100))  # type: ignore[arg-type]
    assert small.interval(malicious=0.29)[0] == pytest.approx(exact[0])
    assert small.interval(malicious=0.29)[0][0] == affine_estimate([31, 11], 71, 0.75, 0.25).interval()[0][0]
    thirty = affine_estimate([18, 12], 30, 0.75, 0.25)
    assert thirty.interval(malicious=1 / 3)[0][0] == affine_estimate([8, 2], 20, 0.75, 0.25).interval()[0][0]


def test_malicious_contributors_choose_the_attribute_they_report() -> None:
    smp = SMP(sizes=(2, 2), epsilon=1.0)
    records = np.array([[0, 1], [1, 1]] * 200)
    estimate = smp.estimate(smp.aggregate(smp.randomize(records, SimulationRandomness(1))))[0]
    assert estimate.support is not None
    n, counts = estimate.n, estimate.support.counts
    p, q = map(float, smp.support_probabilities[0])
    alone = affine_estimate(np.maximum(counts - 40, 0), n - 40, p, q, 360)
    assert estimate.interval(malicious=0.1)[0] == pytest.approx(alone.interval()[0])
    lower, upper = estimate.interval(malicious=0.6)
    assert np.isneginf(lower).all()
    assert np.isposinf(upper).all()


def test_where_nothing_is_known_of_malicious_contributors_or_at_any_time_is_refused() -> None:
    estimate = GRR(k=3, epsilon=1.0).estimate(GRR(k=3, epsilon=1.0).aggregate([0, 1, 2, 2]))
    quota = QuotaRR(1.0, 4, deal_id="a")
    dealt = quota.estimate(quota.simulate_aggregate([3, 1], SimulationRandomness(1)))
    with pytest.raises(NoIntervalError, match="malicious contributors"):
        dealt.interval(malicious=0.1)
    with pytest.raises(NoIntervalError, match="no interval can allow for repeated looks"):
        dealt.interval(target="population", anytime=True, planned=10)
    with pytest.raises(NoIntervalError, match="target must be population"):
        estimate.interval(anytime=True, planned=10)
    with pytest.raises(NoIntervalError, match="after the step “simplex”"):
        simplex(estimate).interval(malicious=0.1)
    for wrong, options in (
        (r"malicious must be a fraction in \[0, 1\), got malicious=1", {"malicious": 1}),
        (r"malicious must be a fraction", {"malicious": -0.1}),
        ("planned must be given with", {"anytime": True, "target": "population"}),
        ("planned must be", {"anytime": True, "target": "population", "planned": 0}),
        ("malicious and anytime=True cannot be used together", {"anytime": True, "malicious": 0.1, "planned": 4}),
    ):
        with pytest.raises(InvalidParameterError, match=wrong):
            estimate.interval(**options)
