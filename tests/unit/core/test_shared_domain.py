"""Priors of attributes with one domain: pooling, posteriors, and domains of every size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, special, stats

from deniable import SMP, AdaptiveSMP, SimulationRandomness, SubsetSelection
from deniable.core import shared_domain
from deniable.core.shared_domain import (
    CONCENTRATIONS,
    beta_posteriors,
    decode_group,
    dominant_attributes,
    dominant_posteriors,
    pool_and_shrink,
    skewed_posteriors,
)
from deniable.postprocess import norm_sub
from deniable.postprocess.shared_prior import hierarchical
from tests.unit.postprocess.decoded_laws import CASES, Floats, decoded, of_counts, spike, table


def a_group(d: int, k: int, seed: int, deviation: float = 0.1) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    s2 = deviation**2 * rng.uniform(0.5, 2, (d, k))
    f = rng.dirichlet(np.full(k, 0.5), d) + rng.normal(0, np.sqrt(s2))
    return f - f.mean(axis=1, keepdims=True), s2


@CASES
def test_vectors_of_pooling_alone(case: dict[str, Any]) -> None:
    pooled = pool_and_shrink(np.array(case["g"]), np.array(case["s2"]))
    np.testing.assert_allclose(pooled.mean, case["A_posterior_mean_of_g"], rtol=0, atol=1e-12)
    assert pooled.log_evidence == pytest.approx(case["A_log_evidence"], abs=1e-10)


@CASES
def test_vectors_of_the_whole(case: dict[str, Any]) -> None:
    # None of these cases has a dominant category, so both versions decode the same.
    for dominant in (True, False):
        decoded = decode_group(np.array(case["g"]), np.array(case["s2"]), dominant=dominant)
        np.testing.assert_allclose(decoded, case["decoded"], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("d", "k", "deviation"), [(1, 2, 0.1), (3, 4, 0.03), (7, 5, 0.5), (4, 30, 0.01)])
def test_pooling_is_bayes_with_the_inverse_written_out(d: int, k: int, deviation: float) -> None:
    g, s2 = a_group(d, k, 1, deviation)
    noise = np.diag(s2.mean(axis=1)) * k / (k - 1)
    scales = [0, *(0.05 * 20 ** (i / 7) for i in range(8))]
    weights = [0.05, *[0.95 / 8] * 8]
    densities, means = [], []
    for shared, p in zip(scales, weights, strict=True):
        for own, q in zip(scales, weights, strict=True):
            signal = (shared**2 * np.ones((d, d)) + own**2 * np.eye(d)) / k
            # There are k - 1 orthonormal directions, each a draw of N(0, noise + signal).
            directions = np.linalg.svd(np.eye(k) - 1 / k)[0][:, : k - 1]
            law = stats.multivariate_normal(np.zeros(d), noise + signal)
            density = np.sum(law.logpdf((g @ directions).T)) + d * (k - 1) / 2 * math.log(2 * math.pi)
            densities.append(math.log(p * q) + density)
            means.append(signal @ np.linalg.inv(noise + signal) @ g)
    pooled = pool_and_shrink(g, s2)
    assert pooled.log_evidence == pytest.approx(special.logsumexp(densities), rel=1e-10)
    np.testing.assert_allclose(
        pooled.mean, np.tensordot(special.softmax(densities), np.array(means), axes=1), atol=1e-12
    )


@pytest.mark.parametrize("k", [2, 3, 20])
def test_skewed_posteriors_against_adaptive_quadrature(k: int) -> None:
    # A hundred cells approximate the posterior mean to a twentieth of the noise. The largest error is at a pole in 1.
    deviation = 0.05
    # At k = 20, the posterior of an estimate of 0.97 would be outside of the window.
    frequencies = [-0.04, 0.02, 0.1, 0.45, *([0.97] if k < 20 else [])]
    for f in frequencies:
        rest = np.full(k - 1, (1 - f) / (k - 1))
        g = (np.array([f, *rest]) - 1 / k)[None]
        means, _ = skewed_posteriors(g, np.full((1, k), deviation**2))
        for a, mean in zip(CONCENTRATIONS, means[:, 0, 0], strict=True):
            b = (k - 1) * a

            def moment(power: int, f: float = f, a: float = a, b: float = b) -> float:
                # x = t^(1/a) near 0 and 1 - x = t^(1/b) near 1 remove the poles.
                def law(x: float) -> float:
                    return math.exp(-((f - x) ** 2) / (2 * deviation**2))

                def near_zero(t: float) -> float:
                    x = t ** (1 / a)
                    return float(x**power * (1 - x) ** (b - 1) * law(x) / a)

                def near_one(t: float) -> float:
                    x = 1 - t ** (1 / b)
                    return float(x**power * x ** (a - 1) * law(x) / b)

                options: dict[str, Any] = {"limit": 500, "epsabs": 0, "epsrel": 1e-9}
                total = integrate.quad(near_zero, 0, 0.5**a, points=[0.5**a * 0.9], **options)[0]
                return float(total + integrate.quad(near_one, 0, 0.5**b, points=[0.5**b * 0.9], **options)[0])

            assert mean == pytest.approx(moment(1) / moment(0), abs=deviation / 20)


def test_either_parameter_of_the_priors_may_be_shared() -> None:
    z, s2 = np.array([[0.1, 0.3, 0.6]]), np.full((1, 3), 0.01)
    one, three = np.full((1, 1, 1), 0.5), np.array([0.5, 1.0, 3.0])[:, None, None]
    for first, second in ((one, three), (three, one)):
        means, evidences = beta_posteriors(z, s2, first, second)
        for i, (a, b) in enumerate(zip(*np.broadcast_arrays(first, second), strict=True)):
            mean, evidence = beta_posteriors(z, s2, a[None], b[None])
            np.testing.assert_array_equal(means[i], mean[0])
            np.testing.assert_array_equal(evidences[i], evidence[0])


def test_large_domains_do_not_underflow() -> None:
    # (1 - x)^b with b = 3 k would be zero. One value has nearly everything, which is far from what the Beta
    # distributions expect. Without a model of its own, it is drawn towards them by at most six standard errors (the
    # window).
    k = 5000
    f = np.full(k, 0.02 / (k - 1))
    f[7] = 0.98
    g, s2 = (f - f.mean())[None], np.full((1, k), 1e-4)
    first, present = decode_group(g, s2, dominant=False), decode_group(g, s2)
    assert 0.98 - 0.06 - 1e-9 < first[0, 7] < 0.98 - 0.03
    assert abs(present[0, 7] - 0.98) < 0.01
    for found in (first, present):
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("share", "deviation"), [(0.7, 0.02), (0.97, 0.05), (1.05, 0.02), (1.15, 0.05)])
def test_a_free_share_is_a_normal_law_cut_at_one(share: float, deviation: float) -> None:
    k = 16
    f = spike(k, share)
    s2 = np.full((1, k), deviation**2)
    g = f - f.mean()
    assert dominant_attributes(g, s2).tolist() == [0]
    means, evidences = dominant_posteriors(g, s2)
    cut = stats.truncnorm((0 - share) / deviation, (1 - share) / deviation, share, deviation)
    np.testing.assert_allclose(means[:, 0, 3], cut.mean(), atol=deviation / 20)
    # The other values have a Beta distribution with the mean (1 - s)/(k - 1). The evidence is a mean over that
    # distribution's quantiles.
    rest, ranks = 1 - cut.mean(), (np.arange(4000) + 0.5) / 4000
    for i, a in enumerate(CONCENTRATIONS):
        other = stats.beta(a, a * (k - 1) / rest - a)
        assert other.mean() == pytest.approx(rest / (k - 1))
        quantiles = np.tile(other.ppf(ranks), (k, 1))
        quantiles[3] = ranks
        likelihoods = np.exp(-((f[0][:, None] - quantiles) ** 2) / (2 * deviation**2)).mean(axis=1)
        expected = (k - 1) / k * np.sum(np.log(likelihoods) - np.log(deviation)) + (k - 1) / 2 * math.log1p(-1 / k)
        assert evidences[i, 0] == pytest.approx(expected, abs=0.1)


def test_only_certain_majorities_of_large_domains_are_dominant() -> None:
    def found(k: int, share: float, deviation: float) -> list[int]:
        f = np.concatenate([np.full((1, k), 1 / k), spike(k, share)])
        return list(dominant_attributes(f - 1 / k, np.full((2, k), deviation**2)))

    assert found(16, 0.6, 0.02) == [1]
    assert found(16, 0.6, 0.03) == []
    assert found(15, 0.9, 0.02) == []
    assert found(100, 0.9, 0.02) == [1]


def test_without_a_dominant_category_both_versions_are_the_same() -> None:
    for d, k in ((3, 40), (2, 15), (5, 2)):
        g, s2 = a_group(d, k, 4, 0.02)
        np.testing.assert_array_equal(decode_group(g, s2), decode_group(g, s2, dominant=False))
    f, s2 = spike(20, 0.99, 3), np.full((3, 20), 1e-4)
    g = f - f.mean(axis=1, keepdims=True)
    assert (decode_group(g, s2) != decode_group(g, s2, dominant=False)).any()


GROUPS = st.tuples(
    st.integers(1, 6), st.integers(2, 12), st.integers(0, 2**32), st.sampled_from([1e-4, 0.02, 0.3, 5.0])
)


@given(GROUPS)
def test_rows_are_distributions(group: tuple[int, int, int, float]) -> None:
    decoded = decode_group(*a_group(*group))
    assert (decoded >= 0).all()
    np.testing.assert_allclose(decoded.sum(axis=1), 1, atol=1e-12)


@given(GROUPS)
def test_the_order_of_categories_and_attributes_does_not_matter(group: tuple[int, int, int, float]) -> None:
    g, s2 = a_group(*group)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(group[0])[:, None], rng.permutation(group[1])
    decoded = decode_group(g, s2)
    np.testing.assert_allclose(decode_group(g[rows, columns], s2[rows, columns]), decoded[rows, columns], atol=1e-9)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 8.0, 32.0])
@pytest.mark.parametrize("counts", [[[1, 0]], [[0, 1], [1, 0]], [[1, 0, 0]], [[10**12, 0]], [[3, 0, 0, 0, 0]] * 6])
def test_few_reports_many_reports_and_extreme_budgets(epsilon: float, counts: list[list[int]]) -> None:
    decoded = table(hierarchical(of_counts(len(counts[0]), epsilon, counts)))
    assert (decoded >= 0).all()
    np.testing.assert_allclose(decoded.sum(axis=1), 1, atol=1e-9)


def test_shrinking_helps_where_there_is_nothing_to_pool() -> None:
    # One attribute has 64 values, and most of them are rare. The test has 40 collections and is one-sided at 1e-6.
    mechanism, rng, runs = SubsetSelection(64, 1.0), SimulationRandomness(23), 40
    differences = np.empty(runs)
    for i in range(runs):
        counts = rng.generator.multinomial(20_000, rng.generator.dirichlet(np.full(64, 0.3)))
        raw = mechanism.estimate(mechanism.simulate_aggregate(counts, rng))
        projected, decoded = (
            np.sum((one.frequencies - counts / 20_000) ** 2) for one in (norm_sub(raw), hierarchical(raw))
        )
        differences[i] = projected - decoded
    assert differences.mean() > 4.76 * differences.std(ddof=1) / math.sqrt(runs)


def test_equal_frequencies_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = SimulationRandomness(8)
    mechanism = AdaptiveSMP((600,) * 3, 2.0)
    truth = np.minimum(rng.generator.geometric(0.02, (4000, 3)) - 1, 599)
    truth[:, 0] = np.where(truth[:, 0] < 80, 3, truth[:, 0])  # this category is dominant
    raw = mechanism.estimate(mechanism.aggregate(mechanism.randomize(truth, rng)))
    seen = decoded(monkeypatch)
    quick = hierarchical(raw)
    few = sum(seen)
    monkeypatch.setattr(shared_domain, "_different", lambda z, _: (np.arange(len(z)),) * 2)
    slow = hierarchical(raw)
    assert few < (sum(seen) - few) / 3
    for j in range(3):
        np.testing.assert_array_equal(quick[j].frequencies, slow[j].frequencies)


def test_of_a_large_domain_few_frequencies_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prior of a frequency may come from other attributes' frequencies of its category, which is often the same."""
    rng = SimulationRandomness(3)
    smp = SMP((8_000,) * 4, 1.0)
    records = np.stack(
        [rng.generator.choice(8_000, 600, p=rng.generator.dirichlet(np.ones(8_000))) for _ in range(4)], 1
    )
    raw = smp.estimate(smp.aggregate(smp.randomize(records, rng)))
    seen = decoded(monkeypatch)
    hierarchical(raw)
    # Eight calls have counts of 0 to 3. So 8,000 categories have only a few patterns in each call.
    assert max(seen) <= 4**4
