"""The prime family: h(x) = ((a0 + a1 x) mod P) mod m with a0, a1 uniform in {0, ..., P-1}.

The family is from Carter, Wegman, *Universal classes of hash functions* (1979), and Pan, *Improving Count-Mean Sketch
as the Leading Locally Differentially Private Frequency Estimator for Large Dictionaries*, section 3.5. Here a1 = 0
belongs to the family. Therefore (a0 + a1 x, a0 + a1 x') is uniform on pairs for every x != x', and the collision
probability is one constant.

The collector counts the reports that support x without a division for every x. Let b1 = a1 m^{-1} and b0 = (a0 - z)
m^{-1} mod P. A report (a0, a1, z) supports x exactly if (b0 + b1 x) mod P is below arc = floor((P-1-z)/m) + 1. The
reason is that x has the cell z exactly if a0 + a1 x = z + m j mod P with 0 <= j < arc. Each step of x is thus a
rotation of the circle Z_P by b1, and the arc begins at 0.

If it is stretched by T/P, with T = 2^32 or 2^64, the circle becomes a machine word, whose wrap-around costs nothing.
Start and step are rounded up, which leaves an error e with 0 <= e < y + 1 after y steps. A residue r < arc is
distinguished from r >= arc as long as e <= T/P, because r T/P + e < (r + 1) T/P. Counting is therefore exact for
floor(T/P) consecutive x (a window) from one exact start. One evaluation is an addition, a comparison and an increment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import MAX_DOMAIN, Codes, checked_domain, checked_integer, code_dtype, settle
from deniable.core.kernels import Kernel, exact_kernel, kernel
from deniable.core.randomness import Randomness, Words, draw, uniform_below
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.families.family import Column, CountedFamily
from deniable.oracles.sketch.families.hash_range import any_integer
from deniable.oracles.sketch.families.registry import FamilyEntry

MAX_PRIME = (1 << 36) - 1
"""Largest modulus. Quotients then stay below 2^37, where a double is off by less than one."""

BATCH = 1 << 14
"""Reports that are turned into rotations at a time. Their words stay in a core's second-level cache."""

TILE = 1 << 11
"""Reports that are counted at a time. Their words stay in a core's first-level cache."""

UNROLL = 4
SHORT_WINDOW = 1 << 8
INTERPRETED_EVALUATIONS = 1 << 12

Counts = NDArray[np.int64]
WordType = type[np.uint32] | type[np.uint64]


