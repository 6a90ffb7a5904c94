"""Copies of the pivot: equal to those by hand, and the same from pieces of words as from whole words."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.randomness import BLOCK_WORDS, draw
from deniable.records.pivot import copies
from deniable.records.pivot.copies import copy_words
from deniable.records.pivot.pivot_draws import sample_pivots


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
    """A source that returns given words, one array per request."""

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
    lies[d // 2, 0] = 2**60 // k  # copies are made nearly always
    codes, pivots = rng.integers(0, k, (n, d)), rng.integers(0, d, n).astype(np.uint8)
    turn = (pivots[:, None].astype(np.int64) + np.arange(d)) % d
    whole = rng.integers(0, 2**64, (n, d), dtype=np.uint64)
    multiples = lies[pivots] * rng.integers(0, k, (n, d), dtype=np.uint64)
    multiples += rng.integers(-1, 2, (n, d)).astype(np.uint64)
    whole = np.where(rng.random((n, d)) < 0.4, multiples, whole)
    # Pieces are in the order of targets, and whole words in the order of the circle from the pivot on.
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
    """Up to 16 records use whole words; more records use pieces, block by block, and further words for open cases."""
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
    # What the first bits leave open changes a code in at most as many rows as have a piece in doubt.
    assert (reports != expected).any(axis=1).mean() < 2 * d * (k - 1) / 2**16
    assert int(reports.max()) < k
