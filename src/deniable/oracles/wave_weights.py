"""The channel of the discrete square wave, and the weights of least variance that undo it.

A report y of a code x is *near* if x <= y <= x + 2b, and far else. Unbiased weights of a question c satisfy
``sum_y P(y | x) W[y] = c[x]`` for every x. Two neighbouring equations differ in two outputs only:
``W[y + w] = W[y] + (c[y + 1] - c[y])/(near - far)`` with w = 2b + 1. So the weights of every w-th output are known but
for one number, and of w numbers one equation is left: the weights of least variance for uniform answers (generalised
least squares, W = D^-1 P'(P D^-1 P')^-1 c) cost O(k + 2b) instead of a system of k equations.

Li, Wang, Lopuhaä-Zwakenberg, Li, Škoric, *Estimating numerical distributions under local differential privacy* (2020),
section 5.5 for the window; its continuous wave is discrete here, and thresholds are integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.thresholds import SCALE, exp_bounds, threshold_up

Floats = NDArray[np.float64]

BLOCK_CELLS = 1 << 20
"""Weights that are set up at a time (8 MiB)."""

TIE = 1e-9
"""Windows whose variances differ by less, relatively, are a tie: other sums of the same floats choose no other one."""


def far_threshold(k: int, window: int, budget: Fraction) -> int:
    """Return Q: each far output has probability Q/2^64, and a near one as much of the rest as any other.

    Q = ceil(2^64/((2b + 1) e^epsilon + k - 1)) with e^epsilon rounded down: rounding brings probabilities closer.
    """
    lower, _ = exp_bounds(budget)
    return threshold_up(1 / ((2 * window + 1) * lower + k - 1))


@dataclass(frozen=True)
class Wave:
    """P(y | x) of a square wave, in floats or in Fractions, and what is linear in its reports.

    Parameters
    ----------
    k, window : int
        Number of codes, and b: reports x..x+2b are near x.
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
        """P(y) for uniform answers, [k + 2b]."""
        y = np.arange(self.outputs)
        near = np.minimum(y, self.k - 1) - np.maximum(y - 2 * self.window, 0) + 1
        # Numbers of this wave's own kind: an array of Fractions stays exact.
        mixed: NDArray[Any] = self.far + (self.near - self.far) * self._like(near) / self.k
        return mixed

    def channel(self) -> NDArray[Any]:
        """Return P(y | x), [k, k + 2b]."""
        x, y = np.arange(self.k)[:, None], np.arange(self.outputs)
        matrix: NDArray[Any] = np.where((x <= y) & (y <= x + 2 * self.window), self.near, self.far)
        return matrix

    def weights(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return the weights W[s, k + 2b] of least variance at uniform answers, of questions scores[s, k]."""
        w, outputs = self.width, self.outputs
        rows = -(-outputs // w)
        padded = rows * w
        steps = self._zeros((len(scores), padded))
        steps[:, w:outputs] = (scores[:, 1:] - scores[:, :-1]) / (self.near - self.far)
        # Output l w + r in row l, column r: a column's weights are known but for one number.
        known = np.cumsum(steps.reshape(-1, rows, w), axis=1)
        real = (np.arange(padded) < outputs).reshape(rows, w)
        mass = self._zeros(padded)
        mass[:outputs] = self.mixed
        mass = mass.reshape(rows, w)
        of_column = mass.sum(axis=0)
        centre = (known * mass).sum(axis=1) / of_column
        # The equation that is left, of code 0: far times all weights, and (near - far) times the first w.
        gain = self.far * self._like(real.sum(axis=0)) + (self.near - self.far)
        missing = scores[:, 0] - self.far * (known * real).sum(axis=(1, 2)) + (centre * gain).sum(axis=1)
        lift = gain / of_column
        share = missing / (gain * lift).sum()
        free = share[:, None] * lift - centre
        found: NDArray[Any] = (known + free[:, None, :]).reshape(-1, padded)[:, :outputs]
        return found

    def means(self, values: Floats) -> Floats:
        """Return E[values[y] | x], float64[s, k], of values[s, k + 2b]."""
        sums = np.zeros((len(values), self.outputs + 1))
        np.cumsum(values, axis=1, out=sums[:, 1:])
        near = sums[:, self.width :] - sums[:, : self.k]
        found: Floats = self.far * sums[:, -1:] + (self.near - self.far) * near
        return found

    def unit_weights(self, codes: NDArray[np.int64]) -> Iterator[tuple[slice, Floats]]:
        """Yield (rows, weights) of the frequencies of codes, a block at a time."""
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
    """Return the implemented wave."""
    far = Fraction(far_threshold(k, window, budget), SCALE)
    near = (1 - (k - 1) * far) / (2 * window + 1)
    return Wave(k, window, far, near) if exact else Wave(k, window, float(far), float(near))


def paper_window(k: int, budget: Fraction) -> int:
    """Return the window of the paper, floor(k (t e^t - e^t + 1)/(2 e^t (e^t - 1 - t))) with t the budget.

    It maximises a bound of the mutual information. e^t - 1 - t is taken of 60 digits: floats cancel at small budgets.
    """
    grown, _ = exp_bounds(budget)
    return math.floor(k * (budget * grown - grown + 1) / (2 * grown * (grown - 1 - budget)))


@lru_cache(maxsize=1024)
def mean_window(k: int, budget: Fraction) -> int:
    """Return the window in 0..k of least variance of an estimated mean, averaged over answers; the smallest on ties."""
    # The average of E[W^2 | x] over x, which differs from the variance by what no window changes; nor does the unit.
    scores = np.arange(k, dtype=np.float64)[None, :]
    squares = [_mean_square(make_wave(k, window, budget), scores) for window in range(k + 1)]
    limit = min(squares) * (1 + TIE)
    return next(window for window, square in enumerate(squares) if square <= limit)


def _mean_square(wave: Wave, scores: Floats) -> float:
    return float(wave.weights(scores)[0] ** 2 @ wave.mixed)
