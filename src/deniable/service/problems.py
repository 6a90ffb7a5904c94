"""Problem documents (RFC 9457): a collector's answers to requests that it refuses.

A document is ``{"type": "urn:deniable:problem:<name>", "title": ..., "status": ..., "detail": ...}``, of the media type
``application/problem+json``. A client tries again after network errors, 408, 425, 429 and 5xx. After other errors it
stops.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

PREFIX = "urn:deniable:problem:"
MEDIA_TYPE = "application/problem+json"

PROBLEMS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "The request is not understood."),
    "not-allowed": (403, "This is not allowed."),
    "not-invited": (403, "This survey is for invited people, and this link is not one of their links."),
    "unknown-collection": (404, "This collector does not have that collection."),
    "not-counted": (404, "No report with this id was counted."),
    "not-found": (404, "There is nothing at this address."),
    "wrong-method": (405, "This address does not accept this HTTP method."),
    "slow": (408, "The request took too long to arrive."),
    "wrong-collection": (409, "The reports belong to a different collection than the address names."),
    "closed": (410, "The survey takes no reports any more."),
    "too-large": (413, "The request is too large."),
    "unsupported": (415, "The collector does not accept this format."),
    "invalid-report": (422, "No client can have made this report."),
    "not-open": (425, "The survey takes no reports now."),
    "too-many": (429, "Too many reports come from this network."),
    "broken": (500, "The collector failed because of its own fault."),
    "busy": (503, "Too many reports are waiting."),
    "store": (503, "Reports cannot be stored now."),
    "login": (401, "Log in first."),
    "wrong-login": (401, "The name or the password is wrong."),
    "wait": (429, "Too many wrong passwords came."),
    "token": (401, "Batches of reports need a token."),
    "wrong-host": (421, "This port does not answer for this host name."),
}
"""Every problem, with its status and its title."""

RETRY_SECONDS = {"busy": 1, "store": 2, "not-open": 60}
"""Seconds for Retry-After, if they are known in advance."""


@dataclass
class Problem(Exception):  # noqa: N818
    """Reason why a request is refused.

    Parameters
    ----------
    name : str
        Name of the problem, a key of `PROBLEMS`.
    detail : str
        Description of what is wrong, which contains nothing of what was sent.
    retry : int or None
        Number of seconds after which to try again.
    """

    name: str
    detail: str = ""
    retry: int | None = None

    @property
    def status(self) -> int:
        """HTTP status of the problem."""
        return PROBLEMS[self.name][0]

    def body(self) -> bytes:
        """Return the problem document.

        Examples
        --------
        >>> Problem("closed").body().decode()
        '{"type":"urn:deniable:problem:closed","title":"The survey takes no reports any more.","status":410}'
        """
        status, title = PROBLEMS[self.name]
        said = {"type": PREFIX + self.name, "title": title, "status": status}
        return json.dumps(said | ({"detail": self.detail} if self.detail else {}), separators=(",", ":")).encode()

    def headers(self) -> dict[str, str]:
        """Return the headers of the problem besides its content type."""
        retry = self.retry if self.retry is not None else RETRY_SECONDS.get(self.name)
        return {"Cache-Control": "no-store"} | ({} if retry is None else {"Retry-After": str(retry)})

    def response(self) -> Response:
        """Return the problem as a response."""
        return Response(self.body(), self.status, self.headers(), MEDIA_TYPE)


class AnotherPageError(Exception):
    """Error that gives a person another page than the one asked for: the log-in, or a form with its mistakes."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def to(address: str) -> Response:
    """Return a response that leads a browser to another address."""
    return RedirectResponse(address, 303, headers={"Cache-Control": "no-store"})
