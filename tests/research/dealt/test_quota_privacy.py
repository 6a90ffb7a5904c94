"""Pure epsilon against all other data and all other types, by enumeration; and mutants that break it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from deniable.research.dealt.quota.quota_rr import QuotaRR
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
    assert quota.implemented_ratio() < Fraction("2.01375270747047652162454938858306527001754")  # this is e^0.7


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
    """P(all reports | all data) for all pairs of neighbouring data sets never exceeds epsilon."""
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
    """Mutant: deals without truth-tellers are discarded."""
    ideal = ideal_weight(2, 1, 1.7)
    assert worst_ratio(5, 2, lambda counts: ideal(counts) if counts[2] >= 1 else 0.0) == math.inf
    # A cut from above is harmless.
    assert worst_ratio(5, 2, lambda counts: ideal(counts) if counts[2] <= 2 else 0.0) == pytest.approx(2.7)
