"""Square wave: reports of ordered answers are near the truth more often than far from it.

The mechanism is from Li, Wang, Lopuhaä-Zwakenberg, Li, Škoric, *Estimating numerical distributions under local
differential privacy* (2020), section 5. This implementation differs from the paper in three ways:

* The wave is discrete: it maps k codes to k + 2b reports.
* The probabilities are integers divided by 2^64. They are rounded so that the guarantee can only become stronger.
* The default window is the best window for means.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.bounded_sums import Added, Sample
from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, checked_report_codes, code_dtype, settle
from deniable.core.estimate import Estimate
from deniable.core.joint import listed_reports
from deniable.core.kernels import kernel
from deniable.core.mechanism import MAX_CHANNEL_CELLS, CraftedReports
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, Words, blocks, uniform_below
from deniable.core.support_counts import Influence
from deniable.core.thresholds import SCALE, checked_epsilon, exp_bounds, spent, threshold_up
from deniable.errors import InvalidParameterError, out_of_range, quoted
from deniable.oracles.grr import HistogramReports
from deniable.oracles.linear import Floats, LinearOracle
from deniable.oracles.oracle import WeighedReports

MAX_CODES = 4096
"""Largest domain. Finding the window takes a second there, and more points of a scale give no more information."""

WINDOWS = ("mean", "paper")
"""Windows that have a name."""


@final
@dataclass(frozen=True)
class SquareWave(HistogramReports, LinearOracle[Codes], CraftedReports, WeighedReports):
    """The square wave reports a code on an ordered scale: codes near the true code are likelier than other codes.

    Use it for means, distribution functions and quantiles of ordered answers. For the frequencies of single answers,
    other oracles have a smaller error, for example `SubsetSelection`.

    The window b sets which reports are near the truth. A report is a number y from 0 to k + 2b - 1. Report y is *near*
    code x if x <= y <= x + 2b. So 2b + 1 reports are near each code, and k-1 reports are far from it. Each far report
    has probability Q/2^64, where Q = ceil(2^64/((2b + 1) E + k - 1)). Here E is a rational lower bound of e^epsilon,
    with a relative error below 1e-55. The near reports share the remaining probability equally.

    Every client derives a report y from a uniform 64-bit random word u in the same way. With T = (k-1) Q there are
    three cases:

    * If u < T, the report is far. With j = floor(u/Q), the report is j if j < x, and j + 2b + 1 otherwise.
    * If u >= T, let s = floor((2^64 - T)/(2b + 1)) and j = floor((u - T)/s). If j <= 2b, the report is x + j, which is
      near.
    * If u >= T and this j is 2b + 1, let d = floor(2^64/(2b + 1)). The client draws fresh words v until floor(v/d) is
      at most 2b. The report is x + floor(v/d), a uniformly drawn near report. This case happens for less than (2b +
      1)/2^64 of all words u.

    Parameters
    ----------
    k : int
        Number of points k of the scale, from 2 to 4096.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    window : {"mean", "paper"} or int, optional
        Window b, an integer from 0 to k. With "mean", b is the window with the least variance of an estimated mean,
        averaged over all possible answers. If several windows have this least average, b is the smallest of these
        windows. With "paper", b is the window of Li et al. On scales with many points, the window of "paper" is smaller
        than the window of "mean". If the window is 0, the mechanism is randomised response. The object stores the
        integer in `window`.

    Raises
    ------
    InvalidParameterError
        If k, epsilon or window is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.oracles.square_wave import SquareWave
    >>> import numpy as np
    >>> wave = SquareWave(k=16, epsilon=1.0)
    >>> wave
    SquareWave(k=16, epsilon=1.0, window=7)
    >>> reports = wave.randomize(np.repeat([3, 5], 500), SimulationRandomness(1))
    >>> reports.dtype, wave.state_size
    (dtype('uint8'), 30)
    >>> estimate = wave.estimate(wave.aggregate(reports))
    >>> bool(abs(estimate.frequencies @ np.arange(16) - 4) < 3 * 15 / np.sqrt(1000))  # the mean, 4
    True
    """

    k: int
    epsilon: float | Fraction
    window: int | str = "mean"

    report_type = staticmethod(np.asarray)
    support_law = None
    ordered = True
    stated = ("window",)
    name = "SquareWave"
    card = Card(
        group="one attribute",
        when="for ordered answers, to estimate the mean, the distribution function or quantiles",
        aliases=("SW", "square wave"),
        planned=False,
        instead="SquareWave is for means, not for single frequencies; to plan for means, use a schema that asks "
        "for means",
        wire="one of k + 2b codes",
        page="ordered.md",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_integer("k", self.k, 2))
        if self.k > MAX_CODES:
            raise out_of_range("k", f"<= {MAX_CODES} for a square wave", self.k, "coarsen the scale or its grid")
        settle(self, epsilon=checked_epsilon(self.epsilon))
        settle(self, window=self._chosen_window())

    def _chosen_window(self) -> int:
        if isinstance(self.window, str):
            if self.window not in WINDOWS:
                raise InvalidParameterError(
                    f'window must be "mean", "paper" or an integer in 0..{self.k}, got window={quoted(self.window)}'
                )
            choose = mean_window if self.window == "mean" else paper_window
            return choose(self.k, spent(self.epsilon))
        return checked_integer("window", self.window, 0, self.k)

    @property
    def _b(self) -> int:
        assert isinstance(self.window, int)
        return self.window

    @cached_property
    def _far(self) -> int:
        return far_threshold(self.k, self._b, spent(self.epsilon))

    @cached_property
    def wave(self) -> Wave:
        """The implemented probabilities, as floats."""
        return make_wave(self.k, self._b, spent(self.epsilon))

    @property
    def exact_wave(self) -> Wave:
        """The implemented probabilities, in Fractions."""
        return make_wave(self.k, self._b, spent(self.epsilon), exact=True)

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        reports = np.empty(len(codes), dtype=code_dtype(self.state_size))
        width, far = 2 * self._b + 1, self._far
        near = (SCALE - (self.k - 1) * far) // width
        last = np.uint64((self.k - 1) * far + width * near - 1)
        for rows, words in blocks(rng, len(codes)):
            part = reports[rows]
            if randomize_wave(codes[rows], words, np.uint64(far), np.uint64(near), self.k, self._b, part):
                remainder = np.flatnonzero(words > last)
                part[remainder] = codes[rows][remainder] + uniform_below(rng, width, len(remainder))
        return reports

    # ---------------------------------------------------------------- collector

    def supports(self, reports: ArrayLike, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which values each report is near, bool[n, len(values)]; a report is likeliest for these values."""
        y = checked_report_codes(reports, self.state_size).astype(np.int64)[:, None]
        return (values <= y) & (y <= values + 2 * self._b)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return unbiased frequencies with the least variance that is possible if answers are uniform.

        Single frequencies are noisier than with other oracles, but their errors cancel in sums. So use the mean, the
        distribution function (`cdf`) and quantiles of this estimate. Standard errors are computed from the reports,
        because the noise of an answer depends on its place on the scale.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        self.check(aggregate)
        wave, counts, n = self.wave, aggregate.counts.astype(np.float64), aggregate.n
        frequencies, noise = np.empty((2, self.k))
        for rows, weights in wave.unit_weights(np.arange(self.k)):
            frequencies[rows] = weights @ counts / n
            squares = weights**2
            # The expectation of W^2 - W is the variance given x, averaged over answers, because c^2 = c for one value.
            seen = squares @ counts / n - frequencies[rows]
            possible = self._noise(rows, squares)
            noise[rows] = np.clip(seen, possible.min(axis=1), possible.max(axis=1))
        samples = (Sample(n, 1.0, self._report_law),)
        return Estimate(frequencies, n, noise, noise, joint=self._linear_variance, samples=samples)

    def unreported(self, contributors: int) -> Estimate:
        unknown = np.full(self.k, np.nan)
        joint = self._linear_variance
        return Estimate(unknown, 0, noise_absent=unknown, noise_present=unknown, contributors=contributors, joint=joint)

    def gls_weights(self, scores: ArrayLike | Sequence[Fraction], *, exact: bool = False) -> NDArray[Any]:
        """Analyst: return the amount that each report adds to an unbiased estimate of a mean of scores, [k + 2b].

        Among all unbiased amounts, these have the least variance if all answers are equally frequent.
        `answers.functional` uses them.

        Parameters
        ----------
        scores : float[k], or of Fractions if `exact`
            Score of each answer.
        exact : bool
            If True, return Fractions W with ``channel(exact=True) @ W == scores`` exactly; otherwise float64.
        """
        if exact:
            asked = np.array([[Fraction(score) for score in np.asarray(scores).tolist()]])
            return cast(NDArray[Any], self.exact_wave.weights(asked)[0])
        return cast(Floats, self.wave.weights(np.array(scores, dtype=np.float64)[None, :])[0])

    def report_weights(self, scores: Floats) -> tuple[Floats, Floats]:
        """Analyst: return `gls_weights` of scores, and the variance of one report's weight for each true value, [k]."""
        weights = self.wave.weights(scores[None, :])
        return weights[0], self.wave.means(weights**2)[0] - scores**2

    def report_means(self, values: Floats) -> Floats:
        """Return the mean of values[m, k + 2b] over the reports of each true value, float64[m, k]."""
        return self.wave.means(values)

    def _report_law(self, scores: Floats) -> Added:
        return listed_reports(self.report_means, self.report_weights(scores)[0])

    def variance(self, f: float, n: int) -> float:
        """Return the noise variance of an estimated frequency at true frequency f, with n contributors.

        It is the mean of this variance over all values. All other contributors are assumed to hold the other values
        equally often.
        """
        own, other = self._mean_noise
        return (f * own + (1 - f) * other) / n

    @cached_property
    def _mean_noise(self) -> tuple[float, float]:
        """Variances that a holder and a contributor of another value add to a frequency, averaged over values."""
        own = total = 0.0
        for rows, weights in self.wave.unit_weights(np.arange(self.k)):
            noise = self._noise(rows, weights**2)
            own += noise[np.arange(len(noise)), np.arange(rows.start, rows.stop)].sum()
            total += noise.sum()
        return own / self.k, (total - own) / (self.k * (self.k - 1))

    def _noise(self, rows: slice, squares: Floats) -> Floats:
        """Return the variance that a holder of each value adds to the frequencies `rows` with these squared weights."""
        noise = self.wave.means(squares)
        noise[np.arange(len(noise)), np.arange(rows.start, rows.stop)] -= 1
        return noise

    def _influence(self, targets: int, attribute: int) -> Influence | None:  # noqa: ARG002
        if self.k * self.state_size > MAX_CHANNEL_CELLS:
            return None
        # Each column has one report's weights of all values. The largest weights raise the targets most, and the
        # smallest lower them most.
        weights = np.sort(np.concatenate([block for _, block in self.wave.unit_weights(np.arange(self.k))]), axis=0)
        return Influence(float(weights[-targets:].sum(axis=0).max()), float(weights[:targets].sum(axis=0).min()))

    def _covariance(self, f: Floats, codes: NDArray[np.int64]) -> Floats:
        weights = np.concatenate([block for _, block in self.wave.unit_weights(codes)])
        matrix: Floats = (weights * (f @ self.wave.channel())) @ weights.T
        matrix -= np.where(codes[:, None] == codes[None, :], f[codes][:, None], 0.0)
        return matrix

    def _linear_variance(self, weights: Floats, f: Floats) -> float:
        return float(self.report_weights(weights)[1] @ f)

    # ---------------------------------------------------------------- guarantee and exact distribution

    def privacy(self) -> Guarantee:
        return self._local_guarantee()

    def implemented_ratio(self) -> Fraction:
        wave = self.exact_wave
        return Fraction(wave.near / wave.far)

    def _channel(self) -> NDArray[Any]:
        self._check_channel(self.k, self.state_size)
        return self.exact_wave.channel()

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # With probability (k + 2b) far a report is uniform. Otherwise it is uniform among the near outputs.
        uniform = rng.generator.binomial(counts, self.state_size * self.wave.far)
        spread = rng.generator.multinomial(uniform.sum(), np.full(self.state_size, 1 / self.state_size))
        width = self.wave.width
        near = np.full(width, 1 / width)
        for x in np.flatnonzero(counts - uniform):
            spread[x : x + width] += rng.generator.multinomial(counts[x] - uniform[x], near)
        return spread

    @property
    def state_size(self) -> int:
        return self.k + 2 * self._b


