"""The implemented law of copies: thresholds over equal domains, transfer tables over domains that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import Codes
from deniable.mechanisms.grr import GRR
from deniable.multi._induced import InducedChannel, check_value_count, induced_channel
from deniable.multi._oracles import stretches
from deniable.multi._pivot import (
    TransferTables,
    randomize_with_copies,
    randomize_with_transfers,
    simulate_copies,
    simulate_transfers,
    transfer_tables,
)
from deniable.multi._pivot_law import (
    MAX_REPORTS,
    equality_patterns,
    every_report,
    pivot_weights,
    rounded_transfer,
)
from deniable.multi._sampled import simulate_sampling
from deniable.multi.alignment import Alignment, copy_law
from deniable.multi.copy_probabilities import CopyProbabilities
from deniable.randomness import Randomness, SimulationRandomness, Words
from deniable.thresholds import SCALE, exact


@dataclass(frozen=True, eq=False)
class CopyLaw:
    """How a mechanism of copies draws, and with which exact probabilities.

    Parameters
    ----------
    oracles : tuple of GRR
        Of every attribute as the pivot.
    probabilities : tuple of tuples
        P as declared, rows = target, columns = pivot.
    alignment : Alignment
        Maps between pairs of attributes.
    """

    oracles: tuple[GRR, ...]
    probabilities: CopyProbabilities
    alignment: Alignment

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes."""
        return tuple(oracle.k for oracle in self.oracles)

    @property
    def alike(self) -> bool:
        """Whether all domains are one: copies then need one threshold per pair."""
        return len(set(self.sizes)) == 1 and not self.alignment

    @cached_property
    def lies(self) -> NDArray[Any]:
        """Equal domains: int[d, d], [target, pivot]/2^64 is the probability of each code that is not copied.

        Rounded down, and below 2^64/(k-1): a copy probability of one is exact, of zero it is at most k/2^64. On the
        diagonal, the pivot's own, 0.
        """
        others, d = self.sizes[0] - 1, len(self.sizes)
        most = (SCALE - 1) // others
        flat = [min(int((1 - exact(entry)) * SCALE / others), most) for row in self.probabilities for entry in row]
        return np.array(flat, dtype=object).reshape(d, d)

    @property
    def gains(self) -> NDArray[np.float64]:
        """Equal domains: float64[d, d], the implemented a = (kP - 1)/(k - 1), [target, pivot]; one on the diagonal."""
        gains: NDArray[np.float64] = (1 - self.lies * self.sizes[0] / SCALE).astype(np.float64)
        return gains

    def transfers(self, codes: int | None = None) -> list[list[NDArray[Any]]]:
        """Return the law of every target given every pivot's report: [pivot][target], int[k_pivot, k_target]/2^64.

        Of the first `codes` codes only if given: over equal domains all codes are alike. Empty for a pivot itself.
        """
        d = len(self.sizes)
        return [[self.transfer(s, j, codes) for j in range(d)] for s in range(d)]

    def transfer(self, pivot: int, target: int, codes: int | None = None) -> NDArray[Any]:
        """Return one law of `transfers`."""
        if pivot == target:
            return np.empty((0, 0), dtype=object)
        if not self.alike:
            probability = exact(self.probabilities[target][pivot])
            return rounded_transfer(copy_law(probability, self.sizes, self.alignment, pivot, target))
        k, lie = self.sizes[pivot], self.lies[target, pivot]
        law = np.full((codes or k, codes or k), lie, dtype=object)
        np.fill_diagonal(law, SCALE - (k - 1) * lie)
        return law

    @cached_property
    def weights(self) -> NDArray[Any] | None:
        """Weights of every pivot for every report that may decide a likelihood ratio; None if there are too many."""
        if self.alike:
            # Equal domains: only which codes are equal matters.
            reports = equality_patterns(len(self.sizes), self.sizes[0])
            return None if reports is None else pivot_weights(self.transfers(int(reports.max()) + 1), reports)
        if prod(self.sizes) > MAX_REPORTS:
            return None
        return pivot_weights(self.transfers(), every_report(self.sizes))

    @cached_property
    def induced(self) -> InducedChannel:
        """Expected counts as a linear function of the frequencies, and its solution."""
        check_value_count(self.sizes)
        return induced_channel(self.oracles, self.float_transfers)

    @cached_property
    def float_transfers(self) -> list[list[NDArray[np.float64]]]:
        """`transfers` as probabilities, float64; the identity for a pivot itself."""
        d = len(self.sizes)
        return [[self._float_transfer(s, j) for j in range(d)] for s in range(d)]

    def _float_transfer(self, pivot: int, target: int) -> NDArray[np.float64]:
        identity = np.eye(self.sizes[pivot])
        if pivot == target:
            return identity
        if not self.alike:
            return (self.transfer(pivot, target) / SCALE).astype(np.float64)
        lie, gain = float(self.lies[target, pivot] / SCALE), float(self.gains[target, pivot])
        return lie + gain * identity

    # ---------------------------------------------------------------- draws

    @cached_property
    def _lies_by_pivot(self) -> Words:
        d = len(self.sizes)
        grr = int(self.oracles[0].support_probabilities[1] * SCALE)
        rows = [[self.lies[(s + t) % d, s] if t else grr for t in range(d)] for s in range(d)]
        return np.array(rows, dtype=np.uint64)

    @cached_property
    def _tables(self) -> TransferTables:
        return transfer_tables(self.transfers())

    def randomize(self, codes: Codes, rng: Randomness, reports: NDArray[Any]) -> None:
        """Overwrite reports[n, d] with a pivot of every record in codes[n, d], and copies of it."""
        if self.alike:
            randomize_with_copies(codes, self._lies_by_pivot, rng, reports, self.sizes[0])
        else:
            randomize_with_transfers(self.oracles, self._tables, codes, rng, reports)

    def simulate(
        self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness
    ) -> tuple[NDArray[np.int64], int]:
        """Draw the counts of all attributes, one after the other, exactly in distribution, and the number of reports.

        Given the pivot's report, the copies of different targets are independent, and so are contributors: every
        target's counts are drawn on their own from the counts of each pivot.
        """
        held, n = simulate_sampling(records, counts, self.sizes, rng)
        total = np.zeros(sum(self.sizes), dtype=np.int64)
        places = stretches(self.sizes)
        for s, (oracle, own) in enumerate(zip(self.oracles, held, strict=True)):
            privatised = oracle.simulate_aggregate(own, rng).counts
            total[places[s]] += privatised
            targets = [j for j in range(len(self.sizes)) if j != s]
            for j, copied in zip(targets, self._simulate_targets(s, targets, privatised, rng), strict=True):
                total[places[j]] += copied
        return total, n

    def _simulate_targets(
        self, pivot: int, targets: Sequence[int], privatised: NDArray[np.int64], rng: SimulationRandomness
    ) -> Sequence[NDArray[np.int64]]:
        if self.alike:
            return list(simulate_copies(privatised, self.lies[list(targets), pivot], rng))
        return simulate_transfers(privatised, [self.float_transfers[pivot][j] for j in targets], rng)
