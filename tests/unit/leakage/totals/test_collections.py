"""Information of a record mechanism's report about one attribute, against the whole channel written out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, RSFD, SMP, SPL, CountMeanSketch, SubsetSelection
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage.prior.correlation import Leakage
from deniable.leakage.summary import guarantee_under_prior
from deniable.leakage.totals.collections import Sampling, sampled_leakage
from deniable.records import RSRFD
from deniable.records.pair_sample import PairSample
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.records.sample import AdaptiveSMP

SIZES = (2, 3, 2)
ZEROS = ((0.7, 0.3), (0.5, 0.5, 0.0), (0.1, 0.9))
MECHANISMS: tuple[Sampling, ...] = (
    SMP(sizes=SIZES, epsilon=1.0),
    SMP(sizes=SIZES, epsilon=0.5, oracle="OUE"),
    PivotCoded(sizes=SIZES, epsilon=1.0),
    AdaptiveSMP(SIZES, 1.0, (GRR(2, 1.0), SubsetSelection(3, 1.0, omega=2), CountMeanSketch(2, 1.0, 2, "spread"))),
    RSFD(sizes=SIZES, epsilon=1.0),
    RSFD(sizes=SIZES, epsilon=2.0, oracle="OUE"),
    RSFD(sizes=SIZES, epsilon=2.0, oracle="OUE", fakes="random"),
    RSRFD(sizes=SIZES, epsilon=1.5, priors=((0.7, 0.3), (0.2, 0.3, 0.5), (0.1, 0.9))),
    RSRFD(sizes=SIZES, epsilon=1.5, priors=ZEROS),
)


def table(seed: int, n: int = 300) -> NDArray[np.int64]:
    """Correlated records in which each category occurs."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 2, n)
    second = np.where(generator.random(n) < 0.6, 2 * first, generator.integers(0, 3, n))
    third = np.where(generator.random(n) < 0.7, (second == 2) ^ (first == 1), generator.integers(0, 2, n))
    return np.column_stack([first, second, third.astype(np.int64)])


def by_enumeration(records: NDArray[np.int64], mechanism: Any, i: int) -> float:
    """Return the log of the largest ratio of P(report | x_i), from the mechanism's own channel over all records."""
    channel = mechanism.channel()
    weights: dict[tuple[int, ...], int] = {}
    for record in records.tolist():
        weights[tuple(record)] = weights.get(tuple(record), 0) + 1
    laws: dict[int, list[tuple[int, NDArray[np.float64]]]] = {}
    for row, record in enumerate(itertools.product(*map(range, mechanism.sizes))):
        if record in weights:
            laws.setdefault(record[i], []).append((weights[record], channel[row]))
    mixed = [sum(w * law for w, law in parts) / sum(w for w, _ in parts) for parts in laws.values()]
    ratios = [one / other for one, other in itertools.permutations(mixed, 2)]
    return math.log(max(np.asarray(ratio)[np.isfinite(ratio)].max() for ratio in ratios))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_totals_equal_the_whole_channel(mechanism: Sampling, seed: int) -> None:
    records = table(seed)
    leakage = sampled_leakage(records, mechanism)
    expected = [by_enumeration(records, mechanism, i) for i in range(3)]
    assert [total.epsilon for total in leakage.totals] == pytest.approx(expected, abs=1e-9)
    assert {total.status for total in leakage.totals} == {"exact"}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_unseen_categories_and_constant_attributes(mechanism: Sampling) -> None:
    records = table(4)
    records = records[records[:, 1] != 1]  # nobody holds category 1 of the second attribute
    records[:, 2] = 1  # everybody holds the same in the third attribute
    leakage = sampled_leakage(records, mechanism)
    assert leakage.attributes == (0, 1)
    expected = [by_enumeration(records, mechanism, i) for i in (0, 1)]
    assert [total.epsilon for total in leakage.totals] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS[4:], ids=repr)
