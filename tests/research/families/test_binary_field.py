from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from deniable import SecureRandomness, SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.family import count_matches
from deniable.research.families import binary_field as module
from deniable.research.families.binary_field import BinaryFieldFamily, BinaryFieldReports
from deniable.research.families.query_sketch import QuerySketch
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted

# These are the low terms of the polynomials of GF(2^l) with the smallest integer value. Seroussi, *Table of low-weight
# binary irreducible polynomials*, 1998, lists x^64+x^4+x^3+x+1 and those of the small fields, and all of them are the
# least.
LOW = {4: 0b11, 5: 0b101, 6: 0b11, 8: 0x1B, 64: 0x1B}


def product_by_hand(a: int, b: int, bits: int, low: int) -> int:
    """Return the schoolbook product of polynomials, after division."""
    product = 0
    for i in range(bits):
        product ^= (a >> i & 1) * b << i
    modulus = 1 << bits | low
    while product >> bits:
        product ^= modulus << (product.bit_length() - bits - 1)
    return product


def cell_by_hand(family: BinaryFieldFamily, a0: int, a1: int, x: int) -> int:
    return (a0 ^ product_by_hand(a1, x, family.bits, family.polynomial)) % family.m


def columns(rows: list[tuple[int, int, int]]) -> BinaryFieldReports:
    return BinaryFieldReports(*(np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True)))


# ------------------------------------------------------------------------------------------------ distribution


@pytest.mark.parametrize(
    ("k", "m", "bits"),
    [(16, 2, 4), (32, 2, 5), (32, 3, 5), (32, 4, 5), (20, 5, 6), (64, 9, 6), (200, 3, 8), (2**64, 4, 64)],
)
def test_fields(k: int, m: int, bits: int) -> None:
    family = BinaryFieldFamily(k, m)
    assert (family.bits, family.polynomial) == (bits, LOW[bits])
    quotient, rest = divmod(2**bits, m)
    # Each cell has Q+1 or Q field elements.
    sizes = [quotient + (z < rest) for z in range(m)]
    assert family.collision_probability == sum(Fraction(size, 2**bits) ** 2 for size in sizes)


def _collisions(family: BinaryFieldFamily, first_a0: bool = False, a1_from: int = 0) -> set[Fraction]:
    (a0, a1), _ = family.members()
    kept = (a1 >= a1_from) & ((a0 == 0) | (not first_a0))
    a0, a1 = a0[kept], a1[kept]
    cells = np.array([family.hash(np.full(len(a0), x), a0, a1) for x in range(family.k)])
    pairs = itertools.combinations(range(family.k), 2)
    return {Fraction(int((cells[x] == cells[y]).sum()), len(a0)) for x, y in pairs}


@pytest.mark.parametrize(("k", "m"), [(16, 2), (32, 3), (32, 4), (64, 5), (30, 9)])
def test_every_pair_collides_with_the_same_probability(k: int, m: int) -> None:
    """Over all (a0, a1), for all pairs of values of the field."""
    family = BinaryFieldFamily(k, m)
    (a0, a1), probabilities = family.members()
    assert len(set(zip(a0.tolist(), a1.tolist(), strict=True))) == family.member_count == 4**family.bits
    assert set(probabilities) == {Fraction(1, family.member_count)}
    assert _collisions(family) == {family.collision_probability}
    # Mutants: a1 = 0 is left out; the offset is left out (powers of two do not need it here).
    assert _collisions(family, a1_from=1) != {family.collision_probability}
    assert (_collisions(family, first_a0=True) == {family.collision_probability}) == (m in (2, 4))


def test_mutant_modulus_with_a_factor_collides_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """x^5 + x + 1 = (x^2 + x + 1)(x^3 + x^2 + 1)."""
    monkeypatch.setattr(module, "smallest_irreducible", lambda _degree: 0b100011)
    assert len(_collisions(BinaryFieldFamily(32, 3))) > 1


