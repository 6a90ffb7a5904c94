"""Adaptive SMP: each attribute with the oracle for its size, in one type of batch."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import (
    GRR,
    OUE,
    SMP,
    Aggregate,
    Attribute,
    Collection,
    CountMeanSketch,
    Estimate,
    RecordEstimate,
    Schema,
    SecureRandomness,
    SimulationRandomness,
    SubsetSelection,
)
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidParameterError, InvalidReportError
from deniable.files import aggregate_files
from deniable.files.formats.reports import ReportReader, write_reports
from deniable.oracles import SquareWave
from deniable.postprocess import iterative_bayes
from deniable.records import mixed_reports as payload_module
from deniable.records.mixed_reports import ByteColumn
from deniable.records.oracle_choice import oracles_for
from deniable.records.sample import AdaptiveReports, AdaptiveSMP
from deniable.testing import laws
from tests.unit._goodness import always_interpreted
from tests.unit.records import record_laws as law


def mixed(epsilon: float = 1.0) -> AdaptiveSMP:
    """One attribute through each kind of report: a code, packed bits, a set, one integer, three integers."""
    oracles = (
        GRR(300, epsilon),
        OUE(11, epsilon),
        SubsetSelection(400, epsilon, omega=3),
        CountMeanSketch(50, epsilon, 4, "spread"),
        CountMeanSketch(20, epsilon, 3, "prime"),
    )
    return AdaptiveSMP(tuple(oracle.k for oracle in oracles), epsilon, oracles)


def records_for(mechanism: AdaptiveSMP, n: int, seed: int = 1) -> Any:
    generator = np.random.default_rng(seed)
    return np.stack([generator.integers(0, k, n) for k in mechanism.sizes], axis=1)


# ---------------------------------------------------------------- the choice


def test_the_choice_is_stored_in_the_specification() -> None:
    adaptive = AdaptiveSMP((2, 40), 0.5)
    assert json.loads(json.dumps(to_spec(adaptive))) == {
        "mechanism": "SMP[ADP]",
        "sizes": [2, 40],
        "epsilon": "0.5",
        "oracles": [
            {"mechanism": "GRR", "k": 2, "epsilon": "0.5"},
            {"mechanism": "SubsetSelection", "k": 40, "epsilon": "0.5", "omega": 15},
        ],
    }
    assert from_spec(to_spec(mixed())) == mixed()


@pytest.mark.parametrize(
    ("oracles", "message"),
    [
        ((GRR(2, 1.0),), "oracles must have one entry for each of the 2 attributes, got 1"),
        ("GRR", "oracles must be a sequence of frequency oracles, got oracles=“GRR”"),
        ((GRR(2, 1.0), SMP((2,), 1.0)), "oracles[1] must be GRR, OUE, SubsetSelection, CountMeanSketch or SquareWave"),
        (
            (GRR(2, 1.0), GRR(4, 1.0)),
            "oracles[1] must have k=3 and epsilon=1.0 for attribute 1, got GRR(k=4, epsilon=1.0)",
        ),
        (
            (GRR(2, 1.1), GRR(3, 1.0)),
            "oracles[0] must have k=2 and epsilon=1.0 for attribute 0, got GRR(k=2, epsilon=1.1)",
        ),
    ],
)
def test_oracles_that_do_not_fit_are_refused(oracles: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        AdaptiveSMP((2, 3), 1.0, oracles)


# ---------------------------------------------------------------- reports


def test_a_payload_holds_the_bytes_of_the_oracles_own_report() -> None:
    mechanism = mixed()
    reports = mechanism.randomize(records_for(mechanism, 500), SimulationRandomness(2))
    # A set of 400 values has three uint16. Three integers of a hash function need 1 + 2 x 4 bytes.
    assert reports.payload.shape == (500, 9)
    assert reports.attribute.dtype == np.uint8
    for j, oracle in enumerate(mechanism.oracles):
        rows = reports.payload[reports.attribute == j]
        group = payload_module.unpacked(oracle, rows)
        assert oracle.aggregate(group).n == len(rows) > 50
        np.testing.assert_array_equal(payload_module.packed(oracle, group, 9), rows)
    sets = reports.payload[reports.attribute == 2].astype(np.int64)
    values = sets[:, 0:6:2] + 256 * sets[:, 1:6:2]
    assert (np.diff(values, axis=1) > 0).all()
    assert not sets[:, 6:].any()


def test_with_grr_everywhere_it_is_smp() -> None:
    adaptive, smp = AdaptiveSMP((3, 2), 1.0), SMP((3, 2), 1.0)
    assert [oracle.name for oracle in adaptive.oracles] == ["GRR", "GRR"]
    records = np.array([[2, 1], [0, 0]] * 100)
    theirs, ours = smp.randomize(records, SimulationRandomness(1)), adaptive.randomize(records, SimulationRandomness(1))
    np.testing.assert_array_equal(theirs.attribute, ours.attribute)
    np.testing.assert_array_equal(theirs[1], ours.payload[:, 0])
    np.testing.assert_array_equal(smp.aggregate(theirs).counts, adaptive.aggregate(ours).counts)
    np.testing.assert_array_equal(smp.channel(exact=True), adaptive.channel(exact=True))
    for j in range(2):
        assert adaptive.variance(0.2, 100, j) == smp.variance(0.2, 100, j)


def test_few_rows_and_many_rows_run_the_same_source() -> None:
    mechanism = mixed()
    records = records_for(mechanism, 60)
    compiled = mechanism.randomize(records, SimulationRandomness(3))
    with always_interpreted():
        interpreted = mechanism.randomize(records, SimulationRandomness(3))
    for mine, theirs in zip(compiled, interpreted, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_device_makes_one_report() -> None:
    adaptive = AdaptiveSMP((2, 1_000_000, 30), 1.0)
    report = adaptive.randomize([[1, 999_999, 3]], SecureRandomness())
    assert report.payload.shape == (1, adaptive.report_fields[1].width)
    assert adaptive.aggregate(report).n == 1


def test_aggregating_in_blocks_is_aggregating_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = mixed()
    reports = mechanism.randomize(records_for(mechanism, 4000), SimulationRandomness(4))
    at_once = mechanism.aggregate(reports)
    assert at_once.counts[-5:].sum() == 4000
    monkeypatch.setattr(payload_module, "GROUPED_BYTES", 7)
    assert mechanism.aggregate(reports) == at_once
    assert mechanism.aggregate(([], [])) == Aggregate.empty(mechanism)


# ---------------------------------------------------------------- no reports


def of_codes() -> AdaptiveSMP:
    """Every report one code, of one, two or four bytes, and every state the histogram of its codes."""
    oracles = (
        GRR(3, 1.0),
        GRR(300, 1.0),
        CountMeanSketch(50, 1.0, 4, "spread"),
        SquareWave(20, 1.0),
        CountMeanSketch(9000, 1.0, 32, "spread"),
    )
    return AdaptiveSMP(tuple(oracle.k for oracle in oracles), 1.0, oracles)


@pytest.mark.parametrize("tables", [1 << 16, 1])
def test_codes_are_counted_as_they_lie(tables: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same states as of reports sorted by attribute, and the same words about what no oracle reports."""
    mechanism = of_codes()
    monkeypatch.setattr(payload_module, "FOUR_TABLES", tables)
    reports = mechanism.randomize(records_for(mechanism, 3_000), SimulationRandomness(5))
    column = mechanism.column
    assert isinstance(column, ByteColumn)
    assert column.field.width == 4
    expected = column._grouped(reports.attribute, reports.payload)
    np.testing.assert_array_equal(column._states(reports.attribute, reports.payload), expected)
    np.testing.assert_array_equal(expected[-5:], np.bincount(reports.attribute))
    monkeypatch.setattr(ByteColumn, "_grouped", None)  # all reports are counted as they are
    mechanism.aggregate(reports)
    monkeypatch.undo()
    hole = mechanism.oracles[4].uncounted
    assert hole is not None
    for attribute, code in (
        (0, 3),
        (0, 1 << 8),
        (1, 300),
        (2, 1 << 31),
        (3, 1 << 24),
        (4, hole.start),
        (4, hole.stop - 1),
    ):
        wrong = reports.payload.copy()
        row = int(np.flatnonzero(reports.attribute == attribute)[3])
        wrong[row] = np.array([code], dtype="<u4").view(np.uint8)
        said = []
        for states in (column._states, column._grouped):
            with pytest.raises(InvalidReportError, match=f"in row {row + 1}, attribute {attribute}") as error:
                states(reports.attribute, wrong)
            said.append(str(error.value))
        assert said[0] == said[1]


