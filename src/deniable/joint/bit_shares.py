"""Shares of report-coupled unary encoding: one type per contributor and bit, two bits each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.errors import InvalidInputError, MismatchError
from deniable.mechanisms._bits import Bits, check_padding, checked_bits, packed_width


@dataclass(frozen=True, eq=False)
class BitShares:
    """The dealer's shares: row i goes to contributor i and to nobody else, least of all to the collector.

    Parameters
    ----------
    deal_id : str
        The deal they belong to.
    ones : uint8[n, ceil(k/8)]
        Packed bits (value v is bit v % 8 of byte v // 8): where to report 1 whatever is true.
    truth : uint8[n, ceil(k/8)]
        Packed bits: where to report the truth. Where neither is set: report 0.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.joint.jrr_unary import CoupledOUE
    >>> shares = CoupledOUE(k=16, q=0.25, n=100).deal(100, SimulationRandomness(1))
    >>> len(shares), len(shares[7]), shares.ones.shape
    (100, 1, (100, 2))
    """

    deal_id: str
    ones: Bits
    truth: Bits

    def __len__(self) -> int:
        return len(self.ones)

    def __getitem__(self, rows: int | slice) -> BitShares:
        """Return the share of one contributor, or of a slice of them."""
        # Indexing first: a row beyond the last must be an IndexError, or iterating would never end.
        return BitShares(self.deal_id, np.atleast_2d(self.ones[rows]), np.atleast_2d(self.truth[rows]))


def check_bit_shares(shares: Any, deal_id: str, k: int, rows: int) -> None:
    """Raise unless there is one share of this deal and of k bits per row.

    Raises
    ------
    InvalidInputError
        If the shares are of another kind or shape, too few or too many, or claim two types for one bit.
    MismatchError
        If they belong to another deal.
    """
    if not isinstance(shares, BitShares):
        raise InvalidInputError(f"shares must be BitShares from the dealer, got {type(shares).__name__}")
    if shares.deal_id != deal_id:
        raise MismatchError(f"the shares belong to deal {shares.deal_id!r}, not to deal {deal_id!r}")
    for bits in (shares.ones, shares.truth):
        check_padding(checked_bits(bits, k, InvalidInputError), k, InvalidInputError)
        if len(bits) != rows:
            raise InvalidInputError(f"every contributor needs one share, got {rows} inputs and {len(bits)} shares")
    both = (shares.ones & shares.truth).any(axis=1)
    if both.any():
        raise InvalidInputError(f"a bit must have one type, got one with two in row {both.argmax() + 1}")


def packed(types: Bits, wanted: int, v: int) -> Bits:
    """Return uint8[n] with bit v % 8 set where types[n] is the wanted one."""
    bits: Bits = (types == wanted).astype(np.uint8) << np.uint8(v & 7)
    return bits


def empty_bits(n: int, k: int) -> Bits:
    """Return zeroed packed bits[n, ceil(k/8)]."""
    return np.zeros((n, packed_width(k)), dtype=np.uint8)
