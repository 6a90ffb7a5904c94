"""Laws of many contributors at once, by which no random word is used for two contributors.

A kernel that makes reports by the hundred thousand takes words in blocks. If it reads a word twice, two reports depend
on each other. Anyone who sees both learns more than the guarantee says, although each report alone follows its channel
exactly. These laws look at reports together. They need no channel, so they hold a mechanism at any size.

A kernel may cut a word into pieces for several contributors. A bit may also decide *how many* words come after it (how
many contributors sampled an attribute, how many draws were rejected), so that later contributors read other words. Such
a shift moves many reports, or neighbouring ones at the end of a block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, stats

from deniable.core.randomness import BLOCK_WORDS, SimulationRandomness, Words, WordStream
from deniable.testing.laws import FAMILY_WISE_ERROR, columns, hold, length

ROWS = 12 * BLOCK_WORDS
"""Number of contributors: three blocks of the largest kind, in which a word serves four contributors."""

APART = 1 << 12
"""Rows between two reports that no shift at the end of a block explains, if few reports have moved."""

FEW = 2 * ROWS // BLOCK_WORDS
"""Most reports that a word moves if every block of words is used again. More moved reports are a shift."""

NEIGHBOURS = 3
"""Most changed bits that may move a few neighbouring reports. These are shifts at the end of a block, which few of many
words make."""

LARGEST_LAG = 1 << 18
"""Largest distance at which reports are compared."""

_BINS, _EXPECTED = 8, 20


@contextmanager
def overwritten_words() -> Iterator[None]:
    """Overwrite the words of every `WordStream` as soon as it takes others, which reveals reads of stale words."""
    before, WordStream.overwrites = WordStream.overwrites, True
    try:
        yield
    finally:
        WordStream.overwrites = before


class ChangedRandomness:
    """Words of a seed with one bit changed, and a record of how many words were drawn at a time.

    Parameters
    ----------
    seed : int
        Seed as for `SimulationRandomness`.
    place : int
        Number of the word that is changed, from 0 on; none by default.
    bit : int
        Number of the changed bit, 0..63.

    Attributes
    ----------
    sizes : list of int
        Number of words that every call drew.
    """

    def __init__(self, seed: int, place: int = -1, bit: int = 0) -> None:
        self._honest, self._place, self._bit = SimulationRandomness(seed), place, bit
        self._drawn = 0
        self.sizes: list[int] = []

    def fill(self, words: Words) -> None:
        """Overwrite words with the next words of the seed, including the changed word if its turn has come."""
        self._honest.fill(words)
        if self._drawn <= self._place < self._drawn + len(words):
            words[self._place - self._drawn] ^= np.uint64(1) << np.uint64(self._bit)
        self._drawn += len(words)
        self.sizes.append(len(words))


def bits_decide_one_report(mechanism: Any, rows: int = ROWS + 5, changes: int = 64, seed: int = 7) -> None:
    """Check that a changed bit moves at most one contributor's report if as many words are drawn as before.

    Half of the words are chosen at random. The other half are the first and the last words of a draw, where blocks
    meet. The number of reports that move and their distances distinguish shifts from words that are used twice.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that takes codes or records.
    rows, changes, seed : int
        Number of contributors, number of changed bits and seed of the words.
    """
    inputs = several_inputs(mechanism, rows)
    honest = ChangedRandomness(seed)
    reports = mechanism.randomize(inputs, honest)
    again = rows_that_differ(reports, mechanism.randomize(inputs, ChangedRandomness(seed)))
    hold(not len(again), f"the same words make other reports in rows {(again[:9] + 1).tolist()}")
    hold(sum(honest.sizes) > 0, "no word is drawn from the source that is given")
    ends = np.cumsum(honest.sizes)
    generator = np.random.default_rng(seed)
    anywhere = generator.integers(ends[-1], size=changes - changes // 2)
    borders = generator.choice(np.concatenate([ends - 1, ends - honest.sizes]), size=changes // 2)
    # The first bit of a word decides most, then the first bits of its pieces of sixteen and thirty-two.
    kinds = (np.full(changes, 63), 16 * generator.integers(4, size=changes) + 15, generator.integers(64, size=changes))
    bits = np.choose(generator.choice(3, size=changes, p=(0.5, 0.25, 0.25)), kinds)
    neighbours = 0
    for place, bit in zip([*anywhere.tolist(), *borders.tolist()], bits.tolist(), strict=True):
        source = ChangedRandomness(seed, place, bit)
        moved = rows_that_differ(reports, mechanism.randomize(inputs, source))
        if source.sizes != honest.sizes or not 2 <= len(moved) <= FEW:
            continue
        named = f"bit {bit} of word {place + 1} of {ends[-1]} decides the reports of rows {(moved + 1).tolist()}"
        hold(moved[-1] - moved[0] < APART, named)
        neighbours += 1
        hold(neighbours <= NEIGHBOURS, f"{named}, and {NEIGHBOURS} other bits decide several neighbours too")


def several_inputs(mechanism: Any, rows: int) -> NDArray[np.int64]:
    """Return inputs of all contributors, not in the order of the codes: int64[rows], or int64[rows, d]."""
    row = np.arange(rows, dtype=np.int64)
    inputs = np.empty((rows, len(mechanism.domain)), dtype=np.int64)
    for j, size in enumerate(mechanism.domain):
        inputs[:, j] = (7 * row + 3 * j + row // 5) % size
    return inputs if mechanism.records else inputs[:, 0]


def rows_that_differ(before: Any, after: Any) -> NDArray[np.intp]:
    """Return the rows, increasing, in which two batches of equally many reports differ."""
    differ = np.zeros(length(before), dtype=np.bool_)
    for old, new in zip(map(_integers, columns(before)), map(_integers, columns(after)), strict=True):
        differ |= (old != new).reshape(len(differ), -1).any(axis=1)
    return np.flatnonzero(differ)


def _integers(field: NDArray[Any]) -> NDArray[Any]:
    """Return the bytes of a field's numbers as unsigned integers, which are equal where the numbers are equal."""
    return np.ascontiguousarray(field).view(f"u{field.dtype.itemsize}")


