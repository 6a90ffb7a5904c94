"""Connections on which an answer's head and body go out together.

uvicorn writes the one and then the other: two calls of the kernel and two packets for every report, a twelfth of what a
report costs. Here a head waits for what is written next, and no longer than until the loop comes round.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast, final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


@final
class Connection(asyncio.Protocol):
    """uvicorn's connection, which writes to a `Joined` transport.

    Parameters
    ----------
    given
        As uvicorn gives it.
    """

    def __init__(self, **given: Any) -> None:
        self._inner = HttpToolsProtocol(**given)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._inner.connection_made(Joined(cast(asyncio.Transport, transport)))

    def data_received(self, data: bytes) -> None:
        """Take what was sent."""
        self._inner.data_received(data)

    def eof_received(self) -> None:
        """Hear that no more will be sent."""
        self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait: too much is on its way."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Go on."""
        self._inner.resume_writing()


@final
class Joined(asyncio.Transport):
    """A transport that sends the head of an answer with what is written next.

    Parameters
    ----------
    transport : asyncio.Transport
        Where it is sent.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport, self._head = transport, b""
        self._loop = asyncio.get_running_loop()

    def write(self, data: Any) -> None:
        """Send, or keep a head for a moment."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data.startswith(b"HTTP/"):
            self._head = data
            # Of an answer without a body nothing more is written.
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def _flush(self) -> None:
        if self._head and not self._transport.is_closing():
            self.write(b"")

    def close(self) -> None:
        """Close when everything is sent."""
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether it is closed, or will be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Take no more."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take more again."""
        self._transport.resume_reading()
