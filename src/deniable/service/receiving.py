"""Reader for the bodies of requests, with a limit and a deadline."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Receive

from deniable.service.problems import Problem

BODY_SECONDS = 10.0
"""Seconds after which a body that is not complete is refused."""


class GoneError(Exception):
    """Error that says that the sender of the request has hung up, so there is nobody to answer."""


async def read_body(headers: Headers, receive: Receive, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """Return the body of a request.

    Raises
    ------
    Problem
        If the body is too large (too-large), before it is read if its length is stated. If the body is slow (slow). If
        its stated length is not a number (malformed).
    GoneError
        If the sender hangs up.
    """
    stated = headers.get("content-length", "0")
    if not stated.isdecimal():
        raise Problem(
            "malformed", "Content-Length must be the number of bytes of the body: correct or omit this header"
        )
    if int(stated) > most:
        raise Problem("too-large", f"a body must have at most {most} bytes")
    content, task, late = bytearray(), asyncio.current_task(), False
    assert task is not None

    def expire() -> None:
        nonlocal late
        late = True
        task.cancel()

    # This does the same as asyncio.timeout, which takes as long as all other work on a body of one report.
    timer = asyncio.get_running_loop().call_later(seconds, expire)
    try:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            content += message.get("body", b"")
            more = message.get("more_body", False)
            if len(content) > most:
                raise Problem("too-large", f"a body must have at most {most} bytes")
    except asyncio.CancelledError:
        if late and not task.uncancel():
            raise Problem("slow", f"a body must arrive within {seconds:g} seconds") from None
        raise
    finally:
        timer.cancel()
    return bytes(content)
