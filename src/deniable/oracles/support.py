"""Dependence between the values that one report supports, from which covariances, guesses and leakage follow.

Every report supports a set of values. `FixedSize`, `Independent` and `Hashed` are the distributions of this set for the
pure oracles of the literature. If the set of an oracle has another distribution, its `support_law` is None. The results
are then computed by listing all reports.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.oracles.sketch.families.family import HashFamily


class SupportLaw(ABC):
    """Distribution of the supported set, which is the same for every value.

    Attributes
    ----------
    hashes : HashFamily or None
        Public hash functions, if the supported sets are the cells of hash functions; None otherwise.
    """

    hashes: HashFamily | None = None

    @property
    @abstractmethod
    def reachable(self) -> int | None:
        """Size of the sets of values (all of this size) that the worst reports single out, or None for every set."""

    @abstractmethod
    def guess_success(self) -> Fraction | float:
        """Return the probability that a uniform guess among the supported values (all values if none is) is right."""

    @abstractmethod
    def telling(self) -> float:
        """Return P(a report supports v and not w), v != w, if its contributor holds v, which tells v from w best."""


class PairLaw(SupportLaw):
    """Distribution of a pure oracle's supported set, which is the same for every pair of values.

    Attributes
    ----------
    exchangeable : bool
        True if `both` is exact for every pair. Otherwise `both` holds for ideal hash functions, and covariances are not
        computed from it.
    independent : bool
        True if values are supported independently of each other.
    """

    exchangeable: ClassVar[bool] = True
    independent: ClassVar[bool] = False

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, int]:
        """Smallest and largest number of values that one report can support, for any contributor."""

    @abstractmethod
    def both(self) -> tuple[Fraction, Fraction]:
        """Return P(a report supports v and w), v != w, if its contributor holds v, and if it holds neither."""

    @property
    @abstractmethod
    def ratio(self) -> float:
        """Return the ratio of a report's likelihoods under a value that it supports and under one that it does not."""

    @abstractmethod
    def log_absent(self, supported: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return [n]: log P(report | a value that it does not support) for reports with these numbers of values.

        For hashed reports, the probability is conditional on their public hash function.
        """


@dataclass(frozen=True)
class FixedSize(PairLaw):
    """Reports that support `size` values each, chosen uniformly apart from the contributor's own value.

    Parameters
    ----------
    k, size : int
        Domain size, and number of values that a report supports.
    p : Fraction
        Probability that the contributor's own value is among them.
    """

    k: int
    size: int
    p: Fraction

    @property
    def reachable(self) -> int:
        return self.size

    @property
    def sizes(self) -> tuple[int, int]:
        return self.size, self.size

    def both(self) -> tuple[Fraction, Fraction]:
        k, size, p = self.k, self.size, self.p
        own = p * Fraction(size - 1, k - 1)
        if k == 2:
            return own, Fraction(0)
        # If neither value is held, size-1 of the k-1 other values are supported if the own one is, else size.
        pairs = (k - 1) * (k - 2)
        return own, p * Fraction((size - 1) * (size - 2), pairs) + (1 - p) * Fraction(size * (size - 1), pairs)

    @property
    def ratio(self) -> float:
        return float(self.p * (self.k - self.size) / ((1 - self.p) * self.size))

    def log_absent(self, supported: NDArray[np.int64]) -> NDArray[np.float64]:
        sets = math.lgamma(self.k) - math.lgamma(self.size + 1) - math.lgamma(self.k - self.size)
        return np.full(len(supported), math.log(1 - self.p) - sets)

    def guess_success(self) -> Fraction | float:
        return self.p / self.size

    def telling(self) -> float:
        return float(self.p - self.both()[0])


@dataclass(frozen=True)
class Independent(PairLaw):
    """Reports that support every value independently of the others, as in unary encodings.

    Parameters
    ----------
    k : int
        Domain size.
    p, q : Fraction
        Probability that the contributor's own value is supported, and that any other value is.
    """

    independent = True

    k: int
    p: Fraction
    q: Fraction

    reachable = None

    @property
    def sizes(self) -> tuple[int, int]:
        return 0, self.k

    def both(self) -> tuple[Fraction, Fraction]:
        return self.p * self.q, self.q * self.q

    @property
    def ratio(self) -> float:
        return float(self.p * (1 - self.q) / (self.q * (1 - self.p)))

    def log_absent(self, supported: NDArray[np.int64]) -> NDArray[np.float64]:
        p, q = float(self.p), float(self.q)
        own = math.log1p(-p) - math.log1p(-q)
        return own + supported * math.log(q) + (self.k - supported) * math.log1p(-q)

    def guess_success(self) -> Fraction | float:
        p, q, k = float(self.p), float(self.q), self.k
        none = k * math.log1p(-q)
        return p * -math.expm1(none) / (k * q) + (1 - p) * math.exp(none - math.log1p(-q)) / k

    def telling(self) -> float:
        return float(self.p) * (1 - float(self.q))


@dataclass(frozen=True)
class Hashed(PairLaw):
    """Reports that support the values that their public hash function maps to their cell.

    The success of a guess is computed for the *full* family of hash functions. The families of this library agree with
    the full family on pairs of values only. For small k, the success for the prime family lies within 10% of this
    value. The success for Spread lies above it, by up to a half if k is about m.

    Parameters
    ----------
    hashes : HashFamily
        Family of public hash functions.
    p, q : Fraction
        Probability that the contributor's own cell is reported, and that any other cell is.
    """

    hashes: HashFamily = field()  # this field has no default, unlike the base's
    p: Fraction
    q: Fraction

    exchangeable = False
    reachable = None

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers 0 and k: contributors choose the hash function, and one may map all values to the same cell."""
        return 0, self.hashes.k

    def both(self) -> tuple[Fraction, Fraction]:
        collision = self.hashes.collision_probability
        return self.p * collision, collision * (collision * self.p + (1 - collision) * self.q)

    @property
    def ratio(self) -> float:
        return float(self.p / self.q)

    def log_absent(self, supported: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.full(len(supported), math.log(self.q))

    def guess_success(self) -> Fraction | float:
        return Independent(self.hashes.k, self.p, Fraction(1, self.hashes.m)).guess_success()

    def telling(self) -> float:
        return float(self.p * (1 - self.hashes.collision_probability))
