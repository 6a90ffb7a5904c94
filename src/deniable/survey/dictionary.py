"""Public dictionaries (words <-> integer codes), and keyed fingerprints for words without a listed dictionary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_codes, settle
from deniable.errors import InvalidInputError, InvalidParameterError, UnknownCategoryError, quoted

FINGERPRINT_BITS = 64
MAX_KEY_BYTES = 64


@dataclass(frozen=True)
class Dictionary:
    """A public list of words; the code of a word is its position, counted from 0.

    Contributors, collector and analyst must have the same list. Compare its `digest` to make sure.

    Parameters
    ----------
    words : sequence of str
        At least two distinct Unicode texts.

    Raises
    ------
    InvalidParameterError
        If there are fewer than two words, a word is not Unicode text, or a word occurs twice. The message names the
        rows.

    Examples
    --------
    >>> from deniable import CountMeanSketch, SimulationRandomness
    >>> colours = Dictionary(("red", "green", "blue"))
    >>> sketch = CountMeanSketch(k=colours.k, epsilon=2.0)
    >>> reports = sketch.randomize(colours.codes(["blue", "red", "blue"]), SimulationRandomness(1))
    >>> asked = ["blue", "green"]
    >>> estimate = sketch.estimate(sketch.aggregate(reports), queries=colours.codes(asked)).named("colour", asked)
    >>> estimate.labels, colours.words_of([2, 0])
    (('blue', 'green'), ('blue', 'red'))
    """

    words: tuple[str, ...]
    _codes: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.words, (str, bytes)):
            raise InvalidParameterError(f"words must be a sequence of strings, got {type(self.words).__name__}")
        words = tuple(self.words)
        if len(words) < 2:
            raise InvalidParameterError(f"words must have at least 2 entries, got {len(words)}")
        codes: dict[str, int] = {}
        for code, word in enumerate(words):
            if not is_text(word):
                raise InvalidParameterError(f"words must be Unicode text, got {quoted(word)} in row {code + 1}")
            first = codes.setdefault(word, code)
            if first != code:
                raise InvalidParameterError(
                    f"words must be distinct, got {quoted(word)} in rows {first + 1} and {code + 1}"
                )
        settle(self, words=words, _codes=codes)

    @property
    def k(self) -> int:
        """Number of words: the domain size."""
        return len(self.words)

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of all words in their order. Each word is preceded by its length in bytes."""
        content = hashlib.sha256()
        for word in self.words:
            encoded = word.encode()
            content.update(len(encoded).to_bytes(8, "little"))
            content.update(encoded)
        return content.hexdigest()

    def codes(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the codes of words, int64[n].

        Raises
        ------
        UnknownCategoryError
            If a word is not in the dictionary. The message names its row, counted from 1.
        """
        texts = _texts(words)
        try:
            return np.fromiter((self._codes[word] for word in texts), dtype=np.int64, count=len(texts))
        except (KeyError, TypeError):
            row = next(i for i, word in enumerate(texts) if not isinstance(word, str) or word not in self._codes)
            raise UnknownCategoryError(
                f"every word must be in the dictionary of {self.k:,} words, but the word in row {row + 1} is not in "
                "the dictionary"
            ) from None

    def words_of(self, codes: ArrayLike) -> tuple[str, ...]:
        """Return the words with the given codes, int[n].

        Raises
        ------
        InvalidInputError
            If a code is out of range. The message names its row.
        """
        return tuple(self.words[code] for code in checked_codes(codes, self.k).tolist())


def fingerprint(texts: Iterable[str], key: bytes) -> NDArray[np.uint64]:
    """Return a keyed 64-bit fingerprint of every text, to use as its code if nobody can list the texts.

    The fingerprint is the 8-byte BLAKE2b digest of the text in UTF-8, read as a little-endian integer in 0..2^64-1. The
    key is public like the rest of the collection. With different keys, the fingerprints of different collections are
    unrelated. So nobody can prepare texts that collide in all collections. The probability that a given text has the
    same fingerprint as one of n other texts is about n/2^64.

    Parameters
    ----------
    texts : iterable of str
        Texts that contributors hold, or that the analyst asks about.
    key : bytes
        Key of 1 to 64 bytes, the same for all contributors and the analyst.

    Returns
    -------
    uint64[n]
        One fingerprint for each text, in the same order.

    Raises
    ------
    InvalidParameterError
        If the key has a wrong type or length.
    InvalidInputError
        If an item is not Unicode text. The message names its row, counted from 1.

    Examples
    --------
    >>> fingerprint(["red", "green"], b"colours, 2026")
    array([  460955519491917312, 12764628955807076506], dtype=uint64)
    """
    if not isinstance(key, bytes) or not 1 <= len(key) <= MAX_KEY_BYTES:
        shown = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InvalidParameterError(f"key must be 1 to {MAX_KEY_BYTES} bytes, got {shown}")
    items = _texts(texts)
    for row, text in enumerate(items):
        if not is_text(text):
            raise InvalidInputError(f"texts must be Unicode strings, got {type(text).__name__} in row {row + 1}")
    keyed = hashlib.blake2b(key=key, digest_size=FINGERPRINT_BITS // 8)
    digests = bytearray()
    for text in items:
        one = keyed.copy()
        one.update(text.encode())
        digests += one.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


def _texts(words: Iterable[str]) -> Sequence[str]:
    if isinstance(words, (str, bytes)):
        raise InvalidInputError(f"words must be a list of strings, got a single {type(words).__name__}")
    return words if isinstance(words, Sequence) else list(words)


def is_text(word: object) -> bool:
    """Return whether a value is a Unicode text without a lone half of a surrogate pair."""
    if not isinstance(word, str):
        return False
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
