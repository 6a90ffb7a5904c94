"""Statements of a questionnaire's plan: closed forms written down here, enumerated guesses, and warnings."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from deniable import (
    GRR,
    OUE,
    SPL,
    Attribute,
    Collection,
    Schema,
    SimulationRandomness,
    SubsetSelection,
    collection,
)
from deniable.errors import InvalidParameterError
from deniable.leakage.adversary.best_guess import best_guess
from deniable.oracles.square_wave import SquareWave
from deniable.planning import infeasibility, plan_survey, recommend
from deniable.planning.candidates import ONE_ATTRIBUTE, RECORDS, build
from deniable.planning.precision import attribute_variance
from deniable.planning.questions import MeanVariance, ShareVariance, can_be_planned
from deniable.records.pair_sample import PairSample
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.records.sample import SMP, AdaptiveSMP
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.research.baselines.histogram_threshold import THE
from tests.unit.planning.questionnaires import Z, questionnaire


def grr_variance(k: int, epsilon: float, f: float) -> float:
    """Return the variance of one report's estimate, from Wang et al. (2017), section 4.1."""
    e = math.exp(epsilon)
    return (e + k - 2) / (e - 1) ** 2 + f * (k - 2) / (e - 1)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("d", "k", "epsilon", "worst"),
    [
        (56, 5, 1.0, 1.0),  # noise grows faster with the share than sampling falls
        (56, 2, 1.0, 0.5),
        (6, 4, 4.0, 0.5223888),  # the share solves d (k-2)/(e-1) + (d-1)(1-2f) = 0
    ],
)
def test_the_error_of_a_sampled_share_is_the_textbooks(d: int, k: int, epsilon: float, worst: float) -> None:
    n = 8000
    (setting,) = plan_survey(questionnaire(*[k] * d), n, [epsilon], target=3).settings
    assert setting.name == "SMP[GRR]"
    variance = (d * grr_variance(k, epsilon, worst) + (d - 1) * worst * (1 - worst)) / n
    for question in setting.questions:
        assert question.half_width == pytest.approx(100 * Z * math.sqrt(variance), rel=1e-7)
        assert question.worst == f"a share of {100 * worst:.0f}%"
        needed = (100 * Z / 3) ** 2 * variance * n
        assert question.contributors_needed is not None
        assert needed * (1 - 2.1e-4) <= question.contributors_needed <= needed + 1


def test_literals() -> None:
    assert [
        round(setting.questions[0].half_width, 2) for setting in plan_survey(questionnaire(*[5] * 56), 8000).settings
    ] == [53.06, 31.47, 14.58, 8.9]
    # One yes-or-no question has sqrt(e/n)/(e-1) at epsilon 1.
    (setting,) = plan_survey(questionnaire(2), 1000, ["1"], confidence=0.9).settings
    assert setting.questions[0].half_width == pytest.approx(
        100 * NormalDist().inv_cdf(0.95) * math.sqrt(math.e / 1000) / (math.e - 1)
    )
    assert setting.questions[0].worst == "any share"
    assert (setting.odds, setting.max_posterior) == (2.72, "73.2%")
    assert "a factor of 2.72," in setting.promise


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_worst_share_is_worst_and_variances_fall_as_one_over_n(epsilon: float) -> None:
    # Explorers multiply these numbers by 1/n, which this test allows.
    offered = [(one, (7,)) for one in ONE_ATTRIBUTE] + [(one, (3, 7, 2)) for one in RECORDS if not one.two_phases]
    for candidate, sizes in offered:
        mechanism = build(candidate, sizes, epsilon)
        if can_be_planned(mechanism):
            for j in range(len(sizes)):
                law = ShareVariance.of(mechanism, j, 1000)
                share, most = law.worst
                grid = [attribute_variance(mechanism, j, f, 1000) for f in np.linspace(0, 1, 101)]
                assert max(grid) <= most * (1 + 1e-9), candidate.name
                assert attribute_variance(mechanism, j, share, 1000) == pytest.approx(most, rel=1e-9)
                assert attribute_variance(mechanism, j, 0.3, 7000) * 7 == pytest.approx(law.at(0.3), rel=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        GRR(4, 2.0),
        SubsetSelection(4, 0.5),
        SMP((4, 3), 3.0),
        AdaptiveSMP((4, 9), 1.0),
        SPL((4, 2), 2.0),
        SquareWave(4, 1),
    ],
    ids=repr,
)
def test_the_worst_distribution_of_a_mean_is_worst(mechanism: Any) -> None:
    scores = np.array([1.0, 2.0, 5.0, 3.0])
    own = (0,) if mechanism.records else ()
    worst = MeanVariance.of(mechanism, 0, scores, 500)
    grid = [np.array(f) / 8 for f in itertools.product(range(9), repeat=4) if sum(f) == 8]
    found = [mechanism.linear_variance(scores, f, 500, *own) for f in grid]
    assert max(found) <= worst.variance * (1 + 1e-9)
    held = np.zeros(4)
    held[worst.low] += 1 - worst.share
    held[worst.high] += worst.share
    assert mechanism.linear_variance(scores, held, 500, *own) == pytest.approx(worst.variance, rel=1e-9)


