"""Sources of random bits: the operating system for contributors, and a seed for simulations.

Both sources are ChaCha20 keystreams, one keyed by the operating system and one by a seed. There is no default source:
every function that randomises takes ``rng``, and a seed is accepted only by the class whose name says simulation.

Only this module takes words from a source, through `WordStream`, which takes each word once. `draw`, `blocks` and
`piece_blocks` are short forms of it for the usual cases.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from operator import index
from typing import ClassVar, NoReturn, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.kernels import PLAIN, exact_kernel, kernel, worth_compiling
from deniable.errors import InvalidParameterError, out_of_range, quoted

Words = NDArray[np.uint64]

BLOCK_WORDS = 1 << 15
"""Words drawn at a time (256 KiB): the block stays in a core's second-level cache between drawing and use."""

REKEY_BYTES = 1 << 30
_DIRECT_BYTES = 4096


class Randomness(Protocol):
    """A source of independent uniform 64-bit words."""

    def fill(self, words: Words) -> None:
        """Overwrite a contiguous uint64 array with new uniform words."""


class SpawningRandomness(Randomness, Protocol):
    """Source that can make another source, for draws that must not change which words reports use."""

    def spawn(self) -> SpawningRandomness:
        """Return another source of the same kind that is independent of this one, without drawing from this one."""


Source = TypeVar("Source", bound=Randomness)
Piece = TypeVar("Piece", np.uint16, np.uint32)


class _Keystream:
    """ChaCha20 keystream with one key. It is thread-safe, so no two callers ever receive the same bytes."""

    def __init__(self, key: bytes, nonce: bytes = bytes(16)) -> None:
        # The import waits until here, because a single report takes its few words from the operating system and needs
        # no cipher.
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

        self._encryptor = Cipher(ChaCha20(key, nonce), mode=None).encryptor()
        self._zeros = bytes(8 * BLOCK_WORDS)
        self.produced = 0

    def fill(self, target: memoryview) -> None:
        for start in range(0, len(target), len(self._zeros)):
            part = target[start : start + len(self._zeros)]
            self._encryptor.update_into(memoryview(self._zeros)[: len(part)], part)
        self.produced += len(target)


class _Process:
    """Identity of the current process, to tell it from the process that it was forked from.

    The identity is an object and the process number. Two processes can have the same number in different process
    namespaces, so the object is replaced after every fork. The number is needed for forks that did not go through
    Python.
    """

    token: ClassVar[object] = object()

    @classmethod
    def renew(cls) -> None:
        """Give this process its own token."""
        cls.token = object()

    @classmethod
    def current(cls) -> tuple[object, int]:
        """Return an identity that no other process with a copy of our memory has."""
        return cls.token, os.getpid()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_Process.renew)


class _ProcessState:
    """Source and lock of one process. It has its own lock because a fork may copy a lock held by another thread."""

    def __init__(self) -> None:
        self.process = _Process.current()
        self.lock = threading.Lock()
        self.keystream: _Keystream | None = None


class SecureRandomness:
    """Random words for real contributors, from the operating system's CSPRNG.

    Small draws come directly from the operating system. Large draws come from a ChaCha20 keystream. The operating
    system supplies the key of this keystream, and a new key after every GiB and after a fork. Threads can share the
    object. It can be neither copied nor pickled, because a copy would repeat its noise.

    Examples
    --------
    >>> from deniable import GRR, SecureRandomness
    >>> report = GRR(k=4, epsilon=1.0).randomize([2], SecureRandomness())
    >>> report.shape
    (1,)
    """

    def __init__(self) -> None:
        self._state = _ProcessState()

    def fill(self, words: Words) -> None:
        """Overwrite a contiguous uint64 array with new uniform words."""
        target = words.data.cast("B")
        if len(target) <= _DIRECT_BYTES:
            target[:] = os.urandom(len(target))
            return
        state = self._state
        if state.process != _Process.current():
            state = self._state = _ProcessState()
        with state.lock:
            if state.keystream is None or state.keystream.produced + len(target) > REKEY_BYTES:
                state.keystream = _Keystream(os.urandom(32))
            state.keystream.fill(target)

    def spawn(self) -> SecureRandomness:
        """Return another source of the operating system's random words."""
        return SecureRandomness()

    @property
    def generator(self) -> NoReturn:
        """Raise an error: only seeded sources may simulate aggregates, so that nobody takes them for real reports."""
        raise InvalidParameterError("rng must be SimulationRandomness(seed) to simulate, got rng=SecureRandomness()")

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise TypeError("SecureRandomness can be neither copied nor pickled: a copy would repeat its noise")


