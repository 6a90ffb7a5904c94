"""Shares, of which a dealer hands out one secret row to each contributor, and the interface of dealers."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, checked_codes
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness
from deniable.errors import InvalidInputError
from deniable.oracles.grr import count_codes

if TYPE_CHECKING:
    from deniable.research.dealt.quota.tables import QuotaTables

Columns = tuple[NDArray[Any], ...]


class DealtTypes(NamedTuple):
    """Types of shares that are one type each, dealt in random order.

    These public numbers are all that helpers need to deal in a dealer's place.

    Attributes
    ----------
    types : int
        Number of types.
    counts : tuple of int or None
        Number of shares of each type, if these numbers are public.
    tables : QuotaTables or None
        Distribution of these numbers, if they are secret.
    """

    types: int
    counts: tuple[int, ...] | None = None
    tables: QuotaTables | None = None


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares from a dealer: row i goes only to contributor i, and never to the collector.

    Parameters
    ----------
    deal_id : str
        Name of the deal.
    columns : tuple of arrays
        Arrays with n rows, in the order of `DealtMechanism.share_fields`, which describes them.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import QuotaRR
    >>> shares = QuotaRR(epsilon=1.0, n=100, deal_id="monday").deal(100, SimulationRandomness(1))
    >>> len(shares), len(shares[7]), shares.columns[0].dtype
    (100, 1, dtype('uint8'))
    """

    deal_id: str
    columns: Columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, rows: int | slice) -> Shares:
        """Return the share of one contributor, or the shares of a slice of contributors."""
        # Indexing comes first: a row beyond the last must be an IndexError, or iterating would never end.
        found = (column[rows] for column in self.columns)
        return Shares(self.deal_id, tuple(part if isinstance(rows, slice) else part[None] for part in found))

    @classmethod
    def joined(cls, parts: Sequence[Shares]) -> Shares:
        """Return several batches of shares of one deal as one batch."""
        columns = zip(*(part.columns for part in parts), strict=True)
        return cls(parts[0].deal_id, tuple(np.concatenate(column) for column in columns))


class Dealer(Protocol):
    """A dealer draws the shares. It knows the mechanism's public parameters, and sees neither data nor reports.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import QuotaRR
    >>> dealer: Dealer = QuotaRR(epsilon=1.0, n=1_000)
    >>> shares = dealer.deal(1_000, SimulationRandomness(1))
    >>> annas = shares[16]
    >>> len(shares), len(annas), annas.deal_id == shares.deal_id
    (1000, 1, True)
    """

    def deal(self, n: int, rng: Randomness) -> Shares:
        """Dealer: draw the shares of n contributors, only once for each `deal_id`."""


def fresh_deal_id() -> str:
    """Return a new unique name for a deal: 128 random bits from the operating system, in hexadecimal.

    Examples
    --------
    >>> len(fresh_deal_id()), fresh_deal_id() == fresh_deal_id()
    (32, False)
    """
    return secrets.token_hex(16)


def check_types(types: NDArray[Any], n: int, most: Sequence[int]) -> None:
    """Raise InvalidInputError if a type is not below len(most), or occurs more often than `most` allows."""
    held = count_codes(checked_codes(types, len(most)), len(most))
    excess = held > np.asarray(most)
    if excess.any():
        type_ = int(excess.argmax())
        raise InvalidInputError(
            f"a deal to n={n} contributors must have at most {most[type_]} shares of type {type_}, got {held[type_]} "
            "shares: at least one share is duplicated"
        )


@kernel
def follow(types: NDArray[Any], answers: Codes, k: int, reports: Codes) -> None:
    """Write the reports: the forced answer types[n] if it is below k, and answers[n] otherwise."""
    for i in range(types.shape[0]):
        reports[i] = types[i] if np.int64(types[i]) < k else answers[i]
