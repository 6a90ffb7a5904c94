"""Questions of an estimate: unbiased over the enumerated channel, with its variance; and their intervals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable import GRR, OUE, RSFD, SMP, SPL, SUE, AdaptiveSMP, Estimate, SimulationRandomness, SubsetSelection
from deniable.core.aggregate import Aggregate
from deniable.core.checks import Target
from deniable.core.estimate import affine_estimate
from deniable.core.support_counts import normal_quantile
from deniable.errors import InvalidParameterError, NoIntervalError, UnknownCategoryError
from deniable.postprocess import simplex
from deniable.records import RSRFD
from deniable.records.phases.two_phase import combine
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.research.baselines.projective_geometry import PGR


def _rows(reports: Any) -> list[Any]:
    """Return each report of a batch as a batch."""
    if isinstance(reports, tuple):
        n = len(reports[0])
        return [type(reports)(*(np.asarray(column)[[i]] for column in reports)) for i in range(n)]
    return [reports[[i]] for i in range(len(reports))]


def one_of(mechanism: Any, aggregate: Aggregate, scores: Any = None) -> Estimate:
    found = mechanism.estimate(aggregate)
    one: Estimate = found[0] if mechanism.records else found
    return replace(one, scores=None if scores is None else np.asarray(scores, dtype=float))


ORACLES: list[Any] = [
    GRR(k=4, epsilon=1.0),
    SubsetSelection(k=5, epsilon=0.7),
    OUE(k=3, epsilon=1.3),
    SUE(k=3, epsilon=0.9),
    HadamardEncoding(k=3, epsilon=1.0),
    PGR(k=4, epsilon=1.0),
]
RECORDS: list[Any] = [
    RSFD(sizes=(3, 2), epsilon=1.0),
    RSFD(sizes=(2, 2), epsilon=1.0, oracle="OUE", fakes="zero"),
    RSFD(sizes=(2, 2), epsilon=1.0, oracle="OUE", fakes="random"),
    RSRFD(sizes=(3, 2), epsilon=1.0, priors=((0.5, 0.3, 0.2), (0.6, 0.4))),
    SPL(sizes=(3, 2), epsilon=2.0),
]


@pytest.mark.parametrize("mechanism", ORACLES + RECORDS, ids=repr)
def test_answers_are_unbiased_and_have_the_variance_of_the_channel(mechanism: Any) -> None:
    """Exact expectation over all reports, of one contributor with each code, and of one drawn from the population."""
    k = mechanism.domain[0]
    reports, channel = _rows(mechanism.outputs()), mechanism.channel()
    # For records, these are the rows whose other attributes are 0.
    channel = channel[:: len(channel) // k] if mechanism.records else channel
    scores = np.arange(k) * 1.5 + 2000
    parts = [one_of(mechanism, mechanism.aggregate(row), scores) for row in reports]
    weights = {"some": np.arange(k) - 0.4 * k, "one": np.eye(1, k)[0], "several": (np.arange(k) > 0) * 1.0}
    questions = {name: [part.linear(w).value for part in parts] for name, w in weights.items()}
    questions["mean"] = [part.mean().value for part in parts]
    questions["up to 1"] = [float(part.cdf().values[1]) for part in parts]
    truths = weights | {"mean": scores, "up to 1": (np.arange(k) <= 1) * 1.0}
    for name, values in questions.items():
        expected = channel @ np.array(values)
        assert expected == pytest.approx(truths[name], abs=1e-9 * max(1, abs(truths[name]).max())), name
    f = np.arange(1, k + 1) / (k * (k + 1) / 2)
    joint = parts[0].joint
    assert joint is not None
    for w in weights.values():
        single = np.array([part.frequencies @ w for part in parts])
        exact = f @ (channel @ single**2 - (channel @ single) ** 2)
        assert joint(w, f) == pytest.approx(exact, rel=1e-12)


def at(mechanism: Any, counts: Any, scores: Any = None) -> Estimate:
    return one_of(mechanism, mechanism.simulate_aggregate(counts, SimulationRandomness(5)), scores)


def test_the_standard_error_is_the_exact_one_at_the_nearest_distribution() -> None:
    mechanism = SubsetSelection(k=6, epsilon=1.0)
    estimate = at(mechanism, [3500, 1000, 0, 0, 0, 500])
    raw = estimate.frequencies
    nearest = simplex(estimate).frequencies
    assert raw.min() < 0
    w = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    answer = estimate.linear(w)
    noise = mechanism.linear_variance(w, nearest, 5000)
    assert answer.standard_error == pytest.approx(math.sqrt(noise), rel=1e-12)
    sampling = float((w * w) @ nearest - (w @ nearest) ** 2) / 5000
    assert answer.standard_error_for("population") == pytest.approx(math.sqrt(noise + sampling), rel=1e-12)
    half = normal_quantile(0.05) * math.sqrt(noise)
    assert answer.interval(0.9) == pytest.approx((w @ raw - half, w @ raw + half), rel=1e-12)
    both = answer.interval(0.9, simultaneous=2)
    assert both == pytest.approx(answer.interval(0.95), rel=1e-12)
    assert answer.interval(0.9, target="population")[0] < answer.interval(0.9)[0]


def test_one_category_has_its_own_standard_error_and_interval() -> None:
    for mechanism in (OUE(k=4, epsilon=1.0), GRR(k=4, epsilon=3.0)):
        estimate = at(mechanism, [100, 10, 0, 0])
        for target in ("contributors", "population"):
            kind: Target = target
            lower, upper = estimate.interval(0.9, target=kind)
            answer = estimate.total("1")
            assert answer.interval(0.9, target=kind) == (lower[1], upper[1])
            assert answer.standard_error_for(kind) == estimate.standard_errors_for(kind)[1]
            turned = estimate.linear({"1": -2.0})
            assert turned.interval(0.9, target=kind) == (-2 * upper[1], -2 * lower[1])


def test_pooled_codes_have_the_interval_of_their_count() -> None:
    """For GRR, C(S) is a sum of two binomials with p + (s-1) q and s q: exact while few mistakes are expected."""
    mechanism = GRR(k=5, epsilon=4.0)
    estimate = at(mechanism, [30, 20, 5, 5, 0])
    p, q = map(float, mechanism.support_probabilities)
    by_hand = affine_estimate([int(estimate.support.counts[[1, 3]].sum())], 60, p + q, 2 * q)  # type: ignore[union-attr]
    answer = estimate.total(["1", "3"])
    lower, upper = by_hand.interval(0.9)
    assert answer.interval(0.9) == (lower[0], upper[0])
    assert answer.standard_error == by_hand.standard_errors[0]
    rest = estimate.total(["0", "2", "4"]).interval(0.9)
    assert rest == pytest.approx((1 - upper[0], 1 - lower[0]), abs=1e-12)
    # Two weights are one count and a constant, because frequencies of codes sum to one.
    twofold = estimate.linear([3.0, 7.0, 3.0, 7.0, 3.0])
    assert twofold.interval(0.9) == pytest.approx((3 + 4 * lower[0], 3 + 4 * upper[0]), abs=1e-12)
    everything = estimate.total(list("01234"))
    assert everything.value == pytest.approx(1.0)
    assert everything.standard_error == 0
    assert everything.interval() == pytest.approx((1.0, 1.0))


def test_unary_counts_are_not_pooled() -> None:
    """The bits of several values are not one bit: the pooled count would have another distribution."""
    estimate = at(SUE(k=4, epsilon=1.0), [1000, 500, 200, 300])
    answer = estimate.total(["0", "1"])
    assert answer.standard_error == pytest.approx(math.sqrt(2) * estimate.standard_errors[0], rel=1e-12)


def test_a_mean_does_not_depend_on_where_scores_begin() -> None:
    """A sum of OUE's noisy frequencies times 2,000 would depend on it."""
    estimate = at(OUE(k=4, epsilon=1.0), [1000, 500, 200, 300])
    near, far = estimate.mean([1, 2, 3, 4]), estimate.mean([2001, 2002, 2003, 2004])
    assert far.value - near.value == pytest.approx(2000, abs=1e-9)
    assert far.standard_error == pytest.approx(near.standard_error, rel=1e-9)
    assert far.standard_error < estimate.linear([2001, 2002, 2003, 2004]).standard_error / 100


