"""Weighted samples: the contract's vectors, simulated variances, and mutants of the finite-population term."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deniable import SimulationRandomness, designs
from deniable.designs import Margin, SampleEstimate, estimate_sample, samples
from deniable.errors import InvalidInputError, InvalidParameterError
from tests.unit.designs import vectors

ONE_DIE = designs.forced("1/6", "1/6")


def of_vector(name: str, **options: Any) -> tuple[SampleEstimate, dict[str, float]]:
    vector = vectors.case(name)
    found = estimate_sample(
        designs.forced(**vector["params"]),
        vector["reports"],
        vector["weights"],
        strata=vector["stratum"],
        psus=vector["psu"],
        fractions={int(stratum): share for stratum, share in vector["fpc"].items()},
        **options,
    )
    return found, vector["expected"]


@pytest.mark.parametrize("name", ["weighted-no-fpc", "weighted-fpc"])
@pytest.mark.parametrize("method", ["linearized", "jackknife"])
def test_vectors(name: str, method: samples.Method) -> None:
    """Weights of a unit sum to 6 everywhere, so the jackknife of a ratio is exact, too."""
    found, expected = of_vector(name, method=method)
    assert found.prevalence.value == pytest.approx(expected["mean"], abs=1e-8)
    assert found.prevalence.standard_error**2 == pytest.approx(expected["variance"], abs=1e-8)
    assert found.degrees == expected["df"]


@pytest.mark.parametrize("name", ["weighted-no-fpc", "weighted-fpc"])
def test_the_bootstrap_agrees_with_linearization(name: str) -> None:
    found, expected = of_vector(name, method="bootstrap", repeats=2000, rng=SimulationRandomness(1))
    # A variance of 2,000 nearly normal draws has a standard error of 3.2%.
    assert found.prevalence.standard_error**2 == pytest.approx(expected["variance"], rel=0.13)


def _simulated(variance: Callable[[np.ndarray[Any, Any]], float], runs: int = 3000) -> tuple[float, float]:
    """Return the variance of estimates, and the mean stated variance, for 200 of 400 people with a prevalence of .1."""
    random = np.random.default_rng(8)
    truth = np.arange(400) < 40
    chances = np.where(truth, 5 / 6, 1 / 6)
    means, said = [], []
    for _ in range(runs):
        chosen = random.permutation(400)[:200]
        reports = (random.random(200) < chances[chosen]).astype(np.int64)
        means.append((reports.mean() - 1 / 6) / (2 / 3))
        said.append(variance(reports))
    return float(np.var(means)), float(np.mean(said))


def test_half_a_population_has_the_variance_that_is_said() -> None:
    """The contract's simulation has .00180 and this one .00179; the correction alone would give .00101."""

    def ours(reports: np.ndarray[Any, Any]) -> float:
        return estimate_sample(ONE_DIE, reports, fractions={0: 0.5}).prevalence.standard_error ** 2

    true, said = _simulated(ours, 1500)
    # In 1,500 runs, a variance has a standard error of 3.7%.
    assert said == pytest.approx(true, rel=0.15)
    assert said == pytest.approx(0.00179, abs=0.00002)


def test_a_simple_sample_is_the_unbiased_variance_of_counts() -> None:
    reports = [0] * 60 + [1] * 40
    found, counted = estimate_sample(ONE_DIE, reports), ONE_DIE.estimate_counts([60, 40])
    assert found.prevalence.value == pytest.approx(counted.prevalence)
    assert found.prevalence.standard_error**2 == pytest.approx(counted.unbiased_variances[1])
    assert found.design_effect == pytest.approx(100 / 99)
    assert found.total == pytest.approx(100 * counted.prevalence)
    assert found.degrees == 99


def test_the_interval_is_the_score_interval_of_as_many_people() -> None:
    """With the normal in place of t and a design effect of 1 it would be that of counts; here it is near."""
    reports = [0] * 600 + [1] * 400
    found, counted = estimate_sample(ONE_DIE, reports), ONE_DIE.estimate_counts([600, 400])
    assert (found.prevalence.lower, found.prevalence.upper) == pytest.approx(counted.interval, abs=3e-4)
    everybody = estimate_sample(ONE_DIE, [1] * 50)
    assert everybody.prevalence.value == pytest.approx(1.25)
    assert everybody.effective_n == pytest.approx(50)


