"""Compliance: known answers of cWise and RRreg, likelihoods by brute force, bounds by linear programmes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from deniable import designs
from deniable.designs import anchors
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError
from tests.unit.designs import vectors

# ---------------------------------------------------------------- anchor


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


# ---------------------------------------------------------------- two groups


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
    assert (params["p1"], params["p2"]) == ("1/6", "5/6")  # probabilities of no to non-carriers
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
    # Four standard errors of a share of 400.
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


# ---------------------------------------------------------------- people who say no to everything

ONE_DIE = designs.forced("1/6", "1/6")
TWO_DICE = designs.forced("1/6", "1/12")


def _patterns(theta: float, prevalences: tuple[float, ...], items: tuple[designs.Design, ...]) -> list[float]:
    found = []
    for reports in itertools.product((0, 1), repeat=len(items)):
        chance = 1.0
        for report, f, item in zip(reports, prevalences, items, strict=True):
            chance *= (1 - f) * float(item.rows[0][report]) + f * float(item.rows[1][report])
        found.append((1 - theta) * chance + theta * (not any(reports)))
    return found


def test_independent_items_give_back_what_expected_counts_are_made_of() -> None:
    items = (ONE_DIE, TWO_DICE, ONE_DIE)
    counts = [round(10**7 * chance) for chance in _patterns(0.15, (0.1, 0.3, 0.5), items)]
    found = designs.self_protective(*items).estimate(counts)
    assert found.share.value == pytest.approx(0.15, abs=1e-3)
    assert [one.value for one in found.prevalences] == pytest.approx([0.1, 0.3, 0.5], abs=1e-3)
    assert found.p_value is not None
    assert found.p_value > 0.5
    two = designs.self_protective(ONE_DIE, TWO_DICE)
    saturated = two.estimate([round(10**7 * chance) for chance in _patterns(0.15, (0.1, 0.3), two.items)])
    assert saturated.p_value is None
    assert saturated.share.value == pytest.approx(0.15, abs=1e-3)
    with pytest.raises(InvalidParameterError, match="at least two designs, got 1"):
        designs.self_protective(ONE_DIE).estimate([10, 10])


def test_standard_errors_are_those_of_replicates() -> None:
    items = (ONE_DIE, ONE_DIE, ONE_DIE)
    model, chances = designs.self_protective(*items), _patterns(0.2, (0.3, 0.4, 0.5), items)
    drawn = np.random.default_rng(5).multinomial(4000, chances, 40)
    fits = [model.estimate(row) for row in drawn.tolist()]
    spread, said = np.std([fit.share.value for fit in fits]), np.mean([fit.share.standard_error for fit in fits])
    assert spread == pytest.approx(said, rel=0.45)  # four standard errors of 40 replicates


def test_bounds_are_those_of_a_linear_programme() -> None:
    counts = [640, 150, 140, 70]
    items = (ONE_DIE, TWO_DICE)
    found = designs.self_protective(*items).bounds(counts)
    # Unknown: the share and the table of traits, (1 - theta) T, which are linear in the observed shares.
    channel = np.kron(items[0].channel(), items[1].channel())
    equations = np.vstack([np.hstack([np.eye(1, 4).T, channel.T])])
    ends = []
    for sign in (1, -1):
        solved = linprog([sign, 0, 0, 0, 0], A_eq=equations, b_eq=np.array(counts) / 1000, bounds=(0, 1))
        assert solved.fun is not None
        ends.append(sign * float(solved.fun))
    assert found.share == pytest.approx(tuple(ends), abs=1e-9)
    for j, cells in enumerate(([2, 3], [1, 3])):
        at = []
        for theta in found.share:
            table = np.linalg.solve(channel.T, np.array(counts) / 1000 - theta * np.eye(1, 4)[0]) / (1 - theta)
            assert table.min() > -1e-9
            at.append(table[cells].sum())
        assert found.prevalences[j] == pytest.approx((min(at), max(at)))
    with pytest.raises(NoIntervalError, match="do not fit any share of people who always say no"):
        designs.self_protective(ONE_DIE, ONE_DIE).bounds([0, 0, 0, 100])


def test_one_item_is_never_identified() -> None:
    """The derivatives of one item's chances have rank 1 for two parameters; two items have rank 3 for three."""
    for items, rank in (((ONE_DIE,), 1), ((ONE_DIE, TWO_DICE), 3), ((ONE_DIE, TWO_DICE, ONE_DIE), 4)):
        model = designs.self_protective(*items)
        slopes = model._slopes(np.array([0.2, *[0.3] * len(items)]))
        assert np.linalg.matrix_rank(slopes) == rank


def test_self_protective_refuses() -> None:
    with pytest.raises(InvalidParameterError, match="two reports and two true answers"):
        designs.self_protective(designs.kuk("4/5", "1/5", 2))
    with pytest.raises(InvalidParameterError, match="one to ten"):
        designs.self_protective()
    with pytest.raises(InvalidInputError, match="counts must have one number for each of the 4 patterns"):
        designs.self_protective(ONE_DIE, ONE_DIE).estimate([1, 2])
    with pytest.raises(InvalidInputError, match="at least one person"):
        designs.self_protective(ONE_DIE, ONE_DIE).bounds([0, 0, 0, 0])


def test_mutant_anchor_same_and_different_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = anchors.CrosswiseAnchor._corrected
    monkeypatch.setattr(
        anchors.CrosswiseAnchor,
        "_corrected",
        lambda self, same, anchored, shares: honest(self, 1 - same, anchored, shares),
    )
    with pytest.raises(AssertionError):
        test_the_three_estimates_of_cwise()
