"""The base of mechanisms that couple contributors in secret random pairs: JRR, report coupling and their kin.

The idea of a dealer and of random pairs is that of Zheng, Seeam, Hu, Zhang, Zhang, *Locally differentially private
frequency estimation via joint randomized response* (PoPETs 2025(3)).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

from deniable.core.checks import checked_probability, code_dtype, settle
from deniable.core.mechanism import ReportField, Reports
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness
from deniable.core.thresholds import SCALE
from deniable.research.dealt.coupling.coin_guarantee import revealed_shares, worst_ratio
from deniable.research.dealt.coupling.coins import Coin, checked_number
from deniable.research.dealt.coupling.parameters import checked_colluders, pair_rate, peer_posterior
from deniable.research.dealt.coupling.support_law import PairedSupports
from deniable.research.dealt.coupling.threshold_coupling import ThresholdCoupling
from deniable.research.dealt.dealt import DealtOracle, TypedShares
from deniable.research.dealt.interval import SupportLaw
from deniable.research.dealt.quota.tables import deal_types
from deniable.research.dealt.shares import Columns, DealtTypes, check_types

SIGN_TYPES = 3


def sign_counts(n: int) -> list[int]:
    """Return how many shares of each type a deal of signs to n contributors has."""
    return [n // 2, n // 2, n % 2]


class CoupledMechanism(DealtOracle[Reports]):
    """A dealt oracle whose shares couple contributors in pairs.

    Attributes
    ----------
    colluders : int
        Number of colluders that `privacy` states a row for, at most n - 1; 5 (the paper's) or n - 1 by default.
    """

    colluders: int | None

    def _check_pairs(self) -> None:
        """Check n, the deal's name and the number of colluders, whose default is set."""
        self._check_deal()
        revealing = min(5, self.n - 1) if self.colluders is None else checked_colluders(self.n, self.colluders)
        settle(self, colluders=revealing)

    @abstractmethod
    def _pair_covariance(self, x: int, other: int) -> float:
        """Return the covariance of two peers' supports if they hold these bits: 1 where the value is held."""

    @property
    @abstractmethod
    def _ordered(self) -> bool:
        """Return whether a holder of a value supports it at least as likely as anyone else, whatever the share."""

    def _support_law(self, reporters: int, among: int) -> SupportLaw:  # noqa: ARG002
        p, q = map(float, self.support_probabilities)
        both, one, none = (self._pair_covariance(*bits) for bits in ((1, 1), (1, 0), (0, 0)))
        return PairedSupports(self.n, reporters, p, q, both, one, none, self._ordered)

    # ---------------------------------------------------------------- guarantee

    def epsilon_against(self, colluders: int) -> float:
        """Return the bound against one who sees a report and m colluders' shares, but no other report, in nats."""
        return self._revealed(peer_posterior(self.n, colluders))

    @abstractmethod
    def _revealed(self, mu: Fraction) -> float:
        """Return that bound at the posterior probability mu that my peer is among the colluders."""

    def privacy(self) -> Guarantee:
        return self.guarantee_against()

    def guarantee_against(self, *, theta: float = 0.05, colluders: int | None = None, delta: float = 1e-6) -> Guarantee:
        """Return the guarantee per adversary, each with its view, from the implemented integers.

        The first number is what holds whoever is trusted, and for the view that QuotaRR's first number is for: all
        reports, everybody else's data, everybody else's share. The nominal epsilon is the row of colluders.

        Parameters
        ----------
        theta : float
            Base rate in [0, 1] that the collector knows, in the rows that say so.
        colluders : int, optional
            Number of colluders; the mechanism's by default.
        delta : float
            In (0, 1), for the rows that have one.

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
        """Return the guarantee at checked arguments."""


class SignedCoins(CoupledMechanism[Reports], TypedShares):
    """Truth coins tossed by dealt signs: who is dealt R = +1 lies less often than q, their peer, R = -1, more often.

    Shares are one type each: 0 for R = -1, 1 for R = +1, 2 for the one who is left over if n is odd, who lies with
    probability q. Pairing contributors at random and giving opposite signs to each pair is the same law as a uniformly
    random balanced vector of signs: given the signs, the truth coins are independent.

    Attributes
    ----------
    p : float or Fraction
        Probability of the truth.
    rho : float or Fraction
        How much peers pull apart.
    """

    p: float | Fraction
    rho: float | Fraction

    @property
    @abstractmethod
    def coin(self) -> Coin:
        """The implemented coin: integer thresholds of a lie by share, and exact q and s."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """Number of values that a contributor chooses among, of which one is the truth."""

    @property
    @abstractmethod
    def _pull(self) -> float:
        """Return how much the truth coin moves the support of a value that is not held; by one if it is."""

    def _dealt_types(self) -> DealtTypes:
        # Two signs, and the type of the one who is left over.
        return DealtTypes(SIGN_TYPES, counts=tuple(sign_counts(self.n)))

    def _check_coins(self) -> None:
        settle(self, p=checked_number(self.p, "p"), rho=checked_number(self.rho, "rho"))
        self._check_pairs()
        settle(self, epsilon=self.implemented_epsilon())

    @property
    def correlation(self) -> float:
        """Correlation of two peers' truth coins, -s^2/(q (1 - q))."""
        return -float(self.coin.s**2 / (self.coin.q * (1 - self.coin.q)))

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type per share."""
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
        """Largest likelihood ratio for anyone who knows the share, exact; no view exceeds it. Infinite at rho's end."""
        return worst_ratio(self.cells, self.coin.lie_plus, self.coin.lie_minus)


class CoupledReports(CoupledMechanism[Reports]):
    """Forced reports that peers share: of every coupled pair one uses U and the other 1 - U.

    Attributes
    ----------
    weight : float or Fraction
        Share lambda in [0, 1] of pairs that are coupled; the others draw independently.
    """

    epsilon = math.inf
    weight: float | Fraction

    @property
    @abstractmethod
    def coupling(self) -> ThresholdCoupling:
        """The implemented thresholds q <= p and the weight, as integers."""

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that a report supports v if the contributor holds v, and if not."""
        return Fraction(self.coupling.p, SCALE), Fraction(self.coupling.q, SCALE)

    def _pair_covariance(self, x: int, other: int) -> float:
        return float(self.coupling.covariance(x, other))

    @property
    def _ordered(self) -> bool:
        return True

    def _support_variance(self, holders: float, reporters: int) -> float:
        return self.coupling.count_variance(holders, reporters, self.n)

    def implemented_ratio(self) -> float:
        """Infinite: who is told to report the truth does so verbatim."""
        return math.inf
