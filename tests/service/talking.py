"""Raw data on a connection to a collector, and the resulting counts."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from deniable.service.server import Running
from tests.service.asking import (
    ASKED,
    PATIENCE,
)

REPORTS = f"/api/v1/collections/{ASKED.id}/reports"


def counted(here: Running) -> int:
    return here.collector.store.waiting(ASKED.id)


def talk(here: Running, *pieces: bytes) -> bytes:
    """Send pieces on one connection, and return the answer until the connection is closed."""
    host, _, port = urlsplit(here.public).netloc.partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        found = b""
        try:
            for piece in pieces:
                connection.sendall(piece)
            while part := connection.recv(1 << 16):
                found += part
        except (BrokenPipeError, ConnectionResetError):
            pass
        return found


LIVE = b"GET /health/live HTTP/1.1\r\nhost: x\r\n"

CHUNKED = (
    f"POST {REPORTS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n"
    "connection: close\r\n\r\n"
).encode()
