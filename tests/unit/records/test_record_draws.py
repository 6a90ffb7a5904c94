"""The exact draws behind record mechanisms: several uniform integers from a word, and codes from priors."""

from __future__ import annotations

import bisect
import random
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import SimulationRandomness
from deniable.core.randomness import blocks
from deniable.records.pivot.pivot_draws import (
    BESIDE,
    copy_around,
    copy_beside,
    copy_in_turn,
    randomize_with_copies,
    sample_pivots,
)
from deniable.records.prior_draws import (
    _draw,
    checked_priors,
    cumulative_thresholds,
    draw_from_priors,
    implemented_prior,
    prior_tables,
)
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
            run(fractions, np.array(bounds, dtype=np.uint64), choices)
        assert choices.tolist() == expected
        assert fractions.tolist() == left


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


def test_copies_in_one_loop_are_those_in_turn() -> None:
    """The same words give the same bytes, whichever loop reads them."""
    rng, d, n = np.random.default_rng(3), 7, 400
    for k in (2, 5, 300):
        lies = rng.integers(0, 2**64 // (k - 1), (d, d), dtype=np.uint64)
        lies[0, 1], lies[2, 3] = 0, 2**64 // (k - 1) - 1
        truths = lies * np.uint64(k - 1)
        reciprocals = np.divide(1.0, lies.astype(np.float64), out=np.zeros(lies.shape), where=lies > 0)
        words = rng.integers(0, 2**64, (n, d), dtype=np.uint64)
        words[:d] = truths
        codes, pivots = rng.integers(0, k, (n, d)), rng.integers(0, d, n).astype(np.uint8)
        found = [np.zeros((n, d), dtype=np.uint16) for _ in range(5)]
        interpreted = copy_in_turn.interpreted, copy_around.interpreted
        runs = copy_in_turn.compiled, copy_around.compiled, *interpreted, copy_in_turn.few
        for run, reports in zip(runs, found, strict=True):
            with np.errstate(over="ignore"):
                run(words, codes, pivots, lies, truths, reciprocals, k, reports)
            np.testing.assert_array_equal(reports, found[0])
        assert int(found[0].max()) < k
        wide = [np.pad(table, ((0, 0), (0, BESIDE - d))) for table in (lies, truths, reciprocals)]
        reports = np.zeros((n - 2, d), dtype=np.uint16)
        copy_beside.compiled(words.reshape(-1), codes[:-2], pivots[:-2], wide[0], wide[1], wide[2], k, reports)
        np.testing.assert_array_equal(reports, found[0][:-2])


@pytest.mark.parametrize("d", [1, 2, 3, 5, 7, 8, 9])
@pytest.mark.parametrize("n", [16, 17, 40, 40_000])
def test_every_record_is_copied_whichever_loop_ends_a_block(d: int, n: int) -> None:
    """The last records of a block go through another loop; of the same words all are made as one after the other."""
    lies = np.full((d, d), 2**61, dtype=np.uint64)
    codes = np.random.default_rng(d).integers(0, 5, (n, d))
    reports, expected = np.full((2, n, d), 99, dtype=np.uint8)
    randomize_with_copies(codes, lies, SimulationRandomness(n), reports, 5)
    rng = SimulationRandomness(n)
    pivots, truths = sample_pivots(rng, n, d), lies * np.uint64(4)
    for rows, words in blocks(rng, n, d):
        block = words.reshape(-1, d), codes[rows], pivots[rows]
        copy_in_turn.compiled(*block, lies, truths, 1 / lies.astype(np.float64), 5, expected[rows])
    np.testing.assert_array_equal(reports, expected)
