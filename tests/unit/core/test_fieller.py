"""A mean among people who answered is a quotient, with Fieller's interval or none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable import GRR
from deniable.core.fieller import fieller
from deniable.core.support_counts import normal_quantile
from deniable.errors import UnknownCategoryError
from deniable.postprocess import simplex
from tests.unit.core.test_questions import at

NAN = math.nan


def test_a_mean_of_those_who_answered_is_a_quotient() -> None:
    mechanism = GRR(k=4, epsilon=2.0)
    scores = [1.0, 2.0, 4.0, NAN]
    estimate = at(mechanism, [900, 500, 300, 800], scores)
    a, b = np.array([1.0, 2.0, 4.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0])
    f, held = estimate.frequencies, simplex(estimate).frequencies
    matrix = mechanism.covariance(held, 2500) + (np.diag(held) - np.outer(held, held)) / 2500
    variances = float(a @ matrix @ a), float(a @ matrix @ b), float(b @ matrix @ b)
    answer = estimate.mean()
    assert answer.value == pytest.approx((a @ f) / (b @ f), rel=1e-12)
    expected = fieller(float(a @ f), float(b @ f), variances, normal_quantile(0.05))
    assert answer.interval(0.9, target="population") == pytest.approx(expected, rel=1e-9)
    t = answer.value
    assert answer.standard_error_for("population") == pytest.approx(
        math.sqrt((a - t * b) @ matrix @ (a - t * b)) / (b @ f), rel=1e-9
    )
    assert "of those who gave an answer that counts" in answer.question
    assert estimate.cdf().labels == ("0", "1", "2")
    assert estimate.at_least("1").value == pytest.approx(1 - estimate.cdf().values[0], rel=1e-9)
    with pytest.raises(UnknownCategoryError, match="“3”"):
        estimate.at_least("3")


def test_a_quotient_that_is_not_determined_says_so() -> None:
    estimate = at(GRR(k=3, epsilon=0.3), [0, 5, 95], [1.0, 2.0, NAN])
    answer = estimate.mean()
    assert answer.interval() == (-math.inf, math.inf)
    assert not answer.determined()
