"""Bases of mechanisms with a dealer: `DealtMechanism`, `DealtOracle` and `DealtRecordMechanism`.

The dealer is a separate actor, who deals a secret share to each contributor and never sees data or reports.
Contributors use a share together with their answer. The methods of the collector and of the analyst are the same as for
every mechanism, and never take shares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeIs

from deniable.core.aggregate import Aggregate
from deniable.core.checks import (
    Codes,
    Floats,
    Target,
    checked_codes,
    checked_counts,
    checked_integer,
    checked_records,
    settle,
)
from deniable.core.estimate import Estimate, OwnIntervals, RecordEstimate
from deniable.core.mechanism import CraftedReports, Mechanism, ReportField, Reports
from deniable.core.randomness import Randomness, SimulationRandomness, checked_randomness
from deniable.core.state import Counts, counts_between, counts_sum_to
from deniable.core.support_counts import Influence, influence
from deniable.errors import InvalidInputError, InvalidParameterError, MismatchError, TooLargeError, quoted
from deniable.oracles.bits import Bits
from deniable.oracles.grr import CodeReports
from deniable.oracles.unary_encoding import BitReports
from deniable.research.dealt.estimate import complement, tangent_estimate
from deniable.research.dealt.interval import SupportLaw, bounds, few
from deniable.research.dealt.shares import Columns, DealtTypes, Shares
from deniable.research.states import dealt_to

MAX_CONTRIBUTORS = 1 << 32

ROW_APART = "needs a dealer: the whole plan, for a number of contributors, has its row apart; leave out mechanisms"
"""Reason on a card why a plan does not compare a mechanism by name: the plan has a row of it."""

NO_ROW = "needs a dealer, and no plan has a row of it: QuotaRR's, in the whole plan, has the smaller error"
"""Reason on a card why a plan does not compare a mechanism."""


class TypedShares(ABC):
    """A mechanism that deals one instruction (*type*) to each contributor. Helpers can deal types without a dealer."""

    @abstractmethod
    def _dealt_types(self) -> DealtTypes:
        """Return the types, and how many shares of each type are dealt."""


class DealtMechanism(Mechanism[Reports]):
    """A mechanism for one deal, with the same parameters for dealer, contributors, collector and analyst.

    Attributes
    ----------
    epsilon : float or Fraction
        Epsilon in the first row of `privacy()`, for the adversary in that row. It is the declared budget if there is
        one, and otherwise what the implemented random draws guarantee. Infinite if there is no bound against an
        adversary who knows the share.
    n : int
        Number of contributors who receive a share. Fewer may report.
    deal_id : str
        Name of the deal. Every deal needs its own name (`fresh_deal_id`). Aggregates of different deals are never added
        up.
    deals_fewer : bool
        Whether `deal` allows fewer contributors than n.
    """

    dealt: ClassVar[bool] = True
    n: int
    deal_id: str
    deals_fewer: ClassVar[bool] = False

    @property
    @abstractmethod
    def share_fields(self) -> tuple[ReportField, ...]:
        """Name, dtype and width of each array in `Shares.columns`, in their order."""

    def _check_deal(self, least: int = 2, most: int | None = MAX_CONTRIBUTORS) -> None:
        """Check n and the deal's name, and keep n as an int."""
        settle(self, n=checked_integer("n", self.n, least, most))
        if not isinstance(self.deal_id, str):
            raise InvalidParameterError(f"deal_id must be a string, got deal_id={quoted(self.deal_id)}")

    def _check_dealt_to(self, n: int | None) -> None:
        """Raise InvalidParameterError if n is given and is not the number of contributors that the deal is for."""
        if n is not None and checked_integer("n", n, 1) != self.n:
            raise InvalidParameterError(f"n must be {self.n}, got n={n}: the deal was made for {self.n} contributors")

    def _checked_counts(self, counts: ArrayLike, kinds: int) -> NDArray[np.int64]:
        """Return how many contributors hold each of `kinds` answers.

        The error InvalidInputError is raised unless the counts sum to n.
        """
        held = checked_counts(counts, kinds)
        if int(held.sum()) != self.n:
            raise InvalidInputError(f"counts must sum to n={self.n}, got {int(held.sum())}")
        return held

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> Shares:
        """Dealer: draw the shares of n contributors, without data or reports.

        Deal only once for each `deal_id`, and use each share only once. Two reports with the same share have the same
        noise, and pairs that are used twice can be found out.

        Parameters
        ----------
        n : int
            Number of contributors: the mechanism's n, or at most n if it `deals_fewer`.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Raises
        ------
        InvalidParameterError
            If n does not fit the mechanism, or `rng` is not a source of random words.
        """
        if self.deals_fewer:
            n = checked_integer("n", n, 1, self.n)
        else:
            self._check_dealt_to(checked_integer("n", n, 1))
        return Shares(self.deal_id, self._deal(int(n), checked_randomness(rng)))

    @abstractmethod
    def _deal(self, n: int, rng: Randomness) -> Columns:
        """Return the columns of n shares, drawn in the form that `share_fields` describes."""

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, shares: Shares, rng: Randomness) -> Reports:
        """Contributor: turn true answers into reports, with one share for each answer.

        Do not refuse to report because of a share, because a refusal reveals it.

        Parameters
        ----------
        inputs : int[m], or int[m, d] for records
            True codes. The codes of attribute j are in 0..domain[j]-1.
        shares : Shares
            Shares of this deal, one for each input.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation. If the share already contains
            all random draws, no word is used.

        Returns
        -------
        batch of m reports
            Reports in the form that `report_fields` describes.

        Raises
        ------
        InvalidInputError
            If a code is out of range, or a share is missing or not of this mechanism. Also if there are more shares
            than were dealt, or more shares of one type than any deal has, because some shares are then duplicates.
        MismatchError
            If the shares belong to another deal.
        InvalidParameterError
            If `rng` is not a source of random words.
        """
        codes = checked_records(inputs, self.domain) if self.records else checked_codes(inputs, self.domain[0])
        self._check_shares(shares, len(codes))
        return self._randomize(codes, shares.columns, checked_randomness(rng))

    @abstractmethod
    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Reports:
        """Return the reports of checked codes.

        The codes are randomised according to the checked columns of the same number of shares.
        """

    def _check_shares(self, shares: Shares, rows: int) -> None:
        if not isinstance(shares, Shares):
            raise InvalidInputError(
                f"shares must be Shares from the dealer, got an object of the type {type(shares).__name__}"
            )
        if shares.deal_id != self.deal_id:
            raise MismatchError(
                f"the shares belong to deal {quoted(shares.deal_id)}, not to deal {quoted(self.deal_id)}"
            )
        fields = self.share_fields
        if len(shares.columns) != len(fields):
            names = ", ".join(field.name for field in fields)
            raise InvalidInputError(
                f"shares must have the columns {names} from the dealer, got {len(shares.columns)} columns"
            )
        for field, column in zip(fields, shares.columns, strict=True):
            if not isinstance(column, np.ndarray) or column.dtype != field.dtype:
                found = column.dtype if isinstance(column, np.ndarray) else type(column).__name__
                raise InvalidInputError(
                    f"{field.name} must be an array of dtype {field.dtype} from the dealer, got {found}"
                )
            width = () if field.width is None else (field.width,)
            if column.ndim == 0 or column.shape[1:] != width:
                expected = ", ".join(["n", *map(str, width)])
                raise InvalidInputError(
                    f"{field.name} must have shape ({expected}) from the dealer, got {column.shape}"
                )
            if len(column) != rows:
                raise InvalidInputError(
                    f"every contributor needs one share, got {rows} contributors and {len(column)} shares"
                )
        if rows > self.n:
            raise InvalidInputError(
                f"a deal for n={self.n} contributors must have {self.n} shares, got {rows} shares: at least one share "
                "is duplicated"
            )
        self._check_types(shares.columns)

    @abstractmethod
    def _check_types(self, columns: Columns) -> None:
        """Raise InvalidInputError, naming the row, if a share is a duplicate or belongs to another mechanism."""

    # ---------------------------------------------------------------- collector

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse counts that no n reports can have, and more reports than contributors; quotas are not checked."""
        dealt_to(n, self.n)
        self._check_counts(counts, n)

    @abstractmethod
    def _check_counts(self, counts: Counts, n: int) -> None:
        """Raise DamagedStateError unless these counts are possible for n reports."""

    # ---------------------------------------------------------------- exact distribution

    def _channel(self) -> NoReturn:
        # If a collector reads all reports, no channel of one report says what the collector learns.
        raise TooLargeError(
            f"the channel of {self} is too large to list, because reports of one deal depend on each other and the "
            f"channel covers all {self.n} contributors together. Read privacy(), which states what every adversary "
            "learns"
        )


def types_dealt(mechanism: object) -> DealtTypes | None:
    """Return the types that a mechanism's dealer deals, or None if shares are not types or nobody deals."""
    return mechanism._dealt_types() if isinstance(mechanism, TypedShares) else None


