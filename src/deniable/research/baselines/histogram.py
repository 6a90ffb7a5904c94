"""Summation with histogram encoding (SHE), in which a device adds noise to every component of a one-hot vector.

The mechanism is from Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation* (2017),
section "Histogram encoding". The paper adds real Laplace noise. This implementation differs in two ways:

* The noise is an integer with the discrete Laplace distribution (two-sided geometric; Ghosh, Roughgarden, Sundararajan
  2009).
* The noisy component is clamped to a public range. Clamping is post-processing. The estimator is affine and corrects
  the bias of clamping.
"""

from __future__ import annotations

import functools
import itertools
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
from deniable.core.kernels import kernel
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, Words, blocks
from deniable.core.state import Counts, counts_between
from deniable.core.thresholds import SCALE, checked_epsilon, exp_bounds, spent
from deniable.errors import InvalidParameterError, InvalidReportError
from deniable.oracles.oracle import FrequencyOracle, GradedSupport
from deniable.oracles.support import SupportLaw

MAX_GRID = 16_383
"""Largest resolution and largest clamp, so that components fit int16."""

DEFAULT_CLAMP_LIMIT = 511


Components = NDArray[np.signedinteger[Any]]


@final
@dataclass(frozen=True)
class SHE(FrequencyOracle[Components], GradedSupport):
    """Summation with histogram encoding reports a one-hot vector of k numbers with noise on every number.

    The one-hot vector has one component for each possible answer. The component of the true answer is `resolution`, and
    all other components are 0. The device adds an integer z of noise to every component. It then clamps each noisy
    component to the range from -clamp to resolution + clamp.

    The vectors of two answers differ by `resolution` in two components. So the probability of z is proportional to
    e^(-epsilon |z|/(2 resolution)). The variance of one report's estimate is at most 8/epsilon^2, which is the variance
    with continuous Laplace noise and without a clamp. A small `resolution` and a small `clamp` both lower the variance.
    With the smallest values, resolution=1 and clamp=0, the mechanism is `SUE`.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    resolution : int, optional
        Size of the signal: the component of the true answer before the noise is added, from 1 to 16383. All other
        components are 0. The default is ceil(4 epsilon). With the default, the variance is lower than with continuous
        noise, by at most 0.13%.
    clamp : int, optional
        Integer from 0 to 16383. It limits how far a noisy component can be outside the range from 0 to `resolution`.
        The default is eight times the scale of the noise, ceil(16 resolution/epsilon), but at most 511. A clamp of
        eight times the scale lowers the variance by 0.23%, compared with no clamp. For epsilon below 0.0313, the
        default is 511, which is less than eight times the scale. This clamp lowers the variance further, to 4/epsilon^2
        as epsilon goes to 0.

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
        noise_weights(budget, self._one, -self._low)  # it proves the ratio of these very integers, or raises

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> Components:
        # Each component has one 64-bit word, looked up in the cumulative table of a component that is 0. The component
        # that is 1 has the mirror image of that table.
        reports = np.empty((len(codes), self.k), dtype=np.int16)
        last, guide = self._inverse
        run = randomize_components.for_batch(len(codes))
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
        """Return the values with the largest component of their report, several if they tie, bool[n, len(values)]."""
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
        """Analyst: return unbiased frequencies f^ = (sum/n - m0)/(m1 - m0).

        Here m0 and m1 are the implemented means of a component that is 0 and of a component that is 1.
        """
        self.check(aggregate)
        mean, gain, _ = self._moments
        frequencies = (aggregate.counts / aggregate.n - mean) / gain
        noise = np.full(self.k, self.variance(0.0, 1))
        return Estimate(frequencies, aggregate.n, noise_absent=noise, noise_present=noise)

    def variance(self, f: float, n: int) -> float:  # noqa: ARG002
        """Variance of an estimated frequency from n contributors, noise only.

        It is the same at every true frequency f.
        """
        _, gain, variance = self._moments
        return variance / gain**2 / n

    @cached_property
    def support_law(self) -> LargestComponent:
        absent, present = self.component_channel()
        return LargestComponent(self.k, absent, present, 1 - self._low)

    # A level is 0 for a component at or below zero, 2 at or above one, and 1 between. Beyond these ends the likelihood
    # ratio is constant.
    levels = 3

    def _levels(self, reports: ArrayLike, values: NDArray[np.int64]) -> NDArray[np.uint8]:
        components = self._checked_shape(reports)[:, values]
        return (components > 0).astype(np.uint8) + (components >= self._one)

    # ---------------------------------------------------------------- guarantee and exact distribution

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
        """Moments of a component: its mean if it is 0, how much larger the mean is if it is 1, and the variance.

        The variance is the same in both cases.
        """
        levels = range(self._low, self._high + 1)
        mean = Fraction(sum(w * y for w, y in zip(self._weights, levels, strict=True)), SCALE)
        square = Fraction(sum(w * y * y for w, y in zip(self._weights, levels, strict=True)), SCALE)
        return float(mean), float(self._one - 2 * mean), float(square - mean * mean)

    def privacy(self) -> Guarantee:
        return self._local_guarantee()

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio of a whole report, exact: two components differ, each with its worst ratio."""
        return half_ratio(self._weights) ** 2

    def component_channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(level | bit) of one component, shape (2, levels).

        The levels are -clamp..resolution+clamp in order.
        """
        absent = np.array([Fraction(weight, SCALE) for weight in self._weights], dtype=object)
        matrix = np.stack([absent, absent[::-1]])
        return matrix if exact else matrix.astype(np.float64)

    def outputs(self) -> Components:
        """Return every possible report once, in the order of the columns of `channel`.

        The last component varies fastest.
        """
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
        # Two levels in 32 components exceed every limit, so the huge power need not be computed.
        self._check_channel(self.k, len(self._weights) ** min(self.k, 32))

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # Components are independent, and those of one value are of two kinds. So two multinomials over the levels make
        # each component. The time is O(k levels), whatever the number of contributors.
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
    """Guessing rule for reports of k noisy numbers, which support the value of the largest number.

    If several numbers tie, the report supports all their values, and the guess is at random among them.

    Parameters
    ----------
    k : int
        Domain size.
    absent, present : float64[levels]
        Distribution of a component that is 0, and of a component that is 1.
    high : int
        Number of levels, counted from the top, at which the likelihood ratio of present to absent is largest.
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