@pytest.mark.parametrize(
    ("attribute", "payload", "message"),
    [
        (0, [44, 1, 0, 0, 0, 0, 0, 0, 0], "report must be in 0..299, got report=300 in row 1003, attribute 0"),
        (
            0,
            [1, 0, 7, 0, 0, 0, 0, 0, 0],
            "the bytes 2..8 of payload must be zero, got another value in row 1003, attribute 0",
        ),
        (1, [255, 255, 0, 0, 0, 0, 0, 0, 0], "in row 1003, attribute 1"),
        (2, [5, 0, 5, 0, 6, 0, 0, 0, 0], "a reported set must be strictly increasing, got 5 after 5 in row 1003"),
        (3, [255, 0, 0, 0, 0, 0, 0, 0, 0], "got report=255 in row 1003, attribute 3"),
        (4, [0, 0, 0, 0, 0, 0, 0, 0, 9], "got value=9 in row 1003, attribute 4"),
    ],
)
def test_a_report_of_nobody_is_refused_naming_row_and_attribute(
    attribute: int, payload: list[int], message: str
) -> None:
    mechanism = mixed()
    reports = mechanism.randomize(records_for(mechanism, 2000), SimulationRandomness(5))
    for row in (1002, 1500):
        reports.attribute[row] = attribute
        reports.payload[row] = payload
    with pytest.raises(InvalidReportError, match=re.escape(message)):
        mechanism.aggregate(reports)


