"""Dependence of the values that one report supports: what covariances, guesses and leakage need to know.

Every report leaves a set of values that it supports. `FixedSize`, `Independent` and `Hashed` are the laws of that set
for the field's pure oracles. An oracle whose set has no such law says None; what follows from a law is then found by
listing all reports.
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
    """The law of the supported set, the same for every value.

    Attributes
    ----------
    hashes : HashFamily or None
        The public hash functions whose cells are the supported sets, where they are such.
    """

    hashes: HashFamily | None = None

    @property
    @abstractmethod
    def reachable(self) -> int | None:
        """Which sets of values the worst reports single out: all of this size, or every set if None."""

    @abstractmethod
    def guess_success(self) -> Fraction | float:
        """Return the probability that a guess, uniform among the supported values, is right; among all if none is."""

    @abstractmethod
    def telling(self) -> float:
        """Return P(a report supports v and not w), v != w, if its contributor holds v: what tells v from w best."""


class PairLaw(SupportLaw):
    """The law of a pure oracle's supported set, the same for every pair of values.

    Attributes
    ----------
    exchangeable : bool
        Whether `both` is exact for every pair. Else it is that of ideal hash functions, and covariances are not made
        from it.
    independent : bool
        Whether values are supported independently of each other.
    """

    exchangeable: ClassVar[bool] = True
    independent: ClassVar[bool] = False

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, int]:
        """Least and most values that one report can support, whoever made it."""

    @abstractmethod
    def both(self) -> tuple[Fraction, Fraction]:
        """Return P(a report supports v and w), v != w, if its contributor holds v, and if neither."""

    @property
    @abstractmethod
    def ratio(self) -> float:
        """Return how much likelier a report is for the holder of a value that it supports than for anybody else."""

    @abstractmethod
    def log_absent(self, supported: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return log P(report | a value that it does not support) of reports by their number of supported values, [n].

        Of hashed reports given their public hash function.
        """


@dataclass(frozen=True)
class FixedSize(PairLaw):
    """Every report supports `size` values, uniformly chosen but for its contributor's own.

    Parameters
    ----------
    k, size : int
        Domain size; number of values that a report supports.
    p : Fraction
        Probability that the own value is among them.
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
        # Neither is held: of the k-1 other values, size-1 are supported if the own one is, else size.
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
    """A report supports every value independently of the others, as unary encodings do.

    Parameters
    ----------
    k : int
        Domain size.
    p, q : Fraction
        Probability that the own value is supported, and any other.
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
    """A report supports the values that its public hash function maps to its cell.

    The guess is that of the *full* family of hash functions. The families of this library agree with it on pairs of
    values only: for small k the prime family's success lies within 10% of this, Spread's above it, by up to a half
    where k is about m.

    Parameters
    ----------
    hashes : HashFamily
        The family of public hash functions.
    p, q : Fraction
        Probability that the own cell is reported, and any other one.
    """

    hashes: HashFamily = field()  # no default: not the base's
    p: Fraction
    q: Fraction

    exchangeable = False
    reachable = None

    @property
    def sizes(self) -> tuple[int, int]:
        """None, or all: whoever reports chooses the hash function, and there may be one that puts all into a cell."""
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
