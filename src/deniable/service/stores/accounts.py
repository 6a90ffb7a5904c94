"""Tables about staff: accounts, their sessions and tokens, and the audit. No row of them is about a contributor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, NamedTuple

Run = Callable[..., list[Any]]
"""Function that runs one statement with its parameters inside a transaction and returns its rows."""

AUDIT_DAYS = 400
"""Days for which an entry of the audit is kept. A yearly review finds the whole year."""

COMMAND_LINE = "command line"
"""Name in the audit for someone who acts on the machine."""

TOGETHER = timedelta(hours=1)
"""Time within which the same act by the same account can be counted in one entry."""


class Account(NamedTuple):
    """Account: its name, its role, and the surveys that it has rights for (None for all)."""

    name: str
    role: str
    surveys: frozenset[str] | None


class Session(NamedTuple):
    """Session, token or one-time link: its account, when it expires, and the day of its last use."""

    account: Account
    expires: str | None
    used: str


class Token(NamedTuple):
    """Token without its secret: account, name, days of creation and last use, and when it expires."""

    account: str
    label: str
    created: str
    used: str
    expires: str | None


class Entry(NamedTuple):
    """Entry of the audit: its first and last time, who did what to which survey, about what, and how many times."""

    at: str
    until: str
    who: str
    act: str
    survey: str
    about: str
    times: int


class Accounts(ABC):
    """Part of a store that keeps the tables about staff."""

    _changes: ClassVar[str]

    @abstractmethod
    def _working(self) -> AbstractContextManager[Run]:
        """Open a transaction on the lane of work."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Run]:
        """Open a transaction that only reads."""

    # ---------------------------------------------------------------- accounts

    def add_analyst(self, name: str, role: str, password: str, surveys: frozenset[str] | None = None) -> bool:
        """Add an account and return True; return False and change nothing if there is one with this name."""
        with self._working() as run:
            added = run(
                "INSERT INTO analysts (name, role, password, surveys) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO NOTHING RETURNING 1",
                *(name, role, password, _joined(surveys)),
            )
            if added:
                # A session that began while an account of this name was removed must not open the new account.
                run("DELETE FROM sessions WHERE analyst = ?", name)
        return bool(added)

    def analysts(self) -> list[Account]:
        """Return all accounts, by name."""
        with self._reading() as run:
            found = run("SELECT name, role, surveys FROM analysts ORDER BY name")
        return [_account(*row) for row in found]

    def analyst(self, name: str) -> tuple[str, str] | None:
        """Return an account's role and password hash, or None if there is no account with this name."""
        with self._reading() as run:
            found = run("SELECT role, password FROM analysts WHERE name = ?", name)
        return (found[0][0], found[0][1]) if found else None

    def set_rights(self, name: str, role: str, surveys: frozenset[str] | None) -> bool:
        """Change the role and the surveys of an account, and return whether there is an account with this name."""
        with self._working() as run:
            return bool(
                run(
                    "UPDATE analysts SET role = ?, surveys = ? WHERE name = ? RETURNING 1",
                    *(role, _joined(surveys), name),
                )
            )

    def set_password(self, name: str, password: str, *, before: str | None = None, keep: str = "") -> bool:
        """Change a password hash and end the account's sessions and links, except the one with the digest `keep`.

        If `before` is given, the hash is changed only if `before` is the present one. Tokens stay. Return whether the
        hash was changed.
        """
        condition, values = ("", ()) if before is None else (" AND password = ?", (before,))
        with self._working() as run:
            changed = run(
                f"UPDATE analysts SET password = ? WHERE name = ?{condition} RETURNING 1", password, name, *values
            )
            if changed:
                run("DELETE FROM sessions WHERE analyst = ? AND kind <> 'token' AND digest <> ?", name, keep)
        return bool(changed)

    def remove_analyst(self, name: str) -> bool:
        """Remove an account with its sessions and tokens, and return whether there was one with this name."""
        with self._working() as run:
            run("DELETE FROM sessions WHERE analyst = ?", name)
            return bool(run("DELETE FROM analysts WHERE name = ? RETURNING 1", name))

    def _forget_rights(self, run: Run, slug: str) -> None:
        """Remove a survey from all rights; otherwise they would be rights for a later survey with its name."""
        for account in [_account(*row) for row in run("SELECT name, role, surveys FROM analysts")]:
            if account.surveys is not None and slug in account.surveys:
                run("UPDATE analysts SET surveys = ? WHERE name = ?", _joined(account.surveys - {slug}), account.name)

    # ---------------------------------------------------------------- sessions, tokens and links

    def add_session(
        self,
        digest: str,
        analyst: str,
        kind: str,
        expires: str | None,
        *,
        label: str = "",
        day: str = "",
        password: str | None = None,
    ) -> bool:
        """Add a session, a token or a one-time link by the digest of its secret, and return whether it was added.

        Nothing is added if there is no such account, or if `password` is given and no longer its hash. A token is also
        not added if the account has a token with this label.
        """
        with self._working() as run:
            # The row lock waits for anyone who changes or removes the account at this moment.
            found = run(f"SELECT password FROM analysts WHERE name = ?{self._changes}", analyst)
            if not found or (password is not None and found[0][0] != password):
                return False
            return bool(
                run(
                    "INSERT INTO sessions (digest, analyst, kind, expires, label, created, used)"
                    " VALUES (?, ?, ?, ?, ?, ?, '') ON CONFLICT DO NOTHING RETURNING 1",
                    *(digest, analyst, kind, expires, label or digest[:8], day),
                )
            )

    def session(self, digest: str, kind: str) -> Session | None:
        """Return the session with this digest, or None if there is none."""
        with self._reading() as run:
            found = run(
                "SELECT a.name, a.role, a.surveys, s.expires, s.used FROM sessions s"
                " JOIN analysts a ON a.name = s.analyst WHERE s.digest = ? AND s.kind = ?",
                *(digest, kind),
            )
        return Session(_account(*found[0][:3]), found[0][3], found[0][4]) if found else None

    def use_session(self, digest: str, day: str) -> None:
        """Store the day on which a token was used last."""
        with self._working() as run:
            run("UPDATE sessions SET used = ? WHERE digest = ?", day, digest)

    def sessions(self, analyst: str) -> int:
        """Return the number of sessions of an account."""
        with self._reading() as run:
            ((found,),) = run("SELECT count(*) FROM sessions WHERE analyst = ? AND kind = 'session'", analyst)
        return int(found)

    def tokens(self) -> list[Token]:
        """Return all tokens without their secrets, by account and name."""
        with self._reading() as run:
            found = run(
                "SELECT analyst, label, created, used, expires FROM sessions WHERE kind = 'token'"
                " ORDER BY analyst, label"
            )
        return [Token(*row) for row in found]

    def end_session(self, digest: str) -> bool:
        """Delete a session and return whether there was one.

        If two people use a one-time link, only one of them therefore succeeds.
        """
        with self._working() as run:
            return bool(run("DELETE FROM sessions WHERE digest = ? RETURNING 1", digest))

    def end_sessions(self, analyst: str | None = None) -> None:
        """Delete the sessions and links of one account or of all accounts; tokens stay."""
        where, values = ("", ()) if analyst is None else (" AND analyst = ?", (analyst,))
        with self._working() as run:
            run(f"DELETE FROM sessions WHERE kind <> 'token'{where}", *values)

    def revoke(self, analyst: str, label: str) -> bool:
        """Delete a token and return whether there was one with this name."""
        with self._working() as run:
            return bool(
                run(
                    "DELETE FROM sessions WHERE analyst = ? AND label = ? AND kind = 'token' RETURNING 1",
                    *(analyst, label),
                )
            )

    def end_expired(self, now: str) -> None:
        """Delete sessions that have expired, and entries of the audit that are older than `AUDIT_DAYS`."""
        oldest = datetime.fromisoformat(now) - timedelta(days=AUDIT_DAYS)
        with self._working() as run:
            run("DELETE FROM sessions WHERE expires < ?", now)
            run("DELETE FROM audit WHERE until < ?", _moment(oldest))

    # ---------------------------------------------------------------- audit

    def note(
        self, at: datetime, who: str, act: str, survey: str = "", about: str = "", *, together: bool = False
    ) -> int:
        """Write into the audit what somebody does, and return the number of the entry.

        With `together`, the act is counted in an equal entry that began less than an hour ago.

        Returns
        -------
        int
            Number by which `take_back` finds the entry.
        """
        same, now = (who, act, survey, about), _moment(at)
        with self._working() as run:
            if together and run(
                "UPDATE audit SET until = ?, times = times + 1 WHERE who = ? AND act = ? AND survey = ? AND about = ?"
                " AND at > ? RETURNING 1",
                *(now, *same, _moment(at - TOGETHER)),
            ):
                return 0
            return self._entry(run, now, *same)

    def _entry(self, run: Run, at: str, who: str, act: str, survey: str, about: str) -> int:
        ((number,),) = run(
            "INSERT INTO audit (number, at, until, who, act, survey, about, times) VALUES"
            " ((SELECT coalesce(max(number), 0) + 1 FROM audit), ?, ?, ?, ?, ?, ?, 1) RETURNING number",
            *(at, at, who, act, survey, about),
        )
        return int(number)

    def take_back(self, number: int, who: str, act: str) -> None:
        """Remove an entry about an act that was refused, and so was not done."""
        with self._working() as run:
            run("DELETE FROM audit WHERE number = ? AND who = ? AND act = ?", number, who, act)

    def noted(
        self, *, survey: str | None = None, who: str | None = None, day: str | None = None, most: int | None = None
    ) -> list[Entry]:
        """Return entries of the audit in their order, if given only the last `most`.

        They are those about a survey, an account or a day (UTC), if one is given. An act of an account on another
        account is about both.
        """
        where, values = ["1 = 1"], list[str | int]()
        if survey is not None:
            where.append("survey = ?")
            values.append(survey)
        if who is not None:
            where.append("(who = ? OR (survey = '' AND (about = ? OR substr(about, 1, ?) = ?)))")
            values += [who, who, len(who) + 1, f"{who}:"]
        if day is not None:
            where.append("substr(at, 1, 10) <= ? AND substr(until, 1, 10) >= ?")
            values += [day, day]
        limit = "" if most is None else f" LIMIT {most}"
        with self._reading() as run:
            found = run(
                "SELECT at, until, who, act, survey, about, times FROM audit WHERE"
                f" {' AND '.join(where)} ORDER BY at DESC, number DESC{limit}",
                *values,
            )
        return [Entry(*row) for row in reversed(found)]


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def _joined(surveys: frozenset[str] | None) -> str | None:
    """Return the stored form of a set of surveys; an empty set is not the same as all surveys."""
    return None if surveys is None else " ".join(sorted(surveys))


def _account(name: str, role: str, surveys: str | None) -> Account:
    return Account(name, role, None if surveys is None else frozenset(surveys.split()))