class DealtOracle(DealtMechanism[Reports]):
    """A mechanism with a dealer for one attribute; its state counts how many reports support each value, int[k].

    Attributes
    ----------
    k : int
        Domain size.
    one_each : bool
        Whether every report supports exactly one value.
    """

    k: int
    records: ClassVar[bool] = False
    one_each: ClassVar[bool] = False

    @property
    def domain(self) -> tuple[int, ...]:
        """Domain size of the one attribute, as the tuple (k,)."""
        return (self.k,)

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    # ---------------------------------------------------------------- analyst

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction] | tuple[float, float]:
        """Marginal probability that a report supports v: for contributors who hold v, and for all others."""

    @abstractmethod
    def _support_variance(self, holders: float, reporters: int) -> float:
        """Return the exact variance of the number of supporters of a value that `holders` of the reporters hold."""

    @abstractmethod
    def _support_law(self, reporters: int, among: int) -> SupportLaw:
        """Return the distribution of a value's number of supports, with the holders counted among `among` people."""

    def frequency_bounds(
        self, aggregate: Aggregate, tail: float, target: Target = "contributors", among: int | None = None
    ) -> tuple[Floats, Floats]:
        """Analyst: return bounds of the frequencies, each missed with probability at most about `tail`.

        Parameters
        ----------
        aggregate : Aggregate
            Aggregate of this deal.
        tail : float
            Largest probability of missing a bound, in (0, 1/2).
        target : {"contributors", "population"}
            People whose frequencies the bounds are for: the reporters, or the population that they were drawn from.
        among : int, optional
            Number of people of whom the reporters are a random part. The bounds for "contributors" are then for the
            frequencies among all these people. By default they are for the reporters alone.
        """
        found, n = self.frequencies(aggregate), aggregate.n
        law = self._support_law(n, n if among is None else among)
        variance = partial(self.variance, reporters=n)
        return bounds(law, aggregate.counts, found, variance, self.support_step / n, tail, target)

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return unbiased frequencies among the n' reporters, f^ = (support/n' - q)/(p - q).

        Here p and q are the `support_probabilities`. The estimate is also unbiased if some contributors do not report,
        provided that this depends neither on their shares nor on the random draws of their devices. Intervals are those
        of `frequency_bounds`. The exact variance is a quadratic function of the frequency. Standard errors and all
        other results use the tangent to this function at the estimate. The function `combine_deals` combines the
        estimates of several deals.
        """
        variance = partial(self.variance, reporters=aggregate.n)
        return tangent_estimate(
            self.frequencies(aggregate),
            aggregate.n,
            variance,
            OwnIntervals(partial(self.frequency_bounds, aggregate)),
            # For more than two dealt counts, their correlation is not determined here.
            joint=complement(variance, aggregate.n) if self.one_each and self.k == 2 else None,
            scarce=few(variance, self.support_step / aggregate.n),
        )

    @property
    def support_step(self) -> float:
        """Return 1/(p - q), the change of n' times an estimated frequency if one more of the n' reports supports it."""
        p, q = self.support_probabilities
        return 1 / float(p - q)

    def frequencies(self, aggregate: Aggregate) -> Floats:
        """Analyst: return the estimated frequencies alone, float64[k]; raises as `estimate` does."""
        self.check(aggregate)
        p, q = self.support_probabilities
        return (aggregate.counts / aggregate.n - float(q)) / float(p - q)

    def variance(self, f: float, n: int | None = None, *, reporters: int | None = None) -> float:
        """Return the exact noise variance of an estimated frequency whose true value among the reporters is f.

        Parameters
        ----------
        f : float
            True frequency.
        n : int, optional
            Number of contributors in the deal. It must be the mechanism's n, because the variance depends on it.
        reporters : int, optional
            Number of the n contributors who report. By default all report. Whether somebody reports must not depend on
            the share.
        """
        self._check_dealt_to(n)
        count = self.n if reporters is None else checked_integer("reporters", reporters, 1, self.n)
        p, q = self.support_probabilities
        return self._support_variance(f * count, count) / (count * float(p - q)) ** 2

    # ---------------------------------------------------------------- simulation

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these true counts, exactly in distribution.

        Parameters
        ----------
        counts : int[k]
            Number of contributors who hold each value. These numbers sum to n.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        return Aggregate(self, self._simulate(self._checked_counts(counts, self.k), rng), self.n)

    @abstractmethod
    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Return a state int64[k], drawn for contributors with the true counts int64[k]."""


