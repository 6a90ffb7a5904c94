from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy import stats

from deniable import Aggregate, SecureRandomness, SimulationRandomness
from deniable.core.randomness import Randomness, draw, uniform_below
from deniable.errors import DamagedStateError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families import _spread_kernels as kernels, spread as decoding
from deniable.oracles.sketch.families.family import count_matches
from deniable.oracles.sketch.families.spread import MAX_TABLE, SpreadFamily, powers_of_two_around
from tests.unit.oracles.sketch.families.spread_laws import VECTORS, cell_by_hand

FAMILY_WISE_ERROR = 1e-6


def matches_by_hand(family: SpreadFamily, reports: list[int], x: int) -> int:
    return sum(cell_by_hand(family.k, family.m, r // family.m, x) == r % family.m for r in reports)


# ------------------------------------------------------------------------------------------------ known answers


def descend_probability(family: SpreadFamily, level: int) -> Fraction:
    """Probability with which a contributor at this level goes to the next; 0 at the last."""
    bits, _, _, _, last = family.levels[level]
    return Fraction(0) if last else Fraction((1 << bits) // family.m - 1, (1 << bits) - 1)


@pytest.mark.parametrize("row", VECTORS["spread"], ids=lambda row: f"{row['d']}-{row['m']}")
def test_vectors(row: dict[str, Any]) -> None:
    sketch = CountMeanSketch(row["d"], row["eps"], row["m"], "spread")
    family = SpreadFamily(row["d"], row["m"])
    assert sketch.hashes == family
    assert (family.cell_bits, family.bits, family.state_size) == (row["l"], row["k"], row["size"])
    assert [[*level[:4], int(level[4])] for level in family.levels] == row["levels"]
    # The vectors also give the formula for the last level, from which nobody descends.
    descend = [float(descend_probability(family, i)) for i in range(len(family.levels) - 1)]
    assert descend == pytest.approx(row["descend"][:-1], rel=1e-15)
    assert descend_probability(family, len(family.levels) - 1) == 0
    assert float(family.collision_probability) == pytest.approx(row["cbar"], rel=1e-15)
    assert math.ceil(sketch.report_bits) == row["report_bits"]
    reports, queries = np.array(row["rep"]), np.array(row["queries"])
    aggregate = sketch.aggregate(reports)
    assert sketch.hashes.decode(aggregate.counts, aggregate.n)[queries].tolist() == row["counts"]
    assert sketch.count_support(reports, queries).tolist() == row["counts"]
    for estimate in (sketch.estimate(aggregate).frequencies[queries], sketch.estimate(aggregate, queries).frequencies):
        assert estimate == pytest.approx(row["estimates"], rel=1e-12, abs=1e-13)


def test_raised_dimension() -> None:
    """2^17 values, 512 cells: 18 bits and 2^19 counters, not 17 bits and 2^26."""
    family = SpreadFamily(2**17, 512)
    assert (family.bits, family.state_size) == (18, 2**19)
    assert [SpreadFamily(k, 16).bits for k in (2, 16, 17, 32, 33, 128, 256, 257)] == [4, 4, 5, 5, 8, 8, 8, 9]


# ------------------------------------------------------------------------------------------------ distribution

SMALL = [
    (2, 2),
    (3, 2),
    (8, 2),
    (30, 2),
    (4, 4),
    (8, 4),
    (13, 4),
    (64, 4),
    (128, 4),
    (5, 8),
    (64, 8),
    (100, 8),
    (16, 16),
]


@pytest.mark.parametrize(("k", "m"), SMALL)
def test_every_pair_collides_with_the_same_probability(k: int, m: int) -> None:
    """Over all hash functions, weighted by their exact probabilities, for all pairs of the whole domain D."""
    family = SpreadFamily(k, m)
    (rows,), probabilities = family.members()
    assert sum(probabilities) == 1
    assert len(rows) == family.member_count == len(set(rows.tolist()))
    cells = np.array([[cell_by_hand(k, m, int(row), x) for x in range(family.domain)] for row in rows])
    weights = {p: probabilities == p for p in set(probabilities)}
    for x, y in itertools.combinations(range(family.domain), 2):
        collide = cells[:, x] == cells[:, y]
        mass = sum(int((collide & chosen).sum()) * p for p, chosen in weights.items())
        assert mass == family.collision_probability
    # Descending with the stated probabilities gives each level's share.
    reached = Fraction(1)
    for i, level in enumerate(family.levels):
        stays = reached * (1 - descend_probability(family, i))
        inside = (rows >= level.offset // m) & (rows < (level.offset + (m << level.degree)) // m)
        assert sum(probabilities[inside]) == stays
        assert len(set(probabilities[inside])) == 1
        reached *= descend_probability(family, i)


@pytest.mark.parametrize(("k", "m"), [(30, 2), (64, 4), (100, 8)])
def test_mutant_descend_probabilities_collide_unequally(k: int, m: int) -> None:
    """Descending with probability 1/m, or choosing a row uniformly."""
    family = SpreadFamily(k, m)
    (rows,), exact = family.members()
    last = family.levels[-1].offset // m
    halving = np.empty(len(rows), dtype=object)
    reached = Fraction(1)
    for level in family.levels:
        start, count = level.offset // m, 1 << level.degree
        inside = (rows >= start) & (rows < start + count)
        stays = reached if level.last else reached * Fraction(m - 1, m)
        halving[inside] = stays / (count - 1 if level.last else count)
        reached -= stays
    uniform = np.full(len(rows), Fraction(1, len(rows)), dtype=object)
    cells = np.array([[cell_by_hand(k, m, int(row), x) for x in range(k)] for row in rows])
    # With m = 2 every row has the same probability, m - 1 = 1 in D - 1.
    for probabilities in (halving, uniform) if m > 2 else (halving,):
        assert sum(probabilities) == 1
        masses = {sum(probabilities[cells[:, 0] == cells[:, x]], Fraction(0)) for x in range(1, k)}
        assert masses != {family.collision_probability}
    assert {sum(exact[cells[:, 0] == cells[:, x]], Fraction(0)) for x in range(1, k)} == {family.collision_probability}
    assert last > 0


@pytest.mark.parametrize("bits", range(1, 33))
def test_collision_probability_is_least(bits: int) -> None:
    """(D/m - 1)/(D - 1), from the levels: P(collide) = P(one level collides) summed over where contributors stay."""
    for cell_bits in range(1, min(bits, 16) + 1):
        family = SpreadFamily(max(2, 1 << bits), 1 << cell_bits)
        c = Fraction(0)
        for level in reversed(range(len(family.levels))):
            width = family.levels[level].bits
            if family.levels[level].last:
                # There are 2^b - 1 nonzero w. For 2^(b-l) - 1 of them, l independent inner products vanish.
                c = Fraction((1 << (width - cell_bits)) - 1, (1 << width) - 1)
            else:
                # Values that differ above the cell's bits collide with 1/m here and c below. Other values never collide
                # here, and always below. The descend probability makes both the same.
                descend = descend_probability(family, level)
                above = (1 - descend) * Fraction(1, family.m) + descend * c
                assert above == descend
                c = above
        assert c == family.collision_probability


def row_p_value(draw_rows: Any, seed: int = 3) -> float:
    """Chi-squared of 200,000 drawn rows of a small family against `members`."""
    family, n = SpreadFamily(30, 4), 200_000
    (rows,), probabilities = family.members()
    drawn = draw_rows(family, SimulationRandomness(seed), n)
    observed = np.bincount(drawn, minlength=family.state_size // 4)
    assert observed.sum() == observed[rows].sum()
    expected = n * probabilities.astype(float)
    return float(stats.chi2.sf(((observed[rows] - expected) ** 2 / expected).sum(), len(rows) - 1))


def test_rows_are_drawn_by_their_law() -> None:
    assert row_p_value(lambda family, rng, n: family.draw_parameters(rng, n)[0]) > FAMILY_WISE_ERROR


def test_mutant_descends_too_often() -> None:
    """Level by level, but with probability 1/m."""

    def mutant(family: SpreadFamily, rng: Randomness, n: int) -> NDArray[Any]:
        rows = np.full(n, -1)
        for level in family.levels:
            here = np.flatnonzero(rows < 0)
            stays = here if level.last else here[uniform_below(rng, family.m, len(here)) > 0]
            w = uniform_below(rng, (1 << level.degree) - level.last, len(stays)) + level.last
            rows[stays] = level.offset // family.m + w
        return rows

    def honest(family: SpreadFamily, rng: Randomness, n: int) -> NDArray[Any]:
        """The same loop with the stated probabilities: the one draw of `draw_parameters` has this law."""
        rows = np.full(n, -1)
        for i, level in enumerate(family.levels):
            here = np.flatnonzero(rows < 0)
            c = descend_probability(family, i)
            stays = here[uniform_below(rng, c.denominator, len(here)) >= c.numerator]
            w = uniform_below(rng, (1 << level.degree) - level.last, len(stays)) + level.last
            rows[stays] = level.offset // family.m + w
        return rows

    assert row_p_value(honest) > FAMILY_WISE_ERROR
    assert row_p_value(mutant) < FAMILY_WISE_ERROR


@pytest.mark.parametrize(("k", "m"), [(2, 2), (2**32, 2), (2**32, 2**16), (5, 2**16)])
def test_rows_stay_in_range_at_the_extremes(k: int, m: int) -> None:
    family = SpreadFamily(k, m)
    for rng in (SimulationRandomness(1), SecureRandomness()):
        (rows,) = family.draw_parameters(rng, 5000)
        assert rows.dtype == family.report_dtype == (np.uint64 if family.state_size > 2**32 else np.uint32)
        assert int(rows.max()) < family.state_size // m
        codes = (draw(rng, 5000) % np.uint64(k)).astype(np.int64)
        cells = family.hash(codes, rows)
        by_hand = [cell_by_hand(k, m, int(rows[i]), int(codes[i])) for i in range(300)]
        assert cells[:300].tolist() == by_hand
        assert (family.checked(family.join((rows,), cells)) // family.report_dtype.type(m) == rows).all()


# ------------------------------------------------------------------------------------------------ decoding


@st.composite
def batches(draw_from: st.DrawFn) -> tuple[SpreadFamily, list[int]]:
    cell_bits = draw_from(st.integers(1, 5))
    k = draw_from(st.one_of(st.integers(2, 40), st.integers(2, 600), st.sampled_from([2**j for j in range(1, 10)])))
    family = SpreadFamily(k, 1 << cell_bits)
    hole = family.levels[-1].offset
    allowed = st.integers(0, family.state_size - family.m - 1).map(lambda r: r if r < hole else r + family.m)
    return family, draw_from(st.lists(allowed, min_size=1, max_size=40))


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(batches(), st.data())
def test_decoding_is_counting_matches(batch: tuple[SpreadFamily, list[int]], data: st.DataObject) -> None:
    family, listed = batch
    reports = family.checked(np.array(listed, dtype=family.report_dtype))
    expected = [matches_by_hand(family, listed, x) for x in range(family.k)]
    state, n = family.tally(reports), len(listed)
    assert family.decode(state, n).tolist() == expected
    queries = np.array(data.draw(st.lists(st.integers(0, family.k - 1), max_size=20)), dtype=np.int64)
    expected_queries = [expected[x] for x in queries]
    assert family.decode_queries(state, n, queries).tolist() == expected_queries
    assert family.count_queries(reports, queries).tolist() == expected_queries
    assert count_matches(family, reports, queries).tolist() == expected_queries
    # The state is a sum, and decoding is linear.
    first = family.tally(reports[: n // 2]) + family.tally(reports[n // 2 :])
    assert (first == state).all()
    if n < 1 << 20:
        assert family.decode(state.astype(np.int64), n).tolist() == expected


@pytest.mark.parametrize(("k", "m", "n"), [(100_000, 4, 50_000), (70_000, 64, 50_000), (40_000, 2, 3000)])
def test_decoding_beyond_one_block(k: int, m: int, n: int) -> None:
    """Several blocks of the histogram and of the transform: counts of 40 values against every hash evaluated."""
    family = SpreadFamily(k, m)
    rng = SimulationRandomness(9)
    codes = np.arange(n) ** 2 % 1000
    (rows,) = family.draw_parameters(rng, n)
    reports = family.join((rows,), family.hash(codes, rows))
    queries = np.array([0, 1, 4, 999, k - 1, *range(17, k, k // 35)])
    counts = family.decode(family.tally(reports), n)
    assert counts.shape == (k,)
    assert (counts[queries] == count_matches(family, reports, queries)).all()
    # Without noise every contributor supports their own value.
    assert (counts[:1000] >= np.bincount(codes, minlength=1000)).all()


def test_wide_sums_use_64_bits() -> None:
    """n m >= 2^31: one hash function holds them all, and nothing overflows."""
    family = SpreadFamily(16, 8)
    state = np.zeros(family.state_size, dtype=np.int64)
    row, n = 5, (1 << 31) + 10
    state[row * 8 + 3] = n
    counts = family.decode(state, n)
    assert counts.tolist() == [n * (cell_by_hand(16, 8, row, x) == 3) for x in range(16)]


def filled(family: SpreadFamily, seed: int = 0, n: int = 5000) -> NDArray[np.int64]:
    (rows,) = family.draw_parameters(SimulationRandomness(seed), n)
    cells = np.arange(n) % family.m
    return family.tally(family.join((rows,), cells)).astype(np.int64)


def test_mutant_without_the_row_transform_is_caught_when_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    family = SpreadFamily(200, 4)
    state = filled(family)
    assert family.decode(state, 5000).sum() > 0
    monkeypatch.setattr(decoding, "walsh_rows", lambda _block, _size: None)
    with pytest.raises(DamagedStateError):
        family.decode(state, 5000)


def test_mutant_without_the_level_offset_is_caught_when_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    family = SpreadFamily(200, 4)
    state = filled(family)
    monkeypatch.setattr(decoding, "rows_of", lambda level, bits, state: state[: 1 << (level.degree + bits)])
    with pytest.raises(DamagedStateError):
        family.decode(state, 5000)


def test_mutant_with_another_field_is_caught_when_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """x^6 + x^5 + 1 in place of x^6 + x + 1: divisible and in range more often than not, but not what was hashed."""
    family = SpreadFamily(200, 4)
    state = filled(family)
    honest = kernels.scatter_rows

    def mutant(block: Any, first: int, cell_bits: int, degree: int, polynomial: int, *rest: Any) -> None:
        honest(block, first, cell_bits, degree, 0b100001 if degree == 6 else polynomial, *rest)

    monkeypatch.setattr(decoding, "scatter_rows", mutant)
    with pytest.raises(DamagedStateError, match=r"direct counting|support counts"):
        family.decode(state, 5000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state, _hole: state.__setitem__(0, state[0] + 1), "must sum to 5000, got 5001"),
        (
            lambda state, hole: state.__setitem__(slice(hole, hole + 2), [1, -1]),
            r"counts\[337\] must be in 0\.\.\d*, got -1",
        ),
        (
            lambda state, hole: (state.__setitem__(int(state.argmax()), state.max() - 1), state.__setitem__(hole, 1)),
            r"counts\[336\] must be in 0\.\.0, got 1",
        ),
    ],
)
def test_damaged_states_are_refused(change: Any, message: str) -> None:
    sketch = CountMeanSketch(200, 1.0, 4, "spread")
    family = SpreadFamily(200, 4)
    state = filled(family)
    change(state, family.levels[-1].offset)
    with pytest.raises(DamagedStateError, match=message):
        Aggregate(sketch, state, 5000)


# ------------------------------------------------------------------------------------------------ reports


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        ([0, 352], r"report must be in 0\.\.351, got report=352 in row 2"),
        ([-1], r"report must be in 0\.\.351, got report=-1 in row 1"),
        (np.array([2**64 - 1], dtype=np.uint64), r"got report=18446744073709551615 in row 1"),
        (
            [5, 335, 337, 340],
            r"report must not be in 336\.\.339, got report=337 in row 3: no hash function has these codes",
        ),
        ([0.5], "dtype=float64"),
        ([[3]], "shape"),
    ],
)
def test_hostile_reports_are_named(reports: Any, message: str) -> None:
    sketch = CountMeanSketch(200, 1.0, 4, "spread")
    with pytest.raises(InvalidReportError, match=message):
        sketch.aggregate(reports)
    with pytest.raises(InvalidReportError, match=message):
        sketch.count_support(reports, [0])


def test_hostile_reports_can_be_skipped() -> None:
    sketch = CountMeanSketch(200, 1.0, 4, "spread")
    good = sketch.randomize(np.arange(200), SimulationRandomness(1))
    assert sketch.valid_reports(good)[1:] == (0, "")
    mixed = np.concatenate([good[:50].astype(np.int64), [352, 336, -7], good[50:]])
    kept = sketch.valid_reports(mixed)
    assert (kept.reports == good).all()
    assert (kept.rejected, kept.first_error) == (3, "report must be in 0..351, got report=352 in row 51")
    assert sketch.aggregate(kept.reports) == sketch.aggregate(good)
    with pytest.raises(InvalidReportError, match="dtype=float64"):
        sketch.valid_reports(mixed.astype(float))
    with pytest.raises(InvalidReportError, match="shape"):
        sketch.valid_reports(mixed[None])


@pytest.mark.parametrize(("k", "m"), [(2, 2), (16, 4), (40, 64), (90, 4)])
def test_cells_that_are_looked_up_are_those_by_hand(k: int, m: int) -> None:
    family = SpreadFamily(k, m)
    rows, codes = np.indices((family.state_size // m, k)).reshape(2, -1)
    assert "_cells" not in vars(family)
    cells = family.hash(codes, rows.astype(np.uint32))
    assert ("_cells" in vars(family)) == (len(rows) > 16 and family.state_size // m * family.domain <= MAX_TABLE)
    assert cells.tolist() == [cell_by_hand(k, m, row, x) for row, x in zip(rows.tolist(), codes.tolist(), strict=True)]


# ------------------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((20, 3), "m must be a power of two for the hash family “spread”, got m=3"),
        ((20, 1), "m must be >= 2, got m=1"),
        ((20, 2**17), "m must be <= 65536"),
        ((20, 2.0), "m must be an integer"),
        ((1, 2), "k must be >= 2, got k=1"),
        ((2**32 + 1, 2), "k must be <= 4294967296"),
    ],
)
def test_bad_parameters_are_named(parameters: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SpreadFamily(*parameters)
    with pytest.raises(InvalidParameterError, match=message):
        CountMeanSketch(parameters[0], 1.0, parameters[1], "spread")


def test_a_state_too_large_is_refused_before_it_is_made() -> None:
    sketch = CountMeanSketch(2**32, 1.0, family="spread")
    reports = sketch.randomize([2**32 - 1, 5], SimulationRandomness(1))
    # The number is 4^16 + 4^15 + ... + 4^2 for the wider levels, and 4 x 4 for the last level.
    with pytest.raises(TooLargeError, match="must have at most 268,435,456 counters, got 5,726,623,072"):
        sketch.aggregate(reports)
    # A query list needs no state.
    assert sketch.count_support(reports, [2**32 - 1, 5, 77]).shape == (3,)


@pytest.mark.parametrize(
    ("epsilon", "m"), [(0.5, 2), (1.0, 4), (2.0, 8), (3.0, 16), (4.0, 64), (5.0, 128), (9.0, 2**13)]
)
def test_default_number_of_cells_is_the_better_power_of_two(epsilon: float, m: int) -> None:
    sketch = CountMeanSketch(2**20, epsilon, family="spread")
    assert sketch.m == m
    # This is eq. (20) of Pan at f = 1/k.
    e, f = math.exp(epsilon), 2.0**-20
    cost = {2**j: ((1 - f) * (e + 2**j - 1) ** 2 + f * 4**j * e) / (2**j - 1) for j in range(1, 17)}
    assert cost[m] == min(cost.values())
    assert powers_of_two_around(m) == (m, min(2 * m, 2**16))


# ------------------------------------------------------------------------------------------------ the sketch


def largest_z(sketch: CountMeanSketch, mutant: CountMeanSketch | None = None) -> float:
    """Largest |f^ - f|/sd over k values; 300,000 contributors, a third of them with value 7."""
    n, k = 300_000, sketch.k
    codes = np.where(np.arange(n) % 3 == 0, 7, np.arange(n) * 31 % k)
    truth = np.bincount(codes, minlength=k) / n
    reports = (mutant or sketch).randomize(codes, SimulationRandomness(5))
    estimate = sketch.estimate(sketch.aggregate(reports))
    sd = np.sqrt([sketch.variance(f, n) for f in truth])
    return float(np.abs((estimate.frequencies - truth) / sd).max())


@pytest.mark.parametrize(
    ("k", "epsilon", "m", "mutant"),
    [(1000, 1.0, 4, 1.1), (5000, 2.0, 8, 2.2), (3000, 4.0, 64, 4.4), (3000, 0.5, 2, 0.65)],
)
def test_estimates_are_unbiased(k: int, epsilon: float, m: int, mutant: float) -> None:
    """z with family-wise error 1e-6 over k values, from the variance at the truth."""
    sketch = CountMeanSketch(k, epsilon, m, "spread")
    bound = stats.norm.isf(FAMILY_WISE_ERROR / (2 * k))
    assert largest_z(sketch) < bound
    assert largest_z(sketch, CountMeanSketch(k, mutant, m, "spread")) > bound


def test_variance_is_the_formula() -> None:
    """Empirical variance over 2048 values that nobody holds, 40 runs: chi-squared bounds at 1e-6 would assume
    independent values, so the mean over values is compared per run, z over runs."""
    sketch, n = CountMeanSketch(4096, 1.0, 4, "spread"), 20_000
    counts = np.zeros(4096, dtype=np.int64)
    counts[:4] = n // 4
    rng = SimulationRandomness(8)
    runs = np.array([sketch.estimate(sketch.simulate_aggregate(counts, rng)).frequencies[2048:] for _ in range(40)])
    per_run = (runs**2).mean(axis=1)
    expected = sketch.variance(0.0, n)
    z = (per_run.mean() - expected) / (per_run.std(ddof=1) / math.sqrt(40))
    assert abs(z) < stats.t.isf(FAMILY_WISE_ERROR / 2, 39)
    assert per_run.std() < 0.1 * expected  # a variance that is 10% off would show
    # [(1-f)(E+m-1)^2 + f m^2 E]/(n (m-1)(E-1)^2) with c = 1023/4095 in place of 1/4 differs by 1e-4.
    e = math.e
    assert expected == pytest.approx((e + 3) ** 2 / (n * 3 * (e - 1) ** 2), rel=1e-3)


def test_simulated_aggregate_of_many_blocks() -> None:
    sketch = CountMeanSketch(10, 1.0, 2, "spread")
    counts = np.array([0, 40_000, 0, 1, 0, 0, 70_000, 3, 0, 0])
    aggregate = sketch.simulate_aggregate(counts, SimulationRandomness(2))
    assert aggregate.n == aggregate.counts.sum() == 110_004
    estimate = sketch.estimate(aggregate)
    sd = np.sqrt([sketch.variance(f, aggregate.n) for f in counts / aggregate.n])
    assert (np.abs(estimate.frequencies - counts / aggregate.n) / sd).max() < stats.norm.isf(FAMILY_WISE_ERROR / 20)
