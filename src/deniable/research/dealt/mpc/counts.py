"""Secret numbers of each type, drawn inside the computation so that nobody learns them.

Anyone who knows how often each type was dealt, and everybody else's type, also knows the last type. To a helper who
colludes with the collector, known counts are fixed quotas, which have no bound. So the counts stay secret: the dealer's
own integer tables are inverted on secret uniform numbers. The only values opened say whether a candidate number is
below its bound and whether a trial is accepted. The numbers that are kept are independent of those that were thrown
away. The opened bits of a number that is kept only say "kept", which is known anyway.

Uniform draws, comparison and table lookup are secret arithmetic on bits: shared 0s and 1s, with the highest bit first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.core.randomness import draw
from deniable.research.dealt.mpc.session import Session, Shares


def public_bits(numbers: Sequence[int], width: int) -> NDArray[np.int64]:
    """Return the binary digits of the numbers, int64[len(numbers), width], with the highest digit first."""
    return np.array([[number >> place & 1 for place in range(width - 1, -1, -1)] for number in numbers], dtype=np.int64)


def own_bits(session: Session, size: int) -> NDArray[np.int64]:
    """Return this helper's own uniform bits, in the clear."""
    words = draw(session.rng, -(-size // 64))
    return np.unpackbits(words.view(np.uint8))[:size].astype(np.int64)


async def random_bits(session: Session, rows: int, width: int) -> Shares:
    """Return shares of rows x width uniform bits that no t helpers know.

    Each bit is the product of signs drawn by t+1 helpers.
    """
    signs = (2 * own_bits(session, rows * width) - 1).reshape(rows, width)
    product, *others = await session.share(signs, range(session.degree + 1))
    for sign in others:
        product = await session.multiply(product, sign)
    half = (session.modulus + 1) // 2
    return (product + 1) * half % session.modulus


async def less(session: Session, left: Shares, right: Shares) -> Shares:
    """Return shares of [left < right], one per row, in log2(width) rounds and at most 3 width products per row."""
    return await _compared(session, left, right, await session.multiply(left, right))


async def less_than(session: Session, left: Shares, bound: int) -> Shares:
    """Return shares of [left < bound] for a public bound, one per row, with at most 2 width products per row."""
    # A constant is a polynomial of degree 0, which is the same share for everybody.
    right = public_bits([bound], left.shape[1])
    return await _compared(session, left, right, left * right)


async def _compared(session: Session, left: Shares, right: Shares, both: Shares) -> Shares:
    """Return shares of [left < right], given the products of their bits.

    The comparison is made by halves: the higher half decides first.
    """
    below = (right - both) % session.modulus
    same = (1 - left - right + 2 * both) % session.modulus
    while below.shape[1] > 1:
        width = below.shape[1] // 2 * 2
        high, low = slice(0, width, 2), slice(1, width, 2)
        pairs = np.stack([below[:, low], same[:, low]])
        below_low, same_low = await session.multiply(same[None, :, high], pairs)
        below = np.concatenate([below[:, high] + below_low, below[:, width:]], axis=1) % session.modulus
        same = np.concatenate([same_low, same[:, width:]], axis=1)
    return below[:, 0]


async def uniform_below(session: Session, rows: int, bound: int) -> Shares:
    """Return shares of the bits of `rows` numbers, exactly uniform on {0, ..., bound-1}, int64[rows, bits of bound].

    The numbers are drawn by rejection. The helpers open whether each candidate is below the bound, and nothing else.
    """
    width = bound.bit_length()
    kept = np.empty((0, width), dtype=np.int64)
    while len(kept) < rows:
        candidates = await random_bits(session, 2 * (rows - len(kept)), width)
        inside = await session.open(await less_than(session, candidates, bound))
        kept = np.concatenate([kept, candidates[inside == 1]])
    return kept[:rows]


async def branch(session: Session, path: Shares, bit: Shares) -> Shares:
    """Return the indicators of the nodes one level further down.

    The arguments are the indicators of the nodes, one row each, and the turns.
    """
    right = await session.multiply(path, bit[:, None])
    return np.stack([path - right, right], axis=2).reshape(len(path), -1) % session.modulus


async def one_hot(session: Session, bits: Shares, size: int) -> Shares:
    """Return shares of the indicators of 0..size-1 at each row's number, which are all 0 for a number >= size."""
    path = np.ones((len(bits), 1), dtype=np.int64)
    for level in range(bits.shape[1]):
        path = await branch(session, path, bits[:, level])
        leaves = 1 << (bits.shape[1] - level - 1)
        path = path[:, : -(-size // leaves)]
    return path


async def search(session: Session, numbers: Shares, cumulative: Sequence[int]) -> Shares:
    """Return shares of the bits of the index of the first cumulative weight above each row's number.

    This is a binary search along a secret path. At each level the threshold is the public threshold of the node. It is
    chosen by the path's indicator, as a sum that needs no message. Numbers must be below the last weight.
    """
    levels = (len(cumulative) - 1).bit_length()
    width = numbers.shape[1]
    path = np.ones((len(numbers), 1), dtype=np.int64)
    turns = np.empty((len(numbers), levels), dtype=np.int64)
    for level in range(levels):
        step = 1 << (levels - level - 1)
        last = len(cumulative) - 1
        thresholds = [cumulative[min((2 * node + 1) * step - 1, last)] for node in range(1 << level)]
        threshold = path @ public_bits(thresholds, width) % session.modulus
        turns[:, level] = (1 - await less(session, numbers, threshold)) % session.modulus
        path = await branch(session, path, turns[:, level])
    return turns


async def add(session: Session, left: Shares, right: Shares) -> Shares:
    """Return shares of the bits of left + right; the width must hold the sum, because a carry beyond it is lost."""
    both = await session.multiply(left, right)
    either = (left + right - 2 * both) % session.modulus
    carry = np.zeros(len(left), dtype=np.int64)
    total = np.empty_like(left)
    for place in range(left.shape[1] - 1, -1, -1):
        carried = await session.multiply(either[:, place], carry)
        total[:, place] = (either[:, place] + carry - 2 * carried) % session.modulus
        carry = (both[:, place] + carried) % session.modulus
    return total


TRIALS = 2
"""Number of trials that are made side by side. A trial is accepted with probability .35 to .99, mostly above .7."""


@dataclass(frozen=True)
class CountLaw:
    """Public distribution of the type counts, in the form that the helpers use.

    The counts are a_v = first + j_v. The numbers j_v are drawn by `cumulative` integer weights, independently for v <
    k. A trial is accepted with probability acceptance[j_0 + ... + j_{k-1}]/max(acceptance), which is 0 beyond the end
    of the list.
    """

    k: int
    first: int
    cumulative: tuple[int, ...]
    acceptance: tuple[int, ...]

    @property
    def sum_bits(self) -> int:
        """Number of bits that hold any j_0 + ... + j_{k-1} that the search can return."""
        leaves = 1 << (len(self.cumulative) - 1).bit_length()
        return (self.k * (leaves - 1)).bit_length()


async def trials(session: Session, law: CountLaw, rows: int) -> tuple[Shares, Shares, Shares]:
    """Return (partial sums, indicator, accepted) of independent trials.

    The partial sums j_0 + ... + j_v are shared bits, [k, rows, bits]. The indicator of the total is shared. `accepted`
    is open, 0 or 1.
    """
    numbers = await uniform_below(session, law.k * rows, law.cumulative[-1])
    found = await search(session, numbers, law.cumulative)
    padded = np.zeros((law.k, rows, law.sum_bits), dtype=np.int64)
    padded[:, :, law.sum_bits - found.shape[1] :] = found.reshape(law.k, rows, -1)
    sums = [padded[0]]
    for count in padded[1:]:
        sums.append(await add(session, sums[-1], count))
    indicator = await one_hot(session, sums[-1], len(law.acceptance))
    largest = max(law.acceptance)
    width = largest.bit_length()
    limit = indicator @ public_bits(law.acceptance, width) % session.modulus
    accepted = await session.open(await less(session, await uniform_below(session, rows, largest), limit))
    return np.array(sums), indicator, accepted


async def draw_types(session: Session, law: CountLaw, n: int) -> Shares:
    """Return shares of n types in ascending order, with the number of each type v drawn from its distribution.

    The last type, k, fills up the remaining places.
    """
    while True:
        sums, indicator, accepted = await trials(session, law, TRIALS)
        if accepted.any():
            break
    row = int(np.argmax(accepted))
    indicators = np.empty((law.k, len(law.acceptance)), dtype=np.int64)
    indicators[:-1] = await one_hot(session, sums[:-1, row], len(law.acceptance))
    indicators[-1] = indicator[row]
    types = np.zeros(n, dtype=np.int64)
    for v, hot in enumerate(indicators):
        # From place a_0 + ... + a_v on, the type is above v.
        start = (v + 1) * law.first
        reached = np.cumsum(hot)[: n - start]
        types[start : start + len(reached)] += reached
        types[start + len(reached) :] += reached[-1] if len(reached) else 0
    return types % session.modulus
