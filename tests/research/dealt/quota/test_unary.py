"""Quota unary encoding: its guarantee by enumeration of all deals, its error, and its distributions in simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import OUE, Aggregate, SimulationRandomness
from deniable.errors import DamagedStateError, InvalidInputError, InvalidParameterError, MismatchError
from deniable.research.dealt.quota.unary import SAY_ONE, SAY_ZERO, TRUTH, QuotaUnary, unary_tables
from deniable.research.dealt.shares import Shares

Weight = Callable[[int, int, int], Any]
"""Weight of one assignment of types to n contributors, by its counts (a, c, b)."""

E = math.e


def ideal(a0: int, c0: int, epsilon: float) -> Weight:
    """Return the multinomial (q, 1/2, 1/2 - q) of OUE, conditioned on both quotas."""
    q = 1 / (math.exp(epsilon) + 1)
    return lambda a, c, b: q**a * 0.5**c * (0.5 - q) ** b if a >= a0 and c >= c0 else 0.0


def implemented(quota: QuotaUnary) -> Weight:
    """Return the exact integers from which deals are drawn, per assignment."""
    tables = unary_tables(quota.n, *quota.minima, *quota.weights)

    def weight(a: int, c: int, b: int) -> Fraction:
        one, zero = tables.quotas
        drawn = one.weight(a) * zero.weight(c) * tables.truth.weight(b)
        return Fraction(drawn * math.factorial(a) * math.factorial(c) * math.factorial(b))

    return weight


def says(type_: int, held: bool, bit: int) -> int:
    return int(bit == {SAY_ONE: 1, SAY_ZERO: 0, TRUTH: int(held)}[type_])


def counts(types: tuple[int, ...]) -> tuple[int, int, int]:
    return types.count(SAY_ONE), types.count(SAY_ZERO), types.count(TRUTH)


def bit_likelihoods(n: int, weight: Weight) -> list[tuple[Any, Any, Any, Any]]:
    """For all types of the n-1 others: P(bit 0 | not held), P(1 | not held), P(0 | held), P(1 | held), unnormalised."""
    result = []
    for others in itertools.product(range(3), repeat=n - 1):
        weights = [weight(*counts((*others, mine))) for mine in range(3)]
        result.append(
            tuple(
                sum(w * says(mine, held, bit) for mine, w in enumerate(weights))
                for held in (False, True)
                for bit in (0, 1)
            )
        )
    return [row for row in result if any(row)]


def worst_ratio(n: int, weight: Weight, k: int = 2) -> Any:
    """Return the largest likelihood ratio of two values, over all reports and all other types, for all k bits."""
    rows = bit_likelihoods(n, weight)
    worst: Any = 0
    # Given the others' types, the k bits are independent. The others' types differ from bit to bit.
    for chosen in itertools.product(rows, repeat=k):
        for report in itertools.product((0, 1), repeat=k):
            likelihood = [math.prod(chosen[v][2 * (v == x) + report[v]] for v in range(k)) for x in range(k)]
            if max(likelihood) > 0:
                worst = max(worst, math.inf if min(likelihood) == 0 else max(likelihood) / min(likelihood))
    return worst


@pytest.mark.parametrize(
    ("n", "a0", "c0", "epsilon"),
    [(3, 0, 0, 1.0), (3, 1, 1, 1.0), (4, 1, 1, 0.5), (4, 2, 1, 2.0), (4, 0, 3, 1.0), (5, 2, 2, 1.0), (6, 2, 3, 0.1)],
)
def test_worst_case_is_epsilon(n: int, a0: int, c0: int, epsilon: float) -> None:
    rows = bit_likelihoods(n, ideal(a0, c0, epsilon))
    # One bit is turned off and another on. So one report has the worst of both.
    off = max(held1 / no1 if no1 else math.inf for _, no1, _, held1 in rows if held1)
    on = max(no0 / held0 if held0 else math.inf for no0, _, held0, _ in rows if no0)
    assert math.log(off * on) == pytest.approx(epsilon, abs=1e-12)


@pytest.mark.parametrize(("n", "a0", "c0", "k"), [(3, 1, 1, 2), (3, 1, 0, 3), (4, 1, 2, 2)])
def test_worst_case_over_whole_reports(n: int, a0: int, c0: int, k: int) -> None:
    # Distinct distributions suffice, because the others' types matter only through their counts.
    assert math.log(worst_ratio(n, ideal(a0, c0, 1.0), k)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("n", "a0", "c0", "epsilon"), [(3, 1, 1, 1.0), (4, 1, 1, 0.5), (5, 2, 1, 1.0), (6, 2, 2, 3.0)])
def test_worst_case_of_the_integers_drawn_from(n: int, a0: int, c0: int, epsilon: float) -> None:
    quota = QuotaUnary(3, epsilon, n, a0, c0)
    rows = bit_likelihoods(n, implemented(quota))
    ratio = max(r[3] / r[1] for r in rows if r[3]) * max(r[0] / r[2] for r in rows if r[0])
    assert ratio <= quota.implemented_ratio()
    assert ratio >= quota.implemented_ratio() * (1 - Fraction(1, 2**60))
    assert float(quota.implemented_ratio()) == pytest.approx(math.exp(epsilon), rel=1e-14)
    assert quota.implemented_ratio() <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**50))


def test_a_cut_at_a_positive_number_of_truth_tellers_has_no_bound() -> None:
    whole = ideal(1, 1, 1.0)
    assert worst_ratio(4, lambda a, c, b: whole(a, c, b) if b >= 1 else 0.0) == math.inf


def test_the_types_of_grr_would_be_too_much() -> None:
    """Mutant: e - 1 truth-tellers per forced contributor, as for GRR."""
    mutant: Weight = lambda a, c, b: (E - 1) ** b if a >= 1 and c >= 1 else 0.0  # noqa: E731
    assert math.log(worst_ratio(4, mutant)) > 1.5


@pytest.mark.parametrize(
    ("n", "a0", "c0", "held", "reporters"), [(4, 1, 1, 1, 4), (5, 2, 1, 2, 5), (6, 1, 2, 3, 6), (6, 2, 2, 2, 4)]
)
def test_unbiased_with_its_variance_also_after_drop_outs(n: int, a0: int, c0: int, held: int, reporters: int) -> None:
    quota = QuotaUnary(2, 1.0, n, a0, c0)
    weight, total, first, second = ideal(a0, c0, 1.0), 0.0, 0.0, 0.0
    present, absent = quota.support_probabilities
    for types in itertools.product(range(3), repeat=n):
        w = weight(*counts(types))
        ones = sum(says(type_, i < held, 1) for i, type_ in enumerate(types[:reporters]))
        value = (ones / reporters - absent) / (present - absent)
        total, first, second = total + w, first + w * value, second + w * value**2
    mean, f = first / total, held / reporters
    assert mean == pytest.approx(f, abs=1e-12)
    assert second / total - mean**2 == pytest.approx(quota.variance(f, reporters=reporters), rel=1e-10)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_quota_is_oue(epsilon: float) -> None:
    for f in (0.0, 0.3, 1.0):
        plain = OUE(5, epsilon).variance(f, 500)
        assert QuotaUnary(5, epsilon, 500, 0, 0).variance(f) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("n", [2, 5, 30, 200])
def test_the_default_is_nowhere_worse_than_oue(n: int, epsilon: float) -> None:
    quota = QuotaUnary(5, epsilon, n)
    ratios = [quota.variance(f) / OUE(5, epsilon).variance(f, n) for f in np.linspace(0, 1, 17).tolist()]
    assert max(ratios) <= 1 + 1e-9


def test_rare_values() -> None:
    """A few percent of OUE's variance at n = 10,000; measured once."""
    expected = {0.1: 0.006, 0.5: 0.015, 1.0: 0.018}
    for epsilon, ratio in expected.items():
        quota = QuotaUnary(100, epsilon, 10_000)
        assert quota.variance(0.01) / OUE(100, epsilon).variance(0.01, 10_000) == pytest.approx(ratio, abs=0.0006)


