"""Several uniform integers from one random word: exact on small words, uniform and independent."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import SimulationRandomness
from deniable.records.uniform_draws import _multiply, uniform_rows
from tests.unit._goodness import FAMILY_WISE_ERROR

BOUNDS = (1, 2, 3, 7, 16, 1_000_003, 2**32 - 1, 2**32)


class Scripted:
    """Words in a given order."""

    def __init__(self, words: list[int]) -> None:
        self.words = words

    def fill(self, words: NDArray[np.uint64]) -> None:
        taken, self.words = self.words[: len(words)], self.words[len(words) :]
        words[:] = np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("run", [_multiply.compiled, _multiply.interpreted, _multiply.few])
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
            factors, scratch = np.array(bounds, dtype=np.uint64), np.empty(len(words), dtype=np.uint64)
            below = run(fractions, factors, np.uint64(2**63), scratch, choices)
        assert below == sum(fraction < 2**63 for fraction in left)
        assert choices.tolist() == expected
        assert fractions.tolist() == left


def _one_by_one(words: list[int], bounds: tuple[int, ...], n: int) -> tuple[list[list[int]], list[int]]:
    """Return the choices of n rows of bounds that share a word, in Python integers, and the words that are left."""
    limit, left, rows = 2**64 % math.prod(bounds), list(words), list[list[int]]([[]] * n)
    todo = list(range(n))
    while todo:
        taken, left, again = left[: len(todo)], left[len(todo) :], []
        for row, rest in zip(todo, taken, strict=True):
            chosen = []
            for bound in bounds:
                chosen.append(rest * bound >> 64)
                rest = rest * bound % 2**64
            rows[row] = chosen
            again += [row] * (rest < limit)
        todo = again
    return rows, left


@pytest.mark.parametrize("n", [1, 12, 40])
def test_choices_are_those_of_one_row_after_the_other(n: int) -> None:
    """The same words give the same choices for few and many rows; rejected words are redrawn in the same order."""
    for bounds in ((5,), (3,) * 16, (2**32, 2**16), (7, 1, 2**32 - 5)):
        source = random.Random(len(bounds))
        # A word whose last fraction is 0 is rejected unless the product is a power of two.
        words = [source.choice((0, source.getrandbits(64))) for _ in range(400)]
        scripted, choices = Scripted(words), np.empty((n, len(bounds)), dtype=np.uint32)
        uniform_rows(scripted, bounds, choices)
        rows, left = _one_by_one(words, bounds, n)
        assert choices.tolist() == rows
        assert scripted.words == left


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
    # Row 1 takes the second replacement, because the first is 0 again. Row 3 takes the first that is accepted.
    assert choices.tolist() == [[1, 2], [1, 2], [2, 4], [1, 2]]
    # If the bounds' product divides the range evenly, nothing is drawn again.
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
