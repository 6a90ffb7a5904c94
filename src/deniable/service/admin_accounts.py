"""Endpoints of the admin port for accounts: sender of a request, log-in and log-out, own password, and audit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Annotated, TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from deniable.core.documents import Document
from deniable.errors import InvalidParameterError
from deniable.service.accounts import UNKNOWN_NAME, described
from deniable.service.auth import SESSION, Analyst, Logins
from deniable.service.collector import Collector
from deniable.service.guessing import Guesses, TooSoonError
from deniable.service.limits import Network, client_address
from deniable.service.problems import AnotherPageError, Problem, to
from deniable.service.receiving import read_body
from deniable.service.rendering import render_template
from deniable.service.stores.accounts import AUDIT_DAYS, Entry

COOKIE = "__Host-deniable"
MOST = 4096
"""Most bytes of the body of a request to these endpoints."""

ENTRIES = 50
"""Most entries of the audit on one page."""

Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""Text without NUL, which PostgreSQL refuses."""

Shape = TypeVar("Shape", bound=Document)


class Credentials(Document):
    """Body of a log-in: a name with its password, or the secret of a one-time link."""

    name: Text = ""
    password: Text = ""
    link: Text = ""


class NewPassword(Document):
    """Body of a change of password: the present password and the new one."""

    old: str
    new: str