def test_a_step_has_values_and_no_intervals() -> None:
    estimate = simplex(at(GRR(k=3, epsilon=1.0), [100, 200, 0], [1.0, 2.0, 3.0]))
    answer = estimate.mean()
    assert answer.value == pytest.approx(estimate.frequencies @ [1, 2, 3])
    assert math.isnan(answer.standard_error)
    for refused in (answer, estimate.total("1"), estimate.cdf(), estimate.quantiles()[0]):
        with pytest.raises(NoIntervalError, match="after the step “simplex”; use estimate"):
            refused.interval()


def test_what_is_not_determined_is_refused_and_single_categories_are_not() -> None:
    known = at(GRR(k=3, epsilon=1.0), [100, 200, 0])
    estimate = replace(known, joint=None, support=None)
    answer = estimate.linear([1.0, 2.0, 3.0])
    assert answer.value == pytest.approx(known.frequencies @ [1, 2, 3])
    with pytest.raises(NoIntervalError, match="not determined"):
        answer.interval()
    assert estimate.total("1").interval() == tuple(end[1] for end in estimate.interval())


def test_attributes_of_records_given_their_reports() -> None:
    """SMP: n_j of n report an attribute; among the contributors they are a sample without replacement."""
    records = np.array([[0, 1], [1, 2], [0, 0], [1, 1]] * 200)
    for mechanism in (SMP(sizes=(2, 3), epsilon=1.0, oracle="OUE"), AdaptiveSMP(sizes=(2, 3), epsilon=1.0)):
        aggregate = mechanism.aggregate(mechanism.randomize(records, SimulationRandomness(2)))
        estimate = mechanism.estimate(aggregate)[1]
        w, held = np.array([1.0, 2.0, 4.0]), simplex(estimate).frequencies
        noise = mechanism.oracles[1].linear_variance(w, held, estimate.n)
        drawn = (1 / estimate.n - 1 / 800) * float((w * w) @ held - (w @ held) ** 2)
        assert 0 < estimate.n < 800
        assert estimate.linear(w).standard_error == pytest.approx(math.sqrt(noise + drawn), rel=1e-12)
    alone = mechanism.estimate(mechanism.aggregate(mechanism.randomize(records[:1], SimulationRandomness(1))))
    empty = next(one for one in alone.values() if one.n == 0)
    assert all(map(math.isnan, (empty.linear(np.arange(empty.k)).value, *empty.total("0").interval())))