@pytest.mark.parametrize("mechanism", [GRR(6, 1.0), SMP((6, 3), 3.0), SquareWave(6, 2)], ids=repr)
def test_a_mean_of_those_who_answered_is_a_ratio(mechanism: Any) -> None:
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.nan])
    own = (0,) if mechanism.records else ()
    worst = MeanVariance.of(mechanism, 0, scores, 500)

    def linearised(f: np.ndarray[Any, Any]) -> float:
        weights = np.append(scores[:5] - scores[:5] @ f[:5], 0.0)
        return float(mechanism.linear_variance(weights, f, 500, *own))

    grid = [np.array([*f, 0]) / 8 for f in itertools.product(range(9), repeat=5) if sum(f) == 8]
    assert max(map(linearised, grid)) <= worst.variance * (1 + 1e-9)
    held = np.zeros(6)
    held[worst.low] += 1 - worst.share
    held[worst.high] += worst.share
    assert linearised(held) == pytest.approx(worst.variance, rel=1e-9)


# ---------------------------------------------------------------- guesses


def bayes(channel: np.ndarray[Any, Any], sizes: tuple[int, ...], attribute: int) -> float:
    """Return, by listing, the best guess about one attribute under uniform, independent answers."""
    joint = channel.reshape(*sizes, -1) / math.prod(sizes)
    others = tuple(j for j in range(len(sizes)) if j != attribute)
    return float(joint.sum(axis=others).max(axis=0).sum())


@pytest.mark.parametrize(
    "oracle",
    [GRR(5, 1.0), OUE(4, 1.0), SubsetSelection(6, 0.7), THE(3, 1.5), SquareWave(5, 1.0), HadamardEncoding(3, 1.0)],
    ids=repr,
)
def test_the_best_guess_is_the_best_of_all_guesses(oracle: Any) -> None:
    guess = best_guess(oracle)
    assert guess.exact
    assert guess.without == 1 / oracle.k
    assert guess.after == pytest.approx(bayes(oracle.channel(), oracle.domain, 0), rel=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [SPL((2, 3), 2.0), SPL((2, 3), 2.0, "OUE"), SMP((2, 3), 2.0), AdaptiveSMP((2, 5), 0.5), PivotCoded((2, 3), 1.0)],
    ids=repr,
)
def test_the_best_guess_about_one_answer_of_a_record(mechanism: Any) -> None:
    for j in range(2):
        assert best_guess(mechanism, j).after == pytest.approx(bayes(mechanism.channel(), mechanism.sizes, j), rel=1e-9)


# ---------------------------------------------------------------- pairs


@pytest.mark.parametrize("mechanism", [PairSample((2, 3, 2), 1.0), PairSample((3, 3), 2.0, "0.25")], ids=repr)
def test_the_best_guess_from_a_pair(mechanism: Any) -> None:
    for j in range(len(mechanism.sizes)):
        assert best_guess(mechanism, j).after == pytest.approx(bayes(mechanism.channel(), mechanism.sizes, j), rel=1e-9)


