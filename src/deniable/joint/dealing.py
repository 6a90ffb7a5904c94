"""The dealer: an actor of its own, who deals a secret share to each contributor and never sees data or reports.

A dealt mechanism is a mechanism whose contributors take a share beside their answer. The collector's verbs are those of
every mechanism and never take shares.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Protocol, Self, runtime_checkable

from deniable.mechanism import ReportField
from deniable.randomness import Randomness


class Shares(Protocol):
    """What a dealer hands out: row i goes to contributor i and to nobody else, least of all to the collector.

    Besides these members it has one array attribute per field of `DealtMechanism.share_fields`, of that name, with
    leading axis n.
    """

    @property
    def deal_id(self) -> str:
        """The deal they belong to."""

    def __len__(self) -> int:
        """Return the number of contributors dealt to."""

    def __getitem__(self, rows: int | slice) -> Self:
        """Return the share of one contributor, or of a slice of them."""


class Dealer(Protocol):
    """Whoever deals: knows the mechanism's public parameters, and sees neither data nor reports."""

    def deal(self, n: int, rng: Randomness) -> Any:
        """Dealer: draw the `Shares` of n contributors; once per `deal_id`."""


@runtime_checkable
class DealtMechanism(Protocol):
    """A frozen dataclass of public parameters for one deal: configures dealer, contributors, collector and analyst.

    It has the members of `Mechanism` (of which `randomize` takes shares), and these.
    """

    @property
    def name(self) -> str:
        """The name that specifications and messages use."""

    @property
    def deal_id(self) -> str:
        """Names the deal; every deal has its own (`fresh_deal_id`), and aggregates of two deals are never added."""

    @property
    def n(self) -> int:
        """Number of contributors dealt to; fewer may report."""

    def deal(self, n: int, rng: Randomness) -> Any:
        """Dealer: draw the `Shares` of all n contributors."""

    def randomize(self, inputs: Any, shares: Any, rng: Randomness | None = None) -> Any:
        """Contributor: turn true answers and one share each into reports, one row each."""

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """How shares are stored: the names, dtypes and widths of their array attributes."""

    @property
    def share_type(self) -> Callable[..., Any]:
        """Callable that builds shares from the deal's id and the arrays of `share_fields`, in order."""


def is_dealt(mechanism: Any) -> bool:
    """Whether a mechanism's contributors need shares from a dealer.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.joint.quota import QuotaRR
    >>> is_dealt(GRR(k=2, epsilon=1.0)), is_dealt(QuotaRR(epsilon=1.0, n=100))
    (False, True)
    """
    return isinstance(mechanism, DealtMechanism)


def fresh_deal_id() -> str:
    """Return a name for a deal that no other deal has: 128 random bits from the operating system, in hexadecimal.

    Examples
    --------
    >>> len(fresh_deal_id()), fresh_deal_id() == fresh_deal_id()
    (32, False)
    """
    return secrets.token_hex(16)
