"""One uniformly sampled attribute per contributor, through its own oracle with the full budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import Codes, checked_counts, checked_records, code_dtype
from deniable.kernels import kernel
from deniable.multi._oracles import Oracle
from deniable.multi._uniform import uniform_rows
from deniable.randomness import Randomness, SimulationRandomness

SAMPLED_ROWS = 1 << 16
"""Contributors who are grouped by sampled attribute at a time: many enough that d calls of an oracle cost nothing."""


def sample_attributes(rng: Randomness, n: int, d: int) -> Codes:
    """Return n independent, exactly uniform attributes in 0..d-1."""
    attributes = np.empty((n, 1), dtype=code_dtype(d))
    uniform_rows(rng, (d,), attributes)
    return attributes[:, 0]


def sampled_reports(
    oracles: Sequence[Oracle], codes: Codes, attributes: Codes, rng: Randomness
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[Any]]]:
    """Yield (attribute, rows, reports) for every attribute: the contributors who sampled it, and their reports of it.

    Parameters
    ----------
    oracles : sequence of Oracle
        One per attribute.
    codes : int[n, d]
        Records, already checked.
    attributes : int[n]
        The sampled attributes.
    rng : Randomness
        Source of the oracles' words.
    """
    held, order = np.empty(len(codes), dtype=codes.dtype), np.empty(len(codes), dtype=np.int64)
    stops = np.bincount(attributes, minlength=len(oracles)).cumsum()
    starts = np.concatenate(([0], stops[:-1]))
    _sort(attributes, codes, starts.copy(), order, held)
    for j, oracle in enumerate(oracles):
        rows = slice(starts[j], stops[j])
        yield j, order[rows], oracle.randomize(held[rows], rng)


def overwrite_sampled(oracles: Sequence[Oracle], codes: Codes, rng: Randomness, reports: NDArray[Any]) -> None:
    """Draw an attribute for every record of codes[n, d] and put its true report in place of the fake one.

    `reports[n, d]` holds codes, fakes of all attributes; the sampled ones are overwritten.
    """
    attributes = sample_attributes(rng, len(codes), len(oracles))
    for j, rows, true_reports in sampled_reports(oracles, codes, attributes, rng):
        reports[rows, j] = true_reports


@kernel
def _sort(
    attributes: Codes, codes: Codes, free: NDArray[np.int64], order: NDArray[np.int64], held: NDArray[Any]
) -> None:
    # Counting sort by attribute, stable; free[j] is where the next contributor of attribute j goes.
    for i in range(attributes.shape[0]):
        j = np.int64(attributes[i])
        place = free[j]
        free[j] = place + 1
        order[place] = i
        held[place] = codes[i, j]


def simulate_sampling(
    records: ArrayLike, counts: ArrayLike, sizes: Sequence[int], rng: SimulationRandomness
) -> tuple[list[NDArray[np.int64]], int]:
    """Draw who samples what, exactly in distribution, in O(r d): r records, each held by some number of contributors.

    Returns
    -------
    list of int64[k_j]
        For each attribute, the true counts among the contributors who sampled it.
    int
        Number of contributors.
    """
    rows = checked_records(records, sizes)
    held = checked_counts(counts, len(rows))
    d = len(sizes)
    drawn = rng.generator.multinomial(held, np.full(d, 1 / d), size=len(held))
    by_attribute = [np.zeros(size, dtype=np.int64) for size in sizes]
    for j, true_counts in enumerate(by_attribute):
        np.add.at(true_counts, rows[:, j], drawn[:, j])
    return by_attribute, int(held.sum())
