"""Common parts of Apple's two sketches, whose fixed hash functions give the estimator a lasting bias.

The source is Differential Privacy Team, Apple, *Learning with privacy at scale* (2017). Every contributor uses one
function from a fixed list of 3-wise independent functions. How often two values collide over that list is then a
number, not a probability. The estimator assumes 1/m, and is wrong by the difference, however many contributors there
are (Pan, *Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator for Large
Dictionaries*, section 3.7).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes, checked_integer, code_dtype, settle
from deniable.core.estimate import Estimate, affine_estimate, affine_variance
from deniable.core.kernels import kernel
from deniable.core.randomness import BLOCK_WORDS
from deniable.core.thresholds import checked_epsilon
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.oracles.oracle import FrequencyOracle

PRIME = (1 << 31) - 1
"""Mersenne prime, and the largest domain. The hash functions are polynomials over the integers modulo this prime."""

MAX_COUNTERS = 1 << 31
"""Largest hashes * m."""


@dataclass(frozen=True)
class FixedHashes:
    """List of public hash functions {0, ..., k-1} -> {0, ..., m-1}, the same for everybody.

    Function j maps x to floor(m (a_j + b_j x + c_j x^2 mod P)/2^31), where P = 2^31 - 1. Its coefficients come from
    SHAKE-256 of the seed. Over random seeds, the functions are 3-wise independent and uniform up to m/P.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^31 - 1.
    m : int
        Number of cells, 2 <= m.
    hashes : int
        Number of functions, hashes * m <= 2^31.
    seed : int
        Public seed, 0 <= seed < 2^64.

    Examples
    --------
    >>> functions = FixedHashes(k=10, m=4, hashes=2, seed=0)
    >>> functions.table()
    array([[3, 3, 0, 1, 3, 0, 3, 1, 0, 3],
           [2, 1, 3, 3, 2, 3, 2, 3, 3, 0]], dtype=uint8)
    """

    k: int
    m: int
    hashes: int
    seed: int

    def __post_init__(self) -> None:
        checked_integer("k", self.k, 2, PRIME)
        checked_integer("m", self.m, 2, MAX_COUNTERS)
        checked_integer("hashes", self.hashes, 1, MAX_COUNTERS)
        checked_integer("seed", self.seed, 0, (1 << 64) - 1)
        if self.hashes * self.m > MAX_COUNTERS:
            raise InvalidParameterError(f"hashes * m must be <= {MAX_COUNTERS}, got {self.hashes} * {self.m}")

    @cached_property
    def coefficients(self) -> NDArray[np.uint64]:
        """Coefficients (a, b, c) of every function, uint64[hashes, 3] in 0..P-1."""
        stream = hashlib.shake_256(b"deniable fixed hashes\0" + str(self.seed).encode()).digest(24 * self.hashes)
        # 64 bits modulo a 31-bit prime are uniform up to 2^-33. They decide nothing private.
        words = np.frombuffer(stream, dtype="<u8").astype(np.uint64).reshape(self.hashes, 3)
        return np.ascontiguousarray(words % np.uint64(PRIME))

    def cells(self, codes: Codes, index: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return the cell of each code under the function of its index, where all arrays have shape (n,)."""
        cells = np.empty(len(codes), dtype=code_dtype(self.m))
        hash_codes(codes, index, self.coefficients, np.uint64(self.m), cells)
        return cells

    def of_all(self, j: int, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Return the cells of all values, or of start, ..., stop-1, under function j."""
        codes = np.arange(start, self.k if stop is None else stop)
        return self.cells(codes, np.full(len(codes), j))

    def table(self) -> NDArray[Any]:
        """Return the cells of all values under all functions, shape (hashes, k)."""
        return np.array([self.of_all(j) for j in range(self.hashes)])

    def gather(self, sketch: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum over j of sketch[j, h_j(x)] for every x, int64[k], in O(hashes k) time and O(k) memory."""
        totals = np.zeros(self.k, dtype=np.int64)
        # A block of values stays in the cache while every function passes over it.
        for start in range(0, self.k, BLOCK_WORDS):
            stop = min(start + BLOCK_WORDS, self.k)
            for j, row in enumerate(sketch):
                totals[start:stop] += row[self.of_all(j, start, stop)]
        return totals

    def conditional_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return E f^(x) - f(x) of the sketch with *these* functions, float64[k] (Pan, eq. (3)).

        It is m/(m-1) (g(x) - 1/m) - f(x). Here g(x) is the frequency of the cell of x, including all other values in
        the cell, averaged over the functions. The computation takes O(hashes k) time and O(k) memory.

        Raises
        ------
        InvalidInputError
            If the frequencies are not k numbers that sum to one.
        """
        f = self._checked(frequencies)
        shared = np.zeros(self.k)
        for j in range(self.hashes):
            cells = self.of_all(j)
            shared += np.bincount(cells, weights=f, minlength=self.m)[cells]
        return self.m / (self.m - 1) * (shared / self.hashes - 1 / self.m) - f

    def expected_squared_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the squared bias over random seeds, float64[k] (Pan, eq. (18)).

        It is the sum of f(x')^2 over x' != x, divided by (m-1) hashes.
        """
        f = self._checked(frequencies)
        squares = f**2
        expected: NDArray[np.float64] = (squares.sum() - squares) / ((self.m - 1) * self.hashes)
        return expected

    def _checked(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        f = np.asarray(frequencies, dtype=np.float64)
        if f.shape != (self.k,) or not np.isfinite(f).all():
            raise InvalidInputError(
                f"frequencies must be {self.k} finite numbers (one for each value), got shape={f.shape}"
            )
        if abs(float(f.sum()) - 1) > 1e-6:
            raise InvalidInputError(f"frequencies must sum to 1, got a sum of {float(f.sum())}")
        return f


@kernel
def hash_codes(
    codes: Codes,
    index: NDArray[np.integer[Any]],
    coefficients: NDArray[np.uint64],
    m: np.uint64,
    cells: NDArray[Any],
) -> None:
    """Write floor(m (a + b x + c x^2 mod P)/2^31), with the coefficients of every row's index, into cells[n]."""
    prime, shift = np.uint64((1 << 31) - 1), np.uint64(31)
    for i in range(codes.shape[0]):
        x, j = np.uint64(codes[i]), index[i]
        # 2^31 = 1 modulo P, so folding the high bits twice leaves a residue in 0..P. Products stay below 2^63.
        value = coefficients[j, 2] * x + coefficients[j, 1]
        value = (value & prime) + (value >> shift)
        value = (value & prime) + (value >> shift)
        value = value * x + coefficients[j, 0]
        value = (value & prime) + (value >> shift)
        value = (value & prime) + (value >> shift)
        value = np.uint64(0) if value == prime else value
        cells[i] = (value * m) >> shift


Reports = TypeVar("Reports")


class FixedSketch(FrequencyOracle[Reports]):
    """Sketch over a list of hash functions that is the same in every collection.

    Attributes
    ----------
    published : str
        Name of the sketch in the named step of its estimates.
    m, hashes, seed : int
        Number of cells, number of hash functions, and public seed of the functions.
    """

    published: ClassVar[str]
    epsilon: float | Fraction
    m: int
    hashes: int
    seed: int

    support_law = None

    def _check_parameters(self) -> None:
        """Check and set the common parameters of both sketches."""
        settle(self, epsilon=checked_epsilon(self.epsilon))
        FixedHashes(self.k, self.m, self.hashes, self.seed)
        for parameter in ("k", "m", "hashes", "seed"):
            object.__setattr__(self, parameter, int(getattr(self, parameter)))

    @cached_property
    def functions(self) -> FixedHashes:
        """Public hash functions."""
        return FixedHashes(self.k, self.m, self.hashes, self.seed)

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Probabilities (p1, p0) that the estimator uses, as if every two values collided with one probability."""

    @abstractmethod
    def support_counts(self, aggregate: Aggregate) -> NDArray[np.int64]:
        """Analyst: return the number of reports that support each value, int64[k].

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return Apple's estimate (C/n - p0)/(p1 - p0), which is **biased** and therefore has no intervals.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If the aggregate contains no reports.
        """
        p1, p0 = map(float, self.support_probabilities)
        estimate = affine_estimate(self.support_counts(aggregate), aggregate.n, p1, p0)
        return replace(estimate, processing=(f"{self.published} (biased: collisions are fixed)",))

    def conditional_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return the estimate's expectation minus the truth, float64[k], exact for this seed (Pan, eq. (3)).

        Parameters
        ----------
        frequencies : float[k]
            True frequencies, which sum to one.
        """
        return self.functions.conditional_bias(frequencies)

    def expected_squared_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the squared bias over random seeds, float64[k] (Pan, eq. (18))."""
        return self.functions.expected_squared_bias(frequencies)

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency from n contributors, if all values collided with the assumed probability.

        It is not the estimate's error. The mean squared error over seeds is about this variance plus
        `expected_squared_bias`.
        """
        return affine_variance(*self.support_probabilities, f, n)

    def worst_variance(self, n: int) -> float:
        """Return the larger of the variances at f = 0 and f = 1, to which the bias adds."""
        return max(self.variance(0.0, n), self.variance(1.0, n))
