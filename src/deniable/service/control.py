"""Requests of the command line about surveys: on the database itself, or through the collector that serves it.

The collector listens on a Unix socket beside its SQLite database, for its owner only. A request is one line of JSON,
``{"command": ..., ...}``. The answer is also one line, ``{"result": ...}`` or ``{"error": ...}``. PostgreSQL takes
several writers, so there the command line works on the database.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import socket
import threading
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from deniable.errors import (
    CollectorError,
    DeniableError,
    InvalidParameterError,
    StoreError,
    StoreInUseError,
    quoted,
    unknown_name,
)
from deniable.service import rounds
from deniable.service.accounts import ACCOUNT_COMMANDS
from deniable.service.stores import open_store, sqlite_path
from deniable.service.stores.accounts import COMMAND_LINE
from deniable.service.stores.invited import Invitation
from deniable.service.surveys import Surveys

SOCKET = ".socket"
"""Ending of the socket's name. The socket is beside the database."""

MOST = 1 << 27
"""Most bytes of a request or an answer."""

MOST_PROBLEM = 1 << 16
"""Most bytes of a refusal that are read."""

_SECONDS, _STOP_SECONDS = 60.0, 1.0

log = logging.getLogger("deniable.service")

Answer = dict[str, Any]


def perform(surveys: Surveys, request: Answer, actor: str = COMMAND_LINE) -> Answer:
    """Carry out a request on a store, record who sent it, and return the result as JSON data.

    Raises
    ------
    DeniableError
        If the request cannot be carried out.
    """
    values = dict(request)
    command = values.pop("command")
    if command not in _COMMANDS:
        raise unknown_name("command", command, _COMMANDS)
    if command in _READS:
        return _COMMANDS[command](surveys, dict(values))
    # The note comes first, so that nothing is done that is not in the audit.
    number = surveys.store.note(surveys.clock(), actor, command, values.get("slug", ""), _about(values))
    try:
        return _COMMANDS[command](surveys, dict(values))
    except DeniableError as error:
        # An error of the database has a cause. Without a cause, the command was refused before anything was done.
        if not isinstance(error, StoreError) or error.__cause__ is None:
            surveys.store.take_back(number, actor, command)
        raise


def _about(values: Answer) -> str:
    """Return the text of the audit about a request, besides its command and its survey."""
    said = [values.get("role"), *(values.get("surveys") or ()), values.get("label")]
    said += [key for key in ("now", "reports", "token") if values.get(key)]
    # The note says how many links there are, never which.
    said += [f"{len(values[key])} links" for key in ("invited", "names") if key in values]
    said += ["files"] if values.get("online") is False else []
    said.append(values.get("anyway"))
    if "output" in values:
        said.append(Path(values["output"]).name)
    text = ", ".join(part for part in said if part)
    return ": ".join(part for part in (values.get("name", ""), text) if part)


def _export(surveys: Surveys, values: Answer) -> Answer:
    reports = values.pop("reports", False)
    files = surveys.export_reports(**values) if reports else {"": surveys.export(**values)}
    return {"files": {name: b64encode(content).decode() for name, content in files.items()}}


def _publish(surveys: Surveys, values: Answer) -> Answer:
    from deniable.service.publishing import publish  # it loads the code of charts, which only this command needs

    return publish(surveys, **values)


def _backup(surveys: Surveys, values: Answer) -> Answer:
    surveys.store.backup(Path(values["output"]))
    return {}


