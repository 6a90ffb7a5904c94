"""A ledger beside the shares: which were dealt and which were used, so that neither happens twice.

Two answers to one share are seen through one coin; two dealings for one collection are two laws in one sum. Like the
ledger of answers this is a reminder to honest parties, not a defence against anyone. It names contributors by number
only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deniable.documents import Document, document_text, parse_document, read_document
from deniable.files import write_text

FORMAT = "deniable share ledger"
FILE_NAME = ".deniable-shares.json"

Event = Literal["dealt", "used"]


class ShareEntryShape(Document):
    """Keys of an entry in the JSON document."""

    event: Event
    collection: str
    dealing: str
    first: int
    last: int
    into: str


class ShareLedgerShape(Document):
    """Keys of a ledger in the JSON document."""

    entries: list[ShareEntryShape]


@dataclass(frozen=True)
class ShareEntry:
    """What happened to the shares of contributors first..last.

    Parameters
    ----------
    event : {"dealt", "used"}
        Dealt into a directory, or used for reports.
    collection : str
        Id of the collection.
    dealing : str
        The random number of the dealing.
    first, last : int
        Contributors, counted from 1, both included.
    into : str
        Name of the directory or of the report file.
    """

    event: Event
    collection: str
    dealing: str
    first: int
    last: int
    into: str


@dataclass(frozen=True)
class ShareLedger:
    """What is recorded in one directory.

    Parameters
    ----------
    path : Path
        The ledger's file.
    entries : tuple of ShareEntry
        Oldest first.

    Examples
    --------
    >>> import tempfile
    >>> ledger = ShareLedger.inside(tempfile.mkdtemp())
    >>> ledger = ledger.add([ShareEntry("used", "survey", "1f", 1, 300, "monday.parquet")])
    >>> ledger.save()
    >>> ledger.clash("survey", "1f", np.array([299, 300, 301]))
    (299, 'monday.parquet')
    """

    path: Path
    entries: tuple[ShareEntry, ...] = ()

    @classmethod
    def inside(cls, directory: str | os.PathLike[str]) -> ShareLedger:
        """Return the ledger of a directory; an empty one if there is none.

        Raises
        ------
        FileFormatError
            If there is a ledger and it is damaged.
        """
        path = Path(directory) / FILE_NAME
        if not path.exists():
            return cls(path)
        shape = parse_document(read_document(path), str(path), FORMAT, ShareLedgerShape)
        return cls(path, tuple(ShareEntry(**dict(entry)) for entry in shape.entries))

    def dealt(self, collection: str) -> ShareEntry | None:
        """Return the first dealing for a collection, None if there was none."""
        return next((e for e in self.entries if (e.event, e.collection) == ("dealt", collection)), None)

    def clash(self, collection: str, dealing: str, contributors: NDArray[np.int64]) -> tuple[int, str] | None:
        """Return the first of these contributors (ascending) whose share was used, and for what; None if none was."""
        found = []
        for entry in self.entries:
            if (entry.event, entry.collection, entry.dealing) == ("used", collection, dealing):
                at = int(np.searchsorted(contributors, entry.first))
                if at < len(contributors) and contributors[at] <= entry.last:
                    found.append((int(contributors[at]), entry.into))
        return min(found, default=None)

    def add(self, entries: list[ShareEntry]) -> ShareLedger:
        """Return the ledger with more entries."""
        return replace(self, entries=(*self.entries, *entries))

    def without(self, entries: list[ShareEntry]) -> ShareLedger:
        """Return the ledger without these entries."""
        return replace(self, entries=tuple(entry for entry in self.entries if entry not in entries))

    def save(self) -> None:
        """Write the ledger's file, atomically."""
        write_text(self.path, document_text(FORMAT, {"entries": [vars(entry) for entry in self.entries]}))
