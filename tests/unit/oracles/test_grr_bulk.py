"""GRR with pieces of words decides as with whole words, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core import randomness
from deniable.oracles import grr_bulk
from deniable.oracles.grr import lie_threshold, randomize_codes
from deniable.oracles.grr_bulk import decide_by_pieces, multiples_of, randomize_many


class Given:
    """A source that returns given words, one array per request."""

    def __init__(self, *given: NDArray[np.uint64]) -> None:
        self.given = list(given)

    def fill(self, words: NDArray[np.uint64]) -> None:
        words[:] = self.given.pop(0)


@pytest.mark.parametrize("path", ["interpreted", "compiled"])
@pytest.mark.parametrize(
    ("k", "lie"), [(2, 1), (2, 2**63 - 1), (4, 0), (5, (2**64 - 1) // 4), (16, 0), (256, 0), (256, 3)]
)
def test_pieces_decide_what_whole_words_would(k: int, lie: int, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the words are multiples of the lie or next to one; few of the others are in doubt."""
    lie, n = lie or lie_threshold(k, 1.0), 3_000 if path == "compiled" else 800
    run, rng = getattr(decide_by_pieces, path), np.random.default_rng(k)
    monkeypatch.setattr(grr_bulk, "decide_by_pieces", run)
    codes, whole = rng.integers(0, k, n), rng.integers(0, 2**64, n, dtype=np.uint64)
    edges = rng.random(n) < 0.3
    multiples = np.uint64(lie) * rng.integers(0, k, n, dtype=np.uint64) + rng.integers(-1, 2, n).astype(np.uint64)
    whole[edges] = multiples[edges]
    pieces = np.zeros(n + -n % 4, dtype=np.uint16)
    pieces[:n] = whole >> np.uint64(48)
    reports, doubtful = np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.int64)
    found = doubtful[: run(codes, pieces[:n], *multiples_of(lie), k, reports, doubtful)]
    assert found.size > 0
    assert (~edges[found]).sum() < 2 * n * k / 2**16 + 12
    source = Given(pieces.view(np.uint64), whole[found] << np.uint64(16))
    expected = np.empty(n, dtype=np.uint8)
    randomize_codes.compiled(codes, whole, np.uint64(lie), k, expected)
    np.testing.assert_array_equal(randomize_many(codes, lie, k, source), expected)
    assert not source.given


def test_blocks_and_the_last_pieces_of_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each code has its own piece in all blocks: none repeats the piece before, and none is left out."""
    monkeypatch.setattr(randomness, "BLOCK_WORDS", 8)
    k, n = 4, 101
    found = randomize_many(np.zeros(n, dtype=np.int64), 2**62, k, SimulationRandomness(1))
    source, pieces = SimulationRandomness(1), np.empty(0, dtype=np.uint16)
    while pieces.size < n:
        words = np.empty(min(8, -(-(n - pieces.size) // 4)), dtype=np.uint64)
        source.fill(words)
        pieces = np.concatenate([pieces, words.view(np.uint16)])
    # The lie is a quarter, so the first two bits decide. No piece lies on both sides of a cut.
    expected = [(1 + (piece >> 14)) % 4 for piece in pieces[:n].tolist()]
    in_doubt = [piece % 2**14 in (0, 2**14 - 1) for piece in pieces[:n].tolist()]
    assert [a for a, doubt in zip(found.tolist(), in_doubt, strict=True) if not doubt] == [
        b for b, doubt in zip(expected, in_doubt, strict=True) if not doubt
    ]
