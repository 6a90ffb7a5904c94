"""Roles and rights of accounts: passwords, sessions, tokens and one-time links.

The database has only digests of secrets: scrypt for passwords, SHA-256 for random secrets. Sessions end after twelve
hours. `deniable.service.guessing` decides how often passwords can be tried.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from deniable.errors import InvalidParameterError, StoreError, quoted
from deniable.service.stores.store import Store
from deniable.service.surveys import Clock

Role = Literal["owner", "analyst", "inviter", "sender", "monitor"]
ROLES: tuple[Role, ...] = get_args(Role)
Kind = Literal["session", "token", "link"]

SESSION = timedelta(hours=12)
LINK = timedelta(minutes=15)

LEAST_PASSWORD = 12
"""Least number of characters of a password."""

_COST, _BLOCK, _PARALLEL = 1 << 15, 8, 1
_MEMORY = 1 << 26


def hash_password(password: str) -> str:
    """Return the stored form of a password.

    Raises
    ------
    InvalidParameterError
        If the password is too short.

    Examples
    --------
    >>> stored = hash_password("correct horse battery")
    >>> is_password("correct horse battery", stored), is_password("correct horse", stored)
    (True, False)
    """
    if len(password) < LEAST_PASSWORD:
        raise InvalidParameterError(f"password must have at least {LEAST_PASSWORD} characters, got {len(password)}")
    salt = secrets.token_bytes(16)
    return f"scrypt${_COST}${_BLOCK}${_PARALLEL}${salt.hex()}${_scrypt(password, salt).hex()}"


def is_password(password: str, stored: str) -> bool:
    """Return whether a password is the one whose stored form is given."""
    salt, known = (bytes.fromhex(part) for part in stored.split("$")[-2:])
    return hmac.compare_digest(_scrypt(password, salt), known)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL, maxmem=_MEMORY)


NO_PASSWORD = f"scrypt${_COST}${_BLOCK}${_PARALLEL}${bytes(16).hex()}${bytes(64).hex()}"
"""Digest that is stored for accounts of programs, which have only tokens. No password with this digest is known. If a
name has no account, a password is compared with this digest as well, which takes as long as a wrong password."""


@dataclass(frozen=True)
class Analyst:
    """Account that is logged in, or whose token came with a request.

    Parameters
    ----------
    name : str
        Name of the account.
    role : {"owner", "analyst", "inviter", "sender", "monitor"}
        Role of the account. An owner reads results and changes surveys. An analyst reads results. An inviter makes
        invitations and reads the response rate. A sender sends batches of reports to the public port. A monitor reads
        the metrics.
    surveys : frozenset of str or None
        Names of the surveys that it has these rights for; None for all.
    """

    name: str
    role: Role
    surveys: frozenset[str] | None = None

    def may(self, slug: str) -> bool:
        """Return whether the account has any rights for a survey.

        Examples
        --------
        >>> Analyst("ann", "owner", frozenset({"smoking"})).may("sleep"), Analyst("bob", "analyst").may("sleep")
        (False, True)
        """
        return self.surveys is None or slug in self.surveys

    @property
    def reads(self) -> bool:
        """Return whether the account may read results."""
        return self.role in ("owner", "analyst")

    @property
    def changes(self) -> bool:
        """Return whether the account may change surveys and read the audit."""
        return self.role == "owner"

    @property
    def invites(self) -> bool:
        """Return whether the account may make invitations and read the response rate."""
        return self.role in ("owner", "inviter")

    @property
    def sends(self) -> bool:
        """Return whether the account may send batches of reports."""
        return self.role in ("owner", "sender")

    @property
    def watches(self) -> bool:
        """Return whether the account may read the metrics, which are about all surveys."""
        return self.role in ("owner", "monitor") and self.surveys is None


class Logins:
    """Sessions, tokens and links of one collector's accounts.

    Parameters
    ----------
    store : Store
        Store of the collector.
    clock : callable
        Function that returns the time.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def log_in(self, name: str, password: str) -> str | None:
        """Return the secret of a new session, or None if the name or the password is wrong.

        A wrong name and a wrong password take the same time, for every name: a digest is computed and compared in each
        case.
        """
        found = self._store.analyst(name)
        stored = found[1] if found else NO_PASSWORD
        if not is_password(password, stored) or found is None:
            return None
        return self._issue(name, "session", SESSION, password=stored)

    def issue(self, name: str, kind: Kind, lifetime: timedelta | None, label: str = "") -> str:
        """Return a new secret for an account, which lasts until it is revoked if `lifetime` is None.

        Raises
        ------
        InvalidParameterError
            If there is no such account, or it has a token with this label.
        """
        secret = self._issue(name, kind, lifetime, label=label)
        if secret is None:
            raise InvalidParameterError(
                f"token must have a new name for the account {quoted(name)}, but there is a token {quoted(label)} "
                "already; choose another name, or revoke that token first"
            )
        return secret

    def _issue(
        self, name: str, kind: Kind, lifetime: timedelta | None, *, label: str = "", password: str | None = None
    ) -> str | None:
        secret, now = secrets.token_urlsafe(32), self._clock()
        expires = None if lifetime is None else (now + lifetime).isoformat()
        added = self._store.add_session(
            digest(secret), name, kind, expires, label=label, day=now.date().isoformat(), password=password
        )
        return secret if added else None

    def who(self, secret: str, kind: Kind) -> Analyst | None:
        """Return the account that a secret belongs to, or None if the secret is unknown or has expired.

        For a token, the day of its use is stored.
        """
        found = self._store.session(digest(secret), kind)
        now = self._clock()
        if found is None or (found.expires is not None and datetime.fromisoformat(found.expires) <= now):
            return None
        role = next((role for role in ROLES if role == found.account.role), None)
        if role is None:
            return None
        today = now.date().isoformat()
        if kind == "token" and found.used != today:
            # A monitor must be able to read metrics even if the disk is full.
            with contextlib.suppress(StoreError):
                self._store.use_session(digest(secret), today)
        return Analyst(found.account.name, role, found.account.surveys)

    def redeem(self, secret: str) -> tuple[str, str] | None:
        """Return the name and a new session's secret for the secret of a one-time link.

        Return None if the link was used or has expired.
        """
        analyst = self.who(secret, "link")
        if analyst is None or not self._store.end_session(digest(secret)):
            return None
        session = self._issue(analyst.name, "session", SESSION)
        return None if session is None else (analyst.name, session)

    def change_password(self, name: str, old: str, new: str, session: str, note: Callable[[], object]) -> bool:
        """Change a password if `old` is the present one, end all other sessions, and return whether that was done.

        If `old` is right, `note` is called first: no change is made that cannot be written down.

        Raises
        ------
        InvalidParameterError
            If the new password is too short.
        """
        hashed = hash_password(new)
        found = self._store.analyst(name)
        if found is None or not is_password(old, found[1]):
            return False
        note()
        return self._store.set_password(name, hashed, before=found[1], keep=digest(session))

    def log_out(self, secret: str) -> bool:
        """End a session and return whether there was one."""
        return self._store.end_session(digest(secret))


def digest(secret: str) -> str:
    """Return the stored form of a random secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
