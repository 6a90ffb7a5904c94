"""What every mechanism checks of the shares it is given."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from deniable.checks import checked_codes
from deniable.errors import InvalidInputError, MismatchError


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


def check_shares(shares: TypedShares, kind: type, deal_id: str, types: int, rows: int) -> None:
    """Raise unless there is one share of this kind and deal per row, of a type below `types`.

    Raises
    ------
    InvalidInputError
        If the shares are of another kind, are too few or too many, or hold a type that the mechanism does not deal.
    MismatchError
        If they belong to another deal.
    """
    if not isinstance(shares, kind):
        raise InvalidInputError(f"shares must be {kind.__name__} from the dealer, got {type(shares).__name__}")
    if shares.deal_id != deal_id:
        raise MismatchError(f"the shares belong to deal {shares.deal_id!r}, not to deal {deal_id!r}")
    if len(shares) != rows:
        raise InvalidInputError(f"every contributor needs one share, got {rows} inputs and {len(shares)} shares")
    checked_codes(shares.types, types)
