from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.kernels import Kernel
from deniable.errors import InvalidParameterError, InvalidReportError
from deniable.oracles.sketch.families import prime as rotations
from deniable.oracles.sketch.families.prime import (
    HashedReports,
    PrimeFamily,
    collision_probability,
    hash_codes,
    is_prime,
    parameters_from_words,
    smallest_prime,
)

VECTORS = json.loads((Path(__file__).parents[4] / "vectors" / "ocms_core.json").read_text())

# These are primes around every change of word type and window length, by trial division.
PRIMES = [17, 23, 1009, 65537, 131071, 16777213, 16777259, 2**31 - 1, 2147483659, 4294967291, 4294967311, 68719476731]


def by_hand(a0: int, a1: int, x: int, prime: int, m: int) -> int:
    return (a0 + a1 * x) % prime % m


def support(reports: HashedReports, prime: int, m: int, queries: Any) -> list[int]:
    rows = [tuple(map(int, row)) for row in zip(*reports, strict=True)]
    return [sum(by_hand(a0, a1, int(x), prime, m) == z for a0, a1, z in rows) for x in queries]


def columns(rows: list[tuple[int, int, int]]) -> HashedReports:
    a0, a1, z = (np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True))
    return HashedReports(a0, a1, z)


# ------------------------------------------------------------------------------------------------ number theory


def test_primes_below_a_hundred_thousand_are_the_sieve_s() -> None:
    sieve = np.ones(100_000, dtype=bool)
    sieve[:2] = False
    for p in range(2, 317):
        if sieve[p]:
            sieve[p * p :: p] = False
    assert [is_prime(n) for n in range(100_000)] == sieve.tolist()


def test_strong_pseudoprimes_do_not_pass() -> None:
    # These are composite, but strong probable primes to the first 4, 7 and 9 prime bases.
    assert not any(map(is_prime, (3215031751, 341550071728321, 3825123056546413051)))
    assert all(map(is_prime, (2**31 - 1, 2**61 - 1, 2**64 - 59)))


@pytest.mark.parametrize(("k", "m", "prime"), [(2, 2, 17), (20, 3, 23), (1024, 4, 1031), (50, 8, 59), (8, 149, 1049)])
def test_the_modulus_is_the_smallest_prime_that_fits(k: int, m: int, prime: int) -> None:
    assert PrimeFamily.smallest(k, m).prime == prime


