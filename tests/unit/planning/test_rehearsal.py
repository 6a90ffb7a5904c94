"""Rehearsals: for small surveys they equal the exact distribution of the reports; a stored guess has only shares."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import Attribute, Collection, Schema, SimulationRandomness, collection
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.oracles.grr import GRR
from deniable.planning import Difference, Guess, rehearse
from deniable.planning.rehearsal import _ROUNDING, Rate, _outside
from deniable.records.split import SPL
from deniable.report import rehearsal_page, render_html
from tests.unit.planning.rehearsed import SHARES, SMOKER, SURVEY


def law_of_yes(survey: Collection, yes: int, no: int) -> np.ndarray[Any, Any]:
    """Return P(C reports say yes), C = 0..n: the sum of two binomials."""
    channel = survey.mechanism.channel()
    return np.convolve(
        stats.binom.pmf(np.arange(yes + 1), yes, channel[0, 0]), stats.binom.pmf(np.arange(no + 1), no, channel[1, 0])
    )


def test_rates_of_a_small_survey_are_those_of_the_exact_law() -> None:
    survey, yes, no, runs = collection(SMOKER, 1.0), 27, 33, 400
    guess = Guess.from_shares(SMOKER, {"smoker": {"yes": 0.45, "no": 0.55}})
    found = rehearse(
        survey, 60, guess, runs=runs, rng=SimulationRandomness(5), differences=[Difference("smoker", "no", "yes")]
    )
    law = law_of_yes(survey, yes, no)
    counts = np.arange(61)
    mechanism: Any = survey.mechanism
    top_wrong = missed = wrong_sign = undecided = contrary = 0.0
    far: list[tuple[float, float]] = []
    for count in counts:
        reports = np.repeat([0, 1], [count, 60 - count])
        estimate = mechanism.estimate(mechanism.aggregate(reports)).named("smoker", ["yes", "no"])
        f = estimate.frequencies
        top_wrong += law[count] * (f[0] >= f[1])  # of equal estimates the first comes first, which is wrong
        lower, upper = estimate.interval()
        missed += law[count] * np.mean((np.array([0.45, 0.55]) < lower) | (np.array([0.45, 0.55]) > upper))
        low, high = estimate.linear({"no": 1.0, "yes": -1.0}).interval()
        wrong_sign += law[count] * (f[1] - f[0] <= 0)
        undecided += law[count] * (low <= 0 <= high)
        contrary += law[count] * (high < 0)
        far.append((100 * abs(f[0] - 0.45), law[count]))
    (question,), (difference,) = found.questions, found.differences
    assert question.top_wrong is not None
    for rate, exact in (
        (question.top_wrong, top_wrong),
        (question.missed, missed),
        (difference.wrong_sign, wrong_sign),
        (difference.undecided, undecided),
        (difference.wrongly_decided, contrary),
    ):
        # The tolerance is five standard errors.
        assert abs(rate.rate - exact) <= 5 * math.sqrt(exact * (1 - exact) / runs) + 1e-12
        assert 0.001 < exact < 0.999
    assert difference.truth == pytest.approx(0.1)
    # The .95 quantile of the error lies where the exact tail passes .05, within the same five standard errors.
    tail = [sum(p for e, p in far if e > question.off + 1e-9), sum(p for e, p in far if e >= question.off - 1e-9)]
    slack = 5 * math.sqrt(0.05 * 0.95 / runs)
    assert tail[0] <= 0.05 + slack
    assert tail[1] >= 0.05 - slack


def test_both_orders_of_a_difference_are_told_alike() -> None:
    guess = Guess.from_shares(SMOKER, {"smoker": {"yes": 0.3, "no": 0.7}})
    pairs = [Difference("smoker", "yes", "no"), Difference("smoker", "no", "yes")]
    found = rehearse(collection(SMOKER, 1.0), 3000, guess, runs=5, rng=SimulationRandomness(1), differences=pairs)
    for difference, truth in zip(found.differences, (-0.4, 0.4), strict=True):
        assert difference.truth == pytest.approx(truth)
        assert difference.wrong_sign.rate == difference.undecided.rate == difference.wrongly_decided.rate == 0
    edge = np.array([0.2 - _ROUNDING, 0.8 + _ROUNDING])
    assert _outside(np.array([0.1, 0.2, *edge, 0.8, 0.9]), 0.2, 0.8).tolist() == [True, *[False] * 4, True]


def test_the_interval_of_a_rate_covers() -> None:
    # Clopper and Pearson's interval covers at least .95 at every p, by the exact distribution of the count.
    for p in (0.004, 0.05, 0.3, 0.5):
        for runs in (20, 200):
            rates = [Rate.of(np.arange(runs) < count) for count in range(runs + 1)]
            inside = [one.lower <= p <= one.upper for one in rates]
            assert stats.binom.pmf(np.arange(runs + 1), runs, p) @ inside >= 0.95
    assert Rate.of(np.zeros(200, bool)).upper == pytest.approx(1 - 0.025 ** (1 / 200))
    spread = Rate.mean(np.array([0.0, 0.1, 0.0, 0.3] * 50))
    assert spread.rate == pytest.approx(0.1)
    assert spread.upper - spread.rate == pytest.approx(1.959964 * np.std([0, 0.1, 0, 0.3] * 50, ddof=1) / 200**0.5)
    assert Rate.mean(np.full(200, 0.0)).upper == Rate.of(np.zeros(200, bool)).upper
    assert Rate.mean(np.array([0.25])).rate == 0.25  # one run tells the share, and nothing about its spread


@pytest.mark.parametrize("build", [lambda sizes: SPL(sizes, 4.0), None])
def test_every_kind_of_question(build: Any) -> None:
    survey = collection(SURVEY, 4.0) if build is None else Collection(SURVEY, build(SURVEY.sizes))
    found = rehearse(survey, 3000, Guess.from_shares(SURVEY, SHARES), runs=40, rng=SimulationRandomness(2))
    stars, phone, radio, income = found.questions
    assert (stars.label, stars.ask, stars.unit) == ("How many stars?", "mean", "on the scale from 1 to 3")
    assert stars.top_wrong is None
    assert [one.name for one in (phone, radio)] == ["devices: phone", "devices: radio"]
    assert phone.top_wrong is not None
    assert phone.top_wrong.rate == 0
    assert income.top_wrong is not None
    assert income.top_wrong.rate == 0  # half hold 0 and half hold 50, so either is right
    for question in found.questions:
        assert question.missed.rate <= 0.25
        assert 0 < question.off < 50
    page = rehearsal_page(found)
    html = render_html(page)
    assert "invented contributors" in html
    assert "How many stars?: its mean, on the scale from 1 to 3" in html
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_same_seed_gives_the_same_rehearsal_and_truth_is_the_guess() -> None:
    guess = Guess.from_shares(SURVEY, SHARES)
    one, two, other = (
        rehearse(collection(SURVEY, 1.0), 500, guess, runs=10, rng=SimulationRandomness(seed)).to_dict()
        for seed in (3, 3, 4)
    )
    assert one == two
    assert one != other
    boxes = one["example"]["attributes"][1]["categories"]
    assert [round(row["truth"], 3) for row in boxes] == [0.1, 0.9]


def test_a_question_that_nobody_reports_misleads() -> None:
    schema = Schema(tuple(Attribute(f"q{i}", ("a", "b")) for i in range(20)))
    guess = Guess.from_shares(schema, {f"q{i}": {"a": 1.0} for i in range(20)})
    found = rehearse(collection(schema, 8.0), 2, guess, runs=10, rng=SimulationRandomness(1))
    assert all(question.top_wrong is not None and question.top_wrong.rate > 0.5 for question in found.questions)
    assert all(question.off == math.inf for question in found.questions)
    assert found.to_dict()["questions"][0]["off"] is None
    render_html(rehearsal_page(found))


def test_bad_input() -> None:
    guess = Guess.from_shares(SMOKER, {"smoker": {"yes": 1}})
    survey, rng = collection(SMOKER, 1.0), SimulationRandomness(1)
    with pytest.raises(InvalidInputError, match="for every question, but “smoker” has no shares"):
        Guess.from_shares(SMOKER, {})
    with pytest.raises(InvalidInputError, match="at least one row"):
        Guess.from_codes(SMOKER, np.empty((0, 1), np.int64))
    with pytest.raises(InvalidParameterError, match="guess must be for the schema of the collection"):
        rehearse(collection(SURVEY, 1.0), 10, guess, rng=rng)
    for changed, message in (
        ({"runs": 1}, "runs must be >= 2"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"differences": [Difference("age", "a", "b")]}, "difference must name a question"),
        (
            {"differences": [Difference("smoker", "yes", "b")]},
            "difference must name categories of “smoker”; “b” is not a category of this question",
        ),
        ({"differences": [Difference("smoker", "yes", "yes")]}, "got “yes” twice"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            rehearse(survey, 10, guess, **{"runs": 2, "rng": rng, **changed})  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="contributors must be"):
        rehearse(survey, 0, guess, rng=rng)
    assert isinstance(survey.mechanism, GRR)
    dealt = collection(SMOKER, 1.0, mechanism="QuotaRR", n=10)
    with pytest.raises(InvalidParameterError, match="a rehearsal is not available for QuotaRR"):
        rehearse(dealt, 10, guess, rng=rng)