@kernel
def randomize_wave(
    codes: Codes, words: Words, far: np.uint64, near: np.uint64, k: int, window: int, reports: Codes
) -> int:
    """Write codes[n] after the square wave with words uint64[n] to reports[n], and return the remainders.

    The parameter `near` is s of the class. Rows of the remainder have words beyond the last stretch of s. The caller
    must draw them again.
    """
    lies = np.uint64(k - 1) * far
    by_far, by_near = 1.0 / float(far), 1.0 / float(near)
    width, remainders = np.int64(2 * window + 1), np.int64(0)
    for i in range(codes.shape[0]):
        x, word = np.int64(codes[i]), words[i]
        is_near = word >= lies
        rest = word - lies if is_near else word
        size = near if is_near else far
        # floor(rest/size) is a float product that is off by at most one, then corrected in integers. For b = 0 there is
        # one near report, and one stretch of words that may not fit a signed integer.
        step = np.int64(float(rest) * (by_near if is_near else by_far))
        if width == 1 and is_near:
            step = np.int64(0)
        else:
            left = np.int64(rest - np.uint64(step) * size)
            step += np.int64(left >= np.int64(size)) - np.int64(left < 0)
        if is_near:
            remainders += np.int64(step >= width)
            reports[i] = x + min(step, width - 1)
        else:
            reports[i] = step if step < x else step + width
    return int(remainders)