def is_dealt_oracle(mechanism: object) -> TypeIs[DealtOracle[Any]]:
    """Return True for a mechanism for one attribute whose deals can be combined."""
    return isinstance(mechanism, DealtOracle)


class CodeOracle(CodeReports, DealtOracle[Codes], CraftedReports):
    """An oracle with a dealer whose reports are single codes, uint8 or uint16 [n]; a report supports its own code."""

    one_each = True
    report_type = staticmethod(np.asarray)

    def _check_counts(self, counts: Counts, n: int) -> None:
        counts_sum_to(counts, n)

    def _influence(self, targets: int, attribute: int) -> Influence:  # noqa: ARG002
        return influence(targets, self.k, (1, 1), *self.support_probabilities)


class BitOracle(BitReports, DealtOracle[Bits], CraftedReports):
    """An oracle with a dealer whose reports are k packed bits, uint8[n, ceil(k/8)]; v is bit v % 8 of byte v // 8."""

    report_type = staticmethod(np.asarray)

    def _check_counts(self, counts: Counts, n: int) -> None:
        counts_between(counts, 0, n)

    def _influence(self, targets: int, attribute: int) -> Influence:  # noqa: ARG002
        return influence(targets, self.k, (0, self.k), *self.support_probabilities)


class DealtRecordMechanism(DealtMechanism[Reports]):
    """A mechanism with a dealer for d attributes: it takes records int[n, d] and returns a `RecordEstimate`.

    Attributes
    ----------
    sizes : tuple of int
        Domain sizes (k_1, ..., k_d).
    """

    sizes: tuple[int, ...]
    records: ClassVar[bool] = True

    @property
    def domain(self) -> tuple[int, ...]:
        """The domain sizes."""
        return self.sizes

    @abstractmethod
    def estimate(self, aggregate: Aggregate) -> RecordEstimate: ...

    @abstractmethod
    def variance(self, f: float, n: int | None = None, attribute: int = 0) -> float:
        """Return the exact variance of one attribute's estimated frequency, at frequency f among all n contributors."""

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these records, exactly in distribution, without reports.

        Parameters
        ----------
        records : int[r, d]
            Records.
        counts : int[r]
            Number of contributors who hold each record. These numbers sum to n.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If a record or a count is out of range, or the counts do not sum to n.
        """
        codes = checked_records(records, self.sizes)
        return Aggregate(self, self._simulate(codes, self._checked_counts(counts, len(codes)), rng), self.n)

    @abstractmethod
    def _simulate(self, records: Codes, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Return a state int64[state_size], drawn for contributors among whom counts[r] hold records[r]."""