def test_known_totals_are_kept_and_their_variance_goes() -> None:
    random = np.random.default_rng(2)
    n = 2000
    sex, old = random.integers(0, 2, n), random.integers(0, 3, n)
    truth = random.random(n) < np.where(sex == 1, 0.8, 0.05)
    reports = (random.random(n) < np.where(truth, 5 / 6, 1 / 6)).astype(np.int64)
    one = Margin(sex.tolist(), {0: 500, 1: 500})
    two = Margin(old.tolist(), {0: 200, 1: 300, 2: 500})
    plain = estimate_sample(ONE_DIE, reports)
    post = estimate_sample(ONE_DIE, reports, margins=[one])
    scores = ONE_DIE.score(reports)
    by_sex = [scores[sex == s] for s in (0, 1)]
    assert post.prevalence.value == pytest.approx(np.mean([cell.mean() for cell in by_sex]))
    # The post-strata have equal totals: each has a quarter of each stratum's variance, with n/(n - 1).
    expected = sum(0.25 * cell.var() / len(cell) for cell in by_sex) * n / (n - 1)
    assert post.prevalence.standard_error**2 == pytest.approx(expected, rel=1e-9)
    assert post.prevalence.standard_error < plain.prevalence.standard_error
    raked = samples._raked(np.ones(n), [samples._column(margin, n) for margin in (one, two)])
    assert [raked[sex == s].sum() for s in (0, 1)] == pytest.approx([500, 500])
    assert [raked[old == s].sum() for s in (0, 1, 2)] == pytest.approx([200, 300, 500])
    both = estimate_sample(ONE_DIE, reports, margins=[one, two])
    assert both.total == pytest.approx(1000 * both.prevalence.value)
    units = (np.arange(n) % 40).tolist()
    linear, jack = (
        estimate_sample(ONE_DIE, reports, psus=units, margins=[one, two], method=method)
        for method in ("linearized", "jackknife")
    )
    assert jack.prevalence.standard_error == pytest.approx(linear.prevalence.standard_error, rel=0.05)


def test_weights_that_tell_people_apart_are_warned_of() -> None:
    assert not estimate_sample(ONE_DIE, [0, 1] * 20, [1.0, 2.0] * 20).warnings
    (warning,) = estimate_sample(ONE_DIE, [0, 1] * 20, [1.0, 2.0] * 19 + [1.0, 7.5]).warnings
    assert warning.startswith("1 of 3 cells of stratum, sampling unit and weight have fewer than 10 people")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0, 0.0, 1.0, 1.0]}, "weights must be > 0"),
        ({"weights": [1.0, 1.0]}, "weights must have one number for each of 4 people"),
        (
            {"strata": [0, 0, 0, 1]},
            "at least two sampling units, but the stratum 1 has only one",
        ),
        ({"weights": ["a", 1, 1, 1]}, "weights must be numbers, got something else"),
        ({"strata": [0, 0, None, 1]}, "strata must have a value for every person, but 1 of 4 are blank"),
        ({"psus": [0.0, float("nan"), 1.0, ""]}, "psus must have a value for every person, but 2 of 4 are blank"),
        ({"psus": [0, 0, 1]}, "psus must have one entry for each"),
        ({"fractions": {"north": 0.5}}, "fractions must name strata that contain people, got “north”"),
        ({"fractions": {0: 1.0}}, "fractions must be < 1"),
        ({"strata": [0, 0, 1, 1], "fractions": {0: 0.5, 1: 1.0}}, "fractions must be < 1"),
        ({"method": "guess"}, "method must be one of linearized"),
        ({"method": "bootstrap"}, "rng must be given"),
        ({"margins": [Margin([0, 0, 1, 1], {0: 5})]}, "but there is no total for the value 1"),
        ({"margins": [Margin([0, 0, 0, 0], {0: 5, 1: 5})]}, "but nobody has the value 1"),
        ({"margins": [Margin([0, 0, 1], {0: 5, 1: 5})]}, "every margin must have one value"),
        (
            {"margins": [Margin([0, 0, 1, 1], {0: 5, 1: 0})]},
            "the total of each value in a margin must be a finite number > 0",
        ),
        (
            {"margins": [Margin([0, 0, 1, 1], {0: 5, 1: 5}), Margin([0, 1, 0, 1], {0: 5, 1: 6})]},
            "the totals of each margin must sum to the same population",
        ),
        (
            {"margins": [Margin([0, 0, 1, 1], {0: 5, 1: 5}), Margin([0, 0, 1, 1], {0: 4, 1: 6})]},
            "did not converge",
        ),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, InvalidParameterError), match=message):
        estimate_sample(ONE_DIE, [0, 1, 0, 1], **options)


def test_designs_of_more_answers_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="two possible true answers"):
        estimate_sample(designs.forced_k(["1/12"] * 3), [0, 1, 2])


# ---------------------------------------------------------------- faults that must be seen


def test_mutant_finite_population_term_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the device's noise is reduced like sampling noise, as in RRTCS' jackknife."""
    monkeypatch.setattr(designs.Design, "exact_noise", lambda *_: 0)
    with pytest.raises(AssertionError):
        test_vectors("weighted-fpc", "linearized")


def test_mutant_randomisation_entered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: noise is added although sampling units already contain it."""
    linear = samples._linearized
    monkeypatch.setattr(samples, "_fractions", lambda _, units: np.ones(len(units.sizes)))
    monkeypatch.setattr(samples, "_linearized", lambda z, units, _: linear(z, units, np.zeros(len(units.sizes))))
    for name in ("weighted-no-fpc", "weighted-fpc"):
        with pytest.raises(AssertionError):
            test_vectors(name, "linearized")
