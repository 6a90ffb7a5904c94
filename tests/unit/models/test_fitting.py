"""`models.fit`: published numbers, statsmodels without randomisation, and the effect of each mutant."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from statsmodels.miscmodels.ordinal_model import OrderedModel

import deniable as dn
from deniable import models
from deniable.core.report_likelihood import ReportLikelihood
from deniable.errors import InvalidParameterError, MismatchError, NoIntervalError, NotIdentifiedError
from deniable.models.maximising import best_of_starts
from deniable.models.problem import MixtureProblem, RowWeights, inverse
from deniable.models.row_laws import MultinomialLaw
from deniable.records.pair_sample import PairSample
from deniable.records.split import SPLPairs
from tests.real_data import requires_data

SURVEY_OF = {2: ("no", "yes"), 3: ("never", "sometimes", "often")}


def survey_of(mechanism: Any, **labels: tuple[str, ...]) -> dn.Collection:
    return dn.Collection(dn.Schema(tuple(dn.Attribute(name, own) for name, own in labels.items())), mechanism)


def people_of(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.normal(40, 10, n).round(1), "region": rng.choice(["north", "south"], n)})


def answers_of(people: pd.DataFrame, seed: int = 2) -> NDArray[np.int64]:
    eta = -0.5 + 0.05 * (people.age - 40) + 0.7 * (people.region == "south")
    yes = np.random.default_rng(seed).random(len(people)) < 1 / (1 + np.exp(-eta.to_numpy()))
    return np.asarray(yes, dtype=np.int64)


# ---------------------------------------------------------------- published numbers


@requires_data
def test_nigeria_table_3() -> None:
    data = pd.read_csv(Path(os.environ["DENIABLE_DATA"]) / "nigeria.csv")
    survey = survey_of(dn.GRR(k=2, epsilon=math.log(5)), connected=("no", "yes"))
    reports = data.pop("connected").to_numpy(dtype=np.uint8)
    formula = "connected ~ assets + married + {age / 10} + {(age / 10) ** 2} + education + female"
    known = [-0.340167, 0.078962, -0.267425, -0.352828, 0.040993, -0.006908, -0.554394]
    errors = {
        "opg": [0.508561, 0.041356, 0.254513, 0.264228, 0.026035, 0.045584, 0.162435],
        "observed": [0.492918, 0.040422, 0.241367, 0.263681, 0.027130, 0.044661, 0.162683],
    }
    for kind in errors:
        fit = models.fit(formula, survey, reports, data, cov_type=kind)  # type: ignore[arg-type]
        np.testing.assert_allclose(fit.params, known, atol=1e-5)
        np.testing.assert_allclose(np.sqrt(np.diag(fit.cov_params())), errors[kind], atol=1e-5)
        np.testing.assert_allclose(fit.llf, -1540.117850, atol=1e-5)
    die = models.fit(formula, survey_of(dn.designs.forced("1/6", "1/6"), connected=("no", "yes")), reports, data)
    np.testing.assert_allclose(die.params, known, atol=1e-5)


NOTHING_HIDDEN = 32.0
"""At this budget a report equals the answer, except for one in 10^14."""


def test_without_randomisation_it_is_statsmodels() -> None:
    people = people_of(600)
    x = np.column_stack([np.ones(600), people.age, people.region == "south"]).astype(float)
    yes = answers_of(people)
    survey = survey_of(dn.GRR(k=2, epsilon=NOTHING_HIDDEN), smoker=("no", "yes"))
    fit = models.fit("smoker ~ age + C(region)", survey, yes.astype(np.uint8), people, cov_type="observed")
    known = sm.Logit(yes, x).fit(disp=0)
    np.testing.assert_allclose(fit.params, known.params, rtol=1e-6)
    np.testing.assert_allclose(fit.bse, known.bse, rtol=1e-6)
    np.testing.assert_allclose(fit.llf, known.llf, rtol=1e-9)
    robust = models.fit("smoker ~ age + C(region)", survey, yes.astype(np.uint8), people)
    np.testing.assert_allclose(robust.bse, sm.Logit(yes, x).fit(disp=0, cov_type="HC0").bse, rtol=1e-6)
    assert robust.interval_kind == "wald"
    np.testing.assert_allclose(
        robust.conf_int().to_numpy(),
        robust.params.to_numpy()[:, None] + 1.959964 * np.outer(robust.bse, [-1, 1]),
        rtol=1e-5,
    )


def test_more_categories_without_randomisation() -> None:
    people = people_of(900)
    latent = 0.05 * (people.age - 40) + np.random.default_rng(5).logistic(size=900)
    level = np.digitize(latent, [-0.7, 0.9])
    mechanism = dn.GRR(k=3, epsilon=NOTHING_HIDDEN)
    survey = survey_of(mechanism, drink=SURVEY_OF[3])
    multinomial = models.fit("drink ~ age", survey, level.astype(np.uint8), people, cov_type="observed")
    known = sm.MNLogit(level, sm.add_constant(people.age)).fit(disp=0)
    np.testing.assert_allclose(multinomial.params, known.params.to_numpy().T.ravel(), rtol=1e-5)
    np.testing.assert_allclose(multinomial.bse, known.bse.to_numpy().T.ravel(), rtol=1e-5)
    ranked = dn.Collection(dn.Schema((dn.Attribute("drink", SURVEY_OF[3], kind="ordered"),)), mechanism)
    ordered = models.fit("drink ~ age", ranked, level.astype(np.uint8), people, cov_type="observed")
    assert ordered.model == "ordered"
    theirs = OrderedModel(level, people.age.to_numpy()[:, None], distr="logit").fit(method="bfgs", disp=0)
    np.testing.assert_allclose(ordered.params, theirs.params, rtol=1e-3)
    np.testing.assert_allclose(ordered.llf, theirs.llf, rtol=1e-7)
    shares = ordered.predict(people[:2]).to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


# ---------------------------------------------------------------- likelihood by enumeration


@pytest.mark.parametrize(
    "mechanism", [dn.GRR(2, 1.0), dn.OUE(2, 1.5), dn.GRR(3, 0.7), dn.OUE(3, 2.0), dn.SubsetSelection(3, 1.0, 2)]
)
def test_likelihood_by_enumeration(mechanism: Any) -> None:
    """Over all reports of three people the likelihood sums to one, and its score has mean zero and the information."""
    x = np.array([[1.0, -0.7], [1.0, 0.2], [1.0, 1.1]])
    k, theta = mechanism.k, np.linspace(-0.4, 0.6, 2 * (mechanism.k - 1))
    outputs, channel = mechanism.outputs(), mechanism.channel()
    listed = mechanism.listed_likelihood()
    total, mean, square = 0.0, np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    for chosen in itertools.product(range(len(outputs)), repeat=3):
        problem = MixtureProblem(MultinomialLaw(k), [x], mechanism.likelihood(outputs[list(chosen)]))
        at = problem.evaluate(theta)
        eta = np.concatenate([np.zeros((3, 1)), x @ theta.reshape(k - 1, 2).T], axis=1)
        pi = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        direct = math.prod(float(pi[i] @ channel[:, y]) for i, y in enumerate(chosen))
        assert math.isclose(math.exp(at.value), direct, rel_tol=1e-10)
        total += direct
        mean += direct * at.gradient
        square += direct * np.outer(at.gradient, at.gradient)
    assert math.isclose(total, 1.0, rel_tol=1e-9)
    np.testing.assert_allclose(mean, 0.0, atol=1e-9)
    np.testing.assert_allclose(problem.expected(theta, listed), square, rtol=1e-8)


# ---------------------------------------------------------------- mutants of the model


def _logit(likelihood: ReportLikelihood, x: Any, weights: RowWeights | None = None) -> tuple[Any, MixtureProblem]:
    problem = MixtureProblem(MultinomialLaw(2), [x], likelihood, weights=weights or RowWeights())
    return best_of_starts(problem, np.zeros(2))[0], problem


def test_mutant_p_and_q_swapped() -> None:
    rng = np.random.default_rng(7)
    x = np.column_stack([np.ones(20_000), rng.normal(size=20_000)])
    yes = (rng.random(20_000) < 1 / (1 + np.exp(-0.8 * x[:, 1]))).astype(int)
    grr = dn.GRR(2, 2.0)
    right = grr.likelihood(grr.randomize(yes, dn.SimulationRandomness(1)))
    (found, _), (mutant, _) = _logit(right, x), _logit(right._replace(relative=right.relative[:, ::-1]), x)
    assert abs(found.theta[1] - 0.8) < 0.1
    assert mutant.theta[1] < -0.7


def test_mutant_outcome_and_predictor_swapped() -> None:
    rng = np.random.default_rng(8)
    b = rng.integers(0, 2, 30_000)
    a = (rng.random(30_000) < np.where(b == 1, 0.5, 0.1)).astype(int)
    spl = dn.SPL(sizes=(2, 2), epsilon=6.0)
    reports = spl.randomize(np.column_stack([a, b]), dn.SimulationRandomness(1))
    survey = survey_of(spl, a=("no", "yes"), b=("no", "yes"))
    fit = models.fit("a ~ b", survey, reports, method="ml")
    swapped = survey_of(spl, b=("no", "yes"), a=("no", "yes"))
    mutant = models.fit("a ~ b", swapped, reports, method="ml")
    assert abs(fit.params["Intercept"] - math.log(0.1 / 0.9)) < 0.15
    assert abs(fit.params["b[T.yes]"] - math.log(9.0)) < 0.25
    assert abs(mutant.params["Intercept"] - math.log(0.1 / 0.9)) > 0.5
    weighted = models.fit("a ~ b", survey, reports, method="weights")
    assert abs(weighted.params["b[T.yes]"] - math.log(9.0)) < 0.25


def test_mutant_unasked_attribute_counted_as_no() -> None:
    people = people_of(12_000)
    records = np.column_stack([answers_of(people), np.zeros(12_000, dtype=int)])
    smp = dn.SMP(sizes=(2, 2), epsilon=3.0)
    reports = smp.randomize(records, dn.SimulationRandomness(1))
    fit = models.fit("a ~ age", survey_of(smp, a=("no", "yes"), b=("no", "yes")), reports, people)
    rate = 1 / (1 + math.exp(-(fit.params["Intercept"] + 40 * fit.params["age"])))
    truth = answers_of(people).mean()
    assert abs(rate - truth) < 0.05
    told = smp.likelihood(reports, [0])
    mutant = told._replace(relative=np.where(told.asked[:, None], told.relative, [1.0, told.relative.min()]))
    found, _ = _logit(mutant, np.column_stack([np.ones(12_000), (people.age - 40) / 10]))
    assert 1 / (1 + math.exp(-found.theta[0])) < truth - 0.15


def test_mutant_weights_in_the_middle_only() -> None:
    rng = np.random.default_rng(9)
    x = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    sampling = rng.uniform(0.2, 3.0, 2000)
    weights = RowWeights(sampling)
    grr = dn.GRR(2, 3.0)
    likelihood = grr.likelihood(grr.randomize(rng.integers(0, 2, 2000), dn.SimulationRandomness(1)))
    found, problem = _logit(likelihood, x, weights)
    bread = inverse(-found.evaluation.hessian)
    right = bread @ problem.middle(found.theta) @ bread
    plain, unweighted = _logit(likelihood, x)
    wrong = inverse(-plain.evaluation.hessian) @ problem.middle(plain.theta) @ inverse(-plain.evaluation.hessian)
    # Weights in another unit are the same survey. Only the right sandwich does not change.
    doubled = MixtureProblem(MultinomialLaw(2), [x], likelihood, weights=RowWeights(2 * sampling))
    again = inverse(-doubled.evaluate(found.theta).hessian)
    np.testing.assert_allclose(again @ doubled.middle(found.theta) @ again, right, rtol=1e-9)
    assert not np.allclose(wrong, right, rtol=0.1)
    assert unweighted.weights.sampling is None


# ---------------------------------------------------------------- routes


def test_frequency_weights_are_rows() -> None:
    """An aggregate of reported pairs gives the fit of the reports themselves."""
    rng = np.random.default_rng(3)
    records = rng.integers(0, 2, (3000, 2))
    records[:, 1] = np.where(rng.random(3000) < 0.6, records[:, 0], records[:, 1])
    mechanism = SPLPairs(sizes=(2, 2), epsilon=5.0)
    survey = survey_of(mechanism, a=("no", "yes"), b=("no", "yes"))
    reports = mechanism.randomize(records, dn.SimulationRandomness(4))
    rows = models.fit("a ~ b", survey, reports, method="ml")
    counts = models.fit("a ~ b", survey, survey.aggregate(reports), method="ml")
    np.testing.assert_allclose(counts.params, rows.params, rtol=1e-7)
    np.testing.assert_allclose(counts.bse, rows.bse, rtol=1e-7)
    np.testing.assert_allclose(counts.llf, rows.llf, rtol=1e-9)
    pairs = PairSample(sizes=(2, 2), epsilon=5.0)
    sampled = survey_of(pairs, a=("no", "yes"), b=("no", "yes"))
    with pytest.raises(NotIdentifiedError, match="odds ratio of a cross table"):
        models.fit(
            "a ~ b", sampled, sampled.aggregate(pairs.randomize(records, dn.SimulationRandomness(4))), method="ml"
        )


def test_open_text_has_no_categories_to_explain() -> None:
    survey = dn.Collection(dn.Schema((dn.Attribute("word", text=True),)), dn.HeavyHitters(epsilon=1.0, max_bytes=3))
    reports = survey.randomize({"word": ["tea", "ale"]}, dn.SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="open text, but a regression explains listed categories"):
        models.fit("word ~ 1", survey, reports)


def test_a_key_brings_rows_together() -> None:
    people = people_of(4000).assign(code=np.arange(4000))
    grr = dn.GRR(k=2, epsilon=3.0)
    survey = survey_of(grr, smoker=("no", "yes"))
    reports = grr.randomize(answers_of(people), dn.SimulationRandomness(1))
    order = np.random.default_rng(1).permutation(4000)
    keyed = pd.DataFrame({"value": reports[order], "code": order})
    with pytest.raises(InvalidParameterError, match="key works only with people"):
        models.fit("smoker ~ 1", survey, keyed, key="code")
    fit = models.fit("smoker ~ age", survey, keyed, people, key="code")
    np.testing.assert_allclose(fit.params, models.fit("smoker ~ age", survey, reports, people).params, rtol=1e-7)
    shuffled = models.fit("smoker ~ age", survey, reports[order], people)
    assert abs(shuffled.params["age"]) < 0.02 < fit.params["age"]
    with pytest.raises(MismatchError, match="980 reports, but the table has 4,000"):
        models.fit("smoker ~ age", survey, reports[:980], people)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("formula", "options", "error", "says"),
    [
        ("smoker ~ drink", {}, NotIdentifiedError, "smoker and drink together"),
        ("smoker ~ height", {}, InvalidParameterError, "got “height”"),
        ("smoker ~ np.log(drink)", {}, InvalidParameterError, "drink must stand alone"),
        ("age ~ region", {}, InvalidParameterError, "must name at least one attribute"),
        ("smoker ~ age", {"model": "ordered"}, InvalidParameterError, None),
        ("smoker ~ age", {"model": "poisson"}, InvalidParameterError, "poisson"),
        ("smoker ~ age", {"cov_type": "observed", "weights": "age"}, InvalidParameterError, 'must be "sandwich" with'),
        ("smoker ~ age", {"clusters": "region"}, InvalidParameterError, "at least 20"),
    ],
)
def test_refusals(formula: str, options: dict[str, Any], error: type[Exception], says: str | None) -> None:
    people = people_of(3000)
    smp = dn.SMP(sizes=(2, 2), epsilon=3.0)
    survey = survey_of(smp, smoker=("no", "yes"), drink=("no", "yes"))
    records = np.column_stack([answers_of(people)] * 2)
    reports = smp.randomize(records, dn.SimulationRandomness(1))
    if says is None:
        assert models.fit(formula, survey, reports, people, **options).determined
        return
    with pytest.raises(error, match=says):
        models.fit(formula, survey, reports, people, **options)


def test_too_few_reports_are_refused_and_forced_fits_have_score_intervals() -> None:
    people = people_of(150)
    grr = dn.GRR(k=2, epsilon=0.5)
    survey = survey_of(grr, smoker=("no", "yes"))
    reports = grr.randomize(answers_of(people), dn.SimulationRandomness(1))
    with pytest.raises(NotIdentifiedError, match=r"An error of 0\.7 needs about [0-9,]+ people, but there are 150"):
        models.fit("smoker ~ age", survey, reports, people)
    fit = models.fit("smoker ~ age", survey, reports, people, force=True)
    assert fit.interval_kind == "score"
    lower, upper = fit.conf_int().loc["age"].to_numpy()
    assert upper - lower > 0.05
    assert "not protected" in fit.summary().splitlines()[0]
    with pytest.raises(NoIntervalError, match=r"at most 0\.3 .* use method=\"score\""):
        fit.conf_int(method="profile")
    with pytest.raises(NoIntervalError, match="score_test"):
        fit.compare(fit)


def test_columns_that_single_out_people_are_refused() -> None:
    people = people_of(500).assign(ward=["one"] * 497 + ["two"] * 3)
    grr = dn.GRR(k=2, epsilon=4.0)
    survey = survey_of(grr, smoker=("no", "yes"))
    reports = grr.randomize(answers_of(people), dn.SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="at least 5 rows"):
        models.fit("smoker ~ ward", survey, reports, people)


def test_corr_rr_says_what_to_fit_instead() -> None:
    matrix = tuple(tuple(1.0 if i == j else 0.5 for j in range(2)) for i in range(2))
    mechanism = dn.CorrRR(sizes=(2, 2), epsilon=2.0, copy_probabilities=matrix)
    with pytest.raises(NotIdentifiedError, match="fit the reports of phase one"):
        mechanism.likelihood(mechanism.outputs())
