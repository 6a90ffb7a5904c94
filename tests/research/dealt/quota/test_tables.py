"""Tables of a deal: cuts, rounding and floors."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.tables import (
    QuotaTables,
    QuotaWeights,
    TruthWeights,
    quota_tables,
    search_cuts,
    shuffle_from,
)
from tests.research.dealt.quota_laws import (
    tables_of,
)


class Scripted:
    """Randomness that returns given words."""

    def __init__(self, words: list[int]) -> None:
        self.words = list(words)

    def fill(self, words: Any) -> None:
        words[:] = [self.words.pop(0) for _ in range(len(words))]


@pytest.mark.parametrize("last", [14, 40])
def test_a_word_that_is_the_beginning_of_a_cut_is_continued(last: int) -> None:
    """Words act as one infinitely long number: the next words decide ties of 64 bits, and of 128."""
    weights = [7, 11, 5, 3, 1]  # these are the weights of 10..14; 15..40 weigh 1 each
    quota = QuotaWeights(10, last, weights)
    total = sum(map(quota.weight, range(last + 1)))
    assert quota.total == total
    cuts = [Fraction(part, total) for part in accumulate(map(quota.weight, range(10, last)))]

    def digits(cut: Fraction, place: int) -> int:
        return int(cut * (1 << 64 * place)) % (1 << 64)

    ties = 0
    for cut in cuts:
        first, second, third = (digits(cut, place) for place in (1, 2, 3))
        for words in (
            [first - 1],
            [first + 1],
            [first, second - 1],
            [first, second + 1],
            [first, second, third - 1],
            [first, second, third + 1],
        ):
            number = sum(Fraction(word, 1 << 64 * (i + 1)) for i, word in enumerate(words))
            expected = 10 + sum(cut <= number for cut in cuts)
            for many in (1, 40):  # one case is interpreted, and one is compiled
                rng = Scripted([0] * (many - 1) + words)
                drawn = quota.draw(rng, many)
                assert drawn.tolist() == [10] * (many - 1) + [expected]
                assert not rng.words
            ties += len(words) - 1
    assert ties == 6 * len(cuts)


def test_shuffling_at_the_boundaries_of_half_words() -> None:
    """Halves whose product begins a biased interval are dropped; others choose floor(half bound / 2^32)."""
    n = 20
    halves = []
    for last in range(n - 1, 0, -1):
        bound = last + 1
        chosen = last % 3
        least = -(-(chosen << 32) // bound)  # the first half that chooses it; biased if its product is less than limit
        halves += [0] if (1 << 32) % bound else []
        halves += [least + 1, -(-((chosen + 1) << 32) // bound) - 1][last % 2 :][:1]
    expected, last = list(range(n)), n - 1
    for half in halves:
        bound = last + 1
        if half * bound % 2**32 >= 2**32 % bound:
            chosen = half * bound >> 32
            assert chosen == last % 3
            expected[last], expected[chosen] = expected[chosen], expected[last]
            last -= 1
    assert last == 0
    halves += [7] * (len(halves) % 2)
    words = np.array(halves, dtype="<u4").view(np.uint64)
    for run in (shuffle_from.compiled, shuffle_from.interpreted):
        types = np.arange(n, dtype=np.uint8)
        assert run(types, words, n - 1) == 0
        assert types.tolist() == expected


def test_a_word_tells_unless_it_equals_a_cut_or_lies_beyond_the_last_of_a_cut_table() -> None:
    cuts = np.array([10, 20, 30], dtype=np.uint64)
    words = np.array([0, 10, 11, 20, 25, 30, 31], dtype=np.uint64)
    guide = np.zeros(1 << 16, dtype=np.int64)
    for open_ended, beyond in ((False, 8), (True, -1)):
        quotas = np.zeros(len(words), dtype=np.int64)
        undecided = search_cuts(words, cuts, guide, 5, open_ended, quotas)
        assert quotas.tolist() == [5, -1, 6, -1, 7, -1, beyond]
        assert undecided == (quotas == -1).sum()


def _violations(tables: QuotaTables, weight: Fraction, rate: Fraction) -> int:
    """Return how often a table's recurrence is violated, over all possible counts."""
    n, k, quota, truth = tables.n, tables.k, tables.quota, tables.truth
    wrong = sum(quota.weight(x + 1) * (x + 1) < rate * quota.weight(x) for x in range(quota.first, quota.last))
    wrong += sum(truth.weight(y) * rate * weight < (y + 1) * truth.weight(y + 1) for y in range(truth.top + 1))
    wrong += truth.weight(0) == 0
    wrong += quota.weight(quota.last) == 0
    assert quota.last >= n - (k - 1) * quota.first
    return wrong


@pytest.mark.parametrize(
    ("n", "a0", "k", "epsilon"),
    [
        (2, 0, 2, 0.1),
        (50, 0, 2, 1.0),
        (2000, 780, 2, 0.5),
        (2000, 999, 2, 0.5),
        (2000, 0, 2, 32.0),
        (3000, 250, 10, 1.0),
        (20000, 5500, 2, 1.0),
        (20000, 0, 2, 1e-06),
    ],
)
def test_tables_keep_both_recurrences_on_the_full_support(n: int, a0: int, k: int, epsilon: float) -> None:
    quota = QuotaRR(epsilon, n, a0, k)
    assert _violations(tables_of(quota), quota.weight, Fraction(quota.law.tilt)) == 0


def test_rounding_the_tables_down_is_caught() -> None:
    """Mutant: the largest entry is one unit less."""
    quota = QuotaRR(1.0, 2000, 550)
    tables = tables_of(quota)
    rate = Fraction(quota.law.tilt)
    for row in (tables.quota.listed, tables.truth.listed):
        position = row.index(max(row)) + 1
        row[position] -= 1
        try:
            assert _violations(tables, quota.weight, rate) > 0
        finally:
            row[position] += 1
    assert _violations(tables, quota.weight, rate) == 0


def test_a_table_without_its_floor_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: weight 0 where Poisson weights vanish."""
    quota = QuotaRR(1.0, 2000, 550)
    tables = tables_of(quota)
    rate = Fraction(quota.law.tilt)
    monkeypatch.setattr(
        TruthWeights,
        "weight",
        lambda self, y: self.listed[self.top - y] if 0 <= self.top - y < len(self.listed) else 0,
    )
    assert _violations(tables, quota.weight, rate) > 0


def test_the_integers_are_the_law() -> None:
    """Total variation between the implemented and the ideal distribution, in exact rational arithmetic."""
    n, a0, weight = 40, 14, Fraction(171828182845, 10**11)
    tables = quota_tables(n, 2, a0, weight)
    pairs = [(a, c) for a in range(n + 1) for c in range(n + 1 - a)]
    ideal = {
        (a, c): weight ** (n - a - c)
        / (math.factorial(a) * math.factorial(c) * math.factorial(n - a - c))
        * (a >= a0 and c >= a0)
        for a, c in pairs
    }
    drawn = {
        (a, c): Fraction(tables.quota.weight(a) * tables.quota.weight(c) * tables.truth.weight(n - a - c))
        for a, c in pairs
    }
    ideal_total, drawn_total = sum(ideal.values()), sum(drawn.values())
    distance = sum(abs(ideal[pair] / ideal_total - drawn[pair] / drawn_total) for pair in pairs) / 2
    assert distance < Fraction(1, 2**90)
