"""Standard errors and tests of `Fit` against statsmodels, or against sums written out here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray

import deniable as dn
from deniable import models
from deniable.core.construction import mechanism
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError
from deniable.research.dealt import QuotaRR

SURVEY = dn.Schema((dn.Attribute("smoker", ("no", "yes")),))
OPEN = dn.Collection(SURVEY, dn.GRR(k=2, epsilon=32.0))
"""Reports that equal the answers, except for one in 10^14."""


def drawn(n: int, seed: int) -> tuple[pd.DataFrame, NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "unit": rng.integers(0, 60, n)})
    people["w"] = rng.uniform(0.2, 3.0, n)
    yes = (rng.random(n) < 1 / (1 + np.exp(0.4 - 0.8 * people.x))).to_numpy().astype(int)
    return people, yes, np.column_stack([np.ones(n), people.x])


def test_clusters_are_those_of_statsmodels() -> None:
    people, yes, x = drawn(1200, 1)
    fit = models.fit("smoker ~ x", OPEN, yes, people, clusters="unit")
    known = sm.Logit(yes, x).fit(disp=0, cov_type="cluster", cov_kwds={"groups": people.unit, "use_correction": False})
    np.testing.assert_allclose(fit.bse, known.bse * np.sqrt(60 / 59), rtol=1e-6)
    # The reference is t with 59 degrees of freedom.
    reach = (fit.conf_int()["upper"] - fit.params) / fit.bse
    np.testing.assert_allclose(reach, 2.000995, rtol=1e-6)


def test_sampling_weights_are_in_bread_and_squared_in_the_middle() -> None:
    people, yes, x = drawn(1200, 2)
    fit = models.fit("smoker ~ x", OPEN, yes, people, weights="w")
    w = people.w.to_numpy()
    beta = np.zeros(2)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-x @ beta))
        bread = np.linalg.inv((x * (w * mean * (1 - mean))[:, None]).T @ x)
        beta += bread @ (x.T @ (w * (yes - mean)))
    score = x * (w * (yes - mean))[:, None]
    np.testing.assert_allclose(fit.params, beta, rtol=1e-6)
    np.testing.assert_allclose(fit.bse, np.sqrt(np.diag(bread @ score.T @ score @ bread)), rtol=1e-6)
    # Mutant: weights only in the middle leave coefficients and bread as without weights.
    plain = sm.Logit(yes, x).fit(disp=0)
    rest = x * (w * (yes - plain.predict()))[:, None]
    mutant = np.sqrt(np.diag(plain.cov_params() @ rest.T @ rest @ plain.cov_params()))
    assert (np.abs(fit.bse / mutant - 1) > 0.2).all()
    assert not np.allclose(fit.params, plain.params, rtol=1e-3)
    with pytest.raises(NoIntervalError, match="sampling weights"):
        fit.conf_int(method="profile")


def test_compare_is_the_likelihood_ratio_of_statsmodels() -> None:
    people, yes, x = drawn(1200, 3)
    larger = models.fit("smoker ~ x + z", OPEN, yes, people, cov_type="observed")
    smaller = models.fit("smoker ~ x", OPEN, yes, people, cov_type="observed")
    found = larger.compare(smaller)
    known = sm.Logit(yes, np.column_stack([x, people.z])).fit(disp=0).llf - sm.Logit(yes, x).fit(disp=0).llf
    np.testing.assert_allclose(found.statistic, 2 * known, rtol=1e-5, atol=1e-7)
    assert found.degrees == 1
    with pytest.raises(InvalidParameterError, match="must be nested"):
        smaller.compare(larger)
    with pytest.raises(NoIntervalError, match="independent rows"):
        models.fit("smoker ~ x + z", OPEN, yes, people, weights="w").compare(smaller)


def test_dealt_reports_add_the_covariances_of_types() -> None:
    """This test loops over all pairs of people, where the library multiplies sums over people."""
    n = 80
    people, yes, x = drawn(n, 4)
    mechanism = QuotaRR(2.0, n, deal_id="one")
    survey, random = dn.Collection(SURVEY, mechanism), dn.SimulationRandomness(5)
    reports = survey.randomize(yes[:, None], random, mechanism.deal(n, random))
    fit = models.fit("smoker ~ x", survey, reports, people, force=True)
    mean = 1 / (1 + np.exp(-x @ fit.params.to_numpy()))
    told = mechanism.likelihood(np.array([0, 1], dtype=np.uint8)).relative
    scores = np.empty((n, 3, 2))
    for code in (0, 1):
        share = told[code, 1] * mean / (told[code, 0] * (1 - mean) + told[code, 1] * mean)
        scores[:, code] = (share - mean)[:, None] * x
    scores[:, 2] = scores[:, 0] * (1 - mean)[:, None] + scores[:, 1] * mean[:, None]
    assert fit.source.dealt is not None
    between = fit.source.dealt.covariance
    middle = np.zeros((2, 2))
    for i in range(n):
        own = scores[i, int(reports[i])]
        middle += np.outer(own, own)
        for j in range(n):
            if i != j:
                middle += scores[i].T @ between @ scores[j]
    share = told[reports, 1] * mean / (told[reports, 0] * (1 - mean) + told[reports, 1] * mean)
    bend = share * (1 - share) - mean * (1 - mean)
    bread = np.linalg.inv(-(x * bend[:, None]).T @ x)
    known = np.sqrt(np.diag(bread @ middle @ bread))
    np.testing.assert_allclose(np.sqrt(np.diag(fit.cov_params())), known, rtol=1e-6)
    # Without the covariances, the intercept's error is too large.
    seen = scores[np.arange(n), reports.astype(int)]
    assert np.sqrt((bread @ seen.T @ seen @ bread)[0, 0]) > 1.02 * known[0]


def test_weights_hold_where_errors_are_not_normal() -> None:
    """With exponential errors, the likelihood's slope of a randomised predictor is wrong by more than chance."""
    rng = np.random.default_rng(6)
    drinks = rng.integers(0, 2, 40_000)
    people = pd.DataFrame({"y": 0.6 * drinks + rng.exponential(size=40_000)})
    survey = dn.Collection(dn.Schema((dn.Attribute("drink", ("no", "yes")),)), dn.GRR(k=2, epsilon=1.0))
    reports = survey.randomize(drinks[:, None], dn.SimulationRandomness(7))
    weights = models.fit("y ~ drink", survey, reports, people)
    likelihood = models.fit("y ~ drink", survey, reports, people, method="ml")
    name = "drink[T.yes]"
    assert (weights.method, likelihood.method) == ("weights", "ml")
    assert abs(weights.params[name] - 0.6) < 3 * weights.bse[name] < 0.3
    assert abs(likelihood.params[name] - 0.6) > max(0.05, 3 * likelihood.bse[name])