_COMMANDS: dict[str, Callable[[Surveys, Answer], Answer]] = {
    "new": lambda surveys, values: surveys.new(**values),
    "open": lambda surveys, values: surveys.open(**values),
    "pause": lambda surveys, values: surveys.pause(**values),
    "close": lambda surveys, values: surveys.close(**values),
    "delete": lambda surveys, values: surveys.delete(**values),
    "status": lambda surveys, values: surveys.status(**values),
    "list": lambda surveys, _: {"surveys": surveys.list()},
    "terms": lambda surveys, values: invitation_terms(surveys, **values),
    "invite": lambda surveys, values: enter_invitations(surveys, **values),
    "revoke": lambda surveys, values: withdraw_invitations(surveys, **values),
    "remind": lambda surveys, values: overdue_groups(surveys, **values),
    "publish": _publish,
    "withdraw": lambda surveys, values: surveys.withdraw(**values),
    "next": lambda surveys, values: rounds.draft_next(surveys, **values),
    "export": _export,
    "backup": _backup,
    **ACCOUNT_COMMANDS,
}

_INVITERS = ("terms", "invite", "remind", "revoke", "status")
"""Commands for which an admin port can be asked."""

_READS = ("status", "terms", "list", "list-analysts", "audit")
"""Commands that the audit does not keep."""


def ask(url: str, request: Answer) -> Answer:
    """Carry out a request on the database at an address, through its collector if one serves it.

    The address of a collector's admin port, https://..., takes the commands of inviters, with the token in
    $DENIABLE_TOKEN.

    Raises
    ------
    DeniableError
        If the request cannot be carried out.
    """
    if url.startswith(("https://", "http://")):
        return _ask_admin(url, request)
    try:
        store = open_store(url, create=request["command"] in ("new", "add-analyst"))
    except StoreInUseError:
        path = sqlite_path(url)
        if path is None:
            raise
        return _ask_collector(path, request)
    try:
        return perform(Surveys(store), request)
    finally:
        store.close()


def _ask_admin(url: str, request: Answer) -> Answer:
    """Send a request about invitations to an admin port."""
    values = dict(request)
    command, slug = values["command"], values.pop("slug", "")
    if command not in _INVITERS:
        raise InvalidParameterError(
            "this command needs the database of the collector, got the address of an admin port: run the command on "
            "the collector's machine, with its database. An admin port only takes "
            f"{', '.join(f'`survey {one}`' for one in _INVITERS if one != 'terms')}"
        )
    parts, token = urlsplit(url), os.environ.get("DENIABLE_TOKEN", "").strip()
    if not token:
        raise InvalidParameterError("$DENIABLE_TOKEN must hold the token of an inviter or an owner, but it is not set")
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise InvalidParameterError(
            f"the address must begin with https://, got {quoted(url)}: a token is sent to this address"
        )
    address = f"{url.rstrip('/')}/surveys/{quote(slug, safe='')}/invitations"
    headers = {"Content-Type": "application/json"}
    posted = urllib.request.Request(address, json.dumps(values).encode(), headers)
    # A redirection does not take the header elsewhere.
    posted.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(posted, timeout=_SECONDS) as response:
            result: Answer = json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            said = _problem(error.read(MOST_PROBLEM)) or f"status {error.code}"
        raise CollectorError(f"the collector refused: {said}. Nothing was done") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise CollectorError(
            f"no collector answers at {url}: {reason}; check the address. Before you repeat the command, check "
            "whether the command took effect"
        ) from None
    return result


