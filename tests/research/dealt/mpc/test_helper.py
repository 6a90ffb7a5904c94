"""A helper that loses a peer."""

from __future__ import annotations

import asyncio

import pytest

from deniable.errors import DealingError
from deniable.research.dealt.mpc import helper
from deniable.research.dealt.mpc.plan import plan_of
from tests.research.dealt.mpc.started import jrr


def test_helper_ends_when_a_peer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Losing:
        """A runtime whose connection to the second helper breaks at once."""

        def unset_protocol(self, peer: int) -> None:
            raise AssertionError(f"mpyc would wait for helper {peer + 1} for ever")

        async def start(self) -> None:
            self.unset_protocol(1)

    def stopped(message: str) -> None:
        raise DealingError(message)

    monkeypatch.setattr(helper, "_stop", stopped)
    with pytest.raises(DealingError, match=r"^helper 2 is lost$"):
        asyncio.run(helper._compute(Losing(), plan_of(jrr(2), 2)))
