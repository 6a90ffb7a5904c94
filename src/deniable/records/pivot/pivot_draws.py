"""How a pivot is drawn, and the codes of the other attributes that are made from its report alone.

Whatever is made from the pivots' reports by a public law is post-processing: it costs no privacy. Two loops draw it:
*copies* over equal domains (one threshold per pair of attributes), and any law, row by row from tables. Copies have a
twin that draws the counts of many contributors directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, code_dtype
from deniable.core.kernels import INTERPRETED_ROWS, kernel
from deniable.core.randomness import Randomness, SimulationRandomness, Words, blocks
from deniable.core.thresholds import SCALE
from deniable.records.prior_draws import prior_tables
from deniable.records.uniform_draws import MAX_PRODUCT, uniform_rows

_PIVOTS_PER_WORD = 16

BESIDE = 8
"""Words of a record that are looked at side by side, where it has no more targets."""

_SIMULATED_CELLS = 1 << 20


def sample_pivots(rng: Randomness, n: int, d: int) -> Codes:
    """Return n independent, exactly uniform attributes in 0..d-1, several of them from each word."""
    share = 1
    while share < _PIVOTS_PER_WORD and d ** (share + 1) <= MAX_PRODUCT:
        share += 1
    pivots = np.empty((-(-n // share), share), dtype=code_dtype(d))
    uniform_rows(rng, (d,) * share, pivots)
    return pivots.reshape(-1)[:n]


# ---------------------------------------------------------------- equal domains


def randomize_with_copies(codes: Codes, lies: Words, rng: Randomness, reports: NDArray[Any], k: int) -> None:
    """Overwrite reports[n, d]: of every record a pivot through GRR, and copies of that report.

    Parameters
    ----------
    codes : int[n, d]
        Records over {0..k-1}, already checked.
    lies : uint64[d, d]
        lies[s, t] / 2^64 is the probability of each of the k-1 codes that are not copied, when s is the pivot and
        s + t (modulo d) the target; lies[s, 0] is GRR's.
    rng : Randomness
        Source of the words.
    reports : int[n, d]
        Overwritten.
    k : int
        Domain size of all attributes.
    """
    d = codes.shape[1]
    truths = lies * np.uint64(k - 1)
    reciprocals = np.divide(1.0, lies.astype(np.float64), out=np.zeros(lies.shape), where=lies > 0)
    pivots = sample_pivots(rng, len(codes), d)
    if d <= BESIDE and len(codes) > INTERPRETED_ROWS:
        _copy_beside_each_other(codes, pivots, (lies, truths, reciprocals), rng, reports, k)
        return
    copy = copy_around if d > BESIDE else copy_in_turn
    for rows, words in blocks(rng, len(codes), d):
        copy(words.reshape(-1, d), codes[rows], pivots[rows], lies, truths, reciprocals, k, reports[rows])


def _copy_beside_each_other(
    codes: Codes, pivots: Codes, tables: Sequence[NDArray[Any]], rng: Randomness, reports: NDArray[Any], k: int
) -> None:
    d = codes.shape[1]
    lies, truths, reciprocals = (np.pad(table, ((0, 0), (0, BESIDE - d))) for table in tables)
    for rows, words in blocks(rng, len(codes), d):
        flat, block, chosen, result = words.reshape(-1), codes[rows], pivots[rows], reports[rows]
        # The last records are not followed by as many words as are looked at.
        body = max(0, (flat.size - BESIDE) // d)
        rest = np.concatenate([flat[body * d :], np.zeros(BESIDE, dtype=np.uint64)])
        for part, drawn in (slice(0, body), flat), (slice(body, len(block)), rest):
            copy_beside(drawn, block[part], chosen[part], lies, truths, reciprocals, k, result[part])


@kernel
def copy_in_turn(
    words: Words,
    codes: Codes,
    pivots: Codes,
    lies: Words,
    truths: Words,
    reciprocals: NDArray[np.float64],
    k: int,
    reports: NDArray[Any],
) -> None:
    """Overwrite reports[n, d] by words[n, d], the first of a row for the pivot; see `randomize_with_copies`."""
    d = words.shape[1]
    size = np.int64(k)
    for i in range(words.shape[0]):
        s = np.int64(pivots[i])
        j = s
        base = np.int64(codes[i, s])
        for t in range(d):
            lie, truth = lies[s, t], truths[s, t]
            word = min(words[i, t], truth)
            # floor(word/lie) by a float product, off by at most one, corrected without leaving unsigned integers.
            step = np.int64(float(word) * reciprocals[s, t])
            product = np.uint64(step) * lie
            step += np.int64((product <= word) & (word - product >= lie)) - np.int64(product > word)
            value = base + 1 + step
            value -= size if value >= size else np.int64(0)
            value = base if word >= truth else value
            reports[i, j] = value
            base = value if t == 0 else base
            j += 1
            j = np.int64(0) if j == d else j


@copy_in_turn.for_few
def _copy_few(
    words: Words,
    codes: Codes,
    pivots: Codes,
    lies: Words,
    truths: Words,
    reciprocals: NDArray[np.float64],  # noqa: ARG001
    k: int,
    reports: NDArray[Any],
) -> None:
    d = words.shape[1]
    for i, (s, drawn) in enumerate(zip(pivots.tolist(), words.tolist(), strict=True)):
        base, row_lies, row_truths = int(codes[i, s]), lies[s].tolist(), truths[s].tolist()
        for t, (word, lie, truth) in enumerate(zip(drawn, row_lies, row_truths, strict=True)):
            value = base if word >= truth else (base + 1 + word // lie) % k
            reports[i, (s + t) % d] = value
            base = value if t == 0 else base


@kernel
def copy_beside(
    words: Words,
    codes: Codes,
    pivots: Codes,
    lies: Words,
    truths: Words,
    reciprocals: NDArray[np.float64],
    k: int,
    reports: NDArray[Any],
) -> None:
    """Do what `copy_in_turn` does for up to `BESIDE` attributes, side by side, in a loop of one fixed length.

    The tables have `BESIDE` columns, those of no target zero; words[n d + BESIDE] are read beyond a row's own.
    """
    d, size = np.uint64(codes.shape[1]), np.int64(k)
    own = np.empty(BESIDE, dtype=np.int64)
    for i in range(codes.shape[0]):
        row, s = np.uint64(i), np.uint64(pivots[i])
        begin = row * d
        for t in range(lies.shape[1]):
            place = np.uint64(t)
            drawn, lie, truth = words[begin + place], lies[s, place], truths[s, place]
            word = min(drawn, truth)
            # floor(word/lie) by a float product, off by at most one, corrected without leaving unsigned integers.
            step = np.int64(float(word) * reciprocals[s, place])
            product = np.uint64(step) * lie
            step += np.int64((product <= word) & (word - product >= lie)) - np.int64(product > word)
            own[place] = np.int64(-1) if drawn >= truth else step
        copies = np.int64(codes[row, s]) + 1 + own[0]
        copies -= size if copies >= size else np.int64(0)
        reports[row, s] = copies
        j = s
        for t in range(1, codes.shape[1]):
            j += np.uint64(1)
            j = np.uint64(0) if j == d else j
            value = copies + 1 + own[np.uint64(t)]
            reports[row, j] = value - (size if value >= size else np.int64(0))


@kernel
def copy_around(
    words: Words,
    codes: Codes,
    pivots: Codes,
    lies: Words,
    truths: Words,
    reciprocals: NDArray[np.float64],
    k: int,
    reports: NDArray[Any],
) -> None:
    """Do what `copy_in_turn` does, in loops over all targets of a record that vectorise."""
    d = words.shape[1]
    size = np.int64(k)
    own, held = np.empty(d, dtype=np.int64), np.empty(words.shape[0], dtype=np.int64)
    for i in range(words.shape[0]):
        # Before all else: records are far apart in memory, and one that is waited for holds up all that follows.
        held[i] = np.int64(codes[i, pivots[i]])
    for i in range(words.shape[0]):
        row, s = np.uint64(i), np.uint64(pivots[np.uint64(i)])
        lie, truth, reciprocal = lies[s], truths[s], reciprocals[s]
        # How far every report lies behind the one that is copied, less one: without branches, it vectorises.
        for t in range(d):
            place = np.uint64(t)
            word = min(words[row, place], truth[place])
            # floor(word/lie) by a float product, off by at most one, corrected without leaving unsigned integers.
            step = np.int64(float(word) * reciprocal[place])
            product = np.uint64(step) * lie[place]
            step += np.int64((product <= word) & (word - product >= lie[place])) - np.int64(product > word)
            own[place] = np.int64(-1) if words[row, place] >= truth[place] else step
        copies = held[row] + 1 + own[0]
        copies -= size if copies >= size else np.int64(0)
        reports[row, s] = copies
        # Around the circle from the pivot on, in two stretches.
        for t in range(1, d - np.int64(s)):
            value = copies + 1 + own[np.uint64(t)]
            reports[row, s + np.uint64(t)] = value - (size if value >= size else np.int64(0))
        for t in range(d - np.int64(s), d):
            value = copies + 1 + own[np.uint64(t)]
            reports[row, s + np.uint64(t) - np.uint64(d)] = value - (size if value >= size else np.int64(0))


copy_around.for_few(_copy_few)


def simulate_copies(privatised: NDArray[np.int64], lies: NDArray[Any], rng: SimulationRandomness) -> NDArray[np.int64]:
    """Draw the summed counts of copies of one pivot, int64[targets, k], exactly in distribution.

    Parameters
    ----------
    privatised : int64[k]
        How many contributors report each code of the pivot.
    lies : int[targets]
        lies[j] / 2^64 is the probability of each of the k-1 codes that are not copied by target j.
    rng : SimulationRandomness
        Source of the draw.
    """
    k = len(privatised)
    result = np.empty((len(lies), k), dtype=np.int64)
    # A mixture of a uniform code and a copy; where copies are rarer than other codes, of a uniform and a uniform other.
    rare = np.array([lie * k > SCALE for lie in lies], dtype=np.bool_)
    uniform = np.array(
        [SCALE - (k - 1) * lie if few else lie for lie, few in zip(lies, rare, strict=True)], dtype=object
    )
    spread = rng.generator.binomial(privatised, np.minimum((uniform * k / SCALE).astype(np.float64), 1.0)[:, None])
    result[:] = rng.generator.multinomial(spread.sum(axis=1), np.full(k, 1 / k)) + privatised - spread
    for j in np.flatnonzero(rare):
        rest = privatised - spread[j]
        result[j] += _others(rest, rng) - rest
    return result


def _others(counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
    """Draw how often each code occurs when everybody changes to a uniform other code."""
    k = len(counts)
    result = np.zeros(k, dtype=np.int64)
    step = max(1, _SIMULATED_CELLS // k)
    for start in range(0, k, step):
        codes = np.arange(start, min(start + step, k))
        moved = rng.generator.multinomial(counts[codes], np.full(k - 1, 1 / (k - 1)))
        np.add.at(result, (codes[:, None] + np.arange(1, k)) % k, moved)
    return result


# ---------------------------------------------------------------- any law


class TransferTables(NamedTuple):
    """Arrays that `draw_targets` reads.

    Parameters
    ----------
    row_of : int64[cells]
        Row of the tables for each (pivots, target, what the pivots reported).
    offsets : int64[groups, d]
        Where the rows of (pivots, target) start in `row_of`.
    limits, starts, lasts, guide, guide_starts, shifts : arrays
        The rows, as in `deniable.records.prior_draws.PriorTables`.
    """

    row_of: NDArray[np.int64]
    offsets: NDArray[np.int64]
    limits: Words
    starts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    guide: NDArray[np.int64]
    guide_starts: NDArray[np.int64]
    shifts: Words


def transfer_tables(transfers: Sequence[Sequence[NDArray[Any]]]) -> TransferTables:
    """Return the tables of transfers[pivots][target]: int[reports of the pivots, k_target], rows summing to 2^64.

    Equal rows are stored once. Those of pivots to themselves are empty.
    """
    known: dict[tuple[int, ...], int] = {}
    row_of: list[int] = []
    offsets = np.zeros((len(transfers), len(transfers[0])), dtype=np.int64)
    for place, targets in enumerate(transfers):
        for j, law in enumerate(targets):
            offsets[place, j] = len(row_of)
            row_of += [known.setdefault(tuple(accumulate(row)), len(known)) for row in law.tolist()]
    tables = prior_tables(list(known) or [(SCALE,)])
    return TransferTables(np.array(row_of, dtype=np.int64), offsets, *tables)


@kernel
def draw_targets(
    words: Words,
    drawn: Codes,
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
    reports: NDArray[Any],
) -> None:
    """Overwrite all columns of reports[n, d] but those of the pivots that each row drew, by one word per column.

    `pivots[place]` are the first and the last attribute of a group, `strides[place]` what the first one's report counts
    in the index of a table's rows; 0 where there is one.
    """
    for i in range(words.shape[0]):
        place = np.int64(drawn[i])
        s, t = pivots[place, 0], pivots[place, 1]
        given = np.int64(reports[i, s]) * strides[place] + np.int64(reports[i, t])
        for j in range(words.shape[1]):
            # One comparison after the other: the second costs next to nothing where there is one pivot.
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