def test_parameters_are_uniform() -> None:
    """Chi-squared of (a0, a1) over all 256 pairs of GF(16)."""
    family, n = BinaryFieldFamily(16, 2), 100_000
    a0, a1 = family.draw_parameters(SimulationRandomness(4), n)
    observed = np.bincount(a0.astype(np.int64) * 16 + a1, minlength=256)
    assert stats.chi2.sf(((observed - n / 256) ** 2 / (n / 256)).sum(), 255) > FAMILY_WISE_ERROR
    # The whole range of 64 bits is covered: 16 classes of the highest and of the lowest bits.
    for words in BinaryFieldFamily(2**64, 2).draw_parameters(SimulationRandomness(4), n):
        for classes in (words >> np.uint64(60), words & np.uint64(15)):
            observed = np.bincount(classes.astype(np.int64), minlength=16)
            assert stats.chi2.sf(((observed - n / 16) ** 2 / (n / 16)).sum(), 15) > FAMILY_WISE_ERROR / 4


# ------------------------------------------------------------------------------------------------ counting


@st.composite
def batches(draw: st.DrawFn) -> tuple[BinaryFieldFamily, list[tuple[int, int, int]], list[int]]:
    k = draw(st.one_of(st.integers(2, 300), st.sampled_from([2**20, 2**32, 2**33 + 5, 2**63, 2**64 - 1, 2**64])))
    m = draw(st.one_of(st.integers(2, 20), st.integers(2, 2**32), st.sampled_from([2**j for j in range(1, 33)])))
    family = BinaryFieldFamily(k, m)
    element = st.one_of(st.integers(0, 2**family.bits - 1), st.sampled_from([0, 1, 2**family.bits - 1]))
    codes = draw(st.lists(st.one_of(st.integers(0, k - 1), st.sampled_from([0, 1, k - 1])), min_size=1, max_size=8))
    rows = draw(st.lists(st.tuples(element, element, st.integers(0, m - 1)), min_size=1, max_size=40))
    # Half of the cells are true ones, so that matches occur however large m is.
    rows = [(a0, a1, cell_by_hand(family, a0, a1, codes[0]) if i % 2 else z) for i, (a0, a1, z) in enumerate(rows)]
    return family, rows, codes


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(batches())
def test_counts_are_the_brute_force_ones(
    batch: tuple[BinaryFieldFamily, list[tuple[int, int, int]], list[int]],
) -> None:
    family, rows, codes = batch
    reports, queries = family.checked(columns(rows)), np.array(codes, dtype=np.uint64)
    expected = [sum(cell_by_hand(family, a0, a1, x) == z for a0, a1, z in rows) for x in codes]
    assert family.count_queries(reports, queries).tolist() == expected
    assert count_matches(family, reports, queries).tolist() == expected
    if family.k <= 300:
        state = family.tally(reports)
        assert family.decode(state, len(rows))[codes].tolist() == expected
        assert family.decode_queries(state, len(rows), queries).tolist() == expected


def test_more_queries_than_tables() -> None:
    family = BinaryFieldFamily(2**40, 6)
    rng = np.random.default_rng(5)
    a0, a1 = family.draw_parameters(SimulationRandomness(2), 300)
    reports = BinaryFieldReports(a0, a1, rng.integers(0, 6, 300))
    queries = rng.integers(0, 2**40, 150)
    assert (family.count_queries(reports, queries) == count_matches(family, reports, queries)).all()
    assert family.count_queries(reports, queries[:0]).tolist() == []
    nothing = BinaryFieldReports(a0[:0], a1[:0], reports.value[:0])
    assert family.count_queries(nothing, queries[:3]).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize(("k", "m"), [(20, 3), (2**64, 12)])
def test_kernels_run_the_same_both_ways(n: int, k: int, m: int) -> None:
    family = BinaryFieldFamily(k, m)
    codes = np.array([(7**i) % k for i in range(n)], dtype=np.uint64)
    a0, a1 = family.draw_parameters(SimulationRandomness(n), n)
    compiled = family.hash(codes, a0, a1)
    with always_interpreted():
        cells = family.hash(codes, a0, a1)
        counts = family.count_queries(BinaryFieldReports(a0, a1, cells), codes[:5])
    expected = [cell_by_hand(family, int(a), int(b), int(x)) for a, b, x in zip(a0, a1, codes, strict=True)]
    assert compiled.tolist() == cells.tolist() == expected
    assert (family.count_queries(BinaryFieldReports(a0, a1, cells), codes[:5]) == counts).all()


# ------------------------------------------------------------------------------------------------ 2^64 values