def _problem(content: bytes) -> str:
    try:
        said = json.loads(content)
        return " ".join(filter(None, [str(said["title"]), str(said.get("detail", ""))]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def _ask_collector(path: Path, request: Answer) -> Answer:
    try:
        with socket.socket(socket.AF_UNIX) as connection, _short(path) as name:
            connection.settimeout(_SECONDS)
            connection.connect(name)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as file:
                line = file.readline(MOST)
    except OSError as error:
        raise StoreInUseError(
            f"the database {path} belongs to a collector that does not answer its socket ({error.strerror or error}): "
            "stop or restart that collector, and run the command again"
        ) from error
    if line and not line.endswith(b"\n"):
        raise StoreError(
            f"the answer of the collector is larger than {MOST} bytes: stop the collector, and run the command on the "
            "database of the collector"
        )
    answer: Answer = json.loads(line or b'{"error": "the collector stopped"}')
    if "error" in answer:
        raise StoreError(answer["error"])
    result: Answer = answer["result"]
    return result


class ControlSocket:
    """Collector's end of the socket, which handles one request at a time in a thread of its own.

    Parameters
    ----------
    path : Path
        Path of the database.
    surveys : Surveys
        Surveys that requests are about.
    done : callable
        Function that is called after each request, so that the collector notices the change.
    """

    def __init__(self, path: Path, surveys: Surveys, done: Callable[[], None]) -> None:
        self._path, self._surveys, self._done = path, surveys, done
        self._file = path.with_name(path.name + SOCKET)
        # The database's lock is ours, so an existing socket was left by a killed process.
        self._file.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        # The mode is set before the socket has a name. So only the owner can use it from its first moment.
        os.fchmod(self._socket.fileno(), 0o600)
        with _short(path) as name:
            self._socket.bind(name)
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and remove the socket."""
        self._file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(_STOP_SECONDS)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:
                connection.settimeout(_SECONDS)
                with connection.makefile("rb") as file:
                    line = file.readline(MOST)
                if line:
                    connection.sendall(json.dumps(self._answer(line)).encode() + b"\n")

    def _answer(self, line: bytes) -> Answer:
        try:
            result = perform(self._surveys, json.loads(line))
            self._done()
        except DeniableError as error:
            return {"error": str(error)}
        except Exception as error:
            log.error("a request on the socket broke: %s", type(error).__name__)
            fault = type(error).__name__
            return {"error": f"the collector failed, because its program has a fault ({fault}); report this fault"}
        return {"result": result}


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yield a name of the socket of at most 108 bytes, which is the longest name that a socket can have."""
    directory = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}{SOCKET}"
    finally:
        os.close(directory)


# -------------------------------------------------------------------- invitations


def invitation_terms(surveys: Surveys, slug: str) -> dict[str, Any]:
    """Return the facts that an inviter needs about a survey's present round.

    Raises
    ------
    InvalidParameterError
        If the survey is open to everybody.
    """
    row = surveys.row(slug)
    survey = surveys.load(row.id)
    if survey.page.access != "invited":
        raise InvalidParameterError(
            f"people can be invited only if access is “invited” in the page of {quoted(slug)}, "
            f"got access={quoted(survey.page.access)}; change access in page.json, and run `survey new` again with "
            "that file"
        )
    return {
        "collection": row.id,
        "position": row.position,
        "path": f"/s/{slug}#{survey.link_digits}",
        "min_batch": survey.page.min_batch,
        "title": survey.collection.title or slug,
    }


def enter_invitations(surveys: Surveys, slug: str, invited: Sequence[tuple[str, str, int]]) -> dict[str, Any]:
    """Enter invitations, given as the id in base64, the channel and the group; all of them or none.

    Raises
    ------
    InvalidParameterError
        If the survey is open to everybody or is not open, or one of the invitations is there already.
    """
    collection = str(invitation_terms(surveys, slug)["collection"])
    surveys.store.invite(collection, [Invitation(b64decode(name), tag, part) for name, tag, part in invited])
    return {"slug": slug, "invited": len(invited)}


def withdraw_invitations(surveys: Surveys, slug: str, names: Sequence[str]) -> dict[str, Any]:
    """Make unused invitations void.

    The result does not say how many were unused, because that could be about one person.
    """
    surveys.store.withdraw(str(invitation_terms(surveys, slug)["collection"]), map(b64decode, names))
    return {"slug": slug, "withdrawn": len(names)}


def overdue_groups(surveys: Surveys, slug: str) -> dict[str, Any]:
    """Return the ids of all invitations in groups of which fewer than half were used: one bit about a whole group."""
    asked = invitation_terms(surveys, slug)
    behind = surveys.store.behind(str(asked["collection"]), int(asked["min_batch"]))
    return {"slug": slug, "behind": [b64encode(name).decode() for name in behind]}