def test_parts_equal_the_marginal_channel(mechanism: RSFD | RSRFD) -> None:
    """The part about j alone: outputs with equal parts are summed."""
    records, channel = table(5), mechanism.channel()
    leakage = sampled_leakage(records, mechanism)
    outputs = mechanism.outputs()
    widths = [-(-k // 8) for k in SIZES] if outputs.shape[1] != 3 else [1, 1, 1]
    starts = np.cumsum([0, *widths])
    domain = list(itertools.product(*map(range, SIZES)))
    for i, j in itertools.product(range(3), range(3)):
        _, column = np.unique(outputs[:, starts[j] : starts[j + 1]], axis=0, return_inverse=True)
        laws = []
        for x in range(SIZES[i]):
            held = [domain.index(tuple(record)) for record in records.tolist() if record[i] == x]
            laws.append(np.bincount(column, channel[held].mean(axis=0)))
        possible = np.max(laws, axis=0) > 0
        expected = math.log((np.max(laws, axis=0)[possible] / np.min(laws, axis=0)[possible]).max())
        found = leakage.direct[i] if i == j else leakage.matrix[i, j]
        assert found == pytest.approx(expected, abs=1e-9)


def test_a_pair_tells_most_of_all_or_another_one() -> None:
    """One pair is reported: the total is that of the pair with the most information, with or without the attribute."""
    for seed in (1, 2):
        leakage = sampled_leakage(table(seed), PairSample(sizes=SIZES, epsilon=1.0))
        totals = [total.epsilon for total in leakage.totals]
        assert np.maximum(leakage.direct, leakage.matrix.max(axis=1)) == pytest.approx(totals, abs=1e-12)
        assert (leakage.direct > 0).all()


def test_smp_leaks_its_epsilon_about_every_attribute_whatever_the_prior() -> None:
    for seed in range(3):
        leakage = sampled_leakage(table(seed), SMP(sizes=SIZES, epsilon=1.0))
        assert [round(total.epsilon, 12) for total in leakage.totals] == [1.0, 1.0, 1.0]


def test_independent_attributes_add_nothing_and_copies_add_everything() -> None:
    mechanism = RSFD(sizes=SIZES, epsilon=1.0)
    independent = sampled_leakage(np.array(list(itertools.product(range(2), range(3), range(2)))), mechanism)
    totals = [total.epsilon for total in independent.totals]
    assert totals == pytest.approx(list(independent.direct))
    # For GRR(k=2), p = e/(e+1), and each of the two fakes counts 1: ln (2p + 2)/(2q + 2).
    assert totals[0] == pytest.approx(math.log((2 * 0.7310585786 + 2) / (2 * 0.2689414214 + 2)))
    copies = sampled_leakage(np.repeat([[0, 0, 0], [1, 2, 1]], 50, axis=0), mechanism)
    assert [total.epsilon for total in copies.totals] == pytest.approx([1.0] * 3)


def test_other_mechanisms_and_other_tables_are_refused() -> None:
    with pytest.raises(
        InvalidParameterError, match="For every prior, this epsilon bounds the leakage about every attribute"
    ):
        sampled_leakage(table(1), SPL(sizes=SIZES, epsilon=1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        sampled_leakage(table(1), SMP(sizes=(2, 2, 2), epsilon=1.0))


def test_the_guarantee_keeps_what_was_promised_and_adds_rows() -> None:
    before = GRR(k=2, epsilon=1.0).privacy()
    after = guarantee_under_prior(before, [Leakage(0.5, "upper bound", "why")], ["sex"], "census.csv")
    assert after.trust_models[:-1] == before.trust_models
    row = after.trust_models[-1]
    assert (row.epsilon, row.status) == (0.5, "assumption")
    assert row.note == "upper bound if the prior is census.csv; why"
    assert (after.epsilon, after.per_attribute) == (before.epsilon, before.per_attribute)
    with pytest.raises(InvalidInputError, match="names must have one name for each of 1 attributes, got 0"):
        guarantee_under_prior(before, [Leakage(0.5, "exact")], [], "census.csv")