def distant_reports_are_unrelated(mechanism: Any, rows: int = 2 * LARGEST_LAG, seed: int = 8) -> None:
    """Check that at every distance up to 2^18 reports about equal inputs are as often equal as at any other.

    Every possible report gets a random number. For independent reports these numbers are uncorrelated. If a share of
    the reports at some distance are copies, the correlation at that distance is about that share. A Fourier transform
    computes all distances at once. The bound is Bernstein's inequality on either half of the pairs, which are
    independent. It is .021 for numbers that are well spread.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that takes codes or records.
    rows, seed : int
        Number of contributors, at least twice the largest tested distance, and seed of the words.
    """
    lags = rows // 2
    numbers = numbered(mechanism.randomize(_same_inputs(mechanism, rows, 0), SimulationRandomness(seed)), seed)
    if numbers.min() == numbers.max():
        return
    centred = numbers - numbers.mean()
    variance = float(np.square(centred).mean())
    spectrum = np.abs(fft.rfft(centred, n=fft.next_fast_len(rows + lags, real=True))) ** 2
    sums = fft.irfft(spectrum, n=fft.next_fast_len(rows + lags, real=True))[1 : lags + 1]
    pairs = rows - np.arange(1, lags + 1)
    certain = math.log(4 * lags / FAMILY_WISE_ERROR)
    largest = float(np.abs(centred).max()) ** 2
    # The bound is for both halves together. The estimated mean moves a sum by a few variances, and 4 `certain` are
    # allowed for it.
    bounds = 2 * np.sqrt(pairs * certain) * variance + (4 * largest / 3 + 4 * variance) * certain
    worst = int((np.abs(sums) / bounds).argmax())
    found, chance = (float(numbers[worst] / pairs[worst]) / variance for numbers in (sums, bounds))
    hold(
        abs(found) <= chance,
        f"reports {worst + 1} rows apart depend on each other: their correlation is {found:.3f}, by chance at most "
        f"{chance:.3f}",
    )


