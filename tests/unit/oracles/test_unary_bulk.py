"""One-hot encodings in bulk: the distribution of eight bits is exact, and draws equal its definition bit for bit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import OUE, RAPPOR, SimulationRandomness
from deniable.core import randomness
from deniable.core.randomness import Words, draw
from deniable.oracles.unary_bulk import (
    CELLS,
    ByteLaw,
    below,
    bits_in_bulk,
    byte_law,
    fill_noise,
    look_up,
    one_hot_in_bulk,
    set_own,
)

HALF = Fraction(1, 2)
OUE_Q = OUE(4, 1.0).support_probabilities[1]
CHANCES = (
    OUE_Q,
    HALF,
    Fraction(3, 8),
    Fraction(1, 2**64),
    1 - Fraction(1, 2**64),
    Fraction(0x0123_4567_89AB_CDEF, 2**64),
    RAPPOR.from_epsilon(4, 1.0).support_probabilities[1],
)
"""Probabilities; the last one is a fraction of 2^126."""


class Scripted:
    """A source that returns given words in order."""

    def __init__(self, words: list[int]) -> None:
        self.words = words

    def fill(self, words: Words) -> None:
        words[:] = [self.words.pop(0) for _ in range(words.size)]


def chance_of(byte: int, q: Fraction) -> Fraction:
    return q ** byte.bit_count() * (1 - q) ** (8 - byte.bit_count())


@pytest.mark.parametrize("q", CHANCES)
def test_the_law_of_a_byte_is_exact(q: Fraction) -> None:
    law = byte_law(q)
    owned = np.bincount(law.table[: law.whole], minlength=256)
    ends = (0, *law.cuts)
    for byte in range(256):
        shared = Fraction(ends[byte + 1] - ends[byte], CELLS << law.bits)
        assert Fraction(int(owned[byte]), CELLS) + shared == chance_of(byte, q)
    # The shares fill the cells behind the whole cells. Fewer than 256 of these are left.
    assert law.cuts[-1] == (CELLS - law.whole) << law.bits
    assert CELLS - law.whole < 256
    assert law.bits % 64 == 56
    assert (law.bits - 56) // 64 == -(-(8 * (q.denominator.bit_length() - 1) - 72) // 64) or q.denominator < 2**10


def byte_of(law: ByteLaw, cell: int, words: Iterator[int]) -> int:
    """Return the byte of a shared cell by the definition: the place, all its digits known, among the cuts."""
    digits = next(words) >> 8
    for _ in range((law.bits - 56) // 64):
        digits = digits << 64 | next(words)
    return bisect_right(law.cuts, (cell - law.whole << law.bits) + digits)


@pytest.mark.parametrize("q", [OUE_Q, CHANCES[3], CHANCES[4], CHANCES[6]])
def test_words_after_a_shared_cell_are_digits_of_one_number(q: Fraction) -> None:
    """Just below every cut, at it, and beyond, to the last digit; words that a cut does not begin with decide alone."""
    law, more = byte_law(q), (byte_law(q).bits - 56) // 64
    tried = 0
    for cut in law.cuts[:-1][:: 1 if more < 8 else 9]:
        for place in (cut - 1, cut, cut + 1):
            cell, digits = divmod(place, 1 << law.bits)
            if not 0 <= cell < CELLS - law.whole:
                continue
            words = [digits >> 64 * more << 8 | 0xA5, *(digits >> 64 * i & 2**64 - 1 for i in range(more)[::-1])]
            source = Scripted([*words, 1])
            found = law.resolve(np.array([law.whole + cell], dtype=np.uint16), source)
            assert found.tolist() == [byte_of(law, law.whole + cell, iter(words))]
            assert 1 <= len(source.words) <= 1 + more
            tried += 1
    assert tried >= 2
    # Away from all cuts one word decides each, and words are used in order.
    cells = np.arange(law.whole, CELLS, dtype=np.uint16)
    words = list(map(int, draw(SimulationRandomness(4), cells.size)))
    found = law.resolve(cells, Scripted(words.copy()))
    assert found.tolist() == [
        byte_of(law, int(cell), iter([word] + [0] * more)) for cell, word in zip(cells, words, strict=True)
    ]


@pytest.mark.parametrize("path", ["interpreted", "compiled"])
def test_every_cell_is_looked_up(path: str) -> None:
    law, run = byte_law(OUE_Q), getattr(look_up, path)
    cells = np.random.default_rng(1).permutation(CELLS).astype(np.uint16)[: CELLS if path == "compiled" else 4000]
    # The last cells go through another loop.
    cells = np.concatenate([cells, np.array([CELLS - 1, 0, law.whole - 1, law.whole], dtype=np.uint16)])
    noise, shared = np.empty(cells.size, dtype=np.uint8), np.empty(cells.size, dtype=np.int64)
    with np.errstate(over="ignore"):
        count = run(cells, law.table, law.whole, noise, shared)
    assert shared[:count].tolist() == np.flatnonzero(cells >= law.whole).tolist()
    assert (noise == law.table[cells]).all()


@pytest.mark.parametrize("p", [HALF, OUE_Q, CHANCES[6], 1 - Fraction(1, 2**130)])
def test_a_word_is_the_beginning_of_a_uniform_number(p: Fraction) -> None:
    """Below p or not, for the numbers just below p, at p and beyond, to the last of its digits."""
    words = -(-(p.denominator.bit_length() - 1) // 64)
    exact = int(p * 2 ** (64 * words))
    for number in (exact - 1, exact, exact + 1, 0, 2 ** (64 * words) - 1):
        if number >> 64 * words == 0:
            digits = [number >> 64 * i & 2**64 - 1 for i in range(words)[::-1]]
            first, rest = np.array(digits[:1], dtype=np.uint64), Scripted(digits[1:])
            assert below(first, p, rest).tolist() == [number < exact]


@pytest.mark.parametrize("k", [2, 7, 8, 9, 64, 100])
@pytest.mark.parametrize("path", ["interpreted", "compiled"])
def test_the_own_bit_is_replaced_and_padding_cleared(k: int, path: str) -> None:
    rng = np.random.default_rng(k)
    bits = rng.integers(0, 256, (50, -(-k // 8)), dtype=np.uint8)
    codes, own = rng.integers(0, k, 50), rng.integers(0, 2, 50).astype(np.bool_)
    expected = np.unpackbits(bits, axis=1, bitorder="little")
    expected[:, k:] = 0
    expected[np.arange(50), codes] = own
    getattr(set_own, path)(codes, own, np.uint8((1 << (k - 1) % 8 + 1) - 1), bits)
    assert (np.unpackbits(bits, axis=1, bitorder="little") == expected).all()


@pytest.mark.parametrize("block", [8, 1 << 15])
def test_batches_by_the_definition(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of blocks: cells first, then those of shared cells; own bits from words that come after all others."""
    monkeypatch.setattr(randomness, "BLOCK_WORDS", block)
    p, q, n, k = 1 - OUE_Q, OUE_Q, 2_000, 21
    codes = np.arange(n) * 5 % k
    got = one_hot_in_bulk(codes, k, (p, q), SimulationRandomness(6))
    law, source, size = byte_law(q), SimulationRandomness(6), 3 * n
    noise: list[int] = []
    settled = 0
    while len(noise) < size:
        part = min(4 * block, size - len(noise))
        drawn = draw(source, -(-part // 4)).tolist()
        cells = [drawn[i // 4] >> 16 * (i % 4) & 0xFFFF for i in range(part)]
        shared = iter(draw(source, sum(cell >= law.whole for cell in cells)).tolist())
        settled += sum(cell >= law.whole for cell in cells)
        more = [0] * ((law.bits - 56) // 64)
        noise += [int(law.table[c]) if c < law.whole else byte_of(law, c, iter([next(shared), *more])) for c in cells]
    assert settled > 3
    expected = np.unpackbits(np.array(noise, dtype=np.uint8).reshape(n, 3), axis=1, bitorder="little")[:, :k]
    expected[np.arange(n), codes] = [word < p * 2**64 for word in draw(source, n).tolist()]
    assert (np.unpackbits(got, axis=1, bitorder="little", count=k) == expected).all()


def test_bytes_follow_the_law_and_the_mutant_does_not() -> None:
    """Chi-squared over all 256 bytes; the mutant takes what the table happens to hold where more words are needed."""
    law, n = byte_law(OUE_Q), 2_000_000
    expected = np.array([float(chance_of(byte, OUE_Q)) for byte in range(256)]) * n
    assert expected.min() > 5

    def p_value(noise: NDArray[np.uint8]) -> float:
        found = np.bincount(noise, minlength=256)
        return float(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), 255))

    noise = np.empty(n, dtype=np.uint8)
    fill_noise(noise, law, SimulationRandomness(8))
    assert p_value(noise) > 1e-6
    mutant = ByteLaw(law.table, CELLS, law.cuts, law.bits, law.keys)
    fill_noise(noise, mutant, SimulationRandomness(8))
    assert p_value(noise) < 1e-6


@pytest.mark.parametrize("k", [5, 8, 21])
def test_bits_are_chosen_from_two_noises(k: int) -> None:
    """A set bit takes the first noise, a clear one the second, padding none; the noises are drawn separately."""
    p, q, n, width = Fraction(3, 4), OUE_Q, 3_000, -(-k // 8)
    rng = np.random.default_rng(k)
    bits = np.packbits(rng.integers(0, 2, (n, k), dtype=np.uint8), axis=1, bitorder="little")
    before, source = bits.copy(), SimulationRandomness(4)
    noises = []
    for chance in (p, q):
        noise = np.empty(n * width, dtype=np.uint8)
        fill_noise(noise, byte_law(chance), source)
        noises.append(np.unpackbits(noise.reshape(n, width), axis=1, bitorder="little")[:, :k])
    got = bits_in_bulk(bits, k, (p, q), SimulationRandomness(4))
    held = np.unpackbits(bits, axis=1, bitorder="little")[:, :k] == 1
    assert (np.unpackbits(got, axis=1, bitorder="little")[:, :k] == np.where(held, *noises)).all()
    assert not np.unpackbits(got, axis=1, bitorder="little")[:, k:].any()
    assert (bits == before).all()
