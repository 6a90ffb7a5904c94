"""The exact draws behind record mechanisms: several uniform integers from a word, and codes from priors."""

from __future__ import annotations

import bisect
import math
import random
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import SimulationRandomness
from deniable.core.randomness import BLOCK_WORDS, draw
from deniable.records.pivot import copies
from deniable.records.pivot.copies import copy_words
from deniable.records.pivot.pivot_draws import _pivots_per_word, sample_pivots
from deniable.records.prior_draws import (
    _draw,
    checked_priors,
    cumulative_thresholds,
    draw_from_priors,
    implemented_prior,
    prior_tables,
)
from deniable.records.uniform_draws import _fill, _multiply, uniform_few, uniform_rows
from tests.unit._goodness import FAMILY_WISE_ERROR

BOUNDS = (1, 2, 3, 7, 16, 1_000_003, 2**32 - 1, 2**32)


class Scripted:
    """Words in a given order."""

    def __init__(self, words: list[int]) -> None:
        self.words = words

    def fill(self, words: NDArray[np.uint64]) -> None:
        taken, self.words = self.words[: len(words)], self.words[len(words) :]
        words[:] = np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("run", [_multiply.compiled, _multiply.interpreted])
def test_a_word_is_a_fraction_in_mixed_radix(run: Any) -> None:
    """Digit j is floor(fraction times bound) of what the digits before it left, in Python integers."""
    source = random.Random(1)
    for _ in range(60):
        bounds = [source.choice(BOUNDS) for _ in range(source.randint(1, 5))]
        words = [0, 1, 2**63, 2**64 - 1, *(source.getrandbits(64) for _ in range(6))]
        expected, left = [], []
        for word in words:
            digits = []
            for bound in bounds:
                digits.append(word * bound >> 64)
                word = word * bound % 2**64
            expected.append(digits)
            left.append(word)
        fractions = np.array(words, dtype=np.uint64)
        choices = np.empty((len(words), len(bounds)), dtype=np.uint32)
        with np.errstate(over="ignore"):
            run(fractions, np.array(bounds, dtype=np.uint64), choices)
        assert choices.tolist() == expected
        assert fractions.tolist() == left


def test_few_choices_are_those_of_the_loop() -> None:
    """Of the same words, rejected ones among them, which are drawn again in the same order."""
    for bounds in ((5,), (3,) * 16, (2**32, 2**16), (7, 1, 2**32 - 5, 2)):
        product, source = math.prod(bounds), random.Random(len(bounds))
        # A word whose last fraction is 0 is rejected unless the product is a power of two.
        words = [source.choice((0, source.getrandbits(64))) for _ in range(200)]
        many = np.empty((12, len(bounds)), dtype=np.uint32)
        one, other = Scripted(words), Scripted(words)
        few = uniform_few(one, bounds, 12)
        _fill(other, bounds, product, many)
        np.testing.assert_array_equal(few, many)
        assert one.words == other.words
        assert (len(one.words) < 200 - 12) == (product & (product - 1) != 0)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 50, 4096])
def test_one_pivot_is_the_first_that_a_word_makes(d: int) -> None:
    """Of the same words, 0 among them, which is rejected unless d is a power of two."""
    share, source = _pivots_per_word(d), random.Random(d)
    for _ in range(20):
        words = [source.choice((0, source.getrandbits(64))) for _ in range(64)]
        one, other = Scripted(words), Scripted(words)
        assert sample_pivots(one, 1, d).tolist() == uniform_few(other, (d,) * share, 1)[0][:1]
        assert one.words == other.words