def test_the_largest_domain_has_a_modulus() -> None:
    family = PrimeFamily.smallest(2**32, 4)
    assert family.prime == 4294967311
    assert family.parameter_dtype == np.uint64
    assert PrimeFamily.smallest(2, 2**32).prime == smallest_prime(7 * 2**32)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((20, 3, 21), "prime must be a prime number, got prime=21"),
        ((20, 3, 19), "prime must be >= 20, got prime=19"),
        ((2, 17, 17), "prime must be >= 18, got prime=17"),
        ((20, 3, 2**36 + 31), "prime must be <= 68719476735"),
        ((20, 1, 23), "m must be >= 2, got m=1"),
        ((20, 2**32 + 1, 2**36 - 5), "m must be <= 4294967296"),
        ((1, 2, 23), "k must be >= 2, got k=1"),
    ],
)
def test_bad_parameters_are_named(parameters: tuple[int, int, int], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        PrimeFamily(*parameters)


# ------------------------------------------------------------------------------------------------ collisions


@pytest.mark.parametrize("row", VECTORS["m_prime"], ids=lambda row: f"{row['p']}-{row['m']}")
def test_collision_probability_vectors(row: dict[str, Any]) -> None:
    c = collision_probability(row["p"], row["m"])
    assert float(c) == pytest.approx(row["cbar"], rel=1e-15)
    assert float(1 / c) == pytest.approx(row["m_prime"], rel=1e-15)


def _pairwise_collisions(k: int, m: int, prime: int, slopes: range) -> set[int]:
    """Number of members of the family under which x and x' collide, over all pairs x < x'."""
    table = np.array([[by_hand(a0, a1, x, prime, m) for x in range(k)] for a0 in range(prime) for a1 in slopes])
    return {int((table[:, x] == table[:, y]).sum()) for x, y in itertools.combinations(range(k), 2)}


@pytest.mark.parametrize(
    ("k", "m", "prime"), [(11, 2, 11), (9, 3, 11), (13, 4, 13), (5, 2, 17), (23, 3, 23), (6, 6, 43)]
)
def test_every_pair_collides_equally_often(k: int, m: int, prime: int) -> None:
    collisions = _pairwise_collisions(k, m, prime, range(prime))
    assert len(collisions) == 1
    assert PrimeFamily(k, m, prime).collision_probability == Fraction(collisions.pop(), prime**2)
    # Mutant: a1 is drawn from [1, P). It collides with another probability, so its estimates would be biased.
    mutant = _pairwise_collisions(k, m, prime, range(1, prime))
    assert PrimeFamily(k, m, prime).collision_probability != Fraction(mutant.pop(), prime * (prime - 1))


# ------------------------------------------------------------------------------------------------ counting


@pytest.mark.parametrize("row", VECTORS["prime"], ids=lambda row: f"{row['p']}")
def test_support_count_vectors(row: dict[str, Any]) -> None:
    family = PrimeFamily(row["d"], row["m"], row["p"])
    reports = HashedReports(*(np.array(row[name]) for name in ("a0", "a1", "z")))
    queries = np.array(row["queries"])
    assert family.count_queries(reports, queries).tolist() == row["counts"]
    assert family.count_all(reports)[queries].tolist() == row["counts"]


@st.composite
def families(draw: st.DrawFn, largest_domain: int) -> tuple[PrimeFamily, HashedReports]:
    prime = draw(st.sampled_from(PRIMES))
    m = draw(st.one_of(st.integers(2, min(prime - 1, 2**32)), st.integers(2, 16)))
    k = draw(st.integers(2, min(prime, largest_domain)))
    parameter = st.one_of(st.integers(0, prime - 1), st.sampled_from([0, 1, prime - 1]))
    cell = st.one_of(st.integers(0, m - 1), st.sampled_from([0, m - 1]))
    rows = draw(st.lists(st.tuples(parameter, parameter, cell), min_size=1, max_size=40))
    # Half of the cells are true ones, so that matches occur however large m is.
    family = PrimeFamily(k, m, prime)
    x = draw(st.integers(0, k - 1))
    rows = [(a0, a1, by_hand(a0, a1, x, prime, m) if i % 2 else z) for i, (a0, a1, z) in enumerate(rows)]
    return family, columns(rows)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(families(1500))
def test_all_counts_are_the_brute_force_ones(case: tuple[PrimeFamily, HashedReports]) -> None:
    family, reports = case
    assert family.count_all(reports).tolist() == support(reports, family.prime, family.m, range(family.k))


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(families(2**32), st.data())
def test_query_counts_are_the_brute_force_ones(case: tuple[PrimeFamily, HashedReports], data: st.DataObject) -> None:
    family, reports = case
    edges = [x for w in (2**28, 2**29) for x in (w - 1, w, w + 1, 3 * w + 2) if x < family.k]
    code = st.one_of(st.integers(0, family.k - 1), st.sampled_from([0, family.k - 1, *edges]))
    queries = np.array(data.draw(st.lists(code, min_size=0, max_size=60)), dtype=np.int64)
    assert family.count_queries(reports, queries).tolist() == support(reports, family.prime, family.m, queries)


@pytest.mark.parametrize("prime", [16777213, 68719476731])
def test_windows_end_where_rounding_could_show(prime: int) -> None:
    """The worst rounding at the last value of a window: residues just below and at the end of the arc.

    A row matches x if (a0 - z + a1 x)/m mod P is below (P-1-z)//m + 1. Rows are built to fall on the first and last
    residues inside and outside that arc, at the largest x of a window of 256 or 2^28 values.
    """
    m = 2
    window = (1 << 32) // prime if prime < 1 << 24 else 1 << 28
    family = PrimeFamily(window, m, prime)
    last = window - 1
    rows = []
    for a1 in [*range(1, 60), *range(prime - 60, prime), prime // 2, prime // 3]:
        for z in (0, 1):
            arc = (prime - 1 - z) // m + 1
            for residue in (0, arc - 1, arc, prime - 1):
                rows.append(((z + m * residue - a1 * last) % prime, a1, z))
    reports = columns(rows)
    assert family.count_queries(reports, np.array([last])).tolist() == [len(rows) // 2]
    assert support(reports, prime, m, [last]) == [len(rows) // 2]
    if window < 1000:
        assert family.count_all(reports).tolist() == support(reports, prime, m, range(window))


def test_without_a_fresh_start_the_rounding_shows() -> None:
    """Mutant: one window over 1024 values where only 256 are proved exact."""
    prime, m, k = 16777213, 2, 1024
    residue = (prime - 1) // m  # this is the last residue of the arc of z = 0
    reports = columns([((m * residue - a1 * (k - 1)) % prime, a1, 0) for a1 in range(1, 400)])
    assert PrimeFamily(k, m, prime).count_all(reports)[k - 1] == 399
    circle = rotations._Circle(prime, np.uint32)
    assert circle.window == 256
    positions, strides, arcs = next(rotations._rotations(prime, m, *reports))
    phases = circle.stretch(positions) + np.uint32(k - 1) * circle.stretch(strides)
    assert int((phases < circle.stretch(arcs)).sum()) < 399


def test_many_batches_and_tiles() -> None:
    rng = np.random.default_rng(3)
    family, n = PrimeFamily.smallest(37, 5), 2 * rotations.BATCH + rotations.TILE + 77
    reports = HashedReports(*(rng.integers(0, bound, n) for bound in (family.prime, family.prime, 5)))
    hashed = (reports.a0[:, None] + reports.a1[:, None] * np.arange(37)) % family.prime % 5
    expected = (hashed == reports.value[:, None]).sum(axis=0)
    assert (family.count_all(reports) == expected).all()
    queries = np.array([36, 0, 5, 5])
    assert (family.count_queries(reports, queries) == expected[queries]).all()


def test_no_reports_and_no_queries() -> None:
    family = PrimeFamily.smallest(6, 3)
    nothing = HashedReports(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    assert family.count_all(family.checked(nothing)).tolist() == [0] * 6
    some = columns([(1, 2, 0)])
    assert family.count_queries(some, np.empty(0, dtype=np.int64)).tolist() == []


# ------------------------------------------------------------------------------------------------ kernels, both ways


def both_ways(loop: Kernel[..., None], *arguments: Any, outputs: tuple[int, ...]) -> list[list[int]]:
    """Run a kernel compiled, interpreted and as for few rows, assert that they agree, and return the outputs."""
    results = []
    for run in (loop.compiled, loop.interpreted, loop.few):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        with np.errstate(over="ignore"):
            run(*copies)
        results.append([copies[index].tolist() for index in outputs])
    assert results[0] == results[1] == results[2]
    return results[0]


def _factors(prime: int, bound: int) -> NDArray[np.uint64]:
    edges = [0, 1, prime - 1, prime, min(prime + 1, bound - 1), min(2 * prime, bound) - 1, bound - 1]
    drawn = np.random.default_rng(prime).integers(0, bound, 100).tolist()
    return np.array([*edges, *drawn], dtype=np.uint64)


def _near_multiples(prime: int, multiplier: int) -> NDArray[np.uint64]:
    """Factors below 2 P whose product is a little more or less than a multiple of P: there doubles find another one."""
    inverse = pow(multiplier, -1, prime)
    factors = [inverse * rest % prime for rest in (*range(20), *range(prime - 20, prime))]
    return np.array([*factors, *(factor + prime for factor in factors)], dtype=np.uint64)


def _misses(factors: NDArray[np.uint64], multiplier: int, prime: int) -> set[int]:
    """Return by how much the quotients in doubles are wrong."""
    ratio = multiplier / prime
    return {int(float(factor) * ratio) - factor * multiplier // prime for factor in factors.tolist()}


def test_quotients_that_doubles_miss_on_both_sides_are_corrected() -> None:
    """Large primes where they are one too small and one too large: without either correction a count would be wrong."""
    prime, misses = 68719476731, set()
    for multiplier in (prime // 2, prime // 3 + 1, prime // 5 + 2, prime // 7 + 3, prime - 1, 12345678901):
        factors = _near_multiples(prime, multiplier)
        misses |= _misses(factors, multiplier, prime)
        arguments = (factors, np.uint64(multiplier), np.uint64(prime), np.empty_like(factors))
        (rests,) = both_ways(rotations.multiply_modulo, *arguments, outputs=(3,))
        assert rests == [factor * multiplier % prime for factor in factors.tolist()]
    assert misses == {-1, 0, 1}
    prime = 39241372483
    window, incomplete = divmod(1 << 64, prime)
    factors = _near_multiples(prime, incomplete)
    assert _misses(factors, incomplete, prime) == {-1, 0, 1}
    scalars = (np.uint64(prime), np.uint64(window), np.uint64(incomplete))
    (words,) = both_ways(rotations.stretch, factors, *scalars, np.empty_like(factors), outputs=(4,))
    assert words == [-(-(factor << 64) // prime) % (1 << 64) for factor in factors.tolist()]


@pytest.mark.parametrize("prime", PRIMES)
def test_multiplication_and_stretching_are_exact(prime: int) -> None:
    factors = _factors(prime, 2 * prime)
    for multiplier in (0, 1, 2, prime - 1, prime // 2, prime // 3 + 1):
        arguments = (factors, np.uint64(multiplier), np.uint64(prime), np.empty_like(factors))
        (rests,) = both_ways(rotations.multiply_modulo, *arguments, outputs=(3,))
        assert rests == [int(factor) * multiplier % prime for factor in factors]
    for word, bits in ((np.uint32, 32), (np.uint64, 64)):
        window, incomplete = divmod(1 << bits, prime)
        if window == 0:
            continue
        scalars = (np.uint64(prime), np.uint64(window), np.uint64(incomplete))
        (words,) = both_ways(rotations.stretch, factors, *scalars, np.empty(len(factors), dtype=word), outputs=(4,))
        assert words == [-(-(int(factor) << bits) // prime) % (1 << bits) for factor in factors]


@pytest.mark.parametrize("prime", PRIMES)
@pytest.mark.parametrize("m", [2, 3, 16])
def test_hash_kernel(prime: int, m: int) -> None:
    a0, a1 = _factors(prime, prime), _factors(prime, prime)[::-1].copy()
    k = min(prime, 2**32)
    codes = np.resize(np.array([0, 1, k - 1, k // 2, k // 3]), len(a0))
    (cells,) = both_ways(hash_codes, codes, a0, a1, prime, m, np.empty(len(a0), dtype=np.uint8), outputs=(5,))
    assert cells == [by_hand(int(a), int(b), int(x), prime, m) for a, b, x in zip(a0, a1, codes, strict=True)]


def test_hash_kernel_with_many_cells() -> None:
    family = PrimeFamily.smallest(2**32, 2**32 - 1)
    a0, a1 = _factors(family.prime, family.prime), _factors(family.prime, family.prime)[::-1].copy()
    codes = np.resize(np.array([0, 1, 2**32 - 1, 12345], dtype=np.uint64), len(a0))
    expected = [by_hand(int(a), int(b), int(x), family.prime, family.m) for a, b, x in zip(a0, a1, codes, strict=True)]
    assert family.hash(codes, a0, a1).tolist() == expected
    assert family.hash(codes, a0, a1).dtype == np.uint32


@pytest.mark.parametrize("word", [np.uint32, np.uint64])
def test_counting_kernels(word: Any) -> None:
    rng = np.random.default_rng(8)
    phases, steps, ends = (rng.integers(0, np.iinfo(word).max, 30, dtype=word, endpoint=True) for _ in range(3))
    offsets = np.array([0, 1, 5, 7, 200, 3], dtype=word)
    span = 1 << np.iinfo(word).bits

    def expected(y: int) -> int:
        rows = zip(phases, steps, ends, strict=True)
        return sum((int(phase) + y * int(step)) % span < int(end) for phase, step, end in rows)

    counts = np.zeros(8, dtype=np.int64)
    advanced, counted = both_ways(rotations.count_consecutive, phases, steps, ends, counts, outputs=(0, 3))
    assert counted == [expected(y) for y in range(8)]
    assert advanced == [(int(phase) + 8 * int(step)) % span for phase, step in zip(phases, steps, strict=True)]
    ones = np.ones(len(offsets), dtype=np.int64)
    (counted,) = both_ways(rotations.count_offsets, phases, steps, ends, offsets, ones, outputs=(4,))
    assert counted == [1 + expected(int(y)) for y in offsets]


# ------------------------------------------------------------------------------------------------ drawing a hash


@pytest.mark.parametrize("prime", [17, 2**31 - 1, 1431655777, 1717986953, 2863311551, 4294967291])
def test_every_candidate_keeps_equally_many_words(prime: int) -> None:
    """Each candidate accepts exactly floor(2^32/P) of all 2^32 half-words (counted around a few candidates)."""
    for candidate in (0, 1, prime // 2, prime - 2, prime - 1):
        first, last = (candidate << 32) // prime, ((candidate + 1) << 32) // prime
        if last - first > 1000:  # only words at the edges can be rejected, or belong to a neighbour
            halves = [*range(max(first - 2, 0), first + 40), *range(last - 40, min(last + 3, 2**32))]
            between = last - 40 - (first + 40)
        else:
            halves, between = [*range(max(first - 2, 0), min(last + 3, 2**32))], 0
        words = np.array([(half << 32) | half for half in halves], dtype=np.uint64)
        a0, a1 = np.empty(len(words), dtype=np.uint32), np.empty(len(words), dtype=np.uint32)
        flags = np.empty(len(words), dtype=np.bool_)
        outputs = both_ways(parameters_from_words, words, np.uint64(prime), a0, a1, flags, outputs=(2, 3, 4))
        assert outputs[0] == outputs[1]
        kept = sum(a == candidate and not rejected for a, rejected in zip(outputs[0], outputs[2], strict=True))
        assert kept + between == 2**32 // prime


def test_either_half_of_a_word_can_be_rejected_alone() -> None:
    """P = 2863311551: half-word 0 is below 2^32 mod P times anything, half-word 1 gives P, which is not."""
    words = np.array([0 << 32 | 1, 1 << 32 | 0, 1 << 32 | 1, 0], dtype=np.uint64)
    a0, a1, flags = np.empty(4, dtype=np.uint32), np.empty(4, dtype=np.uint32), np.empty(4, dtype=np.bool_)
    outputs = both_ways(parameters_from_words, words, np.uint64(2863311551), a0, a1, flags, outputs=(2, 3, 4))
    assert list(outputs[2]) == [True, True, False, True]


@pytest.mark.parametrize("prime", [17, 2147483659, 4294967311])
def test_drawn_parameters_are_in_range_and_independent(prime: int) -> None:
    """Chi-squared of (a0, a1) on a 17 x 17 grid; 5e-10 per draw, family-wise error 1.5e-9."""
    a0, a1 = PrimeFamily(2, 2, prime).draw_parameters(SimulationRandomness(4), 60_000)
    assert max(int(a0.max()), int(a1.max())) < prime
    cells = [(17 * parameter.astype(object) // prime).astype(np.int64) for parameter in (a0, a1)]
    observed = np.bincount(17 * cells[0] + cells[1], minlength=289)
    expected = 60_000 / 289
    # The bound is scipy.stats.chi2.isf(5e-10, 288).
    assert ((observed - expected) ** 2 / expected).sum() < 459.6


# ------------------------------------------------------------------------------------------------ hostile reports


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (([0, 23], [0, 0], [0, 0]), r"a0 must be in 0\.\.22, got a0=23 in row 2"),
        (([0, 0], [-1, 0], [0, 0]), r"a1 must be in 0\.\.22, got a1=-1 in row 1"),
        (([0, 0], [0, 0], [0, 3]), r"value must be in 0\.\.2, got value=3 in row 2"),
        (
            (np.array([0, 2**63], dtype=np.uint64), [0, 0], [0, 0]),
            r"a0 must be in 0\.\.22, got a0=9223372036854775808 in row 2",
        ),
        (([0, 0], [0, 0], [0]), "a0, a1 and value must have the same length, got the lengths 2, 2, 1"),
        (([0.5], [0], [0]), "dtype=float64"),
        (([[0]], [0], [0]), "shape"),
    ],
)
def test_hostile_reports_are_named(reports: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InvalidReportError, match=message):
        PrimeFamily.smallest(20, 3).checked(HashedReports(*map(np.array, reports)))


@pytest.mark.parametrize("reports", [np.zeros((3, 2), dtype=int), (np.zeros(2, dtype=int),) * 2, None])
def test_reports_of_another_shape_are_refused(reports: Any) -> None:
    with pytest.raises(InvalidReportError, match=r"reports must be HashedReports\(a0, a1, value\)"):
        PrimeFamily.smallest(20, 3).checked(reports)
