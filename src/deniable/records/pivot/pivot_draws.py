"""Draws of pivots, and of the codes of the other attributes from the pivots' reports alone.

Codes that a public rule draws from the pivots' reports are post-processing, and cost no privacy. This module draws from
any distributions, row by row from tables. Copies over equal domains need only one threshold per pair of attributes.
They have their own loops, in the module `copies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, code_dtype
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, Words, draw
from deniable.core.thresholds import SCALE
from deniable.records.prior_draws import prior_tables
from deniable.records.uniform_draws import MAX_PRODUCT, uniform_rows

_PIVOTS_PER_WORD = 16


def sample_pivots(rng: Randomness, n: int, d: int) -> Codes:
    """Return n independent, exactly uniform attributes in 0..d-1; each word gives several of them."""
    share = _pivots_per_word(d)
    if n == 1:
        # This is the first of the pivots that a word makes, without the others.
        product = d**share
        while (word := int(draw(rng, 1)[0])) * product % SCALE < SCALE % product:
            pass
        return np.array([word * d // SCALE], dtype=code_dtype(d))
    pivots = np.empty((-(-n // share), share), dtype=code_dtype(d))
    uniform_rows(rng, (d,) * share, pivots)
    return pivots.reshape(-1)[:n]


@lru_cache(maxsize=64)
def _pivots_per_word(d: int) -> int:
    share = 1
    while share < _PIVOTS_PER_WORD and d ** (share + 1) <= MAX_PRODUCT:
        share += 1
    return share


def transfer_tables(transfers: Sequence[Sequence[NDArray[Any]]]) -> tuple[NDArray[Any], ...]:
    """Return the tables that `draw_targets` reads, made from transfers[pivots][target].

    Each transfer is int[reports of the pivots, k_target] over 2^64. Transfers of pivots to themselves are empty. The
    first table has the row number of each (pivots, target, what the pivots reported), int64. The second table has the
    places where the row numbers of (pivots, target) start, int64[groups, d]. The other tables are the rows as
    `PriorTables`, which hold equal rows once.
    """
    known: dict[tuple[int, ...], int] = {}
    row_of: list[int] = []
    offsets = np.zeros((len(transfers), len(transfers[0])), dtype=np.int64)
    for place, targets in enumerate(transfers):
        for j, law in enumerate(targets):
            offsets[place, j] = len(row_of)
            row_of += [known.setdefault(tuple(accumulate(row)), len(known)) for row in law.tolist()]
    tables = prior_tables(list(known) or [(SCALE,)])
    return np.array(row_of, dtype=np.int64), offsets, *tables


@kernel
def draw_targets(
    words: Words,
    drawn: Codes,
    reports: NDArray[Any],
    pivots: NDArray[np.int64],
    strides: NDArray[np.int64],
    row_of: NDArray[np.int64],
    offsets: NDArray[np.int64],
    limits: Words,
    starts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    guide: NDArray[np.int64],
    guide_starts: NDArray[np.int64],
    shifts: Words,
) -> None:
    """Overwrite all columns of reports[n, d] except those of the pivots that each row drew, by one word per column.

    `pivots[place]` are the first and the last attribute of a group. `strides[place]` is the factor of the first
    attribute's report in the row number of a table. It is 0 if the group has one attribute.
    """
    for i in range(words.shape[0]):
        place = np.int64(drawn[i])
        s, t = pivots[place, 0], pivots[place, 1]
        given = np.int64(reports[i, s]) * strides[place] + np.int64(reports[i, t])
        for j in range(words.shape[1]):
            # The two comparisons are separate. If there is one pivot, the second comparison costs next to nothing.
            if j == s:
                continue
            if j == t:
                continue
            row = row_of[offsets[place, j] + given]
            word = words[i, j]
            code = guide[guide_starts[row] + np.int64(word >> shifts[row])]
            while code < lasts[row] and word >= limits[starts[row] + code]:
                code += 1
            reports[i, j] = code
