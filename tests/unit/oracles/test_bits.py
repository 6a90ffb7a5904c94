"""Bit kernels against plain Python and numpy, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numpy.typing import DTypeLike, NDArray

from deniable import SecureRandomness, SimulationRandomness
from deniable.core.randomness import draw
from deniable.errors import InvalidInputError, InvalidReportError
from deniable.oracles import bits as _bits
from deniable.oracles.bits import (
    check_padding,
    checked_bits,
    count_bits,
    count_lanes,
    packed_width,
    plane_totals,
    randomize_bits,
    randomize_lanes,
    randomize_one_hot,
    threshold_planes,
)

THRESHOLDS = [
    (1 << 63, 4961006153606788893),  # this is OUE at epsilon 1
    ((1 << 64) - 1, 1),
    (3 << 62, 1 << 63),
    (0xFFFF_0000_FFFF_0000, 0x0123_4567_89AB_CDEF),
]


def reference(rows: Sequence[Sequence[int]], thresholds: tuple[int, int], words: Iterator[int]) -> list[list[int]]:
    """Randomise rows of bits lane by lane: whole bytes per row, 64 lanes per word, one word per binary place."""
    k, width = len(rows[0]), packed_width(len(rows[0]))
    lanes = [(r, v) for r in range(len(rows)) for v in range(8 * width)]
    significant = max(64 - (t & -t).bit_length() + 1 for t in thresholds)
    result = [[0] * k for _ in rows]
    for start in range(0, 8 * -(-len(rows) * width // 8) * 8, 64):
        # The last word reaches beyond the last row. Its further lanes are randomised and dropped.
        group = [lanes[i] if i < len(lanes) else (None, i % (8 * width)) for i in range(start, start + 64)]
        threshold = [thresholds[0] if r is not None and v < k and rows[r][v] else thresholds[1] for r, v in group]
        undecided = {lane for lane, (_, v) in enumerate(group) if v < k}
        for step in range(significant):
            if not undecided:
                break
            word = next(words)
            for lane in sorted(undecided):
                u, t = word >> lane & 1, threshold[lane] >> 63 - step & 1
                if u != t:
                    undecided.remove(lane)
                    r, v = group[lane]
                    if r is not None:
                        result[r][v] = int(u < t)
    return result


def unpack(bits: NDArray[np.uint8], k: int) -> list[list[int]]:
    result: list[list[int]] = np.unpackbits(bits, axis=1, bitorder="little", count=k).tolist()
    return result


def random_bits(n: int, k: int, seed: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    return np.packbits(rng.integers(0, 2, (n, k), dtype=np.uint8), axis=1, bitorder="little")


@pytest.mark.parametrize("thresholds", THRESHOLDS)
@pytest.mark.parametrize(("n", "k"), [(1, 2), (1, 64), (3, 100), (7, 12), (9, 8), (2, 200), (30, 17), (5, 63)])
def test_randomize_is_the_reference(n: int, k: int, thresholds: tuple[int, int]) -> None:
    bits = random_bits(n, k, seed=n * k)
    before = bits.copy()
    got = randomize_bits(bits, k, thresholds, SimulationRandomness(5))
    words = map(int, draw(SimulationRandomness(5), 64 * (n * packed_width(k) // 8 + 1)))
    assert unpack(got, k) == reference(unpack(bits, k), thresholds, words)
    check_padding(got, k)
    assert (bits == before).all()


@given(
    st.integers(1, 60), st.integers(2, 150), st.integers(1, 2**64 - 1), st.integers(1, 2**64 - 1), st.integers(64, 700)
)
@example(60, 9, *THRESHOLDS[0], 64)
@example(60, 20, *THRESHOLDS[0], 80)
@example(60, 100, *THRESHOLDS[0], 100)
@example(60, 149, *THRESHOLDS[0], 300)
@settings(max_examples=60, deadline=None)
def test_every_size_of_a_take_makes_the_same_reports(n: int, k: int, p: int, q: int, buffer: int) -> None:
    """Words are used once each and in order, for all sizes of later takes."""
    bits, results = random_bits(n, k, seed=n), []
    for size in (buffer, 1 << 15):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_bits, "BLOCK_WORDS", size)
            results.append(randomize_bits(bits, k, (p, q), SimulationRandomness(3)))
    assert (results[0] == results[1]).all()


class Given:
    """Known words, and the number of words drawn."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words, self.drawn = list(words), 0

    def fill(self, words: NDArray[np.uint64]) -> None:
        given = self.words[self.drawn : self.drawn + len(words)]
        words[: len(given)], words[len(given) :] = given, 0
        self.drawn += len(words)


def test_law_is_exact() -> None:
    """Lane j is given the number j of 0..63: exactly T of them are below a threshold of T/64, for every T."""
    places = [sum((lane >> (5 - step) & 1) << lane for lane in range(64)) for step in range(6)]
    for t in range(1, 64):
        for selected, thresholds in ((0, (1 << 63, t << 58)), (2**64 - 1, (t << 58, 1 << 63))):
            lanes = np.array([selected], dtype=np.uint64)
            randomize_lanes(lanes, 64, thresholds, Given(places))
            assert int(lanes[0]) == 2**t - 1


