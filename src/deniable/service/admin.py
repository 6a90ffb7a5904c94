"""Admin port: a dashboard for analysts who are logged in, and the acts of owners on surveys.

The admin port is another origin than the public port, and by default only this machine reaches it. A request that posts
must come from a page of this origin, or have a token. People see only the surveys that they have rights for. Other
surveys are answered as if they did not exist. Endpoints for accounts and the audit are in
`deniable.service.admin_accounts`.
"""

from __future__ import annotations

import functools
import hashlib
import io
import math
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from deniable.core.documents import Document
from deniable.core.privacy import odds_text
from deniable.errors import DeniableError, InvalidParameterError, StoreError
from deniable.report import estimate_page, render_fragment, render_html, sheet
from deniable.service.admin_accounts import AccountEndpoints, Text, check_origin, html, read
from deniable.service.auth import Analyst
from deniable.service.collector import Collector, SurveySnapshot
from deniable.service.control import perform
from deniable.service.draft_pages import DraftEndpoints
from deniable.service.drafts import Draft
from deniable.service.findings import EARLY, axis_ticks, axis_top, drawn
from deniable.service.invitations import Response as InvitedShare, response_of
from deniable.service.limits import Network
from deniable.service.metrics import machine_gauges
from deniable.service.middleware import SecurityMiddleware
from deniable.service.phrases import ENGLISH
from deniable.service.precision import PrecisionCurve, precision_curve
from deniable.service.problems import AnotherPageError, Problem
from deniable.service.public import Access, bundles, handlers
from deniable.service.publishing import public_path, results_pages
from deniable.service.readiness import cannot_work
from deniable.service.rendering import TEMPLATES, page_headers, render_template
from deniable.service.results import Results, found, results as read_results
from deniable.service.rounds import Rounds, combined
from deniable.service.stores.accounts import TOGETHER
from deniable.service.surveys import link_path

_ACTS = ("open", "pause", "close", "delete", "publish", "withdraw")


_MOST_INVITED = 1 << 23
"""Most bytes of a request about invitations, which is about 100,000 links."""

_RATE_KEYS = ("slug", "collection", "link", "state", "opens_at", "closes_at", "invitations", "channels")
"""Keys of a survey's status that an inviter gets. They contain no count of reports, except for the response rate."""

Nullifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{21}[AQgw]==$")]


class InvitationAct(Document):
    """Body of a request about invitations.

    Parameters
    ----------
    command : {"terms", "invite", "remind", "revoke", "status"}
        Command, named as in the command line.
    invited : list of (str, str, int)
        Invitations to enter, for the command "invite": hash in base64, channel, and group.
    names : list of str
        Hashes in base64, for the command "revoke".
    """

    command: Literal["terms", "invite", "remind", "revoke", "status"]
    invited: list[tuple[Nullifier, Text, Annotated[int, Field(ge=0, le=1 << 31)]]] = Field(default_factory=list)
    names: list[Nullifier] = Field(default_factory=list)


class Act(Document):
    """Body of a request by which an owner changes a survey.

    Parameters
    ----------
    now : bool
        True if a close ends the grace as well.
    name : str
        Name of the survey to be deleted, typed again.
    anyway : str
        Reason for opening a survey that cannot work.
    """

    now: bool = False
    name: str = ""
    anyway: Text = ""


def admin_app(
    collector: Collector,
    trusted: tuple[Network, ...],
    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost"}),
    public_url: str = "",
) -> ASGIApp:
    """Return the application of the admin port, which answers only requests to its own host names.

    Without this check, a page elsewhere whose name is made to lead here could read what an analyst may read.

    `public_url` is the beginning of contributors' links. Without it, the dashboard shows the links from their path on.
    """
    people = AccountEndpoints(collector, trusted)
    desk = _AdminEndpoints(collector, people, public_url)
    app = Starlette(
        routes=[
            Route("/", desk.home),
            Route("/login", people.login_page),
            Route("/session", people.log_in, methods=["POST"]),
            Route("/session", people.log_out, methods=["DELETE"]),
            Route("/sessions", people.log_out_everywhere, methods=["DELETE"]),
            Route("/account", people.account_page),
            Route("/password", people.change_password, methods=["POST"]),
            Route("/audit", people.audit_page),
            Route("/audit.json", people.audit_json),
            *DraftEndpoints(collector, people).routes(),
            Route("/surveys/{slug}", desk.dashboard),
            Route("/surveys/{slug}/results.json", desk.results_json),
            Route("/surveys/{slug}/results.csv", desk.results_csv),
            Route("/surveys/{slug}/combination.json", desk.combination_json),
            Route("/surveys/{slug}/report.html", desk.report),
            Route("/surveys/{slug}/link.svg", desk.code),
            Route("/surveys/{slug}/published/{name}", desk.published),
            Route("/surveys/{slug}/aggregate", desk.aggregate),
            Route("/surveys/{slug}/invitations", desk.invitations, methods=["POST"]),
            Route("/surveys/{slug}/{act}", desk.act, methods=["POST"]),
            Route("/metrics", desk.metrics),
            Route("/assets/{name}", _asset),
        ],
        exception_handlers={**handlers(), StoreError: desk.store_error, AnotherPageError: _another_page},
    )
    app.router.redirect_slashes = False
    access = Access(trusted=trusted)

    def secure(scope: Scope) -> bool:
        return access.secure(scope)

    return SecurityMiddleware(app, secure, hosts, collector.metrics.request)


