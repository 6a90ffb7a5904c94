from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import GRR, OUE, SMP, SecureRandomness, SimulationRandomness
from deniable.core import randomness as module
from deniable.core.randomness import (
    BLOCK_WORDS,
    WordStream,
    blocks,
    draw,
    piece_blocks,
    uniform_below,
    uniform_below_by_halves,
)
from deniable.errors import InvalidParameterError
from deniable.research.baselines.projective_geometry import below_by_halves


def test_a_seed_gives_the_same_words_whatever_the_pieces() -> None:
    whole = draw(SimulationRandomness(3), 100_000)
    rng = SimulationRandomness(3)
    pieces = np.concatenate([draw(rng, size) for size in (1, 7, 40_000, 59_992)])
    assert (whole == pieces).all()
    assert (whole != draw(SimulationRandomness(4), 100_000)).any()


def test_simulated_words_are_chacha20_under_the_hashed_seed() -> None:
    """First words for seed 0, computed with an independent ChaCha20 (RFC 8439 block function, below)."""
    import hashlib
    import struct

    def rotate(x: int, r: int) -> int:
        return ((x << r) | (x >> (32 - r))) & 0xFFFFFFFF

    key = struct.unpack("<8I", hashlib.sha256(b"deniable simulation\x000").digest())
    state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, 0, 0, 0, 0]
    work = list(state)
    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(10):
        for a, b, c, d in columns + diagonals:
            for target, other, mixed, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                work[target] = (work[target] + work[other]) & 0xFFFFFFFF
                work[mixed] = rotate(work[mixed] ^ work[target], turn)
    stream = struct.pack("<16I", *((x + y) & 0xFFFFFFFF for x, y in zip(work, state, strict=True)))
    assert draw(SimulationRandomness(0), 8).tobytes() == stream


@pytest.mark.parametrize("seed", [-1, 1.0, None, "7", True])
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidParameterError, match="seed must be an integer >= 0"):
        SimulationRandomness(seed)


def test_secure_words_never_repeat() -> None:
    rng = SecureRandomness()
    words = np.concatenate([draw(rng, size) for size in (1, 2, 100_000, 3, 100_000)])
    assert len(np.unique(words)) == len(words)  # a collision of 64-bit words has probability 1e-9


def test_secure_randomness_is_neither_copied_nor_pickled() -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="repeat its noise"):
            attempt(SecureRandomness())


def test_a_simulation_is_neither_copied_nor_pickled() -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="make another SimulationRandomness from a seed"):
            attempt(SimulationRandomness(1))


def test_nothing_is_simulated_with_contributors_randomness() -> None:
    contributors: Any = SecureRandomness()
    with pytest.raises(InvalidParameterError, match=r"rng must be SimulationRandomness\(seed\) to simulate"):
        GRR(2, 1.0).simulate_aggregate([1, 2], contributors)
    with pytest.raises(InvalidParameterError, match=r"rng must be SimulationRandomness\(seed\) to simulate"):
        SMP((2, 2), 1.0).simulate_aggregate([[0, 1]], [5], contributors)


@pytest.mark.parametrize("rng", [None, 7, np.random.default_rng(1), SecureRandomness])
@pytest.mark.parametrize("mechanism", [GRR(4, 1.0), OUE(4, 1.0), SMP((2, 3), 1.0)])
def test_what_is_no_source_is_refused(mechanism: Any, rng: Any) -> None:
    answers = np.zeros((3, 2) if isinstance(mechanism, SMP) else 3, dtype=np.int64)
    with pytest.raises(
        InvalidParameterError, match=r"rng must be SecureRandomness\(\) for contributors, or Simulation"
    ):
        mechanism.randomize(answers, rng)


def _drawn_by_a_child(rng: SecureRandomness) -> bytes:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that waits for another thread's lock would wait for ever
        os.write(writing, draw(rng, 10_000).tobytes()[:64])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    found = os.read(reading, 64)
    os.close(reading)
    os.close(writing)
    return found


