"""Pure epsilon against all other data and all other types, by enumeration; and what breaks it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.tables import QuotaTables, TruthWeights, quota_tables
from tests.research.dealt.quota_laws import (
    assignments,
    ideal_weight,
    implemented_weight,
    says,
    tables_of,
    worst_ratio,
)

FEASIBLE = [(n, k, a0) for k in (2, 3) for n in range(3, 7) for a0 in range((n - 1) // k + 1)]


@pytest.mark.parametrize(("n", "k", "a0"), FEASIBLE)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_worst_case_is_epsilon(n: int, k: int, a0: int, epsilon: float) -> None:
    ideal = worst_ratio(n, k, ideal_weight(k, a0, math.expm1(epsilon)))
    assert math.log(ideal) == pytest.approx(epsilon, abs=1e-12)


@pytest.mark.parametrize(("n", "k", "a0"), FEASIBLE)
@pytest.mark.parametrize("epsilon_aux", [None, 2.0])
def test_worst_case_of_the_integers_drawn_from(n: int, k: int, a0: int, epsilon_aux: float | None) -> None:
    quota = QuotaRR(0.7, n, a0, k, epsilon_aux=epsilon_aux)
    truth, lie = quota._truthfulness
    worst = worst_ratio(n, k, implemented_weight(tables_of(quota)), truth, lie)
    assert isinstance(worst, Fraction)
    assert worst <= quota.implemented_ratio()
    assert math.log(worst) == pytest.approx(0.7, abs=1e-12)
    assert quota.implemented_epsilon() == pytest.approx(0.7, abs=1e-12)
    assert quota.implemented_ratio() < Fraction("2.01375270747047652162454938858306527001754")  # e^0.7


@pytest.mark.parametrize(("n", "k", "a0"), FEASIBLE)
def test_worst_case_of_the_capped_law(n: int, k: int, a0: int) -> None:
    epsilon, cap = 0.5, 1.5
    truth = math.exp(cap) / (math.exp(cap) + k - 1)
    lie = (1 - truth) / (k - 1)
    weight = math.expm1(epsilon) / (truth - lie * math.exp(epsilon))
    worst = worst_ratio(n, k, ideal_weight(k, a0, weight), truth, lie)
    assert math.log(worst) == pytest.approx(epsilon, abs=1e-12)
    # Mutant: the weights of randomised response without a cap, q : p - q, are too noisy for this epsilon.
    timid = worst_ratio(n, k, ideal_weight(k, a0, math.expm1(epsilon)), truth, lie)
    assert math.log(timid) < epsilon - 0.1


@pytest.mark.parametrize("epsilon_aux", [None, 2.0])
@pytest.mark.parametrize(("n", "a0"), [(3, 1), (4, 1), (5, 2)])
def test_all_reports_given_all_other_data(n: int, a0: int, epsilon_aux: float | None) -> None:
    """P(all reports | all data) for every two neighbouring data sets: never beyond epsilon."""
    quota = QuotaRR(1.0, n, a0, epsilon_aux=epsilon_aux)
    truth, lie = quota.truthfulness
    deals = list(assignments(n, 2, ideal_weight(2, a0, float(quota.weight))))

    def likelihood(reports: tuple[int, ...], data: tuple[int, ...]) -> float:
        return math.fsum(
            probability * math.prod(says(t, x, y, 2, truth, lie) for t, x, y in zip(types, data, reports, strict=True))
            for types, probability in deals
        )

    worst = 0.0
    for reports in itertools.product((0, 1), repeat=n):
        for others in itertools.product((0, 1), repeat=n - 1):
            one, zero = likelihood(reports, (1, *others)), likelihood(reports, (0, *others))
            assert (one > 0) == (zero > 0)
            if one > 0:
                worst = max(worst, abs(math.log(one / zero)))
    assert worst <= 1.0 + 1e-12


def test_fixed_quotas_have_no_bound() -> None:
    """Mutant: the same counts in every deal."""
    assert worst_ratio(5, 2, lambda counts: float(counts == (2, 2, 1))) == math.inf


def test_a_cut_at_a_positive_number_of_truth_tellers_has_no_bound() -> None:
    """Mutant: deals with no truth-teller at all are thrown away."""
    ideal = ideal_weight(2, 1, 1.7)
    assert worst_ratio(5, 2, lambda counts: ideal(counts) if counts[2] >= 1 else 0.0) == math.inf
    # Cutting from above is harmless.
    assert worst_ratio(5, 2, lambda counts: ideal(counts) if counts[2] <= 2 else 0.0) == pytest.approx(2.7)


def _violations(tables: QuotaTables, weight: Fraction, rate: Fraction) -> int:
    """How often a table's recurrence is broken, over every count that can occur."""
    n, k, quota, truth = tables.n, tables.k, tables.quota, tables.truth
    wrong = sum(quota.weight(x + 1) * (x + 1) < rate * quota.weight(x) for x in range(quota.first, quota.last))
    wrong += sum(truth.weight(y) * rate * weight < (y + 1) * truth.weight(y + 1) for y in range(truth.top + 1))
    wrong += truth.weight(0) == 0
    wrong += quota.weight(quota.last) == 0
    assert quota.last >= n - (k - 1) * quota.first
    return wrong


