"""What every mechanism checks of the shares it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.checks import checked_codes
from deniable.errors import InvalidInputError, MismatchError
from deniable.mechanisms.grr import count_codes


class TypedShares(Protocol):
    """Shares that hold one type per contributor: `QuotaShares`, `JRRShares`."""

    @property
    def deal_id(self) -> str:
        """The deal they belong to."""

    @property
    def types(self) -> NDArray[Any]:
        """One type per contributor."""

    def __len__(self) -> int:
        """Return the number of contributors."""


def check_shares(shares: TypedShares, kind: type, deal_id: str, n: int, most: Sequence[int], rows: int) -> None:
    """Raise unless there is one share of this kind and deal per row; `most` says how many of each type a deal can have.

    Raises
    ------
    InvalidInputError
        If the shares are of another kind, are too few or too many, hold a type that the mechanism does not deal, or
        more shares or more of a type than a deal to n contributors has.
    MismatchError
        If they belong to another deal.
    """
    if not isinstance(shares, kind):
        raise InvalidInputError(f"shares must be {kind.__name__} from the dealer, got {type(shares).__name__}")
    if shares.deal_id != deal_id:
        raise MismatchError(f"the shares belong to deal {shares.deal_id!r}, not to deal {deal_id!r}")
    if len(shares) != rows:
        raise InvalidInputError(f"every contributor needs one share, got {rows} inputs and {len(shares)} shares")
    check_dealt(rows, n)
    if not isinstance(shares.types, np.ndarray):
        raise InvalidInputError(f"types must be an array, got {type(shares.types).__name__}")
    held = count_codes(checked_codes(shares.types, len(most)), len(most))
    excess = held > np.asarray(most)
    if excess.any():
        type_ = int(excess.argmax())
        raise InvalidInputError(
            f"a deal to n={n} has at most {most[type_]} shares of type {type_}, got {held[type_]}: "
            "a share is duplicated"
        )


def check_dealt(rows: int, n: int) -> None:
    """Raise InvalidInputError if there are more shares than contributors dealt to."""
    if rows > n:
        raise InvalidInputError(f"a deal to n={n} has n shares, got {rows}: a share is duplicated")
