from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import SMP, SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError
from deniable.records import sample, sampled_attribute
from deniable.records.sample import SampledBits, SampledReports
from deniable.records.uniform_draws import uniform_rows
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted
from tests.unit.records.record_laws import (
    BITS,
    CODES,
    Record,
    aggregates_agree,
    all_bits,
    estimates_are_unbiased,
    grr,
    oue,
    ratios_are_declared,
    records,
    worst_p_value,
)


def _law(oracle: str, x: Record, sizes: tuple[int, ...], epsilon: float) -> dict[Any, float]:
    """P(attribute, report | record) from the definition."""
    d = len(sizes)
    if oracle == "GRR":
        return {(j, y): grr(y, x[j], k, epsilon) / d for j, k in enumerate(sizes) for y in range(k)}
    return {(j, y): oue(y, x[j], epsilon) / d for j, k in enumerate(sizes) for y in all_bits(k)}


def _keys(sizes: tuple[int, ...]) -> Any:
    """Hashable (attribute, report) of every report; what lies beyond an attribute's bits must be zero."""

    def keys(reports: SampledReports | SampledBits) -> list[Any]:
        if isinstance(reports, SampledReports):
            return list(zip(reports.attribute.tolist(), reports.value.tolist(), strict=True))
        result = []
        unpacked = np.unpackbits(reports.bits, axis=1, bitorder="little")
        for j, bits in zip(reports.attribute.tolist(), unpacked, strict=True):
            assert not bits[sizes[j] :].any()
            result.append((j, tuple(bits[: sizes[j]].tolist())))
        return result

    return keys


def _row(reports: Any, o: int) -> Any:
    return type(reports)(*(field[o : o + 1] for field in reports))


@pytest.mark.parametrize(
    ("oracle", "sizes", "epsilon"), [("GRR", *setting) for setting in CODES] + [("OUE", *setting) for setting in BITS]
)
def test_channel_is_the_textbook_mixture(oracle: str, sizes: tuple[int, ...], epsilon: float) -> None:
    smp = SMP(sizes, epsilon, oracle)
    channel = smp.channel(exact=True)
    assert all(sum(row, Fraction(0)) == 1 for row in channel)
    outputs = smp.outputs()
    for x, row in zip(records(sizes), channel, strict=True):
        law = _law(oracle, x, sizes, epsilon)
        assert [float(cell) for cell in row] == pytest.approx([law[key] for key in _keys(sizes)(outputs)], rel=1e-12)
    ratios_are_declared(smp, epsilon)
    n = len(outputs.attribute)
    estimates_are_unbiased(smp, [_row(outputs, o) for o in range(n)], outputs.attribute.tolist())