@pytest.mark.parametrize(
    ("n", "a0", "k", "epsilon"),
    [
        (2, 0, 2, 0.1),
        (50, 0, 2, 1.0),
        (2000, 780, 2, 0.5),
        (2000, 999, 2, 0.5),
        (2000, 0, 2, 32.0),
        (3000, 250, 10, 1.0),
        (20000, 5500, 2, 1.0),
        (20000, 0, 2, 1e-06),
    ],
)
def test_tables_keep_both_recurrences_on_the_full_support(n: int, a0: int, k: int, epsilon: float) -> None:
    quota = QuotaRR(epsilon, n, a0, k)
    assert _violations(tables_of(quota), quota.weight, Fraction(quota.law.tilt)) == 0


def test_rounding_the_tables_down_is_caught() -> None:
    """Mutant: the largest entry less by one unit."""
    quota = QuotaRR(1.0, 2000, 550)
    tables = tables_of(quota)
    rate = Fraction(quota.law.tilt)
    for row in (tables.quota.listed, tables.truth.listed):
        position = row.index(max(row)) + 1
        row[position] -= 1
        try:
            assert _violations(tables, quota.weight, rate) > 0
        finally:
            row[position] += 1
    assert _violations(tables, quota.weight, rate) == 0


def test_a_table_without_its_floor_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: no weight where Poisson weights vanish."""
    quota = QuotaRR(1.0, 2000, 550)
    tables = tables_of(quota)
    rate = Fraction(quota.law.tilt)
    monkeypatch.setattr(
        TruthWeights,
        "weight",
        lambda self, y: self.listed[self.top - y] if 0 <= self.top - y < len(self.listed) else 0,
    )
    assert _violations(tables, quota.weight, rate) > 0


def test_the_integers_are_the_law() -> None:
    """Total variation between the implemented law and the ideal one, exact rational arithmetic."""
    n, a0, weight = 40, 14, Fraction(171828182845, 10**11)
    tables = quota_tables(n, 2, a0, weight)
    pairs = [(a, c) for a in range(n + 1) for c in range(n + 1 - a)]
    ideal = {
        (a, c): weight ** (n - a - c)
        / (math.factorial(a) * math.factorial(c) * math.factorial(n - a - c))
        * (a >= a0 and c >= a0)
        for a, c in pairs
    }
    drawn = {
        (a, c): Fraction(tables.quota.weight(a) * tables.quota.weight(c) * tables.truth.weight(n - a - c))
        for a, c in pairs
    }
    ideal_total, drawn_total = sum(ideal.values()), sum(drawn.values())
    distance = sum(abs(ideal[pair] / ideal_total - drawn[pair] / drawn_total) for pair in pairs) / 2
    assert distance < Fraction(1, 2**90)
