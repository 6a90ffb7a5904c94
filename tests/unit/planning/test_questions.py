"""Questions of a plan, of every kind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable import (
    Attribute,
    Schema,
)
from deniable.planning import plan_survey
from deniable.planning.questions import MeanVariance
from tests.unit.planning.questionnaires import Z


def test_kinds_of_questions() -> None:
    schema = Schema(
        (
            Attribute("income", kind="numeric", range=(0, 5000), grid=6),
            Attribute("devices", ("phone", "radio"), kind="multiple", title="What do you own?"),
            Attribute("stars", ("1", "2", "3"), kind="ordered"),
        )
    )
    (setting,) = plan_survey(schema, 8000, [1.0]).settings
    names = ["income", "devices: phone", "devices: radio", "stars"]
    assert [question.name for question in setting.questions] == names
    assert [question.label for question in setting.questions][:2] == ["income", "What do you own? phone"]
    income, phone, _, stars = setting.questions
    assert (income.ask, income.unit) == ("mean", "on the scale from 0 to 5000")
    assert (phone.ask, phone.categories, stars.ask) == ("shares", 2, "shares")
    # Rounding a number to the grid of 1000 adds at most 500^2 of variance.
    scores = np.array([0, 1000, 2000, 3000, 4000, 5000.0])
    noise = MeanVariance.of(setting.mechanism, 0, scores, 8000).variance
    assert income.half_width == pytest.approx(Z * math.sqrt(noise + 500**2 / 8000), rel=1e-9)
