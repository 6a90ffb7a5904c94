"""Copies of a privatised pivot over equal domains, by one threshold per pair of attributes.

One word decides by how much a report differs, modulo k, from the code that it copies. Let lie/2^64 be the probability
of each code that is not copied. The difference is floor(word/lie) + 1 if the word is below (k-1) lie, and 0 otherwise.

For one contributor, `copy_words` looks at whole words in turn. For many contributors, only the first 16 or 32 bits of
each word are drawn at first. These bits decide unless a multiple of the lie begins with the same bits. In that case,
the rest of that record's words is drawn, too. The decision is always the one that the whole words would give.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, code_dtype
from deniable.core.kernels import Kernel, exact_kernel, kernel, worth_compiling
from deniable.core.randomness import BLOCK_WORDS, Randomness, SimulationRandomness, Words, WordStream, blocks, draw
from deniable.core.thresholds import SCALE
from deniable.records.pivot.pivot_draws import sample_pivots

SHORT_PIECES = 1 << 8
"""Largest domain whose words are cut into pieces of 16 bits. Larger domains have pieces of 32 bits."""

TOGETHER = 8
"""Targets are padded to a multiple of this number, because loops of such a length vectorise."""

_SIMULATED_CELLS = 1 << 20


def randomize_with_copies(codes: Codes, lies: Words, rng: Randomness, k: int) -> NDArray[Any]:
    """Return reports[n, d]: one pivot per record through GRR, and copies of its report for all other attributes.

    Parameters
    ----------
    codes : int[n, d]
        Records over {0..k-1}, already checked.
    lies : uint64[d, d]
        Probabilities times 2^64. For the pivot s and the target s + t (modulo d), lies[s, t] / 2^64 is the probability
        of each of the k-1 codes that are not copied. The entry lies[s, 0] is that of GRR.
    rng : Randomness
        Source of the words.
    k : int
        Domain size of all attributes.
    """
    pivots = sample_pivots(rng, len(codes), codes.shape[1])
    if worth_compiling(len(codes)):
        return copy_many(codes, pivots, lies, rng, k)
    reports = np.empty(codes.shape, dtype=code_dtype(k))
    for rows, words in blocks(rng, len(codes), codes.shape[1]):
        copy_words(words.reshape(-1, codes.shape[1]), codes[rows], pivots[rows], lies, k, reports[rows])
    return reports


def copy_many(codes: Codes, pivots: Codes, lies: Words, rng: Randomness, k: int) -> NDArray[Any]:
    """Return the reports that `copy_words` would write, drawing only the first bits of words if these decide."""
    n, d = codes.shape
    # Whole steps of targets are written. The next row overwrites those that are too many, and the last row has extra
    # memory for them.
    memory = np.empty(n * d + TOGETHER, dtype=code_dtype(k))
    reports = memory[: n * d].reshape(n, d)
    short = k <= SHORT_PIECES
    number = np.float32 if short else np.float64
    piece, bits = (np.uint16, 16) if short else (np.uint32, 32)
    run, share = (copy_short_pieces if short else copy_long_pieces), 64 // bits
    tables = piece_tables(lies, k, bits, number)
    step = max(1, share * BLOCK_WORDS // d)
    stream, doubtful, open_rows, begun = WordStream(rng), np.empty(min(step, n), dtype=np.int64), [], []
    for start in range(0, n, step):
        rows = slice(start, start + step)
        block = codes[rows]
        # The loop reads some pieces beyond those of the last record. These pieces decide nothing.
        pieces = stream.take(-(-(block.size + TOGETHER) // share)).view(piece)
        found = doubtful[: run(block, pivots[rows], pieces, *tables, k, memory[start * d :], doubtful)]
        open_rows.append(start + found)
        begun.append(pieces[: block.size].reshape(block.shape)[found])
    # If the beginning of a word does not decide, the rest of the words of its record is drawn.
    found = np.concatenate(open_rows)
    chosen = pivots[found]
    around = (chosen[:, None].astype(np.int64) + np.arange(d)) % d
    whole = np.take_along_axis(np.concatenate(begun).astype(np.uint64), around, axis=1) << np.uint64(64 - bits)
    whole |= draw(rng, whole.size).reshape(whole.shape) >> np.uint64(bits)
    again = np.empty(whole.shape, dtype=reports.dtype)
    copy_words(whole, codes[found], chosen, lies, k, again)
    reports[found] = again
    return reports


def piece_tables(lies: Words, k: int, bits: int, number: type[np.floating[Any]]) -> tuple[NDArray[Any], ...]:
    """Return tables (low, high, certain) for `pieces_kernel`, each [pivot, target]; padding is never in doubt."""
    d = len(lies)
    turned = lies[np.arange(d)[:, None], (np.arange(d) - np.arange(d)[:, None]) % d]
    padded = np.pad(turned, ((0, 0), (0, -d % TOGETHER)))
    steps = np.divide(2.0 ** (64 - bits), padded.astype(np.float64), out=np.zeros(padded.shape), where=padded > 0)
    # The margin is wider than what the roundings of two products and a quotient can amount to.
    margin = 16 * float(np.finfo(number).eps)
    tables = steps * (1 - margin), steps * (1 + margin), np.where(padded > 0, 0, k)
    return tuple(table.astype(number) for table in tables)


def pieces_kernel(number: type[np.floating[Any]], code: type[np.unsignedinteger[Any]]) -> Kernel[..., int]:
    """Return the loop over first bits of words, for a type of floats exact up to k and a type that holds all codes."""

    @kernel
    def copy_pieces(
        codes: Codes,
        pivots: Codes,
        pieces: NDArray[Any],
        low: NDArray[Any],
        high: NDArray[Any],
        certain: NDArray[Any],
        k: int,
        reports: Codes,
        doubtful: NDArray[np.int64],
    ) -> int:
        """Write reports[n d + 7], and return the number of rows in which some piece does not decide.

        The indices of these rows are written to `doubtful`. In multiples of the lie, a word that begins with a piece is
        at least piece x low + certain and less than (piece + 1) x high + certain. The piece decides if both bounds have
        the same whole part. The n d pieces must be followed by a few more, because the loop reads beyond the last
        record.
        """
        d = np.uint64(codes.shape[1])
        zero, one, most, size = number(0), number(1), number(k - 1), number(k)
        held, steps = np.empty(codes.shape[0], dtype=number), np.empty(low.shape[1], dtype=number)
        found = 0
        for i in range(codes.shape[0]):
            # This loop comes first: records are far apart in memory, and a record that is waited for holds up all that
            # follows.
            held[i] = number(codes[i, pivots[i]])
        for i in range(codes.shape[0]):
            row, s = np.uint64(i), np.uint64(pivots[np.uint64(i)])
            begin = row * d
            lows, highs, sure = low[s], high[s], certain[s]
            doubts = np.int64(0)
            for t in range(low.shape[1]):
                place = np.uint64(t)
                piece = number(pieces[begin + place])
                first = piece * lows[place] + sure[place]
                first = np.floor(most if first > most else first)
                last = (piece + one) * highs[place] + sure[place]
                last = np.floor(most if last > most else last)
                steps[place] = first
                doubts += np.int64(first != last)
            if doubts > 0:
                doubtful[found] = i
                found += 1
            copies = held[row] + one + steps[s]
            copies -= size if copies >= size else zero
            for t in range(low.shape[1]):
                place = np.uint64(t)
                value = copies + one + steps[place]
                reports[begin + place] = code(value - (size if value >= size else zero))
            reports[begin + s] = code(copies)
        return found

    return copy_pieces


copy_short_pieces = pieces_kernel(np.float32, np.uint8)
copy_long_pieces = pieces_kernel(np.float64, np.uint32)


@exact_kernel
def copy_words(words: Words, codes: Codes, pivots: Codes, lies: Words, k: int, reports: NDArray[Any]) -> None:
    """Overwrite reports[n, d] as words[n, d] decide; a row's first word is for the pivot (`randomize_with_copies`)."""
    d, others = lies.shape[0], np.uint64(k - 1)
    for i in range(words.shape[0]):
        j = s = np.int64(pivots[i])
        base = np.int64(codes[i, s])
        for t in range(d):
            word, lie = words[i, t], lies[s, t]
            value = base
            if word < others * lie:
                value += np.int64(1) + np.int64(word // lie)
                value -= k if value >= k else 0
            reports[i, j] = value
            base = value if t == 0 else base
            j += 1
            j = np.int64(0) if j == d else j


def simulate_copies(privatised: NDArray[np.int64], lies: NDArray[Any], rng: SimulationRandomness) -> NDArray[np.int64]:
    """Draw the summed counts of copies of one pivot, int64[targets, k], exactly in distribution.

    Parameters
    ----------
    privatised : int64[k]
        Number of contributors that report each code of the pivot.
    lies : int[targets]
        Probabilities times 2^64: lies[j] / 2^64 is that of each of the k-1 codes that target j does not copy.
    rng : SimulationRandomness
        Source of the draw.
    """
    k = len(privatised)
    result = np.empty((len(lies), k), dtype=np.int64)
    # The distribution is a mixture of a uniform code and a copy. If copies are rarer than other codes, it is a mixture
    # of a uniform code and a uniform other code.
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
    """Draw the counts of all codes after every contributor changes to another code, drawn uniformly."""
    k = len(counts)
    result = np.zeros(k, dtype=np.int64)
    step = max(1, _SIMULATED_CELLS // k)
    for start in range(0, k, step):
        codes = np.arange(start, min(start + step, k))
        moved = rng.generator.multinomial(counts[codes], np.full(k - 1, 1 / (k - 1)))
        np.add.at(result, (codes[:, None] + np.arange(1, k)) % k, moved)
    return result
