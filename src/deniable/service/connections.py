"""Bounded connections: a limit on their number and on the length of a head; answers whose head and body leave together.

uvicorn takes a head of any length, in time that grows with its square. It takes as many connections as the kernel gives
it. It writes the head of an answer and then its body. That makes two calls of the kernel and two packets for every
report, a twelfth of what a report costs. Here a head waits for the next write, and no longer than until the next turn
of the loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, cast, final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 1 << 15
"""Most bytes of a request's head. A browser's head has one or two thousand."""

_PIECE = 1 << 13
"""Bytes that are parsed before they are counted. A head can be longer by this many bytes."""

_FRAMING = 8
"""Most bytes that may frame one byte of a body that comes in chunks."""

_SAY_SECONDS = 60.0

log = logging.getLogger("deniable.service")


@final
class Connections:
    """Open connections of one port; only the port's loop calls the methods.

    Parameters
    ----------
    most : int
        Largest number of connections. If there are more, those that have been idle longest are closed first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        # Connections are in the order of their last request.
        self._open: dict[Connection, None] = {}
        self._said = -_SAY_SECONDS

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: Connection) -> bool:
        """Add a connection and return True if there is room for it."""
        if len(self._open) >= self.most:
            self._say()
            idle = next((one for one in self._open if one.idle), None)
            if idle is None:
                return False
            self.closed(idle)
            idle.close()
        self._open[connection] = None
        return True

    def used(self, connection: Connection) -> None:
        """Note that a connection is in use."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def closed(self, connection: Connection) -> None:
        """Remove a connection."""
        self._open.pop(connection, None)

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._said >= _SAY_SECONDS:
            self._said = now
            log.warning("%d connections are open, and there may be no more: idle ones are closed", self.most)


class _Requests(HttpToolsProtocol):
    """Parser's view of uvicorn's connection, which counts bytes that are neither body nor of a finished request."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.overhead = self.bodies = 0

    def on_body(self, body: bytes) -> None:
        self.bodies += len(body)
        self.overhead -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.overhead = self.bodies = 0
        super().on_message_complete()


@final
class Connection(asyncio.Protocol):
    """Connection of uvicorn with bounds, which writes to a `Joined` transport.

    Parameters
    ----------
    connections : Connections
        Open connections of the port.
    given
        Further arguments, as uvicorn gives them.
    """

    def __init__(self, connections: Connections, **given: Any) -> None:
        self._connections, self._inner = connections, _Requests(**given)
        self._transport: asyncio.Transport | None = None

    @property
    def idle(self) -> bool:
        """Return whether no request is under way; an unfinished head does not count, or one byte would hold a place."""
        cycle = self._inner.cycle
        return cycle is None or bool(cycle.response_complete)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve the connection if there is room."""
        self._transport = cast(asyncio.Transport, transport)
        if self._connections.opened(self):
            self._inner.connection_made(Joined(self._transport))
        else:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take the bytes that were sent, unless a head or the framing of a body is too long."""
        inner, transport = self._inner, self._transport
        if inner.transport is None or transport is None or transport.is_closing():
            return
        self._connections.used(self)
        # Data is taken in pieces. Otherwise a head that comes in one read would be over before it is counted.
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            # The bytes of a body are subtracted again, and a finished request begins the count anew.
            inner.overhead += len(piece)
            inner.data_received(piece)
            if transport.is_closing():
                return
            if inner.overhead > MAX_HEAD + _FRAMING * inner.bodies:
                cycle = inner.cycle
                if cycle is None or cycle.response_complete:
                    transport.write(_TOO_LONG)
                transport.close()
                return

    def eof_received(self) -> None:
        """Note that the other side will send no more."""
        self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        self._connections.closed(self)
        if self._inner.transport is not None:
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop writing because too much is on its way."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Continue writing."""
        self._inner.resume_writing()


_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\ncache-control: no-store\r\n"
    b"connection: close\r\n\r\n"
)


@final
class Joined(asyncio.Transport):
    """Transport that sends the head of an answer together with the next write.

    Parameters
    ----------
    transport : asyncio.Transport
        Transport that the bytes are sent to.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport, self._head = transport, b""
        self._loop = asyncio.get_running_loop()

    def write(self, data: Any) -> None:
        """Send bytes, or keep a head for a moment."""
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data.startswith(b"HTTP/"):
            self._head = data
            # A response without a body writes nothing more, so the head is sent soon.
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def _flush(self) -> None:
        if self._head and not self._transport.is_closing():
            self.write(b"")

    def close(self) -> None:
        """Close the transport when everything is sent."""
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the transport is closed or will be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport knows about the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Stop reading."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Continue reading."""
        self._transport.resume_reading()
