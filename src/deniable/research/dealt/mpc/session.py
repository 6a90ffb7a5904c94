"""One helper's end of a secure computation, with its own Shamir shares as integers.

The class `Session` also has the three operations that need peers. A secret is held as numpy int64 values mod `modulus`.
These are this helper's shares, the values of polynomials of degree t at its point. Sums and public multiples are then
plain numpy. Products, openings and new inputs go through mpyc. Everything is information-theoretic: mpyc's pseudorandom
shares are switched off, and no step hides a value only statistically.
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.randomness import Randomness
from deniable.errors import MissingExtraError
from deniable.research.dealt.mpc.polynomials import recombination

Shares = NDArray[np.int64]

OPTIONS = ("--no-log", "--no-prss", "--mix32-64bit", "--no-uvloop")
"""Options of mpyc: there are no pseudorandom shares, and field elements travel as bytes."""


def load_runtime(arguments: Sequence[str] = ()) -> Any:
    """Import mpyc and return its runtime for these mpyc arguments.

    Without any arguments, the runtime is a single party in this process.

    Raises
    ------
    MissingExtraError
        If mpyc is not installed.
    """
    kept = sys.argv
    # mpyc configures itself from the command line when it is imported.
    sys.argv = ["helper", *OPTIONS, *arguments]
    asyncio.set_event_loop(asyncio.new_event_loop())
    try:
        with warnings.catch_warnings():
            # mpyc 0.11 looks into numpy.core, which numpy has deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            from mpyc import runtime
    except ImportError as error:
        raise MissingExtraError('dealing without a dealer needs mpyc: pip install "deniable[mpc]"') from error
    finally:
        sys.argv = kept
    # mpyc would unpickle whatever a peer sends. Messages here are numbers, so JSON carries them and runs nothing.
    runtime.pickle = SimpleNamespace(dumps=lambda value: json.dumps(value).encode(), loads=json.loads)
    return runtime.mpc


@dataclass(frozen=True)
class Session:
    """Helper in a running computation.

    Parameters
    ----------
    runtime : mpyc.runtime.Runtime
        Runtime that is connected to the other helpers.
    modulus : int
        Prime of the field, larger than the number of helpers and than any secret.
    rng : Randomness
        This helper's own randomness.
    """

    runtime: Any
    modulus: int
    rng: Randomness

    @property
    def party(self) -> int:
        """Index of this helper, 0 <= party < parties. The helper's point is party + 1."""
        return int(self.runtime.pid)

    @property
    def parties(self) -> int:
        """Number of helpers."""
        return len(self.runtime.parties)

    @property
    def degree(self) -> int:
        """Degree t of the polynomials. Together, t helpers know nothing."""
        return int(self.runtime.threshold)

    @property
    def bytes_sent(self) -> int:
        """Bytes sent to peers so far."""
        peers = [peer.protocol for peer in self.runtime.parties if peer.pid != self.party]
        return sum(protocol.nbytes_sent for protocol in peers)

    def _secret(self, values: Shares) -> Any:
        secret = self.runtime.SecFld(modulus=self.modulus)
        return secret.array(secret.field.array((values % self.modulus).astype(object), check=False))

    async def _values(self, secret: Any) -> Shares:
        share = await self.runtime.gather(secret)
        return np.asarray(share.value).astype(np.int64)

    async def multiply(self, left: Shares, right: Shares) -> Shares:
        """Return shares of the products, as values of fresh polynomials of degree t."""
        a, b = np.broadcast_arrays(left, right)
        if a.size == 0:
            return a.copy()
        product = await self._values(self._secret(a.ravel()) * self._secret(b.ravel()))
        return product.reshape(a.shape)

    async def open(self, values: Shares) -> Shares:
        """Return the secrets themselves, which every helper learns."""
        opened = await self.runtime.output(self._secret(values.ravel()), raw=True)
        return np.asarray(opened.value).astype(np.int64).reshape(values.shape)

    async def share(self, values: Shares, senders: Sequence[int]) -> list[Shares]:
        """Return this helper's shares of the values of each sender.

        Helpers that do not send give values of the same shape, which are not used.
        """
        inputs = self.runtime.input(self._secret(values.ravel()), senders=list(senders))
        return [(await self._values(secret)).reshape(values.shape) for secret in inputs]

    async def tell(self, values: Shares, sender: int, receivers: Sequence[int]) -> Shares | None:
        """Return the sender's values if this helper is a receiver.

        The values are sent in the clear, in private between the sender and the receiver.
        """
        answers = await self.runtime.transfer(values.tolist(), senders=[sender], receivers=list(receivers))
        return np.array(answers[0], dtype=np.int64) if answers else None

    async def reshare(self, values: Shares, group: Sequence[int]) -> Shares:
        """Return shares of the same secrets, as values of fresh polynomials that a group of t+1 helpers deals.

        Each member deals its own share times its recombination coefficient. The sum of what the members deal is the
        secret.
        """
        if self.party in group:
            coefficients = recombination([member + 1 for member in group], self.modulus)
            values = values * coefficients[list(group).index(self.party)]
        dealt = await self.share(values % self.modulus, group)
        total: Shares = np.sum(dealt, axis=0) % self.modulus
        return total
