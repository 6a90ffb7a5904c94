"""Designs without an epsilon: the contract's vectors, and estimates for people with known answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable import designs
from deniable.errors import InvalidInputError, InvalidParameterError
from tests.unit.designs import vectors


def test_unrelated_question_with_an_unknown_share() -> None:
    vector = vectors.case("unrelated-unknown")
    params, expected = vector["params"], vector["expected"]
    two = designs.unrelated_unknown(params["p1"], params["p2"])
    found = two.estimate((params["y1"], params["y2"]), (params["n1"], params["n2"]))
    assert found.prevalence.value == pytest.approx(expected["prevalence"], abs=1e-12)
    assert found.prevalence.standard_error == pytest.approx(expected["prevalence_se"], abs=1e-12)
    assert found.innocuous.value == pytest.approx(expected["innocuous"], abs=1e-12)
    assert found.innocuous.standard_error == pytest.approx(expected["innocuous_se"], abs=1e-12)
    # Expected shares of yes give back the numbers that they were made from: .7 f + .3 a and .3 f + .7 a.
    found = two.estimate((7 * 10 + 3 * 30, 3 * 10 + 7 * 30), (1000, 1000))
    assert (found.prevalence.value, found.innocuous.value) == pytest.approx((0.1, 0.3))
    assert two.designs_for("1/12") == (designs.unrelated("7/10", "1/12"), designs.unrelated("3/10", "1/12"))


def test_odds_of_an_unknown_share_move_in_one_direction() -> None:
    two = designs.unrelated_unknown("7/10", "3/10")
    shares = [Fraction(i, 20) for i in range(1, 20)]
    for group in (0, 1):
        carrying = [two.designs_for(alpha)[group].odds[1] for alpha in shares]
        other = [two.designs_for(alpha)[group].odds[0] for alpha in shares]
        assert carrying == sorted(carrying, reverse=True)
        assert other == sorted(other)


def test_scrambled_numbers() -> None:
    random = np.random.default_rng(4)
    true, device = random.gamma(2.0, 3.0, 200_000), random.choice([1.5, 2.5], 200_000)
    found = designs.eichhorn_hayre(2, "1/2").estimate(true * device)
    assert abs(found.mean.value - true.mean()) < 4 * found.mean.standard_error
    # The device adds E y^2 sd^2 / mean^2 to the variance of y.
    added = (true**2).mean() / 16
    assert found.device_share == pytest.approx(added / (true.var() + added), rel=0.02)
    plain = designs.eichhorn_hayre(2, 0).estimate([2.0, 4.0, 6.0])
    assert (plain.mean.value, plain.mean.standard_error, plain.device_share) == pytest.approx((2, 3**-0.5, 0))


def test_item_counts() -> None:
    vector = vectors.case("item-count")
    found = designs.item_count().estimate(vector["params"]["t"], vector["params"]["c"])
    assert found.prevalence.value == pytest.approx(vector["expected"]["estimate"], abs=1e-12)
    assert found.prevalence.standard_error == pytest.approx(vector["expected"]["se"], abs=1e-12)
    assert found.disclosed == 20 + 10


def test_they_are_no_mechanisms() -> None:
    for one in (designs.unrelated_unknown("7/10", "3/10"), designs.eichhorn_hayre(2, 1), designs.item_count()):
        assert isinstance(one, designs.Questionnaire)
        assert not hasattr(one, "privacy")
        assert one.why_no_epsilon.endswith(".") or one.why_no_epsilon.endswith("designs_for.")


def test_what_is_out_of_bounds_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="p1 must differ from p2"):
        designs.unrelated_unknown("1/3", "2/6")
    with pytest.raises(InvalidParameterError, match="p2 must be > 0"):
        designs.unrelated_unknown("1/3", 0)
    with pytest.raises(InvalidParameterError, match=r"p1 must be in \[0, 1\]"):
        designs.unrelated_unknown("4/3", 0)
    with pytest.raises(InvalidParameterError, match="p1 must be an exact number"):
        designs.unrelated_unknown(0.5, "1/3")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"yes\[1\] must be <= 10"):
        designs.unrelated_unknown("1/3", "1/2").estimate((1, 11), (10, 10))
    with pytest.raises(InvalidInputError, match="one number for each group"):
        designs.unrelated_unknown("1/3", "1/2").estimate((1,), (10,))
    with pytest.raises(InvalidParameterError, match="mean must differ from 0"):
        designs.eichhorn_hayre(0, 1)
    with pytest.raises(InvalidParameterError, match="sd must be >= 0"):
        designs.eichhorn_hayre(1, -1)
    for wrong in ([1.0], [1.0, float("nan")], [[1.0, 2.0]]):
        with pytest.raises(InvalidInputError, match="at least two finite numbers"):
            designs.eichhorn_hayre(1, 1).estimate(wrong)
    with pytest.raises(InvalidInputError, match="one count more"):
        designs.item_count().estimate([1, 2], [1, 2])
    with pytest.raises(InvalidInputError, match="at least two people, got 1"):
        designs.item_count().estimate([1, 0], [2])
