"""Middleware of both ports: headers that keep foreign content out of a page, and a log that names nobody.

A line of the log has the address's template, the status, about how long the request took, and how often that occurred
in a second. The order of requests is in no log, and a line for many requests costs little. The log has nobody's
address, no query, id, body or program's name. If something breaks, it has the kind of exception and no more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.service.problems import Problem
from deniable.service.rendering import policy

access = logging.getLogger("deniable.service.access")

TAKEN = "deniable.taken"
"""Key in a request's scope for the collection that took its reports."""

_SECONDS = 1.0
_TLS = ((b"strict-transport-security", b"max-age=31536000"),)
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS"})
_BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_PERMISSIONS = (
    "accelerometer autoplay browsing-topics camera ch-ua ch-ua-arch ch-ua-bitness ch-ua-form-factors "
    "ch-ua-full-version ch-ua-full-version-list ch-ua-high-entropy-values ch-ua-mobile ch-ua-model ch-ua-platform "
    "ch-ua-platform-version ch-ua-wow64 clipboard-read clipboard-write compute-pressure digital-credentials-get "
    "display-capture encrypted-media fullscreen gamepad geolocation gyroscope hid identity-credentials-get "
    "idle-detection interest-cohort keyboard-map local-fonts local-network-access magnetometer microphone midi "
    "otp-credentials payment picture-in-picture private-state-token-issuance private-state-token-redemption "
    "publickey-credentials-create publickey-credentials-get screen-wake-lock serial speaker-selection "
    "storage-access sync-xhr usb window-management xr-spatial-tracking"
)
"""Permissions that no page here needs: sensors and devices, credentials, and facts about the reader or browser."""


_HEADERS = (
    (b"content-security-policy", policy().encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of every response. A page may have its own instead."""

_PAGE = (*_HEADERS, (b"permissions-policy", ", ".join(f"{name}=()" for name in _PERMISSIONS.split()).encode()))
"""Headers only of pages, because only their scripts need permissions. They have a kilobyte, which is a quarter of the
cost of a report."""


@final
class Requests:
    """Counts of recent requests, which are logged with a line for each kind."""

    def __init__(self) -> None:
        self._lock, self._counts = threading.Lock(), Counter[str]()

    def count(self, line: str) -> None:
        """Count a request; its count is logged within a second."""
        with self._lock:
            first = not self._counts
            self._counts[line] += 1
        if first:
            timer = threading.Timer(_SECONDS, self.say)
            timer.daemon = True
            timer.start()

    def say(self) -> None:
        """Log the requests that were counted since the last time."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        for line, times in sorted(counts.items()):
            access.info("%s", line if times == 1 else f"{line}, {times} times")


requests = Requests()
"""Log of all ports of this process."""


class SecurityMiddleware:
    """Outermost layer of an application, which sets security headers and logs requests.

    Parameters
    ----------
    app : ASGI application
        Application inside the layer.
    secure : callable
        Function that returns whether a request came through a trusted TLS proxy.
    hosts : frozenset of str
        Names that requests may be addressed to; empty for any.
    observe : callable
        Function that is called with the method and template, the status and the seconds of every request. It also gets
        the collection that took reports of the request, if one did.
    """

    def __init__(
        self,
        app: ASGIApp,
        secure: Callable[[Scope], bool] = lambda _: False,
        hosts: frozenset[str] = frozenset(),
        observe: Callable[[str, int, float, str | None], None] = lambda *_: None,
    ) -> None:
        self._app, self._secure, self._hosts, self._observe = app, secure, hosts, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, given = message["status"], message.get("headers", [])
                added: Iterable[tuple[bytes, bytes]] = _page_headers(given) if _is_page(given) else _HEADERS
                message["headers"] = [*given, *added, *(_TLS if self._secure(scope) else ())]
            await send(message)

        try:
            if self._hosts and _host(scope) not in self._hosts:
                await Problem("wrong-host").response()(scope, receive, sending)
            else:
                await self._app(scope, receive, sending)
        except Exception as error:
            # Neither the error's text nor its traceback is logged, because both can quote what was sent.
            access.error("%s %s broke: %s", scope["method"], _template(scope), type(error).__name__)
            if not status:
                await Problem("broken").response()(scope, receive, sending)
        seconds, route = time.perf_counter() - began, _route(scope)
        self._observe(route, status, seconds, scope.get(TAKEN))
        if access.isEnabledFor(logging.INFO):
            requests.count(f"{route} {status} {_bucket(seconds)}")


def _route(scope: Scope) -> str:
    """Return a request's method and template; for an unknown method, return nothing of what was sent."""
    method = scope["method"]
    return f"{method if method in _METHODS else '(unknown)'} {_template(scope)}"


def _host(scope: Scope) -> str:
    """Return the name that a request is addressed to, without its port."""
    host: str = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _page_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    own = {name for name, _ in given}
    return [header for header in _PAGE if header[0] not in own]


def _is_page(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/html") for name, value in headers)


def _template(scope: MutableMapping[str, Any]) -> str:
    """Return a request's path with names instead of the values of its parameters; for an unknown address, nothing."""
    if "endpoint" not in scope:
        return "(unknown)"
    names = {str(value): name for name, value in scope.get("path_params", {}).items()}
    return "/".join(f"{{{names[part]}}}" if part in names else part for part in scope["path"].split("/"))


def _bucket(seconds: float) -> str:
    return next((f"<{bound:g}s" for bound in _BUCKETS if seconds < bound), f">{_BUCKETS[-1]:g}s")
