"""Quota deals side by side: whole records and late joiners, by enumeration of all deals and in simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from deniable import SMP, Aggregate, SimulationRandomness as Simulation
from deniable.errors import (
    DamagedStateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
)
from deniable.research.dealt.quota.batches import smallest_batch
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.shares import Shares
from tests.research.dealt.quota_laws import counts_of, ideal_weight, says

Assignment = tuple[tuple[int, int], ...]
"""(attribute, type) of each contributor."""


def record_deals(quota: QuotaRecords) -> Iterator[tuple[Assignment, float]]:
    """Return all assignments of attributes and types with their probabilities, from the definition alone."""
    parts = quota.parts
    wanted = [part.n for part in parts]
    weights = [ideal_weight(part.k, part.a0, float(part.weight)) for part in parts]
    listed: list[tuple[Assignment, float]] = []
    for group in itertools.product(range(len(parts)), repeat=quota.n):
        if [group.count(j) for j in range(len(parts))] != wanted:
            continue
        for types in itertools.product(*(range(parts[j].k + 1) for j in group)):
            product = 1.0
            for j, weight in enumerate(weights):
                own = tuple(t for g, t in zip(group, types, strict=True) if g == j)
                product *= weight(counts_of(own, parts[j].k))
            if product:
                listed.append((tuple(zip(group, types, strict=True)), product))
    total = sum(w for _, w in listed)
    return ((assignment, w / total) for assignment, w in listed)


@pytest.mark.parametrize(
    ("sizes", "n", "minima"), [((2, 2), 4, (0, 0)), ((2, 2), 5, (1, 0)), ((2, 3), 4, (0, 0)), ((2, 2), 6, (1, 1))]
)
def test_worst_case_over_whole_records_is_epsilon(sizes: tuple[int, ...], n: int, minima: tuple[int, ...]) -> None:
    quota = QuotaRecords(sizes, 1.0, n, minima)
    # The keys are contributor 0's report and everybody else's shares, for each record of contributor 0.
    likelihood: dict[tuple[Any, ...], dict[tuple[int, ...], float]] = {}
    for assignment, probability in record_deals(quota):
        j, type_ = assignment[0]
        for record in itertools.product(*map(range, sizes)):
            for y in range(sizes[j]):
                seen = (j, y, assignment[1:])
                row = likelihood.setdefault(seen, dict.fromkeys(itertools.product(*map(range, sizes)), 0.0))
                row[record] += probability * says(type_, record[j], y, sizes[j], 1, 0)
    ratios = [max(row.values()) / min(row.values()) for row in likelihood.values() if max(row.values())]
    assert math.log(max(ratios)) == pytest.approx(1.0, abs=1e-12)
    assert float(quota.implemented_ratio()) == pytest.approx(math.e, rel=1e-14)


@pytest.mark.parametrize(("sizes", "n", "minima"), [((2, 2), 5, (1, 0)), ((2, 3), 4, (0, 0)), ((2, 2), 6, (1, 1))])
def test_records_are_unbiased_with_their_variance(sizes: tuple[int, ...], n: int, minima: tuple[int, ...]) -> None:
    quota = QuotaRecords(sizes, 1.0, n, minima)
    held = [tuple(i % 2 if i < 3 else 0 for _ in sizes) for i in range(n)]
    for j, part in enumerate(quota.parts):
        present, absent = part.support_probabilities
        f = sum(record[j] == 1 for record in held) / n
        first = second = 0.0
        for assignment, probability in record_deals(quota):
            ones = sum(
                says(t, record[j], 1, sizes[j], 1, 0) for (g, t), record in zip(assignment, held, strict=True) if g == j
            )
            value = (ones / part.n - absent) / (present - absent)
            first, second = first + probability * value, second + probability * value**2
        assert first == pytest.approx(f, abs=1e-12)
        assert second - first**2 == pytest.approx(quota.variance(f, attribute=j), rel=1e-10)


def test_nobody_is_simulated_twice() -> None:
    """Five of ten people answer each question and hardly ever lie: each zero is counted exactly once."""
    quota, rng = QuotaRecords((2, 2), 30.0, 10), Simulation(4)
    zeros = [quota.simulate_aggregate([[0, 0], [1, 1]], [5, 5], rng).counts[[0, 2]] for _ in range(50)]
    assert {int(pair.sum()) for pair in zeros} == {5}
    assert len({int(pair[0]) for pair in zeros}) > 2


def test_attributes_are_dealt_in_exact_numbers_and_uniform_order() -> None:
    quota, rng = QuotaRecords((2, 3, 2), 1.0, 11), Simulation(1)
    tallies = np.zeros((11, 3))
    for _ in range(3000):
        shares = quota.deal(11, rng)
        assert np.bincount(shares.columns[0]).tolist() == [4, 4, 3]
        tallies[np.arange(11), shares.columns[0]] += 1
    expected = np.array([4, 4, 3]) / 11 * 3000
    # 33 cells must be within six standard deviations.
    assert (np.abs(tallies - expected) < 6 * np.sqrt(expected)).all()


def test_records_in_simulation_both_ways() -> None:
    quota, rng = QuotaRecords((2, 3), 1.0, 600), Simulation(2)
    records, counts = np.array([[0, 0], [1, 2], [1, 1]]), np.array([300, 200, 100])
    truth = np.repeat(records, counts, axis=0)

    def dealt() -> Aggregate:
        return quota.aggregate(quota.randomize(truth, quota.deal(600, rng), Simulation(1)))

    def drawn() -> Aggregate:
        return quota.simulate_aggregate(records, counts, rng)

    for source in (dealt, drawn):
        found = np.array([[quota.estimate(source())[j].frequencies[-1] for j in (0, 1)] for _ in range(300)])
        for j, f in ((0, 0.5), (1, 1 / 3)):
            variance = quota.variance(f, attribute=j)
            assert abs(found[:, j].mean() - f) < 5.5 * math.sqrt(variance / 300)
            assert abs(found[:, j].var() / variance - 1) < 6 * math.sqrt(2 / 300)


def test_record_intervals_cover_with_the_sampling() -> None:
    quota, rng = QuotaRecords((2, 2), 1.0, 160), Simulation(3)
    records, counts = np.array([[0, 0], [1, 0], [0, 1]]), np.array([72, 80, 8])
    inside = np.zeros(2)
    for _ in range(120):
        estimates = quota.estimate(quota.simulate_aggregate(records, counts, rng))
        for j, f in ((0, 0.5), (1, 0.05)):
            lower, upper = estimates[j].interval(0.9)
            inside[j] += lower[1] <= f <= upper[1]
    # P(Binomial(120, .9) <= 88) is below 2e-7.
    assert (inside > 88).all()


def test_records_beat_smp() -> None:
    quota, smp = QuotaRecords((2, 5), 0.5, 10_000), SMP((2, 5), 0.5)
    for j in (0, 1):
        assert quota.variance(0.05, attribute=j) < 0.15 * smp.variance(0.05, 10_000, j)


def test_after_drop_outs_records_still_estimate() -> None:
    quota, rng = QuotaRecords((2, 2), 1.0, 4000), Simulation(4)
    truth = np.tile([[0, 1]], (4000, 1))
    shares = quota.deal(4000, rng)
    estimates = quota.estimate(quota.aggregate(quota.randomize(truth[:3000], shares[:3000], Simulation(1))))
    for j in (0, 1):
        lower, upper = estimates[j].interval(1 - 1e-6)
        assert lower[j] < 1 == upper[j]
    alone = quota.estimate(quota.aggregate(quota.randomize(truth[:1], shares[:1], Simulation(1))))
    assert sorted(estimate.n for estimate in alone.values()) == [0, 1]


def test_capped_records_need_randomness() -> None:
    quota = QuotaRecords((2, 3), 0.5, 100, epsilon_aux=2.0)
    shares = quota.deal(100, Simulation(1))
    with pytest.raises(InvalidParameterError, match="rng must be"):
        quota.randomize(np.zeros((100, 2), dtype=int), shares, None)  # type: ignore[arg-type]
    assert len(quota.randomize(np.zeros((100, 2), dtype=int), shares, Simulation(2)).value) == 100
    capped = [row for row in quota.privacy().trust_models if row.adversary == "collector and dealer"]
    assert capped[0].epsilon == 2.0


def test_bad_records_are_named() -> None:
    quota = QuotaRecords((2, 3), 1.0, 10, deal_id="a")
    shares = quota.deal(10, Simulation(1))
    records = np.zeros((10, 2), dtype=int)
    with pytest.raises(MismatchError, match="belong to deal “a”, not to deal “b”"):
        QuotaRecords((2, 3), 1.0, 10, deal_id="b").randomize(records, shares, Simulation(1))
    with pytest.raises(InvalidInputError, match="every contributor needs one share, got 10 contributors and 3 shares"):
        quota.randomize(records, shares[:3], Simulation(1))
    with pytest.raises(InvalidInputError, match="must be Shares"):
        quota.randomize(records, shares.columns[1], Simulation(1))  # type: ignore[arg-type]
    # Type 3 is "truth" for three values, and does not exist for two.
    wrong = Shares("a", (np.zeros(1, dtype=np.uint8), np.array([3], dtype=np.uint8)))
    with pytest.raises(InvalidInputError, match=r"in 0..2, got something else"):
        quota.randomize(records[:1], wrong, Simulation(1))
    with pytest.raises(InvalidReportError, match=r"report must be in 0..1 for attribute 0, got 2 in row 2"):
        quota.aggregate((np.array([1, 0]), np.array([2, 2])))
    with pytest.raises(InvalidReportError, match="attribute must be in"):
        quota.aggregate((np.array([2]), np.array([0])))
    with pytest.raises(InvalidParameterError, match="n must be >= 4"):
        QuotaRecords((2, 3), 1.0, 3)
    with pytest.raises(InvalidParameterError, match="minima must name a quota for each of 2 attributes"):
        QuotaRecords((2, 3), 1.0, 10, (1,))
    with pytest.raises(InvalidInputError, match="counts must sum to n=10, got 9"):
        quota.simulate_aggregate(records[:1], [9], Simulation(1))
    full = quota.aggregate(quota.randomize(records, shares, Simulation(1)))
    with pytest.raises(DamagedStateError, match="at most as many reports"):
        full + full


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 2), (0.5, 2), (1.0, 2), (2.0, 2), (1.0, 5)])
def test_the_smallest_batch_is_where_a_quota_begins_to_help(epsilon: float, k: int) -> None:
    least = smallest_batch(epsilon, k)
    assert QuotaRR(epsilon, least, k=k).a0 > 0
    assert QuotaRR(epsilon, least - 1, k=k).a0 == 0
