"""Connections: endless heads, frames of bodies, and the order of closing."""

from __future__ import annotations

from typing import Any

import pytest

from deniable.service import connections
from deniable.service.connections import MAX_HEAD, Connections
from deniable.service.server import Running
from tests.service.asking import (
    Caller,
)
from tests.service.talking import CHUNKED, LIVE, talk

ENDLESS = [b"x" * 4096] * 64


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the parsed bytes, piece by piece."""
    sizes, received = list[int](), connections._Requests.data_received

    def counted(self: connections._Requests, data: bytes) -> None:
        sizes.append(len(data))
        received(self, data)

    monkeypatch.setattr(connections._Requests, "data_received", counted)
    return sizes


@pytest.mark.parametrize("start", [LIVE + b"cookie: ", b"GET /", LIVE + b"n"], ids=["value", "address", "name"])
def test_an_endless_head_is_refused_and_keeps_nobody_waiting(here: Running, parsed: list[int], start: bytes) -> None:
    """110 MB of head once blocked all others for 13.6 seconds: the time grew with the square of the size."""
    answer = talk(here, start, *ENDLESS)
    assert answer.startswith(b"HTTP/1.1 4") or answer == b""
    assert sum(parsed) <= MAX_HEAD + connections._PIECE
    assert Caller(here.public)("GET", "/health/live").status == 200


@pytest.mark.parametrize("start", [b"1\r\n{\r\n0\r\nx: ", b"1;"], ids=["trailers", "extensions"])
def test_what_frames_a_body_is_bounded_as_well(here: Running, parsed: list[int], start: bytes) -> None:
    assert b" 201 " not in talk(here, CHUNKED, start, *ENDLESS)
    # The connection is ended because of its size, not because the time for a body is over.
    assert MAX_HEAD < sum(parsed) <= MAX_HEAD + connections._FRAMING + connections._PIECE
    assert Caller(here.public)("GET", "/health/live").status == 200


class _Idle:
    """A connection in the port's list."""

    def __init__(self, idle: bool) -> None:
        self.idle, self.shut = idle, False

    def close(self) -> None:
        self.shut = True


def test_idle_connections_are_closed_first() -> None:
    kept: Any = Connections(3)
    first, busy, last, more = _Idle(True), _Idle(False), _Idle(True), _Idle(True)
    assert all(kept.opened(one) for one in (first, busy, last))
    kept.used(first)
    assert kept.opened(more)
    # The connection that has been idle longest is closed.
    assert (first.shut, busy.shut, last.shut) == (False, False, True)
    first.idle = more.idle = False
    assert not kept.opened(_Idle(True))
    assert len(kept) == 3