def test_reports_are_functions_of_share_and_truth() -> None:
    quota = QuotaUnary(3, 1.0, 4, 1, 1, deal_id="d")
    types = np.array([[SAY_ONE, SAY_ZERO, TRUTH], [TRUTH, TRUTH, TRUTH]], dtype=np.uint8)
    assert quota.randomize([2, 0], Shares("d", (types,)), SimulationRandomness(1)).tolist() == [[0b101], [0b001]]


def test_every_bit_is_dealt_by_itself_with_its_quotas() -> None:
    quota = QuotaUnary(20, 1.0, 50, 12, 20)
    shares = quota.deal(50, SimulationRandomness(1))
    assert shares.columns[0].shape == (50, 20)
    assert shares.columns[0].dtype == np.uint8
    assert ((shares.columns[0] == SAY_ONE).sum(axis=0) >= 12).all()
    assert ((shares.columns[0] == SAY_ZERO).sum(axis=0) >= 20).all()
    assert len({column.tobytes() for column in shares.columns[0].T}) == 20


def test_both_ways_to_simulate_have_mean_and_variance() -> None:
    quota, rng = QuotaUnary(4, 1.0, 300), SimulationRandomness(2)
    truth = np.repeat([0, 1, 2, 3], [200, 90, 10, 0])
    f, runs = np.array([200, 90, 10, 0]) / 300, 300
    deviation = np.sqrt([quota.variance(value) for value in f.tolist()])

    def dealt() -> Aggregate:
        return quota.aggregate(quota.randomize(truth, quota.deal(300, rng), SimulationRandomness(1)))

    def simulated() -> Aggregate:
        return quota.simulate_aggregate([200, 90, 10, 0], rng)

    for source in (dealt, simulated):
        found = np.array([quota.estimate(source()).frequencies for _ in range(runs)])
        # Eight means within 5.5 standard errors and eight variances within six give a false alarm in 10^6.
        assert (np.abs(found.mean(axis=0) - f) < 5.5 * deviation / math.sqrt(runs)).all()
        ratio = found.var(axis=0) / deviation**2
        assert (np.abs(ratio - 1) < 6 * math.sqrt(2 / runs) * 1.2).all()


