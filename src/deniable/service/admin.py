"""The admin port: a dashboard for analysts who are logged in, and what owners do to surveys.

It is another origin than the public port, and by default only this machine reaches it. Whoever posts must come from a
page of this origin, or have a token; roles are `owner` and `analyst`, who reads.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from deniable.core.documents import Document
from deniable.errors import DeniableError, StoreError
from deniable.report import render_fragment, render_html, sheet
from deniable.service.auth import SESSION, Analyst, Logins
from deniable.service.collector import Collector, Held
from deniable.service.control import perform
from deniable.service.limits import Network
from deniable.service.metrics import machine_gauges
from deniable.service.problems import Problem
from deniable.service.public import TEMPLATES, Access, bundles, handlers, render_template
from deniable.service.receiving import read_body
from deniable.service.results import Results, results
from deniable.service.shield import Shield
from deniable.service.surveys import link_path

COOKIE = "__Host-deniable"
MOST = 4096
"""Bytes of a request's body here."""

_ACTS = ("open", "pause", "close", "delete")

Shape = TypeVar("Shape", bound=Document)


class Credentials(Document):
    """A name with its password, or the secret of a one-time link."""

    name: str = ""
    password: str = ""
    link: str = ""


class Act(Document):
    """What an owner says with an act: whether a close ends the grace as well, and the name of what is deleted."""

    now: bool = False
    name: str = ""


def admin_app(
    collector: Collector, trusted: tuple[Network, ...], hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost"})
) -> ASGIApp:
    """Return the application of the admin port, which answers only to names that are its own.

    A page elsewhere whose name is made to lead here could otherwise read what an analyst may.
    """
    desk = _Desk(collector)
    app = Starlette(
        routes=[
            Route("/", desk.home),
            Route("/login", desk.login_page),
            Route("/session", desk.log_in, methods=["POST"]),
            Route("/session", desk.log_out, methods=["DELETE"]),
            Route("/surveys/{slug}", desk.dashboard),
            Route("/surveys/{slug}/results.json", desk.results_json),
            Route("/surveys/{slug}/results.csv", desk.results_csv),
            Route("/surveys/{slug}/report.html", desk.report),
            Route("/surveys/{slug}/aggregate", desk.aggregate),
            Route("/surveys/{slug}/{act}", desk.act, methods=["POST"]),
            Route("/metrics", desk.metrics),
            Route("/assets/{name}", _asset),
        ],
        exception_handlers={**handlers(), StoreError: desk.store_error},
    )
    app.router.redirect_slashes = False
    access = Access(trusted=trusted)

    def secure(scope: Scope) -> bool:
        return access.secure(scope)

    return Shield(app, secure, hosts, collector.metrics.request)


