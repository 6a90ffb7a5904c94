from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy import stats

from deniable import Aggregate, SimulationRandomness
from deniable.errors import DamagedStateError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families._walsh import walsh_hadamard
from deniable.oracles.sketch.families.family import count_matches
from deniable.research.families import _binary_linear as binary, partition as partition_module
from deniable.research.families.partition import PartitionFamily, PartitionReports, cells_up_to_65536
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "ocms_linear_partition.json").read_text())
POLYNOMIALS: dict[int, int] = {
    int(degree): sum(bit << i for i, bit in enumerate(bits))
    for degree, bits in json.loads((Path(__file__).parents[2] / "vectors" / "ocms_spread.json").read_text())[
        "irreducible_f2"
    ].items()
}


def sizes_by_hand(k: int, m: int) -> tuple[int, int]:
    """Return (b, L): L bits hold 7m values, and b bits hold k values and L functionals."""
    value_bits = max(1, math.ceil(math.log2(7 * m)))
    return max(math.ceil(math.log2(k)), value_bits), value_bits


def multiples(w: int, dimension: int, count: int) -> list[int]:
    """Return w, alpha w, ..., by shifts."""
    found = []
    for _ in range(count):
        found.append(w)
        w <<= 1
        w ^= POLYNOMIALS[dimension] if w >> dimension & 1 else 0
    return found


def cell_by_hand(k: int, m: int, w: int, offset: int, x: int) -> int:
    """Return the cell by the module docstring's definition, in Python integers, with the vectors' polynomials."""
    dimension, value_bits = sizes_by_hand(k, m)
    values = sum(((u & x).bit_count() & 1) << j for j, u in enumerate(multiples(w, dimension, value_bits)))
    return int((values ^ offset) * m // 2**value_bits)


def matches_by_hand(family: PartitionFamily, rows: list[tuple[int, int, int]], x: int) -> int:
    return sum(cell_by_hand(family.k, family.m, w, offset, x) == z for w, offset, z in rows)


def columns(rows: list[tuple[int, int, int]]) -> PartitionReports:
    return PartitionReports(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def filled(family: PartitionFamily, seed: int = 0, n: int = 3000) -> PartitionReports:
    w, offset = family.draw_parameters(SimulationRandomness(seed), n)
    return PartitionReports(w, offset, family.hash(np.arange(n) ** 2 % family.k, w, offset))


# ------------------------------------------------------------------------------------------------ known answers


@pytest.mark.parametrize("row", VECTORS["partition"], ids=lambda row: f"{row['d']}-{row['m']}")
def test_vectors(row: dict[str, Any]) -> None:
    sketch = CountMeanSketch(row["d"], row["eps"], row["m"], "partition")
    family = PartitionFamily(row["d"], row["m"])
    assert sketch.hashes == family
    assert (family.value_bits, family.dimension) == (row["L"], row["k"])
    assert family.polynomial | 1 << family.dimension == sum(bit << i for i, bit in enumerate(row["poly"]))
    assert float(family.collision_probability) == pytest.approx(row["cbar"], rel=1e-15)
    assert math.ceil(sketch.report_bits) == row["report_bits"]
    reports, queries = PartitionReports(*(np.array(row[name]) for name in ("w", "b", "z"))), np.array(row["queries"])
    aggregate = sketch.aggregate(reports)
    assert family.decode(aggregate.counts, aggregate.n)[queries].tolist() == row["counts"]
    assert sketch.count_support(reports, queries).tolist() == row["counts"]
    for estimate in (sketch.estimate(aggregate).frequencies[queries], sketch.estimate(aggregate, queries).frequencies):
        assert estimate == pytest.approx(row["estimates"], rel=1e-12, abs=1e-13)


# ------------------------------------------------------------------------------------------------ distribution


@pytest.mark.parametrize(("k", "m"), [(2, 2), (13, 2), (9, 3), (32, 3), (20, 4), (33, 3), (8, 5), (5, 7), (4, 9)])
def test_every_pair_collides_with_the_same_probability(k: int, m: int) -> None:
    """Over all (w, offset), for all pairs of values, by the definition and by the compiled hash."""
    family = PartitionFamily(k, m)
    (w, offset), probabilities = family.members()
    assert len(w) == family.member_count == len(set(zip(w.tolist(), offset.tolist(), strict=True)))
    assert sum(probabilities) == 1
    assert set(probabilities) == {Fraction(1, family.member_count)}
    cells = np.array([family.hash(np.full(len(w), x), w, offset) for x in range(k)])
    some = np.arange(0, len(w), 97)
    for x in range(k):
        assert cells[x, some].tolist() == [cell_by_hand(k, m, int(w[i]), int(offset[i]), x) for i in some]
    collisions = {int((cells[x] == cells[y]).sum()) for x, y in itertools.combinations(range(k), 2)}
    assert len(collisions) == 1
    assert family.collision_probability == Fraction(collisions.pop(), family.member_count)


def test_mutant_without_zero_or_offset_collides_otherwise() -> None:
    """Mutants: no w = 0, or no offset. Both are biased if the estimator does not know."""
    family = PartitionFamily(20, 3)
    (w, offset), _ = family.members()
    cells = np.array([family.hash(np.full(len(w), x), w, offset) for x in range(20)])
    for kept in (w > 0, offset == 0):
        collisions = {
            Fraction(int((cells[x] == cells[y])[kept].sum()), int(kept.sum()))
            for x, y in itertools.combinations(range(20), 2)
        }
        assert collisions != {family.collision_probability}


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6, 7, 12, 56, 100, 1000, 65535, 65536])
def test_cells_are_nearly_equal(m: int) -> None:
    family = PartitionFamily(2, m)
    size = 2**family.value_bits
    cells = np.arange(size) * m // size
    assert (np.repeat(np.arange(m), np.diff(family.edges)) == cells).all()
    assert family.collision_probability == sum(
        Fraction(int(count), size) ** 2 for count in np.bincount(cells, minlength=m)
    )
    assert size / 2 < 7 * m <= size
    assert Fraction(1, m) <= family.collision_probability <= Fraction(1, m) * (1 + Fraction(1, 49))


