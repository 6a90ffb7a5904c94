"""Invitations: the ids that may be counted if a survey is for invited people, and the number of those that were used.

A row has the hash that a link's holder sends as the id of a report. It also has the channel by which the link went out,
and the group that is reminded together. It has no person and no time. Only the receipts tell whether an invitation was
used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, quoted
from deniable.files.wire import Rows
from deniable.service.stores.accounts import Accounts, Run

LEAST_TAGGED = 100
"""Least number of invitations of a channel, so that a count is about many people."""


VALID = (
    "(part >= 0 OR EXISTS (SELECT 1 FROM receipts r"
    " WHERE r.collection = invitations.collection AND r.nullifier = invitations.nullifier))"
)
"""Condition of an invitation that was not revoked, or was used before."""

_GROUP = "(CASE WHEN part < 0 THEN -1 - part ELSE part END)"
"""Group of an invitation. If an invitation is revoked, `part` becomes -1 - `part`."""


class Invitation(NamedTuple):
    """Invitation as a collector keeps it: the id that its holder sends, its channel, and its group (0: none)."""

    nullifier: bytes
    tag: str
    part: int


class Used(NamedTuple):
    """Numbers of invitations in a group of a channel: all invitations, and the used ones."""

    tag: str
    part: int
    invited: int
    used: int


class Invitations(Accounts):
    """Part of a store that keeps invitations."""

    _changes: ClassVar[str]

    @abstractmethod
    def _invited(self, run: Run, collection: int, ids: Rows) -> NDArray[np.bool_]:
        """Return which of some distinct ids were invited."""

    def invite(self, collection: str, invitations: Iterable[Invitation]) -> None:
        """Add invitations of a collection that is open or paused, all of them or none.

        New groups are numbered on from the existing ones.

        Raises
        ------
        InvalidParameterError
            If the collection is in another state, an invitation is there already, or a channel would have fewer than
            `LEAST_TAGGED`.
        """
        new = sorted(set(invitations))
        with self._working() as run:
            ((number, state),) = run(f"SELECT number, state FROM collections WHERE id = ?{self._changes}", collection)
            if state not in ("open", "paused"):
                raise InvalidParameterError(
                    f"the survey must be open or paused when people are invited, got state={quoted(state)}; open the "
                    "survey first"
                )
            ((last,),) = run(f"SELECT coalesce(max({_GROUP}), 0) FROM invitations WHERE collection = ?", number)
            for one in new:
                if not run(
                    "INSERT INTO invitations VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1",
                    *(number, one.nullifier, one.tag, one.part and last + one.part),
                ):
                    raise InvalidParameterError(
                        "links must be new to this survey, but one of the links was used in an earlier invitation. "
                        "Nobody was invited now; make new links"
                    )
            for tag, found in run(
                "SELECT tag, count(*) FROM invitations WHERE collection = ? AND tag <> '' GROUP BY tag", number
            ):
                if found < LEAST_TAGGED:
                    raise InvalidParameterError(
                        f"a channel must have at least {LEAST_TAGGED} invitations, got {found} for tag={quoted(tag)}: "
                        "a smaller channel could identify people. Invite more people at a time, or leave the tag out"
                    )

    def withdraw(self, collection: str, names: Iterable[bytes]) -> None:
        """Make invitations void; reports that were counted stay counted.

        Used and unused invitations get the same mark and stay in all numbers. If the unused ones left the numbers,
        the numbers would tell which of the given people have answered.
        """
        with self._working() as run:
            # The row lock waits for reports that are being taken: a counted report has its invitation.
            ((number,),) = run(f"SELECT number FROM collections WHERE id = ?{self._changes}", collection)
            for name in sorted(set(names)):
                run(
                    "UPDATE invitations SET part = -1 - part WHERE collection = ? AND nullifier = ? AND part >= 0",
                    *(number, name),
                )

    def invited(self, collection: str, name: bytes) -> bool:
        """Return whether an id was invited."""
        with self._reading() as run:
            return bool(
                run(
                    "SELECT 1 FROM invitations JOIN collections c ON c.number = invitations.collection"
                    f" WHERE c.id = ? AND nullifier = ? AND {VALID}",
                    *(collection, name),
                )
            )

    def behind(self, collection: str, least: int) -> list[bytes]:
        """Return the invitations of groups of at least `least` invitations of which fewer than half were used.

        Invitations that were revoked are left out, whether they were used or not.
        """
        late = {
            one.part
            for one in self.used(collection)
            if one.part and one.invited >= least and 2 * one.used < one.invited
        }
        with self._reading() as run:
            found = run(
                "SELECT i.nullifier, i.part FROM invitations i JOIN collections c ON c.number = i.collection"
                " WHERE c.id = ? ORDER BY i.nullifier",
                collection,
            )
        return [bytes(name) for name, part in found if part in late]

    def used(self, collection: str) -> list[Used]:
        """Return the exact number of used invitations; callers decide how much of it is shown."""
        with self._reading() as run:
            found = run(
                f"SELECT i.tag, {_GROUP}, count(*), count(r.nullifier) FROM invitations i"
                " JOIN collections c ON c.number = i.collection LEFT JOIN receipts r"
                " ON r.collection = i.collection AND r.nullifier = i.nullifier"
                f" WHERE c.id = ? GROUP BY i.tag, {_GROUP} ORDER BY i.tag, {_GROUP}",
                collection,
            )
        return [Used(*row) for row in found]
