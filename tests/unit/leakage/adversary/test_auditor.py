"""The empirical auditor: it finds planted faults, rarely accuses correct clients, and states its requirements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import GRR, OLH, OUE, RAPPOR, SPL, SUE, SimulationRandomness, SubsetSelection
from deniable.core.randomness import Randomness
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.leakage.adversary import auditor as auditing
from deniable.leakage.adversary.auditor import (
    AuditResult,
    FeatureReader,
    audit,
    choose_events,
    event_probability,
    features,
    lower_bound,
    needed_samples,
    upper_bound,
)
from deniable.oracles.oracle import FrequencyOracle
from deniable.research.baselines import SHE, THE, Exponential


class Honest:
    """A client of another package: no k, no epsilon, only randomize."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def randomize(self, inputs: NDArray[np.int64], rng: Randomness) -> Any:
        return self._inner.randomize(inputs, rng)


class Truthful:
    """A client that does not randomise at all."""

    def randomize(self, inputs: NDArray[np.int64], rng: Randomness) -> NDArray[np.int64]:  # noqa: ARG002
        return inputs


class ForgetsOneBit:
    """OUE that never clears the contributor's own bit: epsilon is infinite, and that bit is never 0."""

    def randomize(self, inputs: NDArray[np.int64], rng: Randomness) -> NDArray[np.uint8]:
        bits = OUE(4, 1.0).randomize(inputs, rng)
        bits[:, 0] |= np.left_shift(1, inputs).astype(np.uint8)
        return bits


# -------------------------------------------------------------------- planted faults


@pytest.mark.parametrize(
    ("client", "claim"),
    [
        (GRR(2, 0.65), 0.5),
        (GRR(20, 0.65), 0.5),
        (GRR(10, 3.9), 3.0),
        (OUE(6, 1.3), 1.0),
        (SUE(12, 0.65), 0.5),
        (OLH(10, 1.3), 1.0),
        (SubsetSelection(20, 1.3), 1.0),
        (SHE(5, 1.3), 1.0),
        (Exponential(5, 2.6), 1.0),  # it is tight at half of the declared epsilon
    ],
    ids=repr,
)
def test_thirty_per_cent_too_much_is_found(client: FrequencyOracle[Any], claim: float) -> None:
    result = audit(client, claim, rng=SimulationRandomness(11))
    assert result.exceeds_claim
    assert result.verdict == "exceeds the claim"
    assert claim < result.epsilon_lower <= 1.3 * claim
    assert result.samples >= needed_samples(claim, client.k, probability=event_probability(client))


def test_a_hundred_values_at_one_half_are_within_reach() -> None:
    result = audit(GRR(100, 0.65), 0.5, rng=SimulationRandomness(12))
    assert result.exceeds_claim
    assert result.inputs == 100


@pytest.mark.parametrize(
    "client",
    [GRR(7, 1.0), OUE(5, 1.0), SUE(5, 2.0), OLH(6, 1.0), SubsetSelection(9, 1.0), SHE(4, 1.0), THE(4, 1.0)],
    ids=repr,
)
def test_honest_mechanisms_come_close_to_their_claim_and_do_not_exceed_it(client: FrequencyOracle[Any]) -> None:
    epsilon = client.privacy().epsilon
    result = audit(client, rng=SimulationRandomness(13))
    assert not result.exceeds_claim
    assert result.verdict == "no violation found (this proves nothing)"
    assert 0.6 * epsilon < result.epsilon_lower <= epsilon


def test_rappor_is_audited_for_one_report() -> None:
    rappor = RAPPOR(4, f=0.5, p=0.25, q=0.75)
    assert not audit(rappor, rappor.one_report_epsilon, rng=SimulationRandomness(14)).exceeds_claim


def test_the_power_is_what_the_sample_size_promises() -> None:
    """At power .95, fewer than 85 findings in 100 have probability 3e-5."""
    found = sum(audit(GRR(2, 1.3), 1.0, rng=SimulationRandomness(seed)).exceeds_claim for seed in range(100))
    assert stats.binom.cdf(84, 100, 0.95) < 1e-4
    assert found >= 85


# -------------------------------------------------------------------- mechanisms without faults


def _accusations() -> int:
    rngs = [SimulationRandomness(seed) for seed in range(200)]
    return sum(audit(GRR(3, 1.0), rng=rng).exceeds_claim for rng in rngs)


def test_a_correct_mechanism_is_rarely_accused() -> None:
    """One accusation has at most probability alpha = .01: more than 8 in 200 runs, at most 2.2e-4."""
    assert stats.binom.sf(8, 200, 0.01) < 2.2e-4
    assert _accusations() <= 8


def test_an_auditor_without_confidence_bounds_accuses_nearly_always(monkeypatch: pytest.MonkeyPatch) -> None:
    def point_estimate(count: NDArray[Any], n: int, alpha: float) -> NDArray[np.float64]:
        return count / n

    monkeypatch.setattr(auditing, "lower_bound", point_estimate)
    monkeypatch.setattr(auditing, "upper_bound", point_estimate)
    assert _accusations() > 100


