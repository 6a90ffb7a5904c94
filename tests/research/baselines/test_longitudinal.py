"""L-GRR, L-OUE and LOLOHA as published: the papers' formulas, the budget attained by one report, and its cost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import SCALE
from deniable.errors import InvalidParameterError
from deniable.oracles.memoised import MemoisedGRR, MemoisedHash, MemoisedOUE
from deniable.research.baselines import LGRR, LOLOHA, LOUE

BUDGETS = [(1.0, 0.5), (2.0, 1.0), (4.0, 2.0), (2.0, 1.5), (0.02, 0.01)]


@pytest.mark.parametrize(("forever", "once"), BUDGETS)
@pytest.mark.parametrize("m", [2, 4, 8, 16])
def test_the_second_stage_of_l_grr_is_the_published_one(m: int, forever: float, once: float) -> None:
    """p2 from p1 and q1 as in the authors' code; ours is a ratio of both budgets."""
    e, p1 = math.exp(once), math.exp(forever) / (math.exp(forever) + m - 1)
    q1 = (1 - p1) / (m - 1)
    p2 = (q1 - e * p1) / (-p1 * e + m * q1 * e - q1 * e - p1 * (m - 1) + q1)
    for made in (LGRR(m, forever, once), LOLOHA(1000, forever, once, m)):
        assert float(made.second_stage[0]) == pytest.approx(p2, rel=1e-11)
        assert made.second_stage[0] == 1 - (m - 1) * made.second_stage[1]


@pytest.mark.parametrize(("forever", "once"), BUDGETS[:3])
def test_the_second_stage_of_l_oue_is_the_published_one(forever: float, once: float) -> None:
    """q2 as in the authors' code, whose coefficients are decimals."""
    a, b = math.exp(forever), math.exp(once)
    inside = 0.1 * b + 0.05 * b**2 + 0.3 * a + 0.45 * a**2 - a * b - 0.7 * b * a**2 + 0.3 * b**2 * a
    root = 1.11803398874989 * math.sqrt(inside + 0.45 * a**2 * b**2 + 0.05)
    q2 = (0.75 * a * b - root - 0.25 * (a + b + 1)) / a / (b - 1)
    p, q = LOUE(5, forever, once).second_stage
    assert p == Fraction(1, 2)
    assert float(q) == pytest.approx(q2, rel=1e-10)


@pytest.mark.parametrize(
    ("m", "attained"), [(2, 1.0), (4, 0.9014829920428411), (8, 0.755333479785977), (16, 0.5732333266681425)]
)
def test_privacy_states_what_one_report_attains(m: int, attained: float) -> None:
    """At (2, 1) only two codes spend the declared budget; with equality the exact chain would also be published."""
    for made in (LGRR(m, 2.0, 1.0), LOLOHA(50, 2.0, 1.0, m)):
        row = made.privacy().trust_models[0]
        assert (row.view, row.epsilon) == ("one report", made.one_report_epsilon)
        assert row.epsilon == pytest.approx(attained, abs=1e-12)
        assert math.log(made.implemented_ratio()) <= row.epsilon <= 1.0
        said = "of the declared epsilon_once = 1" in str(made.privacy())
        assert said == (m > 2)
    exact = MemoisedGRR(m, 2.0, 1.0).privacy()
    assert exact.trust_models[0].epsilon == 1.0
    assert "declared epsilon_once" not in str(exact)


@pytest.mark.parametrize(
    ("m", "forever", "once", "factor"), [(8, 1.0, 0.5, 3.7), (16, 1.0, 0.5, 10.6), (16, 2.0, 1.0, 4.4)]
)
def test_l_grr_has_several_times_the_variance_of_the_exact_chain(
    m: int, forever: float, once: float, factor: float
) -> None:
    ratio = LGRR(m, forever, once).variance(1 / m, 1000) / MemoisedGRR(m, forever, once).variance(1 / m, 1000)
    assert ratio == pytest.approx(factor, abs=0.05)