def count_all(prime: int, m: int, a0: Codes, a1: Codes, value: Codes, k: int) -> Counts:
    """Return int64[k]: the number of reports that support x, for x = 0..k-1, in O(n k) time and O(k) memory."""
    circle = _Circle(prime, np.uint32 if (1 << 32) // prime >= SHORT_WINDOW else np.uint64)
    window = circle.window - circle.window % UNROLL
    counts = np.zeros(-(-k // UNROLL) * UNROLL, dtype=np.int64)
    for positions, strides, arcs in _rotations(prime, m, a0, a1, value):
        steps, ends = circle.stretch(strides), circle.stretch(arcs)
        for start in range(0, k, window):
            phases = circle.stretch(circle.turned(positions, strides, start))
            part = counts[start : start + window]
            for tile in _slices(len(phases), TILE):
                run = _fitting(count_consecutive, len(phases[tile]) * len(part))
                run(phases[tile], steps[tile], ends[tile], part)
    return counts[:k]


def count_queries(prime: int, m: int, a0: Codes, a1: Codes, value: Codes, queries: Codes) -> Counts:
    """Return the number of reports that support x for every x of the queries, which can be in any order and repeat."""
    largest = int(queries.max()) if len(queries) else 0
    circle = _Circle(prime, np.uint32 if (1 << 32) // prime > largest else np.uint64)
    counts = np.zeros(len(queries), dtype=np.int64)
    index = queries.astype(np.uint64) // np.uint64(circle.window)
    windows = [(int(w), np.flatnonzero(index == w)) for w in np.unique(index)]
    for positions, strides, arcs in _rotations(prime, m, a0, a1, value):
        steps, ends = circle.stretch(strides), circle.stretch(arcs)
        for w, members in windows:
            start = w * circle.window
            phases = circle.stretch(circle.turned(positions, strides, start))
            offsets = (queries[members].astype(np.uint64) - np.uint64(start)).astype(circle.word)
            part = np.zeros(len(members), dtype=np.int64)
            for tile in _slices(len(phases), TILE):
                run = _fitting(count_offsets, len(phases[tile]) * len(part))
                run(phases[tile], steps[tile], ends[tile], offsets, part)
            counts[members] += part
    return counts


class _Circle:
    """The circle Z_P stretched to the machine words of one type."""

    def __init__(self, prime: int, word: WordType) -> None:
        self.prime, self.word = prime, word
        self.window, self._incomplete = divmod(1 << np.iinfo(word).bits, prime)

    def stretch(self, residues: Words) -> NDArray[Any]:
        """Return ceil(residue T/P) mod T."""
        words = np.empty(len(residues), dtype=self.word)
        stretch(residues, np.uint64(self.prime), np.uint64(self.window), np.uint64(self._incomplete), words)
        return words

    def turned(self, positions: Words, strides: Words, steps: int) -> Words:
        """Return positions + steps strides, without reduction modulo P."""
        return positions + _product(strides, steps, self.prime) if steps else positions


def _rotations(prime: int, m: int, a0: Codes, a1: Codes, value: Codes) -> Iterator[tuple[Words, Words, Words]]:
    """Yield the arrays (b0, b1, arc) of the reports, one batch at a time."""
    inverse = pow(m, -1, prime)
    for rows in _slices(len(value), BATCH):
        below = np.uint64(prime) - value[rows].astype(np.uint64)  # it is P - z, in 1..P
        arcs = (below - np.uint64(1)) // np.uint64(m) + np.uint64(1)
        offsets, slopes = a0[rows].astype(np.uint64), a1[rows].astype(np.uint64)
        yield _product(offsets + below, inverse, prime), _product(slopes, inverse, prime), arcs


def _slices(length: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _fitting(loop: Kernel[..., None], evaluations: int) -> Callable[..., None]:
    """Return the plain loop for little work and the compiled one otherwise; work is reports x values here."""
    return loop if evaluations <= INTERPRETED_EVALUATIONS else loop.compiled


def _product(factors: Words, multiplier: int, prime: int) -> Words:
    """Return factor x multiplier mod prime, for factors < 2^37 and a multiplier < 2^36."""
    rests = np.empty_like(factors)
    multiply_modulo(factors, np.uint64(multiplier), np.uint64(prime), rests)
    return rests


# Both kernels below find a quotient below 2^37 in doubles, off by one at most. They correct it by the rest, which
# wrapping integers give exactly.


@kernel
def multiply_modulo(factors: Words, multiplier: np.uint64, prime: np.uint64, rests: Words) -> None:
    """Write factor x multiplier mod prime into rests[n]."""
    ratio, modulus = float(multiplier) / float(prime), np.int64(prime)
    for i in range(factors.shape[0]):
        quotient = np.uint64(float(factors[i]) * ratio)
        rest = np.int64(factors[i] * multiplier - quotient * prime)
        rest += modulus * (np.int64(rest < 0) - np.int64(rest >= modulus))
        rests[i] = np.uint64(rest)


@kernel
def stretch(residues: Words, prime: np.uint64, window: np.uint64, incomplete: np.uint64, words: NDArray[Any]) -> None:
    """Write ceil(residue T/P) mod T into words[n], where T = window x prime + incomplete is the words' range."""
    ratio, modulus = float(incomplete) / float(prime), np.int64(prime)
    word = words.dtype.type
    for i in range(residues.shape[0]):
        quotient = np.uint64(float(residues[i]) * ratio)
        rest = np.int64(residues[i] * incomplete - quotient * prime)
        # The quotient is rounded up. It grows by one if anything is left over, and by two if it also was one too small.
        # A quotient that is one too large is right as it is, because something is left over then. Nothing is left over
        # only for a multiple of the prime, which here is 0 or the prime itself. For these, doubles find a quotient that
        # is exact or one too small.
        above = np.int64(rest > 0) + np.int64(rest > modulus)
        words[i] = word(residues[i] * window + quotient + np.uint64(above))


@kernel
def count_consecutive(phases: NDArray[Any], steps: NDArray[Any], ends: NDArray[Any], counts: Counts) -> None:
    """Add to counts[y] the number of rows with phase + y step < end, and advance the phases.

    The length of counts must be a multiple of 4. Each pass over the rows counts four values, which share its loads and
    its store.
    """
    word = phases.dtype.type
    for y in range(0, counts.shape[0], 4):
        first, second, third, fourth = word(0), word(0), word(0), word(0)
        for i in range(phases.shape[0]):
            step, end = steps[i], ends[i]
            phase = phases[i]
            first = word(first + word(phase < end))
            phase = word(phase + step)
            second = word(second + word(phase < end))
            phase = word(phase + step)
            third = word(third + word(phase < end))
            phase = word(phase + step)
            fourth = word(fourth + word(phase < end))
            phases[i] = word(phase + step)
        counts[y] += np.int64(first)
        counts[y + 1] += np.int64(second)
        counts[y + 2] += np.int64(third)
        counts[y + 3] += np.int64(fourth)


@kernel
def count_offsets(
    phases: NDArray[Any], steps: NDArray[Any], ends: NDArray[Any], offsets: NDArray[Any], counts: Counts
) -> None:
    """Add to counts[j] the number of rows with phase + offsets[j] step < end."""
    word = phases.dtype.type
    for j in range(offsets.shape[0]):
        supported = word(0)
        for i in range(phases.shape[0]):
            supported = word(supported + word(word(phases[i] + steps[i] * offsets[j]) < ends[i]))
        counts[j] += np.int64(supported)


PRIME_FACTOR = 7
"""P is at least this many times m, so that the collision probability exceeds 1/m by a factor below 1 + 1/196.

Erratum: Pan, Corollary 3.5 asks for 5m, but needs (2 floor(P/m) + 1)^2 >= 2/tau + 5/2 (counterexample m = 2, P = 11).
"""


class HashedReports(NamedTuple):
    """A batch of n reports of the prime family, each with the contributor's public hash function and a noisy cell.

    Parameters
    ----------
    a0, a1 : uint32[n] or uint64[n]
        Hash parameters in 0..P-1; uint32 if P < 2^32.
    value : uint8[n], uint16[n] or uint32[n]
        Noisy cell in 0..m-1.
    """

    a0: NDArray[Any]
    a1: NDArray[Any]
    value: NDArray[Any]


@dataclass(frozen=True)
class PrimeFamily(CountedFamily):
    """The hash functions x -> ((a0 + a1 x) mod prime) mod m on {0, ..., k-1}.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    m : int
        Number of cells, 2 <= m <= 2^32.
    prime : int
        Modulus P, with max(k, m + 1) <= P < 2^36; `PrimeFamily.smallest` chooses it.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or `prime` is not prime.

    Examples
    --------
    >>> from deniable.oracles.sketch.families.prime import PrimeFamily
    >>> import numpy as np
    >>> family = PrimeFamily.smallest(k=20, m=3)
    >>> family.prime, family.collision_probability
    (23, Fraction(177, 529))
    >>> family.hash(np.arange(4), np.full(4, 5), np.full(4, 7))  # 5, 12, 19, 26 mod 23 = 3
    array([2, 0, 1, 0], dtype=uint8)
    """

    k: int
    m: int
    prime: int

    report_type = HashedReports

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k))
        settle(self, m=checked_integer("m", self.m, 2, MAX_DOMAIN))
        settle(self, prime=checked_integer("prime", self.prime, max(self.k, self.m + 1), MAX_PRIME))
        if not is_prime(self.prime):
            raise InvalidParameterError(f"prime must be a prime number, got prime={self.prime}")

    @classmethod
    def smallest(cls, k: int, m: int) -> PrimeFamily:
        """Return the family with the smallest prime P >= max(k, 7m)."""
        k, m = checked_domain(k), checked_integer("m", m, 2, MAX_DOMAIN)
        return cls(k, m, smallest_prime(max(k, PRIME_FACTOR * m)))

    # ---------------------------------------------------------------- distribution

    @property
    def collision_probability(self) -> Fraction:
        return collision_probability(self.prime, self.m)

    # ---------------------------------------------------------------- contributor

    @property
    def parameter_dtype(self) -> np.dtype[Any]:
        """Dtype of reported hash parameters: uint32, or uint64 if P > 2^32."""
        return np.dtype(np.uint32 if self.prime < 1 << 32 else np.uint64)

    @property
    def parameter_columns(self) -> tuple[Column, Column]:
        return (Column(0, self.prime - 1, self.parameter_dtype),) * 2

    def draw_parameters(self, rng: Randomness, rows: int) -> tuple[Words, Words]:
        """Return contributors' (a0, a1), each of shape (rows,), drawn exactly uniformly in 0..P-1 by rejection."""
        if self.prime >= 1 << 32:
            a0, a1 = (uniform_below(rng, self.prime, rows).astype(np.uint64) for _ in range(2))
            return a0, a1
        a0, a1 = (np.empty(rows, dtype=self.parameter_dtype) for _ in range(2))
        rejected = np.empty(rows, dtype=np.bool_)
        parameters_from_words(draw(rng, rows), np.uint64(self.prime), a0, a1, rejected)
        if np.count_nonzero(rejected):
            again = np.flatnonzero(rejected)
            for parameter in (a0, a1):
                parameter[again] = uniform_below(rng, self.prime, len(again))
        return a0, a1

    def hash(self, codes: Codes, *parameters: Codes) -> Codes:
        cells = np.empty(len(codes), dtype=code_dtype(self.m))
        a0, a1 = parameters
        hash_codes(codes, a0, a1, self.prime, self.m, cells)
        return cells

    # ---------------------------------------------------------------- collector

    def _tally(self, reports: HashedReports) -> NDArray[np.int64]:
        return self.count_all(reports)

    def count_all(self, reports: HashedReports) -> NDArray[np.int64]:
        """Return int64[k]: the number of checked reports with value = h(x), for every x."""
        return count_all(self.prime, self.m, *reports, self.k)

    def count_queries(self, reports: HashedReports, queries: Codes) -> NDArray[np.int64]:
        return count_queries(self.prime, self.m, *reports, queries)


def collision_probability(prime: int, m: int) -> Fraction:
    """Return c = P(h(x) = h(x')) = ((2Q+1) r + m Q^2)/P^2, where P = Q m + r (Pan, Lemma 3.2)."""
    quotient, rest = divmod(prime, m)
    return Fraction((2 * quotient + 1) * rest + m * quotient**2, prime**2)


def smallest_prime(minimum: int) -> int:
    """Return the smallest prime >= minimum.

    Examples
    --------
    >>> smallest_prime(24), smallest_prime(2**31)
    (29, 2147483659)
    """
    return next(number for number in count(max(minimum, 2)) if is_prime(number))


_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def is_prime(number: int) -> bool:
    """Return whether a number below 3e24 is prime, by Miller-Rabin with twelve bases, which has no exception there."""
    if number < 2 or any(number % witness == 0 for witness in _WITNESSES):
        return number in _WITNESSES
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    odd = (number - 1) >> twos
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


@exact_kernel
def parameters_from_words(
    words: Words, prime: np.uint64, a0: NDArray[Any], a1: NDArray[Any], rejected: NDArray[np.bool_]
) -> None:
    """Return two candidates in 0..prime-1 < 2^32 for each word, and the rows that must be drawn again.

    The high half of half-word x prime is the candidate. The candidate is rejected if the low half is below 2^32 mod
    prime. Exactly floor(2^32/prime) half-words then remain for each candidate.
    """
    shift, mask = np.uint64(32), np.uint64((1 << 32) - 1)
    incomplete = np.uint64(1 << 32) % prime
    for i in range(words.shape[0]):
        first = (words[i] & mask) * prime
        second = (words[i] >> shift) * prime
        a0[i] = first >> shift
        a1[i] = second >> shift
        rejected[i] = ((first & mask) < incomplete) | ((second & mask) < incomplete)


@exact_kernel
def hash_codes(codes: Codes, a0: Codes, a1: Codes, prime: int, m: int, cells: Codes) -> None:
    """Write ((a0 + a1 x) mod prime) mod m of every row into cells[n]."""
    modulus, size = np.int64(prime), np.int64(m)
    reciprocal, shrink = 1.0 / float(prime), 1.0 / float(m)
    for i in range(codes.shape[0]):
        x, offset, slope = np.uint64(codes[i]), np.uint64(a0[i]), np.uint64(a1[i])
        # Both quotients stay below 2^37. A double gives them up to one unit, which wrapping integers then correct.
        quotient = np.int64((float(slope) * float(x) + float(offset)) * reciprocal)
        rest = np.int64(slope * x + offset - np.uint64(quotient) * np.uint64(modulus))
        rest += modulus * (np.int64(rest < 0) - np.int64(rest >= modulus))
        rest -= size * np.int64(float(rest) * shrink)
        rest += size * (np.int64(rest < 0) - np.int64(rest >= size))
        cells[i] = rest


ENTRY = FamilyEntry(
    PrimeFamily.smallest,
    any_integer,
    remark="the collector compares every report with every value that is asked for",
)
"""Entry that builds a count-mean sketch on this family."""