@pytest.mark.parametrize("method", ["weights", "ml"])
def test_units_of_a_linear_outcome_change_nothing_but_its_coefficients(method: Any) -> None:
    """Metres or micrometres: coefficients above 30 once counted as infinite."""
    rng, n = np.random.default_rng(3), 4000
    smokes, age = rng.integers(0, 2, n), rng.normal(size=n)
    height = 1.7 + 0.02 * age + 0.05 * smokes + rng.normal(0, 0.1, n)
    survey = dn.Collection(dn.Schema((dn.Attribute("smoker", ("no", "yes")),)), dn.GRR(k=2, epsilon=2.0))
    reports = survey.randomize(smokes[:, None], dn.SimulationRandomness(1))
    fits = [
        models.fit("height ~ age + smoker", survey, reports, {"age": age, "height": unit * height}, method=method)
        for unit in (1.0, 1e-6, 1e6)
    ]
    shown = ["Intercept", "age", "smoker[T.yes]"]
    for fit, unit in zip(fits, (1.0, 1e-6, 1e6), strict=True):
        assert fit.determined
        assert fit.interval_kind == "wald"
        for name in ("params", "bse"):
            np.testing.assert_allclose(getattr(fit, name)[shown], unit * getattr(fits[0], name)[shown], rtol=2e-4)
        np.testing.assert_allclose(
            fit.conf_int(method="score").loc[shown], unit * fits[0].conf_int(method="score").loc[shown], rtol=2e-3
        )
    assert abs(fits[0].params["smoker[T.yes]"] - 0.05) < 4 * fits[0].bse["smoker[T.yes]"]


