"""The crosswise model with an anchor: three estimates, their errors, and a fault that must be noticed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from deniable import designs
from deniable.designs import anchors
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError
from tests.unit.designs import vectors


def test_the_three_estimates_of_cwise() -> None:
    vector = vectors.case("anchor-cwise")
    params, expected = vector["params"], vector["expected"]
    anchor = designs.crosswise_anchor(params["p"], params["p_anchor"])
    cells = ("same_same", "same_diff", "diff_same", "diff_diff")
    found = anchor.estimate(*(params[cell] for cell in cells))
    for name in ("naive", "attentive", "corrected"):
        one = getattr(found, name)
        assert one.value == pytest.approx(expected[name], abs=1e-8)
        assert one.standard_error == pytest.approx(expected[f"{name}_se"], abs=1e-8)


def test_the_delta_error_is_that_of_replicates() -> None:
    """20,000 multinomial replicates; the contract finds .0229 of as many bootstrap draws, cWise prints .0208 of 200."""
    cells = np.array([1116, 311, 425, 148])
    anchor = designs.crosswise_anchor("3/20", "3/20")
    drawn = np.random.default_rng(1).multinomial(2000, cells / 2000, 20_000) / 2000
    same, anchored = drawn[:, 0] + drawn[:, 1], drawn[:, 0] + drawn[:, 2]
    gamma = (anchored - 0.5) / 0.35
    found = 0.5 + (same - 0.5) / (gamma * -0.7)
    error = anchor.estimate(*cells.tolist()).corrected.standard_error
    assert found.std() == pytest.approx(error, rel=0.03)


def test_attention_and_prevalence_are_recovered_from_expected_shares() -> None:
    gamma, f, p, anchor_p, n = 0.8, 0.1, 0.15, 0.25, 10**6
    truthful = [[0.0, 0.0], [0.0, 0.0]]
    for carrier, born, anchor_born in itertools.product((0, 1), repeat=3):
        chance = (f if carrier else 1 - f) * (p if born else 1 - p) * (anchor_p if anchor_born else 1 - anchor_p)
        truthful[carrier == born][not anchor_born] += chance
    cells = [gamma * truthful[s][a] + (1 - gamma) / 4 for s, a in ((1, 1), (1, 0), (0, 1), (0, 0))]
    found = designs.crosswise_anchor("3/20", "1/4").estimate(*(round(n * cell) for cell in cells))
    assert found.attentive.value == pytest.approx(gamma, abs=1e-5)
    assert found.corrected.value == pytest.approx(f, abs=1e-5)
    assert found.naive.value == pytest.approx(gamma * f + (1 - gamma) / 2, abs=1e-5)


def test_weighted_anchor_scores_agree_with_counts() -> None:
    cells = {(True, True): 1116, (True, False): 311, (False, True): 425, (False, False): 148}
    rows = [cell for cell, count in cells.items() for _ in range(count)]
    anchor = designs.crosswise_anchor("3/20", "3/20")
    value, scores = anchor.scores([one for one, _ in rows], [two for _, two in rows], [1.0] * len(rows))
    found = designs.weighted_mean(scores)
    assert (found.value, value) == pytest.approx((0.10536044362292041,) * 2, abs=1e-10)
    assert found.standard_error == pytest.approx(0.02270282968471968, abs=1e-10)


def test_an_anchor_that_shows_nothing_gives_no_corrected_estimate() -> None:
    anchor = designs.crosswise_anchor("3/20", "3/20")
    with pytest.raises(NoIntervalError, match="does not show that anybody followed the instructions"):
        anchor.estimate(30, 20, 25, 25)
    assert anchor.sensitivity(1427, 2000, 1).value == pytest.approx(0.195)
    with pytest.raises(InvalidParameterError, match=r"gamma must be in \(0, 1\]"):
        anchor.sensitivity(10, 20, 0)
    with pytest.raises(InvalidInputError, match="at least two people"):
        anchor.estimate(1, 0, 0, 0)
    with pytest.raises(InvalidParameterError, match="p_anchor must be in"):
        designs.crosswise_anchor("1/3", "1/2")


def test_mutant_anchor_same_and_different_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = anchors.CrosswiseAnchor._corrected
    monkeypatch.setattr(
        anchors.CrosswiseAnchor,
        "_corrected",
        lambda self, same, anchored, shares: honest(self, 1 - same, anchored, shares),
    )
    with pytest.raises(AssertionError):
        test_the_three_estimates_of_cwise()
