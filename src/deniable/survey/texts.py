"""Texts -> codes where every text of a long column is known: a table that is asked by eight bytes at a time.

A dictionary of the column's distinct texts says more than is needed here and takes three times as long. Only texts that
are equal byte by byte are found; whoever finds one missing asks in the general way.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.core.kernels import kernel

MOST_TEXTS = 1 << 12
"""Larger tables are not made: they leave the processor's cache."""

LEAST_ROWS = 1 << 12
"""Shorter columns are not worth a compiled loop."""

_MIX, _SPREAD = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
_ALL = (1 << 64) - 1

Words = NDArray[np.uint64]
Int64s = NDArray[np.int64]


class TextCodes:
    """The codes of some texts, in a hash table with open addressing.

    Parameters
    ----------
    codes : mapping of str to int
        At most `MOST_TEXTS`; codes are not negative.

    Examples
    --------
    >>> table = TextCodes({"yes": 0, "no": 1, "": 2})
    >>> table.codes(pa.array(["no", "", "yes", "yes"])).tolist()
    [1, 2, 0, 0]
    >>> table.codes(pa.array(["no", "maybe"])) is None
    True
    """

    def __init__(self, codes: Mapping[str, int]) -> None:
        texts = [text.encode() for text in codes]
        bits = max(2, (2 * len(texts)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._places = np.full((1 << bits, 3), -1, dtype=np.int64)  # length, start among the texts, code
        self._ends = np.zeros((1 << bits, 2), dtype=np.uint64)  # the first and the last eight bytes
        self._texts = _words(np.frombuffer(b"".join(texts), np.uint8))
        start = 0
        for text, code in zip(texts, codes.values(), strict=True):
            first = int.from_bytes(text[:8], "little")
            last = int.from_bytes(text[-8:], "little") if len(text) >= 8 else 0
            mixed = (first ^ (last * _MIX & _ALL) ^ len(text)) * _SPREAD & _ALL
            place = mixed >> (64 - bits)
            while self._places[place, 0] >= 0:
                place = (place + 1) % len(self._places)
            self._places[place] = len(text), start, code
            self._ends[place] = first, last
            start += len(text)

    def codes(self, column: pa.StringArray) -> Int64s | None:
        """Return int64[n], the code of every text; None if one is not among them, or null."""
        if column.null_count:
            return None
        _, offsets, content = column.buffers()
        found = np.empty(len(column), dtype=np.int64)
        if len(column):
            bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
            size = int(bounds[-1])
            words = _words(np.frombuffer(content, np.uint8, size) if size else np.empty(0, np.uint8))
            if not _look_up(bounds, words, self._texts, self._places, self._ends, self._shift, found):
                return None
        return found


def _words(content: NDArray[np.uint8]) -> Words:
    """Return uint64[n + 1], the eight bytes that begin at each of n bytes and after them; zeros follow the last."""
    padded = np.zeros(len(content) + 8, dtype=np.uint8)
    padded[: len(content)] = content
    return np.ndarray((len(content) + 1,), dtype="<u8", buffer=padded.data, strides=(1,))


@kernel
def _look_up(
    bounds: NDArray[np.int32], words: Words, texts: Words, places: Int64s, ends: Words, shift: np.uint64, found: Int64s
) -> bool:
    """Write the code of the text between every two bounds, as far as all are known; return whether they are."""
    last_place = np.uint64(len(places) - 1)
    for i in range(len(found)):
        start, length = bounds[i], bounds[i + 1] - bounds[i]
        first, last = words[start], np.uint64(0)
        if length >= 8:
            last = words[start + length - 8]
        else:
            first &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
        mixed = (first ^ (last * np.uint64(_MIX)) ^ np.uint64(length)) * np.uint64(_SPREAD)
        place = mixed >> shift
        code = -1
        while code < 0 and places[place, 0] >= 0:
            if places[place, 0] == length and ends[place, 0] == first and ends[place, 1] == last:
                same = True
                for j in range(8, length - 8, 8):
                    same = same and words[start + j] == texts[places[place, 1] + j]
                if same:
                    code = places[place, 2]
            place = (place + np.uint64(1)) & last_place
        if code < 0:
            return False
        found[i] = code
    return True
