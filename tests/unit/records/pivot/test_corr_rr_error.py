from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, TooLargeError
from deniable.records.pivot.corr_rr import CorrRR, joint_copy_probabilities, pairwise_copy_probabilities
from deniable.records.pivot.corr_rr_error import expected_error, expected_mse
from tests.unit.records.pivot.corr_rr_laws import constant, law, some_matrix
from tests.unit.records.record_laws import records

Floats = NDArray[np.float64]
SETTINGS = [((2, 2), 1.0), ((3, 3), 0.5), ((2, 2, 2), 2.0), ((3, 3, 3), 0.5)]
RULES = (pairwise_copy_probabilities, joint_copy_probabilities)
DIFFERENT = [((2, 3), 1.0), ((5, 2), 0.5), ((2, 3, 2), 2.0)]


def _population(sizes: tuple[int, ...], seed: int) -> tuple[Floats, list[Floats]]:
    """A joint distribution over all records, with dependence, and its marginals."""
    joint = np.random.default_rng(seed).dirichlet(np.full(math.prod(sizes), 0.5))
    table = joint.reshape(sizes)
    axes = range(len(sizes))
    return joint, [table.sum(axis=tuple(i for i in axes if i != j)) for j in axes]


def _single(corr_rr: CorrRR, method: str, every: list[Any]) -> list[list[Floats]]:
    """Return estimates from one report each."""
    found = [getattr(corr_rr, method)(corr_rr.aggregate([list(y)])) for y in every]
    return [[estimate[j].frequencies for j in range(len(corr_rr.sizes))] for estimate in found]


def _moments(corr_rr: CorrRR, method: str, joint: Floats) -> list[tuple[Floats, Floats]]:
    """Exact mean and variance of a one-report estimate, by enumeration of records and reports."""
    every = records(corr_rr.sizes)
    epsilon, matrix = float(corr_rr.epsilon), corr_rr.copy_probabilities
    weights = np.zeros(len(every))
    for share, x in zip(joint, every, strict=True):
        weights += share * np.array(list(law(x, corr_rr.sizes, epsilon, matrix).values()))  # type: ignore[arg-type]
    estimates = _single(corr_rr, method, every)
    result = []
    for j in range(len(corr_rr.sizes)):
        values = np.array([one[j] for one in estimates])
        mean = weights @ values
        result.append((mean, weights @ values**2 - mean**2))
    return result


@pytest.mark.parametrize(("sizes", "epsilon"), SETTINGS)
def test_mean_and_variance_are_exact_for_any_d(sizes: tuple[int, ...], epsilon: float) -> None:
    """Enumeration of dependent records against theorem 5 with 1/d; the printed 1/2 is wrong by far at d = 3."""
    joint, marginals = _population(sizes, 1)
    corr_rr = CorrRR(sizes, epsilon, some_matrix(len(sizes)))
    error = expected_error(corr_rr, marginals, 1)
    d, k = len(sizes), sizes[0]
    gains = (k * np.array(corr_rr.copy_probabilities, dtype=np.float64) - 1) / (k - 1)
    for j, (mean, variance) in enumerate(_moments(corr_rr, "debiased", joint)):
        assert error.bias[j] == pytest.approx(mean - marginals[j], abs=1e-12)
        assert error.variance[j] == pytest.approx(variance, rel=1e-11)
        mu = 1 / k + gains[j] @ (np.stack(marginals) - 1 / k) / d
        assert mean == pytest.approx(mu, abs=1e-12)
        printed = 1 / k + gains[j] @ (np.stack(marginals) - 1 / k) / 2
        assert (np.abs(printed - mean).max() < 1e-12) == (d == 2)
    by_matrix = expected_mse(np.array(corr_rr.copy_probabilities), marginals, 7, epsilon)
    for j, mse in enumerate(by_matrix):
        assert mse == pytest.approx(error.bias[j] ** 2 + error.variance[j] / 7, rel=1e-12)
    assert expected_error(corr_rr, marginals, 7).mean == pytest.approx(float(np.mean(by_matrix)), rel=1e-12)


