"""Public port: collections, their pages, and the upload; it asks nobody who they are, and no request says it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from deniable.core.documents import Document
from deniable.errors import InvalidReportError, StoreError, TooLargeError
from deniable.files.wire import (
    BINARY_TYPE,
    ID_BYTES,
    JSON_TYPE,
    LEAVES_TYPE,
    MAX_BODY,
    MAX_REPORTS,
    Body,
    from_base64url,
    from_binary,
    from_json,
)
from deniable.service import ingest
from deniable.service.auth import Analyst, Logins, digest
from deniable.service.batches import BatchEndpoints
from deniable.service.browsers import unknown_to_browsers
from deniable.service.collector import Collector, SurveySnapshot
from deniable.service.ingest import Outcome
from deniable.service.limits import Limits, Network, client_address, is_trusted
from deniable.service.middleware import TAKEN, SecurityMiddleware
from deniable.service.openapi import description
from deniable.service.outages import Outages
from deniable.service.problems import Problem
from deniable.service.publishing import INDEX
from deniable.service.receiving import GoneError, read_body
from deniable.service.rendering import page_headers, render_template
from deniable.service.survey_page import earlier_rounds

STATIC = Path(__file__).parent / "static"

Found = TypeVar("Found")

_IMMUTABLE = "public, max-age=31536000, immutable"
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_MAX_RECEIPT = 1024

_AROUND_REPORT = 4096
"""Most bytes of a body of one report, besides the report in base64."""

BATCHES_AT_ONCE = 32
"""Most batches of reports that are read and written at a time."""

BATCH_SECONDS = 20.0
"""Most seconds that a batch waits for its turn."""

MAX_LOOKUPS = 256
"""Most receipts that are looked up or wait for a look-up, and as many tokens. Senders of more are told to come
again."""

_LOOKUP_THREADS, _READY_THREADS = 4, 4
"""Numbers of separate threads. A look-up of a receipt takes no thread from a request that asks whether the collector is
ready."""

_TOKEN_SECONDS, _TOKENS = 5.0, 1024
"""Seconds for which a looked-up token is trusted, and the number of remembered tokens."""


@dataclass(frozen=True)
class Access:
    """Rules for senders: how many reports they may send, and from where.

    Parameters
    ----------
    limits : Limits or None
        Reports per network; None lets everything through.
    trusted : tuple of network
        Proxies whose forwarded addresses are believed.
    page_origins : tuple of str
        Other origins that host survey pages.
    guesses : Limits or None
        Wrong tokens per network; None lets everything through.
    """

    limits: Limits | None = None
    trusted: tuple[Network, ...] = ()
    page_origins: tuple[str, ...] = ()
    guesses: Limits | None = None

    def check(self, scope: Scope, headers: Headers) -> None:
        """Count a report of a network; raise too-many if the network has sent too many."""
        if self.limits is not None and (seconds := self.limits.wait(self._address(scope, headers))):
            raise Problem("too-many", retry=seconds)

    def guesser(self, scope: Scope, headers: Headers) -> Callable[[], int]:
        """Return a function that counts a wrong token of a network and returns for how many seconds it must wait."""
        guesses = self.guesses
        return (lambda: 0) if guesses is None else partial(guesses.wait, self._address(scope, headers))

    def _address(self, scope: Scope, headers: Headers) -> str:
        return client_address(scope["client"][0] if scope.get("client") else "", headers, self.trusted)

    def secure(self, scope: Scope) -> bool:
        """Return whether a trusted proxy says that a request came by TLS."""
        peer = scope["client"][0] if scope.get("client") else ""
        return is_trusted(peer, self.trusted) and Headers(scope=scope).get("x-forwarded-proto", "") == "https"


class Receipt(Document):
    """Body of a request for a receipt, which is an id."""

    id: str


def public_app(collector: Collector, access: Access) -> ASGIApp:
    """Return the application of the public port."""
    pages, batches = _Pages(collector), BatchEndpoints(collector)
    reports, receipts = _Reports(collector, access), _Receipts(collector, access)
    cors, here = _cors(access.page_origins), "/api/v1/collections/{id}"
    app = Starlette(
        routes=[
            # The most frequent request comes first, so that it is found first.
            Route(f"{here}/reports", reports, methods=_posted(cors), middleware=cors),
            Route(f"{here}/receipts", receipts, methods=_posted(cors), middleware=cors),
            Route(f"{here}/state", pages.state, middleware=cors),
            Route(here, pages.document, middleware=cors),
            Route(f"{here}/page", pages.page, middleware=cors),
            Route(f"{here}/dictionary/{{attribute}}", pages.dictionary, middleware=cors),
            Route(f"{here}/batches", batches.batches, middleware=cors),
            Route(f"{here}/batches/{{number}}/leaves", batches.leaves, middleware=cors),
            Route(f"{here}/batches/{{number}}/reports", batches.reports, middleware=cors),
            Route(f"{here}/aggregate", batches.aggregate, middleware=cors),
            Route("/api/v1/openapi.json", pages.openapi, middleware=cors),
            Route("/", pages.front),
            Route("/s/{slug}", pages.survey),
            Route("/r/{slug}", pages.to_results),
            Route("/r/{slug}/", pages.results),
            Route("/r/{slug}/{name}", pages.results),
            Route("/static/{name}", static_file),
            Route("/health/live", pages.live),
            Route("/health/ready", pages.ready),
        ],
        exception_handlers=handlers(),
    )
    app.router.redirect_slashes = False
    return SecurityMiddleware(app if cors else _Front(app, reports), access.secure, observe=collector.metrics.request)


_UPLOAD = re.compile(r"/api/v1/collections/([0-9a-f]{64})/reports")


class _Front:
    """Application that takes uploads past the router, which costs a tenth of an upload.

    It is used only if no page of another origin may post.
    """

    def __init__(self, app: ASGIApp, reports: ASGIApp) -> None:
        self._app, self._reports = app, reports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["method"] == "POST" and (found := _UPLOAD.fullmatch(scope["path"])):
            scope["endpoint"], scope["path_params"] = self._reports, {"id": found[1]}
            await self._reports(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _posted(cors: Sequence[Middleware]) -> list[str]:
    """Return the methods of an address that is posted to; for pages of other origins, browsers ask first by OPTIONS."""
    return ["POST", "OPTIONS"] if cors else ["POST"]


def _cors(origins: Sequence[str]) -> list[Middleware]:
    if not origins:
        return []
    allowed: dict[str, Any] = {
        "allow_methods": ["GET", "POST"],
        "allow_headers": ["content-type"],
        # Otherwise a page on another origin could not read how long to wait.
        "expose_headers": ["retry-after"],
        "max_age": 600,
    }
    return [Middleware(CORSMiddleware, allow_origins=list(origins), **allowed)]


# -------------------------------------------------------------------- data that clients read


class _Pages:
    """Endpoints of the public port."""

    def __init__(self, collector: Collector) -> None:
        self._collector, self._looking = collector, CapacityLimiter(_READY_THREADS)

    def _held(self, request: Request) -> SurveySnapshot:
        held = self._collector.held(request.path_params["id"])
        if held is None:
            raise Problem("unknown-collection")
        return held

    async def to_results(self, request: Request) -> Response:
        """Lead to the results at an address with a slash at its end, so that their relative links work."""
        return RedirectResponse(f"/r/{request.path_params['slug']}/", 308)

    async def results(self, request: Request) -> Response:
        """Show results that an owner has published."""
        held = self._collector.of_slug(request.path_params["slug"])
        name = request.path_params.get("name", INDEX)
        page = None
        if held is not None and held.row.state == "closed" and not name.startswith("."):
            read = partial(self._collector.store.published_page, held.row.id, name)
            page = await to_thread.run_sync(read, limiter=self._looking)
        if page is None:
            return _for_people("There are no results here", 404)
        return Response(page, headers=page_headers(page), media_type="text/html; charset=utf-8")

    async def openapi(self, _: Request) -> Response:
        return JSONResponse(description(), headers={"Cache-Control": "no-cache"})

    async def document(self, request: Request) -> Response:
        held = self._held(request)
        return _tagged(request, held.survey.document.encode(), held.row.id, JSON_TYPE, _IMMUTABLE)

    async def page(self, request: Request) -> Response:
        survey = self._held(request).survey
        return _tagged(request, survey.page_text.encode(), survey.page_hash, JSON_TYPE, "no-cache")

    async def state(self, request: Request) -> Response:
        held = self._held(request)
        said = {
            "state": held.state(self._collector.clock),
            "closes_at": held.survey.page.closes_at,
            "accepts_until": held.accepts_until,
            "now": self._collector.clock().isoformat(),
        }
        return JSONResponse(said, headers={"Cache-Control": "no-store"})

    async def dictionary(self, request: Request) -> Response:
        held = self._held(request)
        words = held.survey.dictionaries.get(request.path_params["attribute"])
        if words is None:
            raise Problem("not-found", "no attribute with this name has a dictionary")
        return Response(words, headers={"Cache-Control": _IMMUTABLE}, media_type="text/plain; charset=utf-8")

    async def survey(self, request: Request) -> Response:
        held = self._collector.of_slug(request.path_params["slug"])
        if held is None:
            return _for_people("There is no survey at this address", 404)
        if "survey.js" not in bundles():
            raise Problem(
                "not-found",
                "this collector shows no survey page: send reports with the client, or with `deniable send`",
            )
        if part := unknown_to_browsers(held.survey.collection.mechanism):
            raise Problem("not-found", f"a browser cannot make reports of {part}: send reports with `deniable send`")
        languages = list(held.survey.page.languages)
        shell = render_template(
            "survey.html",
            id=held.row.id,
            slug=held.row.slug,
            earlier=earlier_rounds(held.survey.collection),
            language=languages[0],
            bundle={name: hashed for name, (hashed, _, _) in bundles().items()},
        )
        return Response(shell, headers={"Cache-Control": "no-cache"}, media_type="text/html; charset=utf-8")

    async def front(self, _: Request) -> Response:
        return _for_people("This address is for surveys", 200)

    async def live(self, _: Request) -> Response:
        return Response("alive\n", media_type="text/plain")

    async def ready(self, _: Request) -> Response:
        try:
            await to_thread.run_sync(self._collector.ready, limiter=self._looking)
        except StoreError:
            raise Problem("store") from None
        return Response("ready\n", media_type="text/plain")


def _tagged(request: Request, content: bytes, tag: str, media_type: str, cache: str) -> Response:
    headers = {"ETag": f'"{tag}"', "Cache-Control": cache}
    if f'"{tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


# -------------------------------------------------------------------- data that clients send


class _Reports:
    """Plain ASGI application for the upload, with nothing between the bytes and the queue."""

    def __init__(self, collector: Collector, access: Access) -> None:
        self._collector, self._access = collector, access
        self._senders = _Senders(Logins(collector.store, collector.clock), collector.outages)
        self._batches = _Batches(collector.outages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        held = self._collector.held(scope["path_params"]["id"])
        try:
            n, outcome = await self._taken(held, scope, headers, receive)
        except Problem as problem:
            if held is not None and problem.name not in ("busy", "store", "broken"):
                self._collector.ingest.reject(held.row.id, problem.name)
            await _refusal(problem)(scope, receive, send)
        except GoneError:
            return
        else:
            if outcome.invalid < n and held is not None:
                scope[TAKEN] = held.row.id
            if outcome.invalid == n == 1:
                # The code that found the invalid report has already counted the rejection.
                await Problem("invalid-report").response()(scope, receive, send)
            else:
                await _said(send, 201 if outcome.counted == n else 200, outcome)

    async def _taken(
        self, held: SurveySnapshot | None, scope: Scope, headers: Headers, receive: Receive
    ) -> tuple[int, Outcome]:
        """Return how many reports were sent, and their outcome."""
        if held is None:
            raise Problem("unknown-collection")
        authorization, sender = headers.get("authorization"), False
        if authorization:
            sender = await self._senders.may_send(authorization, held.row.slug, self._access.guesser(scope, headers))
        elif held.survey.page.access != "invited":
            # Invited people may sit in one room, behind one address. Their links are the limit.
            self._access.check(scope, headers)
        state = held.state(self._collector.clock)
        if state == "closed":
            raise Problem("closed")
        if state not in ("open", "closing"):
            raise Problem("not-open")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (JSON_TYPE, BINARY_TYPE, LEAVES_TYPE) or headers.get("content-encoding"):
            raise Problem("unsupported", f"reports must be sent as {JSON_TYPE} or {BINARY_TYPE}, and not compressed")
        ingest = self._collector.ingest
        if not sender:
            body = parsed(await _read_single(headers, receive, held.survey.width), kind, held, most=1)
            return 1, await ingest.submit(held.survey, body)
        async with self._batches.room():
            body = parsed(await read_body(headers, receive, MAX_BODY), kind, held)
            return body.n, await ingest.submit(held.survey, body)


async def _read_single(headers: Headers, receive: Receive, width: int) -> bytes:
    """Return the body of a request that may hold one report; nothing of a longer body is kept."""
    try:
        return await read_body(headers, receive, 2 * width + _AROUND_REPORT)
    except Problem as problem:
        if problem.name != "too-large":
            raise
        raise Problem(
            "token", "a request without a token may contain only one report, but this request is longer"
        ) from None


class _Senders:
    """Permission to send batches, by tokens of owners and senders, each looked up once in a few seconds."""

    def __init__(self, logins: Logins, outages: Outages) -> None:
        self._logins, self._lookups = logins, _Lookups(outages)
        self._known: dict[str, tuple[float, Analyst | None]] = {}
        self._under_way: dict[str, asyncio.Task[Analyst | None]] = {}

    async def may_send(self, authorization: str, slug: str, guess: Callable[[], int]) -> bool:
        """Return whether a header has a token that may send batches to a survey.

        A token that was right a moment or longer ago is not counted. Its sender has no limit, and strangers in the same
        network take nothing from it. Any other token counts as a guess until it is found to be right. Requests that
        bring the same token while it is looked up wait for that one look-up. They count as guesses only if the token is
        found wrong.

        Raises
        ------
        Problem
            If there is a header without such a token (token). If too many tokens from there were wrong (too-many). If
            the token cannot be looked up (busy or store).
        """
        kind, _, secret = authorization.partition(" ")
        name = digest(secret)
        until, who = self._known.get(name, (0.0, None))
        is_stale = time.monotonic() >= until
        # Look-ups are shielded, because one sender that leaves must not end the look-up for the others.
        if is_stale and (task := self._under_way.get(name)):
            who, is_stale = await asyncio.shield(task), False
        if who is None and (seconds := guess()):
            raise Problem("too-many", retry=seconds)
        if is_stale:
            who = await asyncio.shield(self._look_up(name, secret))
        if kind.lower() != "bearer" or who is None or not who.sends or not who.may(slug):
            raise Problem("token", "the token is not known, or its account may not send reports to this survey")
        return True

    def _look_up(self, name: str, secret: str) -> asyncio.Task[Analyst | None]:
        """Start the look-up of a token, and remember its result."""

        async def found() -> Analyst | None:
            who = await self._lookups.found(partial(self._logins.who, secret, "token"))
            self._remember(name, time.monotonic() + _TOKEN_SECONDS, who)
            return who

        def ended(task: asyncio.Task[Analyst | None]) -> None:
            del self._under_way[name]
            if not task.cancelled():
                # Otherwise the loop would log an error that nobody waits for any more.
                task.exception()

        task = self._under_way[name] = asyncio.create_task(found())
        task.add_done_callback(ended)
        return task

    def _remember(self, name: str, until: float, who: Analyst | None) -> None:
        # The newest entry comes last. Wrong tokens are dropped first, so that a right token stays known and is not
        # looked up again.
        self._known.pop(name, None)
        while len(self._known) >= _TOKENS:
            wrong = (known for known, (_, of) in self._known.items() if of is None)
            del self._known[next(wrong, next(iter(self._known)))]
        self._known[name] = until, who


class _Lookups:
    """Reads of the database, of which at most `MAX_LOOKUPS` wait, none of them longer than a commit may take."""

    def __init__(self, outages: Outages) -> None:
        self._outages, self._limiter = outages, CapacityLimiter(_LOOKUP_THREADS)
        self._pending = set[asyncio.Task[Any]]()

    async def found(self, read: Callable[[], Found]) -> Found:
        """Return the result of a read.

        Raises
        ------
        Problem
            If too many reads wait (busy), or the database cannot be read, or not in time (store).
        """
        if len(self._pending) >= MAX_LOOKUPS:
            self._outages.refused("too many receipts or tokens wait to be looked up")
            raise Problem("busy")
        given_up = threading.Event()

        def looked() -> Found:
            # The request that asked already has an answer, and the next request waits.
            if given_up.is_set():
                raise StoreError(ingest.HANGS)
            return read()

        # Nobody cancels this task, so its thread counts until it comes back. Only the end of the loop leaves the thread
        # behind.
        task = asyncio.create_task(to_thread.run_sync(looked, limiter=self._limiter, abandon_on_cancel=True))
        self._pending.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait({task}, timeout=ingest.GIVE_UP)
        if not task.done():
            given_up.set()
            self._outages.refused(ingest.HANGS)
            raise Problem("store")
        try:
            return task.result()
        except StoreError as error:
            self._outages.refused(str(error))
            raise Problem("store") from None

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._pending.discard(task)
        if not task.cancelled():
            # Otherwise the loop would log an error that nobody waits for.
            task.exception()


class _Batches:
    """Limit on batches that are read and written at a time; others wait before their bodies are read."""

    def __init__(self, outages: Outages) -> None:
        self._free, self._outages = asyncio.Semaphore(BATCHES_AT_ONCE), outages

    @contextlib.asynccontextmanager
    async def room(self) -> AsyncIterator[None]:
        """Wait for a turn.

        Raises
        ------
        Problem
            If the turn does not come in time (busy).
        """
        try:
            await asyncio.wait_for(self._free.acquire(), BATCH_SECONDS)
        except TimeoutError:
            self._outages.refused("too many batches wait for their turn")
            raise Problem("busy") from None
        try:
            yield
        finally:
            self._free.release()


async def _said(send: Send, status: int, outcome: Outcome) -> None:
    """Send the outcome of reports without a response object, which would cost more to make than the rest here."""
    content = f'{{"counted":{outcome.counted},"already":{outcome.already},"invalid":{outcome.invalid}}}'.encode()
    headers = [(b"content-length", str(len(content)).encode()), (b"content-type", JSON_TYPE.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _refusal(problem: Problem) -> Response:
    """Return a problem as a response to a request that posted something."""
    response = problem.response()
    if problem.name in ("slow", "too-large", "too-many", "token", "busy"):
        # The rest of the request is not read.
        response.headers["Connection"] = "close"
    return response


def parsed(content: bytes, kind: str, held: SurveySnapshot, most: int = MAX_REPORTS) -> Body:
    """Return the reports of a body, of the right collection and width.

    Raises
    ------
    Problem
        If the body is not one of reports (malformed, too-large or wrong-collection), or has more than `most` reports
        (token).
    """
    body = _parsed(content, kind, held)
    if body.n > most:
        raise Problem("token", f"a request without a token may contain only one report, got {body.n} reports")
    return body


def _parsed(content: bytes, kind: str, held: SurveySnapshot) -> Body:
    width = held.survey.width
    try:
        if kind != JSON_TYPE:
            if len(content) >= 32 and content[:32].hex() != held.row.id:
                raise Problem("wrong-collection")
            return from_binary(content, width, leaves=kind == LEAVES_TYPE)
        body = from_json(content)
    except InvalidReportError as error:
        raise Problem("malformed", str(error)) from None
    except TooLargeError as error:
        raise Problem("too-large", str(error)) from None
    if body.collection != held.row.id:
        raise Problem("wrong-collection")
    if body.rows.shape[1] != width:
        raise Problem("malformed", f"a report must have {width} bytes, got {body.rows.shape[1]}")
    return body


class _Receipts:
    """Application that answers whether a report with an id was counted.

    The id is in the body, because proxies log addresses.
    """

    def __init__(self, collector: Collector, access: Access) -> None:
        self._collector, self._access = collector, access
        self._lookups = _Lookups(collector.outages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            response = await self._found(scope, headers, receive)
        except Problem as problem:
            response = _refusal(problem)
        except GoneError:
            return
        await response(scope, receive, send)

    async def _found(self, scope: Scope, headers: Headers, receive: Receive) -> Response:
        collection = scope["path_params"]["id"]
        held = self._collector.held(collection)
        if held is None:
            raise Problem("unknown-collection")
        invited = held.survey.page.access == "invited"
        if not invited:
            self._access.check(scope, headers)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON_TYPE:
            raise Problem("unsupported", f"an id must be sent as {JSON_TYPE}")
        content = await read_body(headers, receive, _MAX_RECEIPT)
        try:
            name = from_base64url([Receipt.model_validate_json(content).id], ID_BYTES, "id").tobytes()
        except (ValidationError, InvalidReportError):
            raise Problem("malformed", 'the body must be {"id": <22 characters of base64url>}') from None
        store = self._collector.store
        if not await self._lookups.found(partial(store.counted, collection, name)):
            if invited and not await self._lookups.found(partial(store.invited, collection, name)):
                raise Problem("not-invited")
            raise Problem("not-counted")
        return Response(status_code=204, headers={"Cache-Control": "no-store"})


# -------------------------------------------------------------------- shared with the admin port


@functools.cache
def bundles() -> dict[str, tuple[str, bytes, str]]:
    """Return the bundles of `static`, by name: the name with the content's digest, the content, and its media type.

    A file that other files load has the digest in its own name already.
    """
    found = {}
    for path in sorted(STATIC.iterdir()):
        if path.suffix in _MEDIA_TYPES:
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:16]
            hashed = path.name if digest in path.name else f"{path.stem}.{digest}{path.suffix}"
            found[path.name] = (hashed, content, _MEDIA_TYPES[path.suffix])
    return found


@functools.cache
def _served() -> dict[str, tuple[bytes, str, str]]:
    """Return the served files: under their own names, whose content may change, and under fixed names with a digest."""
    return {
        name: (content, media_type, cache)
        for plain, (hashed, content, media_type) in bundles().items()
        for name, cache in ((plain, "no-cache"), (hashed, _IMMUTABLE))
    }


async def static_file(request: Request) -> Response:
    """Serve a bundle and no other file."""
    found = _served().get(request.path_params["name"])
    if found is None:
        raise Problem("not-found")
    content, media_type, cache = found
    return _tagged(request, content, hashlib.sha256(content).hexdigest(), media_type, cache)


def _for_people(heading: str, status: int) -> Response:
    """Return a page for somebody who came without a survey's link."""
    sheet = bundles()["survey.css"][0] if "survey.css" in bundles() else ""
    shown = render_template("nowhere.html", heading=heading, sheet=sheet)
    return Response(shown, status, {"Cache-Control": "no-cache"}, "text/html; charset=utf-8")


def handlers() -> dict[Any, Any]:
    """Return an application's handlers for problems, and for unknown addresses and methods."""

    async def problem(_: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return error.response()

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        known = {404: "not-found", 405: "wrong-method"}
        return Problem(known.get(error.status_code, "malformed")).response()

    async def broken(_: Request, __: Exception) -> Response:
        return Problem("broken").response()

    return {Problem: problem, HTTPException: http, Exception: broken}
