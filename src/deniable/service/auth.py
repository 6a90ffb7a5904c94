"""Who may look at results, and who may change surveys: passwords, sessions, tokens and one-time links.

Of a secret only a digest is stored: of passwords scrypt's, of random ones SHA-256. Sessions end after twelve hours.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from deniable.errors import InvalidParameterError
from deniable.service.stores.store import Store
from deniable.service.surveys import Clock

Role = Literal["owner", "analyst", "sender", "monitor"]
ROLES: tuple[Role, ...] = get_args(Role)
Kind = Literal["session", "token", "link"]

SESSION = timedelta(hours=12)
LINK = timedelta(minutes=15)

LEAST_PASSWORD = 12
"""Characters of a password."""

FREE_FAILURES = 5
"""Wrong passwords before anybody must wait; then twice as long each time, up to `LONGEST_WAIT` seconds."""
LONGEST_WAIT = 60

_COST, _BLOCK, _PARALLEL = 1 << 15, 8, 1
_MEMORY = 1 << 26


def hash_password(password: str) -> str:
    """Return what is stored of a password.

    Raises
    ------
    InvalidParameterError
        If it is too short.

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
    """Whether this is the password of which that was stored."""
    salt, known = (bytes.fromhex(part) for part in stored.split("$")[-2:])
    return hmac.compare_digest(_scrypt(password, salt), known)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL, maxmem=_MEMORY)


_NOBODY = f"scrypt${_COST}${_BLOCK}${_PARALLEL}${bytes(16).hex()}${bytes(64).hex()}"
"""Compared with where there is no analyst of a name, so that a wrong name takes as long as a wrong password."""


@dataclass(frozen=True)
class Analyst:
    """Somebody who is logged in.

    Parameters
    ----------
    name : str
        Who.
    role : {"owner", "analyst", "sender", "monitor"}
        Whether they may change surveys, read only, only send batches of reports to the public port, or only watch.
    """

    name: str
    role: Role

    @property
    def reads(self) -> bool:
        """Whether they may read results."""
        return self.role in ("owner", "analyst")

    @property
    def watches(self) -> bool:
        """Whether they may read the numbers that operators watch."""
        # Not an analyst: how many reports have come, one by one, would tell who is the last of a batch.
        return self.role in ("owner", "monitor")

    @property
    def sends(self) -> bool:
        """Whether they may send batches of reports."""
        return self.role in ("owner", "sender")


class Logins:
    """Sessions of one collector's analysts.

    Parameters
    ----------
    store : Store
        The collector's.
    clock : callable
        The time.
    now : callable
        Seconds, for the waits after wrong passwords.
    """

    def __init__(self, store: Store, clock: Clock, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock, self._now = store, clock, now
        self._lock, self._one = threading.Lock(), threading.Lock()
        self._failures, self._until = 0, 0.0

    def wait(self) -> int:
        """Return how many seconds nobody can log in after wrong passwords."""
        with self._lock:
            return max(0, int(self._until - self._now() + 0.999))

    def log_in(self, name: str, password: str) -> str | None:
        """Return the secret of a new session, None if the name or the password is wrong, or nobody can log in now.

        One after the other: of a thousand that are tried at once, all but the first few meet the wait.
        """
        with self._one:
            return None if self.wait() else self._log_in(name, password)

    def _log_in(self, name: str, password: str) -> str | None:
        found = self._store.analyst(name)
        right = is_password(password, found[1] if found else _NOBODY)
        with self._lock:
            if found is None or not right:
                self._failures += 1
                if self._failures >= FREE_FAILURES:
                    self._until = self._now() + min(LONGEST_WAIT, 2 ** (self._failures - FREE_FAILURES))
                return None
            self._failures, self._until = 0, 0.0
        return self.issue(name, "session", SESSION)

    def issue(self, name: str, kind: Kind, lifetime: timedelta | None) -> str:
        """Return a new secret of an analyst's; None lasts until the analyst is entered again."""
        secret = secrets.token_urlsafe(32)
        expires = None if lifetime is None else (self._clock() + lifetime).isoformat()
        self._store.add_session(digest(secret), name, kind, expires)
        return secret

    def who(self, secret: str, kind: Kind) -> Analyst | None:
        """Return whose secret it is, None if it is nobody's or has expired."""
        found = self._store.session(digest(secret), kind)
        if found is None or (found[2] is not None and datetime.fromisoformat(found[2]) <= self._clock()):
            return None
        role = next((role for role in ROLES if role == found[1]), None)
        return None if role is None else Analyst(found[0], role)

    def redeem(self, secret: str) -> str | None:
        """Return the secret of a new session for a one-time link's, None if it was used or has expired."""
        analyst = self.who(secret, "link")
        if analyst is None or not self._store.end_session(digest(secret)):
            return None
        return self.issue(analyst.name, "session", SESSION)

    def log_out(self, secret: str) -> None:
        """End a session."""
        self._store.end_session(digest(secret))


def digest(secret: str) -> str:
    """Return what is stored of a random secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
