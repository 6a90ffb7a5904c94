"""Regression with people who break the rules: closed forms, enumeration, derivatives, a naive mutant."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable import designs, models
from deniable.designs import ComplianceDesign
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError
from deniable.models.problem import MixtureProblem
from deniable.models.row_laws import NO_OUTCOME, ComplianceLaw

ANCHOR = designs.crosswise_anchor("3/20", "1/4")
CHEATERS = designs.cheaters("1/4", "3/4")
DETECTOR = designs.LieDetector(CHEATERS)
EVERY = pytest.mark.parametrize("design", [ANCHOR, CHEATERS, DETECTOR], ids=["anchor", "cheaters", "detector"])


def expit(eta: Any) -> Any:
    return 1 / (1 + np.exp(-eta))


def shares(fit: models.Fit) -> tuple[Any, Any]:
    """Return the two shares of a fit without columns, and their standard errors."""
    found = expit(fit.params.to_numpy())
    return found, fit.bse.to_numpy() * found * (1 - found)


def chances(design: ComplianceDesign, pi: float, follows: float) -> dict[tuple[int, int], float]:
    """Return the papers' probabilities: of both margins of the anchor, and of the report in a group."""
    if design is ANCHOR:
        same = follows * (0.85 + (0.3 - 1) * pi) + (1 - follows) / 2
        anchor = follows * 0.75 + (1 - follows) / 2
        return {(y, a): (same if y else 1 - same) * (anchor if a else 1 - anchor) for y in (0, 1) for a in (0, 1)}
    found: dict[tuple[int, int], float] = {}
    for group, p in enumerate((0.25, 0.75)):
        yes = follows * (pi + (1 - pi) * p) if design is CHEATERS else pi * follows + (1 - pi) * p
        found |= {(1, group): yes, (0, group): 1 - yes}
    return found