def test_choices_are_exactly_uniform_on_a_small_word() -> None:
    """The acceptance rule, in miniature: with 8-bit words every pair of choices is accepted equally often."""
    for a, b in product((2, 3, 5), (3, 4, 7)):
        accepted = [word for word in range(256) if word * a * b % 256 >= 256 % (a * b)]
        pairs = [(word * a >> 8, (word * a % 256) * b >> 8) for word in accepted]
        assert {pairs.count(pair) for pair in product(range(a), range(b))} == {256 // (a * b)}


def test_unequal_words_are_drawn_again() -> None:
    """2^64 mod 15 = 1: of the words, 0 alone is left with a fraction below it."""
    choices = np.empty((4, 2), dtype=np.uint8)
    half = 2**63
    uniform_rows(Scripted([half, 0, 2**64 - 1, 0, 0, half, half]), (3, 5), choices)
    # Row 1 takes the second replacement (the first is 0 again), row 3 the first that is accepted.
    assert choices.tolist() == [[1, 2], [1, 2], [2, 4], [1, 2]]
    # Without the bounds' product dividing badly nothing is drawn again.
    uniform_rows(Scripted([0, 0, half, half]), (4, 2), choices)
    assert choices.tolist() == [[0, 0], [0, 0], [2, 0], [2, 0]]


@pytest.mark.parametrize("bounds", [(3, 5), (7,), (1, 2**16), (2**32, 3, 2**30)])
def test_uniform_rows_are_uniform_and_independent(bounds: tuple[int, ...]) -> None:
    choices = np.empty((200_000, len(bounds)), dtype=np.uint32)
    uniform_rows(SimulationRandomness(9), bounds, choices)
    cells = [min(bound, 16) for bound in bounds]
    binned = np.stack([c.astype(np.uint64) * m // b for c, m, b in zip(choices.T, cells, bounds, strict=True)])
    assert (choices < np.array(bounds)).all()
    expected = []
    for digits in product(*map(range, cells)):
        sizes = [(-(-b * (t + 1) // m)) - (-(-b * t // m)) for t, m, b in zip(digits, cells, bounds, strict=True)]
        expected.append(float(np.prod([size / b for size, b in zip(sizes, bounds, strict=True)])))
    seen = np.bincount(np.ravel_multi_index(tuple(binned.astype(np.int64)), cells), minlength=len(expected))
    assert (
        stats.chisquare(seen, np.array(expected) * len(choices)).pvalue > FAMILY_WISE_ERROR if len(seen) > 1 else True
    )


PRIORS: list[Any] = [
    [0.5, 0.5],
    [0, 1, 0],
    [0.0, 0.3, 0.0, 0.7, 0.0],
    [Fraction(1, 3)] * 3,
    [1e-30, 1 - 1e-12, 1e-12],
    [float(v + 1) / 5050 for v in range(100)],
]


def test_thresholds_are_the_priors_rounded() -> None:
    for prior in PRIORS:
        exact = [Fraction(repr(value)) if isinstance(value, float) else Fraction(value) for value in prior]
        thresholds = cumulative_thresholds(checked_priors([prior], [len(prior)])[0])
        assert thresholds[-1] == 2**64
        implemented = implemented_prior(thresholds)
        assert sum(implemented) == 1
        for wanted, got in zip(exact, implemented, strict=True):
            assert abs(wanted / sum(exact) - got) < Fraction(1, 2**64)
            assert got == 0 or wanted > 0


@pytest.mark.parametrize("run", [_draw.compiled, _draw.interpreted])
def test_a_word_draws_the_first_threshold_above_it(run: Any) -> None:
    thresholds = [cumulative_thresholds(checked_priors([prior], [len(prior)])[0]) for prior in PRIORS]
    edges = sorted({min(max(t + offset, 0), 2**64 - 1) for own in thresholds for t in own for offset in (-1, 0, 1)})
    words = np.repeat(np.array(edges, dtype=np.uint64)[:, None], len(PRIORS), axis=1)
    reports = np.empty(words.shape, dtype=np.uint8)
    run(words, *prior_tables(thresholds), reports)
    by_hand = np.array([[bisect.bisect_right(own, edge) for own in thresholds] for edge in edges])
    assert np.array_equal(reports, by_hand)


def test_codes_follow_their_priors() -> None:
    priors = checked_priors([PRIORS[2], PRIORS[5]], [5, 100])
    reports = np.empty((200_000, 2), dtype=np.uint8)
    draw_from_priors(prior_tables([cumulative_thresholds(prior) for prior in priors]), SimulationRandomness(2), reports)
    assert set(reports[:, 0].tolist()) == {1, 3}
    assert stats.binomtest(int((reports[:, 0] == 1).sum()), 200_000, 0.3).pvalue > FAMILY_WISE_ERROR
    seen = np.bincount(reports[:, 1], minlength=100)
    assert stats.chisquare(seen, np.arange(1, 101) / 5050 * 200_000).pvalue > FAMILY_WISE_ERROR


def _copies_by_hand(words: list[int], code: int, s: int, lies: list[int], k: int) -> list[int]:
    found: list[int] = []
    for word, lie in zip(words, lies, strict=True):
        base = found[0] if found else code
        found.append(base if word >= (k - 1) * lie else (base + 1 + word // lie) % k)
    return found[len(found) - s :] + found[: len(found) - s]


def test_copies_are_those_by_hand() -> None:
    """The same words give the same bytes, interpreted, compiled and on plain numbers."""
    rng, d, n = np.random.default_rng(3), 7, 400
    for k in (2, 5, 300):
        lies = rng.integers(0, 2**64 // (k - 1), (d, d), dtype=np.uint64)
        lies[0, 1], lies[2, 3] = 0, 2**64 // (k - 1) - 1
        truths = lies * np.uint64(k - 1)
        words = rng.integers(0, 2**64, (n, d), dtype=np.uint64)
        words[:d] = truths
        codes, pivots = rng.integers(0, k, (n, d)), rng.integers(0, d, n).astype(np.uint8)
        found = np.zeros((3, n, d), dtype=np.uint16)
        rows = zip(words.tolist(), codes, pivots.tolist(), strict=True)
        expected = [_copies_by_hand(drawn, int(code[s]), s, lies[s].tolist(), k) for drawn, code, s in rows]
        for run, reports in zip((copy_words.compiled, copy_words.interpreted, copy_words.few), found, strict=True):
            run(words, codes, pivots, lies, k, reports)
            assert reports.tolist() == expected


class Given:
    """A source that hands out given words, one array for each time it is asked."""

    def __init__(self, *given: NDArray[np.uint64]) -> None:
        self.given = list(given)

    def fill(self, words: NDArray[np.uint64]) -> None:
        words[:] = self.given.pop(0)


@pytest.mark.parametrize("path", ["interpreted", "compiled"])
@pytest.mark.parametrize("d", [1, 2, 5, 8, 9])
@pytest.mark.parametrize("k", [2, 16, 256, 257, 60_000])
def test_pieces_decide_what_whole_words_would(d: int, k: int, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes as of whole words, nearly half of which are multiples of the lie, or next to one."""
    bits, piece, number = (16, np.uint16, np.float32) if k <= 256 else (32, np.uint32, np.float64)
    name = "copy_short_pieces" if k <= 256 else "copy_long_pieces"
    kernel, n, rng = getattr(copies, name), 400 if path == "compiled" else 60, np.random.default_rng(d * k)
    monkeypatch.setattr(copies, name, getattr(kernel, path))
    lies = rng.integers(0, 2**64 // (k - 1), (d, d), dtype=np.uint64)
    lies[0, 0], lies[-1, -1] = 0, (2**64 - 1) // (k - 1)
    lies[d // 2, 0] = 2**60 // k  # copies nearly always
    codes, pivots = rng.integers(0, k, (n, d)), rng.integers(0, d, n).astype(np.uint8)
    turn = (pivots[:, None].astype(np.int64) + np.arange(d)) % d
    whole = rng.integers(0, 2**64, (n, d), dtype=np.uint64)
    multiples = lies[pivots] * rng.integers(0, k, (n, d), dtype=np.uint64)
    multiples += rng.integers(-1, 2, (n, d)).astype(np.uint64)
    whole = np.where(rng.random((n, d)) < 0.4, multiples, whole)
    # Pieces lie in the order of targets, whole words in that of the circle from the pivot on.
    placed = np.empty_like(whole)
    np.put_along_axis(placed, turn, whole, axis=1)
    pieces = np.zeros(n * d + -(n * d) % 4 + 8, dtype=piece)
    pieces[: n * d] = (placed >> np.uint64(64 - bits)).reshape(-1)
    doubtful, reports = np.empty(n, dtype=np.int64), np.empty(n * d + 8, dtype=np.uint8 if k <= 256 else np.uint16)
    tables = copies.piece_tables(lies, k, bits, number)
    found = doubtful[: getattr(kernel, path)(codes, pivots, pieces, *tables, k, reports, doubtful)]
    assert found.size > 0
    first = pieces.view(np.uint64)[: -(-(n * d + copies.TOGETHER) * bits // 64)]
    source = Given(first, (whole[found] << np.uint64(bits)).reshape(-1))
    reports = copies.copy_many(codes, pivots, lies, source, k)
    assert not source.given
    expected = np.empty_like(reports)
    copies.copy_words(whole, codes, pivots, lies, k, expected)
    np.testing.assert_array_equal(reports, expected)


def test_few_pieces_are_in_doubt() -> None:
    """A piece is in doubt if it begins a multiple of the lie, k - 1 of 2^16; floats add less than as many again."""
    n, d, k = 40_000, 5, 16
    lies, rng = np.full((d, d), 2**60 // 17, dtype=np.uint64), np.random.default_rng(1)
    pieces = rng.integers(0, 2**16, n * d + 8).astype(np.uint16)
    doubtful, reports = np.empty(n, dtype=np.int64), np.empty(n * d + 8, dtype=np.uint8)
    tables = copies.piece_tables(lies, k, 16, np.float32)
    codes, pivots = rng.integers(0, k, (n, d)), rng.integers(0, d, n).astype(np.uint8)
    found = copies.copy_short_pieces.compiled(codes, pivots, pieces, *tables, k, reports, doubtful)
    assert found < 2 * n * d * (k - 1) / 2**16


@pytest.mark.parametrize("d", [1, 3, 9])
@pytest.mark.parametrize("n", [16, 17, 40_000])
def test_every_record_is_copied_whichever_block_it_is_in(d: int, n: int) -> None:
    """Up to 16 records of whole words; more of pieces, block by block, and of the rest of what these leave open."""
    lies, k = np.full((d, d), 2**61, dtype=np.uint64), 5
    codes = np.random.default_rng(d).integers(0, k, (n, d))
    reports, expected = (
        copies.randomize_with_copies(codes, lies, SimulationRandomness(n), k),
        np.empty((n, d), np.uint8),
    )
    rng = SimulationRandomness(n)
    pivots = sample_pivots(rng, n, d)
    if n <= 16:
        copies.copy_words(draw(rng, n * d).reshape(n, d), codes, pivots, lies, k, expected)
        np.testing.assert_array_equal(reports, expected)
        return
    step, begun = 4 * BLOCK_WORDS // d, []
    for start in range(0, n, step):
        size = min(step, n - start) * d
        begun.append(draw(rng, -(-(size + copies.TOGETHER) // 4)).view(np.uint16)[:size].reshape(-1, d))
    turn = (pivots[:, None].astype(np.int64) + np.arange(d)) % d
    whole = np.take_along_axis(np.concatenate(begun).astype(np.uint64), turn, axis=1) << np.uint64(48)
    copies.copy_words(whole, codes, pivots, lies, k, expected)
    # What the first bits leave open is another code in at most as many rows as have a piece in doubt.
    assert (reports != expected).any(axis=1).mean() < 2 * d * (k - 1) / 2**16
    assert int(reports.max()) < k
