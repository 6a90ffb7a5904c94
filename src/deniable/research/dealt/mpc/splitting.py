"""Deals without a dealer, which several helpers make together, and in which only contributor i learns share i."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer
from deniable.core.randomness import Randomness
from deniable.errors import DealingError, MissingExtraError, out_of_range, quoted, unknown_name
from deniable.research.dealt.dealt import DealtMechanism
from deniable.research.dealt.mpc.plan import MAX_PARTIES, MIN_PARTIES, plan_of
from deniable.research.dealt.mpc.polynomials import value_at
from deniable.research.dealt.mpc.processes import run_helpers
from deniable.research.dealt.mpc.shuffling import Shuffle
from deniable.research.dealt.shares import Shares

MAX_CONTRIBUTORS = 1 << 16


@dataclass(frozen=True, eq=False)
class SplitDeal:
    """Deal as the helpers hold it, in pieces that say nothing about a share.

    Helper j sends piece [j, i] to contributor i and forgets it. Contributor i joins column i (`join_pieces`). Anyone
    who holds more than `degree` rows is a dealer.

    Parameters
    ----------
    modulus : int
        Prime of the field.
    degree : int
        Degree t of the polynomials. Any t rows are uniform and independent of the types, and t + 1 rows determine them.
    pieces : int64[parties, n]
        Pieces of each helper. Row j has the values at the point j + 1 of n polynomials mod `modulus`, whose values at 0
        are the types.
    seconds : float
        Time of the slowest helper, once connected.
    bytes_sent : tuple of int
        Bytes that each helper sent to the others, headers included.
    """

    modulus: int
    degree: int
    pieces: NDArray[np.int64]
    seconds: float
    bytes_sent: tuple[int, ...]

    @property
    def parties(self) -> int:
        """Number of helpers."""
        return len(self.pieces)

    def types(self) -> NDArray[np.int64]:
        """Return the types of all contributors, int64[n], by joining every column.

        This is only for a rehearsal in which one process plays all contributors.
        """
        return join_pieces(range(1, self.parties + 1), self.pieces, self.modulus, self.degree)


def join_pieces(points: Sequence[int], pieces: ArrayLike, modulus: int, degree: int) -> NDArray[np.int64]:
    """Contributor: recover the dealt type from the pieces that the helpers sent.

    Parameters
    ----------
    points : sequence of int
        Points of the helpers whose pieces arrived, 1, 2, ...; degree + 1 of them suffice.
    pieces : int[len(points), n]
        Pieces, one row per helper. A contributor has n = 1.
    modulus, degree : int
        Modulus and degree of the `SplitDeal`.

    Returns
    -------
    int64[n]
        Dealt types.

    Raises
    ------
    DealingError
        If there are too few pieces, or a piece is not a number of the field or not of a helper's point. Also if there
        are more pieces than needed and they contradict each other.

    Examples
    --------
    >>> join_pieces([1, 3], [[9], [23]], modulus=251, degree=1)
    array([2])
    >>> join_pieces([1, 2, 3], [[9], [17], [23]], modulus=251, degree=1)
    Traceback (most recent call last):
    deniable.errors.DealingError: the pieces of contributor 0 contradict each other, so at least one piece is damaged
    """
    known = np.asarray(pieces)
    enough = degree + 1
    if known.ndim != 2 or len(known) != len(points) or len(set(points)) < enough:
        raise DealingError(
            f"pieces must come from at least {enough} different helpers, with one row for each helper, got "
            f"points={quoted(list(points))}"
        )
    inside = all(isinstance(point, (int, np.integer)) and 0 < point < modulus for point in points)
    if not inside or len(set(points)) != len(points):
        raise DealingError(f"points must be different integers in 1..{modulus - 1}, got points={quoted(list(points))}")
    if known.dtype.kind not in "iu" or (known.size and (known.min() < 0 or known.max() >= modulus)):
        raise DealingError(f"pieces must be integers in 0..{modulus - 1}, but one piece is damaged")
    known = known.astype(np.int64)
    for row in range(enough, len(points)):
        expected = value_at(points[:enough], known[:enough], modulus, points[row])
        wrong = np.flatnonzero(expected != known[row])
        if wrong.size:
            raise DealingError(
                f"the pieces of contributor {wrong[0]} contradict each other, so at least one piece is damaged"
            )
    return value_at(points[:enough], known[:enough], modulus)


def split_deal(
    mechanism: DealtMechanism[Any], n: int, parties: int = 3, *, shuffle: Shuffle = "resharing", timeout: float = 600.0
) -> SplitDeal:
    """Helpers: deal the shares of n contributors together, in separate processes on this machine.

    The types have exactly the distribution of the dealer's types. No helper learns a type, how often a type was dealt,
    or the order. The same holds for t = (parties - 1) // 2 helpers together, whatever their computing power. The
    assumptions are that more than half of the helpers are honest, that all follow the protocol (semi-honest), and that
    the channels between them are private, as loopback is.

    Parameters
    ----------
    mechanism : QuotaRR, JRR or another that deals signs
        Mechanism for which shares are dealt.
    n : int
        Number of contributors, at most 65536. Time and traffic grow linearly, see docs/theory/dealing.md.
    parties : int
        Number of helpers, 3 to 5.
    shuffle : {"resharing", "network"}
        Method that makes the order secret: in O(n), or by switching networks in O(n log n).
    timeout : float
        Seconds after which the helpers are stopped.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or the mechanism deals neither quota types nor signs.
    MissingExtraError
        If mpyc is not installed.
    DealingError
        If a helper fails, or the helpers are not done in time.
    """
    checked_integer("n", n, 2, MAX_CONTRIBUTORS)
    checked_integer("parties", parties, MIN_PARTIES, MAX_PARTIES)
    if shuffle not in get_args(Shuffle):
        raise unknown_name("shuffle", shuffle, get_args(Shuffle))
    if not timeout > 0:
        raise out_of_range("timeout", "> 0", timeout)
    plan = plan_of(mechanism, n, shuffle)
    if importlib.util.find_spec("mpyc") is None:
        raise MissingExtraError('dealing without a dealer needs mpyc: pip install "deniable[mpc]"')
    results = run_helpers(plan, parties, timeout)
    return SplitDeal(
        plan.modulus,
        (parties - 1) // 2,
        np.array([result["pieces"] for result in results], dtype=np.int64),
        max(result["seconds"] for result in results),
        tuple(result["bytes_sent"] for result in results),
    )


@dataclass(frozen=True)
class Helpers:
    """Several helpers on this machine in the dealer's place, as `deal_without_dealer` runs them.

    Parameters
    ----------
    mechanism, parties, shuffle, timeout
        Parameters of `split_deal`.

    Examples
    --------
    >>> from deniable.research.dealt.coupling.jrr import JRR
    >>> jrr = JRR(p=0.6, rho=-0.5, n=9, deal_id="monday")
    >>> helpers = Helpers(jrr, parties=5)
    >>> helpers.parties, helpers.shuffle
    (5, 'resharing')
    """

    mechanism: DealtMechanism[Any]
    parties: int = 3
    shuffle: Shuffle = "resharing"
    timeout: float = 600.0

    def deal(self, n: int, rng: Randomness | None = None) -> Shares:
        """Return the shares of n contributors.

        The argument `rng` is not used, because each helper has its own randomness from the operating system.
        """
        del rng
        return deal_without_dealer(self.mechanism, n, self.parties, shuffle=self.shuffle, timeout=self.timeout)


def deal_without_dealer(
    mechanism: DealtMechanism[Any],
    n: int,
    parties: int = 3,
    *,
    shuffle: Shuffle = "resharing",
    timeout: float = 600.0,
) -> Shares:
    """Helpers and contributors: deal without a dealer, and join everybody's pieces.

    This is a rehearsal on one machine. This process starts all helpers and plays all contributors. So the person who
    runs it sees every share, as a dealer would. Only if each helper runs at a separate organisation does nobody need to
    be trusted.

    Parameters
    ----------
    mechanism, n, parties, shuffle, timeout
        Parameters of `split_deal`.

    Returns
    -------
    Shares
        Result of ``mechanism.deal(n, rng)``, with the same distribution.

    Raises
    ------
    InvalidParameterError, MissingExtraError, DealingError
        If `split_deal` raises them.

    Examples
    --------
    >>> from deniable import SecureRandomness
    >>> from deniable.research.dealt import QuotaRR
    >>> quota = QuotaRR(epsilon=1.0, n=20, deal_id="monday")
    >>> shares = deal_without_dealer(quota, 20)
    >>> reports = quota.randomize([1] * 20, shares, SecureRandomness())
    """
    types = split_deal(mechanism, n, parties, shuffle=shuffle, timeout=timeout).types()
    (field,) = mechanism.share_fields
    return Shares(mechanism.deal_id, (types.astype(field.dtype),))
