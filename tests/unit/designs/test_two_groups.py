"""Cheaters and lie detectors in two groups: the contract's vectors, the likelihood, and the test of no cheaters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from deniable import designs
from deniable.errors import InvalidParameterError
from tests.unit.designs import vectors


def test_vectors_of_cheaters_and_of_the_lie_detector() -> None:
    vector = vectors.case("cdm")
    params, expected = vector["params"], vector["expected"]
    model = designs.cheaters(params["p1"], params["p2"])
    found = model.estimate((params["y1"], params["y2"]), (params["n1"], params["n2"]))
    for name in ("honest_yes", "honest_no", "cheaters"):
        assert getattr(found, name).value == pytest.approx(expected[name], abs=1e-8)
        assert getattr(found, name).standard_error == pytest.approx(expected[f"{name}_se"], abs=1e-8)
    assert found.bounds == pytest.approx((0.225, 0.4))
    vector = vectors.case("sld-minarets")
    params, expected = vector["params"], vector["expected"]
    assert (params["p1"], params["p2"]) == ("1/6", "5/6")  # these are probabilities of no for non-carriers
    detector = designs.cheaters("5/6", "1/6").lie_detector((params["y1"], params["y2"]), (params["n1"], params["n2"]))
    assert detector.prevalence.value == pytest.approx(expected["prevalence"], abs=1e-8)
    assert detector.prevalence.standard_error == pytest.approx(expected["prevalence_se"], abs=1e-8)
    assert detector.truthful.value == pytest.approx(expected["truth"], abs=1e-8)
    assert detector.truthful.standard_error == pytest.approx(expected["truth_se"], abs=1e-8)
    assert detector.assumes == "assumes that every cheater is a carrier"


def test_both_readings_are_one_likelihood() -> None:
    """A non-carrier says no with chance p, a carrier admits with chance t: the chances of yes are the same."""
    cdm = designs.cheaters("1/4", "3/4").estimate((150, 270), (400, 400))
    sld = designs.cheaters("1/4", "3/4").lie_detector((150, 270), (400, 400))
    assert sld.prevalence.value == pytest.approx(cdm.bounds[1])
    for p in (0.25, 0.75):
        forced = cdm.honest_yes.value + cdm.honest_no.value * p
        detected = sld.prevalence.value * sld.truthful.value + (1 - sld.prevalence.value) * p
        assert forced == pytest.approx(detected)


@pytest.mark.parametrize("yes", [(80, 390), (20, 10), (398, 399), (0, 0), (0, 300), (150, 270)])
def test_shares_stay_in_the_simplex_where_the_likelihood_is_largest(yes: tuple[int, int]) -> None:
    found = designs.cheaters("1/4", "3/4").estimate(yes, (400, 400))
    grid = [(a / 100, b / 100) for a in range(101) for b in range(101 - a)]

    def likelihood(pi: float, beta: float) -> float:
        chances = np.clip([pi + beta * 0.25, pi + beta * 0.75], 0, 1)
        return float(np.sum(stats.binom.logpmf(yes, 400, chances)))

    shares = (found.honest_yes.value, found.honest_no.value)
    assert likelihood(*shares) >= max(likelihood(*one) for one in grid) - 1e-9
    assert min(*shares, found.cheaters.value) >= -1e-12
    assert found.boundary == math.isnan(found.honest_yes.lower)


def test_the_test_of_no_cheaters_has_the_law_of_a_boundary() -> None:
    """400 samples without a cheater: half of the p-values are 1, and a tenth of all are below .1."""
    random, model = np.random.default_rng(3), designs.cheaters("1/4", "3/4")
    pi = 0.3
    drawn = random.binomial(1000, [pi + 0.7 * 0.25, pi + 0.7 * 0.75], (400, 2))
    p = np.array([model.estimate(tuple(row), (1000, 1000)).p_value for row in drawn.tolist()])
    # The tolerance is four standard errors of a share of 400.
    assert abs((p > 0.99).mean() - 0.5) < 4 * math.sqrt(0.25 / 400)
    assert abs((p < 0.1).mean() - 0.1) < 4 * math.sqrt(0.09 / 400)


def test_what_two_groups_cannot_tell() -> None:
    with pytest.raises(
        InvalidParameterError, match="got p1=1/4 and p2=1/4: if both groups use the same p, cheaters cannot be told"
    ):
        designs.cheaters("1/4", "2/8")
    found = designs.cheaters("1/4", "3/4").lie_detector((110, 290), (400, 400))
    assert found.note.startswith("Prevalence 0.1")
    assert found.note.endswith("is not above zero: truthfulness is not determined.")
    nobody = designs.cheaters("1/4", "3/4").lie_detector((100, 300), (400, 400))
    assert math.isnan(nobody.truthful.value)