@pytest.mark.parametrize(("sizes", "epsilon"), SETTINGS + DIFFERENT)
def test_the_unmixed_estimate_is_unbiased_and_its_variance_is_known(sizes: tuple[int, ...], epsilon: float) -> None:
    joint, marginals = _population(sizes, 2)
    corr_rr = CorrRR(sizes, epsilon, some_matrix(len(sizes)))
    error = expected_error(corr_rr, marginals, 1, estimator="unmixed")
    for j, (mean, variance) in enumerate(_moments(corr_rr, "unmixed", joint)):
        assert mean == pytest.approx(marginals[j], abs=1e-10)
        assert np.abs(error.bias[j]).max() < 1e-10
        assert error.variance[j] == pytest.approx(variance, rel=1e-9)
        # The Estimate's own variance is the same: at the true frequencies, noise + f(1-f) is the whole variance.
        counts = np.round(corr_rr.law.induced.matrix @ np.concatenate(marginals) * 10**15).astype(np.int64)
        from_counts = corr_rr.law.induced.estimate(counts, 10**15, "")[j]
        noise = from_counts.noise_absent + (from_counts.noise_present - from_counts.noise_absent) * marginals[j]
        assert noise + marginals[j] * (1 - marginals[j]) == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize(("sizes", "epsilon"), DIFFERENT)
def test_the_papers_estimator_over_domains_that_differ(sizes: tuple[int, ...], epsilon: float) -> None:
    joint, marginals = _population(sizes, 3)
    corr_rr = CorrRR(sizes, epsilon, some_matrix(len(sizes)))
    error = expected_error(corr_rr, marginals, 1, estimator="debiased")
    for j, (mean, variance) in enumerate(_moments(corr_rr, "debiased", joint)):
        assert error.bias[j] == pytest.approx(mean - marginals[j], abs=1e-12)
        assert error.variance[j] == pytest.approx(variance, rel=1e-11)
    # By default the error is that of the estimator in use.
    default = expected_mse(corr_rr, marginals, 1)
    assert default[0] == pytest.approx(expected_mse(corr_rr, marginals, 1, estimator="unmixed")[0], rel=1e-15)


def test_reports_know_the_marginals_only() -> None:
    """Two populations with the same marginals, one dependent and one not, have equally distributed reports."""
    sizes, matrix = (3, 2), some_matrix(2)
    joint, marginals = _population(sizes, 4)
    laws = np.array([list(law(x, sizes, 1.0, matrix).values()) for x in records(sizes)])
    assert np.abs(joint - np.outer(*marginals).ravel()).max() > 0.02
    assert joint @ laws == pytest.approx(np.outer(*marginals).ravel() @ laws, abs=1e-15)


def test_what_copies_hide() -> None:
    """With P = 1 every report is one code d times: only the mean of the marginals is known."""
    corr_rr = CorrRR((3, 3, 3), 1.0, constant(3, 1.0))
    marginals = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
    error = expected_error(corr_rr, marginals, 1000, estimator="unmixed")
    mean = np.mean(marginals, axis=0)
    for j in range(3):
        assert error.bias[j] == pytest.approx(mean - marginals[j], abs=1e-12)
    estimate = corr_rr.unmixed(corr_rr.aggregate([[0, 0, 0], [2, 2, 2]]))
    with pytest.raises(NoIntervalError, match="copies leave some difference between attributes undetermined"):
        estimate[0].interval()
    # Only attributes 0 and 1 are mixed here. Attribute 2 is estimated without bias.
    some = CorrRR((2, 2, 2), 1.0, ((1, 1, 0.5), (1, 1, 0.5), (0.5, 0.5, 1)))
    found = some.unmixed(some.aggregate([[0, 0, 1], [1, 1, 1]]))
    assert [found[j].is_raw for j in range(3)] == [False, False, True]


@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "epsilon", "matrix"),
    [
        ((2, 5), 1.0, constant(2, 0.6)),
        ((3, 3), 4.0, ((1.0, 0.9), (0.1, 1.0))),
        ((4, 4, 4), 2.0, constant(3, 0.5)),
        ((3, 2, 4), 0.5, some_matrix(3)),
    ],
)
def test_unmixed_intervals_cover(sizes: tuple[int, ...], epsilon: float, matrix: Any) -> None:
    """95% intervals for a population, over 1500 draws of its contributors; also at frequencies near zero."""
    corr_rr, draws, n = CorrRR(sizes, epsilon, matrix), 1500, 20_000
    joint, marginals = _population(sizes, 6)
    every, rng = np.array(records(sizes)), SimulationRandomness(7)
    truth = np.concatenate(marginals)
    hits = np.zeros(len(truth))
    for _ in range(draws):
        held = rng.generator.multinomial(n, joint)
        estimate = corr_rr.unmixed(corr_rr.simulate_aggregate(every, held, rng))
        bounds = [part.interval(0.95, target="population") for part in estimate.values()]
        lower, upper = (np.concatenate([bound[i] for bound in bounds]) for i in (0, 1))
        hits += (lower <= truth) & (truth <= upper)
    low = stats.binom.ppf(1e-6 / len(truth), draws, 0.94)
    high = stats.binom.isf(1e-6 / len(truth), draws, 0.96)
    assert ((hits >= low) & (hits <= high)).all(), hits / draws