def test_clopper_pearson_bounds() -> None:
    # These are textbook values for a two-sided 95% interval.
    assert upper_bound(np.array([0]), 10, 0.025)[0] == pytest.approx(0.30850, abs=1e-5)
    assert lower_bound(np.array([5]), 10, 0.025)[0] == pytest.approx(0.18709, abs=1e-5)
    assert upper_bound(np.array([5]), 10, 0.025)[0] == pytest.approx(0.81291, abs=1e-5)
    assert lower_bound(np.array([0, 10]), 10, 0.05).tolist() == pytest.approx([0.0, 0.05 ** (1 / 10)])
    assert upper_bound(np.array([10]), 10, 0.05).tolist() == [1.0]
    # At the bound, the count has probability alpha.
    counts = np.arange(1, 50)
    assert stats.binom.sf(counts - 1, 50, lower_bound(counts, 50, 1e-4)) == pytest.approx(1e-4, rel=1e-9)
    assert stats.binom.cdf(counts, 50, upper_bound(counts, 50, 1e-4)) == pytest.approx(1e-4, rel=1e-9)


# -------------------------------------------------------------------- other clients


def test_foreign_clients_are_read_as_told() -> None:
    rng = SimulationRandomness(20)
    assert audit(Honest(OUE(4, 1.3)), 1.0, reports_of=OUE(4, 1.0), rng=rng).exceeds_claim
    assert not audit(Honest(OUE(4, 1.0)), 1.0, reports_of=OUE(4, 1.0), rng=rng).exceeds_claim
    assert audit(Honest(GRR(4, 1.3)), 1.0, inputs=range(4), rng=rng).exceeds_claim
    by_own_bit = audit(
        Honest(OUE(4, 1.3)), 1.0, inputs=[0, 3], events=lambda reports: reports[:, 0] & 9, samples=40_000, rng=rng
    )
    assert by_own_bit.exceeds_claim
    assert by_own_bit.pair in {(0, 3), (3, 0)}


def test_clients_without_privacy_are_exposed() -> None:
    plain = audit(Truthful(), 4.0, inputs=range(3), rng=SimulationRandomness(21))
    assert plain.exceeds_claim
    assert plain.event == f"the label of the report is {plain.pair[0]}"
    leaky = audit(ForgetsOneBit(), 1.0, reports_of=OUE(4, 1.0), rng=SimulationRandomness(21))
    assert leaky.epsilon_lower > 4


def test_records_are_audited_through_labels() -> None:
    def labels(reports: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        return reports[:, 0].astype(np.int64) * 3 + reports[:, 1]

    records = np.array([[0, 0], [1, 2]])
    honest, planted = SPL((2, 3), 1.0), SPL((2, 3), 1.3)
    samples = needed_samples(1.0, 2, probability=0.28)  # half of the budget each gives .622 x .452
    rng = SimulationRandomness(22)
    assert not audit(honest, inputs=records, events=labels, samples=samples, rng=rng).exceeds_claim
    found = audit(planted, 1.0, inputs=records, events=labels, samples=samples, rng=rng)
    assert found.exceeds_claim
    assert found.pair in {((0, 0), (1, 2)), ((1, 2), (0, 0))}


def test_some_inputs_of_a_large_domain() -> None:
    client = OLH(300, 1.3)
    result = audit(client, 1.0, inputs=[17, 299, 256], rng=SimulationRandomness(23))
    assert result.exceeds_claim
    assert set(result.pair) < {17, 299, 256}


# -------------------------------------------------------------------- the parts


def test_features_are_literal() -> None:
    assert features(OUE(3, 1.0), np.array([[0b110]], dtype=np.uint8)).tolist() == [[0, 1, 1]]
    assert features(GRR(3, 1.0), np.array([2])).tolist() == [[0, 0, 1]]
    she = SHE(5, 1.0, resolution=4)
    assert features(she, np.array([[-3, 0, 1, 4, 9]], dtype=np.int16)).tolist() == [[0, 0, 1, 2, 2]]


def test_event_probabilities_are_those_of_the_channels() -> None:
    """Under input 0: report says yes to 0 and no to 1 (SHE: at or above one, and at or below zero)."""
    for mechanism in (GRR(4, 1.0), OUE(4, 1.0), SUE(3, 2.0), SubsetSelection(5, 1.0), OLH(3, 0.5), SHE(2, 1.0, 2, 3)):
        levels = features(mechanism, mechanism.outputs())
        event = (levels[:, 0] == levels.max()) & (levels[:, 1] == 0)
        channel = mechanism.channel()
        assert event_probability(mechanism) == pytest.approx(channel[0, event].sum(), abs=1e-12)
        ratio = channel[0, event].sum() / channel[1, event].sum()
        assert ratio == pytest.approx(float(mechanism.implemented_ratio()), rel=1e-9)


def test_pairs_are_counted_as_by_hand() -> None:
    mechanism = OUE(4, 1.0)
    reader = FeatureReader(mechanism, np.array([0, 2, 3]))
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, size=(60, 4), dtype=np.uint8)
    owners = rng.integers(0, 3, size=60)
    reader.count(np.packbits(bits, axis=1, bitorder="little"), owners)
    own, other = reader.pairs(1)  # x is value 2
    for position, value in enumerate([0, 2, 3]):
        labels = bits[:, 2] * 2 + bits[:, value]
        assert own[position].tolist() == np.bincount(labels[owners == 1], minlength=4).tolist()
        assert other[position].tolist() == np.bincount(labels[owners == position], minlength=4).tolist()