def test_intervals_cover() -> None:
    quota, rng = QuotaUnary(3, 0.5, 80), SimulationRandomness(3)
    held = [76, 4, 0]
    inside = np.zeros(3)
    for _ in range(120):
        lower, upper = quota.estimate(quota.simulate_aggregate(held, rng)).interval(0.9)
        inside += (lower <= np.array(held) / 80) & (np.array(held) / 80 <= upper)
    # P(Binomial(120, .9) <= 88) is below 2e-7.
    assert (inside > 88).all()


def test_bad_input_is_named() -> None:
    quota = QuotaUnary(3, 1.0, 10, deal_id="a")
    shares = quota.deal(10, SimulationRandomness(1))
    with pytest.raises(MismatchError, match="belong to deal “a”, not to deal “b”"):
        QuotaUnary(3, 1.0, 10, deal_id="b").randomize([0] * 10, shares, SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match="every contributor needs one share, got 11 contributors and 10 shares"):
        quota.randomize([0] * 11, shares, SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match=r"types must be 0, 1 or 2, got another"):
        quota.randomize([0], Shares("a", (np.array([[0, 1, 3]], dtype=np.uint8),)), SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match="must be Shares"):
        quota.randomize([0], None, SimulationRandomness(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="n must be 10, got n=9: the deal was made for 10 contributors"):
        quota.deal(9, SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="said and denied must be given together"):
        QuotaUnary(3, 1.0, 10, said=3)
    with pytest.raises(
        InvalidParameterError, match=r"said and denied together must be below n=10, got said=5, denied=5"
    ):
        QuotaUnary(3, 1.0, 10, 5, 5)
    with pytest.raises(InvalidInputError, match="counts must sum to n=10, got 9"):
        quota.simulate_aggregate([3, 3, 3], SimulationRandomness(1))
    full = quota.aggregate(quota.randomize([0] * 10, shares, SimulationRandomness(1)))
    with pytest.raises(DamagedStateError, match="at most as many reports, got 20"):
        full + full