class _Listed(NamedTuple):
    """Row of the list of surveys: reports so far and planned, and the first finding with its question."""

    held: SurveySnapshot
    n: int
    planned: int | None
    question: str
    headline: str


def _curve(results: Results) -> PrecisionCurve | None:
    """Return the curve of precision of a survey that has reports and a plan."""
    progress, n, planned = (results.data[key] for key in ("progress", "n", "contributors"))
    if not progress or not n or not planned:
        return None
    return precision_curve(progress["points_now"], n, planned, closed=results.data["state"] == "closed")


class _AdminEndpoints:
    """Endpoints of the admin port for analysts and owners."""

    def __init__(self, collector: Collector, people: AccountEndpoints, public_url: str) -> None:
        self._collector, self._people, self._public_url = collector, people, public_url
        self._looked: dict[tuple[str, str], datetime] = {}

    async def store_error(self, _: Request, error: Exception) -> Response:
        self._collector.outages.refused(str(error))
        return Problem("store").response()

    def _held(self, request: Request, who: Analyst) -> SurveySnapshot:
        """Return the survey that a request names, or raise not-found if there is none that the account has rights for.

        The survey is its last round, or the round that the address names as `?round=1`.
        """
        held = self._collector.of_slug(request.path_params["slug"], _position(request))
        if held is None or not who.may(held.row.slug):
            raise Problem("not-found", "there is no survey with this name")
        return held

    async def _read(self, request: Request, download: str = "") -> SurveySnapshot:
        """Return the survey that an account reads; a download is written into the audit first."""
        who = await self._people.reader(request)
        held = self._held(request, who)
        if download:
            await self._people.note(who.name, "download", held.row.slug, download, together=True)
        else:
            await self._look(who, held)
        return held

    async def _look(self, who: Analyst, held: SurveySnapshot) -> None:
        """Write a look at results into the audit, once an hour for each account and survey.

        The dashboard itself looks every ten seconds.
        """
        key, now = (who.name, held.row.slug), self._collector.clock()
        last = self._looked.get(key)
        if last is None or not timedelta() <= now - last < TOGETHER:
            await self._people.note(who.name, "look", held.row.slug, together=True)
            self._looked[key] = now

    # ---------------------------------------------------------------- pages

    async def home(self, request: Request) -> Response:
        who = await self._people.person(request)
        surveys = sorted(
            (held for held in self._collector.all_held() if who.may(held.row.slug)),
            key=lambda held: (held.row.slug, held.row.position),
        )
        # An inviter sees no finding and no number of reports, so neither is computed.
        listed = [await self._listed(held) if who.reads else _Listed(held, 0, None, "", "") for held in surveys]
        for one in listed:
            if one.headline:
                await self._look(who, one.held)
        drafts = await run_in_threadpool(self._collector.store.drafts) if who.changes else {}
        made = [(slug, Draft.model_validate_json(text)) for slug, text in drafts.items() if who.may(slug)]
        return html(render_template("surveys.html", surveys=listed, drafts=made, who=who))

    async def _listed(self, held: SurveySnapshot) -> _Listed:
        """Return the row of a survey: its first finding that says something, reports so far, and planned reports."""
        results = await self._results(held)
        said = await run_in_threadpool(found, held, self._collector.store, results)
        told = next((one for one in said if one.headline != EARLY and (one.range_text or one.likely)), None)
        headline = "" if told is None else told.headline
        question = "" if told is None else told.question
        return _Listed(held, results.data["n"], results.data["contributors"], question, headline)

    async def dashboard(self, request: Request) -> Response:
        who = await self._people.person(request)
        held = self._collector.of_slug(request.path_params["slug"], _position(request))
        if held is None or not who.may(held.row.slug):
            return html(render_template("unknown.html"), 404)
        if not who.reads:
            return await self._response_page(held)
        await self._look(who, held)
        results, owner = await self._results(held), who.changes
        # Arrivals that are not released yet concern only people who can pause the survey.
        alarm = await run_in_threadpool(self._collector.arrivals.look, held.row, held.survey) if owner else None
        page = await run_in_threadpool(results.page)
        said = await run_in_threadpool(found, held, self._collector.store, results)
        guarantee, schema = held.survey.collection.privacy(), held.survey.collection.schema
        rounds = await run_in_threadpool(combined, self._collector.surveys, held.row.slug)
        invited = await run_in_threadpool(self._collector.surveys.response, held.row, held.survey.page)
        shown = render_template(
            "dashboard.html",
            rounds=rounds,
            rounds_top=axis_top(rounds.findings),
            rounds_ticks=axis_ticks(axis_top(rounds.findings)),
            position=held.row.position,
            query=f"?round={held.row.position}" if held.row.position < len(rounds.rounds) else "",
            together=None if rounds.summary is None else render_fragment(estimate_page(rounds.summary)),
            invited=invited,
            title=held.survey.collection.title or held.row.slug,
            language=next(iter(held.survey.page.languages)),
            data=results.data,
            opens_at=held.survey.page.opens_at if held.state(self._collector.clock) != results.data["state"] else "",
            findings=said,
            top=axis_top(said),
            drawn=drawn,
            ticks=axis_ticks(axis_top(said)),
            batch=held.survey.page.min_batch,
            link=self._public_url + link_path(held.row.slug, held.survey),
            coded=bool(self._public_url),
            owner=owner,
            curve=_curve(results),
            off_plan=alarm or results.data["off_plan"],
            cannot=cannot_work(held.survey.collection, held.survey.page.contributors)
            if results.data["state"] == "draft"
            else "",
            counted=held.row.n if owner else results.data["n"],
            step=self._collector.surveys.while_open,
            fragment=None if page is None else render_fragment(page),
            factor=odds_text(guarantee.epsilon) if math.isfinite(guarantee.epsilon) else "",
            guarantee=guarantee.lines(schema.names, schema.several),
            english=ENGLISH,
            published=await run_in_threadpool(self._collector.store.published, held.row.id),
            results_link=self._public_url + public_path(held.row.slug),
        )
        return html(shown)

    # ---------------------------------------------------------------- data

    async def _results(self, held: SurveySnapshot) -> Results:
        return await run_in_threadpool(read_results, held, self._collector.store, self._collector.clock)

    async def results_json(self, request: Request) -> Response:
        downloaded = "authorization" in request.headers or "download" in request.query_params
        held = await self._read(request, "results.json" if downloaded else "")
        content = (await self._results(held)).to_json()
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type="application/json")

    async def results_csv(self, request: Request) -> Response:
        held = await self._read(request, "results.csv")
        text = (await self._results(held)).to_csv()
        return _download(text.encode(), "text/csv; charset=utf-8", f"{held.row.slug}.csv")

    async def combination_json(self, request: Request) -> Response:
        held = await self._read(request, "combination.json")
        rounds: Rounds = await run_in_threadpool(combined, self._collector.surveys, held.row.slug)
        return Response(rounds.to_json(), headers={"Cache-Control": "no-store"}, media_type="application/json")

    async def report(self, request: Request) -> Response:
        held = await self._read(request, "report.html")
        page = (await self._results(held)).page()
        if page is None:
            raise Problem("not-found", "there is no estimate yet")
        return _download(render_html(page).encode(), "text/html; charset=utf-8", f"{held.row.slug}.html")

    async def published(self, request: Request) -> Response:
        """Return a page of the results in the form in which it would be published."""
        held = await self._read(request)
        try:
            pages = await run_in_threadpool(results_pages, held, self._collector.store, self._collector.clock)
        except InvalidParameterError as error:
            raise Problem("not-found", str(error)) from None
        page = pages.get(request.path_params["name"])
        if page is None:
            raise Problem("not-found")
        headers = {**page_headers(page), "Cache-Control": "no-store"}
        return Response(page, headers=headers, media_type="text/html; charset=utf-8")

    async def code(self, request: Request) -> Response:
        """Return the link as a QR code, black on white in every colour scheme, because cameras need that."""
        import segno  # an installation without segno lacks only this code

        held = await self._read(request)
        if not self._public_url:
            raise Problem(
                "not-found", "the public address of the collector is not known: set public_url in its configuration"
            )
        drawing = io.BytesIO()
        link = self._public_url + link_path(held.row.slug, held.survey)
        segno.make_qr(link, error="m").save(drawing, kind="svg", scale=8, light="#fff", xmldecl=False)
        return Response(drawing.getvalue(), headers={"Cache-Control": "no-store"}, media_type="image/svg+xml")

    async def aggregate(self, request: Request) -> Response:
        held = await self._read(request, "aggregate")

        def exported() -> bytes:
            released = self._collector.store.released(held.row.id)
            return held.survey.aggregate(*released, held.row.source).to_bytes()

        content = await run_in_threadpool(exported)
        return _download(content, "application/octet-stream", f"{held.row.slug}.aggregate")

    async def metrics(self, request: Request) -> Response:
        if not (await self._people.known(request)).watches:
            raise Problem("not-allowed", "only monitors, and owners of all surveys, may read metrics")
        gauges = await run_in_threadpool(self._collector.gauges)
        gauges |= await run_in_threadpool(machine_gauges, self._collector.store.file)
        return Response(self._collector.metrics.text(gauges), media_type="text/plain; version=0.0.4")

    # ---------------------------------------------------------------- invitations

    async def _response_page(self, held: SurveySnapshot) -> Response:
        """Return the page for inviters, which has the number of people who have answered and no result."""
        rate = None
        if held.survey.page.access == "invited":
            rate = await run_in_threadpool(self._rate, held)
        shown = {
            "title": held.survey.collection.title or held.row.slug,
            "language": next(iter(held.survey.page.languages)),
            "slug": held.row.slug,
            "state": held.staff_state(self._collector.clock),
            "rate": rate,
        }
        return html(render_template("invitations.html", **shown))

    def _rate(self, held: SurveySnapshot) -> InvitedShare:
        closed = held.row.state == "closed"
        return response_of(self._collector.store, held.row.id, held.survey.page.min_batch, closed=closed)

    async def invitations(self, request: Request) -> Response:
        """Carry out an inviter's command: enter or revoke hashes, or return who to remind or how many have answered."""
        check_origin(request)
        who = await self._people.known(request)
        if not who.invites:
            raise Problem("not-allowed", f"the role {who.role} may not make invitations")
        held = self._held(request, who)
        given = await read(request, InvitationAct, _MOST_INVITED)
        asked: dict[str, Any] = {"command": given.command, "slug": held.row.slug}
        asked |= {"invited": given.invited} if given.command == "invite" else {}
        asked |= {"names": given.names} if given.command == "revoke" else {}
        result = await self._performed(asked, who)
        if given.command == "status" and not who.reads:
            result = {key: result[key] for key in _RATE_KEYS if key in result}
        return JSONResponse(result, headers={"Cache-Control": "no-store"})

    # ---------------------------------------------------------------- acts

    async def _performed(self, asked: dict[str, Any], who: Analyst) -> dict[str, Any]:
        try:
            return await run_in_threadpool(perform, self._collector.surveys, asked, who.name)
        except StoreError:
            raise
        except DeniableError as error:
            raise Problem("malformed", str(error)) from None

    async def act(self, request: Request) -> Response:
        check_origin(request)
        who = await self._people.reader(request)
        if not who.changes:
            raise Problem("not-allowed", f"the role {who.role} may not change surveys; owners can change surveys")
        act = request.path_params["act"]
        if act not in _ACTS:
            raise Problem("not-found", f"there is no such action: an owner can {', '.join(_ACTS)}")
        held = self._held(request, who)
        asked: dict[str, Any] = {"command": act, "slug": held.row.slug}
        given = await read(request, Act)
        if act == "close":
            asked["now"] = given.now
        if act == "open":
            asked["anyway"] = given.anyway.strip()
        if act == "delete" and given.name != held.row.slug:
            raise Problem("malformed", "the name of the survey must be typed again to confirm the deletion")
        result = await self._performed(asked, who)
        await run_in_threadpool(self._collector.refresh)
        result.pop("pages", None)
        return JSONResponse(result, headers={"Cache-Control": "no-store"})


async def _another_page(_: Request, error: Exception) -> Response:
    assert isinstance(error, AnotherPageError)
    return error.response


def _position(request: Request) -> int | None:
    """Return the round that an address names: None for the last one, and 0, which no round has, for anything else."""
    named = request.query_params.get("round")
    return None if named is None else int(named) if named.isdecimal() and len(named) < 4 else 0


def _download(content: bytes, media_type: str, name: str) -> Response:
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=media_type)


@functools.cache
def _assets() -> dict[str, tuple[bytes, str]]:
    own = {name: (TEMPLATES / name).read_bytes() for name in ("dashboard.js", "dashboard.css", "drafts.css")}
    return {
        "dashboard.js": (own["dashboard.js"], "text/javascript"),
        "dashboard.css": (own["dashboard.css"], "text/css"),
        "drafts.css": (own["drafts.css"], "text/css"),
        "page.css": (sheet().encode(), "text/css"),
        # Previews use the same client that contributors get.
        **{name: bundle[1:] for name, bundle in bundles().items()},
    }


async def _asset(request: Request) -> Response:
    found = _assets().get(request.path_params["name"])
    if found is None:
        raise Problem("not-found")
    return Response(found[0], headers={"Cache-Control": "no-cache"}, media_type=found[1])