@pytest.mark.long
@pytest.mark.parametrize(("oracle", "sizes"), [("GRR", (2, 3)), ("GRR", (3, 2, 2)), ("OUE", (2, 3)), ("OUE", (2, 9))])
def test_reports_follow_the_channel(oracle: str, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    bound = FAMILY_WISE_ERROR / math.prod(sizes)

    def smallest(n: int, seed: int) -> float:
        law = lambda x: _law(oracle, x, sizes, 1.0)  # noqa: E731
        return worst_p_value(SMP(sizes, 1.0, oracle), _keys(sizes), law, SimulationRandomness(seed), n)

    assert smallest(30_000, 1) > bound
    with always_interpreted():
        assert smallest(300, 2) > bound

    # Mutant: the attribute is drawn with a bias, as (uniform below d + 1) mod d.
    def biased(rng: Any, n: int, d: int) -> Any:
        attributes = np.empty((n, 1), dtype=np.uint8)
        uniform_rows(rng, (d + 1,), attributes)
        return attributes[:, 0] % d

    monkeypatch.setattr(sample, "sample_attributes", biased)
    assert smallest(30_000, 1) < bound


@pytest.mark.parametrize("sizes", [(2, 300, 3), (5,) * 7, (9,)])
def test_the_value_is_that_of_the_sampled_attribute(sizes: tuple[int, ...]) -> None:
    """Over several blocks, at a budget where lies are rarer than 1e-11."""
    n = 2 * sampled_attribute.SAMPLED_ROWS + 5
    truth = np.stack([np.arange(n) * (j + 3) % k for j, k in enumerate(sizes)], axis=1)
    reports = SMP(sizes, 32).randomize(truth, SimulationRandomness(3))
    assert isinstance(reports, SampledReports)
    assert (reports.value == truth[np.arange(n), reports.attribute]).all()
    d = len(sizes)
    counts = np.bincount(reports.attribute, minlength=d)
    if d > 1:
        assert stats.chisquare(counts).pvalue > FAMILY_WISE_ERROR
    aggregate = SMP(sizes, 32).aggregate(reports)
    assert aggregate.counts[-d:].tolist() == counts.tolist()
    held = [np.bincount(truth[reports.attribute == j, j], minlength=k) for j, k in enumerate(sizes)]
    assert aggregate.counts[:-d].tolist() == np.concatenate(held).tolist()


def test_bits_are_counted_per_attribute() -> None:
    """Over several blocks, against a count by hand."""
    sizes = (3, 20, 8)
    smp = SMP(sizes, 2.0, "OUE")
    n = sampled_attribute.SAMPLED_ROWS + 5
    truth = np.stack([np.arange(n) % k for k in sizes], axis=1)
    reports = smp.randomize(truth, SimulationRandomness(5))
    assert isinstance(reports, SampledBits)
    assert reports.bits.shape == (n, 3)
    unpacked = np.unpackbits(reports.bits, axis=1, bitorder="little")
    by_hand = [unpacked[reports.attribute == j, :k].sum(axis=0) for j, k in enumerate(sizes)]
    expected = np.concatenate([*by_hand, np.bincount(reports.attribute, minlength=3)])
    assert smp.aggregate(reports).counts.tolist() == expected.tolist()


def test_without_reports_of_an_attribute() -> None:
    smp = SMP((2, 3), 1.0)
    estimates = smp.estimate(smp.aggregate((np.zeros(5, dtype=int), np.ones(5, dtype=int))))
    assert estimates[0].n == 5
    assert estimates[0].contributors == 5
    assert estimates[1].n == 0
    assert np.isnan(estimates[1].frequencies).all()
    assert np.isinf(estimates[1].standard_errors).all()
    assert np.isnan(estimates[1].interval()[0]).all()


@pytest.mark.long
def test_simulated_aggregates_follow_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (2, 3, 2)
    held = np.array([400, 0, 10, 30, 0, 0, 1, 2, 300, 0, 0, 90])  # these are correlated
    for oracle in ("GRR", "OUE"):
        smp = SMP(sizes, 1.0, oracle)
        outputs = smp.outputs()
        singles = [smp.aggregate(_row(outputs, o)).counts for o in range(len(outputs.attribute))]
        states = np.array(singles, dtype=np.float64)

        def drawn(smp: SMP = smp) -> Any:
            rng = SimulationRandomness(4)
            return np.array([smp.simulate_aggregate(np.array(records(sizes)), held, rng).counts for _ in range(3000)])

        assert aggregates_agree(smp, held, drawn(), states)
        assert smp.simulate_aggregate(records(sizes), held, SimulationRandomness(1)).n == 833
        with monkeypatch.context() as patch:
            # Mutant: every attribute is reported by a third of the people, instead of by those who sample it.
            def equal(rows: Any, counts: Any, sizes: Any, rng: Any) -> Any:
                parts, total = [], int(counts.sum())
                for j, k in enumerate(sizes):
                    true_counts = np.bincount(np.array(rows)[:, j], weights=counts, minlength=k).astype(np.int64)
                    share = (total + j) // len(sizes)
                    parts.append(rng.generator.multivariate_hypergeometric(true_counts, share))
                return parts

            patch.setattr(sampled_attribute, "simulate_sampling", equal)
            assert not aggregates_agree(smp, held, drawn(), states)


def test_variance() -> None:
    # OUE at f = 0 over 4 attributes has 16 e/(e - 1)^2, so +-1 point at 95% needs 0.57 million.
    variance = SMP((100,) * 4, 1.0, "OUE").variance(0.0, 1, 3)
    assert variance == pytest.approx(16 * math.e / (math.e - 1) ** 2, rel=1e-12)
    assert round(variance * (1.959964 / 0.01) ** 2 / 1e6, 2) == 0.57
    # The setting is GRR, k = 4, eps = 1, f = 1/4, d = 2, n = 1000. Then p = e/(e + 3), q = 1/(e + 3), with noise of 500
    # reports and sampling.
    p, q = math.e / (math.e + 3), 1 / (math.e + 3)
    expected = (0.25 * p * (1 - p) + 0.75 * q * (1 - q)) / (500 * (p - q) ** 2) + 0.25 * 0.75 / 1000
    smp = SMP((4, 4), 1.0)
    assert smp.variance(0.25, 1000, 0) == pytest.approx(expected, rel=1e-12)
    # This is also the variance of estimates: chi-squared bounds on 1500 of them, and 1% for the expected n_j in place
    # of n_j.
    rng = SimulationRandomness(6)
    rows = np.stack([np.arange(4), np.zeros(4, dtype=int)], axis=1)
    drawn = [smp.estimate(smp.simulate_aggregate(rows, np.full(4, 250), rng))[0].frequencies[1] for _ in range(1500)]
    ratio = np.var(drawn) / expected
    low, high = stats.chi2.ppf(FAMILY_WISE_ERROR / 2, 1499) / 1500, stats.chi2.isf(FAMILY_WISE_ERROR / 2, 1499) / 1500
    assert low * 0.99 <= ratio <= high * 1.01


def test_the_guarantee_says_what_is_visible() -> None:
    guarantee = SMP((2, 3), 0.7).privacy()
    assert guarantee.per_attribute == (0.7, 0.7)
    assert any("sees which attribute was sampled" in remark for remark in guarantee.remarks)


def test_the_wire() -> None:
    smp = SMP((2, 4, 1024), 1.0)
    assert smp.report_bits == pytest.approx(math.log2(3) + (1 + 2 + 10) / 3, rel=1e-12)
    assert [(field.name, field.dtype, field.width) for field in smp.report_fields] == [
        ("attribute", "uint8", None),
        ("value", "uint16", None),
    ]
    bits = SMP((2, 4, 1024), 1.0, "OUE")
    assert bits.report_bits == pytest.approx(math.log2(3) + (2 + 4 + 1024) / 3, rel=1e-12)
    assert bits.report_fields[1].width == 128
    assert bits.state_size == 1033
    assert SMP((2,) * 300, 1.0).report_fields[0].dtype == "uint16"


def test_refuses_bad_input() -> None:
    smp = SMP((2, 3), 1.0)
    rng = SimulationRandomness(1)
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.1, got something else in row 3, attribute 0"):
        smp.randomize([[1, 2], [1, 1], [2, 0]], rng)
    with pytest.raises(InvalidInputError, match=r"shape \(n, 2\)"):
        smp.randomize([1, 2], rng)
    with pytest.raises(InvalidInputError, match="row 1, attribute 1"):
        smp.simulate_aggregate([[0, 3]], [5], rng)
    with pytest.raises(InvalidInputError, match=r"counts must be integers of shape \(1,\)"):
        smp.simulate_aggregate([[0, 2]], [5, 5], rng)
    for epsilon in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidParameterError, match="epsilon must be"):
            SMP((2, 3), epsilon)
    with pytest.raises(InvalidParameterError, match="oracle must be one of GRR, OUE, got oracle=“grr”"):
        SMP((2, 3), 1.0, "grr")


