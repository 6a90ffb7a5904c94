"""The pivot code: read without error, exactly private, and SMP over GRR in another format."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SMP, CorrRR, SecureRandomness, SimulationRandomness
from deniable.core.thresholds import SCALE
from deniable.errors import InvalidReportError, TooLargeError
from deniable.records.pivot import pivot_coded as code_module
from deniable.records.pivot.pivot_coded import PivotCoded, code_weights, decoded_pivots
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value
from tests.unit.records import record_laws as law

UNEQUAL = ((2, 3), (3, 2), (2, 5), (7, 3), (2, 2, 3), (3, 2, 4), (2, 9, 4), (5, 3, 2, 2))


def group(code: int, k: int, m: int) -> int:
    """Contiguous groups by the definition: group g holds the codes v with g <= v m/k < g + 1."""
    return next(g for g in range(m) if g * k <= code * m < (g + 1) * k)


def messages(sizes: tuple[int, ...], pivot: int, value: int) -> list[law.Record]:
    """Return all records that a contributor may send, by the rule of the code."""
    m = min(sizes)
    own = group(value, sizes[pivot], m)

    def may(j: int, code: int) -> bool:
        if j == pivot:
            return code == value
        same = group(code, sizes[j], m) == own
        return same if j == 0 else not same

    return [y for y in law.records(sizes) if all(may(j, code) for j, code in enumerate(y))]


# ---------------------------------------------------------------- the code


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_every_record_tells_its_pivot_over_equal_domains(d: int, k: int) -> None:
    for s, value in itertools.product(range(d), range(k)):
        sent = messages((k,) * d, s, value)
        assert sent
        np.testing.assert_array_equal(decoded_pivots((k,) * d, np.array(sent)), s)


@pytest.mark.parametrize("sizes", UNEQUAL, ids=str)
def test_every_record_tells_its_pivot_over_any_domains(sizes: tuple[int, ...]) -> None:
    told: dict[law.Record, int] = {}
    for s, k in enumerate(sizes):
        for value in range(k):
            sent = messages(sizes, s, value)
            assert sent, "no record says so"
            for y in sent:
                assert told.setdefault(y, s) == s
            np.testing.assert_array_equal(decoded_pivots(sizes, np.array(sent)), s)
            (weight,) = set(code_weights(sizes, np.full(len(sent), s), np.array(sent)))
            assert weight == Fraction(1, len(sent))


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (2, 2, 2), (3, 3, 3)], ids=str)
def test_over_equal_domains_it_is_corr_rr_with_copies_into_the_first_attribute(sizes: tuple[int, ...]) -> None:
    d = len(sizes)
    copies = [[1.0 if j == s or j == 0 else 0.0 for s in range(d)] for j in range(d)]
    corr_rr, coded = CorrRR(sizes, 1.0, tuple(map(tuple, copies))), PivotCoded(sizes, 1.0)
    # Corr-RR's copy probability of zero is at most k/2^64.
    theirs = {tuple(y): column for y, column in zip(corr_rr.outputs().tolist(), corr_rr.channel().T, strict=True)}
    for y, column in zip(coded.outputs().tolist(), coded.channel().T, strict=True):
        np.testing.assert_allclose(theirs.pop(tuple(y)), column, rtol=1e-15)
    assert all(column.max() < 1e-18 for column in theirs.values())


# ---------------------------------------------------------------- exact privacy


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("sizes", [(2,), (2, 2), (3, 3), (2, 3), (3, 2), (2, 2, 2), (3, 2, 2), (2, 3, 2)], ids=str)
def test_the_whole_record_spends_epsilon_and_no_more(sizes: tuple[int, ...], epsilon: float) -> None:
    law.ratios_are_declared(PivotCoded(sizes, epsilon), epsilon)


def test_three_attributes_of_three_values_spend_epsilon() -> None:
    channel = PivotCoded((3, 3, 3), 0.5).channel(exact=True)
    worst = max(max(column) / min(column) for column in channel.T)
    assert math.log(worst) == pytest.approx(0.5, abs=1e-15)
    assert worst == PivotCoded((3, 3, 3), 0.5).implemented_ratio()


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2, 4), (2, 3, 3)], ids=str)
def test_channel_is_the_textbook_law(sizes: tuple[int, ...]) -> None:
    coded, d = PivotCoded(sizes, 1.0), len(sizes)
    columns = {tuple(y): o for o, y in enumerate(coded.outputs().tolist())}
    expected = np.zeros((math.prod(sizes), len(columns)))
    for row, x in enumerate(law.records(sizes)):
        for s, k in enumerate(sizes):
            for value in range(k):
                sent = messages(sizes, s, value)
                for y in sent:
                    expected[row, columns[y]] += law.grr(value, x[s], k, 1.0) / d / len(sent)
    np.testing.assert_allclose(coded.channel(), expected, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 4)], ids=str)
def test_estimates_are_unbiased(sizes: tuple[int, ...]) -> None:
    coded = PivotCoded(sizes, 1.0)
    outputs = coded.outputs()
    law.estimates_are_unbiased(coded, [row[None] for row in outputs], coded.reported_attribute(outputs).tolist())


# ---------------------------------------------------------------- reports


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(3, 3), (2, 2, 2), (5, 3, 2), (2, 7)], ids=str)
def test_reports_follow_the_channel(sizes: tuple[int, ...]) -> None:
    coded, rng, n = PivotCoded(sizes, 1.0), SimulationRandomness(7), 20_000
    outputs = [tuple(y) for y in coded.outputs().tolist()]
    for x, row in zip(law.records(sizes), coded.channel(), strict=True):
        reports = coded.randomize(np.tile(np.array(x), (n, 1)), rng)
        found = [tuple(y) for y in reports.tolist()]
        assert p_value(found, dict(zip(outputs, row, strict=True))) > FAMILY_WISE_ERROR


def test_few_rows_and_many_rows_run_the_same_source() -> None:
    for sizes in ((4, 4, 4), (9, 2, 5), (3,)):
        coded = PivotCoded(sizes, 1.0)
        records = np.arange(40 * len(sizes)).reshape(40, -1) % 2
        compiled = coded.randomize(records, SimulationRandomness(3))
        with always_interpreted():
            np.testing.assert_array_equal(coded.randomize(records, SimulationRandomness(3)), compiled)
            interpreted = coded.aggregate(compiled)
        assert interpreted == coded.aggregate(compiled)


@pytest.mark.parametrize("k", [2, 3, 16, 60_000])
def test_plain_integers_make_the_reports_that_the_loops_make(k: int) -> None:
    generator, n, d = np.random.default_rng(k), 300, 3
    sizes, lies = np.full(d, k, dtype=np.uint64), np.full(d, SCALE // (k + 1), dtype=np.uint64)
    words = generator.integers(0, SCALE, (n, d), dtype=np.uint64)
    words[:9] = np.array([0, 1, SCALE - 1], dtype=np.uint64)[np.indices((3, 3)).reshape(2, 9)[[0, 1, 0]].T]
    words[9, 0], words[10, 0] = (k - 1) * int(lies[0]) - 1, (k - 1) * int(lies[0])
    codes, pivots = generator.integers(0, k, (n, d)), generator.integers(0, d, n).astype(np.uint8)
    found = []
    for path in ("compiled", "few", "interpreted"):
        reports, again = np.zeros((n, d), dtype=np.uint16), np.zeros(n, dtype=np.bool_)
        with np.errstate(over="ignore"):
            getattr(code_module._privatise, path)(words, codes, pivots, lies, sizes, reports)
            refused = getattr(code_module._surround_alike, path)(words, pivots, sizes, reports, again)
        assert refused == again.sum()
        found.append((reports.tolist(), again.tolist()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("name", "k"), [("_surround", (4, 7)), ("_surround_alike", (4, 4))])
@pytest.mark.parametrize("rows", [4, 20])  # one run is interpreted, and one is compiled
def test_a_word_that_would_not_be_uniform_is_drawn_again(name: str, k: tuple[int, int], rows: int) -> None:
    """With words of zero every choice among three or five is refused; the pivot's report must stay as it is."""
    surround = getattr(code_module, name)
    sizes, pivots = np.array(k, dtype=np.uint64), np.zeros(rows, dtype=np.uint8)
    reports = np.full((rows, 2), 2, dtype=np.uint8)
    again = np.zeros(rows, dtype=np.bool_)
    words = np.zeros((rows, 2), dtype=np.uint64)
    assert surround(words, pivots, sizes, reports, again) == rows
    assert again.all()
    code_module._surround_again(SimulationRandomness(1), pivots, sizes, reports, again, surround)
    assert (reports[:, 0] == 2).all()
    assert (reports[:, 1] * 4 // k[1] != 2).all()
    # The word of the pivot is not used, so it refuses nothing.
    assert surround(words, np.ones(rows, dtype=np.uint8), sizes, reports, np.zeros(rows, dtype=np.bool_)) == 0


def test_a_record_is_not_reported_with_a_refused_word() -> None:
    """Zeros as the words of pivots and of all rows: each choice among three is refused, and drawn again by chance."""

    class Zeros:
        def __init__(self) -> None:
            self.chance, self.zeros = SimulationRandomness(1), 2

        def fill(self, words: Any) -> None:
            self.chance.fill(words)
            words *= np.uint64(self.zeros <= 0)
            self.zeros -= 1

    rng: Any = Zeros()
    reports = PivotCoded((4, 4), 1.0).randomize(np.zeros((200, 2), dtype=np.int64), rng)
    assert sorted(set(reports[:, 1].tolist())) == [0, 2, 3]


def test_a_device_makes_one_report() -> None:
    coded = PivotCoded((2, 1 << 32, 3), 1.0)
    report = coded.randomize([[1, (1 << 32) - 1, 0]], SecureRandomness())
    assert report.dtype == np.uint32
    assert coded.reported_attribute(report).shape == (1,)
    largest = PivotCoded((1 << 32, (1 << 32) - 1), 1.0)
    reports = largest.randomize([[(1 << 32) - 1, (1 << 32) - 2]] * 9, SecureRandomness())
    assert set(largest.reported_attribute(reports).tolist()) <= {0, 1}


def test_large_domains_that_differ() -> None:
    sizes = (70_000, (1 << 32) - 5, 65_537)
    coded, rng = PivotCoded(sizes, 30.0), SimulationRandomness(5)
    records = np.array([[69_999, (1 << 32) - 6, 65_536]] * 200)
    reports = coded.randomize(records, rng)
    pivots = coded.reported_attribute(reports)
    assert set(pivots.tolist()) == {0, 1, 2}
    assert (reports[np.arange(200), pivots] == records[np.arange(200), pivots]).mean() > 0.9


# ---------------------------------------------------------------- collector and analyst


def test_aggregate_counts_the_sampled_attribute_only() -> None:
    coded = PivotCoded((3, 3, 3), 1.0)
    reports = np.array([[2, 2, 0], [1, 0, 1], [0, 1, 2], [2, 2, 1]])
    np.testing.assert_array_equal(coded.aggregate(reports).counts, [1, 0, 0, 0, 0, 2, 0, 1, 0])
    np.testing.assert_array_equal(coded.reported_attribute(reports), [1, 2, 0, 1])
    estimates = coded.estimate(coded.aggregate(reports))
    assert [(estimates[j].n, estimates[j].contributors) for j in range(3)] == [(1, 4), (2, 4), (1, 4)]
    alone = coded.estimate(coded.aggregate(reports[:1]))
    assert np.isnan(alone[0].frequencies).all()
    assert np.isinf(alone[0].standard_errors).all()


@pytest.mark.parametrize("rows", [5, 40])
@pytest.mark.parametrize(
    ("sizes", "wrong", "message"),
    [
        ((3, 3, 3), [1, 1, 1], "got a report that may be about attributes 1 and 2 in row 4"),
        ((2, 6, 4), [1, 3, 2], "got a report that may be about attributes 1 and 2 in row 4"),
        ((3, 3, 3), [0, 3, 1], "report must be in 0..2, got report=3 in row 4, attribute 1"),
    ],
)
def test_reports_of_nobody_are_refused(rows: int, sizes: tuple[int, ...], wrong: list[int], message: str) -> None:
    coded = PivotCoded(sizes, 1.0)
    reports = coded.randomize(np.zeros((rows, 3), dtype=np.int64), SimulationRandomness(1)).astype(np.int64)
    reports[3] = wrong
    for read in (coded.aggregate, coded.reported_attribute):
        with pytest.raises(InvalidReportError, match=re.escape(message)):
            read(reports)


def test_errors_are_those_of_sampling_one_attribute() -> None:
    coded, smp = PivotCoded((4, 7), 1.0), SMP((4, 7), 1.0)
    for j in range(2):
        assert coded.variance(0.3, 1000, j) == smp.variance(0.3, 1000, j)
    rng, records, held = SimulationRandomness(2), np.array([[0, 6], [3, 1]]), np.array([700, 300])
    errors = []
    for _ in range(400):
        estimates = coded.estimate(coded.simulate_aggregate(records, held, rng))
        errors.append([estimates[0].frequencies[3] - 0.3, estimates[1].frequencies[6] - 0.7])
    observed = np.mean(np.square(errors), axis=0)
    expected = np.array([smp.variance(0.3, 1000, 0), smp.variance(0.7, 1000, 1)])
    # A mean of 400 squares has a relative standard deviation of sqrt(2/400) = .07. Five of them are allowed.
    assert (np.abs(observed / expected - 1) < 0.35).all()


def test_the_guarantee_says_what_is_visible() -> None:
    remarks = PivotCoded((2, 2), 1.0).privacy().remarks
    assert "the sampled attribute is visible to the collector" in remarks[0]
    assert PivotCoded((2, 2), 1.0).privacy().per_attribute == (1.0, 1.0)


# ---------------------------------------------------------------- mutants


def test_a_pivot_whose_others_may_be_in_its_group_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the other attributes are uniform over all values, as in RS+FD."""

    def mutant(words: Any, pivots: Any, sizes: Any, reports: NDArray[Any], again: Any) -> int:
        for i, s in enumerate(pivots):
            for j, size in enumerate(sizes.tolist()):
                if j != s:
                    reports[i, j] = int(words[i, j]) * size // SCALE
        return 0

    monkeypatch.setattr(code_module, "_surround_alike", mutant)
    coded = PivotCoded((3, 3, 3), 1.0)
    with pytest.raises(InvalidReportError, match="one sampled attribute"):
        coded.reported_attribute(coded.randomize(np.zeros((200, 3), dtype=np.int64), SimulationRandomness(1)))


def test_too_many_counters_are_not_set_up() -> None:
    coded = PivotCoded((1 << 32, 3), 1.0)
    with pytest.raises(TooLargeError, match=r"at most 268,435,456 counters to add up its reports, got 4,294,967,299"):
        coded.aggregate(np.zeros((1, 2), dtype=np.int64))


def test_outputs_are_listed_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.core.mechanism.MAX_CHANNEL_CELLS", 36)
    assert len(PivotCoded((6, 6), 1.0).outputs()) == 36
    with pytest.raises(TooLargeError, match="at most 36 cells, got 1 inputs x 42 outputs"):
        PivotCoded((6, 7), 1.0).outputs()
