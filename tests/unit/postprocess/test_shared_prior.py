"""The hierarchical decoder: known answers, two kinds of models, invariances, gains, and refusals."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, OUE, SMP, SPL, Estimate, RecordEstimate, SimulationRandomness, SubsetSelection
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.postprocess import norm_sub, postprocess
from deniable.postprocess.shared_prior import hierarchical, noise_variances, shared_domains
from deniable.records.fake_data import RSFD
from tests.unit.postprocess.decoded_laws import CASES, Floats, of_counts, spike, table

# ---------------------------------------------------------------- known answers


@CASES
def test_vectors_from_counts(case: dict[str, Any]) -> None:
    raw = of_counts(case["k"], case["eps"], case["counts"])
    np.testing.assert_allclose(table(raw), case["estimate"], rtol=0, atol=1e-10)
    np.testing.assert_allclose([noise_variances(one) for one in raw.values()], case["s2"], rtol=1e-10)
    for dominant in (True, False):
        np.testing.assert_allclose(table(hierarchical(raw, dominant=dominant)), case["decoded"], rtol=0, atol=1e-10)


# ---------------------------------------------------------------- a dominant category


def test_a_dominant_category_no_longer_loses_to_norm_sub() -> None:
    # The runs are paired over 30 collections. Each difference is at least 4.76 of its standard errors (one-sided 1e-6).
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
    # Centred frequencies have people and noise drawn anew in 3000 runs. Each variance is within 5 of its standard
    # errors (23 comparisons, family-wise error 1.4e-5). Without the correction for OUE, the ratio is 1.5 at k = 3.
    rng, runs, n, k = SimulationRandomness(11), 3000, 2000, mechanism.k
    truth = np.full(k, 0.5 / (k - 1))
    truth[0] = 0.5
    population = Estimate(truth, n, *_noise(mechanism))
    if mechanism.name == "OUE":
        population = Estimate(truth + 0.01, n, *_noise(mechanism))  # any sum except one; the projection undoes it
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
        ([["a", "b"], ["b"]], "every attribute must be in at most one group, got “b” in two groups"),
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


# ---------------------------------------------------------------- labels, steps and refusals


def test_it_names_its_step_keeps_the_raw_estimate_and_has_no_intervals() -> None:
    raw = of_counts(3, 1.0, [[50, 30, 20], [60, 30, 10]])
    result = hierarchical(raw)
    for j in (0, 1):
        assert result[j].processing == ("hierarchical",)
        assert result[j].raw is raw[j]
        assert np.isnan(result[j].standard_errors).all()
        with pytest.raises(NoIntervalError, match="no valid interval is known after the step “hierarchical"):
            result[j].interval(0.95)


def test_processed_and_biased_estimates_are_refused() -> None:
    raw = of_counts(3, 1.0, [[50, 30, 20], [60, 30, 10]])
    with pytest.raises(NoIntervalError, match="got an estimate that was already processed by “norm-sub”; use"):
        hierarchical(norm_sub(raw))
    with pytest.raises(NoIntervalError):
        hierarchical(hierarchical(raw[0]))
    # An estimate that is biased from the start has no raw estimate behind it.
    with pytest.raises(NoIntervalError, match=r"got an estimate that was already processed by “copies \(biased\)”$"):
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


def test_no_noise_at_all() -> None:
    # Without noise everything is known: the variance is bounded below, and nothing divides by zero.
    raw = Estimate(np.array([1.0, 0.0, 0.0]), 10, np.array(0.0), np.array(0.0))
    np.testing.assert_allclose(hierarchical(raw).frequencies, [1, 0, 0], atol=1e-9)
    beyond = Estimate(np.array([3.0, -1.0, -1.0]), 10, np.array(0.0), np.array(0.0))
    np.testing.assert_allclose(hierarchical(beyond).frequencies, [1, 0, 0], atol=1e-9)


def test_an_open_dictionary_with_one_found_category() -> None:
    assert hierarchical(Estimate(np.array([0.7]), 10, np.array(1.0), np.array(1.0))).frequencies.tolist() == [1.0]


# ---------------------------------------------------------------- gains


def correlated_records(n: int, d: int, copies: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """SynA: X_1 ~ (.4, .3, .2, .1); X_j equals X_1 with probability `copies`, else is uniform on the other values."""
    first = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    kept = rng.random((n, d)) < copies
    kept[:, 0] = True
    return np.where(kept, first[:, None], (first[:, None] + rng.integers(1, 4, (n, d))) % 4)


def test_pooling_beats_norm_sub_on_correlated_attributes() -> None:
    # The runs are paired over 60 collections. Each difference of mean squared errors is at least 4.76 of its standard
    # errors (one-sided 1e-6). Decoding every attribute alone, which is the decoder without its pool, does not reach the
    # pooled error.
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
    # Measured independently in this setting, the errors are 1.96e-3 and 7.5e-4, to two or three digits.
    for found, expected, digits in ((projected, 1.96e-3, 5e-6), (pooled, 7.5e-4, 5e-6)):
        assert abs(found.mean() - expected) < 4.9 * found.std(ddof=1) / math.sqrt(runs) + digits


def test_split_budgets_are_decoded_too() -> None:
    spl, rng = SPL(sizes=(3, 3), epsilon=2.0), SimulationRandomness(1)
    raw = spl.estimate(spl.aggregate(spl.randomize(rng.generator.integers(0, 3, (500, 2)), rng)))
    result = hierarchical(raw)
    np.testing.assert_allclose(table(result).sum(axis=1), 1, atol=1e-12)
