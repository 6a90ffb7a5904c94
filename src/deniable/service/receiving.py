"""Bodies of requests, read with a limit and a deadline."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Receive

from deniable.service.problems import Problem

BODY_SECONDS = 10.0
"""A body that takes longer is no body."""


class GoneError(Exception):
    """Whoever sent the request has hung up: there is nobody to answer."""


async def read_body(headers: Headers, receive: Receive, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """Return the body of a request.

    Raises
    ------
    Problem
        too-large, before it is read where its length is stated; slow; malformed where its length is no number.
    GoneError
        If the sender hangs up.
    """
    stated = headers.get("content-length", "0")
    if not stated.isdecimal():
        raise Problem("malformed", "Content-Length must be a number")
    if int(stated) > most:
        raise Problem("too-large", f"a body must have at most {most} bytes")
    content = bytearray()
    try:
        async with asyncio.timeout(seconds):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise GoneError
                content += message.get("body", b"")
                more = message.get("more_body", False)
                if len(content) > most:
                    raise Problem("too-large", f"a body must have at most {most} bytes")
    except TimeoutError:
        raise Problem("slow", f"a body must arrive within {seconds:g} seconds") from None
    return bytes(content)