class _Desk:
    """What analysts and owners ask for."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._logins = Logins(collector.store, collector.clock)

    async def store_error(self, _: Request, error: Exception) -> Response:
        self._collector.outages.refused(str(error))
        return Problem("store").response()

    # ---------------------------------------------------------------- who

    async def _who(self, request: Request) -> Analyst | None:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return await run_in_threadpool(self._logins.who, secret, "token")
        cookie = request.cookies.get(COOKIE)
        return await run_in_threadpool(self._logins.who, cookie, "session") if cookie else None

    async def _analyst(self, request: Request) -> Analyst:
        who = await self._who(request)
        if who is None:
            raise Problem("login")
        if not who.reads:
            raise Problem("not-allowed", f"a {who.role} may not read results")
        return who

    def _held(self, request: Request) -> Held:
        held = self._collector.of_slug(request.path_params["slug"])
        if held is None:
            raise Problem("not-found", "there is no survey of this name")
        return held

    async def log_in(self, request: Request) -> Response:
        _check_origin(request)
        if seconds := self._logins.wait():
            raise Problem("too-many", "wrong passwords came before", retry=seconds)
        given = await _read(request, Credentials)
        if given.link:
            secret = await run_in_threadpool(self._logins.redeem, given.link)
        else:
            secret = await run_in_threadpool(self._logins.log_in, given.name, given.password)
        if secret is None:
            raise Problem("login", "this is not known, or was used before")
        response = Response(status_code=204, headers={"Cache-Control": "no-store"})
        lifetime = int(SESSION.total_seconds())
        response.set_cookie(COOKIE, secret, lifetime, secure=True, httponly=True, samesite="strict")
        return response

    async def log_out(self, request: Request) -> Response:
        _check_origin(request)
        if cookie := request.cookies.get(COOKIE):
            await run_in_threadpool(self._logins.log_out, cookie)
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, secure=True, httponly=True, samesite="strict")
        return response

    # ---------------------------------------------------------------- pages

    async def login_page(self, _: Request) -> Response:
        return _html(render_template("login.html"))

    async def home(self, request: Request) -> Response:
        who = await self._who(request)
        if who is None or not who.reads:
            return RedirectResponse("/login", 303)
        surveys = sorted(self._collector.all_held(), key=lambda held: (held.row.slug, held.row.position))
        return _html(render_template("surveys.html", surveys=[(h.row, h.survey.collection.title) for h in surveys]))

    async def dashboard(self, request: Request) -> Response:
        who = await self._who(request)
        if who is None or not who.reads:
            return RedirectResponse("/login", 303)
        held = self._held(request)
        found, owner = await self._results(held), who.role == "owner"
        # What is not released yet concerns those who can pause the survey.
        alarm = await run_in_threadpool(self._collector.arrivals.look, held.row, held.survey) if owner else None
        page = await run_in_threadpool(found.page)
        shown = render_template(
            "dashboard.html",
            title=held.survey.collection.title or held.row.slug,
            data=found.data,
            link=link_path(held.row.slug, held.survey),
            owner=owner,
            off_plan=alarm or found.data["off_plan"],
            counted=held.row.n if owner else found.data["n"],
            step=self._collector.surveys.while_open,
            fragment=None if page is None else render_fragment(page),
            guarantee=str(held.survey.collection.privacy()).splitlines(),
        )
        return _html(shown)

    # ---------------------------------------------------------------- data

    async def _results(self, held: Held) -> Results:
        return await run_in_threadpool(results, held, self._collector.store, self._collector.clock)

    async def results_json(self, request: Request) -> Response:
        await self._analyst(request)
        content = (await self._results(self._held(request))).to_json()
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type="application/json")

    async def results_csv(self, request: Request) -> Response:
        await self._analyst(request)
        held = self._held(request)
        text = (await self._results(held)).to_csv()
        return _download(text.encode(), "text/csv; charset=utf-8", f"{held.row.slug}.csv")

    async def report(self, request: Request) -> Response:
        await self._analyst(request)
        held = self._held(request)
        page = (await self._results(held)).page()
        if page is None:
            raise Problem("not-found", "there is no estimate yet")
        return _download(render_html(page).encode(), "text/html; charset=utf-8", f"{held.row.slug}.html")

    async def aggregate(self, request: Request) -> Response:
        await self._analyst(request)
        held = self._held(request)

        def exported() -> bytes:
            released = self._collector.store.released(held.row.id)
            return held.survey.aggregate(*released, held.row.source).to_bytes()

        content = await run_in_threadpool(exported)
        return _download(content, "application/octet-stream", f"{held.row.slug}.aggregate")

    async def metrics(self, request: Request) -> Response:
        who = await self._who(request)
        if who is None:
            raise Problem("login")
        if not who.watches:
            raise Problem("not-allowed", f"a {who.role} may not read metrics")
        gauges = await run_in_threadpool(self._collector.gauges)
        gauges |= await run_in_threadpool(machine_gauges, self._collector.store.file)
        return Response(self._collector.metrics.text(gauges), media_type="text/plain; version=0.0.4")

    # ---------------------------------------------------------------- acts

    async def act(self, request: Request) -> Response:
        _check_origin(request)
        who = await self._analyst(request)
        if who.role != "owner":
            raise Problem("not-allowed", "an analyst reads; owners change surveys")
        act = request.path_params["act"]
        if act not in _ACTS:
            raise Problem("not-found", f"an owner can {', '.join(_ACTS)}")
        held = self._held(request)
        asked: dict[str, Any] = {"verb": act, "slug": held.row.slug}
        given = await _read(request, Act)
        if act == "close":
            asked["now"] = given.now
        if act == "delete" and given.name != held.row.slug:
            raise Problem("malformed", "name must be the survey's name, typed again")
        try:
            result = await run_in_threadpool(perform, self._collector.surveys, asked, who.name)
        except StoreError:
            raise
        except DeniableError as error:
            raise Problem("malformed", str(error)) from None
        await run_in_threadpool(self._collector.refresh)
        return JSONResponse(result, headers={"Cache-Control": "no-store"})


async def _read(request: Request, shape: type[Shape]) -> Shape:
    content = await read_body(request.headers, request.receive, MOST)
    try:
        return shape.model_validate_json(content or b"{}")
    except ValidationError:
        raise Problem("malformed", f"the body must be JSON with {', '.join(shape.model_fields)}") from None


def _check_origin(request: Request) -> None:
    """Raise not-allowed unless a request comes from a page of this origin, or by a program with a token."""
    origin = request.headers.get("origin")
    if origin is None and request.headers.get("authorization", "").lower().startswith("bearer "):
        return
    if origin is None or urlsplit(origin).netloc != request.headers.get("host"):
        raise Problem("not-allowed", "the request must come from a page of this address")


def _html(text: str) -> Response:
    return Response(text, headers={"Cache-Control": "no-store"}, media_type="text/html; charset=utf-8")


def _download(content: bytes, media_type: str, name: str) -> Response:
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=media_type)


@functools.cache
def _assets() -> dict[str, tuple[bytes, str]]:
    own = {name: (TEMPLATES / name).read_bytes() for name in ("dashboard.js", "dashboard.css")}
    return {
        "dashboard.js": (own["dashboard.js"], "text/javascript"),
        "dashboard.css": (own["dashboard.css"], "text/css"),
        "page.css": (sheet().encode(), "text/css"),
        "survey.svg": bundles()["survey.svg"][1:],
    }


async def _asset(request: Request) -> Response:
    found = _assets().get(request.path_params["name"])
    if found is None:
        raise Problem("not-found")
    return Response(found[0], headers={"Cache-Control": "no-cache"}, media_type=found[1])