def test_a_query_list_over_all_64_bit_values() -> None:
    """z of four queries, one of them held by half of 100,000 contributors; family-wise error 1e-6."""
    sketch, n = CountMeanSketch(2**64, 2.0, family="binary"), 100_000
    held = (2**64 - 1, 2**63, 12345)
    asked = QuerySketch(sketch, (*held, 99))
    codes = np.array(held, dtype=np.uint64)[np.minimum(np.arange(n) % 6, 2)]
    reports = sketch.randomize(codes, SimulationRandomness(7))
    aggregate = asked.aggregate(reports)
    truth = np.array([int((codes == np.uint64(x)).sum()) for x in asked.queries]) / n
    sd = np.sqrt([sketch.variance(f, n) for f in truth])
    estimate = asked.estimate(aggregate)
    bound = stats.norm.isf(FAMILY_WISE_ERROR / 8)
    assert (np.abs(estimate.frequencies - truth) < bound * sd).all()
    assert estimate.labels == ("18446744073709551615", "9223372036854775808", "12345", "99")
    # Mutant: reports of 1.1 epsilon.
    mutant = CountMeanSketch(2**64, 2.2, sketch.m, "binary").randomize(codes, SimulationRandomness(7))
    assert (np.abs(asked.estimate(asked.aggregate(mutant)).frequencies - truth) > bound * sd).any()


def test_reports_of_64_bits() -> None:
    sketch = CountMeanSketch(2**64, 1.0, family="binary")
    assert (sketch.m, sketch.report_bits) == (4, 130)
    assert [(field.name, field.dtype) for field in sketch.report_fields] == [
        ("a0", "uint64"),
        ("a1", "uint64"),
        ("value", "uint8"),
    ]
    reports = sketch.randomize([2**64 - 1], SecureRandomness())
    assert [column.dtype for column in reports] == [np.uint64, np.uint64, np.uint8]
    with pytest.raises(TooLargeError, match="must have at most 268,435,456 counters"):
        sketch.aggregate(reports)
    with pytest.raises(
        InvalidInputError, match=r"value must be in 0\.\.18446744073709551615, got something else in row 1"
    ):
        sketch.randomize([-1], SecureRandomness())
    assert sketch.count_support(reports, np.array([2**64 - 1], dtype=np.uint64)).shape == (1,)


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (([0, 32], [0, 0], [0, 0]), r"a0 must be in 0\.\.31, got a0=32 in row 2"),
        (([0, 0], [-1, 0], [0, 0]), r"a1 must be in 0\.\.31, got a1=-1 in row 1"),
        (([0, 0], [0, 0], [0, 3]), r"value must be in 0\.\.2, got value=3 in row 2"),
        (([0, 0], [0, 0], [0]), "a0, a1 and value must have the same length, got the lengths 2, 2, 1"),
        (([0.5], [0], [0]), "dtype=float64"),
        (([[0]], [0], [0]), "shape"),
    ],
)
def test_hostile_reports_are_named(reports: tuple[Any, Any, Any], message: str) -> None:
    sketch = CountMeanSketch(20, 1.0, 3, "binary")
    hostile = BinaryFieldReports(*map(np.array, reports))
    with pytest.raises(InvalidReportError, match=message):
        sketch.aggregate(hostile)
    with pytest.raises(InvalidReportError, match=message):
        sketch.count_support(hostile, [0])


def test_hostile_reports_can_be_skipped() -> None:
    sketch = CountMeanSketch(2**64, 1.0, 3, "binary")
    good = sketch.randomize([1, 2, 3], SimulationRandomness(1))
    kept = sketch.valid_reports(good._replace(value=np.array([0, 3, -1])))
    assert (kept.rejected, kept.first_error) == (2, "value must be in 0..2, got value=3 in row 2")
    assert kept.reports.a0.tolist() == good.a0[:1].tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((20, 1), "m must be >= 2, got m=1"),
        ((20, 2**32 + 1), "m must be <= 4294967296"),
        ((1, 2), "k must be >= 2, got k=1"),
        ((2**64 + 1, 2), "k must be <= 18446744073709551616"),
    ],
)
def test_bad_parameters_are_named(parameters: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        BinaryFieldFamily(*parameters)
    with pytest.raises(InvalidParameterError, match=message):
        CountMeanSketch(parameters[0], 1.0, parameters[1], "binary")