def test_the_first_wrong_row_is_named_whatever_its_attribute() -> None:
    mechanism = mixed()
    reports = mechanism.randomize(records_for(mechanism, 100), SimulationRandomness(5))
    reports.payload[[70, 40, 90], -1] = 255
    reports.attribute[[70, 40, 90]] = 0, 3, 1
    with pytest.raises(InvalidReportError, match="in row 41, attribute 3"):
        mechanism.aggregate(reports)


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (np.zeros((3, 9), np.uint8), "reports must be a pair (attribute, payload), got an object of the type ndarray"),
        (([5], np.zeros((1, 9), np.uint8)), "attribute must be in 0..4, got attribute=5 in row 1"),
        (
            ([1], np.zeros((1, 8), np.uint8)),
            "the field payload must be an array of bytes, uint8 of shape (n, 9), got dtype=uint8, shape=",
        ),
        (
            ([1], np.zeros((1, 9), np.int64)),
            "payload must be an array of bytes, uint8 of shape (n, 9), got dtype=int64",
        ),
        (
            ([1, 1], np.zeros((1, 9), np.uint8)),
            "payload must have one entry for each report, but attributes has 2 entries and payload has 1",
        ),
    ],
)
def test_malformed_batches_are_refused(reports: Any, message: str) -> None:
    with pytest.raises(InvalidReportError, match=re.escape(message)):
        mixed().aggregate(reports)


