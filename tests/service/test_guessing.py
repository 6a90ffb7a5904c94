"""Waits after wrong passwords, with a time that passes only while everyone waits."""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from deniable.service.guessing import FREE_FAILURES, MOST_KNOWN, MOST_WAITING, Guesses, TooSoonError

COST = 0.08
"""Seconds to compare a password in this test."""

OWNER, STRANGER = "192.0.2.7", "203.0.113.5"


class Selector(selectors.DefaultSelector):
    """Selector that lets time pass at once instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Return ready events; move the time by the length of the wait."""
        self.now += timeout or 0.0
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """An event loop with an injected time."""

    def __init__(self) -> None:
        self.chosen = Selector()
        super().__init__(self.chosen)

    def time(self) -> float:
        """Return the time."""
        return self.chosen.now


def in_time(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(test())


def comparing(right: bool, compared: list[float] | None = None) -> Callable[[], Awaitable[bool]]:
    """Compare a password, which takes time."""

    async def compare() -> bool:
        if compared is not None:
            compared.append(asyncio.get_running_loop().time())
        await asyncio.sleep(COST)
        return right

    return compare


async def tried(guesses: Guesses, address: str, right: bool = False, name: str = "ann") -> int | bool:
    """Try a password; return the result, or the seconds to wait."""
    try:
        return await guesses.attempt(name, address, comparing(right))
    except TooSoonError as error:
        return error.seconds


def test_wrong_passwords_make_a_network_wait_twice_as_long_each_time() -> None:
    async def test() -> None:
        guesses, waits = Guesses(), []
        for _ in range(FREE_FAILURES):
            assert await tried(guesses, STRANGER) is False
        for _ in range(8):
            seconds = await tried(guesses, STRANGER)
            assert seconds is not True
            waits.append(seconds)
            await asyncio.sleep(seconds)
            assert await tried(guesses, STRANGER) is False
        assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
        # The whole network waits, and the right password does not end the wait.
        assert await tried(guesses, "203.0.113.200", right=True) == 60
        await asyncio.sleep(60)
        assert await tried(guesses, STRANGER, right=True) is True
        # After that, the count begins anew.
        assert [await tried(guesses, STRANGER) for _ in range(FREE_FAILURES)] == [False] * FREE_FAILURES

    in_time(test)


@pytest.mark.parametrize("name", ["ann", "a name that no account has"])
def test_wrong_passwords_from_elsewhere_and_for_others_make_nobody_wait(name: str) -> None:
    """Five wrong passwords once locked everyone out, from everywhere."""

    async def test() -> None:
        guesses = Guesses()
        for _ in range(FREE_FAILURES + 1):
            await tried(guesses, STRANGER, name=name)
        assert await tried(guesses, STRANGER, name=name) == 1
        assert await tried(guesses, STRANGER, name="bob") is False
        assert await tried(guesses, OWNER, right=True, name=name) is True
        assert await tried(guesses, "::ffff:203.0.113.9", name=name) == 1
        assert await tried(guesses, "2001:db8::1", name=name) is False

    in_time(test)


def test_of_many_passwords_that_are_tried_at_once_all_but_a_few_meet_the_wait() -> None:
    async def test() -> None:
        guesses, compared = Guesses(), list[float]()

        async def one() -> bool:
            return await guesses.attempt("ann", STRANGER, comparing(False, compared))

        found = await asyncio.gather(*(one() for _ in range(50)), return_exceptions=True)
        assert len(compared) == FREE_FAILURES == found.count(False)

    in_time(test)


def test_guessing_takes_a_quarter_of_a_core_at_most_from_any_number_of_networks() -> None:
    async def test() -> None:
        guesses, compared = Guesses(), list[float]()

        async def guess(network: int) -> None:
            while True:
                try:
                    address = f"10.{network // 256}.{network % 256}.1"
                    await guesses.attempt(f"name {network}", address, comparing(False, compared))
                except TooSoonError as error:
                    await asyncio.sleep(error.seconds)

        guessers = [asyncio.create_task(guess(network)) for network in range(300)]
        await asyncio.sleep(20)
        for one in guessers:
            one.cancel()
        await asyncio.gather(*guessers, return_exceptions=True)
        # Passwords are compared one after the other, with a rest after each. So comparing takes at most a quarter of
        # the time.
        assert all(after - before >= 4 * COST - 1e-9 for before, after in itertools.pairwise(compared))
        assert 0.2 * 20 / COST < len(compared) <= 0.25 * 20 / COST + 1

    in_time(test)


@pytest.mark.parametrize("known", [True, False])
def test_a_flood_from_many_networks_keeps_no_owner_out(known: bool) -> None:
    """The queue is full: people who logged in from there before, or never failed, come first."""

    async def test() -> None:
        guesses = Guesses()
        if known:
            assert await tried(guesses, OWNER, right=True) is True

        async def flood(network: int) -> None:
            number = 0
            while True:
                number += 1
                # Each network tries names of its own choice, so that no wait stops it.
                if (seconds := await tried(guesses, f"10.0.{network}.1", name=f"{network} {number}")) is not False:
                    await asyncio.sleep(seconds)

        strangers = [asyncio.create_task(flood(network)) for network in range(MOST_WAITING + 20)]
        # By then each of them has failed at least once.
        await asyncio.sleep(60)
        assert len(guesses._waiting) == MOST_WAITING
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await tried(guesses, OWNER, right=True) is True
        # The owner waits for the current comparison, its rest, and the owner's own comparison.
        assert loop.time() - began <= 5 * COST + 1e-9
        for one in strangers:
            one.cancel()
        await asyncio.gather(*strangers, return_exceptions=True)

    in_time(test)


def test_a_flood_from_ever_new_networks_delays_and_keeps_nobody_out() -> None:
    """Even someone from a new network waits less than the whole queue takes, as arrival order would require."""

    async def test() -> None:
        guesses = Guesses()

        async def flood() -> None:
            tries = set[asyncio.Task[int | bool]]()
            for number in range(100_000):
                address = f"10.{number // 256 % 256}.{number % 256}.1"
                tries.add(one := asyncio.create_task(tried(guesses, address, name=str(number))))
                one.add_done_callback(tries.discard)
                await asyncio.sleep(1 / 20)

        stranger = asyncio.create_task(flood())
        await asyncio.sleep(60)
        assert len(guesses._waiting) == MOST_WAITING
        loop, waits = asyncio.get_running_loop(), list[float]()
        for number in range(21):
            began = loop.time()
            while await tried(guesses, f"192.{number}.2.7", right=True) is not True:
                await asyncio.sleep(1)
            waits.append(loop.time() - began)
        # In the order of arrival, everybody would wait for the whole queue.
        assert sorted(waits)[10] < 4 * COST * MOST_WAITING
        began = loop.time()
        assert await tried(guesses, "192.0.2.7", right=True) is True
        assert loop.time() - began <= 5 * COST + 1e-9
        stranger.cancel()
        await asyncio.gather(stranger, return_exceptions=True)

    in_time(test)


def test_who_goes_away_leaves_the_turn_to_others() -> None:
    async def test() -> None:
        guesses = Guesses()
        first, second, third = (
            asyncio.create_task(tried(guesses, f"10.0.{network}.1", right=True)) for network in range(3)
        )
        await asyncio.sleep(COST / 2)
        second.cancel()
        assert await first is True
        assert await third is True
        gone = asyncio.create_task(tried(guesses, STRANGER))
        await asyncio.sleep(COST / 2)
        gone.cancel()
        await asyncio.gather(gone, second, return_exceptions=True)
        assert await tried(guesses, OWNER, right=True) is True

    in_time(test)


def test_a_comparison_that_breaks_is_no_wrong_password_and_ends_its_turn() -> None:
    async def test() -> None:
        guesses = Guesses()

        async def broken() -> bool:
            raise OSError("the database is away")

        for _ in range(FREE_FAILURES + 1):
            with pytest.raises(OSError, match="away"):
                await guesses.attempt("ann", OWNER, broken)
        assert await tried(guesses, OWNER, right=True) is True

    in_time(test)


def test_what_is_kept_is_keyed_ends_within_an_hour_and_is_bounded() -> None:
    async def test() -> None:
        guesses = Guesses()
        await asyncio.sleep(3600)
        for _ in range(FREE_FAILURES):
            await tried(guesses, STRANGER)
        kept = str(vars(guesses))
        assert "203.0.113" not in kept
        assert "ann" not in kept
        assert await tried(guesses, STRANGER) == 1
        await asyncio.sleep(3600)
        assert await tried(guesses, OWNER, right=True) is True
        assert not guesses._by_pair
        assert not guesses._by_network
        for network in range(MOST_KNOWN + 10):
            await tried(guesses, f"10.{network // 256}.{network % 256}.1", right=True)
        assert len(guesses._known) == MOST_KNOWN
        # No wait is forgotten because an hour begins.
        loop = asyncio.get_running_loop()
        await asyncio.sleep(3600 - loop.time() % 3600 - 12)
        for wait in (0, 0, 0, 0, 0, 1, 2, 4):
            await asyncio.sleep(wait)
            assert await tried(guesses, STRANGER) is False
        hour = guesses._hour
        await asyncio.sleep(3600 - loop.time() % 3600 + 1)
        assert await tried(guesses, STRANGER) > 1
        assert guesses._hour == hour + 1

    in_time(test)
