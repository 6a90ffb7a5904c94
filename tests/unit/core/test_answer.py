"""Representation of answers, and a question about one of two dealt categories."""

from __future__ import annotations

import math

import pytest

from deniable import GRR, SimulationRandomness
from deniable.core.answer import Answer
from deniable.research.dealt import QuotaRR
from tests.unit.core.test_questions import at

NAN = math.nan


def test_two_dealt_categories_are_one() -> None:
    quota = QuotaRR(1.0, 400, deal_id="monday")
    estimate = quota.estimate(quota.simulate_aggregate([300, 100], SimulationRandomness(1)))
    lower, upper = estimate.interval(0.9)
    answer = estimate.mean([10.0, 30.0])
    assert answer.interval(0.9) == pytest.approx((30 - 20 * upper[0], 30 - 20 * lower[0]))
    assert answer.standard_error == pytest.approx(20 * estimate.standard_errors[0])


def test_an_answer_shows_itself() -> None:
    estimate = at(GRR(k=3, epsilon=3.0), [100, 200, 300]).named("x", ["a", "b", "c"], [1.0, 2.0, 3.0])
    assert repr(estimate.mean()).startswith("mean of “x”: 2.3")
    assert repr(Answer(0.5, {"contributors": NAN, "population": NAN})) == "answer: 0.5"
    assert estimate.difference("c", ["a"]).question == "“c” less “a” of “x”"
    assert estimate.difference("c", "a").value == pytest.approx(estimate.frequencies @ [-1, 0, 1])
