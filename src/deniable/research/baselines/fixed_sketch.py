"""What Apple's two sketches share: hash functions fixed in advance, and therefore an estimator whose bias stays.

Differential Privacy Team, Apple, *Learning with privacy at scale* (2017). The bias: Pan, *Improving Count-Mean Sketch
as the Leading Locally Differentially Private Frequency Estimator for Large Dictionaries*, section 3.7.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import Estimate, affine_estimate, affine_variance
from deniable.core.thresholds import checked_epsilon
from deniable.oracles.oracle import FrequencyOracle
from deniable.research.baselines.apple_hashes import FixedHashes

Reports = TypeVar("Reports")


class FixedSketch(FrequencyOracle[Reports]):
    """A sketch over a list of hash functions that is the same in every collection.

    Attributes
    ----------
    published : str
        What the sketch is called, in the named step of its estimates.
    m, hashes, seed : int
        Cells, number of hash functions, and their public seed.
    """

    published: ClassVar[str]
    epsilon: float | Fraction
    m: int
    hashes: int
    seed: int

    support_law = None

    def _check_parameters(self) -> None:
        """Check and set what both sketches are made of."""
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        FixedHashes(self.k, self.m, self.hashes, self.seed)
        for parameter in ("k", "m", "hashes", "seed"):
            object.__setattr__(self, parameter, int(getattr(self, parameter)))

    @cached_property
    def functions(self) -> FixedHashes:
        """The public hash functions."""
        return FixedHashes(self.k, self.m, self.hashes, self.seed)

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """(p1, p0) that the estimator uses, as if every two values collided with one probability."""

    @abstractmethod
    def support_counts(self, aggregate: Aggregate) -> NDArray[np.int64]:
        """Analyst: return int64[k], how many reports support each value.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: Apple's estimate (C/n - p0)/(p1 - p0), **biased**, and therefore without intervals.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        p1, p0 = map(float, self.support_probabilities)
        estimate = affine_estimate(self.support_counts(aggregate), aggregate.n, p1, p0)
        return replace(estimate, processing=(f"{self.published} (biased: collisions are fixed)",))

    def conditional_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return the estimate's expectation minus the truth, float64[k], exact for this seed (Pan, eq. (3)).

        Parameters
        ----------
        frequencies : float[k]
            True frequencies; they sum to one.
        """
        return self.functions.conditional_bias(frequencies)

    def expected_squared_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the squared bias over random seeds, float64[k] (Pan, eq. (18))."""
        return self.functions.expected_squared_bias(frequencies)

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency if values collided with that one probability, n contributors.

        It is not the estimate's error: the mean squared error over seeds is about this plus `expected_squared_bias`.
        """
        return affine_variance(*self.support_probabilities, f, n)

    def worst_variance(self, n: int) -> float:
        """Return the larger of the variances at f = 0 and f = 1; the bias comes on top."""
        return max(self.variance(0.0, n), self.variance(1.0, n))