@pytest.mark.parametrize(("forever", "once"), BUDGETS)
def test_l_oue_attains_its_budget_with_more_variance(forever: float, once: float) -> None:
    made, exact = LOUE(4, forever, once), MemoisedOUE(4, forever, once)
    # Rounding moves the ratio by a unit of the thresholds over the ratio's distance from one.
    assert float(once) - 1e-12 < made.implemented_epsilon() <= once
    assert made.support_probabilities[0] < Fraction(1, 2)
    assert 1.15 < made.variance(0, 1000) / exact.variance(0, 1000) < 1.5


def test_loloha_takes_the_published_number_of_cells() -> None:
    cells = [(LOLOHA(1000, *b).g, MemoisedHash(1000, *b).g) for b in BUDGETS[:3]]
    assert cells == [(2, 3), (3, 4), (7, 8)]
    for budgets in BUDGETS[:3]:
        assert LOLOHA(1000, *budgets).variance(0, 1000) > MemoisedHash(1000, *budgets).variance(0, 1000)


MEMBERS: list[Any] = [LGRR(3, 2.0, 1.0), LOUE(3, 2.0, 1.0), LOLOHA(5, 2.0, 1.0, 2)]


@pytest.mark.parametrize("made", MEMBERS, ids=repr)
def test_histories_keep_to_the_stated_rows(made: Any) -> None:
    """All histories of three waves; for these codes and bits the second stage differs from the exact chain."""
    assert math.log(made.history_ratio(1)) <= made.one_report_epsilon
    assert math.log(made.history_ratio(3)) <= made.history_epsilon(3)
    assert math.log(made.history_ratio(2, same_changes=True)) <= 2 * float(made.epsilon_forever)
    law = made._history_law((0, 0, 1))
    assert all(sum(factor) == SCALE**6 for factor in law)


def test_histories_of_bits_follow_both_thresholds() -> None:
    """One wave of a bit: set with p and clear with 1 - p; set and clear bits have unequal probabilities to be kept."""
    made = LOUE(3, 2.0, 1.0)
    p, q = made.support_probabilities
    own, other, _ = made._history_law((0,))
    assert [Fraction(one, SCALE**2) for one in own] == [1 - p, p]
    assert [Fraction(one, SCALE**2) for one in other] == [1 - q, q]


@pytest.mark.parametrize("made", MEMBERS, ids=repr)
def test_reports_from_a_memo_follow_the_channel(made: Any) -> None:
    """4,000 reports of kept responses: the support counts are those of the composed channel; z below 4.9."""
    rng, n, code = SimulationRandomness(29), 4000, made.k - 1
    p, q = made.support_probabilities
    reports = made.report(made.permanent(np.full(n, code), rng), rng)
    for value, count in enumerate(made.supports(reports, np.arange(made.k)).sum(axis=0)):
        chance = float(p if value == code else q)
        assert abs(count - n * chance) < 4.9 * math.sqrt(n * chance * (1 - chance))
    assert len(made.report_from(made.draw_memo(rng), code, rng)) == 1 or made.name == "LOLOHA"


def test_specifications_have_the_names_of_the_papers() -> None:
    for made, name in zip(MEMBERS, ("L-GRR", "L-OUE", "LOLOHA"), strict=True):
        spec = to_spec(made)
        assert spec["mechanism"] == name
        assert from_spec(spec) == made


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LGRR(4, 2.0, 2.0), "epsilon_once must be < epsilon_forever=2, got epsilon_once=2"),
        (lambda: LOLOHA(4, 2.0, 2.0), "epsilon_once must be < epsilon_forever=2"),
        (lambda: LOUE(4, 2.0, 1.67), "epsilon_once must be below 1.66001 for L-OUE, got epsilon_once=1.67"),
        (lambda: LGRR(4, 1.0, 2.0), "epsilon_once must be <= epsilon_forever=1"),
        (lambda: LOLOHA(4, 2.0, 1.0, 1), "g must be"),
    ],
)
def test_refuses(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make()