class SimulationRandomness:
    """Reproducible random words for simulation, rehearsal and tests; never for real contributors.

    Parameters
    ----------
    seed : int
        Any integer >= 0. The same seed gives the same words on every platform.

    Attributes
    ----------
    generator : numpy.random.Generator
        A numpy generator with the same seed, for functions that draw a whole aggregate (binomial, multinomial).

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.core.randomness import draw
    >>> bool((draw(SimulationRandomness(7), 3) == draw(SimulationRandomness(7), 3)).all())
    True
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InvalidParameterError(f"seed must be an integer >= 0, got seed={quoted(seed)}")
        self.seed = int(seed)
        self.generator = np.random.Generator(np.random.PCG64(self.seed))
        key = hashlib.sha256(b"deniable simulation\0" + str(self.seed).encode()).digest()
        self._keystream = _Keystream(key)
        self._lock = threading.Lock()
        self._spawned = 0

    def fill(self, words: Words) -> None:
        """Overwrite a contiguous uint64 array with the next words of the seed's sequence."""
        with self._lock:
            self._keystream.fill(words.data.cast("B"))
        if sys.byteorder == "big":  # pragma: no cover
            words.byteswap(inplace=True)

    def spawn(self) -> SimulationRandomness:
        """Return the next source derived from this seed. The sequence is reproducible, and all its sources differ."""
        with self._lock:
            self._spawned += 1
            name = f"deniable simulation, spawned\0{self.seed}\0{self._spawned}"
        return SimulationRandomness(int.from_bytes(hashlib.sha256(name.encode()).digest(), "big"))

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled, because the copy would lack half of the state."""
        raise TypeError(
            "SimulationRandomness can be neither copied nor pickled: make another SimulationRandomness from a seed"
        )

    def __repr__(self) -> str:
        return f"SimulationRandomness(seed={self.seed})"


_SOURCES = SecureRandomness, SimulationRandomness


def checked_randomness(rng: Source) -> Source:
    """Return the source, or raise InvalidParameterError for None, a seed, a numpy generator, a class or the like."""
    if not isinstance(rng, _SOURCES) and (isinstance(rng, type) or not callable(getattr(rng, "fill", None))):
        raise InvalidParameterError(
            "rng must be SecureRandomness() for contributors, or SimulationRandomness(seed) for simulations, got "
            f"rng={quoted(rng)}"
        )
    return rng


@final
class WordStream:
    """The random words of one call of one mechanism; each word is handed out once.

    `take` advances the stream at once, and the taken words have their own memory. A kernel that forgets to hand back
    unread words wastes them. The only way to receive a word twice is to hand back a word that was read. A stream
    belongs to the thread and the process that made it, and cannot be copied. Sources can be shared.

    Parameters
    ----------
    rng : Randomness
        Source of the words.

    Attributes
    ----------
    overwrites : bool
        True if `take` overwrites the words of the last take, so that code that still reads them fails its tests. The
        project's tests set it.

    Raises
    ------
    InvalidParameterError
        If rng is not a source of random words.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.core.randomness import WordStream
    >>> stream = WordStream(SimulationRandomness(1))
    >>> unread = stream.take(5)[3:].copy()
    >>> stream.hand_back(2)                 # the kernel read three of the five
    >>> bool((stream.take(5)[:2] == unread).all())
    True
    """

    __slots__ = ("_handed_back", "_last", "_owner", "_rng", "_unread")

    overwrites: ClassVar[bool] = False

    def __init__(self, rng: Randomness) -> None:
        self._rng = checked_randomness(rng)
        self._owner = threading.get_ident(), _Process.current()
        self._last: Words = np.empty(0, dtype=np.uint64)
        self._unread, self._handed_back = 0, False

    def take(self, count: int) -> Words:
        """Return the next `count` words, uint64[count]. Words that were handed back come first, then new ones.

        Raises
        ------
        InvalidParameterError
            If the caller is another thread or process than the one that made the stream, because both would receive the
            same words.
        """
        if self._owner != (threading.get_ident(), _Process.current()):
            raise InvalidParameterError(
                "a WordStream must be used only in the thread and process in which it was made, but this is another "
                "thread or process; make another WordStream from the source here"
            )
        words = np.empty(count, dtype=np.uint64)
        kept = min(self._unread, count)
        if kept:
            start = len(self._last) - self._unread
            words[:kept] = self._last[start : start + kept]
        if kept < count:
            self._rng.fill(words[kept:])
        if self.overwrites:
            self._last[:] = _OVERWRITTEN
        # Words that were handed back and do not fit into this take are wasted.
        self._last, self._unread, self._handed_back = words, 0, False
        return words

    def hand_back(self, unread: int) -> None:
        """Hand back the last `unread` words of the last take, which nobody has read, for the next take.

        Raises
        ------
        InvalidParameterError
            If the last take had fewer words, or if words of it were handed back before.
        """
        if not 0 <= index(unread) <= len(self._last):
            raise InvalidParameterError(
                f"unread must be at most {len(self._last)} after the last take, got unread={unread}: that take "
                f"returned {len(self._last)} words"
            )
        if self._handed_back:
            raise InvalidParameterError(
                f"hand_back must be called at most once after each take, but {self._unread} words of this take were "
                "handed back before; hand back all unread words of a take in one call"
            )
        self._unread, self._handed_back = index(unread), True

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise TypeError(
            "a WordStream can be neither copied nor pickled: the copy and the original would hand out the same words"
        )


_OVERWRITTEN = np.uint64(0x5555555555555555)


def draw(rng: Randomness, size: int) -> Words:
    """Return `size` fresh uniform words as uint64[size], as the only take of a stream does."""
    words = np.empty(size, dtype=np.uint64)
    checked_randomness(rng).fill(words)
    return words


def blocks(rng: Randomness, rows: int, words_per_row: int = 1) -> Iterable[tuple[slice, Words]]:
    """Return ``(rows, words)`` blocks that together cover `rows` rows. Every row has its own words.

    Row i has words i w to (i + 1) w - 1 of the next words of the source, with w = `words_per_row`. The words are taken
    at once if they fit into a block, and otherwise from their own stream.

    `words` is uint64[block rows, w], or uint64[block rows] if w is 1. Use `words` before you ask for the next block.
    """
    if rows * words_per_row > BLOCK_WORDS:
        return _several_blocks(rng, rows, words_per_row)
    words = draw(rng, rows * words_per_row)
    return ((slice(0, rows), words if words_per_row == 1 else words.reshape(rows, words_per_row)),) if rows else ()


def _several_blocks(rng: Randomness, rows: int, words_per_row: int) -> Iterator[tuple[slice, Words]]:
    stream, step = WordStream(rng), max(1, BLOCK_WORDS // words_per_row)
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        words = stream.take((stop - start) * words_per_row)
        yield slice(start, stop), words if words_per_row == 1 else words.reshape(-1, words_per_row)


def piece_blocks(rng: Randomness, rows: int, dtype: type[Piece]) -> Iterator[tuple[slice, NDArray[Piece]]]:
    """Yield ``(rows, pieces)`` blocks that together cover `rows` rows, each row with a uniform piece of a word.

    `pieces` is dtype[block rows], of 16 or 32 bits. Use `pieces` before you ask for the next block.
    """
    stream, share = WordStream(rng), 8 // np.dtype(dtype).itemsize
    step = share * BLOCK_WORDS
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        yield slice(start, stop), stream.take(-(-(stop - start) // share)).view(dtype)[: stop - start]


def uniform_below(rng: Randomness, bound: int, size: int, *, halves: bool = False) -> NDArray[np.int64]:
    """Return int64[size], exactly uniform on {0, ..., bound-1}, by rejecting the incomplete last interval.

    If `halves` is true, many numbers with a bound of at most `HALF_BOUNDS` come from `uniform_below_by_halves`.
    """
    if not 1 <= bound <= 1 << 63:
        raise out_of_range("bound", "in [1, 2^63]", bound)
    if halves and bound <= HALF_BOUNDS and worth_compiling(size):
        return uniform_below_by_halves(rng, bound, size)
    if bound == 1:
        return np.zeros(size, np.int64)
    width = (1 << 64) // bound
    result = np.empty(size, dtype=np.int64)
    rejected = 0
    for rows, words in blocks(rng, size):
        rejected += _quotients(words, width, bound, result[rows])
    while rejected:
        todo = np.flatnonzero(result < 0)
        again = np.empty(todo.size, dtype=np.int64)
        rejected = _quotients(draw(rng, todo.size), width, bound, again)
        result[todo] = again
    return result


HALF_BOUNDS = 1 << 24
"""Bound below which half a word is enough. The half is drawn again with probability below 2^-8."""


def uniform_below_by_halves(rng: Randomness, bound: int, size: int) -> NDArray[np.int64]:
    """Return int64[size], exactly uniform on {0, ..., bound-1}, with bound <= 2^24, from half a word each.

    Lemire, *Fast random integer generation in an interval* (2019): 32 bits are multiplied by the bound, and the upper
    half of the product is the choice. If the lower half is below 2^32 mod bound, the number is drawn again.
    """
    result = np.empty(size, dtype=np.int64)
    rejected = 0
    for rows, halves in piece_blocks(rng, size, np.uint32):
        rejected += int(_choose_by_halves(halves, np.uint32(bound), result[rows]))
    while rejected:
        todo = np.flatnonzero(result < 0)
        again = np.empty(todo.size, dtype=np.int64)
        rejected = 0
        for rows, halves in piece_blocks(rng, todo.size, np.uint32):
            rejected += int(_choose_by_halves(halves, np.uint32(bound), again[rows]))
        result[todo] = again
    return result


@kernel
def _choose_by_halves(halves: NDArray[np.uint32], bound: np.uint32, result: NDArray[np.int64]) -> np.int64:
    """Write the choice of every half, or -1 if it must be drawn again, and return the number of -1."""
    factor, low = np.uint64(bound), np.uint64(0xFFFFFFFF)
    least = np.uint64(1 << 32) % factor
    rejected = np.int64(0)
    for i in range(result.shape[0]):
        product = np.uint64(halves[i]) * factor
        again = np.int64(product & low < least)
        result[i] = np.int64(product >> np.uint64(32)) | -again
        rejected += again
    return rejected


_FLOAT_BOUNDS = 1 << 32
"""Largest bound for which a quotient is found by a float product. For bounds below 8 the remainder would not fit a
signed word."""


def _quotients(words: Words, width: int, bound: int, result: NDArray[np.int64]) -> int:
    run = _divide_by_product if 8 <= bound <= _FLOAT_BOUNDS else _divide
    return int(run(words, np.uint64(width), bound, result))


@exact_kernel
def _divide_by_product(words: Words, width: np.uint64, bound: int, result: NDArray[np.int64]) -> np.int64:
    """Write floor(word/width), or -1 if that is not below `bound`, and return the number of -1."""
    reciprocal = 1.0 / float(width)
    rejected = np.int64(0)
    for i in range(words.shape[0]):
        word = words[i]
        if PLAIN:
            quotient = np.int64(word // width)
        else:
            # The float quotient is off by at most one, and is then corrected in integers modulo 2^64. This vectorises,
            # while a division does not.
            quotient = np.int64(float(word) * reciprocal)
            rest = np.int64(word - np.uint64(quotient) * width)
            quotient += np.int64(rest >= np.int64(width)) - np.int64(rest < 0)
        beyond = np.int64(quotient >= bound)
        result[i] = quotient | -beyond
        rejected += beyond
    return rejected


@exact_kernel
def _divide(words: Words, width: np.uint64, bound: int, result: NDArray[np.int64]) -> np.int64:
    """Do the same as `_divide_by_product`, for every width and bound."""
    rejected = np.int64(0)
    for i in range(words.shape[0]):
        quotient = np.int64(words[i] // width)
        beyond = np.int64(quotient >= bound)
        result[i] = quotient | -beyond
        rejected += beyond
    return rejected
