"""Checks of rules that the counters of every set of reports obey, for `check_state` of mechanisms.

An aggregate comes from a file or from another program as often as from reports. Counters that no n reports can give are
refused. Each function of this module refuses some of them, and names the first wrong cell with its bound and its value.
Each function reads the counters once or twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.errors import DamagedStateError

Counts = NDArray[np.integer[Any]]

LIMIT = 1 << 62
"""Counters and numbers of reports lie strictly between -2^62 and 2^62, so the sum of two never overflows 64 bits."""


class Checked(Protocol):
    """A mechanism, as far as its state goes."""

    @property
    def state_size(self) -> int:
        """Length of the state."""

    def check_state(self, counts: Counts, n: int) -> None:
        """Raise DamagedStateError for counts that n reports cannot have."""


def counts_between(counts: Counts, low: int, high: int, first: int = 0) -> None:
    """Raise DamagedStateError unless low <= counts <= high in every cell.

    Parameters
    ----------
    counts : int[cells]
        Counters.
    low, high : int
        Bounds, inclusive. Bounds beyond `LIMIT` are replaced by the nearest allowed bound.
    first : int
        Number of the first cell in the whole vector, for the message.
    """
    low, high = max(low, 1 - LIMIT), min(high, LIMIT - 1)
    # Two reductions are used, because comparisons would write two arrays of booleans.
    for value, cell in (counts.min(), counts.argmin), (counts.max(), counts.argmax):
        if not low <= int(value) <= high:
            refuse(f"counts[{first + int(cell())}] must be in {low}..{high}, got {int(value)}")


def counts_sum_to(counts: Counts, total: int, first: int = 0) -> None:
    """Raise DamagedStateError unless the counters are a histogram: none is negative, and their sum is `total`."""
    peak = int(np.bitwise_or.reduce(counts)) if counts.size else 0
    # The peak is at least every counter if no counter is negative, and is negative if one is. So two passes are enough
    # for most states.
    if not (peak >= 0 and peak * len(counts) < 1 << 63 and int(counts.sum(dtype=np.int64)) == total):
        stretches_sum_to(counts, (len(counts),), total, first)


def stretches_sum_to(counts: Counts, sizes: Sequence[int], totals: int | Counts, first: int = 0) -> None:
    """Raise DamagedStateError unless consecutive stretches of these sizes are histograms with these totals.

    Parameters
    ----------
    counts : int[sum(sizes)]
        Counters of all stretches.
    sizes : sequence of int
        Lengths of the stretches.
    totals : int or int[len(sizes)]
        Sum that each stretch must have.
    first : int
        Number of the first cell in the whole vector, for messages.
    """
    # The peak is at least every counter if no counter is negative, and is negative if one is.
    peak = int(np.bitwise_or.reduce(counts))
    if peak < 0:
        counts_between(counts, 0, LIMIT, first)
    lengths = np.asarray(sizes)
    starts = np.cumsum(lengths) - lengths
    if peak * int(lengths.max()) < 1 << 63:
        sums: NDArray[Any] = np.add.reduceat(counts, starts, dtype=np.int64)
    else:  # 64 bits would wrap, so two halves are added exactly
        halves = (np.add.reduceat(half, starts).astype(object) for half in (counts >> 32, counts & ((1 << 32) - 1)))
        sums = next(halves) * (1 << 32) + next(halves)
    wrong = sums != totals
    if wrong.any():
        part = int(wrong.argmax())
        start, stop = first + int(starts[part]), first + int(starts[part] + lengths[part]) - 1
        total = int(np.broadcast_to(totals, wrong.shape)[part])
        refuse(f"counts[{start}..{stop}] must sum to {total}, got {int(sums[part])}")


def check_parts(parts: Sequence[Checked], counts: Counts, reported: Sequence[int] | Counts) -> None:
    """Raise DamagedStateError unless each part's stretch of the counters is a state of its number of reports.

    Parameters
    ----------
    parts : sequence of mechanisms
        Mechanisms, one for each group of contributors. Each checks its own `state_size` counters, one stretch after
        another.
    counts : int[at least the sum of state sizes]
        Counters.
    reported : int[parts]
        Number of reports of each group.
    """
    start = 0
    for number, (part, n) in enumerate(zip(parts, reported, strict=True)):
        try:
            part.check_state(counts[start : start + part.state_size], int(n))
        except DamagedStateError as error:
            refuse(f"part {number}, from counts[{start}] on, of {n} reports: {error}")
        start += part.state_size


def refuse(message: str) -> NoReturn:
    """Raise DamagedStateError."""
    raise DamagedStateError(message)
