"""Checks of states that only mechanisms for studies have."""

from __future__ import annotations

import numpy as np

from deniable.core.state import Counts, counts_between, refuse

_CHUNK = 1 << 15
"""Counters whose absolute values are added at a time. They stay in a core's cache."""


def signs_of(counts: Counts, n: int, first: int = 0) -> None:
    """Raise DamagedStateError unless the counters are sums of n signs, each +1 or -1 in one cell.

    The condition is necessary and sufficient: the sum of the absolute values is at most n, and differs from n by an
    even number.
    """
    counts_between(counts, -n, n, first)
    total = absolute_sum(counts, n)
    if total > n or (n - total) % 2:
        parity = "even" if n % 2 == 0 else "odd"
        refuse(f"the absolute values of {n} signs must sum to an {parity} number <= {n}, got {total}")


def exact_sum(counts: Counts, bound: int) -> int:
    """Return the exact sum of numbers whose absolute values are at most `bound`."""
    return int(counts.sum(dtype=np.int64)) if bound * len(counts) < 1 << 63 else sum(counts.tolist())


def absolute_sum(counts: Counts, bound: int) -> int:
    """Return the exact sum of the absolute values of numbers, none of which is above `bound`."""
    if bound * _CHUNK >= 1 << 63:
        return sum(map(abs, counts.tolist()))
    chunks = (counts[start : start + _CHUNK] for start in range(0, len(counts), _CHUNK))
    return sum(int(np.abs(chunk, dtype=np.int64).sum()) for chunk in chunks)


def dealt_to(n: int, contributors: int) -> None:
    """Raise DamagedStateError if there are more reports than contributors for whom the deal was made."""
    if n > contributors:
        refuse(f"a deal to n={contributors} contributors has at most as many reports, got {n}")
