"""Shared fixtures for tests of dealing by helpers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.research.dealt.mpc.sessions import Alone


@pytest.fixture(scope="session")
def alone() -> Iterator[Alone]:
    """One party for all tests; its event loop is closed at the end."""
    party = Alone()
    yield party
    asyncio.set_event_loop(None)
    party.runtime._loop.close()