# This part has clamped discrete Laplace noise as an integer table: its weights, its inverse, its kernels.
#
# A component is `resolution` times a bit plus noise P(z) proportional to a^|z|, a = e^(-epsilon/(2 resolution)),
# clamped to -clamp..resolution+clamp. Reflecting the range turns the distribution for bit 0 into that for bit 1, so one
# table of integer weights over 2^64 is enough. Two answers differ in two components, so each of these may change its
# probability by a factor e^(epsilon/2).


_FRACTION_BITS = 256


_GUIDE_BITS = 12


_GUIDE_SHIFT = np.uint64(64 - _GUIDE_BITS)


@functools.lru_cache(maxsize=64)
def noise_weights(epsilon: Fraction, resolution: int, clamp: int) -> tuple[int, ...]:
    """Return the weights, of sum 2^64, of the levels -clamp..resolution+clamp of a component that is 0.

    Levels y and resolution - y are a pair: the bit swaps their probabilities. The larger weight of a pair is rounded
    down and the smaller one up. So their ratio is at most the ideal ratio, which is at most e^(epsilon/2). The
    remainder of 2^64 is shared by the middle pair, which also brings its weights closer.

    Raises
    ------
    InvalidParameterError
        If the squared ratio of these very integers is not proved to be at most e^epsilon.
    """
    levels = resolution + 2 * clamp + 1
    middle = levels // 2
    # The weight of each level is at most one unit above its share of this mass, so something is always left.
    mass = SCALE - levels
    low, high = exp_bounds(-epsilon / (2 * resolution))
    powers_low, powers_high = _power_bounds(low, high, resolution + clamp + 1)
    # P(z) = (1-a)/(1+a) a^|z|. All noise beyond -clamp, or beyond clamp + resolution, has the probability
    # a^distance/(1+a).
    inner_low, inner_high = _floor(mass * (1 - high) / (1 + high)), _ceil(mass * (1 - low) / (1 + low))
    outer_low, outer_high = _floor(mass / (1 + high)), _ceil(mass / (1 + low))
    weights = [0] * levels
    for i in range(middle):
        y = i - clamp
        larger = (outer_low if i == 0 else inner_low) * powers_low[abs(y)]
        smaller = (outer_high if i == 0 else inner_high) * powers_high[resolution - y]
        weights[levels - 1 - i] = -(-smaller >> 2 * _FRACTION_BITS)
        weights[i] = max(larger >> 2 * _FRACTION_BITS, weights[levels - 1 - i])
    spare = SCALE - sum(weights)
    weights[(levels - 1) // 2] += spare // 2  # this is the middle level itself, if there is one
    weights[middle] += spare - spare // 2
    if min(weights) < 1 or half_ratio(weights) ** 2 > exp_bounds(epsilon)[0]:
        raise InvalidParameterError(
            f"resolution and clamp must be small enough for 64-bit weights at epsilon={float(epsilon)}, got "
            f"resolution={resolution}, clamp={clamp}; choose a smaller resolution or a smaller clamp"
        )
    return tuple(weights)


def half_ratio(weights: tuple[int, ...] | list[int]) -> Fraction:
    """Return the largest ratio of a level's probabilities under the two bits, in either direction."""
    best = (1, 1)
    for a, b in zip(weights, reversed(weights), strict=True):
        if a * best[1] > b * best[0]:
            best = (a, b)
    return Fraction(*best)


def _power_bounds(low: Fraction, high: Fraction, size: int) -> tuple[list[int], list[int]]:
    """Return fixed-point bounds of a^0, ..., a^(size-1) for any a between low and high."""
    base_low, base_high = _floor(low), _ceil(high)
    lower, upper = [1 << _FRACTION_BITS], [1 << _FRACTION_BITS]
    for _ in range(size - 1):
        lower.append(lower[-1] * base_low >> _FRACTION_BITS)
        upper.append(-(-upper[-1] * base_high >> _FRACTION_BITS))
    return lower, upper


def _floor(value: Fraction) -> int:
    return math.floor(value * (1 << _FRACTION_BITS))


def _ceil(value: Fraction) -> int:
    return math.ceil(value * (1 << _FRACTION_BITS))


def inverse_table(weights: tuple[int, ...]) -> tuple[Words, NDArray[np.uint16]]:
    """Return (last, guide), with which a word is looked up: level i is last[i-1] < word <= last[i].

    `last` is uint64[levels], the largest word of each level. `guide` is uint16[4096], the place where the search starts
    for a word with these twelve leading bits.
    """
    table = np.array([total - 1 for total in itertools.accumulate(weights)], dtype=np.uint64)
    starts = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << _GUIDE_SHIFT
    return table, np.searchsorted(table, starts, side="left").astype(np.uint16)


@kernel
def randomize_components(
    codes: Codes,
    words: Words,
    last: Words,
    guide: NDArray[np.uint16],
    resolution: int,
    clamp: int,
    reports: Components,
) -> None:
    """Write noisy one-hot vectors of codes[n] into reports[n, k].

    The noise comes from words uint64[n, k] and the tables of `inverse_table`.
    """
    for r in range(codes.shape[0]):
        for v in range(words.shape[1]):
            word = words[r, v]
            level = np.int64(guide[word >> _GUIDE_SHIFT])
            while word > last[level]:
                level += 1
            reports[r, v] = level - clamp
        x = codes[r]
        reports[r, x] = resolution - np.int64(reports[r, x])


@randomize_components.for_few
def _randomize_few(
    codes: Codes,
    words: Words,
    last: Words,
    guide: NDArray[np.uint16],  # noqa: ARG001
    resolution: int,
    clamp: int,
    reports: Components,
) -> None:
    # Without compilation the loop would look up a thousand components one by one, while numpy looks all of them up at
    # once.
    reports[:] = np.searchsorted(last, words, side="left") - clamp
    for r, x in enumerate(codes.tolist()):
        reports[r, x] = resolution - int(reports[r, x])


@kernel
def sum_components(reports: Components, low: int, high: int, totals: NDArray[np.int64]) -> int:
    """Add reports[n, k] to totals[k].

    Return the first row with a component outside low..high, or -1.
    """
    for r in range(reports.shape[0]):
        inside = True
        for v in range(reports.shape[1]):
            value = int(reports[r, v])
            inside &= (low <= value) & (value <= high)
            totals[v] += value
        if not inside:
            return r
    return -1
