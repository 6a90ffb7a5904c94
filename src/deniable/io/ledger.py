"""A ledger beside the reports: which answers were randomised for which collection, so that it does not happen twice.

Two reports about the same answers spend epsilon twice. The ledger is a file of the party that holds the answers. It is
no defence against anyone: it is a reminder, in the one directory where the reports went. Answers are recognised by a
keyed digest of the file's bytes; the key is the ledger's own, so that digests of two ledgers cannot be compared.
"""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from deniable.documents import Document, document_text, parse_document, read_document
from deniable.errors import FileFormatError
from deniable.files import write_text

FORMAT = "deniable ledger"
FILE_NAME = ".deniable-ledger.json"

_BLOCK = 1 << 18


class EntryShape(Document):
    """Keys of an entry in the JSON document."""

    collection: str
    answers: str
    reports: str
    n: int


class LedgerShape(Document):
    """Keys of a ledger in the JSON document."""

    key: str
    entries: list[EntryShape]


@dataclass(frozen=True)
class Entry:
    """One run of randomisation.

    Parameters
    ----------
    collection : str
        Id of the collection.
    answers : str
        Keyed digest of the answers' file.
    reports : str
        Name of the report file.
    n : int
        Number of contributors.
    """

    collection: str
    answers: str
    reports: str
    n: int


@dataclass(frozen=True)
class Ledger:
    """The runs recorded in one directory.

    Parameters
    ----------
    path : Path
        The ledger's file.
    key : bytes
        Key of its digests.
    entries : tuple of Entry
        Oldest first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> directory = Path(tempfile.mkdtemp())
    >>> _ = (directory / "answers.csv").write_text("smoker")
    >>> ledger = Ledger.beside(directory / "reports.parquet")
    >>> digest = ledger.digest(directory / "answers.csv")
    >>> ledger.add(Entry("survey", digest, "reports.parquet", 1)).save()
    >>> len(Ledger.beside(directory / "more.parquet").runs("survey", digest))
    1
    """

    path: Path
    key: bytes
    entries: tuple[Entry, ...] = ()

    @classmethod
    def beside(cls, output: str | os.PathLike[str]) -> Ledger:
        """Return the ledger of the directory that an output is in; a new one if there is none.

        Raises
        ------
        FileFormatError
            If there is a ledger and it is damaged.
        """
        path = Path(output).absolute().parent / FILE_NAME
        if not path.exists():
            return cls(path, secrets.token_bytes(32))
        shape = parse_document(read_document(path), str(path), FORMAT, LedgerShape)
        try:
            key = bytes.fromhex(shape.key)
        except ValueError as error:
            raise FileFormatError(f"{path}: key must be hexadecimal digits") from error
        return cls(path, key, tuple(Entry(**dict(entry)) for entry in shape.entries))

    def digest(self, answers: str | os.PathLike[str]) -> str:
        """Return the keyed digest of a file's bytes.

        Raises
        ------
        FileFormatError
            If the file cannot be read.
        """
        mac = hmac.new(self.key, digestmod="sha256")
        try:
            with Path(answers).open("rb") as file:
                while block := file.read(_BLOCK):
                    mac.update(block)
        except FileNotFoundError as error:
            raise FileFormatError(f"there is no file {answers}") from error
        except OSError as error:
            raise FileFormatError(f"cannot read {answers}: {error.strerror or error}") from error
        return mac.hexdigest()

    def runs(self, collection: str, answers: str) -> tuple[Entry, ...]:
        """Return the earlier runs with these answers (their keyed digest) for this collection."""
        return tuple(entry for entry in self.entries if (entry.collection, entry.answers) == (collection, answers))

    def add(self, entry: Entry) -> Ledger:
        """Return the ledger with one more entry."""
        return replace(self, entries=(*self.entries, entry))

    def save(self) -> None:
        """Write the ledger's file, atomically."""
        entries = [vars(entry) for entry in self.entries]
        write_text(self.path, document_text(FORMAT, {"key": self.key.hex(), "entries": entries}))