def test_phases_together_have_the_variance_of_their_parts() -> None:
    mechanisms = SPL(sizes=(4, 2), epsilon=2.0), SPL(sizes=(4, 2), epsilon=1.0)
    counts = [[400, 300, 200, 100], [600, 400]]
    rng = SimulationRandomness(3)
    parts = [one.estimate(one.simulate_aggregate(counts, rng)) for one in mechanisms]
    both = combine(*parts, weights="counts", learned=False)[0]
    w, held = np.array([1.0, 2.0, 3.0, 5.0]), simplex(both).frequencies
    exact = sum(0.25 * one.linear_variance(w, held, 1000, 0) for one in mechanisms)
    assert both.linear(w).standard_error == pytest.approx(math.sqrt(exact), rel=1e-9)


def test_a_part_of_an_estimate_asks_the_whole() -> None:
    estimate = at(SubsetSelection(k=6, epsilon=1.0), [3000, 1000, 0, 0, 500, 500])
    part = estimate.top(3)
    w = np.array([1.0, -1.0, 2.0])
    spread = np.zeros(6)
    spread[[int(label) for label in part.labels]] = w
    assert part.linear(w).interval() == estimate.linear(spread).interval()
    assert part["0"].total("0").interval() == estimate.total("0").interval()
    with pytest.raises(
        InvalidParameterError, match="mean needs an estimate of all categories, got an estimate of only 3"
    ):
        part.mean([1, 2, 3])
    queried = SUE(k=5, epsilon=1.0)
    aggregate = queried.simulate_aggregate([100, 100, 100, 50, 50], SimulationRandomness(1))
    some = queried.estimate(aggregate, [4, 0])
    assert some.linear([1.0, 1.0]).standard_error == pytest.approx(math.sqrt(2) * some.standard_errors[0], rel=1e-12)
    with pytest.raises(InvalidParameterError, match="cdf needs an estimate of all"):
        some.quantiles()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda e: e.linear([1.0]), r"weights must be 3 finite numbers, got shape=\(1,\)"),
        (lambda e: e.linear([1.0, math.inf, 0.0]), "weights must be 3 finite numbers"),
        (lambda e: e.total([]), "labels must list one or more different categories"),
        (lambda e: e.total(["a", "a"]), "labels must list one or more different categories"),
        (lambda e: e.mean(), "scores must give a number for every category of “x”"),
        (lambda e: e.mean([1.0, 2.0]), "scores must be 3 numbers"),
        (lambda e: e.quantiles([1.0]), "p must be"),
        (lambda e: e.total("a").interval(simultaneous=0), "simultaneous must be"),
        (lambda e: e.total("a").interval(target="both"), 'target must be "contributors" or "population"'),
        (lambda e: e.named("x", "abc", [1.0]), "scores must be 3 numbers"),
    ],
)
def test_bad_questions_name_what_is_wrong(ask: Any, message: str) -> None:
    estimate = at(GRR(k=3, epsilon=1.0), [1, 2, 3]).named("x", ["a", "b", "c"])
    with pytest.raises(InvalidParameterError, match=message):
        ask(estimate)