def test_a_child_draws_other_words_even_if_a_thread_was_drawing_at_the_fork() -> None:
    rng = SecureRandomness()
    draw(rng, 10_000)
    with rng._state.lock:  # another thread would hold it like this
        found = _drawn_by_a_child(rng)
    assert found != draw(rng, 10_000).tobytes()[:64]


def test_keys_are_replaced_after_a_gibibyte_and_after_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    honest = module._Keystream

    class Counting(honest):  # type: ignore[misc, valid-type]
        def __init__(self, key: bytes, nonce: bytes = bytes(16)) -> None:
            made.append(key)
            super().__init__(key, nonce)

    monkeypatch.setattr(module, "_Keystream", Counting)
    monkeypatch.setattr(module, "REKEY_BYTES", 3 * 80_000)
    rng = SecureRandomness()
    for _ in range(7):
        draw(rng, 10_000)
    assert len(made) == 3
    monkeypatch.setattr(os, "getpid", lambda: -1)
    draw(rng, 10_000)
    assert len(made) == len(set(made)) == 4


def test_a_child_with_its_parents_number_draws_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """In separate process namespaces both can have the number 1."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    rng = SecureRandomness()
    draw(rng, 10_000)
    assert _drawn_by_a_child(rng) != draw(rng, 10_000).tobytes()[:64]


NAMESPACES = """
import ctypes, os, sys
from deniable import SecureRandomness
from deniable.core.randomness import draw

# Every child is number 1 of a namespace of its own, and so is the one that it forks after entering another.
CLONE_NEWPID = 0x20000000
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(CLONE_NEWPID):
    sys.exit(77)
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert os.getpid() == 1
rng = SecureRandomness()
draw(rng, 10_000)
if libc.unshare(CLONE_NEWPID):
    sys.exit(77)
reading, writing = os.pipe()
if os.fork() == 0:
    assert os.getpid() == 1
    os.write(writing, draw(rng, 10_000).tobytes()[:64])
    os._exit(0)
mine = draw(rng, 10_000).tobytes()[:64]
sys.exit(mine == os.read(reading, 64))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="process namespaces are Linux's")
def test_processes_of_two_namespaces_draw_other_words() -> None:
    found = subprocess.run([sys.executable, "-c", NAMESPACES], timeout=60)
    if found.returncode == 77:
        pytest.skip("no right to make process namespaces")
    assert found.returncode == 0


def test_a_stream_hands_out_every_word_once() -> None:
    """For all sequences of taking and handing back, the words are those of the source, in order, each used once."""
    generator = np.random.default_rng(1)
    stream, read = WordStream(SimulationRandomness(5)), []
    for _ in range(200):
        words = stream.take(int(generator.integers(0, 50)))
        unread = int(generator.integers(0, len(words) + 1)) if generator.random() < 0.7 else 0
        read += words[: len(words) - unread].tolist()
        stream.hand_back(unread)
    assert len(set(read)) == len(read)
    source = iter(draw(SimulationRandomness(5), 20_000).tolist())
    assert all(word in source for word in read)  # words are in order; words handed back that do not fit are wasted


def test_a_stream_stays_with_its_thread_and_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, refused = WordStream(SimulationRandomness(5)), []
    stream.take(3)

    def take() -> None:
        try:
            stream.take(3)
        except InvalidParameterError as error:
            refused.append(str(error))

    other = threading.Thread(target=take)
    other.start()
    other.join()
    child = os.fork()
    if child == 0:
        take()
        os._exit(len(refused))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert len(refused) == 1
    assert "in the thread and process in which it was made" in refused[0]
    assert len(stream.take(3)) == 3
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            duplicate(stream)


