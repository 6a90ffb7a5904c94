"""Base of mechanisms that couple contributors in secret random pairs, such as JRR and report coupling.

The idea of a dealer and of random pairs is from Zheng, Seeam, Hu, Zhang, Zhang, *Locally differentially private
frequency estimation via joint randomized response* (PoPETs 2025(3)).

This module also computes the distribution of the number of supports of a value, from its generating function. A pair
whose contributors hold the bits x and y adds 0, 1 or 2 supports, with the generating function H_xy. A reporter without
a reporting peer adds 0 or 1 support, with the generating function S_x. If the bits are drawn with frequency f, pairs
are independent, and J pairs and r - 2J other reporters have the generating function

    [(1-f)^2 H_00 + 2 f (1-f) H_01 + f^2 H_11]^J [(1-f) S_0 + f S_1]^(r - 2J).

If exactly m of the r reporters are holders, every assignment of bits is equally likely. The generating function is then
the coefficient of y^m in the same expression with f y for f, divided by the probability that a binomial (r, f) is m.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from deniable.core.checks import Floats, checked_probability, code_dtype, settle
from deniable.core.mechanism import ReportField, Reports
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness
from deniable.core.thresholds import SCALE
from deniable.research.dealt.coupling.coin_guarantee import revealed_shares, worst_ratio
from deniable.research.dealt.coupling.coins import Coin, checked_number
from deniable.research.dealt.coupling.parameters import checked_colluders, pair_rate, peer_posterior
from deniable.research.dealt.coupling.threshold_coupling import ThresholdCoupling
from deniable.research.dealt.dealt import DealtOracle, TypedShares
from deniable.research.dealt.interval import SupportLaw
from deniable.research.dealt.quota.tables import deal_types
from deniable.research.dealt.shares import Columns, DealtTypes, check_types

_DEVIATIONS = 16


_ROOM = 64


_MIXED = 16


_ASSIGNED = 4096
"""Reporters up to which every assignment of holders to pairs counts."""


Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class PairedSupports(SupportLaw):
    """Distribution of the number of supports of `reporters` of n contributors, who were paired at random.

    Parameters
    ----------
    n : int
        Number of contributors dealt to.
    reporters : int
        Number of contributors who report.
    p, q : float
        Probability that a report supports the value if its contributor holds it, and if not.
    both, one, none : float
        Covariance of two peers' supports if both hold the value, if one does, and if none does.
    ordered : bool
        True if a holder's report is likelier to support the value, whatever share was dealt.
    """

    n: int
    reporters: int
    p: float
    q: float
    both: float
    one: float
    none: float
    ordered: bool

    cut_off = False

    @property
    def among(self) -> int:  # type: ignore[override]
        """Number of reporters, because holders are counted among them."""
        return self.reporters

    def at_most(self, count: int, holders: int) -> float:
        return _below(*_given(self, holders), count)

    def at_most_drawn(self, count: int, frequency: float) -> float:
        return _below(*_drawn(self, frequency), count)

    @cached_property
    def pairs(self) -> list[tuple[int, float]]:
        """Return how many pairs report as a whole, with probabilities.

        Dropping out is taken to be independent of the pairs.
        """
        half, reporters = self.n // 2, self.reporters
        # A contributor without a peer is as likely to report as any other.
        alone = reporters / self.n if self.n % 2 else 0.0
        weights = (1 - alone) * _whole_pairs(half, reporters) + alone * _whole_pairs(half, reporters - 1)
        kept = np.flatnonzero(weights > 1e-15)
        groups = np.array_split(kept, min(len(kept), _MIXED))
        found = [(float(weights[g].sum()), float(weights[g] @ g)) for g in groups]
        total = math.fsum(weight for weight, _ in found)
        return [(round(sum_ / weight), weight / total) for weight, sum_ in found]

    def _size(self, f: float, sampling: float) -> tuple[int, int]:
        """Return the least number of supports that is computed, and how many consecutive numbers are computed.

        They cover many standard deviations about the mean. `sampling` is the variance of the number of holders.
        """
        p, q, r = self.p, self.q, self.reporters
        covariance = f * f * self.both + 2 * f * (1 - f) * self.one + (1 - f) ** 2 * self.none
        mistakes = f * p * (1 - p) + (1 - f) * q * (1 - q) + covariance * min(1.0, r / self.n)
        variance = max(r * mistakes, 0.0) + (p - q) ** 2 * sampling
        size = fft.next_fast_len(int(_DEVIATIONS * math.sqrt(variance)) + _ROOM, real=True)
        if size > r:
            return 0, r + 1
        return min(max(int(r * (q + f * (p - q))) - size // 2, 0), r + 1 - size), size

    def _functions(self, size: int) -> tuple[list[Complex], list[Complex]]:
        """Return the functions H_00, H_01, H_11 and S_0, S_1, at the roots of unity that a real transform needs."""
        e = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
        cases = (self.q, self.q, self.none), (self.q, self.p, self.one), (self.p, self.p, self.both)
        paired = []
        for t, u, covariance in cases:
            two = min(max(t * u + covariance, 0.0), t, u)
            paired.append(max(1 - t - u + two, 0.0) + (t + u - 2 * two) * e + two * e * e)
        return paired, [1 - t + t * e for t in (self.q, self.p)]

    def _mixed(self, pair: Complex, alone: Complex) -> Complex:
        total = np.zeros_like(pair)
        for pairs, weight in self.pairs:
            total += weight * _power(pair, pairs) * _power(alone, self.reporters - 2 * pairs)
        return total


def _power(base: Complex, exponent: int) -> Complex:
    """Return a power by repeated squaring, which takes a twentieth of the time of logarithms."""
    found = np.ones_like(base)
    while exponent:
        if exponent & 1:
            found = found * base
        base, exponent = base * base, exponent >> 1
    return found


def _whole_pairs(pairs: int, reporters: int) -> Floats:
    """Return P(j whole pairs report), j = 0..pairs, if `reporters` of the 2 `pairs` contributors report."""
    if not 0 <= reporters <= 2 * pairs:
        return np.zeros(pairs + 1)
    j = np.arange(pairs + 1.0)
    half, neither = reporters - 2 * j, pairs - reporters + j
    fits = (half >= 0) & (neither >= 0)
    logs = np.where(fits, half * math.log(2), -np.inf)
    for number in (j, half, neither):
        logs = logs - special.gammaln(np.where(fits, number, 0.0) + 1)
    weights = np.exp(logs - logs.max())
    result: Floats = weights / weights.sum()
    return result


def _listed(transform: Complex, first: int, size: int) -> tuple[int, Floats]:
    """Return the first number of supports, and the cumulative probabilities from there on."""
    law = np.roll(fft.irfft(transform, size), -(first % size))
    return first, np.cumsum(np.maximum(law, 0.0) / law.sum())


def _below(first: int, cumulative: Floats, count: int) -> float:
    if count < first:
        return 0.0
    return float(cumulative[min(count - first, len(cumulative) - 1)])


@lru_cache(maxsize=4096)
def _drawn(law: PairedSupports, f: float) -> tuple[int, Floats]:
    first, size = law._size(f, law.reporters * f * (1 - f))
    (none, one, both), (other, own) = law._functions(size)
    pair = (1 - f) ** 2 * none + 2 * f * (1 - f) * one + f * f * both
    return _listed(law._mixed(pair, (1 - f) * other + f * own), first, size)


@lru_cache(maxsize=4096)
def _given(law: PairedSupports, holders: int) -> tuple[int, Floats]:
    r, f = law.reporters, holders / law.reporters
    first, size = law._size(f, 0.0)
    functions = law._functions(size)
    if r > _ASSIGNED:
        return _listed(_at_mean(law, holders, *functions), first, size)
    (none, one, both), (other, own) = functions
    # At the frequency under which m holders are likeliest, the coefficient exceeds the rounding errors of all others.
    around = min(r + 1, fft.next_fast_len(int(_DEVIATIONS * math.sqrt(r * f * (1 - f))) + _ROOM))
    angles = -2 * np.pi * np.arange(around) / around
    y = np.exp(1j * angles)[:, None]
    pair = (1 - f) ** 2 * none + 2 * f * (1 - f) * y * one + f * f * y * y * both
    coefficient = np.exp(-1j * angles * holders) @ law._mixed(pair, (1 - f) * other + f * y * own)
    return _listed(coefficient, first, size)


def _at_mean(law: PairedSupports, holders: int, pair: list[Complex], alone: list[Complex]) -> Complex:
    """Return the generating function for many reporters, with the number of pairs of two holders taken at its mean.

    This number varies by about the root of the number of reporters. Per pair, it moves the variance of the supports by
    the difference between the covariances of pairs. So the distribution moves by about one in the root of the number of
    reporters.
    """
    (none, one, both), (other, own) = pair, alone
    total = np.zeros_like(none)
    for pairs, weight in law.pairs:
        paired = round(holders * 2 * pairs / law.reporters)
        twos = round(paired * (paired - 1) / (2 * max(2 * pairs - 1, 1)))
        held, others = holders - paired, law.reporters - 2 * pairs - holders + paired
        found = _power(both, twos) * _power(one, paired - 2 * twos) * _power(none, pairs - paired + twos)
        total += weight * found * _power(own, held) * _power(other, others)
    return total


SIGN_TYPES = 3


def sign_counts(n: int) -> list[int]:
    """Return the number of shares of each type in a deal of signs to n contributors."""
    return [n // 2, n // 2, n % 2]


class CoupledMechanism(DealtOracle[Reports]):
    """Dealt oracle whose shares couple contributors in pairs.

    Attributes
    ----------
    colluders : int
        Number of colluders for which `privacy` states a row, at most n - 1. The default is 5, as in the paper, or n - 1
        if that is less.
    """

    colluders: int | None

    def _check_pairs(self) -> None:
        """Check n, the deal's name and the number of colluders, and set the default number of colluders."""
        self._check_deal()
        revealing = min(5, self.n - 1) if self.colluders is None else checked_colluders(self.n, self.colluders)
        settle(self, colluders=revealing)

    @abstractmethod
    def _pair_covariance(self, x: int, other: int) -> float:
        """Return the covariance of two peers' supports if they hold these bits; a bit is 1 if the value is held."""

    @property
    @abstractmethod
    def _ordered(self) -> bool:
        """Return True if a holder of a value is never less likely to support it than anyone else.

        This must hold whatever share was dealt.
        """

    def _support_law(self, reporters: int, among: int) -> SupportLaw:  # noqa: ARG002
        p, q = map(float, self.support_probabilities)
        both, one, none = (self._pair_covariance(*bits) for bits in ((1, 1), (1, 0), (0, 0)))
        return PairedSupports(self.n, reporters, p, q, both, one, none, self._ordered)

    # ---------------------------------------------------------------- guarantee

    def epsilon_against(self, colluders: int) -> float:
        """Return the bound, in nats, against an adversary with one report and m colluders' shares.

        This adversary sees no other report.
        """
        return self._revealed(peer_posterior(self.n, colluders))

    @abstractmethod
    def _revealed(self, mu: Fraction) -> float:
        """Return the bound of `epsilon_against` if my peer is among the colluders with posterior probability mu."""

    def privacy(self) -> Guarantee:
        return self.guarantee_against()

    def guarantee_against(self, *, theta: float = 0.05, colluders: int | None = None, delta: float = 1e-6) -> Guarantee:
        """Return the guarantee per adversary, each with its view, from the implemented integers.

        The first number holds whoever is trusted. It also holds for the view of QuotaRR's first number: all reports,
        everybody else's data and everybody else's share. The nominal epsilon is in the row of colluders.

        Parameters
        ----------
        theta : float
            Base rate in [0, 1] that the collector knows, in the rows that say so.
        colluders : int, optional
            Number of colluders. The default is the mechanism's own number.
        delta : float
            Value in (0, 1) for the rows that have a delta.

        Raises
        ------
        InvalidParameterError
            If an argument is out of bounds.
        """
        revealing = self.colluders if colluders is None else checked_colluders(self.n, colluders)
        assert revealing is not None
        rate = checked_probability("theta", theta)
        return self._guarantee(rate, revealing, checked_probability("delta", delta, open_interval=True))

    @abstractmethod
    def _guarantee(self, theta: float, colluders: int, delta: float) -> Guarantee:
        """Return the guarantee for arguments that were checked."""


