"""Waits after wrong passwords, by account and network, and a bound on the processor time that passwords take.

After five wrong passwords for one name from one network, that network waits before it can try that name again. Other
networks and other names do not wait, so nobody can lock out a person in another network. Names that no account has are
treated in the same way. Networks are kept as keyed digests in memory, and those of wrong passwords for an hour.

Passwords are compared one at a time. A rest follows every wrong password, so guessing takes at most a quarter of a
core. Networks from which somebody has logged in come first, then those with the fewest wrong passwords. Chance decides
among equals. An attacker who fills the queue from many new networks delays people from other new networks, and uses up
those many networks.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from deniable.service.limits import network_of

FREE_FAILURES = 5
"""Wrong passwords before there is a wait. Each further wait is twice as long, up to `LONGEST_WAIT` seconds."""
LONGEST_WAIT = 60

MOST_WAITING = 64
"""Most requests with a password that wait for their turn."""

MOST_KNOWN = 1024
"""Most networks that are remembered because somebody logged in from there."""

_REST, _LONGEST_REST = 3, 1.0
"""After a wrong password, nothing is compared for a while: the first number times the duration of the comparison, but
at most the second number of seconds."""

_HOUR, _TICK = 3600, 0.001


class TooSoonError(Exception):
    """Error that says that a password cannot be tried now.

    Parameters
    ----------
    seconds : int
        Seconds after which the password can be tried.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"wait {seconds} s")
        self.seconds = seconds


@dataclass(eq=False)
class _Failures:
    times: int = 0
    until: float = 0.0


@dataclass(order=True)
class _Turn:
    stranger: bool
    failures: int
    chance: int
    given: asyncio.Future[None] = field(compare=False)


class Guesses:
    """Queue that decides which password is compared next; each event loop has one, which uses the loop's time."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._hour = 0
        # At most a few passwords a second are compared, so the entries of an hour need no other bound.
        self._by_pair, self._by_network = dict[bytes, _Failures](), Counter[bytes]()
        # Names are in the order of their last log-in.
        self._known = dict[bytes, None]()
        self._waiting, self._here = list[_Turn](), Counter[bytes]()
        self._busy = False

    async def attempt(self, name: str, address: str, right: Callable[[], Awaitable[bool]]) -> bool:
        """Wait for this request's turn, and return the result of `right`, which compares a password.

        Parameters
        ----------
        name : str
            Name that was given, whether or not there is such an account.
        address : str
            Address that the request comes from.
        right : callable
            Function that compares the password.

        Raises
        ------
        TooSoonError
            If too many wrong passwords came for this name from this network, or too many requests wait.
        """
        network = self._digest("network", network_of(address))
        pair = self._digest("pair", network_of(address), name)
        self._check(pair)
        await self._turn(network)
        loop = asyncio.get_running_loop()
        began, found = loop.time(), False
        try:
            # Others may have given wrong passwords for the same name while this request waited.
            self._check(pair)
            found = await right()
            (self._passed if found else self._failed)(pair, network)
        finally:
            # If nothing was compared, no time has passed.
            spent = 0.0 if found else loop.time() - began
            loop.call_later(min(_LONGEST_REST, _REST * spent), self._next)
        return found

    def _digest(self, *parts: str) -> bytes:
        return hmac.digest(self._key, "\0".join(parts).encode(), "sha256")[:16]

    def _check(self, pair: bytes) -> None:
        now = asyncio.get_running_loop().time()
        if int(now // _HOUR) != self._hour:
            self._hour = int(now // _HOUR)
            # A wait that still lasts is kept. Otherwise the change of the hour would be the time to guess.
            self._by_pair = {key: seen for key, seen in self._by_pair.items() if seen.until > now}
            self._by_network.clear()
        seen = self._by_pair.get(pair)
        if seen is not None and (seconds := seen.until - now) > _TICK:
            raise TooSoonError(math.ceil(seconds - _TICK))

    async def _turn(self, network: bytes) -> None:
        if not self._busy:
            self._busy = True
            return
        rank = self._by_network[network] + self._here[network]
        turn = _Turn(network not in self._known, rank, secrets.randbits(64), asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        self._here[network] += 1
        if len(self._waiting) > MOST_WAITING:
            last = max(self._waiting)
            self._waiting.remove(last)
            last.given.set_exception(TooSoonError(1))
        try:
            await turn.given
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif turn.given.done() and not turn.given.cancelled() and turn.given.exception() is None:
                self._next()
            raise
        finally:
            self._here[network] -= 1
            if not self._here[network]:
                del self._here[network]

    def _next(self) -> None:
        """Give the turn to the request that comes first, if any waits."""
        while self._waiting:
            first = min(self._waiting)
            self._waiting.remove(first)
            if not first.given.done():
                first.given.set_result(None)
                return
        self._busy = False

    def _passed(self, pair: bytes, network: bytes) -> None:
        self._by_pair.pop(pair, None)
        self._known.pop(network, None)
        self._known[network] = None
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def _failed(self, pair: bytes, network: bytes) -> None:
        seen = self._by_pair.setdefault(pair, _Failures())
        seen.times += 1
        self._by_network[network] += 1
        if seen.times >= FREE_FAILURES:
            wait = min(LONGEST_WAIT, 2 ** (seen.times - FREE_FAILURES))
            seen.until = asyncio.get_running_loop().time() + wait