def test_pairs_are_planned_as_their_covariance_says() -> None:
    stars = Attribute("stars", ("1", "2", "3"), kind="ordered", ask="mean")
    for schema, singles in ((questionnaire(4, 5, 4), 0), (Schema((*questionnaire(4, 5).attributes, stars)), 0.25)):
        (setting,) = plan_survey(schema, 8000, ["1"], target=4, pairs=True).settings
        mechanism: Any = setting.mechanism
        assert mechanism == collection(schema, "1", pairs=True).mechanism
        assert (mechanism.name, float(mechanism.singles)) == ("PairSample", singles)
        assert [(one.first, one.second) for one in setting.pairs] == [
            (schema.names[i], schema.names[j]) for i, j in ((0, 1), (0, 2), (1, 2))
        ]
        tables = mechanism.expected_tables(8000)
        for (i, j), one in zip(tables, setting.pairs, strict=True):
            assert one.half_width == pytest.approx(100 * Z * tables.consistent(i, j).standard_errors().max(), rel=1e-9)
            assert one.reports == pytest.approx(8000 * (1 - singles) / 3)
            exact = 8000 * (one.half_width / 4) ** 2
            assert one.contributors_needed is not None
            assert exact * (1 - 2.1e-4) <= one.contributors_needed <= exact + 1
        for j, question in enumerate(setting.questions):
            if question.ask == "shares":
                worst = max(mechanism.variance(f, 8000, j) for f in np.linspace(0, 1, 1001))
                assert question.half_width == pytest.approx(100 * Z * math.sqrt(worst), rel=1e-5)
    with pytest.raises(InvalidParameterError, match="pairs=True works only for collections with several attributes"):
        plan_survey(questionnaire(2), 100, pairs=True)


# ---------------------------------------------------------------- warnings


def test_fifty_six_questions_and_eight_thousand_people() -> None:
    survey = collection(questionnaire(*[5] * 56), "1")
    warning = infeasibility(survey, 8000)
    assert warning == (
        "this survey cannot work: 56 questions, 8,000 contributors and epsilon = 1 leave answers uncertain by up to "
        "±31 percentage points (“q0”); ±10 takes 79,207 contributors or 5 of these questions or epsilon = 3.2"
    )
    # The proposed number works, and a little less does not.
    for schema, epsilon, n, works in (
        (questionnaire(*[5] * 56), "1", 79_207, True),
        (questionnaire(*[5] * 56), "1", 79_000, False),
        (questionnaire(*[5] * 5), "1", 8000, True),
        (questionnaire(*[5] * 6), "1", 8000, False),
        (questionnaire(*[5] * 56), "3.2", 8000, True),
        (questionnaire(*[5] * 56), "3.1", 8000, False),
    ):
        (setting,) = plan_survey(schema, n, [epsilon]).settings
        assert (max(question.half_width for question in setting.questions) <= 10.002) == works
    decision = plan_survey(survey.schema, 8000, ["1", "4"])
    assert decision.warnings == (warning,)
    assert infeasibility(survey, 80_000) == ""


def test_a_plan_says_that_means_suppose_answers_of_everybody() -> None:
    supposed = "For a mean, they suppose that everybody gives an answer that counts."
    stars = Attribute("stars", ("1", "2", "3"), kind="ordered", ask="mean", missing="no answer")
    assert supposed in plan_survey(Schema((stars,)), 1000, ["1"]).assumptions
    assert supposed not in plan_survey(questionnaire(3), 1000, ["1"]).assumptions


