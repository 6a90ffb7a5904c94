"""Drawing the numbers of each type inside the computation: nobody learns them.

Whoever knows how often each type was dealt, and everybody else's type, knows the last type too: to a helper who
colludes with the collector, known counts are fixed quotas, which have no bound. So the counts stay secret: the dealer's
own integer tables are inverted on secret uniform numbers. The only values opened say whether a candidate number is
below its bound and whether a trial is accepted: what is kept is independent of what was thrown away, and its own bits
say "kept", which is known anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.research.dealt.mpc.circuits import add, less, one_hot, public_bits, search, uniform_below
from deniable.research.dealt.mpc.session import Session, Shares

TRIALS = 2
"""Made side by side: a trial is accepted with probability .35 to .99, mostly above .7."""


@dataclass(frozen=True)
class CountLaw:
    """The public law of the type counts, for the helpers.

    Counts are a_v = first + j_v with j_v drawn by `cumulative` integer weights, independently for v < k; a trial is
    accepted with probability acceptance[j_0 + ... + j_{k-1}]/max(acceptance), 0 beyond its end.
    """

    k: int
    first: int
    cumulative: tuple[int, ...]
    acceptance: tuple[int, ...]

    @property
    def sum_bits(self) -> int:
        """Bits that hold any j_0 + ... + j_{k-1} the search can return."""
        leaves = 1 << (len(self.cumulative) - 1).bit_length()
        return (self.k * (leaves - 1)).bit_length()


async def trials(session: Session, law: CountLaw, rows: int) -> tuple[Shares, Shares, Shares]:
    """Return (partial sums, indicator, accepted) of independent trials.

    Partial sums j_0 + ... + j_v are shared bits, [k, rows, bits]; the indicator is that of the total, shared; accepted
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
    """Return shares of n types in ascending order, type v as often as the law says; the last type, k, fills up."""
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
