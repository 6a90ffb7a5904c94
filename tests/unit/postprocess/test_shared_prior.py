"""The hierarchical decoder: known answers, the two kinds of models, invariances, what it gains, and what it refuses."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import integrate, special, stats

from deniable import GRR, OUE, SMP, SPL, AdaptiveSMP, Estimate, RecordEstimate, SimulationRandomness, SubsetSelection
from deniable.core import shared_domain
from deniable.core.aggregate import Aggregate
from deniable.core.shared_domain import (
    CONCENTRATIONS,
    beta_posteriors,
    decode_group,
    dominant_attributes,
    dominant_posteriors,
    pool_and_shrink,
    skewed_posteriors,
)
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.postprocess import norm_sub, postprocess
from deniable.postprocess.shared_prior import hierarchical, noise_variances, shared_domains
from deniable.records.fake_data import RSFD

Floats = NDArray[np.float64]
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "corr_rr_decoder.json").read_text())["cases"]
CASES = pytest.mark.parametrize("case", VECTORS, ids=lambda case: f"d{case['d']}-k{case['k']}-eps{case['eps']}")


def of_counts(k: int, epsilon: float, counts: list[list[int]]) -> RecordEstimate:
    grr = GRR(k, epsilon)
    rows = enumerate(counts)
    return RecordEstimate({j: grr.estimate(Aggregate(grr, np.array(row), int(sum(row)))) for j, row in rows})


def table(estimates: RecordEstimate) -> Floats:
    return np.stack([one.frequencies for one in estimates.values()])


def a_group(d: int, k: int, seed: int, deviation: float = 0.1) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    s2 = deviation**2 * rng.uniform(0.5, 2, (d, k))
    f = rng.dirichlet(np.full(k, 0.5), d) + rng.normal(0, np.sqrt(s2))
    return f - f.mean(axis=1, keepdims=True), s2


# ---------------------------------------------------------------- known answers


@CASES
def test_vectors_of_pooling_alone(case: dict[str, Any]) -> None:
    pooled = pool_and_shrink(np.array(case["g"]), np.array(case["s2"]))
    np.testing.assert_allclose(pooled.mean, case["A_posterior_mean_of_g"], rtol=0, atol=1e-12)
    assert pooled.log_evidence == pytest.approx(case["A_log_evidence"], abs=1e-10)


@CASES
def test_vectors_of_the_whole(case: dict[str, Any]) -> None:
    # None of them has a dominant category: both versions decode the same.
    for dominant in (True, False):
        decoded = decode_group(np.array(case["g"]), np.array(case["s2"]), dominant=dominant)
        np.testing.assert_allclose(decoded, case["decoded"], rtol=0, atol=1e-10)


@CASES
def test_vectors_from_counts(case: dict[str, Any]) -> None:
    raw = of_counts(case["k"], case["eps"], case["counts"])
    np.testing.assert_allclose(table(raw), case["estimate"], rtol=0, atol=1e-10)
    np.testing.assert_allclose([noise_variances(one) for one in raw.values()], case["s2"], rtol=1e-10)
    for dominant in (True, False):
        np.testing.assert_allclose(table(hierarchical(raw, dominant=dominant)), case["decoded"], rtol=0, atol=1e-10)


# ---------------------------------------------------------------- the models


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
            # k - 1 orthonormal directions, each a draw of N(0, noise + signal).
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
    # A hundred cells approximate the posterior mean: to a twentieth of the noise. The largest error is at a pole in 1.
    deviation = 0.05
    # At k = 20 an estimate of 0.97 would have its posterior outside the window.
    frequencies = [-0.04, 0.02, 0.1, 0.45, *([0.97] if k < 20 else [])]
    for f in frequencies:
        rest = np.full(k - 1, (1 - f) / (k - 1))
        g = (np.array([f, *rest]) - 1 / k)[None]
        means, _ = skewed_posteriors(g, np.full((1, k), deviation**2))
        for a, mean in zip(CONCENTRATIONS, means[:, 0, 0], strict=True):
            b = (k - 1) * a

            def moment(power: int, f: float = f, a: float = a, b: float = b) -> float:
                # x = t^(1/a) near 0 and 1 - x = t^(1/b) near 1 take the poles away.
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
    # (1 - x)^b with b = 3 k would be zero. One value has nearly everything, far from what the Beta laws expect: without
    # a model of its own it is drawn to them by six standard errors (the window) at most.
    k = 5000
    f = np.full(k, 0.02 / (k - 1))
    f[7] = 0.98
    g, s2 = (f - f.mean())[None], np.full((1, k), 1e-4)
    first, present = decode_group(g, s2, dominant=False), decode_group(g, s2)
    assert 0.98 - 0.06 - 1e-9 < first[0, 7] < 0.98 - 0.03
    assert abs(present[0, 7] - 0.98) < 0.01
    for decoded in (first, present):
        assert (decoded >= 0).all()
        assert decoded.sum() == pytest.approx(1, abs=1e-9)


# ---------------------------------------------------------------- a dominant category


def spike(k: int, share: float, d: int = 1) -> Floats:
    f = np.tile(np.random.default_rng(k).dirichlet(np.full(k - 1, 0.5)) * (1 - share), (d, 1))
    return np.insert(f, 3, share, axis=1)


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
    # The others: Beta with the mean (1 - s)/(k - 1). The evidence as a mean over that law's quantiles.
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


def test_a_dominant_category_no_longer_loses_to_norm_sub() -> None:
    # Paired over 30 collections: each difference at least 4.76 of its standard errors (one-sided 1e-6).
    mechanism, rng, runs, n = SubsetSelection(256, 4.0), SimulationRandomness(29), 30, 10_000
    errors = np.empty((runs, 3))
    for i in range(runs):
        counts = rng.generator.multinomial(n, spike(256, 0.99)[0])
        raw = mechanism.estimate(mechanism.simulate_aggregate(counts, rng))
        answers = hierarchical(raw), norm_sub(raw), hierarchical(raw, dominant=False)
        errors[i] = [np.sum((one.frequencies - counts / n) ** 2) for one in answers]
    for better, worse in ((0, 1), (1, 2)):
        differences = errors[:, worse] - errors[:, better]
        assert differences.mean() > 4.76 * differences.std(ddof=1) / math.sqrt(runs)


# ---------------------------------------------------------------- noise variances


@pytest.mark.parametrize("mechanism", [GRR(5, 1.0), GRR(2, 0.1), SubsetSelection(9, 1.0), SubsetSelection(6, 0.3, 2)])
def test_variance_of_fixed_support_is_that_of_a_report_proportion(mechanism: Any) -> None:
    rng = SimulationRandomness(3)
    estimate = mechanism.estimate(mechanism.simulate_aggregate(np.arange(mechanism.k) * 40, rng))
    p, q = (float(value) for value in mechanism.support_probabilities)
    proportion = q + (p - q) * norm_sub(estimate).frequencies
    np.testing.assert_allclose(
        noise_variances(estimate), proportion * (1 - proportion) / (estimate.n * (p - q) ** 2), rtol=1e-9
    )


@pytest.mark.parametrize("mechanism", [GRR(4, 0.5), SubsetSelection(8, 0.5), OUE(3, 0.5), OUE(8, 0.5)])
def test_variances_are_those_of_repeated_collections(mechanism: Any) -> None:
    # Centred frequencies, people and noise drawn anew: 3000 runs, each variance within 5 of its standard errors
    # (23 comparisons, family-wise error 1.4e-5). Without the correction for OUE the ratio is 1.5 at k = 3.
    rng, runs, n, k = SimulationRandomness(11), 3000, 2000, mechanism.k
    truth = np.full(k, 0.5 / (k - 1))
    truth[0] = 0.5
    population = Estimate(truth, n, *_noise(mechanism))
    if mechanism.name == "OUE":
        population = Estimate(truth + 0.01, n, *_noise(mechanism))  # any sum but one; the projection undoes it
    found = np.empty((runs, k))
    for i in range(runs):
        aggregate = mechanism.simulate_aggregate(rng.generator.multinomial(n, truth), rng)
        f = mechanism.estimate(aggregate).frequencies
        found[i] = f - f.mean()
    np.testing.assert_allclose(found.var(axis=0) / noise_variances(population), 1, atol=5 * math.sqrt(2 / runs))


def _noise(mechanism: Any) -> tuple[Floats, Floats]:
    p, q = (float(value) for value in mechanism.support_probabilities)
    return np.array(q * (1 - q) / (p - q) ** 2), np.array(p * (1 - p) / (p - q) ** 2)


def test_which_errors_cancel_is_seen_from_the_sum() -> None:
    rng, counts = SimulationRandomness(5), np.array([700, 200, 90, 10, 0])
    for cancelling in (GRR(5, 1e-3), GRR(5, 8.0), SubsetSelection(5, 0.3, 2)):
        estimate = cancelling.estimate(cancelling.simulate_aggregate(counts, rng))
        assert estimate.frequencies.sum() == pytest.approx(1, abs=1e-9)
    fakes = RSFD(sizes=(5, 3), epsilon=1.0)
    records = rng.generator.integers(0, 3, (1000, 2))
    for one in fakes.estimate(fakes.aggregate(fakes.randomize(records, rng))).values():
        assert one.frequencies.sum() == pytest.approx(1, abs=1e-9)
    for independent in (OUE(5, 1.0), CountMeanSketch(5, 1.0, 2)):
        reports = independent.randomize(np.repeat(np.arange(5), counts), rng)
        estimate = independent.estimate(independent.aggregate(reports))
        assert abs(estimate.frequencies.sum() - 1) > 1e-6


# ---------------------------------------------------------------- a distribution, whatever the order

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


def test_the_order_of_groups_and_of_their_attributes_does_not_matter() -> None:
    counts = [[500, 300, 200], [450, 350, 200], [100, 100, 800], [150, 50, 800]]
    raw = of_counts(3, 1.0, counts)
    result = hierarchical(raw, groups=[(0, 1), (2, 3)])
    other = hierarchical(raw, groups=[(3, 2), (1, 0)])
    backwards = hierarchical(RecordEstimate({j: raw[j] for j in (3, 2, 1, 0)}), groups=[(0, 1), (2, 3)])
    assert list(other) == [0, 1, 2, 3]
    assert list(backwards) == [3, 2, 1, 0]
    for j in range(4):
        np.testing.assert_allclose(other[j].frequencies, result[j].frequencies, atol=1e-12)
        np.testing.assert_allclose(backwards[j].frequencies, result[j].frequencies, atol=1e-12)


def test_much_data_is_left_alone() -> None:
    raw = of_counts(4, 4.0, [[10**8, 2 * 10**8, 3 * 10**8, 10**8], [10**8, 10**8, 10**8, 4 * 10**8]])
    np.testing.assert_allclose(table(hierarchical(raw)), table(norm_sub(raw)), atol=2e-5)


# ---------------------------------------------------------------- groups


def test_attributes_share_a_domain_if_they_have_the_same_labels() -> None:
    raw = of_counts(2, 1.0, [[60, 40], [70, 30], [80, 20], [50, 50], [10, 90]])
    yes_no, no_yes = ["yes", "no"], ["no", "yes"]
    named = RecordEstimate(
        {"a": raw[0].named("a", yes_no), "b": raw[1], "c": raw[2].named("c", yes_no), "d": raw[3], "e": raw[4]}
        | {"f": raw[4].named("f", no_yes)}
    )
    assert shared_domains(named) == [("a", "c"), ("b", "d", "e"), ("f",)]
    result = hierarchical(named)
    assert list(result) == ["a", "b", "c", "d", "e", "f"]
    pair = hierarchical(RecordEstimate({"a": named["a"], "c": named["c"]}))
    np.testing.assert_array_equal(result["c"].frequencies, pair["c"].frequencies)
    np.testing.assert_array_equal(result["f"].frequencies, hierarchical(named["f"]).frequencies)


def test_given_groups_pool_across_labels_and_leave_the_others_alone() -> None:
    raw = of_counts(2, 0.5, [[60, 40], [70, 30], [80, 20]])
    named = RecordEstimate({"a": raw[0].named("a", ["x", "y"]), "b": raw[1].named("b", ["u", "v"]), "c": raw[2]})
    result = hierarchical(named, groups=[["a", "b"]])
    together = hierarchical(RecordEstimate({0: raw[0], 1: raw[1]}))
    np.testing.assert_array_equal(result["a"].frequencies, together[0].frequencies)
    np.testing.assert_array_equal(result["c"].frequencies, hierarchical(raw[2]).frequencies)
    assert result["a"].labels == ("x", "y")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["a", "z"]], "groups must name attributes of the estimate, but the estimate has no attribute “z”"),
        ([["a", "b"], ["b"]], "every attribute must be in one group at most, got “b” in two groups"),
        ([["a", "c"]], "all attributes of a group must have the same number of categories, got “a”, “c” with 2, 3"),
        (["ab"], "groups must be sequences of attribute names, got “ab”"),
        ([3], "groups must be sequences of attribute names, got 3"),
    ],
)
def test_wrong_groups(groups: Any, message: str) -> None:
    two, three = of_counts(2, 1.0, [[6, 4], [7, 3]]), of_counts(3, 1.0, [[6, 4, 1]])
    raw = RecordEstimate({"a": two[0], "b": two[1], "c": three[0]})
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        hierarchical(raw, groups=groups)


def test_groups_of_a_single_estimate() -> None:
    single: Any = of_counts(2, 1.0, [[6, 4]])[0]
    with pytest.raises(
        InvalidParameterError, match="groups must be left out, because the estimate has only one attribute"
    ):
        hierarchical(single, groups=[[0]])


# ---------------------------------------------------------------- what it says, keeps and refuses


def test_it_names_its_step_keeps_the_raw_estimate_and_has_no_intervals() -> None:
    raw = of_counts(3, 1.0, [[50, 30, 20], [60, 30, 10]])
    result = hierarchical(raw)
    for j in (0, 1):
        assert result[j].processing == ("hierarchical",)
        assert result[j].raw is raw[j]
        assert np.isnan(result[j].standard_errors).all()
        with pytest.raises(NoIntervalError, match="no valid interval is known after hierarchical"):
            result[j].interval(0.95)


def test_processed_and_biased_estimates_are_refused() -> None:
    raw = of_counts(3, 1.0, [[50, 30, 20], [60, 30, 10]])
    with pytest.raises(NoIntervalError, match="got an estimate that was already processed by norm-sub; use"):
        hierarchical(norm_sub(raw))
    with pytest.raises(NoIntervalError):
        hierarchical(hierarchical(raw[0]))
    # An estimate that is biased from the start has no raw one behind it.
    with pytest.raises(NoIntervalError, match=r"got an estimate that was already processed by copies \(biased\)$"):
        hierarchical(replace(raw[0], processing=("copies (biased)",)))
    other: Any = np.array([0.5, 0.5])
    with pytest.raises(
        InvalidInputError, match="must be an Estimate or a RecordEstimate, got an object of the type ndarray"
    ):
        hierarchical(other)


def test_by_name() -> None:
    raw = of_counts(3, 1.0, [[50, 30, 20], [60, 30, 10]])
    result = postprocess("hierarchical", raw)
    assert isinstance(result, RecordEstimate)
    np.testing.assert_array_equal(table(result), table(hierarchical(raw)))


# ---------------------------------------------------------------- degenerate inputs


def test_attributes_without_reports_stay_unknown_and_are_not_pooled() -> None:
    smp = SMP(sizes=(3, 3, 3), epsilon=1.0)
    attributes, values = np.array([0, 0, 0, 2, 2], dtype=np.uint8), np.array([0, 0, 1, 0, 2], dtype=np.uint8)
    raw = smp.estimate(smp.aggregate((attributes, values)))
    result = hierarchical(raw)
    assert np.isnan(result[1].frequencies).all()
    assert result[1].processing == ("hierarchical",)
    pair = hierarchical(RecordEstimate({0: raw[0], 2: raw[2]}))
    for j in (0, 2):
        np.testing.assert_array_equal(result[j].frequencies, pair[j].frequencies)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 8.0, 32.0])
@pytest.mark.parametrize("counts", [[[1, 0]], [[0, 1], [1, 0]], [[1, 0, 0]], [[10**12, 0]], [[3, 0, 0, 0, 0]] * 6])
def test_few_reports_many_reports_and_extreme_budgets(epsilon: float, counts: list[list[int]]) -> None:
    decoded = table(hierarchical(of_counts(len(counts[0]), epsilon, counts)))
    assert (decoded >= 0).all()
    np.testing.assert_allclose(decoded.sum(axis=1), 1, atol=1e-9)


def test_no_noise_at_all() -> None:
    # What nobody hides is known: the variance is bounded below, and nothing divides by zero.
    raw = Estimate(np.array([1.0, 0.0, 0.0]), 10, np.array(0.0), np.array(0.0))
    np.testing.assert_allclose(hierarchical(raw).frequencies, [1, 0, 0], atol=1e-9)
    beyond = Estimate(np.array([3.0, -1.0, -1.0]), 10, np.array(0.0), np.array(0.0))
    np.testing.assert_allclose(hierarchical(beyond).frequencies, [1, 0, 0], atol=1e-9)


def test_an_open_dictionary_with_one_found_category() -> None:
    assert hierarchical(Estimate(np.array([0.7]), 10, np.array(1.0), np.array(1.0))).frequencies.tolist() == [1.0]


# ---------------------------------------------------------------- what it gains


def correlated_records(n: int, d: int, copies: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """SynA: X_1 ~ (.4, .3, .2, .1); X_j equals X_1 with probability `copies`, else is uniform on the other values."""
    first = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    kept = rng.random((n, d)) < copies
    kept[:, 0] = True
    return np.where(kept, first[:, None], (first[:, None] + rng.integers(1, 4, (n, d))) % 4)


def test_pooling_beats_norm_sub_on_correlated_attributes() -> None:
    # Paired over 60 collections: each difference of mean squared errors is at least 4.76 of its standard errors (one-
    # sided 1e-6). Decoding every attribute alone, the decoder without its pool, does not reach the pooled error.
    smp, rng, n, runs = SMP(sizes=(4,) * 4, epsilon=0.5), SimulationRandomness(17), 20_000, 60
    errors = np.empty((runs, 3))
    for i in range(runs):
        records = correlated_records(n, 4, 0.9, rng.generator)
        truth = np.stack([np.bincount(column, minlength=4) / n for column in records.T])
        raw = smp.estimate(smp.aggregate(smp.randomize(records, rng)))
        answers = norm_sub(raw), hierarchical(raw, groups=[]), hierarchical(raw)
        errors[i] = [np.mean((table(answer) - truth) ** 2) for answer in answers]

    def z(differences: Floats) -> float:
        return float(differences.mean() / differences.std(ddof=1) * math.sqrt(runs))

    projected, alone, pooled = errors.T
    assert z(projected - pooled) > 4.76
    assert z(alone - pooled) > 4.76
    # Measured independently in this setting: 1.96e-3 and 7.5e-4, each to three or two digits.
    for found, expected, digits in ((projected, 1.96e-3, 5e-6), (pooled, 7.5e-4, 5e-6)):
        assert abs(found.mean() - expected) < 4.9 * found.std(ddof=1) / math.sqrt(runs) + digits


def test_shrinking_helps_where_there_is_nothing_to_pool() -> None:
    # One attribute of 64 values, most of them rare: 40 collections, one-sided 1e-6.
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


def test_split_budgets_are_decoded_too() -> None:
    spl, rng = SPL(sizes=(3, 3), epsilon=2.0), SimulationRandomness(1)
    raw = spl.estimate(spl.aggregate(spl.randomize(rng.generator.integers(0, 3, (500, 2)), rng)))
    result = hierarchical(raw)
    np.testing.assert_allclose(table(result).sum(axis=1), 1, atol=1e-12)


def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return what will be the number of frequencies of every block that is decoded."""
    seen: list[int] = []
    posteriors = shared_domain._block_posteriors

    def counted(z: Any, *others: Any) -> Any:
        seen.append(len(z))
        return posteriors(z, *others)

    monkeypatch.setattr(shared_domain, "_block_posteriors", counted)
    return seen


def test_equal_frequencies_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = SimulationRandomness(8)
    mechanism = AdaptiveSMP((600,) * 3, 2.0)
    truth = np.minimum(rng.generator.geometric(0.02, (4000, 3)) - 1, 599)
    truth[:, 0] = np.where(truth[:, 0] < 80, 3, truth[:, 0])  # dominant
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
    """A frequency's prior may come from what other attributes say of its category, which is as often the same."""
    rng = SimulationRandomness(3)
    smp = SMP((8_000,) * 4, 1.0)
    records = np.stack(
        [rng.generator.choice(8_000, 600, p=rng.generator.dirichlet(np.ones(8_000))) for _ in range(4)], 1
    )
    raw = smp.estimate(smp.aggregate(smp.randomize(records, rng)))
    seen = decoded(monkeypatch)
    hierarchical(raw)
    # Eight calls, counts of 0 to 3: a few patterns each, of 8,000 categories.
    assert max(seen) <= 4**4