def test_a_linear_model_of_a_square_wave() -> None:
    """The mean of an income of about 50, by a plain column: within four of its standard errors."""
    rng, n = np.random.default_rng(1), 20_000
    x = rng.normal(size=n)
    income = np.clip(np.round(50 + 10 * x + rng.normal(0, 5, n)), 0, 100).astype(int)
    attribute = dn.Attribute("income", kind="numeric", range=(0, 100), grid=101)
    survey = dn.Collection(dn.Schema((attribute,)), mechanism("SquareWave", k=101, epsilon="2"))
    fit = models.fit("income ~ x", survey, survey.randomize(income[:, None], dn.SimulationRandomness(1)), {"x": x})
    assert fit.model == "linear"
    assert fit.determined
    assert 0.2 < fit.bse["x"] < 0.4
    assert abs(fit.params["x"] - 10) < 4 * fit.bse["x"]


def test_the_wald_test_uses_the_sandwich_of_all_its_coefficients() -> None:
    """With two coefficients both p-values have a closed form: e^(-W/2), and (1 + 2 F/59)^(-59/2) with 60 clusters."""
    people, yes, _ = drawn(1200, 8)
    people["close"] = people.z + 0.5 * people.w
    x = np.column_stack([np.ones(1200), people.x, people.z, people.close])
    beta = np.zeros(4)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-x @ beta))
        bread = np.linalg.inv((x * (mean * (1 - mean))[:, None]).T @ x)
        beta += bread @ (x.T @ (yes - mean))
    score = x * (yes - mean)[:, None]
    covariance = (bread @ score.T @ score @ bread)[2:, 2:]
    known = float(beta[2:] @ np.linalg.inv(covariance) @ beta[2:])
    fit = models.fit("smoker ~ x + z + close", OPEN, yes, people)
    found = fit.wald_test(["z", "close"])
    assert found.degrees == 2
    assert found.statistic == pytest.approx(known, rel=1e-6)
    assert found.p_value == pytest.approx(np.exp(-known / 2), rel=1e-6)
    assert fit.wald_test(["z"]).p_value == pytest.approx(fit.pvalues["z"], rel=1e-9)
    # Mutant: the two coefficients count as independent.
    mutant = (beta[2:] ** 2 / np.diag(covariance)).sum()
    assert abs(mutant / known - 1) > 0.2

    sums = pd.DataFrame(score).groupby(people.unit.to_numpy()).sum().to_numpy()
    middle = sums.T @ sums * 60 / 59
    clustered = float(beta[2:] @ np.linalg.inv((bread @ middle @ bread)[2:, 2:]) @ beta[2:] / 2)
    found = models.fit("smoker ~ x + z + close", OPEN, yes, people, clusters="unit").wald_test(["z", "close"])
    assert found.degrees == 2
    assert found.statistic == pytest.approx(clustered, rel=1e-6)
    assert found.p_value == pytest.approx((1 + 2 * clustered / 59) ** (-59 / 2), rel=1e-6)
    with pytest.raises(InvalidParameterError, match="income"):
        fit.wald_test(["z", "income"])
    for names in ([], ["z", "z"], "z"):
        with pytest.raises(InvalidParameterError, match="names must list"):
            fit.wald_test(names)
    with pytest.raises(InvalidInputError, match="lacks “z”"):
        fit.predict(people.drop(columns="z"))


def test_no_wald_test_of_coefficients_that_reports_do_not_determine() -> None:
    """Exactly the people with x > 0 say yes: no finite slope is best."""
    people, _, _ = drawn(1200, 9)
    fit = models.fit("smoker ~ x", OPEN, (people.x > 0).to_numpy().astype(int), people, force=True)
    assert not fit.determined
    found = fit.wald_test(["x"])
    assert np.isnan([found.statistic, found.p_value]).all()