# ---------------------------------------------------------------- exact distribution


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_ratios_and_unbiasedness_of_a_mixture(epsilon: float) -> None:
    oracles = (OUE(2, epsilon), SubsetSelection(3, epsilon, omega=2))
    mechanism = AdaptiveSMP((2, 3), epsilon, oracles)
    law.ratios_are_declared(mechanism, epsilon)
    outputs = mechanism.outputs()
    single = [AdaptiveReports(outputs.attribute[o : o + 1], outputs.payload[o : o + 1]) for o in range(7)]
    assert len(outputs.payload) == 7
    law.estimates_are_unbiased(mechanism, single, outputs.attribute.tolist())


def test_a_too_generous_oracle_is_seen() -> None:
    """Mutant: one attribute's oracle spends 1.1 epsilon."""
    mechanism = AdaptiveSMP((2, 3), 1.0)
    object.__setattr__(mechanism, "oracles", (GRR(2, 1.1), GRR(3, 1.0)))
    with pytest.raises(AssertionError):
        law.ratios_are_declared(mechanism, 1.0)


def test_simulated_aggregates_have_the_errors_of_the_plan() -> None:
    adaptive, rng = AdaptiveSMP((3, 40), 2.0), SimulationRandomness(6)
    assert [oracle.name for oracle in adaptive.oracles] == ["GRR", "SubsetSelection"]
    records, held = np.array([[0, 39], [2, 1]]), np.array([1400, 600])
    errors = []
    for _ in range(400):
        estimates = adaptive.estimate(adaptive.simulate_aggregate(records, held, rng))
        assert estimates[0].n + estimates[1].n == 2000
        errors.append([estimates[0].frequencies[2] - 0.3, estimates[1].frequencies[5]])
    observed = np.mean(np.square(errors), axis=0)
    expected = np.array([adaptive.variance(0.3, 2000, 0), adaptive.variance(0.0, 2000, 1)])
    # A mean of 400 squares has a relative standard deviation of .07. Five of them are allowed.
    assert (np.abs(observed / expected - 1) < 0.35).all()


def test_an_attribute_that_nobody_sampled() -> None:
    mechanism = mixed()
    report = AdaptiveReports(np.array([1], np.uint8), np.zeros((1, 9), np.uint8))
    estimates = mechanism.estimate(mechanism.aggregate(report))
    assert [estimate.n for estimate in estimates.values()] == [0, 1, 0, 0, 0]
    for j in (0, 2, 3, 4):
        assert estimates[j].k == mechanism.sizes[j]
        assert np.isnan(estimates[j].frequencies).all()
        assert np.isinf(estimates[j].standard_errors).all()
    assert estimates[1].contributors == 1


def test_a_large_state_is_compact() -> None:
    adaptive = AdaptiveSMP((2, 100_000), 1.0)
    aggregate = adaptive.aggregate(adaptive.randomize(np.array([[1, 99_999]] * 50), SimulationRandomness(1)))
    assert aggregate.counts.dtype == np.int32
    assert Aggregate.empty(AdaptiveSMP((2, 3), 1.0)).counts.dtype == np.int64
    assert adaptive.estimate(aggregate + aggregate)[1].k == 100_000


def test_the_guarantee_says_what_is_visible() -> None:
    guarantee = mixed().privacy()
    assert "the sampled attribute is visible to the collector" in guarantee.remarks[0]
    assert guarantee.per_attribute == (1.0,) * 5
    assert 1 - 1e-9 < guarantee.implemented_epsilon <= math.nextafter(1.0, 2)


# ---------------------------------------------------------------- files