def problem_of(design: ComplianceDesign, report: Any, second: Any, columns: list[Any]) -> MixtureProblem:
    told = design.told(np.asarray(report), np.asarray(second))
    return MixtureProblem(ComplianceLaw(told.relative.shape[1] // 4), columns, told, NO_OUTCOME)


# ---------------------------------------------------------------- exact


def test_without_columns_it_is_the_closed_form_of_the_anchor() -> None:
    """Estimate and error are those of `crosswise_anchor`, but for n in place of n - 1."""
    design, counts = designs.crosswise_anchor("3/20", "3/20"), (1116, 311, 425, 148)
    table = {"same": np.repeat([1, 1, 0, 0], counts), "anchor": np.repeat(["same", "different"] * 2, counts)}
    fit = models.fit_compliance("same ~ 1", design, table, "anchor")
    known, n = design.estimate(*counts), sum(counts)
    found, errors = shares(fit)
    np.testing.assert_allclose(found, [known.corrected.value, known.attentive.value], rtol=1e-9)
    expected = [known.corrected.standard_error, known.attentive.standard_error]
    np.testing.assert_allclose(errors * math.sqrt(n / (n - 1)), expected, rtol=1e-7)
    assert fit.privacy_statement.count("epsilon = 1.73461")
    with pytest.raises(NoIntervalError, match="two reports from each person, has no likelihood"):
        fit.conf_int(method="profile")


def test_without_columns_it_is_the_closed_form_of_two_groups() -> None:
    """RRreg's minarets; errors have n in place of n - 1."""
    design, yes, n = designs.cheaters("5/6", "1/6"), (373, 398), (564, 692)
    counts = [yes[0], n[0] - yes[0], yes[1], n[1] - yes[1]]
    table = {"r": np.repeat(["yes", "no"] * 2, counts), "group": np.repeat([1, 1, 2, 2], counts)}
    found, errors = shares(models.fit_compliance("r ~ 1", designs.LieDetector(design), table, "group"))
    known = design.lie_detector(yes, n)
    np.testing.assert_allclose(found, [known.prevalence.value, known.truthful.value], rtol=1e-8)
    np.testing.assert_allclose(errors, [known.prevalence.standard_error, known.truthful.standard_error], rtol=1e-3)
    cdm = models.fit_compliance("r ~ 1", design, table, "group")
    honest, _ = shares(cdm)
    expected = design.estimate(yes, n)
    np.testing.assert_allclose(honest[0] * honest[1], expected.honest_yes.value, rtol=1e-7)
    np.testing.assert_allclose(1 - honest[1], expected.cheaters.value, rtol=1e-7)
    assert "about people who follow the instructions" in " ".join(cdm.warnings)
    assert "no epsilon, because a report can prove an answer" in cdm.privacy_statement
    # These are two readings of one likelihood.
    assert math.isclose(
        cdm.llf, models.fit_compliance("r ~ 1", designs.LieDetector(design), table, "group").llf, rel_tol=1e-10
    )


def test_a_share_of_one_is_not_determined() -> None:
    """More people say yes than carriers and forced ones can: a logit at infinity has no printed error."""
    table = {"r": np.repeat([1, 0, 1, 0], [373, 191, 398, 294]), "group": np.repeat([1, 2], [564, 692])}
    fit = models.fit_compliance("r ~ 1", designs.LieDetector(designs.cheaters("1/6", "5/6")), table, "group")
    assert not fit.determined
    assert fit.bse.isna().all()


@EVERY
def test_likelihood_by_enumeration(design: ComplianceDesign) -> None:
    """Over all reports of three people, the likelihood is the papers' formula, with sum one and mean score zero."""
    x, theta = np.array([[1.0, -0.7], [1.0, 0.2], [1.0, 1.1]]), np.array([-0.4, 0.6, 0.9, -0.3])
    pi, follows = expit(x @ theta[:2]), expit(x @ theta[2:])
    kinds = list(itertools.product((0, 1), (0, 1) if design is ANCHOR else (0,)))
    total, mean = 0.0, np.zeros(4)
    for chosen in itertools.product(kinds, repeat=3):
        report = [one[0] for one in chosen]
        second = [one[1] for one in chosen] if design is ANCHOR else [0, 1, 1]
        at = problem_of(design, report, second, [x, x]).evaluate(theta)
        pairs = zip(pi, follows, report, second, strict=True)
        direct = math.prod(chances(design, float(p), float(f))[y, s] for p, f, y, s in pairs)
        assert math.isclose(math.exp(at.value), direct, rel_tol=1e-12)
        total += direct
        mean += direct * at.gradient
    assert math.isclose(total, 1.0, rel_tol=1e-12)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)


@EVERY
@pytest.mark.parametrize("alike", [True, False])
def test_derivatives_against_differences(design: ComplianceDesign, alike: bool) -> None:
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    columns = [x, x if alike else np.ones((40, 1))]
    problem = problem_of(design, rng.integers(0, 2, 40), rng.integers(0, 2, 40), columns)
    theta, step = rng.normal(0, 0.5, problem.size), 1e-5
    at, moves = problem.evaluate(theta), step * np.eye(problem.size)
    ends = [(problem.evaluate(theta + move), problem.evaluate(theta - move)) for move in moves]
    values = [(up.value - down.value) / (2 * step) for up, down in ends]
    np.testing.assert_allclose(at.gradient, values, rtol=1e-7, atol=1e-7)
    slopes = [(up.gradient - down.gradient) / (2 * step) for up, down in ends]
    np.testing.assert_allclose(at.hessian, slopes, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(problem.scores(theta, slice(0, 40)).sum(axis=0), at.gradient, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------- simulated

N = 20_000
TRUE = [-1.5, 0.8, 1.0, -0.6]


def simulated(design: ComplianceDesign) -> pd.DataFrame:
    """Return reports where both shares depend on x; "follows" is attention, obedience or truthfulness."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=N)
    trait = rng.random(N) < expit(TRUE[0] + TRUE[1] * x)
    follows = rng.random(N) < expit(TRUE[2] + TRUE[3] * x)
    if design is ANCHOR:
        facts, coins = rng.random((2, N)) < [[0.15], [0.25]], rng.random((2, N)) < 0.5
        report, second = np.where(follows, [trait == facts[0], ~facts[1]], coins)
    else:
        second = rng.random(N) < 0.5
        forced = rng.random(N) < np.where(second, 0.75, 0.25)
        report = follows & (trait | forced) if design is CHEATERS else np.where(trait, follows, forced)
    return pd.DataFrame({"report": report.astype(int), "second": second.astype(int) + (design is not ANCHOR), "x": x})


@EVERY
def test_simulated_coefficients_come_back(design: ComplianceDesign) -> None:
    """Wald's statistic of all four has 4 degrees of freedom: above 23.5 once in 10,000."""
    fit = models.fit_compliance("report ~ x", design, simulated(design), "second")
    gap = fit.params.to_numpy() - TRUE
    assert gap @ np.linalg.solve(fit.cov_params().to_numpy(), gap) < 23.5
    assert fit.determined
    assert fit.predict({"x": [0.0]})["yes"][0] == pytest.approx(expit(fit.params["Intercept"]))


def test_mutant_inattention_ignored() -> None:
    """Half of the inattentive people say "different": the naive fit finds more carriers and a flatter slope."""
    table = simulated(ANCHOR)
    survey = dn.Collection(dn.Schema((dn.Attribute("report", ("no", "yes")),)), designs.crosswise("3/20"))
    naive = models.fit("report ~ x", survey, (1 - table.report).to_numpy(), table[["x"]])
    fit = models.fit_compliance("report ~ x", ANCHOR, table, "second")
    for name, truth in zip(("Intercept", "x"), TRUE, strict=False):
        assert abs(naive.params[name] - truth) > 5 * naive.bse[name]
        assert abs(fit.params[name] - truth) < 4 * fit.bse[name]


# ---------------------------------------------------------------- rows and refusals


def test_rows_are_counted_and_other_values_refused_without_quoting_them() -> None:
    table = simulated(ANCHOR)[:3000].astype({"report": object})
    whole = models.fit_compliance("report ~ x", ANCHOR, table[5:], "second", followers="1")
    assert whole.names == ("Intercept", "x", "follows: Intercept")
    table.loc[:4, "report"] = None
    fit = models.fit_compliance("report ~ x", ANCHOR, table, "second", followers="1")
    np.testing.assert_allclose(fit.params, whole.params, rtol=1e-9)
    assert "2,995 rows, 5 left out for missing values" in fit.summary()
    with pytest.raises(InvalidInputError, match="5 of 3,000"):
        models.fit_compliance("report ~ x", ANCHOR, table, "second", missing="refuse")
    table.loc[7, "report"] = "certainly"
    with pytest.raises(InvalidInputError, match="must be different or same, got something else in row") as raised:
        models.fit_compliance("report ~ x", ANCHOR, table, "second")
    assert "certainly" not in str(raised.value)


@pytest.mark.parametrize(
    ("formula", "options", "says"),
    [
        ("report ~ x + second", {}, "must name attributes"),
        ("report ~ x - 1", {}, "must have an intercept"),
        ("report ~ x + report", {}, "must be on only one side|on its left side"),
        ("nothing ~ x", {}, "must have the column “nothing”"),
        ("report ~ x", {"followers": "2"}, "followers must be one of"),
    ],
)
def test_refusals(formula: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        models.fit_compliance(formula, ANCHOR, simulated(ANCHOR)[:500], "second", **options)


def test_an_anchor_by_chance_is_refused() -> None:
    table = simulated(ANCHOR)[:2000].assign(second=np.arange(2000) % 2)
    with pytest.raises(NoIntervalError, match="anchor does not show"):
        models.fit_compliance("report ~ x", ANCHOR, table, "second")
