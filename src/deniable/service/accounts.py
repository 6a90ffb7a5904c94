"""Functions of the command line for accounts, their tokens and the audit.

Every function takes the surveys of a collector and the values of a request, and returns JSON data. Only the result of a
request that makes a token contains a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from deniable.errors import InvalidParameterError, quoted, unknown_name
from deniable.service.auth import NO_PASSWORD, ROLES, Logins
from deniable.service.stores.accounts import COMMAND_LINE, Token
from deniable.service.surveys import Surveys

Values = dict[str, Any]

UNKNOWN_NAME = "unknown name"
"""Name in the audit for a log-in with a name that no account has. Such a name may be a password."""

PROGRAMS = ("sender", "monitor")
"""Roles of programs, which have tokens and no password."""

MOST_CHARACTERS = 64
"""Most characters of the name of an account or a token."""

_FIRST = "first"
"""Name of the token that is made with an account."""


def add(surveys: Surveys, values: Values) -> Values:
    """Add an account; `password` is the stored form of the password, or None for a program's account."""
    name, role = _new_name("name", values["name"]), _role(values["role"])
    slugs = _rights(surveys, role, values.get("surveys"))
    password = values.get("password")
    if (password is None) != (role in PROGRAMS):
        raise InvalidParameterError(
            "password must be given for an owner, an analyst or an inviter, and left out for other roles, got "
            f"role={quoted(role)}"
        )
    if not surveys.store.add_analyst(name, role, password or NO_PASSWORD, slugs):
        raise InvalidParameterError(
            f"name must be new, but there is an account {quoted(name)} already; change that account with `deniable "
            "analyst role` or `deniable analyst password`, or remove that account first"
        )
    added = {"name": name, "role": role, "surveys": _listed(slugs)}
    if not values.get("token"):
        return added
    return added | {"token": Logins(surveys.store, surveys.clock).issue(name, "token", None, _FIRST)}


def accounts(surveys: Surveys, _: Values) -> Values:
    """Return all accounts with their rights and their tokens, without secrets."""
    tokens = surveys.store.tokens()
    return {
        "accounts": [
            {
                "name": account.name,
                "role": account.role,
                "surveys": _listed(account.surveys),
                "tokens": described(token for token in tokens if token.account == account.name),
            }
            for account in surveys.store.analysts()
        ]
    }


def described(tokens: Any) -> list[Values]:
    """Return tokens as data: name, and the days of creation, last use and expiry, where they are known."""
    return [_described(token) for token in tokens]


def _described(token: Token) -> Values:
    return {
        "name": token.label,
        "created": token.created or None,
        "used": token.used or None,
        "expires": token.expires and token.expires[:10],
    }


def remove(surveys: Surveys, values: Values) -> Values:
    """Remove an account and end its sessions and tokens."""
    _found(surveys.store.remove_analyst(values["name"]), values["name"])
    return {"name": values["name"]}


def set_rights(surveys: Surveys, values: Values) -> Values:
    """Change the role of an account and the surveys that it has rights for."""
    name, role = values["name"], _role(values["role"])
    slugs = _rights(surveys, role, values.get("surveys"))
    _found(surveys.store.set_rights(name, role, slugs), name)
    if role in PROGRAMS:
        surveys.store.set_password(name, NO_PASSWORD)
    return {"name": name, "role": role, "surveys": _listed(slugs)}


def set_password(surveys: Surveys, values: Values) -> Values:
    """Change a password, given as the stored form of the new one, and end the account's sessions."""
    name = values["name"]
    found = surveys.store.analyst(name)
    _found(found is not None, name)
    if found is not None and found[0] in PROGRAMS:
        raise InvalidParameterError(
            f"name must be the account of a person, but {quoted(name)} is a {found[0]}, which has tokens and no "
            "password"
        )
    _found(surveys.store.set_password(name, values["password"]), name)
    return {"name": name}


def add_token(surveys: Surveys, values: Values) -> Values:
    """Make a token for an account, under a name that no other token of the account has."""
    name, label, days = values["name"], _new_name("token", values["label"]), values.get("days")
    _found(surveys.store.analyst(name) is not None, name)
    lifetime = None if days is None else timedelta(days=days)
    return {"name": name, "token": Logins(surveys.store, surveys.clock).issue(name, "token", lifetime, label)}


def revoke(surveys: Surveys, values: Values) -> Values:
    """Revoke the token of an account with a given name; without a name, revoke all its tokens and end its sessions."""
    name, label = values["name"], values.get("label")
    _found(surveys.store.analyst(name) is not None, name)
    if label is None:
        labels = [token.label for token in surveys.store.tokens() if token.account == name]
        surveys.store.end_sessions(name)
    else:
        labels = [label]
    gone = [one for one in labels if surveys.store.revoke(name, one)]
    if label is not None and not gone:
        raise InvalidParameterError(
            f"token must be the name of a token of the account {quoted(name)}, got {quoted(label)}; see `deniable "
            "analyst list`"
        )
    return {"name": name, "revoked": gone}


def audit(surveys: Surveys, values: Values) -> Values:
    """Return entries of the audit in their order, of a survey, an account or a day."""
    day = values.get("day")
    if day is not None:
        try:
            day = date.fromisoformat(day).isoformat()
        except ValueError:
            raise InvalidParameterError("day must be a date such as 2026-05-01, got something else") from None
    found = surveys.store.noted(survey=values.get("survey"), who=values.get("who"), day=day)
    return {"entries": [entry._asdict() for entry in found]}


ACCOUNT_COMMANDS: Mapping[str, Callable[[Surveys, Values], Values]] = {
    "add-analyst": add,
    "list-analysts": accounts,
    "remove-analyst": remove,
    "set-rights": set_rights,
    "set-password": set_password,
    "add-token": add_token,
    "revoke-token": revoke,
    "audit": audit,
}


def _found(found: bool, name: str) -> None:
    if not found:
        raise InvalidParameterError(f"there is no account {quoted(name)}; `deniable analyst list` shows all accounts")


def _role(role: str) -> str:
    if role not in ROLES:
        raise unknown_name("role", role, ROLES)
    return role


def _new_name(what: str, name: str) -> str:
    """Return the checked name of a new account or token, which people will see."""
    if name.casefold() in (COMMAND_LINE, UNKNOWN_NAME):
        raise InvalidParameterError(
            f"{what} must not be {quoted(name)}, because the audit uses this name for itself; choose another name"
        )
    if not 0 < len(name) <= MOST_CHARACTERS or name != name.strip() or ":" in name or not name.isprintable():
        raise InvalidParameterError(
            f"{what} must have 1 to {MOST_CHARACTERS} printable characters, without a colon, and without blanks at "
            f"its ends, got {quoted(name)}"
        )
    return name


def _rights(surveys: Surveys, role: str, slugs: Sequence[str] | None) -> frozenset[str] | None:
    """Return the surveys of new rights; each must exist, so that a typing error does not become a right later."""
    if slugs is None:
        return None
    if role == "monitor":
        raise InvalidParameterError(
            "survey must be left out for a monitor, because a monitor reads metrics of all surveys"
        )
    known = {row.slug for row in surveys.store.collections()}
    for slug in slugs:
        if slug not in known:
            raise InvalidParameterError(
                f"survey must be the name of a survey of this collector, but there is no survey {quoted(slug)}; make "
                "the survey first with `deniable survey new`"
            )
    return frozenset(slugs)


def _listed(slugs: frozenset[str] | None) -> list[str] | None:
    return None if slugs is None else sorted(slugs)