def test_what_cannot_be_planned_is_not_warned_of() -> None:
    schema = Schema((Attribute("word", text=True),))
    with pytest.raises(InvalidParameterError, match="schema must have categories"):
        plan_survey(schema, 100)
    assert infeasibility(collection(schema, 1.0), 10) == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contributors": 0}, "contributors must be"),
        ({"target": 100.0}, "target must be a number of percentage points"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"epsilons": []}, "epsilons must list at least one budget"),
        ({"epsilons": "1"}, "epsilons must be a list of budgets"),
        ({"epsilons": ["nan"]}, "epsilon must be"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        plan_survey(questionnaire(2), **{"contributors": 10, **options})


# ---------------------------------------------------------------- mechanisms


def test_the_mechanism_is_the_collections_own() -> None:
    for sizes in ((2,), (40,), (2000,), (3, 40, 6), (3, 3)):
        schema = questionnaire(*sizes)
        for setting in plan_survey(schema, 1000, ["0.5", "20"]).settings:
            assert setting.mechanism == collection(schema, setting.epsilon).mechanism
            assert sum(row.chosen for row in setting.mechanisms) == 1
            assert Collection(schema, setting.mechanism).id == collection(schema, setting.epsilon).id


def test_what_is_asked_decides_the_mechanism_that_is_compared() -> None:
    asked = Attribute("stars", ("1", "2", "3", "4", "5"), kind="ordered", ask="mean")
    for schema, name in (
        (Schema((asked,)), "SquareWave"),
        (Schema((asked, Attribute("mood", ("bad", "good")))), "SMP[ADP]"),
    ):
        # Errors of sketches are listed report by report, which takes a second.
        (setting,) = plan_survey(schema, 1000, ["1"], every=len(schema.sizes) > 1).settings
        assert setting.mechanism == collection(schema, "1").mechanism
        names = [row.name for row in setting.mechanisms]
        assert len(set(names)) == len(names)
        assert [row.name for row in setting.mechanisms if row.chosen] == [name] == [setting.name]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_scale_with_missing_answers_takes_the_oracle_of_less_error(epsilon: float) -> None:
    # The comparison uses the estimates' own error, with a tenth of the people not answering.
    stars = Attribute("stars", ("1", "2", "3", "4", "5"), "no answer", kind="ordered", ask="mean")
    scores, counts = stars.code_scores, np.array([10, 15, 25, 25, 15, 10]) * 10**6
    chosen: Any = collection(Schema((stars,)), epsilon).mechanism
    assert chosen == recommend((6,), epsilon)
    errors = []
    for oracle in (chosen, SquareWave(6, epsilon)):
        answer = oracle.estimate(oracle.simulate_aggregate(counts, SimulationRandomness(7))).mean(scores)
        assert abs(answer.value - 290 / 90) < 5 * answer.standard_error
        errors.append(answer.standard_error)
    assert errors[0] < 0.96 * errors[1]


def test_square_waves_are_for_means_without_a_jump() -> None:
    stars = ("1", "2", "3", "4", "5")
    plain = Attribute("plain", stars, kind="ordered", ask="mean")
    missing = Attribute("missing", stars, "no answer", kind="ordered", ask="mean")
    fine = Attribute("fine", kind="numeric", range=(0, 100), grid=41, missing="no answer")
    survey: Any = collection(Schema((plain, missing, fine, Attribute("mood", ("bad", "good")))), 1.0)
    assert [oracle.name == "SquareWave" for oracle in survey.mechanism.oracles] == [True, False, True, False]
    assert "square waves for “plain” and “fine”" in survey.reason or "square waves for “plain”, “fine”" in survey.reason
    assert survey.reason.endswith(
        "means of “missing” are read from shares, which serves answers without a score better"
    )
    alone: Any = collection(Schema((missing, Attribute("mood", ("bad", "good")))), 1.0)
    assert alone.mechanism == recommend(alone.schema.sizes, 1.0)
    paired: Any = collection(Schema((plain, missing)), 1.0, pairs=True)
    assert [oracle.name == "SquareWave" for oracle in paired.mechanism.oracles] == [True, False]


def test_what_one_liar_counts_for() -> None:
    # For k = 100 it is (1 - q)/(p - q). For two questions it is twice that, because malicious contributors choose what
    # they report.
    (setting,) = plan_survey(questionnaire(100), 1000, ["1"], every=True).settings
    influence = {row.name: row.influence for row in setting.mechanisms}
    assert influence["GRR"] == pytest.approx(58.61, abs=0.01)
    assert influence["OUE"] == pytest.approx(3.164, abs=0.001)
    (setting,) = plan_survey(questionnaire(100, 2), 1000, ["1"]).settings  # this is the worst of both
    influence = {row.name: row.influence for row in setting.mechanisms}
    assert influence["SMP[GRR]"] == pytest.approx(2 * 58.61, abs=0.02)


def test_the_plans_mean_is_the_estimates() -> None:
    # This is the estimate's own error of its mean if everybody answers as in the plan's worst case.
    for oracle, scores in (
        (OUE(5, 1.0), np.array([1.0, 2, 3, 4, 5])),
        (OUE(5, 1.0), np.array([1.0, 2, 3, 4, np.nan])),
        (SubsetSelection(5, 1.0, 2), np.array([1.0, 2, 3, 4, np.nan])),
        (SquareWave(5, 1.0), np.array([1.0, 2, 3, 4, 5])),
    ):
        n = 10**8
        worst = MeanVariance.of(oracle, 0, scores, n)
        held = np.zeros(5)
        held[worst.low] += 1 - worst.share
        held[worst.high] += worst.share
        counts = np.round(held * n).astype(np.int64)
        answer = oracle.estimate(oracle.simulate_aggregate(counts, SimulationRandomness(3))).mean(scores)
        assert answer.standard_error == pytest.approx(math.sqrt(worst.variance), rel=2e-3)