def test_refuses_hostile_reports() -> None:
    smp = SMP((2, 3), 1.0)
    with pytest.raises(InvalidReportError, match=r"attribute must be in 0\.\.1, got attribute=2 in row 2"):
        smp.aggregate((np.array([0, 2]), np.array([0, 0])))
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.1, got report=2 in row 2, attribute 0"):
        smp.aggregate((np.array([1, 0]), np.array([2, 2])))
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.2, got report=3 in row 1"):
        smp.aggregate((np.array([1, 0]), np.array([3, 1])))
    with pytest.raises(InvalidReportError, match="one entry for each report, but attributes has 2 entries"):
        smp.aggregate((np.array([1, 0]), np.array([1])))
    with pytest.raises(InvalidReportError, match="pair"):
        smp.aggregate(np.array([1, 0]))
    many = np.zeros(100, dtype=np.int64)
    many[60] = 2
    with pytest.raises(InvalidReportError, match="got report=2 in row 61, attribute 0"):
        smp.aggregate((np.zeros(100, dtype=np.int64), many))


@pytest.mark.parametrize(("attribute", "byte", "bit"), [(0, 0, 1 << 2), (0, 1, 1), (1, 1, 1 << 1)])
def test_refuses_hostile_bits(attribute: int, byte: int, bit: int) -> None:
    smp = SMP((2, 9), 1.0, "OUE")
    reports = smp.randomize(np.zeros((50, 2), dtype=np.int64), SimulationRandomness(1))
    assert isinstance(reports, SampledBits)
    row = int(np.flatnonzero(reports.attribute == attribute)[3])
    reports.bits[row, byte] |= bit
    with pytest.raises(InvalidReportError, match=f"must be zero, got .* in row {row + 1}, attribute {attribute}"):
        smp.aggregate(reports)
    with pytest.raises(InvalidReportError, match=r"uint8 of shape \(n, 2\)"):
        smp.aggregate((reports.attribute, reports.bits[:, :1]))