def test_the_best_looking_event_is_chosen() -> None:
    own, other = np.array([[400, 300, 250, 50]]), np.array([[200, 150, 250, 400]])
    # Labels 0 and 1 have the same ratio 2, and are more certain together. Label 2 dilutes, and label 3 reverses.
    assert choose_events(own, other, 1000, 1e-3).tolist() == [[True, True, False, False]]
    # A ratio of 5 from six reports is worth less than a ratio of 2 from a thousand.
    rare, common = np.array([[5, 600, 395]]), np.array([[1, 300, 699]])
    assert choose_events(rare, common, 1000, 1e-6).tolist() == [[True, True, False]]


def test_progress_is_told() -> None:
    steps: list[tuple[int, int]] = []
    result = audit(GRR(3, 1.0), rng=SimulationRandomness(1), progress=lambda done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert steps[-1] == (3 * result.samples, 3 * result.samples)


def test_needed_samples_grow_with_what_is_asked() -> None:
    assert needed_samples(0.5, 4) > 2 * needed_samples(1.0, 4)
    assert needed_samples(1.0, 20) > needed_samples(1.0, 4)
    assert needed_samples(1.0, 4, alpha=1e-6) > needed_samples(1.0, 4)
    assert needed_samples(1.0, 4, power=0.999) > needed_samples(1.0, 4)
    assert needed_samples(1.0, 4, probability=0.01) > 5 * needed_samples(1.0, 4, probability=0.3)


def test_results_read_as_sentences() -> None:
    result = AuditResult(1.25, 0.01, 1.0, (0, 3), "the label of the report is 0", 4, 20_000)
    assert str(result) == (
        "exceeds the claim: epsilon >= 1.2500 with confidence 0.99, claimed 1; inputs 0 and 3, event: the label "
        "of the report is 0; 20000 reports for each of 4 inputs"
    )


# -------------------------------------------------------------------- refusals


def test_too_few_samples_are_refused_with_the_number_needed() -> None:
    needed = needed_samples(0.5, 100, probability=event_probability(GRR(100, 0.5)))
    with pytest.raises(InvalidParameterError, match=f"samples must be >= {needed} reports per input .* samples=1000"):
        audit(GRR(100, 0.5), rng=SimulationRandomness(1), samples=1000)


def test_claims_out_of_reach_are_refused() -> None:
    with pytest.raises(TooLargeError, match="at most 10,000,000,000 reports"):
        audit(GRR(2, 30.0), rng=SimulationRandomness(1))
    with pytest.raises(TooLargeError, match="for each of 2 inputs: a claimed epsilon that is very small"):
        audit(GRR(2, 1e-4), rng=SimulationRandomness(1))


def test_a_client_that_says_nothing() -> None:
    result = audit(Truthful(), 1.0, inputs=[3, 5], events=np.zeros_like, rng=SimulationRandomness(1))
    assert (result.epsilon_lower, result.event) == (0.0, "none tells any two inputs apart")
    assert not result.exceeds_claim


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "claimed_epsilon must be finite and > 0, got claimed_epsilon=none"),
        ({"claimed_epsilon": 0.0}, "claimed_epsilon must be finite and > 0"),
        ({"claimed_epsilon": 1.0}, "inputs must be given"),
        ({"claimed_epsilon": 1.0, "inputs": [1, 1]}, "2 to 100 different answers"),
        ({"claimed_epsilon": 1.0, "inputs": range(101)}, "2 to 100 different answers"),
        ({"claimed_epsilon": 1.0, "inputs": range(3), "alpha": 1.0}, r"alpha must be in \(0, 1\)"),
        ({"claimed_epsilon": 1.0, "reports_of": GRR(101, 1.0)}, "because k=101 answers are possible"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        audit(Truthful(), rng=SimulationRandomness(1), **arguments)


def test_samples_for_no_epsilon_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="epsilon must be finite and > 0, got epsilon=inf"):
        needed_samples(math.inf, 2)


def test_unreadable_reports_say_what_to_pass() -> None:
    rng = SimulationRandomness(1)
    with pytest.raises(InvalidReportError, match=r"pass reports_of \(the mechanism that made the reports\), or events"):
        audit(Honest(OUE(9, 1.0)), 1.0, inputs=range(9), rng=rng)
    with pytest.raises(InvalidReportError, match=r"in 0..4095, got 9999: pass events \(a function that groups"):
        audit(Truthful(), 1.0, inputs=[1, 9999], rng=rng)
    with pytest.raises(InvalidInputError, match=r"inputs must be codes of answers in 0..3"):
        audit(OUE(4, 1.0), inputs=[0, 4], rng=rng)