# This part has the channel of the discrete square wave, and the weights of least variance that undo it.
#
# A report y of a code x is *near* if x <= y <= x + 2b, and far otherwise. Unbiased weights of a question c satisfy
# ``sum_y P(y | x) W[y] = c[x]`` for every x. Two neighbouring equations differ only in two outputs: ``W[y + w] = W[y] +
# (c[y + 1] - c[y])/(near - far)`` with w = 2b + 1. So the weights of every w-th output are known up to one number. One
# equation is left for these w numbers. The weights of least variance for uniform answers (generalised least squares, W
# = D^-1 P'(P D^-1 P')^-1 c) therefore cost O(k + 2b) instead of a system of k equations.
#
# The window is from Li, Wang, Lopuhaä-Zwakenberg, Li, Škoric, *Estimating numerical distributions under local
# differential privacy* (2020), section 5.5. Their continuous wave is discrete here, and thresholds are integers.


BLOCK_CELLS = 1 << 20
"""Weights that are set up at a time (8 MiB)."""


TIE = 1e-9
"""Windows whose variances differ relatively by less than this are a tie. So another order of the same sums cannot
choose another window."""


def far_threshold(k: int, window: int, budget: Fraction) -> int:
    """Return Q: each far output has probability Q/2^64, and the near outputs share the rest equally.

    Q = ceil(2^64/((2b + 1) e^epsilon + k - 1)) with e^epsilon rounded down. This rounding brings the probabilities
    closer.
    """
    lower, _ = exp_bounds(budget)
    return threshold_up(1 / ((2 * window + 1) * lower + k - 1))


