"""How the values that one report supports hang together: what covariances and guesses need to know."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction


class SupportLaw(ABC):
    """The joint law of support, given p and q of a pure oracle; the same for every pair of values."""

    @abstractmethod
    def both(self, p: Fraction, q: Fraction) -> tuple[Fraction, Fraction]:
        """Return P(report supports v and w), v != w, if the contributor holds v, and if neither."""

    @abstractmethod
    def guess_success(self, k: int, p: Fraction, q: Fraction) -> float:
        """Return the probability that a guess, uniform among the supported values, is right; among all if none is."""


@dataclass(frozen=True)
class FixedSize(SupportLaw):
    """Every report supports `size` values, uniformly chosen but for its contributor's own.

    Parameters
    ----------
    k, size : int
        Domain size; number of values that a report supports.
    """

    k: int
    size: int

    def both(self, p: Fraction, q: Fraction) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        k, size = self.k, self.size
        own = p * Fraction(size - 1, k - 1)
        if k == 2:
            return own, Fraction(0)
        # Neither is held: of the k-1 other values, size-1 are supported if the own one is, else size.
        pairs = (k - 1) * (k - 2)
        return own, p * Fraction((size - 1) * (size - 2), pairs) + (1 - p) * Fraction(size * (size - 1), pairs)

    def guess_success(self, k: int, p: Fraction, q: Fraction) -> float:  # noqa: ARG002
        return float(p / self.size)


@dataclass(frozen=True)
class Independent(SupportLaw):
    """A report supports every value independently of the others, as unary encodings do."""

    def both(self, p: Fraction, q: Fraction) -> tuple[Fraction, Fraction]:
        return p * q, q * q

    def guess_success(self, k: int, p: Fraction, q: Fraction) -> float:
        none = k * math.log1p(-float(q))
        right, wrong = float(p), float(1 - p)
        return right * -math.expm1(none) / (k * float(q)) + wrong * math.exp(none - math.log1p(-float(q))) / k
