"""Shares of a JRR deal: the sign R that the dealer gives to each contributor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.joint._quota_deal import deal_types
from deniable.randomness import Randomness

SHARE_TYPES = 3


@dataclass(frozen=True, eq=False)
class JRRShares:
    """The dealer's shares: row i goes to contributor i and to nobody else, least of all to the collector.

    Parameters
    ----------
    deal_id : str
        The deal they belong to.
    types : uint8[n]
        0: R = -1. 1: R = +1. 2: unpaired (one contributor of an odd deal), who reports by randomised response.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> shares = deal_signs("monday", 5, SimulationRandomness(1))
    >>> len(shares), len(shares[3]), sorted(shares.signs.tolist())
    (5, 1, [-1, -1, 0, 1, 1])
    """

    deal_id: str
    types: NDArray[Any]

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, rows: int | slice) -> JRRShares:
        """Return the share of one contributor, or of a slice of them."""
        return JRRShares(self.deal_id, np.atleast_1d(self.types[rows]))

    @property
    def signs(self) -> NDArray[np.int8]:
        """R as int8[n]: -1, +1, and 0 for the unpaired contributor."""
        signs: NDArray[np.int8] = np.array([-1, 1, 0], dtype=np.int8)[self.types]
        return signs


def deal_signs(deal_id: str, n: int, rng: Randomness) -> JRRShares:
    """Dealer: draw the signs of n contributors, floor(n/2) of each, in exactly uniform order.

    Pairing contributors at random and giving opposite signs to each pair is the same law: given the signs, the truth
    coins are independent, so who was paired with whom says nothing more. With odd n the contributor who is left over
    is uniform, too.

    Parameters
    ----------
    deal_id : str
        Names the deal; every deal needs its own.
    n : int
        Number of contributors.
    rng : Randomness
        `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

    Returns
    -------
    JRRShares
        One byte per contributor.
    """
    return JRRShares(deal_id, deal_types(most_signs(n), rng))


def most_signs(n: int) -> list[int]:
    """Return how many shares of each type a deal to n contributors has."""
    return [n // 2, n // 2, n % 2]