def test_reports_go_through_parquet(tmp_path: Path) -> None:
    mechanism = mixed()
    attributes = tuple(Attribute(f"a{j}", tuple(map(str, range(k)))) for j, k in enumerate(mechanism.sizes))
    survey, rng = Collection(Schema(attributes), mechanism), SimulationRandomness(8)
    survey.save(tmp_path / "survey.json")
    assert Collection.load(tmp_path / "survey.json") == survey
    batches = [mechanism.randomize(records_for(mechanism, n, n), rng) for n in (300, 5)]
    written = write_reports(tmp_path / "reports.parquet", survey, batches, rng)
    assert written.n == 305
    read = [AdaptiveReports(*batch) for batch in ReportReader(tmp_path / "reports.parquet", survey)]
    np.testing.assert_array_equal(
        np.concatenate([batch.payload for batch in read]), np.concatenate([batch.payload for batch in batches])
    )
    total = aggregate_files(survey, [tmp_path / "reports.parquet"], tmp_path / "all.aggregate")
    expected = mechanism.aggregate(batches[0]) + mechanism.aggregate(batches[1])
    np.testing.assert_array_equal(total.counts, expected.counts)
    np.testing.assert_array_equal(Aggregate.load(tmp_path / "all.aggregate").counts, expected.counts)
    assert list(survey.estimate(total)) == [f"a{j}" for j in range(5)]


# ---------------------------------------------------------------- attributes with a mean


@pytest.mark.parametrize("epsilon", [0.35, 2.0])
def test_waves_inside_are_exactly_private_at_every_window(epsilon: float) -> None:
    for k in (2, 3, 4):
        for window in range(k + 1):
            mechanism = AdaptiveSMP((k, 2), epsilon, (SquareWave(k, epsilon, window), GRR(2, epsilon)))
            laws.rows_sum_to_one(mechanism)
            laws.ratio_keeps_the_budget(mechanism, epsilon)


def test_an_attribute_that_nobody_sampled_may_be_a_wave() -> None:
    sizes = (5, 2)
    mechanism = AdaptiveSMP(sizes, 1.0, oracles_for(sizes, 1.0, means=[0]))
    payload = np.array([[1]], np.uint8)
    estimate = mechanism.estimate(mechanism.aggregate(AdaptiveReports(np.array([1], np.uint8), payload)))[0]
    assert (estimate.n, estimate.contributors) == (0, 1)
    assert np.isnan(estimate.frequencies).all()
    assert np.isinf(estimate.standard_errors).all()
    assert np.isnan(estimate.interval()[0]).all()


def test_reports_of_all_attributes_are_those_of_their_oracles() -> None:
    sizes = (5, 300)
    mechanism = AdaptiveSMP(sizes, 1.0, oracles_for(sizes, 1.0, means=[0, 1]))
    records = np.array([[4, 299], [0, 150]] * 400)
    aggregate = mechanism.aggregate(mechanism.randomize(records, SimulationRandomness(2)))
    estimates = mechanism.estimate(aggregate)
    for j, (oracle, part) in enumerate(zip(mechanism.oracles, mechanism.by_attribute(aggregate), strict=True)):
        assert part.mechanism == oracle
        assert np.array_equal(oracle.estimate(part).frequencies, estimates[j].frequencies)
        assert estimates[j].contributors == 800
    decoded = iterative_bayes(mechanism, aggregate)
    assert isinstance(decoded, RecordEstimate)
    for j, part in enumerate(mechanism.by_attribute(aggregate)):
        alone = iterative_bayes(part.mechanism, part)
        assert isinstance(alone, Estimate)
        assert decoded[j].frequencies == pytest.approx(alone.frequencies, abs=1e-9)
        assert "em" in decoded[j].processing[0]


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
def test_a_bit_set_in_any_row_is_seen(n: int) -> None:
    rows = (np.random.default_rng(n).random((n, 11)) < 0.5 / max(n, 1)).astype(np.uint8) * np.uint8(1 << n % 8)
    assert np.array_equal(payload_module.set_bits(rows), np.bitwise_or.reduce(rows, axis=0))
    for row in range(n):
        alone = np.zeros((n, 3), np.uint8)
        alone[row, 1] = 8
        assert payload_module.set_bits(alone).tolist() == [0, 8, 0]
