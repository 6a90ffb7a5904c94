"""Store of a collector: the kept data, and the transactions that keep them right, written once for both databases.

There are three lanes, each used by one thread at a time. Reports are taken on the first. Batches are drained and
surveys changed on the second. The third only reads. This file promises the following:

* A report counts once: its id goes into `receipts` in the transaction that puts it into the inbox.
* `receipts` and `inbox` have no common key, and the rows of one commit go into them in different orders.
* An inbox is emptied as a whole, in one transaction with the sum that its reports go into.
* Reports that wait for others are taken out and put back in another order. Neither their places nor their transactions
  say which ids came with them.
* The transaction that takes reports checks whether the survey takes reports. If a survey is for invited people, the
  transaction also checks whether an id was invited.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.randomness import SecureRandomness
from deniable.errors import StoreError, quoted
from deniable.files.jobs.shuffling import permutation
from deniable.files.receipts import sorted_leaves
from deniable.files.wire import ID_BYTES, LEAF_BYTES, Rows
from deniable.service.stores.accounts import COMMAND_LINE, Run
from deniable.service.stores.drafts import DraftTable
from deniable.service.stores.invited import Invitations
from deniable.service.stores.leaves import LeafTable, commitment, filled
from deniable.service.stores.migrations import RESTORED, ROLE, STEPS, VERSION, checked_version
from deniable.service.stores.published import PublishedTable
from deniable.service.stores.releases import WHOLE_DAY, Release, Step, is_due

State = Literal["draft", "open", "paused", "closing", "closed"]

RECEIPT_DAYS = 30
"""Days after the close for which receipts are kept."""

AT_A_TIME = 1 << 17
"""Bytes of reports that are taken out of an inbox at a time."""

_PROBES, _PROBE_BYTES = 8, 2000
"""Number and size of the rows that `Store.ready` writes. They fill four pages of SQLite, or two of PostgreSQL, which
moves longer rows elsewhere."""

_NO_COLLECTION = -1

_SETTLES = 2


ALREADY, NEW, UNINVITED = 0, 1, -1
"""Fates of a report: its id was counted before, the report counts now, or its id was not invited."""


class Posted(NamedTuple):
    """Valid reports of one collection, in the order in which they came: uint8[n, 16] and uint8[n, width].

    With `invited`, only ids that were invited count. `leaves` are uint8[n, 32], with zeros for a report that has none.
    """

    ids: Rows
    rows: Rows
    invited: bool = False
    leaves: Rows | None = None

    @property
    def stored(self) -> Rows:
        """Return the rows as an inbox keeps them: each with a leaf, which is random if none came."""
        leaves = np.zeros((len(self.rows), LEAF_BYTES), np.uint8) if self.leaves is None else self.leaves
        return np.concatenate([self.rows, filled(leaves)], axis=1)


class Batch(NamedTuple):
    """Result of emptying an inbox: the sum with it (little-endian int64), and its reports as a file, if kept."""

    counts: bytes
    content: bytes | None


Fold = Callable[[Rows, bytes], Batch]
"""Function that adds reports to a sum."""


@dataclass(frozen=True)
class CollectionRow:
    """One collection of a survey, without its large parts.

    Parameters
    ----------
    id, slug : str
        Id of the collection, and name of the survey.
    position : int
        Number of its round, from 1.
    state : State
        State of the collection.
    accepts_until : str or None
        Time until which reports that were drawn before the close are taken.
    source : str
        Name of the one batch that an export states, so that no two exports of one collector merge.
    n, batches : int
        Number of reports in the sum, and number of their batches. Analysts see the numbers of `released`.
    last_day : str
        Day on which the last batch was drained; empty before the first.
    released : Release
        Release that analysts see.
    """

    id: str
    slug: str
    position: int
    state: State
    accepts_until: str | None
    source: str
    n: int
    batches: int
    last_day: str
    released: Release


def _row(*values: Any) -> CollectionRow:
    known = [*values[:9], Release(*values[9:])]
    return CollectionRow(*known)


_ROWS = (
    "SELECT c.id, c.slug, c.position, c.state, c.accepts_until, c.source, c.n, c.batches,"
    " coalesce((SELECT b.day FROM batches b WHERE b.collection = c.id AND b.number = c.batches), ''),"
    " coalesce(r.day, ''), coalesce(r.batches, 0), coalesce(r.n, 0)"
    " FROM collections c LEFT JOIN releases r ON r.collection = c.id"
    " AND r.batches = (SELECT max(o.batches) FROM releases o WHERE o.collection = c.id)"
)
Upgrade = Callable[["Store", int], None]
"""Function that is called with a store and the version of its tables before they are changed. It raises StoreError to
prevent the change."""

_NUMBER = "(SELECT number FROM collections WHERE id = ?)"


class Store(Invitations, DraftTable, PublishedTable, LeafTable):
    """Database of a collector.

    A method either happened or raised. After StoreError nobody knows which.
    """

    bytes_type: ClassVar[str]
    clustered: ClassVar[str]
    file: Path | None = None
    """Path of the database, if it is one file."""
    _reads_key: ClassVar[str] = ""
    """Clause of a select that keeps a collection from being closed before the transaction ends."""
    _changes: ClassVar[str] = ""
    """Clause of a select that keeps everybody else from the row."""

    _traces = 0
    """Number of times that deleted data must still be erased."""

    @cached_property
    def _stirred(self) -> dict[str, tuple[int, int]]:
        """Numbers by collection: its batches, and the waiting reports that lie in an order which says nothing."""
        return {}

    # ---------------------------------------------------------------- methods of each database

    @abstractmethod
    def _taking(self) -> AbstractContextManager[Run]:
        """Open a transaction on the lane of reports."""

    @abstractmethod
    def _tables(self, run: Run) -> int:
        """Return the number of tables of a collector: 0 in a new database."""

    @abstractmethod
    def _record(self, run: Run, collection: int, ids: Rows) -> NDArray[np.bool_]:
        """Write receipts of distinct, sorted ids, and return which of them are new."""

    @abstractmethod
    def _put(self, run: Run, collection: int, rows: Rows) -> None:
        """Put reports with their leaves, uint8[n, width + 32], into the inbox, in their order."""

    @abstractmethod
    def _emptied(self, run: Run, collection: int) -> tuple[bytes, int]:
        """Take all reports out of an inbox, and return them one after the other with their leaves, and their number."""

    @abstractmethod
    def _claim(self, run: Run, collection: str, *, wait: bool) -> bool:
        """Keep other collectors from draining until the transaction ends, and return whether that was possible."""

    @abstractmethod
    def _settle(self) -> bool:
        """Have the database release what it keeps of deleted rows, and return whether that was possible now."""

    @abstractmethod
    def _erase(self) -> None:
        """Overwrite or give back what the database files hold of a deleted survey, as far as that can be asked for."""

    @abstractmethod
    def beside(self, what: str) -> Path:
        """Return a name for a file beside the database.

        Raises
        ------
        StoreError
            If there is no such place.
        """

    @abstractmethod
    def backup(self, output: Path) -> None:
        """Write a consistent copy of everything into a file, while the collector runs.

        Raises
        ------
        StoreError
            If the copy cannot be made.
        OutputError
            If the file cannot be written.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the database and release it for other processes."""

    # ---------------------------------------------------------------- tables

    def prepare(self, create: bool, upgrade: Upgrade) -> None:
        """Check that this is a collector's database of this release, or make it one.

        Parameters
        ----------
        create : bool
            True to make the tables of a database that has none.
        upgrade : callable
            Function that is called with this store and the version of its tables if they are older, before they are
            changed. It backs them up, or refuses.
        """
        with self._working() as run:
            version = self._version(run)
            restored = version is not None and bool(run("SELECT 1 FROM meta WHERE key = ?", RESTORED))
        if version is None and not create:
            raise StoreError("the database has no tables yet: make the tables with `deniable serve --migrate`")
        if version is not None and version < VERSION:
            upgrade(self, version)
        if version == VERSION and not restored:
            return
        with self._migrating() as run:
            # The version is read again, because another collector may have upgraded the database.
            version = self._version(run) or 0
            for step in STEPS[version:]:
                for statement in step:
                    run(statement.format(bytes=self.bytes_type, clustered=self.clustered))
            for key, value in (("role", ROLE), ("version", str(VERSION))):
                run("INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = ?", key, value, value)
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            if 0 < version < VERSION:
                self._entry(run, now, COMMAND_LINE, "migrate", "", f"from version {version} to {VERSION}")
            for (said,) in run("DELETE FROM meta WHERE key = ? RETURNING value", RESTORED):
                at, _, name = said.partition(" ")
                self._entry(run, at, COMMAND_LINE, "restore", "", name)

    def _version(self, run: Run) -> int | None:
        """Return the version of the tables, or None if there are none."""
        return checked_version(dict(run("SELECT key, value FROM meta"))) if self._tables(run) else None

    def _migrating(self) -> AbstractContextManager[Run]:
        """Open a transaction on the lane of work that may take long."""
        return self._working()

    def ready(self) -> None:
        """Raise StoreError unless reports can be stored now.

        The method does what an upload does and a little more. It puts rows into the inbox, of a collection that does
        not exist, takes them out again, and commits that. Pages are thus found or added, and written to the disk, as an
        upload of some reports needs it. On a full disk this fails where uploads do. No row stays, and the pages are
        used again. An update that changes nothing would not do, because SQLite writes nothing for it.
        """
        with self._taking() as run:
            for _ in range(_PROBES):
                run("INSERT INTO inbox VALUES (?, ?, NULL)", _NO_COLLECTION, secrets.token_bytes(_PROBE_BYTES))
            run("DELETE FROM inbox WHERE collection = ?", _NO_COLLECTION)

    # ---------------------------------------------------------------- surveys

    def collections(self, slug: str | None = None) -> list[CollectionRow]:
        """Return all collections, or those of one survey, by survey and round."""
        where, values = ("", ()) if slug is None else (" WHERE c.slug = ?", (slug,))
        with self._reading() as run:
            rows = run(f"{_ROWS}{where} ORDER BY c.slug, c.position", *values)
        return [_row(*row) for row in rows]

    def documents(self, collection: str) -> tuple[str, str, dict[str, tuple[str, bytes]]]:
        """Return a collection's document and page, and the file name of each of its dictionaries, by attribute."""
        with self._reading() as run:
            ((document, page),) = run("SELECT document, page FROM collections WHERE id = ?", collection)
            found = run("SELECT attribute, file, words FROM dictionaries WHERE collection = ?", collection)
        return document, page, {attribute: (file, bytes(words)) for attribute, file, words in found}

    def add(
        self,
        collection: str,
        slug: str,
        document: str,
        page: str,
        counts: bytes,
        dictionaries: Mapping[str, tuple[str, bytes]],
    ) -> None:
        """Add the first round of a survey as a draft, in the place of an earlier draft if there is one.

        Raises
        ------
        StoreError
            If the survey has been opened, or the collection belongs to another one.
        """
        with self._working() as run:
            found = run("SELECT id, slug, state FROM collections WHERE slug = ? OR id = ?", slug, collection)
            for known, of, state in found:
                if of != slug:
                    raise StoreError(
                        f"this collection already belongs to the survey {quoted(of)}, and a collection can be used "
                        "for only one survey"
                    )
                if state != "draft":
                    raise StoreError(
                        f"the survey {quoted(slug)} is {state}, so its questions cannot be changed; choose another "
                        "name for a new survey"
                    )
                run("DELETE FROM collections WHERE id = ?", known)
                run("DELETE FROM dictionaries WHERE collection = ?", known)
            source = f"collector:{secrets.token_hex(16)}"
            run(
                "INSERT INTO collections VALUES (?, ?, 1, ?, ?, 'draft', NULL, NULL, ?, ?, 0, 0,"
                " (SELECT coalesce(max(number), 0) + 1 FROM collections))",
                *(collection, slug, document, page, source, counts),
            )
            for attribute, (file, words) in dictionaries.items():
                run("INSERT INTO dictionaries VALUES (?, ?, ?, ?)", collection, attribute, file, words)

    def add_round(
        self,
        collection: str,
        slug: str,
        document: str,
        page: str,
        counts: bytes,
        dictionaries: Mapping[str, tuple[str, bytes]],
    ) -> None:
        """Add the next round of a survey as a draft, after a round that is closed.

        Raises
        ------
        StoreError
            If the last round is not closed, or the collection is known already.
        """
        with self._working() as run:
            found = run("SELECT position, state FROM collections WHERE slug = ? ORDER BY position", slug)
            if not found or found[-1][1] != "closed":
                raise StoreError(f"the last round of {quoted(slug)} must be closed before the next round begins")
            if run("SELECT 1 FROM collections WHERE id = ?", collection):
                raise StoreError(
                    "this collector already has this collection, and a collection can be used for only one survey"
                )
            source = f"collector:{secrets.token_hex(16)}"
            run(
                "INSERT INTO collections VALUES (?, ?, ?, ?, ?, 'draft', NULL, NULL, ?, ?, 0, 0,"
                " (SELECT coalesce(max(number), 0) + 1 FROM collections))",
                *(collection, slug, found[-1][0] + 1, document, page, source, counts),
            )
            for attribute, (file, words) in dictionaries.items():
                run("INSERT INTO dictionaries VALUES (?, ?, ?, ?)", collection, attribute, file, words)

    def move(self, collection: str, before: Sequence[State], state: State, accepts_until: str | None = None) -> bool:
        """Move a collection to another state and return True; return False if it was in none of the states `before`."""
        with self._working() as run:
            # The row lock waits for anyone who is taking reports for the collection.
            ((found,),) = run(f"SELECT state FROM collections WHERE id = ?{self._changes}", collection)
            if found not in before:
                return False
            run("UPDATE collections SET state = ?, accepts_until = ? WHERE id = ?", state, accepts_until, collection)
        return True

    def delete(self, collection: str) -> bool:
        """Delete a draft or a closed collection with all that is kept of it; return False in any other state."""
        with self._working() as run:
            self._claim(run, collection, wait=True)
            found = run(f"SELECT state, number, slug FROM collections WHERE id = ?{self._changes}", collection)
            if not found or found[0][0] not in ("draft", "closed"):
                return False
            for table in ("receipts", "inbox", "invitations"):
                run(f"DELETE FROM {table} WHERE collection = ?", found[0][1])
            for table in ("batches", "releases", "rejections", "dictionaries", "published"):
                run(f"DELETE FROM {table} WHERE collection = ?", collection)
            run("DELETE FROM collections WHERE id = ?", collection)
            if not run("SELECT 1 FROM collections WHERE slug = ?", found[0][2]):
                self._forget_rights(run, found[0][2])
        self._erase()
        return True

    # ---------------------------------------------------------------- reports

    def take(self, posted: Mapping[str, Posted]) -> dict[str, NDArray[np.int64] | State]:
        """Take valid reports in one transaction, each id once: the first of equal ids counts.

        Returns
        -------
        dict of str to int64[n] or State
            `NEW`, `ALREADY` or `UNINVITED` for every report; or the state of the collection, if it takes no reports.
        """
        outcome: dict[str, NDArray[np.int64] | State] = {}
        with self._taking() as run:
            for collection in sorted(posted):
                found = run(f"SELECT state, number FROM collections WHERE id = ?{self._reads_key}", collection)
                state: State = found[0][0] if found else "closed"
                if state not in ("open", "closing"):
                    outcome[collection] = state
                    continue
                number, one = found[0][1], posted[collection]
                ids, rows, invited = one.ids, one.stored, one.invited
                # Rows are sorted by id. Otherwise two collectors that are sent the same ids would lock each other out.
                # The first of equal ids comes first.
                items = np.ascontiguousarray(ids).view(f"V{ID_BYTES}")[:, 0]
                order = np.argsort(items, kind="stable")
                first = np.ones(len(order), dtype=np.bool_)
                first[1:] = items[order][1:] != items[order][:-1]
                distinct = order[first]
                fate = np.full(len(ids), ALREADY, dtype=np.int64)
                if invited:
                    known = self._invited(run, number, ids[distinct])
                    fate[order[~known[np.cumsum(first) - 1]]] = UNINVITED
                    distinct = distinct[known]
                fate[distinct] = self._record(run, number, ids[distinct])
                taken = rows[fate == NEW]
                # In the order of the receipts or of arrival, the rank of a row would say whose it is.
                self._put(run, number, taken[permutation(SecureRandomness(), len(taken))])
                outcome[collection] = fate
        return outcome

    def counted(self, collection: str, name: bytes) -> bool:
        """Return whether a report with this id was taken."""
        with self._reading() as run:
            return bool(run(f"SELECT 1 FROM receipts WHERE collection = {_NUMBER} AND nullifier = ?", collection, name))

    def waiting(self, collection: str) -> int:
        """Return the number of reports in the inbox, which analysts are never told."""
        with self._reading() as run:
            return int(run(f"SELECT count(*) FROM inbox WHERE collection = {_NUMBER}", collection)[0][0])

    def drain(
        self, collection: str, least: int, fold: Fold, day: str, *, close: bool = False, step: Step = WHOLE_DAY
    ) -> int:
        """Move an inbox of at least `least` reports into the sum, and return the number of reports moved.

        With `close`, an inbox of any size is emptied, and the collection is closed. The same transaction releases what
        is due by the release step; at the close it releases everything.

        Returns
        -------
        int
            Number of reports that were added; 0 if there were too few, or another collector drains the inbox.
        """
        added = stirred = 0
        with self._working() as run:
            if not self._claim(run, collection, wait=close):
                return 0
            if close:
                run(f"SELECT 1 FROM collections WHERE id = ?{self._changes}", collection)
            # Releases are of whole days: what came before today is released without the batch that is drained now.
            self._release(run, collection, step, day)
            ((number, batches),) = run("SELECT number, batches FROM collections WHERE id = ?", collection)
            ((held,),) = run("SELECT count(*) FROM inbox WHERE collection = ?", number)
            if held and (close or held >= least):
                rows, leaves = self._taken_out(run, number)
                ((counts,),) = run("SELECT counts FROM collections WHERE id = ?", collection)
                batch = fold(rows[permutation(SecureRandomness(), len(rows))], bytes(counts))
                added = len(rows)
                run(
                    "UPDATE collections SET counts = ?, n = n + ?, batches = batches + 1 WHERE id = ?",
                    *(batch.counts, added, collection),
                )
                run(
                    "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)",
                    *(collection, batches + 1, day, added, batch.content, sorted_leaves(leaves).tobytes()),
                )
            elif held and (batches, held) != self._stirred.get(collection):
                # Either some reports came since the last time, and would be beside their receipts until there are
                # enough of them. Or another collector has drained those that were stirred, and as many have come since.
                together = np.concatenate(self._taken_out(run, number), axis=1)
                stirred = len(together)
                self._put(run, number, together[permutation(SecureRandomness(), stirred)])
            self._release(run, collection, 1 if close else step, day)
            if close:
                run("UPDATE collections SET state = 'closed', closed_day = ? WHERE id = ?", day, collection)
        self._stirred[collection] = (batches + 1, 0) if added else (batches, stirred or held)
        if added or stirred:
            self._traces = _SETTLES
            self.settle()
        return added

    def _taken_out(self, run: Run, number: int) -> tuple[Rows, Rows]:
        """Take all reports out of an inbox; return them and their leaves, uint8[n, width] and uint8[n, 32]."""
        content, reports = self._emptied(run, number)
        rows = np.frombuffer(content, np.uint8).reshape(reports, -1)
        # Reports that came to an earlier version of the program have no leaf.
        return rows[:, :-LEAF_BYTES], filled(rows[:, -LEAF_BYTES:])

    def release(self, collection: str, step: Step, day: str) -> bool:
        """Release the sum to analysts if a release is due, and return whether it was."""
        with self._working() as run:
            return self._claim(run, collection, wait=False) and self._release(run, collection, step, day)

    def _release(self, run: Run, collection: str, step: Step, day: str) -> bool:
        row = _row(*run(f"{_ROWS} WHERE c.id = ?", collection)[0])
        if not is_due(row.batches, row.last_day, row.released, step, day):
            return False
        # Only the numbers of earlier releases stay.
        run("UPDATE releases SET counts = ? WHERE collection = ? AND batches = ?", b"", row.id, row.released.batches)
        ((counts,),) = run("SELECT counts FROM collections WHERE id = ?", row.id)
        leaves, root = self._release_leaves(run, row.id, row.released.batches, row.n - row.released.n)
        digest, opening = commitment(row.id, row.n, bytes(counts))
        run(
            "INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(row.id, row.batches, day, row.n, bytes(counts), leaves, root, digest, opening),
        )
        return True

    def released(self, collection: str) -> tuple[Release, bytes]:
        """Return the last release and its sum; the sum is empty before the first."""
        with self._reading() as run:
            found = run(
                "SELECT day, batches, n, counts FROM releases WHERE collection = ? ORDER BY batches DESC LIMIT 1",
                collection,
            )
        return (Release(*found[0][:3]), bytes(found[0][3])) if found else (Release(), b"")

    def releases(self, collection: str) -> list[Release]:
        """Return all releases, in order."""
        with self._reading() as run:
            found = run("SELECT day, batches, n FROM releases WHERE collection = ? ORDER BY batches", collection)
        return [Release(*row) for row in found]

    def settle(self) -> None:
        """Have the database release what it keeps of reports that were taken out.

        The method is called as often as inboxes are looked at. It works once more than seems necessary, because a
        transaction that began before a drain keeps its rows from going.
        """
        if self._traces and self._settle():
            self._traces -= 1

    def batches(self, collection: str) -> list[tuple[int, str, int]]:
        """Return the number, day and size of every batch, in order."""
        with self._reading() as run:
            return run("SELECT number, day, n FROM batches WHERE collection = ? ORDER BY number", collection)

    def days(self, collection: str, batches: int) -> list[tuple[str, int, int]]:
        """Return the days on which the first `batches` were drained, in order, and each day's batches and reports."""
        with self._reading() as run:
            found = run(
                "SELECT day, count(*), sum(n) FROM batches WHERE collection = ? AND number <= ?"
                " GROUP BY day ORDER BY day",
                *(collection, batches),
            )
        return [(day, int(batches), int(n)) for day, batches, n in found]

    def largest_batch(self, collection: str, since: str) -> int:
        """Return the number of reports in the largest batch since a day, that day included; 0 if there is none."""
        with self._reading() as run:
            found = run("SELECT max(n) FROM batches WHERE collection = ? AND day >= ?", collection, since)
        return int(found[0][0] or 0)

    def batch_file(self, collection: str, number: int) -> bytes:
        """Return the reports of a batch as a file."""
        with self._reading() as run:
            ((content,),) = run("SELECT content FROM batches WHERE collection = ? AND number = ?", collection, number)
        return bytes(content)

    def forget_receipts(self, day: str) -> None:
        """Delete the receipts and invitations of collections that were closed before a day."""
        with self._working() as run:
            for (number,) in run("SELECT number FROM collections WHERE closed_day < ?", day):
                for table in ("receipts", "invitations"):
                    run(f"DELETE FROM {table} WHERE collection = ?", number)

    # ---------------------------------------------------------------- counters

    def reject(self, counts: Mapping[tuple[str, str, str], int]) -> None:
        """Count rejected reports by collection, day and reason."""
        with self._working() as run:
            for (collection, day, reason), count in sorted(counts.items()):
                # A survey that was deleted in the meantime keeps none.
                run(
                    "INSERT INTO rejections SELECT id, ?, ?, ? FROM collections WHERE id = ?"
                    " ON CONFLICT (collection, day, reason) DO UPDATE SET count = rejections.count + ?",
                    *(day, reason, count, collection, count),
                )

    def rejections(self, collection: str) -> dict[str, int]:
        """Return the number of rejected reports, by reason."""
        with self._reading() as run:
            found = run(
                "SELECT reason, sum(count) FROM rejections WHERE collection = ? GROUP BY reason ORDER BY reason",
                collection,
            )
        return {reason: int(count) for reason, count in found}