def test_parameters_are_uniform() -> None:
    """Chi-squared of (w, offset) over all 1024 pairs of a small family."""
    family, n = PartitionFamily(20, 3), 200_000
    w, offset = family.draw_parameters(SimulationRandomness(4), n)
    observed = np.bincount(w.astype(np.int64) * 32 + offset, minlength=1024)
    statistic = ((observed - n / 1024) ** 2 / (n / 1024)).sum()
    assert stats.chi2.sf(statistic, 1023) > FAMILY_WISE_ERROR
    # Mutant: the two ends of one half-word are used, which overlap.
    words = np.random.default_rng(1).integers(0, 2**8, n)
    observed = np.bincount((words >> 3) * 32 + (words & 31), minlength=1024)
    assert stats.chi2.sf(((observed - n / 1024) ** 2 / (n / 1024)).sum(), 1023) < FAMILY_WISE_ERROR


# ------------------------------------------------------------------------------------------------ decoding


@st.composite
def batches(draw: st.DrawFn) -> tuple[PartitionFamily, list[tuple[int, int, int]]]:
    k = draw(st.one_of(st.integers(2, 40), st.integers(2, 400)))
    m = draw(st.one_of(st.integers(2, 12), st.integers(2, 60)))
    family = PartitionFamily(k, m)
    row = st.tuples(
        st.integers(0, 2**family.dimension - 1), st.integers(0, 2**family.value_bits - 1), st.integers(0, m - 1)
    )
    return family, draw(st.lists(row, min_size=1, max_size=40))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(batches(), st.data())