def test_expected_errors_are_what_simulation_finds() -> None:
    """Mean squared error of 1000 collections against the theory, within 5 standard errors (d=3)."""
    marginals = np.array([[0.4, 0.3, 0.2, 0.1], [0.35, 0.3, 0.2, 0.15], [0.5, 0.2, 0.2, 0.1]])
    corr_rr = CorrRR((4,) * 3, 0.5, constant(3, 0.9))
    rng, n2, draws = SimulationRandomness(8), 3000, 1000
    every = np.array(records((4, 4, 4)))
    joint = np.prod([marginals[j][every[:, j]] for j in range(3)], axis=0)
    errors = []
    for _ in range(draws):
        aggregate = corr_rr.simulate_aggregate(every, rng.generator.multinomial(n2, joint), rng)
        found = np.array([part.frequencies for part in corr_rr.estimate(aggregate).values()])
        errors.append(np.mean((found - marginals) ** 2))
    error = expected_error(corr_rr, list(marginals), n2)
    expected = error.mean
    assert abs(np.mean(errors) - expected) < 5 * np.std(errors) / math.sqrt(draws)
    # Mutant: the bias has the printed 1/2.
    gains = (4 * np.array(constant(3, 0.9)) - 1) / 3
    printed = (gains @ (marginals - 0.25) / 2 + 0.25 - marginals) ** 2
    assert printed.mean() + np.mean(error.variance) > 1.2 * expected


def test_refuses() -> None:
    uniform = [[0.5, 0.5]] * 2
    corr_rr = CorrRR((2, 2), 1.0, constant(2, 0.5))
    with pytest.raises(InvalidParameterError, match="epsilon must be given"):
        expected_mse(constant(2, 0.5), uniform, 10)
    with pytest.raises(
        InvalidInputError, match="marginals must have 2, 2 frequencies, one for each category of the mechanism, got 2"
    ):
        expected_mse(corr_rr, [[0.5, 0.5]], 10)
    with pytest.raises(InvalidParameterError, match="n2 must be >= 1, got n2=0"):
        expected_mse(corr_rr, uniform, 0)
    with pytest.raises(InvalidParameterError, match="estimator must be one of debiased, unmixed, got estimator=“best”"):
        expected_mse(corr_rr, uniform, 10, estimator="best")
    large = CorrRR((2500, 2500), 1.0, constant(2, 0.5))
    with pytest.raises(TooLargeError, match="at most 4096 categories together, got 5000"):
        large.unmixed(large.simulate_aggregate([[0, 0]], [10], SimulationRandomness(1)))


def test_exchanged_indices_and_pulls_that_add_up_cost_what_they_should() -> None:
    """SynA, rho = .5, n2 = 18000, epsilon = .5: 1.23e-3, or 2.46e-3 by Algorithm 1's indices. Joint: 5-10% better."""
    first = np.array([0.4, 0.3, 0.2, 0.1])
    syn_a = [first, 0.5 * first + 0.5 * (1 - first) / 3]
    proper, printed = (pairwise_copy_probabilities(syn_a, 18_000, as_printed=swap) for swap in (False, True))
    assert expected_error(proper, syn_a, 18_000, 0.5).mean == pytest.approx(1.23e-3, abs=5e-6)
    assert expected_error(printed, syn_a, 18_000, 0.5).mean == pytest.approx(2.46e-3, abs=5e-6)
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(60):
        marginals = list(rng.dirichlet(np.ones(4), 4))
        errors = [expected_error(rule(marginals, 20_000), marginals, 20_000, 0.5).mean for rule in RULES]
        ratios.append(errors[1] / errors[0])
    assert 0.9 < np.exp(np.mean(np.log(ratios))) < 0.95
    alike = [first, *[syn_a[1]] * 3]
    errors = [expected_error(rule(alike, 20_000), alike, 20_000, 0.5).mean for rule in RULES]
    assert errors[0] == pytest.approx(errors[1], rel=1e-8)


@pytest.mark.parametrize("singular", [False, True])
def test_the_induced_channel_is_solved_where_divide_and_conquer_does_not_converge(
    singular: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = np.ones((3, 3)) if singular else some_matrix(3)
    found = []
    for fails in (False, True):
        if fails:

            def refuse(*_: Any, **__: Any) -> Any:
                raise np.linalg.LinAlgError("SVD did not converge")

            monkeypatch.setattr(np.linalg, "pinv", refuse)
        corr_rr = CorrRR((2, 3, 4), 1.0, tuple(map(tuple, np.asarray(matrix).tolist())))
        estimate = corr_rr.unmixed(corr_rr.aggregate([[0, 0, 1], [1, 2, 3], [1, 1, 1]]))
        found.append(np.concatenate([one.frequencies for one in estimate.values()]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)
