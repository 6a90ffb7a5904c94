"""Shares of a quota deal: what the dealer gives to each contributor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.checks import Codes
from deniable.kernels import kernel


@dataclass(frozen=True, eq=False)
class QuotaShares:
    """The dealer's shares: row i goes to contributor i and to nobody else, least of all to the collector.

    Parameters
    ----------
    deal_id : str
        The deal they belong to.
    types : uint8[n] or uint16[n]
        v < k: report v. k: report the truth (in the capped form: the truth randomised with epsilon_aux).

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.joint.quota import QuotaRR
    >>> quota = QuotaRR(epsilon=1.0, n=100)
    >>> shares = quota.deal(100, SimulationRandomness(1))
    >>> len(shares), len(shares[7])
    (100, 1)
    """

    deal_id: str
    types: NDArray[Any]

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, rows: int | slice) -> QuotaShares:
        """Return the share of one contributor, or of a slice of them."""
        return QuotaShares(self.deal_id, np.atleast_1d(self.types[rows]))


@kernel
def follow(types: NDArray[Any], answers: Codes, k: int, reports: Codes) -> None:
    """Report the forced answer types[n] where it is below k, else answers[n]."""
    for i in range(types.shape[0]):
        reports[i] = types[i] if np.int64(types[i]) < k else answers[i]
