"""Table from texts to codes, read eight bytes at a time, for long columns in which every text is known.

A dictionary of the column's distinct texts contains more than is needed here, and takes three times as long. The table
finds only texts that are equal byte by byte. If a text is not found, the caller uses the general method.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.core.kernels import kernel

MOST_TEXTS = 1 << 12
"""Largest number of texts for which a table is made. Larger tables leave the processor's cache."""

LEAST_ROWS = 1 << 12
"""Fewest rows for which a compiled loop is worthwhile."""

_MIX, _SPREAD = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
_ALL = (1 << 64) - 1
_FREE = np.uint64(_ALL)
"""The length of a place without a text, which no text has."""

_TRIED = 32
"""Number of multipliers that are tried for a table in which every text is in the first place where it is sought."""

Words = NDArray[np.uint64]
Int64s = NDArray[np.int64]


class TextCodes:
    """Codes of texts, in a hash table with open addressing.

    Parameters
    ----------
    codes : mapping of str to int
        Codes of at most `MOST_TEXTS` texts. No code is negative.

    Examples
    --------
    >>> table, found = TextCodes({"yes": 0, "no": 1, "": 2}), np.zeros((4, 2), dtype=np.int64)
    >>> table.write_codes(pa.array(["no", "", "yes", "yes"]), found, 1), found[:, 1].tolist()
    (True, [1, 2, 0, 0])
    >>> table.write_codes(pa.array(["no", "maybe"]), found, 1)
    False
    """

    def __init__(self, codes: Mapping[str, int]) -> None:
        texts = [text.encode() for text in codes]
        ends = [(int.from_bytes(text[:8], "little"), _last_bytes(text), len(text)) for text in texts]
        mixed = np.array([first ^ (last * _MIX & _ALL) ^ length for first, last, length in ends], dtype=np.uint64)
        bits = max(3, (8 * len(texts)).bit_length())
        self._shift = np.uint64(64 - bits)
        # If a text is not in the place where it is sought first, the processor guesses wrong for every row. So the best
        # spread is chosen.
        spreads = (np.uint64(_SPREAD * (2 * i + 1) & _ALL) for i in range(_TRIED))
        self._spread = max(spreads, key=lambda spread: len(np.unique(mixed * spread >> self._shift)))
        self._texts = _words(np.frombuffer(b"".join(texts), np.uint8))
        # The columns are the first eight bytes, the last eight bytes, the length, the code, and the start among the
        # texts.
        self._table = np.full((1 << bits, 5), _FREE)
        start = 0
        places = (mixed * self._spread >> self._shift).tolist()
        for place, (first, last, length), code in zip(places, ends, codes.values(), strict=True):
            while self._table[place, 2] != _FREE:
                place = (place + 1) % len(self._table)
            self._table[place] = first, last, length, code, start
            start += length

    def write_codes(self, column: pa.StringArray, found: Int64s, j: int) -> bool:
        """Write the code of every text of a column of n.

        Parameters
        ----------
        column : pyarrow.StringArray
            The texts.
        found : int64[n, d]
            Array to which the codes are written.
        j : int
            Column of `found` for the codes. Its content has no meaning if the function returns False.

        Returns
        -------
        bool
            False if a text is null or is not in the table.
        """
        if column.null_count:
            return False
        if not len(column):
            return True
        _, offsets, buffer = column.buffers()
        bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
        size = int(bounds[-1])
        content = np.frombuffer(buffer, np.uint8, size) if size else np.empty(0, np.uint8)
        # Eight bytes are read where a text begins. So the last texts are read from a copy with zeros behind it.
        whole = max(0, size - 7)
        rows = int(np.searchsorted(bounds[:-1], whole))
        start = int(bounds[rows])
        table = (self._table, self._texts, self._shift, self._spread, found, j)
        return _look_up(bounds, 0, rows, 0, _overlapping(content, whole), *table) and _look_up(
            bounds, rows, len(column), start, _words(content[start:]), *table
        )


def _last_bytes(text: bytes) -> int:
    return int.from_bytes(text[-8:], "little") if len(text) >= 8 else 0


def _words(content: NDArray[np.uint8]) -> Words:
    """Return uint64[n + 1], the eight bytes that begin at each of n bytes and after the last. Zeros follow the end."""
    padded = np.zeros(len(content) + 8, dtype=np.uint8)
    padded[: len(content)] = content
    return _overlapping(padded, len(content) + 1)


def _overlapping(content: NDArray[np.uint8], n: int) -> Words:
    """Return uint64[n], the eight bytes that begin at each of the first n bytes. Seven more bytes must follow."""
    return np.ndarray((n,), dtype="<u8", buffer=content.data, strides=(1,))


@kernel
def _look_up(
    bounds: NDArray[np.int32],
    row: int,
    end: int,
    origin: int,
    words: Words,
    table: Words,
    texts: Words,
    shift: np.uint64,
    spread: np.uint64,
    found: Int64s,
    j: int,
) -> bool:
    """Write the codes of the texts in rows row..end-1 until one is unknown, and return whether all are known.

    The first of `words` begins at byte `origin` of the texts.
    """
    # Unsigned indices need no check for negative values.
    last_place, column = np.uint64(len(table) - 1), np.uint64(j)
    stop = np.int64(bounds[row])
    for i in range(row, end):
        start, stop = stop, np.int64(bounds[i + 1])
        size, at = stop - start, np.uint64(start - origin)
        length = np.uint64(size)
        first, last = words[at], np.uint64(0)
        if size >= 8:
            last = words[at + length - np.uint64(8)]
        else:
            first &= (np.uint64(1) << (np.uint64(8) * length)) - np.uint64(1)
        place = ((first ^ (last * np.uint64(_MIX)) ^ length) * spread) >> shift
        differs = True
        while differs:
            while table[place, 2] != length or table[place, 0] != first or table[place, 1] != last:
                if table[place, 2] == _FREE:
                    return False
                place = (place + np.uint64(1)) & last_place
            differs = False
            if size > 16:
                for k in range(8, size - 8, 8):
                    differs = differs or words[at + np.uint64(k)] != texts[table[place, 4] + np.uint64(k)]
            if differs:
                place = (place + np.uint64(1)) & last_place
        found[np.uint64(i), column] = np.int64(table[place, 3])
    return True