class AccountEndpoints:
    """Endpoints for accounts, and the check of a request's sender.

    Parameters
    ----------
    collector : Collector
        Collector that has the accounts.
    trusted : tuple of network
        Proxies of the admin port whose forwarded addresses are believed.
    """

    def __init__(self, collector: Collector, trusted: tuple[Network, ...]) -> None:
        self._collector, self._trusted = collector, trusted
        self._logins, self._guesses = Logins(collector.store, collector.clock), Guesses()

    # ---------------------------------------------------------------- analyst of a request

    async def who(self, request: Request) -> Analyst | None:
        """Return the account whose session or token comes with a request, or None if neither comes with it."""
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return await run_in_threadpool(self._logins.who, secret, "token")
        cookie = request.cookies.get(COOKIE)
        return await run_in_threadpool(self._logins.who, cookie, "session") if cookie else None

    async def known(self, request: Request) -> Analyst:
        """Return the account that sent a request; raise the problem login if there is none."""
        who = await self.who(request)
        if who is None:
            raise Problem("login")
        return who

    async def reader(self, request: Request) -> Analyst:
        """Return the account that sent a request; raise login without one, not-allowed if it may not read results."""
        who = await self.known(request)
        if not who.reads:
            raise Problem("not-allowed", f"the role {who.role} may not read results")
        return who

    async def person(self, request: Request, *, invites: bool = True) -> Analyst:
        """Return the person that a page is shown to, or lead to the log-in.

        Only readers pass, unless `invites` is set.
        """
        who = await self.who(request)
        if who is None or not (who.reads or (invites and who.invites)):
            raise AnotherPageError(to("/login"))
        return who

    async def note(self, who: str, act: str, survey: str = "", about: str = "", *, together: bool = False) -> None:
        """Write into the audit what an account did; raise StoreError if that is not possible."""
        store, now = self._collector.store, self._collector.clock()
        await run_in_threadpool(lambda: store.note(now, who, act, survey, about, together=together))

    # ---------------------------------------------------------------- log-in and log-out

    async def login_page(self, _: Request) -> Response:
        """Answer with the page that asks for a name and a password."""
        return html(render_template("login.html"))

    async def log_in(self, request: Request) -> Response:
        """Start a session for a name and its password, or for the secret of a one-time link."""
        check_origin(request)
        given = await read(request, Credentials)
        if given.link:
            redeemed = await run_in_threadpool(self._logins.redeem, given.link)
            if redeemed is None:
                raise Problem(
                    "wrong-login", "this link was used before, or it is older than 15 minutes: ask for a new link"
                )
            name, secret = redeemed
        else:
            name, secret = given.name, await self._with_password(request, given)
        await self.note(name, "log-in", about="link" if given.link else "")
        response = Response(status_code=204, headers={"Cache-Control": "no-store"})
        lifetime = int(SESSION.total_seconds())
        response.set_cookie(COOKIE, secret, lifetime, secure=True, httponly=True, samesite="strict")
        return response

    async def _with_password(self, request: Request, given: Credentials) -> str:
        found: list[str] = []

        async def right() -> bool:
            secret = await run_in_threadpool(self._logins.log_in, given.name, given.password)
            found.extend([secret] if secret else [])
            return secret is not None

        await self._guess(request, given.name, right)
        return found[0]

    async def _guess(self, request: Request, name: str, right: Callable[[], Awaitable[bool]]) -> None:
        """Compare a password if that is allowed now; otherwise raise wrong-login or wait."""
        peer = request.client.host if request.client else ""
        address = client_address(peer, request.headers, self._trusted)
        try:
            found = await self._guesses.attempt(name, address, right)
        except TooSoonError as error:
            said = f"Try again in {error.seconds} second{'' if error.seconds == 1 else 's'}."
            raise Problem("wait", said, retry=error.seconds) from None
        if found:
            return
        known = await run_in_threadpool(self._collector.store.analyst, name)
        # A password may have been typed as a name, so unknown names are not recorded.
        await self.note(name if known else UNKNOWN_NAME, "log-in failed", together=True)
        raise Problem("wrong-login")

    async def log_out(self, request: Request) -> Response:
        """End the session that a request belongs to."""
        check_origin(request)
        if cookie := request.cookies.get(COOKIE):
            who = await run_in_threadpool(self._logins.who, cookie, "session")
            if who is not None:
                await self.note(who.name, "log-out")
            await run_in_threadpool(self._logins.log_out, cookie)
        return _logged_out()

    async def log_out_everywhere(self, request: Request) -> Response:
        """End all sessions of the account."""
        check_origin(request)
        who, _ = await self._session(request)
        await self.note(who.name, "log-out", about="everywhere")
        await run_in_threadpool(self._collector.store.end_sessions, who.name)
        return _logged_out()

    # ---------------------------------------------------------------- the own account

    async def _session(self, request: Request) -> tuple[Analyst, str]:
        """Return the account whose session a request comes in, and the session's secret; a token is not a session."""
        cookie = request.cookies.get(COOKIE, "")
        who = await run_in_threadpool(self._logins.who, cookie, "session")
        if who is None:
            raise Problem("login")
        return who, cookie

    async def account_page(self, request: Request) -> Response:
        """Answer with the page about the account that asks: its sessions, its tokens and its password."""
        who = await self.person(request)
        store = self._collector.store
        sessions = await run_in_threadpool(store.sessions, who.name)
        tokens = [token for token in await run_in_threadpool(store.tokens) if token.account == who.name]
        shown = {"sessions": sessions, "tokens": described(tokens)}
        return html(render_template("account.html", who=who, **shown))

    async def change_password(self, request: Request) -> Response:
        """Change the password of the account that asks, and end all its other sessions."""
        check_origin(request)
        who, cookie = await self._session(request)
        given = await read(request, NewPassword)

        store, now = self._collector.store, self._collector.clock()

        def noted() -> int:
            return store.note(now, who.name, "set-password", about=who.name)

        async def right() -> bool:
            return await run_in_threadpool(self._logins.change_password, who.name, given.old, given.new, cookie, noted)

        try:
            await self._guess(request, who.name, right)
        except InvalidParameterError as error:
            raise Problem("malformed", str(error)) from None
        return Response(status_code=204, headers={"Cache-Control": "no-store"})

    # ---------------------------------------------------------------- audit

    async def audit_page(self, request: Request) -> Response:
        """Answer with the page that shows who did what."""
        who = await self.person(request, invites=False)
        entries = (await self._audit(request, who))[::-1]
        asked = {key: request.query_params.get(key, "") for key in ("survey", "name", "day")}
        pages = max(1, -(-len(entries) // ENTRIES))
        page = _page(request.query_params.get("page", ""), pages)
        kept = {key: value for key, value in asked.items() if value}
        shown = {
            "entries": entries[(page - 1) * ENTRIES : page * ENTRIES],
            "found": len(entries),
            "failed": sum(entry.times for entry in entries if entry.act == "log-in failed"),
            "page": page,
            "pages": pages,
            "newer": urlencode(kept | {"page": page - 1}),
            "older": urlencode(kept | {"page": page + 1}),
            "days": AUDIT_DAYS,
            "asked": asked,
        }
        return html(render_template("audit.html", who=who, **shown))

    async def audit_json(self, request: Request) -> Response:
        """Answer with the entries of the audit as JSON."""
        entries = await self._audit(request, await self.known(request))
        content = {"entries": [entry._asdict() for entry in entries]}
        return JSONResponse(content, headers={"Cache-Control": "no-store"})

    async def _audit(self, request: Request, who: Analyst) -> list[Entry]:
        """Return the entries of the audit that an owner asks for.

        Owners of some surveys see only the entries about these surveys, and the entries of their own acts.
        """
        if not who.changes:
            raise Problem("not-allowed", "only owners may read the audit")
        asked = {key: request.query_params.get(key) or None for key in ("survey", "name", "day")}
        try:
            day = asked["day"] and date.fromisoformat(asked["day"]).isoformat()
        except ValueError:
            raise Problem("malformed", "day must be a date such as 2026-05-01, got something else") from None
        noted = self._collector.store.noted
        found = await run_in_threadpool(lambda: noted(survey=asked["survey"], who=asked["name"], day=day))
        return [entry for entry in found if who.surveys is None or entry.survey in who.surveys or entry.who == who.name]


def _page(text: str, pages: int) -> int:
    """Return the number of an existing page, counted from 1."""
    stated = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
    return min(max(stated, 1), pages)


async def read(request: Request, shape: type[Shape], most: int = MOST) -> Shape:
    """Return the body of a request; raise malformed if it has another shape."""
    content = await read_body(request.headers, request.receive, most)
    try:
        return shape.model_validate_json(content or b"{}")
    except ValidationError:
        raise Problem(
            "malformed", f"the body must be a JSON object with the keys {', '.join(shape.model_fields)}"
        ) from None


def check_origin(request: Request) -> None:
    """Raise not-allowed unless a request comes from a page of this origin, or by a program with a token."""
    origin = request.headers.get("origin")
    if origin is None and request.headers.get("authorization", "").lower().startswith("bearer "):
        return
    if origin is None or urlsplit(origin).netloc != request.headers.get("host"):
        raise Problem("not-allowed", "the request must come from a page of this collector's own address")


def html(text: str, status: int = 200) -> Response:
    """Return a page as a response that browsers and proxies must not store."""
    return Response(text, status, headers={"Cache-Control": "no-store"}, media_type="text/html; charset=utf-8")


def _logged_out() -> Response:
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, secure=True, httponly=True, samesite="strict")
    return response