def test_decoding_is_counting_matches(
    batch: tuple[PartitionFamily, list[tuple[int, int, int]]], data: st.DataObject
) -> None:
    family, rows = batch
    reports, n = family.checked(columns(rows)), len(rows)
    state = family.tally(reports)
    decoded = family.decode(state, n)
    some = sorted(set(data.draw(st.lists(st.integers(0, family.k - 1), min_size=1, max_size=40))))
    expected = [matches_by_hand(family, rows, x) for x in some]
    assert decoded[some].tolist() == expected
    assert decoded.shape == (family.k,)
    queries = np.array(some)
    assert family.decode_queries(state, n, queries).tolist() == expected
    assert family.count_queries(reports, queries).tolist() == expected
    assert (decoded == count_matches(family, reports, np.arange(family.k))).all()
    # The state is a sum, whatever its dtype.
    halves = [family.tally(PartitionReports(*(column[part] for column in reports))) for part in
              (slice(n // 2), slice(n // 2, n))]  # fmt: skip
    assert (halves[0].astype(np.int64) + halves[1] == state).all()
    assert (family.decode(state.astype(np.int64), n) == decoded).all()


@pytest.mark.parametrize(("k", "m"), [(20, 3), (100, 6), (5, 12)])
def test_the_state_is_the_spectrum(k: int, m: int) -> None:
    """W[sum_j c_j alpha^j w] += (-1)^<c, offset> sum_(v in B_z) (-1)^<c, v>, term by term."""
    family = PartitionFamily(k, m)
    reports = filled(family, n=30)
    dimension, value_bits = sizes_by_hand(k, m)
    cells = [[v for v in range(2**value_bits) if v * m // 2**value_bits == z] for z in range(m)]
    expected = np.zeros(2**dimension, dtype=np.int64)
    for w, offset, z in zip(*reports, strict=True):
        powers = multiples(int(w), dimension, value_bits)
        for c in range(2**value_bits):
            position = 0
            for j, u in enumerate(powers):
                position ^= u * (c >> j & 1)
            signs = ((c & (v ^ int(offset))).bit_count() & 1 for v in cells[z])
            expected[position] += sum(1 - 2 * sign for sign in signs)
    assert (family.tally(reports) == expected).all()


def test_many_chunks_and_wide_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    family = PartitionFamily(300, 5)
    reports = filled(family)
    whole = family.tally(reports)
    assert whole.dtype == np.int32
    monkeypatch.setattr(binary, "CHUNK", 700)
    chunked = family.tally(reports)
    assert chunked.dtype == np.int64
    assert (chunked == whole).all()
    # 2^L n >= 2^31, so the transform needs 64 bits. Reports that occur a million times have a million times the counts.
    counts = family.decode(whole, 3000)
    assert (family.decode(whole.astype(np.int64) * 1_000_000, 3000 * 1_000_000) == counts * np.int64(1_000_000)).all()


@pytest.mark.parametrize(
    ("k", "m", "n"), [(100_000, 4, 20_000), (40_000, 54, 5000), (3000, 300, 2000), (600_000, 40_000, 30)]
)
def test_decoding_beyond_one_block(k: int, m: int, n: int) -> None:
    family = PartitionFamily(k, m)
    reports = filled(family, n=n)
    queries = np.array([0, 1, 4, k - 1, *range(17, k, k // 35)])
    counts = family.decode(family.tally(reports), n)
    assert (counts[queries] == count_matches(family, reports, queries)).all()
    # Without noise every contributor supports their own value.
    assert (counts >= np.bincount(np.arange(n) ** 2 % k, minlength=k)).all()


def test_no_reports() -> None:
    family = PartitionFamily(20, 3)
    nothing = family.checked(PartitionReports(*(np.empty(0, dtype=np.int64) for _ in range(3))))
    assert not family.tally(nothing).any()
    assert family.count_queries(nothing, np.array([1, 2])).tolist() == [0, 0]


@pytest.mark.parametrize("n", [1, 16, 40])
def test_kernels_run_the_same_both_ways(n: int) -> None:
    family = PartitionFamily(3000, 6)
    codes = np.arange(n) * 7 % 3000
    w, offset = family.draw_parameters(SimulationRandomness(n), n)
    compiled = family.hash(codes, w, offset) if n > 16 else None
    with always_interpreted():
        cells = family.hash(codes, w, offset)
        state = family.tally(PartitionReports(w, offset, cells))
    expected = [cell_by_hand(3000, 6, int(a), int(b), int(x)) for a, b, x in zip(w, offset, codes, strict=True)]
    assert cells.tolist() == expected
    assert compiled is None or compiled.tolist() == expected
    assert (family.tally(PartitionReports(w, offset, cells)) == state).all()


def test_at_the_largest_domain() -> None:
    family = PartitionFamily(2**32, 3)
    codes = np.array([2**32 - 1, 0, 2**31, 123456789], dtype=np.uint64)
    w, offset = family.draw_parameters(SimulationRandomness(1), 4)
    w[:2] = [2**32 - 1, 2**31]
    assert w.dtype == np.uint32
    by_hand = [cell_by_hand(2**32, 3, int(a), int(b), int(x)) for a, b, x in zip(w, offset, codes, strict=True)]
    assert family.hash(codes, w, offset).tolist() == by_hand
    reports = PartitionReports(w, offset, np.array(by_hand))
    with pytest.raises(TooLargeError, match="must have at most 268,435,456 counters"):
        family.tally(reports)
    assert family.count_queries(reports, codes).sum() >= 4


# ------------------------------------------------------------------------------------------------ damage


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.__setitem__(5, state[5] + 1), r"must sum to a multiple of 32 in 0\.\.96000"),
        (lambda state: np.add.at(state, [5, 6], [1, -1]), "must be divisible by 32"),
        (lambda state: state.__setitem__(0, state[0] + 32 * 3000), r"counts\[0\] must be in -96000\.\.96000"),
        (lambda state: state.__setitem__(7, state[7] - 64_000), r"counts\[7\] must be in -33000\.\.33000, got -"),
        (lambda state: state.__setitem__(0, -32), r"counts\[0\] must be in 0\.\.96000, got -32|must sum to"),
        (lambda state: state.__setitem__(slice(None), np.resize([33_000, -33_000], len(state))), "absolute values"),
        (lambda state: np.add.at(state, [5, 6], [20_000, -20_000]), r"support count of every value must be in"),
    ],
)
def test_damaged_states_are_refused(change: Any, message: str) -> None:
    sketch = CountMeanSketch(20, 1.0, 3, "partition")
    state = sketch.hashes.tally(filled(PartitionFamily(20, 3))).astype(np.int64)
    change(state)
    for queries in (None, [3]):
        with pytest.raises(DamagedStateError, match=message):
            sketch.estimate(Aggregate(sketch, state, 3000), queries=queries)


@pytest.mark.parametrize("mutant", ["without stages", "one stage twice"])
def test_mutant_transforms_are_caught_when_decoding(monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    family = PartitionFamily(200, 3)
    state = family.tally(filled(family))
    honest = walsh_hadamard

    def broken(values: NDArray[Any]) -> None:
        if mutant == "one stage twice":
            honest(values)
            honest(values[:2])

    monkeypatch.setattr(binary, "walsh_hadamard", broken)
    with pytest.raises(DamagedStateError):
        family.decode(state, 3000)


def test_mutant_spectrum_without_the_offset_is_caught_when_estimating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divisible and in range, but from other hash functions: z for a value that all contributors hold."""

    def mutant(w: Any, _offset: Any, *rest: Any) -> Any:
        return binary.spectrum(w, None, *rest)

    sketch, n = CountMeanSketch(50, 2.0, 5, "partition"), 20_000
    reports = sketch.randomize(np.full(n, 17), SimulationRandomness(2))
    sd = math.sqrt(sketch.variance(1.0, n))
    bound = stats.norm.isf(FAMILY_WISE_ERROR / 2)
    assert abs(sketch.estimate(sketch.aggregate(reports)).frequencies[17] - 1) < bound * sd
    monkeypatch.setattr(partition_module, "spectrum", mutant)
    assert abs(sketch.estimate(sketch.aggregate(reports)).frequencies[17] - 1) > bound * sd


# ------------------------------------------------------------------------------------------------ reports, parameters


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (([0, 32], [0, 0], [0, 0]), r"w must be in 0\.\.31, got w=32 in row 2"),
        (([0, 0], [-1, 0], [0, 0]), r"offset must be in 0\.\.31, got offset=-1 in row 1"),
        (([0, 0], [0, 0], [0, 3]), r"value must be in 0\.\.2, got value=3 in row 2"),
        ((np.array([2**64 - 1], dtype=np.uint64), [0], [0]), "got w=18446744073709551615 in row 1"),
        (([0, 0], [0, 0], [0]), "w, offset and value must have the same length, got the lengths 2, 2, 1"),
        (([0.5], [0], [0]), "dtype=float64"),
        (([[0]], [0], [0]), "shape"),
    ],
)
def test_hostile_reports_are_named(reports: tuple[Any, Any, Any], message: str) -> None:
    sketch = CountMeanSketch(20, 1.0, 3, "partition")
    hostile = PartitionReports(*map(np.array, reports))
    with pytest.raises(InvalidReportError, match=message):
        sketch.aggregate(hostile)
    with pytest.raises(InvalidReportError, match=message):
        sketch.count_support(hostile, [0])


def test_hostile_reports_can_be_skipped() -> None:
    sketch = CountMeanSketch(20, 1.0, 3, "partition")
    good = sketch.randomize(np.arange(20), SimulationRandomness(1))
    mixed = PartitionReports(
        *(np.concatenate([column.astype(np.int64), [bad]]) for column, bad in zip(good, (-1, 32, 3), strict=True))
    )
    kept = sketch.valid_reports(mixed)
    assert (kept.rejected, kept.first_error) == (1, "w must be in 0..31, got w=-1 in row 21")
    assert sketch.aggregate(kept.reports) == sketch.aggregate(good)
    with pytest.raises(
        InvalidReportError,
        match=r"reports must be PartitionReports\(w, offset, value\), got an object of the type ndarray",
    ):
        sketch.valid_reports(good.w)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((20, 1), "m must be >= 2, got m=1"),
        ((20, 2**16 + 1), "m must be <= 65536"),
        ((20, 2.0), "m must be an integer"),
        ((1, 2), "k must be >= 2, got k=1"),
        ((2**32 + 1, 2), "k must be <= 4294967296"),
    ],
)
def test_bad_parameters_are_named(parameters: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        PartitionFamily(*parameters)
    with pytest.raises(InvalidParameterError, match=message):
        CountMeanSketch(parameters[0], 1.0, parameters[1], "partition")


def test_numbers_of_cells() -> None:
    assert cells_up_to_65536(2**16 - 1) == (2**16 - 1, 2**16)
    assert CountMeanSketch(2**20, 32, family="partition").m == 2**16


@pytest.mark.parametrize(("k", "epsilon", "m", "mutant"), [(1000, 1.0, 3, 1.1), (3000, 3.0, 21, 3.3)])
def test_estimates_are_unbiased(k: int, epsilon: float, m: int, mutant: float) -> None:
    """z with family-wise error 1e-6 over k values, 200,000 contributors; reports at 1.1 epsilon fail it."""
    sketch, n = CountMeanSketch(k, epsilon, m, "partition"), 200_000
    codes = np.where(np.arange(n) % 3 == 0, 7, np.arange(n) * 31 % k)
    truth = np.bincount(codes, minlength=k) / n
    sd = np.sqrt([sketch.variance(f, n) for f in truth])
    largest = []
    for one in (sketch, CountMeanSketch(k, mutant, m, "partition")):
        estimate = sketch.estimate(sketch.aggregate(one.randomize(codes, SimulationRandomness(5))))
        largest.append(float(np.abs((estimate.frequencies - truth) / sd).max()))
    bound = stats.norm.isf(FAMILY_WISE_ERROR / (2 * k))
    assert largest[0] < bound < largest[1]