class SignedCoins(CoupledMechanism[Reports], TypedShares):
    """Base of mechanisms in which a dealt sign makes a contributor's lie less or more likely.

    A contributor with R = +1 lies with a probability below q. Their peer has R = -1 and lies with a probability above
    q. Each share is one type: 0 for R = -1, 1 for R = +1, and 2 for the contributor who is left over if n is odd and
    lies with probability q. Pairing contributors at random and giving opposite signs to each pair has the same
    distribution as a uniformly random balanced vector of signs. Given the signs, contributors decide independently to
    tell the truth.

    Attributes
    ----------
    p : float or Fraction
        Probability of the truth.
    rho : float or Fraction
        Parameter of the correlation between peers.
    """

    p: float | Fraction
    rho: float | Fraction

    @property
    @abstractmethod
    def coin(self) -> Coin:
        """Implemented integer thresholds of a lie by share, with exact q and s."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """Number of values that a contributor chooses among, of which one is the truth."""

    @property
    @abstractmethod
    def _pull(self) -> float:
        """Return how much a choice of the truth changes the support of a value that is not held.

        For a held value the change is one.
        """

    def _dealt_types(self) -> DealtTypes:
        # The types are two signs, and the type of the contributor who is left over.
        return DealtTypes(SIGN_TYPES, counts=tuple(sign_counts(self.n)))

    def _check_coins(self) -> None:
        settle(self, p=checked_number(self.p, "p"), rho=checked_number(self.rho, "rho"))
        self._check_pairs()
        settle(self, epsilon=self.implemented_epsilon())

    @property
    def correlation(self) -> float:
        """Correlation -s^2/(q (1 - q)) between two peers' choices to tell the truth."""
        return -float(self.coin.s**2 / (self.coin.q * (1 - self.coin.q)))

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """Fields of a share: one type."""
        return (ReportField("types", code_dtype(SIGN_TYPES).name),)

    def _deal(self, n: int, rng: Randomness) -> Columns:
        return (deal_types(sign_counts(n), rng),)

    def _check_types(self, columns: Columns) -> None:
        check_types(columns[0], self.n, sign_counts(self.n))

    def _pair_covariance(self, x: int, other: int) -> float:
        return -(float(self.coin.s) ** 2) * math.prod(1.0 if bit else self._pull for bit in (x, other))

    @property
    def _ordered(self) -> bool:
        p, q = self.support_probabilities
        return float(self.coin.s) * abs(1 - self._pull) <= float(p - q)

    def _support_variance(self, holders: float, reporters: int) -> float:
        p, q = self.support_probabilities
        others = reporters - holders
        pairs = (holders + self._pull * others) ** 2 - holders - self._pull**2 * others
        spread = holders * float(p * (1 - p)) + others * float(q * (1 - q))
        return spread - float(self.coin.s**2 * pair_rate(self.n)) * pairs

    def _revealed(self, mu: Fraction) -> float:
        return revealed_shares(self.cells, self.coin, mu)

    def implemented_ratio(self) -> Fraction | float:
        """Largest likelihood ratio for anyone who knows the share, exact.

        No view exceeds it. At the end of rho's range it is infinite.
        """
        return worst_ratio(self.cells, self.coin.lie_plus, self.coin.lie_minus)


class CoupledReports(CoupledMechanism[Reports]):
    """Base of mechanisms whose forced reports are coupled: in every coupled pair, one peer uses U and the other 1 - U.

    Attributes
    ----------
    weight : float or Fraction
        Share lambda in [0, 1] of pairs that are coupled. The other pairs draw independently.
    """

    epsilon = math.inf
    weight: float | Fraction

    @property
    @abstractmethod
    def coupling(self) -> ThresholdCoupling:
        """Implemented thresholds q <= p and the weight, as integers."""

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): the probability that a report supports v if the contributor holds v, and if not."""
        return Fraction(self.coupling.p, SCALE), Fraction(self.coupling.q, SCALE)

    def _pair_covariance(self, x: int, other: int) -> float:
        return float(self.coupling.covariance(x, other))

    @property
    def _ordered(self) -> bool:
        return True

    def _support_variance(self, holders: float, reporters: int) -> float:
        return self.coupling.count_variance(holders, reporters, self.n)

    def implemented_ratio(self) -> float:
        """Infinity, because a contributor who is told to report the truth reports it verbatim."""
        return math.inf