@dataclass(frozen=True)
class Wave:
    """Probabilities P(y | x) of a square wave, as floats or Fractions, and the weights of linear questions.

    Parameters
    ----------
    k, window : int
        Number of codes, and the number b for which reports x..x+2b are near x.
    far, near : float or Fraction
        Probability of one far output, and of one near output.
    """

    k: int
    window: int
    far: Any
    near: Any

    @property
    def outputs(self) -> int:
        """Number of different reports, k + 2b."""
        return self.k + 2 * self.window

    @property
    def width(self) -> int:
        """Number of near outputs, 2b + 1."""
        return 2 * self.window + 1

    @cached_property
    def mixed(self) -> NDArray[Any]:
        """Array [k + 2b] of the probabilities P(y) for uniform answers."""
        y = np.arange(self.outputs)
        near = np.minimum(y, self.k - 1) - np.maximum(y - 2 * self.window, 0) + 1
        # The numbers have this wave's own type, so an array of Fractions stays exact.
        mixed: NDArray[Any] = self.far + (self.near - self.far) * self._like(near) / self.k
        return mixed

    def channel(self) -> NDArray[Any]:
        """Return the channel P(y | x), [k, k + 2b]."""
        x, y = np.arange(self.k)[:, None], np.arange(self.outputs)
        matrix: NDArray[Any] = np.where((x <= y) & (y <= x + 2 * self.window), self.near, self.far)
        return matrix

    def weights(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return weights W[s, k + 2b] for questions scores[s, k] with the least variance at uniform answers."""
        w, outputs = self.width, self.outputs
        rows = -(-outputs // w)
        padded = rows * w
        steps = self._zeros((len(scores), padded))
        steps[:, w:outputs] = (scores[:, 1:] - scores[:, :-1]) / (self.near - self.far)
        # Output l w + r is in row l and column r. The weights of a column are known up to one number.
        known = np.cumsum(steps.reshape(-1, rows, w), axis=1)
        real = (np.arange(padded) < outputs).reshape(rows, w)
        mass = self._zeros(padded)
        mass[:outputs] = self.mixed
        mass = mass.reshape(rows, w)
        of_column = mass.sum(axis=0)
        centre = (known * mass).sum(axis=1) / of_column
        # One equation is left, that of code 0: far times all weights, plus (near - far) times the first w.
        gain = self.far * self._like(real.sum(axis=0)) + (self.near - self.far)
        missing = scores[:, 0] - self.far * (known * real).sum(axis=(1, 2)) + (centre * gain).sum(axis=1)
        lift = gain / of_column
        share = missing / (gain * lift).sum()
        free = share[:, None] * lift - centre
        found: NDArray[Any] = (known + free[:, None, :]).reshape(-1, padded)[:, :outputs]
        return found

    def means(self, values: Floats) -> Floats:
        """Return float64[s, k]: the expected values E[values[y] | x] of values[s, k + 2b]."""
        sums = np.zeros((len(values), self.outputs + 1))
        np.cumsum(values, axis=1, out=sums[:, 1:])
        near = sums[:, self.width :] - sums[:, : self.k]
        found: Floats = self.far * sums[:, -1:] + (self.near - self.far) * near
        return found

    def unit_weights(self, codes: NDArray[np.int64]) -> Iterator[tuple[slice, Floats]]:
        """Yield (rows, weights) for the frequencies of codes, one block at a time."""
        step = max(1, BLOCK_CELLS // self.outputs)
        for start in range(0, len(codes), step):
            rows = slice(start, min(start + step, len(codes)))
            yield rows, self.weights((codes[rows, None] == np.arange(self.k)).astype(np.float64))

    def _zeros(self, shape: int | tuple[int, ...]) -> NDArray[Any]:
        return np.full(shape, Fraction(0), dtype=object) if isinstance(self.far, Fraction) else np.zeros(shape)

    def _like(self, integers: NDArray[np.integer[Any]]) -> NDArray[Any]:
        if not isinstance(self.far, Fraction):
            return integers.astype(np.float64)
        return np.array([Fraction(int(one)) for one in integers], dtype=object)


def make_wave(k: int, window: int, budget: Fraction, *, exact: bool = False) -> Wave:
    """Return the wave with the implemented probabilities."""
    far = Fraction(far_threshold(k, window, budget), SCALE)
    near = (1 - (k - 1) * far) / (2 * window + 1)
    return Wave(k, window, far, near) if exact else Wave(k, window, float(far), float(near))


def paper_window(k: int, budget: Fraction) -> int:
    """Return the paper's window, floor(k (t e^t - e^t + 1)/(2 e^t (e^t - 1 - t))), where t is the budget.

    It maximises a bound on the mutual information. The term e^t - 1 - t is computed with 60 digits, because floats
    cancel at small budgets.
    """
    grown, _ = exp_bounds(budget)
    return math.floor(k * (budget * grown - grown + 1) / (2 * grown * (grown - 1 - budget)))


@lru_cache(maxsize=1024)
def mean_window(k: int, budget: Fraction) -> int:
    """Return the smallest window in 0..k with the least variance of a mean, averaged over answers."""
    # This is the average of E[W^2 | x] over x. It differs from the variance by a term that no window changes. The unit
    # changes no comparison, either.
    scores = np.arange(k, dtype=np.float64)[None, :]
    squares = [_mean_square(make_wave(k, window, budget), scores) for window in range(k + 1)]
    limit = min(squares) * (1 + TIE)
    return next(window for window, square in enumerate(squares) if square <= limit)


def _mean_square(wave: Wave, scores: Floats) -> float:
    return float(wave.weights(scores)[0] ** 2 @ wave.mixed)