def test_a_tie_is_not_below_and_takes_every_word() -> None:
    """u = Q in all 64 lanes takes all 64 words; what one take leaves unread is read before the words of the next."""
    steps = [base for base, _ in threshold_planes(*THRESHOLDS[3])]
    lanes, source = np.zeros(2, dtype=np.uint64), Given(steps * 2)
    randomize_lanes(lanes, 64, THRESHOLDS[3], source)
    assert not lanes.any()
    # There are two takes of 64 + 2 * 9 words. The second take begins with the 18 words that the first lane did not
    # read.
    assert source.drawn == 82 + 64
    # A single lane has one less, at the last place where Q has a one. Only this lane is below.
    steps[-1] &= ~(1 << 17)
    assert THRESHOLDS[3][1] & 1
    lanes = np.zeros(1, dtype=np.uint64)
    randomize_lanes(lanes, 64, THRESHOLDS[3], Given(steps))
    assert int(lanes[0]) == 1 << 17


def test_steps_that_decide_nothing_are_left_out() -> None:
    assert len(threshold_planes(1 << 63, 1 << 63)) == 1
    assert threshold_planes(3 << 62, 1 << 63) == [(2**64 - 1, 0), (0, 2**64 - 1)]
    assert len(threshold_planes(1 << 63, 1)) == 64


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_one_hot_is_randomize_bits_of_the_one_hot_encoding(dtype: DTypeLike) -> None:
    k = 100
    codes = (np.arange(300) * 7 % k).astype(dtype)
    encoded = np.packbits(np.eye(k, dtype=np.uint8)[codes.astype(np.int64)], axis=1, bitorder="little")
    got = randomize_one_hot(codes, k, THRESHOLDS[0], SimulationRandomness(1))
    assert (got == randomize_bits(encoded, k, THRESHOLDS[0], SimulationRandomness(1))).all()


@pytest.mark.parametrize("n", [0, 1, 40])
def test_secure_randomness(n: int) -> None:
    got = randomize_one_hot(np.zeros(n, dtype=np.int64), 2000, (2**64 - 1, 1), SecureRandomness())
    assert got.shape == (n, 250)
    # With p = 1 - 2^-64 and q = 2^-64, a bit differs from the one-hot encoding with probability below 1e-14.
    assert unpack(got, 2000) == [[1] + [0] * 1999] * n


# -------------------------------------------------------------------- count


def by_numpy(bits: NDArray[np.uint8]) -> list[int]:
    totals: list[int] = np.unpackbits(bits, axis=1, bitorder="little").sum(axis=0, dtype=np.int64).tolist()
    return totals


@given(st.integers(0, 3000), st.integers(1, 70), st.sampled_from([1, 5, 64]), st.integers(0, 2**32))
@example(2**12, 8, 1, 0)
@example(2**12 - 8, 8, 1, 0)
@settings(max_examples=150, deadline=None)
def test_counts_are_numpys(n: int, width: int, wide: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 256, (n, width), dtype=np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_bits, "worth_compiling", bool)  # the kernel runs whenever there are eight full rows
        patch.setattr(_bits, "WIDE_ROW", wide)
        patch.setattr(_bits, "UNPACKED_BYTES", 1000)
        assert count_bits(bits).tolist() == by_numpy(bits)


@pytest.mark.parametrize("blocks", range(1, 18))
def test_count_kernel_interpreted_and_compiled(blocks: int) -> None:
    rows = draw(SimulationRandomness(blocks), 8 * blocks * 3).reshape(-1, 3)
    rows[0] = 2**64 - 1
    results = []
    for run in (count_lanes.interpreted, count_lanes.compiled):
        planes = np.zeros((2, 3 + blocks.bit_length(), 3), dtype=np.uint64)
        run(rows, planes, np.empty(3, dtype=np.uint64))
        results.append(planes)
    assert (results[0] == results[1]).all()
    expected = [sum(int(word) >> lane & 1 for word in rows[:, c]) for c in range(3) for lane in range(64)]
    assert plane_totals(results[0]).tolist() == expected


@pytest.mark.parametrize("n", [2**17 - 1, 2**17, 2**17 + 1])
def test_counters_do_not_overflow(n: int) -> None:
    assert count_bits(np.full((n, 3), 255, dtype=np.uint8)).tolist() == [n] * 24


def test_counts_any_memory_layout() -> None:
    bits = np.random.default_rng(1).integers(0, 256, (40_000, 16), dtype=np.uint8)
    expected = by_numpy(bits)
    frozen = bits.copy()
    frozen.flags.writeable = False
    unaligned = np.empty(bits.size + 1, dtype=np.uint8)[1:].reshape(bits.shape)
    unaligned[:] = bits
    for layout in (frozen, unaligned, checked_bits(np.asfortranarray(bits), 128)):
        assert count_bits(layout).tolist() == expected
    assert bits.flags.writeable


# -------------------------------------------------------------------- refusals


def test_bad_bits_are_named() -> None:
    with pytest.raises(InvalidReportError, match="dtype uint8, got dtype=int64"):
        checked_bits([[1, 2]], 12)
    with pytest.raises(InvalidReportError, match=r"shape \(n, 2\), got shape=\(3, 1\)"):
        checked_bits(np.zeros((3, 1), dtype=np.uint8), 12)
    with pytest.raises(InvalidInputError, match=r"got shape=\(2,\)"):
        checked_bits(np.zeros(2, dtype=np.uint8), 12, InvalidInputError)
    assert checked_bits([], 12).shape == (0, 2)


@given(st.integers(2, 40), st.integers(1, 30), st.data())
def test_padding_is_refused_where_it_is_set(k: int, n: int, data: st.DataObject) -> None:
    bits = random_bits(n, k, seed=n)
    check_padding(bits, k)
    if k % 8:
        row, bit = data.draw(st.integers(0, n - 1)), data.draw(st.integers(k % 8, 7))
        bits[row, -1] |= 1 << bit
        with pytest.raises(InvalidReportError, match=rf"padding bits? {k}.* a 1 in row {row + 1}$"):
            check_padding(bits, k)
