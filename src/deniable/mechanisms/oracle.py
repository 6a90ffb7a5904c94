"""FrequencyOracle: the base of mechanisms for one attribute."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate
from deniable.base import Mechanism
from deniable.checks import Codes, checked_codes, checked_counts
from deniable.estimate import Estimate
from deniable.randomness import BLOCK_WORDS, Randomness, SimulationRandomness, checked_randomness

Reports = TypeVar("Reports")

SIMULATION_ROWS = 1 << 22
"""Most reports that a simulation makes at a time."""


class FrequencyOracle(Mechanism[Reports]):
    """A mechanism for one attribute with domain {0, ..., k-1}: codes int[n] in, an Estimate out.

    Attributes
    ----------
    k : int
        Domain size.
    """

    k: int
    records: ClassVar[bool] = False

    @property
    @final
    def domain(self) -> tuple[int, ...]:
        """The one domain size, (k,)."""
        return (self.k,)

    # ---------------------------------------------------------------- contributor

    @final
    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Reports:
        """Contributor: turn true codes into reports, one row each.

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        batch of n reports
            As `report_fields` says.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row.
        InvalidParameterError
            If rng is no source of random words.
        """
        return self._randomize(checked_codes(inputs, self.k), checked_randomness(rng))

    @abstractmethod
    def _randomize(self, codes: Codes, rng: Randomness) -> Reports:
        """Randomise codes[n], all in 0..k-1."""

    # ---------------------------------------------------------------- collector

    @final
    def aggregate(self, reports: Any) -> Aggregate:
        return Aggregate(self, *self._tally(reports))

    @abstractmethod
    def _tally(self, reports: Any) -> tuple[NDArray[np.integer[Any]], int]:
        """Check reports, and return the sum int64[state_size] that the collector keeps and their number."""

    # ---------------------------------------------------------------- analyst

    @abstractmethod
    def estimate(self, aggregate: Aggregate) -> Estimate: ...

    @abstractmethod
    def variance(self, f: float, n: int) -> float:
        """Return the variance of one estimated frequency at true frequency f, noise only, with n contributors."""

    # ---------------------------------------------------------------- what a report says

    @abstractmethod
    def supports(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which values each report speaks for, bool[n, len(values)]: what an adversary takes for candidates.

        Parameters
        ----------
        reports : batch of n reports
            As `randomize` returns them.
        values : int64[m]
            Codes in 0..k-1.
        """

    @abstractmethod
    def implemented_ratio(self) -> Fraction: ...

    # ---------------------------------------------------------------- simulation

    @final
    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these true counts, exactly in distribution, without reports.

        Parameters
        ----------
        counts : int[k]
            Number of contributors who hold each value.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts are no k integers >= 0.
        """
        held = checked_counts(counts, self.k)
        return Aggregate(self, self._simulate(held, rng), int(held.sum()))

    @abstractmethod
    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Draw the state int64[state_size] of contributors with these true counts int64[k]."""

    @final
    def _simulate_by_reports(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Make reports and sum them a block at a time, where no product law replaces them; memory independent of n."""
        last = np.cumsum(counts)
        n, step = int(last[-1]), min(max(BLOCK_WORDS, self.state_size), SIMULATION_ROWS)
        total = np.zeros(self.state_size, dtype=np.int64)
        for start in range(0, n, step):
            stop = min(start + step, n)
            # The values that contributors start..stop-1 hold, sorted: those whose stretches meet this block.
            first, end = np.searchsorted(last, (start, stop - 1), side="right")
            edges = np.clip(last[first : end + 1], start, stop)
            codes = np.repeat(np.arange(first, end + 1), np.diff(edges, prepend=start))
            total += self._tally(self._randomize(codes, rng))[0]
        return total
