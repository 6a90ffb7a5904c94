"""Command for the accounts of a collector: logins to the dashboard, tokens of programs, and the audit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli._app import check_used, command, note
from deniable.cli.survey import DEFAULT_DATABASE, AsJson, Database
from deniable.core.documents import read_document
from deniable.errors import InvalidParameterError


class AnalystAction(StrEnum):
    """Actions on accounts."""

    add = "add"
    list = "list"
    remove = "remove"
    password = "password"
    role = "role"
    token = "token"
    revoke = "revoke"
    audit = "audit"


class RoleName(StrEnum):
    """Roles that an account can have."""

    owner = "owner"
    analyst = "analyst"
    inviter = "inviter"
    sender = "sender"
    monitor = "monitor"


_USED = {
    AnalystAction.add: {"name", "role", "survey", "password_file", "token"},
    AnalystAction.list: set(),
    AnalystAction.remove: {"name"},
    AnalystAction.password: {"name", "password_file"},
    AnalystAction.role: {"name", "role", "survey"},
    AnalystAction.token: {"name", "label", "valid_days"},
    AnalystAction.revoke: {"name", "label"},
    AnalystAction.audit: {"name", "survey", "day"},
}
"""Parameters that each action uses, besides the database and --json."""

_PEOPLE = (RoleName.owner, RoleName.analyst, RoleName.inviter)


@command("analyst")
def analyst(
    context: typer.Context,
    action: Annotated[
        AnalystAction,
        typer.Argument(metavar="ACTION", help="Action: add, list, remove, password, role, token, revoke or audit."),
    ],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the account.")] = None,
    label: Annotated[str | None, typer.Argument(metavar="TOKEN", help="Name of the token, for token and revoke.")] = (
        None
    ),
    role: Annotated[
        RoleName | None,
        typer.Option("--role", help="Role: owner, analyst, inviter, sender or monitor; default: analyst."),
    ] = None,
    survey: Annotated[
        list[str] | None,
        typer.Option("--survey", metavar="SLUG", help="Survey that the rights are for (all if not given); repeatable."),
    ] = None,
    database: Database = DEFAULT_DATABASE,
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="File with the password, instead of asking for it.")
    ] = None,
    token: Annotated[bool, typer.Option("--token", help="With add: create and print a token.")] = False,
    valid_days: Annotated[
        int | None, typer.Option("--valid-days", help="With token: days until it expires; default: never.", min=1)
    ] = None,
    day: Annotated[str | None, typer.Option("--day", metavar="DATE", help="With audit: day in UTC, 2026-05-01.")] = (
        None
    ),
    as_json: AsJson = False,
) -> None:
    """Add and change accounts and tokens, and print the audit.

    For collectors. An owner reads results and opens, pauses and closes surveys. An analyst reads
    results. An inviter makes invitations and reads the response rate. A sender sends batches of
    reports. A monitor reads the metrics. Senders and monitors are programs, which have tokens and
    no password.

    A new password ends the account's sessions. "role" replaces the role and the surveys. "revoke"
    without TOKEN ends all tokens and all sessions. "audit" prints who did what and when, for one
    account, one survey or one day if you name them.
    """
    from deniable.service.control import ask

    check_used(context, f"with analyst {action.value}", {"action", "database", "as_json", *_USED[action]})
    if action is AnalystAction.list:
        _show_list(ask(database, {"command": "list-analysts"}), as_json)
        return
    if action is AnalystAction.audit:
        if survey and len(survey) > 1:
            raise InvalidParameterError(
                f"survey must be given at most once to show the audit, got {', '.join(survey)}; show the audit of "
                "one survey at a time"
            )
        asked = {"command": "audit", "survey": survey[0] if survey else None, "who": name, "day": day}
        _show_audit(ask(database, asked), as_json)
        return
    request: dict[str, Any] = {"name": _given(name, "NAME", "the account's name")}
    if action is AnalystAction.add:
        chosen = role or RoleName.analyst
        password = _password(password_file) if chosen in _PEOPLE or password_file is not None else None
        request |= {"command": "add-analyst", "role": chosen.value, "surveys": survey or None, "token": token}
        request |= {"password": password}
        said = f"{name} was added, as {chosen.value}"
    elif action is AnalystAction.remove:
        request |= {"command": "remove-analyst"}
        said = f"{name} was removed; its sessions and tokens have ended"
    elif action is AnalystAction.password:
        request |= {"command": "set-password", "password": _password(password_file)}
        said = f"{name} has a new password; its sessions have ended, but its tokens remain valid"
    elif action is AnalystAction.role:
        chosen = _given(role, "--role", "owner, analyst, inviter, sender or monitor")
        request |= {"command": "set-rights", "role": chosen.value, "surveys": survey or None}
        said = f"{name} is {chosen.value} of {', '.join(survey) if survey else 'all surveys'}"
        if chosen in _PEOPLE:
            said += f"; if it was a sender or a monitor, it needs a password: deniable analyst password {name}"
        else:
            said += "; it has no password now, and its sessions have ended, but its tokens remain valid"
    elif action is AnalystAction.token:
        request |= {"command": "add-token", "label": _given(label, "TOKEN", "a name for the token"), "days": valid_days}
        said = "the token is shown this once"
    else:
        request |= {"command": "revoke-token", "label": label}
        said = f"{name}: {label} was revoked" if label else f"all tokens and sessions of {name} have ended"
    result = ask(database, request)
    if as_json:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
        return
    note(said)
    if "token" in result:
        typer.echo(result["token"])


def _given(value: Any, what: str, why: str) -> Any:
    if value is None:
        raise InvalidParameterError(f"{what} must be given: {why}")
    return value


def _password(file: Path | None) -> str:
    """Return the hash of a password that is read from a file or the terminal."""
    from deniable.service.auth import hash_password

    if file is not None:
        return hash_password(read_document(file).rstrip("\r\n"))
    return hash_password(typer.prompt("Password", hide_input=True, confirmation_prompt=True))


def _show_list(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
        return
    rows = []
    for account in result["accounts"]:
        surveys = "all" if account["surveys"] is None else ", ".join(account["surveys"])
        rows.append((account["name"], account["role"], surveys, "", "", "", ""))
        for one in account["tokens"]:
            days = (one["created"] or "unknown", one["used"] or "never", one["expires"] or "never")
            rows.append(("", "", "", one["name"], *days))
    _print_table(("account", "role", "surveys", "token", "created", "last used", "expires"), rows)


def _show_audit(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False))
        return
    rows = []
    for entry in result["entries"]:
        times = "" if entry["times"] == 1 else f"{entry['times']} times, until {entry['until'][11:19]}"
        when = f"{entry['at'][:10]} {entry['at'][11:19]}"
        rows.append((when, entry["who"], entry["act"], entry["survey"], entry["about"], times))
    _print_table(("when (UTC)", "who", "act", "survey", "about", ""), rows)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below a header, in columns as wide as their texts.

    Control characters are escaped.
    """
    from deniable.report.page import visible

    shown = [[visible(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo(line.rstrip())