def test_what_is_taken_is_memory_of_its_own() -> None:
    stream = WordStream(SimulationRandomness(5))
    first, second = stream.take(4), stream.take(4)
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("unread", [-1, 4])
def test_only_the_end_of_the_last_take_is_handed_back(unread: int) -> None:
    stream = WordStream(SimulationRandomness(5))
    with pytest.raises(InvalidParameterError, match="unread must be at most 0 after the last take"):
        stream.hand_back(1)
    stream.take(3)
    with pytest.raises(InvalidParameterError, match="unread"):
        stream.hand_back(unread)
    stream.hand_back(2)
    with pytest.raises(InvalidParameterError, match="2 words of this take were handed back before"):
        stream.hand_back(1)


@pytest.mark.parametrize(("dtype", "share"), [(np.uint16, 4), (np.uint32, 2)])
@pytest.mark.parametrize("rows", [0, 1, 7, 300_001])
def test_every_row_has_a_piece_of_its_own(rows: int, dtype: Any, share: int) -> None:
    found = [pieces.copy() for _, pieces in piece_blocks(SimulationRandomness(3), rows, dtype)]
    source = SimulationRandomness(3)
    expected = [draw(source, -(-len(part) // share)).view(dtype)[: len(part)] for part in found]
    assert sum(map(len, found)) == rows
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 256, 1000])
def test_uniform_below_is_uniform(bound: int) -> None:
    n = 200_000
    values = uniform_below(SimulationRandomness(bound), bound, n)
    counts = np.bincount(values, minlength=bound)
    assert len(counts) == bound
    statistic = ((counts - n / bound) ** 2 / (n / bound)).sum()
    assert stats.chi2.sf(statistic, bound - 1) >= 1e-7 or bound == 1


def test_uniform_below_rejects_the_incomplete_interval() -> None:
    class Scripted:
        """2^64 - 1 lies in the incomplete last interval for bound 3 and must be drawn again."""

        def __init__(self) -> None:
            self.script = [2**64 - 1, 0, 2**64 - 1, (2**64 // 3) * 2]

        def fill(self, words: Any) -> None:
            for i in range(len(words)):
                words[i] = self.script.pop(0)

    assert uniform_below(Scripted(), 3, 2).tolist() == [2, 0]


@pytest.mark.parametrize("bound", [0, -1, 2**63 + 1])
def test_uniform_below_refuses_a_bad_bound(bound: int) -> None:
    with pytest.raises(InvalidParameterError, match="bound"):
        uniform_below(SimulationRandomness(0), bound, 1)


@pytest.mark.parametrize("rows", [0, 1, 5, 100_000])
@pytest.mark.parametrize("words_per_row", [1, 3])
def test_blocks_cover_every_row_once(rows: int, words_per_row: int) -> None:
    seen = np.zeros(rows, dtype=int)
    for part, words in blocks(SimulationRandomness(1), rows, words_per_row):
        seen[part] += 1
        assert words.shape == ((part.stop - part.start,) if words_per_row == 1 else (part.stop - part.start, 3))
    assert (seen == 1).all()


@pytest.mark.parametrize("words_per_row", [1, 3])
@pytest.mark.parametrize(
    "rows", [1, 16, BLOCK_WORDS // 3, BLOCK_WORDS - 1, BLOCK_WORDS, BLOCK_WORDS + 1, 3 * BLOCK_WORDS + 5]
)
def test_rows_of_blocks_have_the_next_words_in_order(rows: int, words_per_row: int) -> None:
    """Each word decides one row, in one take or in several, and later words are fresh."""
    rng, twin = SimulationRandomness(7), SimulationRandomness(7)
    found = np.concatenate([words.copy().reshape(-1) for _, words in blocks(rng, rows, words_per_row)])
    np.testing.assert_array_equal(found, draw(twin, rows * words_per_row))
    np.testing.assert_array_equal(draw(rng, 5), draw(twin, 5))


@pytest.mark.parametrize("bound", [3, 7, 8, 1000, 2**17 - 1, 2**32, 3 * 2**61, 2**63 - 25])
@pytest.mark.parametrize("n", [1, 16, 2 * BLOCK_WORDS + 5])
def test_uniform_below_is_the_quotient_of_the_same_words(bound: int, n: int) -> None:
    width, rng = (1 << 64) // bound, SimulationRandomness(bound)
    expected, todo = [0] * n, list(range(n))
    while todo:
        for i, word in zip(todo, draw(rng, len(todo)).tolist(), strict=True):
            expected[i] = word // width
        todo = [i for i in todo if expected[i] >= bound]
    assert uniform_below(SimulationRandomness(bound), bound, n).tolist() == expected


@pytest.mark.parametrize("bound", [2, 3, 1000, 2**17 - 1, 2**24 - 1, 2**24])
@pytest.mark.parametrize("path", ["interpreted", "compiled"])
def test_halves_of_words_choose_exactly_uniformly(bound: int, path: str) -> None:
    """As many halves stand for each choice: of those with one upper half of the product all but a beginning do."""
    choices = [0, 1, bound // 2, bound - 2, bound - 1]
    ends = [(-(-(c << 32) // bound), -(-((c + 1) << 32) // bound)) for c in choices]
    halves = np.array([half for low, high in ends for half in (low, low + 1, high - 1)], dtype=np.uint32)
    result = np.empty(halves.size, dtype=np.int64)
    run = getattr(module._choose_by_halves, path)
    assert run(halves, np.uint32(bound), result) == (result < 0).sum()
    for c, (low, high), (first, second, last) in zip(choices, ends, result.reshape(-1, 3).tolist(), strict=True):
        assert (second, last) == (c, c)
        assert first in (c, -1)
        assert high - low - (first < 0) == 2**32 // bound


@pytest.mark.parametrize("n", [1, 16, 17, 70_001])
def test_every_place_has_a_half_of_its_own(n: int) -> None:
    """Rejected halves are drawn again, from words that come after all others."""
    bound = 3 << 22
    found = uniform_below_by_halves(SimulationRandomness(n), bound, n)
    assert 0 <= int(found.min()) <= int(found.max()) < bound
    rng, halves = SimulationRandomness(n), np.empty(0, dtype=np.uint32)
    while halves.size < n:
        halves = np.concatenate([halves, draw(rng, min(BLOCK_WORDS, -(-(n - halves.size) // 2))).view(np.uint32)])
    products = halves[:n].astype(object) * bound
    kept = np.array([product % 2**32 >= 2**32 % bound for product in products])
    assert found[kept].tolist() == [product >> 32 for product in products[kept]]
    if n > 1000:
        assert 0 < (~kept).sum() < n / 100
        assert len(set(found[~kept].tolist())) > 1


@pytest.mark.parametrize("threshold", [1, 2**32 - 1, 2**32, 2**63, 0x0123_4567_89AB_CDEF, 2**64 - 1])
def test_halves_of_words_are_below_what_whole_ones_are(threshold: int) -> None:
    """Around the threshold to the last bit: the half that it begins with takes the rest of its word, others do not."""
    numbers = [threshold - 1, threshold, threshold + 1, threshold ^ 1 << 31, 0, 2**64 - 1]
    numbers += [number ^ 1 << 32 for number in numbers]
    numbers = [number for number in numbers if 0 <= number < 2**64]
    halves = np.array([number >> 32 for number in numbers] + [0] * (len(numbers) % 2), dtype=np.uint32)
    given = [halves.view(np.uint64)]
    tied = [number for number in numbers if number >> 32 == threshold >> 32]
    given.append(np.array([number % 2**32 << 32 | 77 for number in tied], dtype=np.uint64))

    class Given:
        def fill(self, words: Any) -> None:
            words[:] = given.pop(0)

    found = below_by_halves(Given(), threshold, len(numbers))
    assert found.tolist() == [number < threshold for number in numbers]
    assert not given


def test_a_simulation_shows_its_seed() -> None:
    assert repr(SimulationRandomness(7)) == "SimulationRandomness(seed=7)"
