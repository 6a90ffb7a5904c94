"""Linear hashes over F_2 and their state, the spectrum, for the partition family and for the linear family with p = 2.

A contributor's w in F_2^b stands for the L functionals ``<alpha^j w, .>``, j < L. Here ``<u, x>`` is the parity of u &
x, and alpha is the class of the indeterminate in GF(2^b). Whether a report supports x depends only on the vector v of
the L values at x: v must lie in the report's *accepted* set A. With H the indicator of A,

    1[v in A] = 2^-L sum_c H^(c) (-1)^<c, v>,   H^(c) = sum_(u in A) (-1)^<c, u>,   <c, v> = <sum_j c_j alpha^j w, x>,

so the collector only keeps the integers H^(c), added at the positions sum_j c_j alpha^j w of one vector of size 2^b.
The Walsh-Hadamard transform of that vector is 2^L times the support counts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import Words
from deniable.core.state import counts_between, refuse
from deniable.errors import DamagedStateError
from deniable.oracles.sketch.families._gf2 import functionals
from deniable.oracles.sketch.families._spread_kernels import divide_exactly
from deniable.oracles.sketch.families._walsh import walsh_hadamard
from deniable.oracles.sketch.families.family import Counts, check_counts
from deniable.research.states import absolute_sum, exact_sum

Halves = NDArray[np.uint32]

CHUNK = 1 << 21
"""Reports that are sorted at a time (16 MiB of keys). There are fewer if a 32-bit counter could overflow."""

LANES = 16
"""Hash functions whose indicators are transformed side by side."""

INTERPRETED_UPDATES = 1 << 10

STRIP = 1 << 10
"""Rows whose functionals are evaluated side by side."""


def spectrum(
    w: Codes, offsets: Codes | None, cells: Codes, edges: NDArray[np.int64], dimension: int, polynomial: int
) -> Counts:
    """Return int[2^dimension]: for every c, the sum over the reports of H^(c) at position sum_j c_j alpha^j w.

    A report accepts u if u XOR its offset (None: 0) lies in its cell. Cell z is {edges[z], ..., edges[z+1] - 1}, and
    edges[m] = 2^L. The polynomial of GF(2^dimension) is given without its leading term.
    """
    bits, cell_bits = int(edges[-1]).bit_length() - 1, (len(edges) - 2).bit_length()
    # Counters of 32 bits halve the memory that is visited at random. n reports add at most 2^L n to one of them.
    chunk = min(CHUNK, ((1 << 31) - 1) >> bits)
    part = np.zeros(1 << dimension, dtype=np.int32)
    total = part if len(w) <= chunk else part.astype(np.int64)
    for start in range(0, len(w), chunk):
        rows = slice(start, start + chunk)
        # If sorted by w, reports of one hash function share one transform and one visit of its 2^L positions.
        keys = w[rows].astype(np.uint64) << np.uint64(bits + cell_bits) | cells[rows].astype(np.uint64)
        if offsets is not None:
            keys |= offsets[rows].astype(np.uint64) << np.uint64(cell_bits)
        keys.sort()
        run = add_spectra if len(keys) << bits <= INTERPRETED_UPDATES else add_spectra.compiled
        run(keys, bits, cell_bits, edges, dimension, polynomial, max(1, min(LANES, (1 << 17) >> bits)), part)
        if total is not part:
            total += part
            part[:] = 0
    return total


def check_spectrum(state: Counts, n: int, edges: NDArray[np.int64]) -> None:
    """Raise DamagedStateError if no n reports with these cells can have this spectrum.

    The conditions are: |H^(c)| <= |A|; sum_c |H^(c)| <= 2^L sqrt(|A|) by Cauchy and Schwarz; sum_c H^(c) is 2^L if 0 is
    accepted, and 0 otherwise. Only position 0 can have several H^(c) of one report, namely those of w = 0.
    """
    size, largest = int(edges[-1]), int(np.diff(edges).max())
    counts_between(state[:1], -n * size, n * size)
    counts_between(state[1:], -n * largest, n * largest, 1)
    total = exact_sum(state, n * size)
    if total % size or not 0 <= total <= n * size:
        refuse(f"the counters must sum to a multiple of {size} in 0..{n * size}, got {total}")
    absolute, bound = absolute_sum(state, n * size), math.isqrt(largest * (n * size) ** 2)
    if absolute > bound:
        refuse(f"the absolute values of the counters must sum to {bound} at most, got {absolute}")


def decode_spectrum(state: Counts, n: int, bits: int, k: int) -> Counts:
    """Return the support counts of 0..k-1 from the spectrum of n reports, checked.

    2^L must divide every transformed value, and 0 <= C(x) <= n must hold for all 2^b values. The largest, the smallest
    and one more C(x) are computed again from their definition.

    Raises
    ------
    DamagedStateError
        If a check fails.
    """
    # Sums may wrap around without harm, because only the result must fit.
    transform: Counts = state.astype(np.int32 if n << bits < 1 << 31 else np.int64)
    walsh_hadamard(transform)
    rests, smallest, largest = divide_exactly(transform, bits)
    if rests:
        raise DamagedStateError(
            f"the transform of the state must be divisible by {1 << bits}; add the reports up again"
        )
    if smallest < 0 or largest > n:
        check_counts(transform, n)
    counts = transform[:k]
    for x in {int(counts.argmax()), int(counts.argmin()), n * 0x9E3779B1 % k}:
        again = transformed_at(state, x)
        if again != int(counts[x]) << bits:
            raise DamagedStateError(
                f"the transform of the state must be {again} at value {x}, got {int(counts[x]) << bits}; decode the "
                "state again"
            )
    return counts


def transformed_at(state: Counts, x: int) -> int:
    """Return sum_w (-1)^<w, x> state[w], by folding the vector once per bit."""
    values = state.astype(np.int64)
    while len(values) > 1:
        half = len(values) // 2
        low, high = values[:half], values[half:]
        values = low - high if x & half else low + high
    return int(values[0])


def apply_functionals(codes: Codes, w: Codes, dimension: int, polynomial: int, bits: int) -> Halves:
    """Return uint32[n], which is sum_j <alpha^j w, x> 2^j, j < bits, for every row."""
    values = np.zeros(len(codes), dtype=np.uint32)
    # The loop has one dtype, so that it is compiled once. w is copied, because the loop changes it.
    evaluate(codes.astype(np.uint32), w.astype(np.uint32), dimension, polynomial, bits, values)
    return values


@kernel
def evaluate(codes: Halves, w: Halves, dimension: int, polynomial: int, bits: int, values: Halves) -> None:
    """Add sum_j <alpha^j w, x> 2^j, j < bits, of every row to values[n], which must be zero at the start.

    w[n] is overwritten, and dimension must be <= 32. All types are declared with 32 bits, because a vector holds twice
    as many rows of 32 bits as of 64 bits.
    """
    zero, one, four, fifteen = np.uint32(0), np.uint32(1), np.uint32(4), np.uint32(15)
    eight, sixteen, parities = np.uint32(8), np.uint32(16), np.uint32(0x6996)
    mask, low, leading = np.uint32((1 << dimension) - 1), np.uint32(polynomial), np.uint32(1 << (dimension - 1))
    # The outer loop goes over functionals. So the loop over the rows of a strip, which stay in the first-level cache,
    # vectorises.
    for start in range(0, codes.shape[0], STRIP):
        x, a, value = codes[start : start + STRIP], w[start : start + STRIP], values[start : start + STRIP]
        for j in range(bits):
            place = np.uint32(j)
            for i in range(x.shape[0]):
                functional = a[i]
                parity = np.uint32(functional & x[i])
                parity = np.uint32(parity ^ np.uint32(parity >> sixteen))
                parity = np.uint32(parity ^ np.uint32(parity >> eight))
                parity = np.uint32(parity ^ np.uint32(parity >> four))
                parity = np.uint32(np.uint32(parities >> np.uint32(parity & fifteen)) & one)
                value[i] |= np.uint32(parity << place)
                a[i] = np.uint32(np.uint32(functional << one) & mask) ^ (low if functional >= leading else zero)


@evaluate.for_few
def _evaluate_few(codes: Halves, w: Halves, dimension: int, polynomial: int, bits: int, values: Halves) -> None:
    # Without compilation, the loop would take twice as long as the rest of a report, while Python counts a parity in
    # one step.
    modulus = 1 << dimension | polynomial
    values[:] = [functionals(x, one, modulus, bits) for x, one in zip(codes.tolist(), w.tolist(), strict=True)]


@kernel
def add_spectra(
    keys: Words,
    bits: int,
    cell_bits: int,
    edges: NDArray[np.int64],
    dimension: int,
    polynomial: int,
    lanes: int,
    total: NDArray[np.int32],
) -> None:
    """Add the spectra of reports to total[2^dimension].

    The reports are (w << L | offset) << cell_bits | cell, and they are sorted.
    """
    size, one = 1 << bits, np.uint32(1)
    top, mask, low = np.uint32(dimension - 1), np.uint32((1 << dimension) - 1), np.uint32(polynomial)
    functional_shift, offset_shift = np.uint64(bits + cell_bits), np.uint64(cell_bits)
    offset_mask, cell_mask = np.uint64(size - 1), np.uint64((1 << cell_bits) - 1)
    accepted = np.empty(size * lanes, dtype=np.int32)  # it has entries (u, lane), and is then transformed over u
    functions = np.empty(lanes, dtype=np.uint32)
    positions = np.zeros(size, dtype=np.uint32)
    i = 0
    while i < keys.shape[0]:
        accepted[:] = 0
        used = 0
        while used < lanes and i < keys.shape[0]:
            w = keys[i] >> functional_shift
            functions[used] = w
            while i < keys.shape[0] and keys[i] >> functional_shift == w:
                offset = np.int64((keys[i] >> offset_shift) & offset_mask)
                cell = np.int64(keys[i] & cell_mask)
                for u in range(edges[cell], edges[cell + 1]):
                    accepted[(u ^ offset) * lanes + used] += 1
                i += 1
            used += 1
        h = lanes
        while h < size * lanes:
            for start in range(0, size * lanes, 2 * h):
                first, second = accepted[start : start + h], accepted[start + h : start + 2 * h]
                for j in range(h):
                    a, b = first[j], second[j]
                    first[j] = a + b
                    second[j] = a - b
            h *= 2
        for lane in range(used):
            a = functions[lane]
            h = 1
            for _ in range(bits):
                for c in range(h):
                    positions[h + c] = positions[c] ^ a
                h *= 2
                a = ((a << one) & mask) ^ (((a >> top) & one) * low)
            for c in range(size):
                total[positions[c]] += accepted[c * lanes + lane]