def blocks_are_independent(mechanism: Any, rows: int = ROWS, seed: int = 9) -> None:
    """Check that reports in different blocks are independent, and that nothing is common to all reports of a run.

    The law uses chi-squared tests. It compares the joint distribution of two contributors, who are one, two and four
    blocks apart, with the product of their distributions. Contributors in the first block of a pair hold another input
    than contributors in the second block. It also compares the reports of two runs with one distribution, because a
    word that decides for everybody makes them different.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that takes codes or records.
    rows, seed : int
        Number of contributors, at least eight blocks of words, and seed of the words.
    """
    for times in (1, 2, 4):
        apart = times * BLOCK_WORDS
        first = np.arange(rows) // apart % 2 == 0
        first[rows // (2 * apart) * 2 * apart :] = False
        inputs = _same_inputs(mechanism, rows, 0)
        inputs[first] = _same_inputs(mechanism, 1, -1)
        numbers = numbered(mechanism.randomize(inputs, SimulationRandomness(seed + times)), seed)
        one = np.flatnonzero(first)
        p_value = _independence(_binned(numbers[one]), _binned(numbers[one + apart]))
        hold(
            p_value >= FAMILY_WISE_ERROR / 4,
            f"reports of blocks {apart} rows apart are not independent, p-value {p_value:.3g}",
        )
    inputs = _same_inputs(mechanism, rows, 0)
    runs = [numbered(mechanism.randomize(inputs, SimulationRandomness(seed + times)), seed) for times in (8, 9)]
    p_value = _independence(np.repeat([0, 1], rows), _binned(np.concatenate(runs)))
    hold(
        p_value >= FAMILY_WISE_ERROR / 4,
        f"all reports of a run depend on each other: two runs are not alike, p-value {p_value:.3g}",
    )


def _same_inputs(mechanism: Any, rows: int, code: int) -> NDArray[np.int64]:
    """Return one input for everybody: the first code of every attribute, or, for -1, the last."""
    one = np.array([code % size for size in mechanism.domain], dtype=np.int64)
    return np.repeat(one[None], rows, axis=0) if mechanism.records else np.repeat(one, rows)


def numbered(reports: Any, seed: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for every report, float64[n]: equal for equal reports, as if drawn for others."""
    generator = np.random.default_rng(seed)
    mixed = np.full(length(reports), generator.integers(1 << 63, dtype=np.uint64), dtype=np.uint64)
    for field in map(_integers, columns(reports)):
        table = field.reshape(len(mixed), -1)
        for column in table.T:
            mixed += column.astype(np.uint64)
            mixed *= generator.integers(1 << 63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
            mixed ^= mixed >> np.uint64(29)
    mixed *= generator.integers(1 << 63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed ^= mixed >> np.uint64(32)
    mixed *= generator.integers(1 << 63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return (mixed >> np.uint64(11)).astype(np.float64) / (1 << 53)


def _binned(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of every number: one for each of few different numbers, otherwise equally full bins.

    If there are few different numbers, the rarest ones share a bin. No bin has fewer numbers than the root of
    `_EXPECTED` times their number, so that two such rare bins are expected to meet `_EXPECTED` times.
    """
    values, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    least = max(math.sqrt(_EXPECTED * len(numbers)), len(numbers) / _BINS if len(values) > _BINS else 0.0)
    own = counts >= least
    bin_of = np.cumsum(own) - 1
    rest = int(counts[~own].sum())
    groups = int(rest // least)
    before = np.cumsum(counts[~own]) - counts[~own]
    first = int(own.sum())
    bin_of[~own] = first + before * groups // rest if groups else max(first - 1, 0)
    return bin_of[which]


def _independence(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return the p-value of a chi-squared test that two bins of everybody are independent; 1 where there is one bin."""
    table = np.zeros((one.max() + 1, other.max() + 1), dtype=np.int64)
    np.add.at(table, (one, other), 1)
    return float(stats.chi2_contingency(table, correction=False).pvalue) if min(table.shape) > 1 else 1.0
