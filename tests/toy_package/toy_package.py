"""A mechanism of another package, in one file: randomised response, written only with the public base."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import checked_domain, checked_report_codes
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, draw
from deniable.core.state import Counts, counts_sum_to
from deniable.core.thresholds import SCALE, checked_epsilon, exp_bounds, spent, threshold_up
from deniable.oracles.pure import CountingOracle
from deniable.oracles.support import FixedSize

Codes = NDArray[np.integer[Any]]


@final
@dataclass(frozen=True)
class ToyRR(CountingOracle[Codes]):
    """Keep the true code, or report one of the k - 1 others."""

    k: int
    epsilon: float | Fraction

    name = "ToyRR"
    card = Card("one attribute", "to show that one file is enough", wire="one code")
    state_is_histogram = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_domain(self.k))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @cached_property
    def _lie(self) -> int:
        odds, _ = exp_bounds(spent(self.epsilon))
        return threshold_up(1 / (odds + self.k - 1))

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        lie = Fraction(self._lie, SCALE)
        return 1 - (self.k - 1) * lie, lie

    @cached_property
    def support_law(self) -> FixedSize:
        return FixedSize(self.k, 1, self.support_probabilities[0])

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        words, lie = draw(rng, len(codes)), np.uint64(self._lie)
        kept = words >= np.uint64(self.k - 1) * lie
        others = (codes + 1 + (words // lie).astype(np.int64)) % self.k
        return np.where(kept, codes, others).astype(np.uint32)

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        codes = checked_report_codes(reports, self.k)
        return np.bincount(codes, minlength=self.k), len(codes)

    def supports(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        matrix: NDArray[np.bool_] = checked_report_codes(reports, self.k)[:, None] == values
        return matrix

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        return self._simulate_by_reports(counts, rng)

    def check_state(self, counts: Counts, n: int) -> None:
        counts_sum_to(counts, n)

    def implemented_ratio(self) -> Fraction:
        p, q = self.support_probabilities
        return p / q

    def outputs(self) -> Codes:
        return np.arange(self.k, dtype=np.uint32)

    def _channel(self) -> NDArray[Any]:
        self._check_channel(self.k, self.k)
        p, q = self.support_probabilities
        matrix = np.full((self.k, self.k), q, dtype=object)
        np.fill_diagonal(matrix, p)
        return matrix

    def privacy(self) -> Guarantee:
        return self._local_guarantee()

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        return (ReportField("value", "uint32"),)

    @property
    def report_bits(self) -> float:
        return float(np.log2(self.k))
