"""Summation with histogram encoding (SHE): every contributor adds noise to every component of a one-hot vector.

The mechanism is from Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation* (2017),
section "Histogram encoding". The paper adds real Laplace noise. This implementation differs in two ways:

* The noise is discrete Laplace (two-sided geometric; Ghosh, Roughgarden, Sundararajan 2009) on a public integer grid.
* The noisy component is clamped to a public range. Clamping is post-processing. The estimator is affine and corrects
  the bias of clamping.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, checked_domain, checked_integer, integer_array, settle
from deniable.core.estimate import Estimate
from deniable.core.kernels import INTERPRETED_ROWS
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, blocks
from deniable.core.state import Counts, counts_between
from deniable.core.thresholds import SCALE, checked_epsilon, spent
from deniable.errors import InvalidReportError
from deniable.oracles.oracle import FrequencyOracle, GradedSupport
from deniable.oracles.support import SupportLaw
from deniable.research.baselines.noise import (
    Components,
    half_ratio,
    inverse_table,
    noise_weights,
    randomize_components,
    sum_components,
)

MAX_GRID = 16_383
"""Largest resolution and largest clamp: components then fit int16."""

DEFAULT_CLAMP_LIMIT = 511


@final
@dataclass(frozen=True)
class SHE(FrequencyOracle[Components], GradedSupport):
    """Summation with histogram encoding reports a one-hot vector of k numbers with noise on every number.

    The one-hot vector has one component for each possible answer. The component of the true answer is `resolution`, and
    all other components are 0. The device adds an integer z of noise to every component. It then clamps the sum to the
    range from -clamp to resolution + clamp.

    The probability of z is proportional to e^(-epsilon |z|/(2 resolution)), because the vectors of two answers differ
    by `resolution` in two components. The variance of a component is at most 8/epsilon^2, which is its variance with
    continuous Laplace noise and without a clamp. A coarse grid and a narrow clamp both lower the variance. With the
    narrowest choice, resolution=1 and clamp=0, the mechanism is `SUE`.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it.
    resolution : int, optional
        Number of grid steps that make up 1, from 1 to 16383. The default is ceil(4 epsilon). With the default, the grid
        lowers the variance by .13% at most.
    clamp : int, optional
        Number of grid steps by which a component may leave the range 0..resolution, from 0 to 16383. The default is 8
        scales of the noise, ceil(16 resolution/epsilon), but at most 511. A clamp of eight scales lowers the variance
        by .23%. For epsilon below .032, the limit of 511 is less than eight scales. A clamp of 511 steps then lowers
        the variance further, to 4/epsilon^2 as epsilon goes to 0.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.baselines.histogram import SHE
    >>> import numpy as np
    >>> she = SHE(k=3, epsilon=1.0)
    >>> she.resolution, she.clamp
    (4, 64)
    >>> reports = she.randomize(np.array([0, 2]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('int16'), (2, 3))
    >>> round(she.variance(0.0, 1), 2)
    7.97
    """

    k: int
    epsilon: float | Fraction
    resolution: int | None = None
    clamp: int | None = None

    report_type = staticmethod(np.asarray)
    name = "SHE"
    card = Card(
        group="one attribute",
        when="if a report must be a list of noisy numbers that can be added up",
        wire="k integers",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k), epsilon=checked_epsilon(self.epsilon))
        budget = spent(self.epsilon)
        resolution = math.ceil(4 * budget) if self.resolution is None else self.resolution
        settle(self, resolution=checked_integer("resolution", resolution, 1, MAX_GRID))
        scales = min(math.ceil(16 * self._one / budget), DEFAULT_CLAMP_LIMIT)
        clamp = scales if self.clamp is None else self.clamp
        settle(self, clamp=checked_integer("clamp", clamp, 0, MAX_GRID))
        noise_weights(budget, self._one, -self._low)  # proves the ratio of these very integers, or raises

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> Components:
        # One 64-bit word per component, looked up in the cumulative table of a component that is 0. The component that
        # is 1 has the mirror image of that table.
        reports = np.empty((len(codes), self.k), dtype=np.int16)
        last, guide = self._inverse
        # By the whole batch: a block may have few rows if k is large.
        run = randomize_components.compiled if len(codes) > INTERPRETED_ROWS else randomize_components
        for rows, words in blocks(rng, len(codes), self.k):
            run(codes[rows], words, last, guide, self._one, -self._low, reports[rows])
        return reports

    # ---------------------------------------------------------------- collector

    def _tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        components = self._checked_shape(reports)
        totals = np.zeros(self.k, dtype=np.int64)
        wrong = sum_components(components, self._low, self._high, totals)
        if wrong >= 0:
            outside = (components[wrong] < self._low) | (components[wrong] > self._high)
            v = int(outside.argmax())
            raise InvalidReportError(
                f"components must be in {self._low}..{self._high}, got {int(components[wrong, v])} "
                f"in row {wrong + 1}, component {v}"
            )
        return totals, len(components)

    def supports(self, reports: ArrayLike, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which values have the largest component of their report, several if they tie; bool[n, len(values)]."""
        components = self._checked_shape(reports)
        matrix: NDArray[np.bool_] = components[:, values] == components.max(axis=1, keepdims=True)
        return matrix

    def _checked_shape(self, reports: ArrayLike) -> Components:
        array = integer_array(reports, InvalidReportError, "reports")
        if array.size == 0 and not isinstance(reports, np.ndarray):
            array = np.empty((0, self.k), dtype=np.int16)
        if not np.can_cast(array.dtype, np.int64):
            raise InvalidReportError(f"reports must have a signed integer dtype, got dtype={array.dtype}")
        if array.ndim != 2 or array.shape[1] != self.k:
            raise InvalidReportError(f"reports must have shape (n, {self.k}), got shape={array.shape}")
        return np.ascontiguousarray(array)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: unbiased frequencies f^ = (sum/n - m0)/(m1 - m0), m0 and m1 the implemented means of a component."""
        self.check(aggregate)
        mean, gain, _ = self._moments
        frequencies = (aggregate.counts / aggregate.n - mean) / gain
        noise = np.full(self.k, self.variance(0.0, 1))
        return Estimate(frequencies, aggregate.n, noise_absent=noise, noise_present=noise)

    def variance(self, f: float, n: int) -> float:  # noqa: ARG002
        """Variance of an estimated frequency, noise only, n contributors; the same at every true frequency f."""
        _, gain, variance = self._moments
        return variance / gain**2 / n

    @cached_property
    def support_law(self) -> LargestComponent:
        absent, present = self.component_channel()
        return LargestComponent(self.k, absent, present, 1 - self._low)

    # 0 for a component at or below zero, 2 at or above one, 1 between; beyond these the likelihood ratio is constant.
    levels = 3

    def _levels(self, reports: ArrayLike, values: NDArray[np.int64]) -> NDArray[np.uint8]:
        components = self._checked_shape(reports)[:, values]
        return (components > 0).astype(np.uint8) + (components >= self._one)

    # ---------------------------------------------------------------- guarantee and exact law

    @property
    def _one(self) -> int:
        assert self.resolution is not None
        return self.resolution

    @property
    def _low(self) -> int:
        assert self.clamp is not None
        return -self.clamp

    @property
    def _high(self) -> int:
        return self._one - self._low

    @property
    def _weights(self) -> tuple[int, ...]:
        """Probabilities of the levels low..high of a component that is 0, in units of 2^-64."""
        return noise_weights(spent(self.epsilon), self._one, -self._low)

    @cached_property
    def _inverse(self) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        return inverse_table(self._weights)

    @cached_property
    def _moments(self) -> tuple[float, float, float]:
        """Mean of a component that is 0, how much more it is if it is 1, and the variance of either."""
        levels = range(self._low, self._high + 1)
        mean = Fraction(sum(w * y for w, y in zip(self._weights, levels, strict=True)), SCALE)
        square = Fraction(sum(w * y * y for w, y in zip(self._weights, levels, strict=True)), SCALE)
        return float(mean), float(self._one - 2 * mean), float(square - mean * mean)

    def privacy(self) -> Guarantee:
        return self._local_guarantee()

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio of a whole report, exact: two components differ, each at its worst."""
        return half_ratio(self._weights) ** 2

    def component_channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(level | bit) of one component, shape (2, levels); levels are -clamp..resolution+clamp in order."""
        absent = np.array([Fraction(weight, SCALE) for weight in self._weights], dtype=object)
        matrix = np.stack([absent, absent[::-1]])
        return matrix if exact else matrix.astype(np.float64)

    def outputs(self) -> Components:
        """Every possible report once, last component fastest, in the order of the columns of `channel`."""
        self._check_enumerable()
        levels = np.indices((len(self._weights),) * self.k, dtype=np.int16).reshape(self.k, -1)
        return np.ascontiguousarray(levels.T) + np.int16(self._low)

    def _channel(self) -> NDArray[Any]:
        self._check_enumerable()
        absent = np.array(self._weights, dtype=object)
        rows = [[absent[::-1] if v == x else absent for v in range(self.k)] for x in range(self.k)]
        products = np.stack([functools.reduce(lambda a, b: np.multiply.outer(a, b).ravel(), row) for row in rows])
        scale = SCALE**self.k
        matrix = np.array([Fraction(int(product), scale) for product in products.flat], dtype=object)
        return matrix.reshape(products.shape)

    def _check_enumerable(self) -> None:
        # Two levels in 32 components exceed every limit: no need for the huge power.
        self._check_channel(self.k, len(self._weights) ** min(self.k, 32))

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # Components are independent, and those of one value are of two kinds: two multinomials over the levels of each
        # component. Time O(k levels), whatever the number of contributors.
        n = int(counts.sum())
        levels = np.arange(self._low, self._high + 1)
        absent = self.component_channel()[0]
        totals = np.empty(self.k, dtype=np.int64)
        for v, held in enumerate(counts):
            totals[v] = rng.generator.multinomial(n - held, absent) @ levels
            totals[v] += rng.generator.multinomial(held, absent) @ levels[::-1]
        return totals

    def check_state(self, counts: Counts, n: int) -> None:
        counts_between(counts, n * self._low, n * self._high)

    @property
    def state_size(self) -> int:
        return self.k

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        return (ReportField("components", "int16", self.k),)

    @property
    def report_bits(self) -> float:
        return self.k * math.log2(len(self._weights))


@dataclass(frozen=True, eq=False)
class LargestComponent(SupportLaw):
    """A report is k noisy numbers, and supports the value of the largest, several if they tie; at random then.

    Parameters
    ----------
    k : int
        Domain size.
    absent, present : float64[levels]
        Law of a component that is 0, and of one that is 1.
    high : int
        Number of levels from which on the likelihood ratio of present to absent is largest, counted from the top.
    """

    k: int
    absent: NDArray[np.float64]
    present: NDArray[np.float64]
    high: int

    reachable = None

    def guess_success(self) -> Fraction | float:
        up_to = np.cumsum(self.absent)
        with np.errstate(divide="ignore"):
            # 1 - (F(y-1)/F(y))^k
            growth = -np.expm1(self.k * np.log1p(-np.minimum(self.absent / up_to, 1.0)))
        return float((self.present * up_to**self.k * growth / (self.k * self.absent)).sum())

    def telling(self) -> float:
        return float(self.present[-self.high :].sum()) ** 2