def test_unknown_labels_are_named() -> None:
    estimate = at(GRR(k=3, epsilon=1.0), [1, 2, 3]).named("x", ["a", "b", "c"])
    with pytest.raises(UnknownCategoryError, match="“d”"):
        estimate.total("d")
    with pytest.raises(UnknownCategoryError, match="“d”"):
        estimate.linear({"d": 1.0})
    with pytest.raises(UnknownCategoryError, match="“d”"):
        estimate.mean({"d": 1.0})


def test_exact_coverage_of_pooled_counts() -> None:
    """All outcomes of a small collection: 90% intervals of two of three codes cover at least .9 for all answers."""
    mechanism, n = GRR(k=3, epsilon=1.5), 6
    channel = mechanism.channel()
    outcomes = [np.bincount(reports, minlength=3) for reports in itertools.combinations_with_replacement(range(3), n)]
    intervals = {
        tuple(counts): mechanism.estimate(Aggregate(mechanism, counts, n)).total(["0", "2"]).interval(0.9)
        for counts in outcomes
    }
    for held in itertools.combinations_with_replacement(range(3), n):
        law: dict[tuple[int, ...], float] = {(0, 0, 0): 1.0}
        for code in held:
            step: dict[tuple[int, ...], float] = {}
            for (before, chance), y in itertools.product(law.items(), range(3)):
                after = tuple(c + (v == y) for v, c in enumerate(before))
                step[after] = step.get(after, 0.0) + chance * channel[code, y]
            law = step
        truth = sum(code != 1 for code in held) / n
        covered = sum(
            chance
            for counts, chance in law.items()
            if intervals[counts][0] - 1e-12 <= truth <= intervals[counts][1] + 1e-12
        )
        assert covered >= 0.9, held


def test_errors_of_a_distribution_function_are_those_of_its_sums() -> None:
    grr = GRR(k=3, epsilon=2.0)
    stars = grr.estimate(grr.aggregate([0, 2, 2, 1, 2] * 20)).named("stars", ["1", "2", "3"])
    errors = stars.cdf().standard_errors_for("population")
    assert errors.tolist() == pytest.approx(
        [*(stars.total(["1", "2", "3"][:m]).standard_error_for("population") for m in (1, 2)), 0.0]
    )
    assert repr(stars.quantiles([0.5])[0]) == "Quantile(p=0.5, label='3')"


def test_codes_instead_of_labels_are_refused() -> None:
    estimate = at(GRR(k=3, epsilon=3.0), [100, 200, 300])
    wrong: Any
    for wrong in (0, [0], [["0"]]):
        with pytest.raises(InvalidParameterError, match="labels must be names"):
            estimate.difference(wrong, "1")
        with pytest.raises(InvalidParameterError, match="labels must be names"):
            estimate.total(wrong)
